//! Counts requests against the rate of their callers ([`crate::rate_limit`]).

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderMap;

use crate::error::ApiError;
use crate::rate_limit_key;
use crate::state::App;

/// Counts every request whose client is named in its headers or not at all. A form names its
/// client in the body, so forms are counted where they are read ([`crate::form`]).
pub(crate) async fn limit(State(app): State<App>, request: Request, next: Next) -> Result<Response, ApiError> {
    let claimed = claimed(request.headers());
    app.limiter.check(request.extensions(), claimed.as_deref())?;
    Ok(next.run(request).await)
}

fn claimed(headers: &HeaderMap) -> Option<String> {
    rate_limit_key::claimed_client(headers.get(http::header::AUTHORIZATION)?.to_str().ok()?)
}
