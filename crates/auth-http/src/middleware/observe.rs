//! The outermost layer: the request's name, its span, its counters, its line in the log, and the
//! body of its fault.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderValue;
use server_kit::middleware::request_id;
use server_kit::middleware::request_metrics::record_response_metrics;
use tracing::{Instrument as _, debug, error_span};

use crate::api::Api;
use crate::error_rendering::{ErrorContext, render};
use crate::state::App;

/// Longest request id that is taken from a caller, in bytes.
const REQUEST_ID_MAX_BYTES: usize = 64;

/// Runs one request and logs it: never its query, its headers or its body.
pub(crate) async fn observe(State(app): State<App>, request: Request, next: Next) -> Response {
    // The clock of the day may be set while a request runs.
    let started = Instant::now();
    let fresh = || HeaderValue::try_from(app.env().random_identifier()).unwrap_or(HeaderValue::from_static("none"));
    let id = request_id::caller_request_id_or_fresh(request.headers(), REQUEST_ID_MAX_BYTES, fresh);
    let name = id.to_str().unwrap_or_default();
    let span = error_span!("request", request_id = name);
    let api = Api::of(request.uri().path());
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();

    async {
        let place = ErrorContext { api, pages: &app.pages, base_url: app.base_url(), request_id: name };
        let mut response = render(next.run(request).await, &place);
        response.headers_mut().insert(request_id::REQUEST_ID_HEADER, id.clone());
        let status = response.status();
        let route = route.as_ref().map_or("none", MatchedPath::as_str);
        let elapsed = started.elapsed();
        record_response_metrics(&method, route, status, elapsed);
        debug!(%method, route, status = status.as_u16(), elapsed_us = elapsed.as_micros(), "request answered");
        response
    }
    .instrument(span)
    .await
}
