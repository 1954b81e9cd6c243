//! `/static/emoji-data.json`: the names of Unicode emoji, for clients' pickers.

use std::sync::LazyLock;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chat_core::emoji;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::api_response::JSON;

const PATH: &str = "/static/emoji-data.json";

/// The document and its tag. Made once: the table is part of the program.
static DOCUMENT: LazyLock<(Bytes, HeaderValue)> = LazyLock::new(|| {
    let document = json!({"code_to_names": names()}).to_string();
    let tag = format!("\"{}\"", STANDARD.encode(Sha256::digest(&document)));
    let tag = HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("\"\""));
    (Bytes::from(document), tag)
});

/// Every code and its names, the canonical one first.
fn names() -> Map<String, Value> {
    let names =
        |emoji: &emoji::UnicodeEmoji| [emoji.name].iter().chain(&emoji.aliases).map(|name| json!(name)).collect();
    emoji::all_emoji().map(|emoji| (emoji.code.to_owned(), Value::Array(names(emoji)))).collect()
}

/// Returns where the document is, for clients.
pub(crate) fn url(base_url: &str) -> String {
    format!("{base_url}{PATH}")
}

/// Its path, outside the API.
pub(crate) fn routes() -> Router {
    Router::new().route(PATH, routing::get(get))
}

/// Returns the document, or that the caller has it. Needs no account: the browser asks without one.
///
/// # Source
/// Not specified; the form existing clients read at `server_emoji_data_url`.
async fn get(headers: HeaderMap) -> Response {
    let (document, tag) = &*DOCUMENT;
    let known = headers.get_all(IF_NONE_MATCH).iter().any(|sent| sent == tag);
    let mut response = Response::new(if known { Body::empty() } else { Body::from(document.clone()) });
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        response.headers_mut().insert(CONTENT_TYPE, JSON);
    }
    response.headers_mut().insert(ETAG, tag.clone());
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=86400"));
    response
}
