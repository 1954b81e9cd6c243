//! A bug in one request ends that request, not the connection and not the server.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use axum::response::{IntoResponse as _, Response};

use crate::error::Fault;

/// The answer, and a 500 when a handler panics instead.
pub(crate) async fn caught(answering: impl Future<Output = Response> + Send) -> Response {
    caught_or(answering, Fault::into_response).await
}

/// What comes of it, and `instead` of it when it panics.
pub(crate) async fn caught_or<T>(answering: impl Future<Output = T> + Send, instead: impl FnOnce(Fault) -> T) -> T {
    let mut answering = Box::pin(answering);
    // What a panic left half done goes with the request.
    let outcome = poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| answering.as_mut().poll(context))) {
        Ok(polled) => polled.map(Ok),
        Err(panic) => Poll::Ready(Err(fault(panic.as_ref()))),
    });
    outcome.await.unwrap_or_else(instead)
}

/// The text of a panic goes to the log, never to the caller.
fn fault(panic: &(dyn Any + Send)) -> Fault {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    let text = owned.or_else(|| panic.downcast_ref::<&'static str>().copied()).unwrap_or("no text");
    Fault::Panicked(text.to_owned())
}
