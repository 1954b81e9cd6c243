//! Panics of handlers.

use axum::response::{IntoResponse as _, Response};
use server_kit::middleware::catch_panic::catch_panic;

use crate::error::ApiError;

/// Returns the answer, and a 500 when a handler panics instead.
pub(crate) async fn caught(answering: impl Future<Output = Response> + Send) -> Response {
    caught_or(answering, ApiError::into_response).await
}

/// Returns what comes of it, and `instead` of it when it panics.
pub(crate) async fn caught_or<T>(answering: impl Future<Output = T> + Send, instead: impl FnOnce(ApiError) -> T) -> T {
    catch_panic(answering, |text| instead(ApiError::Panicked(text))).await
}
