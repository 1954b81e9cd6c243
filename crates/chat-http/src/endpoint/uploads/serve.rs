//! Handing files out, so that nothing in them runs in a browser.

use std::ops::Range;

use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chat_core::files::{Attachment, ContentDisposition, FileKey, MediaType, PathId, TemporaryFileAccess};
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, RANGE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::readable;
use crate::api_call::{Anonymous, ApiCall};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::{ApiError, InternalError, OrganizationItemError};
use crate::file_body::streamed;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::raw_endpoint::RawCall;

/// Seconds for which a file can be fetched without saying who one is. Not specified; as long as existing servers have
/// it, enough for a browser that is handed the address.
const TICKET_S: i64 = 60;
/// For what a browser shows in place: nothing in it runs, and it reaches for nothing.
const SEALED: &str = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; \
                      frame-ancestors 'none'; sandbox";
/// For what its own reader shows, which a sandbox would keep from working.
const READER: &str = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'";
/// What stands in a `filename*` as it is.
///
/// # Source
/// RFC 8187, section 3.2.1, `attr-char`, as far as every browser takes it.
const ATTR_CHAR: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// How a browser treats a file: it shows it where that is safe, or always saves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disposition {
    Show,
    Keep,
}

/// A file, to who may read it.
pub(super) async fn get(call: RawCall<AuthenticatedCaller>, _: Body) -> Result<Response, ApiError> {
    fetch(&call, Disposition::Show).await
}

/// Returns the same, to be kept on the disk.
pub(super) async fn download(call: RawCall<AuthenticatedCaller>, _: Body) -> Result<Response, ApiError> {
    fetch(&call, Disposition::Keep).await
}

async fn fetch(call: &RawCall<AuthenticatedCaller>, disposition: Disposition) -> Result<Response, ApiError> {
    let path = PathId::parse(call.path_text("path")?).ok_or(OrganizationItemError::NoFile)?;
    let upload = readable(&call.app, &call.caller.realm, &call.caller.user, &path).await?;
    sent(call, &upload, disposition).await
}

/// An address under which a file can be fetched for a minute without saying who one is: for a browser that an
/// application opens.
pub(super) async fn lend(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let path = format!("{}/{}", call.path_text("realm")?, call.path_text("path")?);
    let path = PathId::parse(&path).ok_or(OrganizationItemError::NoFile)?;
    let upload = readable(&call.app, &call.caller.realm, &call.caller.user, &path).await?;
    let (ticket, now_s) = (call.app.fresh_name(), call.app.now_s());
    let url = format!("/user_uploads/temporary/{ticket}/{}", upload.path_id.file_name());
    let ticket =
        TemporaryFileAccess { hash: hash(&ticket), path_id: upload.path_id, until_s: now_s.saturating_add(TICKET_S) };
    call.app.attachments.grant_temporary_access(ticket, now_s).await?;
    ApiResponsePayload::from_payload(&json!({"url": url}))
}

/// Returns the members of the response.
pub(super) fn lent() -> Vec<SchemaMember> {
    vec![required_schema_member("url", JsonSchema::string())]
}

/// A file that was lent. A ticket is for anybody who has it, as often as they like while it lasts.
pub(super) async fn temporary(call: RawCall<Anonymous>, _: Body) -> Result<Response, ApiError> {
    let ticket = hash(call.path_text("ticket")?);
    let path = call
        .app
        .attachments
        .find_temporary_access_path(&ticket, call.app.now_s())
        .await?
        .ok_or(OrganizationItemError::NoFile)?;
    if call.path_text("name")? != path.file_name() {
        return Err(OrganizationItemError::NoFile.into());
    }
    let upload = call.app.attachments.attachments_at_paths(std::slice::from_ref(&path)).await?.into_iter().next();
    sent(&call, &upload.ok_or(OrganizationItemError::NoFile)?, Disposition::Show).await
}

/// Returns what a ticket is recognised by: 122 random bits need no salt.
fn hash(ticket: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(ticket))
}

/// Returns the bytes of a file, with all headers that a browser needs.
async fn sent<W>(call: &RawCall<W>, upload: &Attachment, disposition: Disposition) -> Result<Response, ApiError> {
    let size_bytes = u64::try_from(upload.size_bytes).unwrap_or(0);
    let mut response = file_response(call, &FileKey::from(&upload.path_id), size_bytes).await?;
    if response.status() != StatusCode::RANGE_NOT_SATISFIABLE {
        describe(response.headers_mut(), upload, disposition)?;
    }
    Ok(response)
}

/// Returns the bytes of a file of that size, or those that the request asks for, without saying what they are.
pub(crate) async fn file_response<W>(call: &RawCall<W>, key: &FileKey, size_bytes: u64) -> Result<Response, ApiError> {
    let requested = match range(&call.headers, size_bytes) {
        RequestedRange::Whole => None,
        RequestedRange::Part(range) => Some(range),
        RequestedRange::Beyond => return beyond(size_bytes),
    };
    let reader = call.app.files.open(key, requested.clone()).await?;
    let mut response = Response::new(streamed(reader.ok_or(OrganizationItemError::NoFile)?));
    let length = requested.as_ref().map_or(size_bytes, |range| range.end.saturating_sub(range.start));
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, length.into());
    if let Some(Range { start, end }) = requested {
        let part = format!("bytes {start}-{}/{size_bytes}", end.saturating_sub(1));
        headers.insert(CONTENT_RANGE, value(&part)?);
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    Ok(response)
}

/// What a file is, and what a browser may do with it. It never changes, but who may read it does, so only the reader's
/// own browser keeps it.
fn describe(headers: &mut HeaderMap, upload: &Attachment, disposition: Disposition) -> Result<(), ApiError> {
    let MediaType { media_type, showing } = MediaType::from_stored(&upload.media_type, &upload.name);
    let inline = disposition == Disposition::Show && showing != ContentDisposition::Download;
    let policy = if showing == ContentDisposition::Reader { READER } else { SEALED };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, max-age=31536000, immutable"));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(CONTENT_DISPOSITION, value(&content_disposition(inline, upload))?);
    Ok(())
}

/// # Source
/// RFC 6266, section 4: the plain name for who reads no other, and the real one.
fn content_disposition(inline: bool, upload: &Attachment) -> String {
    let kind = if inline { "inline" } else { "attachment" };
    let real = utf8_percent_encode(&upload.name, ATTR_CHAR);
    format!("{kind}; filename=\"{}\"; filename*=UTF-8''{real}", upload.path_id.file_name())
}

fn value(text: &str) -> Result<HeaderValue, ApiError> {
    Ok(HeaderValue::try_from(text).map_err(|error| InternalError::new("a file has no head", error))?)
}

/// The bytes of a file that a request asks for.
#[derive(Debug, PartialEq, Eq)]
enum RequestedRange {
    Whole,
    Part(Range<u64>),
    /// Bytes that there are none of.
    Beyond,
}

/// # Source
/// RFC 9110, section 14: what asks for several ranges, or is no range, may be answered with everything.
fn range(headers: &HeaderMap, size_bytes: u64) -> RequestedRange {
    let requested =
        headers.get(RANGE).and_then(|header| header.to_str().ok()).and_then(|text| text.strip_prefix("bytes="));
    let Some((start, end)) = requested.and_then(|range| range.split_once('-')) else { return RequestedRange::Whole };
    let (start, end) = (start.trim().parse::<u64>(), end.trim());
    let requested = match (start, end.parse::<u64>()) {
        (Ok(start), Ok(last)) if last >= start => start..last.saturating_add(1).min(size_bytes),
        (Ok(start), Err(_)) if end.is_empty() => start..size_bytes,
        (Err(_), Ok(suffix)) if suffix > 0 => size_bytes.saturating_sub(suffix)..size_bytes,
        _ => return RequestedRange::Whole,
    };
    if requested.start < requested.end { RequestedRange::Part(requested) } else { RequestedRange::Beyond }
}

fn beyond(size_bytes: u64) -> Result<Response, ApiError> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
    response.headers_mut().insert(CONTENT_RANGE, value(&format!("bytes */{size_bytes}"))?);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requested(header: &str) -> RequestedRange {
        let mut headers = HeaderMap::new();
        headers.insert(RANGE, HeaderValue::from_str(header).unwrap());
        range(&headers, 100)
    }

    #[test]
    fn one_range_is_a_part_and_what_is_none_is_the_whole() {
        assert_eq!(range(&HeaderMap::new(), 100), RequestedRange::Whole);
        assert_eq!(requested("bytes=0-9"), RequestedRange::Part(0..10));
        assert_eq!(requested("bytes=90-"), RequestedRange::Part(90..100));
        assert_eq!(requested("bytes=-5"), RequestedRange::Part(95..100));
        assert_eq!(requested("bytes=-500"), RequestedRange::Part(0..100));
        assert_eq!(requested("bytes=50-500"), RequestedRange::Part(50..100));
        assert_eq!(requested("bytes=100-"), RequestedRange::Beyond);
        for other in ["bytes=", "bytes=-", "bytes=5-2", "bytes=a-b", "bytes=0-1,5-6", "lines=1-2", "bytes=-0"] {
            assert_eq!(requested(other), RequestedRange::Whole, "{other}");
        }
    }
}
