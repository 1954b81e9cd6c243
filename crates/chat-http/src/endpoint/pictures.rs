//! `/user_avatars`: pictures of users and of the organization, and custom emoji, as files; and how they come to be.

use axum::body::Body;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use chat_core::files::{FileKey, PublicImageName};
use chat_core::organization::{custom_emoji, images};
use chat_core::people::avatar;
use chat_pictures::EncodedPicture;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};

use crate::api_call::Anonymous;
use crate::error::{ApiError, InternalError, OrganizationItemError};
use crate::file_body::streamed;
use crate::params::UploadedFile;
use crate::raw_endpoint::{RawCall, raw_endpoint};
use crate::routes::Routes;
use crate::state::AppState;

/// Bytes of a file that becomes an emoji, an avatar, an icon or a logo, in MiB, as responses have it.
pub(crate) const MAX_MIB: usize = 5;

/// Outside the API, for everybody: clients show pictures where they cannot say who they are.
pub(crate) fn routes() -> Routes {
    let of = |folder: &str| format!("{folder}/{{name}}");
    Routes::of("users")
        .route(&of(avatar::AVATAR_IMAGE_FOLDER), get(raw_endpoint(fetch)))
        .route(&of(custom_emoji::CUSTOM_EMOJI_IMAGE_FOLDER), get(raw_endpoint(fetch)))
        .route(&of(images::ORGANIZATION_IMAGE_FOLDER), get(raw_endpoint(fetch)))
}

/// What a new picture is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageKind {
    /// Of a user.
    Avatar,
    /// A custom emoji.
    Emoji,
    /// Of the organization.
    Emblem,
}

/// A stored picture that no user, emoji or organization refers to yet.
pub(crate) struct StoredImage {
    name: PublicImageName,
    /// Its address, relative to the realm's.
    pub(crate) url: String,
}

/// Returns the one file of a form that is not too large. Which refusal another number of files gets, the caller says.
pub(crate) fn only_file(files: Vec<UploadedFile>, otherwise: OrganizationItemError) -> Result<Bytes, ApiError> {
    let [file] = <[UploadedFile; 1]>::try_from(files).map_err(|_| otherwise)?;
    if file.content.len() > MAX_MIB * 1024 * 1024 {
        Err(OrganizationItemError::FileTooLarge { mib: MAX_MIB }.into())
    } else {
        Ok(file.content)
    }
}

/// Keeps pictures under one random name, each as its variant.
pub(crate) async fn keep(
    app: &AppState,
    kind: ImageKind,
    pictures: Vec<(&str, EncodedPicture)>,
) -> Result<Vec<StoredImage>, ApiError> {
    let random = app.fresh_name();
    let mut kept = Vec::with_capacity(pictures.len());
    for (variant, EncodedPicture { bytes, format }) in pictures {
        let name = PublicImageName::new(&random, variant, format.file_extension());
        let name = name.ok_or_else(|| InternalError::without_cause("a picture got no name"))?;
        app.files.put_bytes(&FileKey::from(&name), bytes.into()).await?;
        let folder = match kind {
            ImageKind::Avatar => avatar::AVATAR_IMAGE_FOLDER,
            ImageKind::Emoji => custom_emoji::CUSTOM_EMOJI_IMAGE_FOLDER,
            ImageKind::Emblem => images::ORGANIZATION_IMAGE_FOLDER,
        };
        kept.push(StoredImage { url: format!("{folder}/{name}"), name });
    }
    Ok(kept)
}

/// Gives up pictures that became nobody's. One that cannot be deleted costs room and nothing else.
pub(crate) async fn give_up(app: &AppState, kept: &[StoredImage]) {
    for StoredImage { name, .. } in kept {
        delete(app, name).await;
    }
}

/// Deletes the pictures at these addresses, as far as they are ours.
pub(crate) async fn delete_at(app: &AppState, urls: impl IntoIterator<Item = &str>) {
    for url in urls {
        if let Some(name) = PublicImageName::from_url(url) {
            delete(app, &name).await;
        }
    }
}

async fn delete(app: &AppState, name: &PublicImageName) {
    if let Err(error) = app.files.delete(&FileKey::from(name)).await {
        tracing::warn!(%error, %name, "a picture that nobody needs stays");
    }
}

/// Returns the picture of that name. A name stands for one picture for ever.
async fn fetch(call: RawCall<Anonymous>, _: Body) -> Result<Response, ApiError> {
    let name = PublicImageName::parse(call.path_text("name")?).ok_or(ApiError::UnknownRoute)?;
    let reader = call.app.files.open(&FileKey::from(&name), None).await?.ok_or(ApiError::UnknownRoute)?;
    let media_type = if name.extension() == "gif" { "image/gif" } else { "image/png" };
    let mut response = Response::new(streamed(reader));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox"));
    Ok(response)
}
