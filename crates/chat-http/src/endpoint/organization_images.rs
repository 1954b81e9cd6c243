//! `/realm/icon` and `/realm/logo`: the pictures of the organization itself.
//!
//! Not specified; parameters, keys and texts are those existing clients know. A picture that is replaced is deleted, as
//! an avatar is: who takes one back means it.

use std::io::Cursor;

use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::model::organization_image::{OrganizationImage, OrganizationImageUrls};
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::organization::images;
use chat_core::permission::access;
use serde_json::json;

use super::icon;
use super::pictures::{ImageKind, delete_at, give_up, keep, only_file};
use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::{ApiError, OrganizationItemError};
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, JsonParam, ParamError, ParamReader};
use crate::routes::{Routes, no_members, post};

pub(crate) fn routes() -> Routes {
    let icon = post(endpoint(replace_icon).documented("Give the organization another icon.", shown).with_file())
        .delete(endpoint(remove_icon).documented("Give the organization the usual icon again.", shown));
    let logo = post(endpoint(replace_logo).documented("Give the organization another logo.", no_members).with_file())
        .delete(endpoint(remove_logo).documented("Give the organization the usual logo again.", no_members));
    Routes::of("organization").api("/realm/icon", icon).api("/realm/logo", logo)
}

/// Returns where a picture is: as an avatar's, an address of the organization's own is relative to the realm's.
pub(crate) fn url(images: &OrganizationImageUrls, image: OrganizationImage, base_url: &str) -> String {
    images.uploaded_url(image).map_or_else(|| icon::url(base_url), str::to_owned)
}

/// The parameter that chooses between the logo and the logo for dark screens.
struct LogoParams(OrganizationImage);

impl EndpointParams for LogoParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let is_for_dark = reader.required::<JsonParam<bool>>("night")?;
        Ok(Self(if is_for_dark { OrganizationImage::NightLogo } else { OrganizationImage::Logo }))
    }
}

/// Gives the organization another icon.
async fn replace_icon(mut call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    replace(&mut call, OrganizationImage::Icon).await?;
    shown_icon(&call)
}

/// Gives the organization the usual icon again.
async fn remove_icon(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    change(&call, OrganizationImage::Icon, None).await?;
    shown_icon(&call)
}

fn shown_icon(call: &ApiCall<AuthenticatedCaller>) -> Result<ApiResponsePayload, ApiError> {
    let realm = call.app.realm();
    let images = realm.realm().map(|realm| realm.images.clone()).unwrap_or_default();
    ApiResponsePayload::from_payload(
        &json!({"icon_url": url(&images, OrganizationImage::Icon, &call.app.settings.base_url)}),
    )
}

/// Returns the members of the response.
fn shown() -> Vec<SchemaMember> {
    vec![required_schema_member("icon_url", JsonSchema::string())]
}

/// Gives the organization another logo.
async fn replace_logo(
    mut call: ApiCall<AuthenticatedCaller>,
    LogoParams(logo): LogoParams,
) -> Result<ApiResponsePayload, ApiError> {
    replace(&mut call, logo).await?;
    Ok(ApiResponsePayload::empty())
}

/// Gives the organization the usual logo again.
async fn remove_logo(
    call: ApiCall<AuthenticatedCaller>,
    LogoParams(logo): LogoParams,
) -> Result<ApiResponsePayload, ApiError> {
    change(&call, logo, None).await?;
    Ok(ApiResponsePayload::empty())
}

/// Makes a picture of the file and the organization's. What can be refused without looking at the file is.
async fn replace(call: &mut ApiCall<AuthenticatedCaller>, image: OrganizationImage) -> Result<(), ApiError> {
    access::require_administrator(&call.caller.user)?;
    let otherwise = match image {
        OrganizationImage::Icon => OrganizationItemError::NotOneIcon,
        OrganizationImage::Logo | OrganizationImage::NightLogo => OrganizationItemError::NotOneLogo,
    };
    let file = only_file(std::mem::take(&mut call.files), otherwise)?;
    let make_image = match image {
        OrganizationImage::Icon => chat_pictures::make_organization_icon,
        OrganizationImage::Logo | OrganizationImage::NightLogo => chat_pictures::make_organization_logo,
    };
    let bytes = chat_pictures::estimate_decoding_bytes(Cursor::new(&file))?;
    let made = call.app.image_jobs.run(bytes, move || make_image(&file)).await??;
    let kept = keep(&call.app, ImageKind::Emblem, vec![("", made)]).await?;
    let url = kept.first().map(|picture| picture.url.as_str());
    let changed = change(call, image, url).await;
    if changed.is_err() {
        give_up(&call.app, &kept).await;
    }
    changed
}

/// Makes the picture at `url` the organization's, and deletes the one before.
async fn change(
    call: &ApiCall<AuthenticatedCaller>,
    image: OrganizationImage,
    url: Option<&str>,
) -> Result<(), ApiError> {
    let usual = icon::url(&call.app.settings.base_url);
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(images::change_organization_image(
            realm,
            call.caller.account_in_realm(realm)?,
            (image, url),
            &usual,
            commit,
        )?)
    };
    let before = call.app.commit(decide).await?;
    if let Some(before) = before.filter(|before| Some(before.as_str()) != url) {
        delete_at(&call.app, [before.as_str()]).await;
    }
    Ok(())
}
