//! Smaller pictures of uploads.
//!
//! The one that messages show is made when the file comes, while it is at hand; another when a client asks for it.

use std::fs::File;
use std::io::{BufReader, Seek as _, SeekFrom, Write as _};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use chat_core::files::{Attachment, FileKey, PathId, THUMBNAIL_NAMES};
use chat_pictures::{EncodedPicture, PictureError, ThumbnailSpec};
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use serde_json::{Value, json};

use super::readable;
use crate::authentication::AuthenticatedCaller;
use crate::error::{ApiError, InternalError, OrganizationItemError};
use crate::file_body::streamed;
use crate::raw_endpoint::RawCall;
use crate::state::{App, AppState};

/// Returns the kind of thumbnail of that name.
pub(super) fn named(name: &str) -> Option<(&'static str, ThumbnailSpec)> {
    let key = THUMBNAIL_NAMES.into_iter().find(|known| *known == name)?;
    chat_pictures::THUMBNAIL_SPECS.into_iter().find(|thumbnail| thumbnail.name == key).map(|thumbnail| (key, thumbnail))
}

/// Returns the kinds that there are, for the state of clients.
pub(crate) fn formats() -> Vec<Value> {
    let shown = |kind: &ThumbnailSpec| {
        json!({
            "name": kind.name,
            "max_width": kind.max_width,
            "max_height": kind.max_height,
            "format": if kind.format.file_extension() == "jpg" { "jpeg" } else { kind.format.file_extension() },
            "animated": false,
        })
    };
    chat_pictures::THUMBNAIL_SPECS.iter().map(shown).collect()
}

/// A smaller picture of an upload, to who may read the upload.
pub(super) async fn get(call: RawCall<AuthenticatedCaller>, _: Body) -> Result<Response, ApiError> {
    let (path, name) = call.path_text("path")?.rsplit_once('/').ok_or(OrganizationItemError::NoFile)?;
    let (path, (name, kind)) = PathId::parse(path).zip(named(name)).ok_or(OrganizationItemError::NoFile)?;
    let upload = readable(&call.app, &call.caller.realm, &call.caller.user, &path).await?;
    upload.picture.ok_or(OrganizationItemError::NoFile)?;
    let body = found_or_made(&call.app, &upload, (name, kind)).await?;
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind.format.media_type()));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, max-age=31536000, immutable"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox"));
    Ok(response)
}

async fn found_or_made(app: &App, upload: &Attachment, kind: (&'static str, ThumbnailSpec)) -> Result<Body, ApiError> {
    let key = FileKey::for_thumbnail(&upload.path_id, kind.0);
    if let Some(reader) = app.files.open(&key, None).await? {
        return Ok(streamed(reader));
    }
    // One at a time: a request that waited finds what the one before has made.
    let _turn = app.thumbnails.lock().await;
    if let Some(reader) = app.files.open(&key, None).await? {
        return Ok(streamed(reader));
    }
    let file = fetched(app, upload).await?;
    let bytes = decoding_bytes(&file)?;
    let made = app.image_jobs.run(bytes, move || make(&file, kind.1)).await??;
    let bytes = Bytes::from(made.bytes);
    app.files.put_bytes(&key, bytes.clone()).await?;
    Ok(Body::from(bytes))
}

/// Returns the bytes of memory that decoding what is in an open file takes.
pub(super) fn decoding_bytes(mut file: &File) -> Result<u64, PictureError> {
    file.seek(SeekFrom::Start(0)).map_err(PictureError::Failed)?;
    chat_pictures::estimate_decoding_bytes(BufReader::new(file))
}

/// Returns the smaller picture of what is in an open file.
pub(super) fn make(mut file: &File, kind: ThumbnailSpec) -> Result<EncodedPicture, PictureError> {
    file.seek(SeekFrom::Start(0)).map_err(PictureError::Failed)?;
    chat_pictures::make_thumbnail(BufReader::new(file), kind)
}

/// Returns the upload itself, on the disk of this node for as long as it is looked at.
async fn fetched(app: &AppState, upload: &Attachment) -> Result<File, ApiError> {
    let failed = |error| ApiError::from(InternalError::new("a file was not written down to be looked at", error));
    let mut reader =
        app.files.open(&FileKey::from(&upload.path_id), None).await?.ok_or(OrganizationItemError::NoFile)?;
    let mut file = tempfile::tempfile_in(&app.settings.uploads.spool_dir).map_err(failed)?;
    while let Some(piece) = reader.next_chunk().await? {
        file.write_all(&piece).map_err(failed)?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_smaller_picture_that_messages_name_can_be_made() {
        for name in THUMBNAIL_NAMES {
            assert_eq!(named(name).map(|(_, kind)| kind.name), Some(name));
        }
        assert!(named("1x1.png").is_none());
    }
}
