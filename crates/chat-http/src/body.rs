//! Reading a body, up to a limit.

use axum::body::Body;
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use crate::error::ApiError;

/// Returns the whole body, or the error of being larger than `limit_bytes`.
///
/// A body that announces its size is refused before any of it is read.
pub(crate) async fn read(headers: &HeaderMap, body: Body, limit_bytes: usize) -> Result<Bytes, ApiError> {
    if announced_bytes(headers).is_some_and(|length| length > limit_bytes) {
        return Err(ApiError::BodyTooLarge { limit_bytes });
    }
    match Limited::new(body, limit_bytes).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(cause) if cause.is::<LengthLimitError>() => Err(ApiError::BodyTooLarge { limit_bytes }),
        Err(_) => Err(ApiError::BodyBroken),
    }
}

/// Returns the size a body says it has; chunked ones say none.
pub(crate) fn announced_bytes(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
