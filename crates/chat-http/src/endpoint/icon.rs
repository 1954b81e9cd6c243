//! `/static/icon.png`: the icon and logo of an organization without one of its own.

use axum::Router;
use axum::routing;
use bytes::Bytes;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};

const PATH: &str = "/static/icon.png";

/// A speech bubble, 256 pixels square.
static PICTURE: &[u8] = include_bytes!("icon.png");

/// Returns where the picture is, for clients.
pub(crate) fn url(base_url: &str) -> String {
    format!("{base_url}{PATH}")
}

/// Its path, outside the API.
pub(crate) fn routes() -> Router {
    Router::new().route(PATH, routing::get(get))
}

/// Returns the picture. Needs no account: clients show it before anybody logs in.
///
/// # Source
/// Specification, `GET /server_settings`, `realm_icon`: a square picture.
async fn get() -> ([(HeaderName, HeaderValue); 2], Bytes) {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("image/png")),
        (CACHE_CONTROL, HeaderValue::from_static("public, max-age=86400")),
    ];
    (headers, Bytes::from_static(PICTURE))
}
