//! Documents that are the same for everybody: bytes made once, with an entity tag.

use axum::body::Body;
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, StatusCode};
use oauth_core::static_document::StaticDocument;

/// How long a cache may serve a public document without asking again: five minutes. A new signing
/// key is published longer than that before it signs.
const PUBLIC: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// Answers a public document, or 304 when the caller holds this very version.
///
/// # Source
/// RFC 9110, sections 13.1.2 and 15.4.5.
pub(crate) fn answer(request: &HeaderMap, media_type: HeaderValue, document: &StaticDocument) -> Response {
    let etag = document.etag.as_str();
    let known = request.get_all(IF_NONE_MATCH).iter().any(|sent| lists(sent.as_bytes(), etag));
    let mut response = if known {
        let mut empty = Response::new(Body::empty());
        *empty.status_mut() = StatusCode::NOT_MODIFIED;
        empty
    } else {
        let mut whole = Response::new(Body::from(document.body.clone()));
        whole.headers_mut().insert(CONTENT_TYPE, media_type);
        whole
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, PUBLIC);
    if let Ok(etag) = HeaderValue::from_str(etag) {
        headers.insert(ETAG, etag);
    }
    response
}

/// Returns whether an `If-None-Match` names this tag; weak and strong tags compare equal here.
pub(crate) fn lists(sent: &[u8], etag: &str) -> bool {
    let bare = etag.strip_prefix("W/").unwrap_or(etag).as_bytes();
    sent.trim_ascii() == b"*"
        || sent.split(|byte| *byte == b',').any(|tag| {
            let tag = tag.trim_ascii();
            tag.strip_prefix(b"W/").unwrap_or(tag) == bare
        })
}

#[cfg(test)]
mod tests {
    use super::lists;

    #[test]
    fn a_tag_is_found_in_a_list_weak_or_strong() {
        for sent in ["*", "\"a\"", "W/\"a\"", "\"b\", \"a\"", " \"b\",W/\"a\" "] {
            assert!(lists(sent.as_bytes(), "\"a\""), "{sent}");
        }
        for sent in ["", "a", "\"b\"", "\"aa\"", "\"a"] {
            assert!(!lists(sent.as_bytes(), "\"a\""), "{sent}");
        }
    }
}
