//! Panics of handlers.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use server_kit::middleware::catch_panic::catch_panic;

use crate::error::ApiError;

/// Answers 500 when a handler panics.
pub(crate) async fn catch(request: Request, next: Next) -> Response {
    catch_panic(next.run(request), |text| ApiError::Panicked(text).into_response()).await
}
