//! A bug in one request ends that request, not the connection and not the server.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use axum::response::{IntoResponse as _, Response};

use crate::error::Fault;

/// The answer, and a 500 when a handler panics instead.
pub(crate) async fn caught(answering: impl Future<Output = Response> + Send) -> Response {
    let mut answering = Box::pin(answering);
    // What a panic left half done goes with the request.
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| answering.as_mut().poll(context))) {
        Ok(polled) => polled,
        Err(panic) => Poll::Ready(report(panic.as_ref())),
    })
    .await
}

/// The text of a panic goes to the log, never to the caller.
fn report(panic: &(dyn Any + Send)) -> Response {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    let text = owned.or_else(|| panic.downcast_ref::<&'static str>().copied()).unwrap_or("no text");
    Fault::Panicked(text.to_owned()).into_response()
}
