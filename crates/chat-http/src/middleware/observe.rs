//! Around everything else: the request's name, its span, its counters and its line in the log.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use http::{Extensions, HeaderValue, Method};
use server_kit::middleware::request_id;
use server_kit::middleware::request_metrics::record_response_metrics;
use tracing::{Instrument as _, Level, Span, debug, enabled, error_span};

use crate::limits::REQUEST_ID_MAX_BYTES;
use crate::state::ServerState;

/// Where a route leaves its template, in the extensions of each request; outside of it, axum does not tell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Route(Arc<OnceLock<MatchedPath>>);

impl Route {
    /// Leaves the template of the route that a request with these extensions has come to.
    pub(crate) fn note(extensions: &Extensions) {
        if let (Some(route), Some(path)) = (extensions.get::<Self>(), extensions.get::<MatchedPath>()) {
            // A request comes to one route.
            let _ = route.0.set(path.clone());
        }
    }
}

impl AsRef<str> for Route {
    fn as_ref(&self) -> &str {
        self.0.get().map_or("none", MatchedPath::as_str)
    }
}

/// Returns the layer of routes that are no endpoints, which note it themselves.
pub(crate) async fn note_route(request: Request, next: Next) -> Response {
    Route::note(request.extensions());
    next.run(request).await
}

/// Runs one request, counts and logs it: never its query, its headers or its body.
///
/// No `async fn`, here and in the parts inside: it would keep the room of the request while the answer is waited for.
#[expect(clippy::needless_pass_by_value, reason = "the future would keep a reference")]
pub(crate) fn observe<R>(
    server: Arc<ServerState>,
    mut request: Request,
    next: impl FnOnce(Request) -> R,
) -> impl Future<Output = Response>
where
    R: Future<Output = Response>,
{
    let id = request_id::caller_request_id_or_fresh(request.headers(), REQUEST_ID_MAX_BYTES, || server.names.next_id());
    let (method, route) = (request.method().clone(), Route::default());
    request.extensions_mut().insert(route.clone());
    observed(id, (method, route), || next(request))
}

/// A function that logs an error and returns its response.
pub(crate) type DeferredErrorResponse = Box<dyn FnOnce() -> Response + Send>;

/// The same for a request of that route that has no head, because it is one that was asked before.
///
/// Its span begins when there is something to log: it would cost more than the answer, and nothing is logged while one
/// waits.
pub(crate) async fn observe_again(
    server: Arc<ServerState>,
    route: &'static str,
    answering: impl Future<Output = Result<Response, DeferredErrorResponse>>,
) -> Response {
    let (id, started) = (server.names.next_id(), Instant::now());
    let finish = |response: Response| tell((&Method::GET, route), started, response);
    let mut response = match answering.await {
        Ok(response) if !enabled!(Level::DEBUG) => finish(response),
        outcome => span(&id).in_scope(|| finish(outcome.unwrap_or_else(|failing| failing()))),
    };
    response.headers_mut().insert(request_id::REQUEST_ID_HEADER, id);
    response
}

fn observed<R: Future<Output = Response>>(
    id: HeaderValue,
    (method, route): (Method, Route),
    begin: impl FnOnce() -> R,
) -> impl Future<Output = Response> {
    let started = Instant::now();
    let span = span(&id);
    let answering = begin();
    let observed = async move {
        // The route is known only with the answer.
        let answer = answering.await;
        let mut response = tell((&method, route.as_ref()), started, answer);
        response.headers_mut().insert(request_id::REQUEST_ID_HEADER, id);
        response
    };
    observed.instrument(span)
}

fn span(id: &HeaderValue) -> Span {
    error_span!("request", request_id = %id.to_str().unwrap_or_default())
}

/// Counts an answer and logs it. The clock of the day is not asked: it may be set while a request runs.
fn tell((method, route): (&Method, &str), started: Instant, response: Response) -> Response {
    let status = response.status();
    let elapsed = started.elapsed();
    record_response_metrics(method, route, status, elapsed);
    debug!(%method, route, status = status.as_u16(), elapsed_us = elapsed.as_micros(), "request answered");
    response
}
