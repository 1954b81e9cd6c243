//! The outermost layer: the request's name, its span, its counters and its line in the log.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{Method, StatusCode};
use tracing::{Instrument as _, debug, error_span};

use super::request_id;
use crate::state::Frame;

/// Leaves the template of the route that answered with its answer, for [`observe`] outside.
pub(crate) async fn name_route(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    if let Some(route) = route {
        response.extensions_mut().insert(route);
    }
    response
}

/// Runs one request and tells about it: never its query, its headers or its body.
pub(crate) async fn observe(State(frame): State<Arc<Frame>>, request: Request, next: Next) -> Response {
    let started_us = frame.outside.now_us();
    let id = request_id::of(request.headers(), frame.outside.as_ref());
    let span = error_span!("request", request_id = id.to_str().unwrap_or_default());
    let method = request.method().clone();
    async {
        let mut response = next.run(request).await;
        response.headers_mut().insert(request_id::HEADER, id.clone());
        let route = response.extensions_mut().remove::<MatchedPath>();
        let route = route.as_ref().map_or("none", MatchedPath::as_str);
        let status = response.status();
        let elapsed_us = frame.outside.now_us().saturating_sub(started_us);
        count(&method, route, status, elapsed_us);
        debug!(%method, route, status = status.as_u16(), elapsed_us, "request answered");
        response
    }
    .instrument(span)
    .await
}

/// Labels are the route's template and never the path: a label per message would grow without bound.
fn count(method: &Method, route: &str, status: StatusCode, elapsed_us: i64) {
    let method = method_label(method);
    let elapsed = Duration::from_micros(u64::try_from(elapsed_us).unwrap_or(0));
    let status = status.as_u16().to_string();
    metrics::counter!("http_requests_total", "method" => method, "route" => route.to_owned(), "status" => status)
        .increment(1);
    metrics::histogram!("http_request_duration_seconds", "method" => method, "route" => route.to_owned())
        .record(elapsed.as_secs_f64());
}

/// Anybody can invent a method; those the server knows not share one label.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
