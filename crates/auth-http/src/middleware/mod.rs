//! What happens around every handler, in the order of [`crate::router::authorization_router`].

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;

pub(crate) mod accept;
pub(crate) mod cors;
pub(crate) mod observe;
pub(crate) mod panic;
pub(crate) mod rate;
pub(crate) mod stall;

/// Answers, then reads what the handler left of the request body ([`server_kit::middleware::drain_body`]).
pub(crate) async fn drain(request: Request, next: Next) -> Response {
    server_kit::middleware::drain_body::respond_then_drain_body(request, |request| Box::pin(next.run(request))).await
}
