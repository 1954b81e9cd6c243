//! Which method a request means, and what is said when its address takes another.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use http::header::ALLOW;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use server_kit::http_listener::ResponseFuture;

use crate::body;
use crate::error::ApiError;
use crate::limits::METHOD_OVERRIDE_FORM_MAX_BYTES;
use crate::params::{BodyEncoding, peek};
use crate::rate::address;
use crate::state::ServerState;

/// Marks a request whose method came from its form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MethodOverride;

impl MethodOverride {
    /// The form field that names the method.
    pub(crate) const PARAMETER: &'static str = "method";
}

/// Settles the method on the way in, and the answer to a wrong one on the way out.
pub(crate) fn settle<R>(
    server: Arc<ServerState>,
    request: Request,
    next: impl FnOnce(Request) -> R + Send + 'static,
) -> ResponseFuture
where
    R: Future<Output = Response> + Send + 'static,
{
    let from = address(request.extensions());
    let asks_for_methods = request.method() == Method::OPTIONS;
    if !may_be_overridden(&request) {
        let answering = next(request);
        return Box::pin(async move { settled(&server, (from, asks_for_methods), answering.await) });
    }
    Box::pin(async move {
        match overridden(request).await {
            Ok(request) => settled(&server, (from, asks_for_methods), next(request).await),
            Err(error) => error.into_response(),
        }
    })
}

/// Returns the answer, or a better one when it says that the address takes other methods.
fn settled(server: &ServerState, (from, asks_for_methods): (Option<IpAddr>, bool), response: Response) -> Response {
    if response.status() != StatusCode::METHOD_NOT_ALLOWED {
        return response;
    }
    let allowed = allowed(response.headers());
    if asks_for_methods {
        return methods(&allowed);
    }
    match server.by_address.check(&from) {
        Ok(_) => ApiError::MethodNotAllowed { allowed }.into_response(),
        Err(exceeded) => ApiError::from(exceeded).into_response(),
    }
}

/// A `POST` whose form says `method=PATCH`, `PUT` or `DELETE` is that, for callers that can only post.
///
/// Not specified; we look into urlencoded bodies of announced size up to [`METHOD_OVERRIDE_FORM_MAX_BYTES`] only,
/// because this happens before the caller is known.
fn may_be_overridden(request: &Request) -> bool {
    let announced = || body::announced_bytes(request.headers()).unwrap_or(usize::MAX);
    let form = || matches!(BodyEncoding::from_headers(request.headers()), Ok(BodyEncoding::Urlencoded));
    request.method() == Method::POST && form() && announced() <= METHOD_OVERRIDE_FORM_MAX_BYTES
}

async fn overridden(request: Request) -> Result<Request, ApiError> {
    let (mut head, body) = request.into_parts();
    let bytes = body::read(&head.headers, body, METHOD_OVERRIDE_FORM_MAX_BYTES).await?;
    let named = peek(&bytes, MethodOverride::PARAMETER);
    let method = match named.as_deref() {
        Some("PATCH") => Some(Method::PATCH),
        Some("PUT") => Some(Method::PUT),
        Some("DELETE") => Some(Method::DELETE),
        _ => None,
    };
    if let Some(method) = method {
        head.method = method;
        head.extensions.insert(MethodOverride);
    }
    Ok(Request::from_parts(head, Body::from(bytes)))
}

/// Returns what the router found to be allowed, sorted.
fn allowed(headers: &HeaderMap) -> Vec<String> {
    let listed = headers.get(ALLOW).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut methods: Vec<_> = listed.split(',').map(|method| method.trim().to_owned()).collect();
    methods.retain(|method| !method.is_empty());
    methods.sort_unstable();
    methods
}

fn methods(allowed: &[String]) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Ok(methods) = HeaderValue::try_from(allowed.join(", ")) {
        response.headers_mut().insert(ALLOW, methods);
    }
    response
}
