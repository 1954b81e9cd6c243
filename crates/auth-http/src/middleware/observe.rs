//! The outermost layer: the request's name, its span, its counters, its line in the log, and the
//! body of its fault.

use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{Method, StatusCode};
use tracing::{Instrument as _, debug, error_span};

use super::request_id;
use crate::error::{self, Place};
use crate::state::App;
use crate::surface::Surface;

/// Runs one request and tells about it: never its query, its headers or its body.
pub(crate) async fn observe(State(app): State<App>, request: Request, next: Next) -> Response {
    // The clock of the day may be set while a request runs.
    let started = Instant::now();
    let id = request_id::of(request.headers(), &app.env());
    let name = id.as_ref().and_then(|id| id.to_str().ok()).unwrap_or("");
    let span = error_span!("request", request_id = name);
    let surface = Surface::of(request.uri().path());
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();

    async {
        let place = Place { surface, pages: &app.pages, base_url: &app.settings.base_url, request_id: name };
        let mut response = error::render(next.run(request).await, &place);
        if let Some(id) = id.clone() {
            response.headers_mut().insert(request_id::HEADER, id);
        }
        let status = response.status();
        let route = route.as_ref().map_or("none", MatchedPath::as_str);
        let elapsed = started.elapsed();
        count(&method, route, status, elapsed);
        debug!(%method, route, status = status.as_u16(), elapsed_us = elapsed.as_micros(), "request answered");
        response
    }
    .instrument(span)
    .await
}

/// Labels are the route's template and never the path: a label per resource would grow without
/// bound.
fn count(method: &Method, route: &str, status: StatusCode, elapsed: Duration) {
    let method = method_label(method);
    metrics::counter!(
        "http_requests_total",
        "method" => method,
        "route" => route.to_owned(),
        "status" => status.as_u16().to_string(),
    )
    .increment(1);
    metrics::histogram!(
        "http_request_duration_seconds",
        "method" => method,
        "route" => route.to_owned(),
    )
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
