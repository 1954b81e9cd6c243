//! The headers of tus.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chat_core::files::{self, ResumableUpload};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, StatusCode};
use jiff::Timestamp;

use super::refusal::TusError;
use crate::middleware::observe::Route;
use crate::state::App;

pub(super) const TUS_RESUMABLE: HeaderName = HeaderName::from_static("tus-resumable");
pub(super) const UPLOAD_OFFSET: HeaderName = HeaderName::from_static("upload-offset");
const UPLOAD_LENGTH: HeaderName = HeaderName::from_static("upload-length");
const UPLOAD_METADATA: HeaderName = HeaderName::from_static("upload-metadata");
const UPLOAD_EXPIRES: HeaderName = HeaderName::from_static("upload-expires");
const UPLOAD_DEFER_LENGTH: HeaderName = HeaderName::from_static("upload-defer-length");
/// The version of tus that is spoken here.
pub(super) const VERSION: HeaderValue = HeaderValue::from_static("1.0.0");
const EXTENSIONS: HeaderValue = HeaderValue::from_static("creation,expiration,termination");
const OFFSET_MEDIA_TYPE: &str = "application/offset+octet-stream";
/// Bytes of `Upload-Metadata`. Not specified; a name and a type are far shorter.
const METADATA_MAX_BYTES: usize = 4096;
/// The name of a file of which no name is said.
const NAMELESS: &str = "uploaded-file";

/// Reports what of tus is spoken here.
pub(super) async fn options(State(app): State<App>, extensions: Extensions) -> Response {
    Route::note(&extensions);
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(TUS_RESUMABLE, VERSION);
    headers.insert("tus-version", VERSION);
    headers.insert("tus-extension", EXTENSIONS);
    headers.insert("tus-max-size", HeaderValue::from(app.settings.uploads.max_bytes));
    response
}

/// Refuses a client that speaks another version.
pub(super) fn check_version(headers: &HeaderMap) -> Result<(), TusError> {
    if headers.get(TUS_RESUMABLE) == Some(&VERSION) { Ok(()) } else { Err(TusError::OtherVersion) }
}

pub(super) fn check_content_type(headers: &HeaderMap) -> Result<(), TusError> {
    let is_offset = headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes() == OFFSET_MEDIA_TYPE.as_bytes());
    if is_offset { Ok(()) } else { Err(TusError::OtherMediaType) }
}

/// Returns the size that an upload is to have.
pub(super) fn length_bytes(headers: &HeaderMap) -> Result<i64, TusError> {
    if headers.contains_key(UPLOAD_DEFER_LENGTH) {
        return Err(TusError::DeferredLength);
    }
    number(headers, &UPLOAD_LENGTH).ok_or(TusError::BadHeader("Upload-Length"))
}

/// Returns where a request continues.
pub(super) fn offset_bytes(headers: &HeaderMap) -> Result<i64, TusError> {
    number(headers, &UPLOAD_OFFSET).ok_or(TusError::BadHeader("Upload-Offset"))
}

fn number(headers: &HeaderMap, name: &HeaderName) -> Option<i64> {
    let digits = headers.get(name)?.to_str().ok()?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

/// Returns what a client says of its file, as it says it.
pub(super) fn metadata(headers: &HeaderMap) -> Result<String, TusError> {
    let said = headers.get(UPLOAD_METADATA).map(HeaderValue::to_str).transpose();
    let said = said.map_err(|_| TusError::BadHeader("Upload-Metadata"))?.unwrap_or_default();
    let mut pairs = said.split(',').filter(|pair| !pair.trim().is_empty());
    let is_pair = |pair: &str| match pair.trim().split_once(' ') {
        Some((key, value)) => !key.is_empty() && STANDARD.decode(value.trim()).is_ok(),
        None => true,
    };
    if said.len() > METADATA_MAX_BYTES || !pairs.all(is_pair) {
        return Err(TusError::BadHeader("Upload-Metadata"));
    }
    Ok(said.to_owned())
}

/// Returns the name of a file that its client gives.
pub(super) fn file_name(metadata: &str) -> String {
    let pairs = metadata.split(',').filter_map(|pair| pair.trim().split_once(' '));
    let given = pairs.filter(|(key, _)| *key == "filename").find_map(|(_, value)| STANDARD.decode(value.trim()).ok());
    let given = given.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    files::display_file_name(if given.trim().is_empty() { NAMELESS } else { &given })
}

/// Adds where a new upload is, and until when.
pub(super) fn add_place(headers: &mut HeaderMap, (path, upload): (&str, &ResumableUpload)) {
    let place = format!("{}/{}", path.trim_end_matches('/'), upload.id.as_str());
    if let Ok(place) = HeaderValue::try_from(place) {
        headers.insert(LOCATION, place);
    }
    add_expiry(headers, upload);
}

/// Adds everything about an upload.
pub(super) fn add_state(headers: &mut HeaderMap, upload: &ResumableUpload) {
    headers.insert(UPLOAD_LENGTH, HeaderValue::from(upload.length_bytes));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(metadata) = HeaderValue::try_from(&upload.metadata)
        && !metadata.is_empty()
    {
        headers.insert(UPLOAD_METADATA, metadata);
    }
    add_offset(headers, upload);
}

/// Adds how much of an upload has come, and until when it lasts.
pub(super) fn add_offset(headers: &mut HeaderMap, upload: &ResumableUpload) {
    headers.insert(UPLOAD_OFFSET, HeaderValue::from(upload.received_bytes));
    add_expiry(headers, upload);
}

/// RFC 9110, section 5.6.7.
fn add_expiry(headers: &mut HeaderMap, upload: &ResumableUpload) {
    let expires = Timestamp::from_second(upload.expires_s).ok();
    let expires = expires.map(|at| at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string());
    if let Some(Ok(expires)) = expires.map(HeaderValue::try_from) {
        headers.insert(UPLOAD_EXPIRES, expires);
    }
}
