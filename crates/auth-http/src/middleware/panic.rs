//! A bug in one request ends that request, not the connection and not the server.

use std::any::Any;

use axum::response::{IntoResponse, Response};
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
    type ResponseBody = axum::body::Body;

    fn response_for_panic(&mut self, panic: Box<dyn Any + Send + 'static>) -> Response {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&'static str>().copied())
            .unwrap_or("no text");
        Fault::Panicked(text.to_owned()).into_response()
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::routing::get;
    use http::{Request, StatusCode};
    use tower::ServiceExt as _;

    #[tokio::test]
    async fn a_panic_is_answered_with_500() {
        async fn handler() {
            panic!("a bug");
        }
        let app = Router::new().route("/", get(handler)).layer(super::layer());
        let answer = app.oneshot(Request::new(Body::empty())).await.unwrap();
        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
