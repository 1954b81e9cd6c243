//! `/auth/style/…`: what pages load.

use axum::extract::{Path, State};
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue};

use crate::document;
use crate::error::ApiError;
use crate::state::App;

/// The name holds a digest of the content, so what has this name never changes.
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
/// A logo that is opened by itself may be a drawing with script in it.
const NOTHING: HeaderValue = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");

/// Returns the stylesheet, or the logo.
pub(crate) async fn get(
    State(app): State<App>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asset = app.pages.asset(&name).ok_or(ApiError::UnknownRoute)?;
    let mut response = document::answer(&headers, HeaderValue::from_static(asset.media_type), &asset.document);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, FOR_EVER);
    headers.insert(CONTENT_SECURITY_POLICY, NOTHING);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}
