//! A bug in one request ends that request, not the connection and not the server.

use std::any::Any;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use tower_http::catch_panic::{CatchPanicLayer, ResponseForPanic};

use crate::error::Fault;

/// Turns a panic of a handler into a 500.
pub(crate) fn layer() -> CatchPanicLayer<Report> {
    CatchPanicLayer::custom(Report)
}

/// Answers a panic: its text goes to the log, never to the caller.
#[derive(Clone, Copy)]
pub(crate) struct Report;

impl ResponseForPanic for Report {
    type ResponseBody = Body;

    fn response_for_panic(&mut self, panic: Box<dyn Any + Send + 'static>) -> Response {
        let owned = panic.downcast_ref::<String>().map(String::as_str);
        let text = owned.or_else(|| panic.downcast_ref::<&'static str>().copied()).unwrap_or("no text");
        Fault::Panicked(text.to_owned()).into_response()
    }
}
