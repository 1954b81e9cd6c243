//! The answers of the listener itself, where no route can answer.

use axum::body::Body;
use http::{HeaderValue, Response, StatusCode, header};

/// The JSON bodies of the error responses that the listener itself sends.
#[derive(Debug, Clone, Copy)]
pub struct ListenerErrorBodies {
    /// The body of the 503 response to a connection over a limit.
    pub busy: &'static str,
    /// The body of the 408 response to a head or a body that did not arrive in time.
    pub late: &'static str,
    /// Returns a new identifier for the header `x-request-id`.
    pub request_id: fn() -> String,
}

impl ListenerErrorBodies {
    /// Returns the whole answer over a connection limit.
    pub(super) fn busy(&self) -> String {
        self.wire("503 Service Unavailable\r\nretry-after: 1", self.busy)
    }

    /// Returns the whole answer to a head that did not arrive in time.
    pub(super) fn late(&self) -> String {
        self.wire("408 Request Timeout", self.late)
    }

    fn wire(&self, head: &str, body: &str) -> String {
        let (id, size_bytes) = ((self.request_id)(), body.len());
        tracing::debug!(request_id = id, "answering without a request: {head:?}");
        format!(
            "HTTP/1.1 {head}\r\nx-request-id: {id}\r\ncontent-type: application/json\r\n\
             content-length: {size_bytes}\r\nconnection: close\r\n\r\n{body}"
        )
    }

    /// Turns `response`, which a route gave when the request body broke off, into 408. Its other headers stay, the
    /// request id among them.
    pub(super) fn late_body(&self, response: Response<Body>) -> Response<Body> {
        let (mut parts, _) = response.into_parts();
        parts.status = StatusCode::REQUEST_TIMEOUT;
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        parts.headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        Response::from_parts(parts, Body::from(self.late))
    }
}
