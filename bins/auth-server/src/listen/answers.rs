//! What the listener itself answers, when no route can.

use axum::body::Body;
use http::{HeaderValue, Response, StatusCode, header};

use crate::clock;

const BUSY: &str = r#"{"error":"temporarily_unavailable","error_description":"too many connections"}"#;
const LATE: &str = r#"{"error":"invalid_request","error_description":"the request took too long to arrive"}"#;

/// The answer over a connection limit, as it goes over the wire.
pub(crate) fn busy() -> String {
    wire("503 Service Unavailable\r\nretry-after: 1", BUSY)
}

/// The answer to a head that did not arrive in time, as it goes over the wire.
pub(crate) fn late() -> String {
    wire("408 Request Timeout", LATE)
}

fn wire(head: &str, body: &str) -> String {
    let (id, size_bytes) = (clock::env().identifier(), body.len());
    tracing::debug!(request_id = id, "answering without a request: {head:?}");
    format!(
        "HTTP/1.1 {head}\r\nx-request-id: {id}\r\ncontent-type: application/json\r\n\
         content-length: {size_bytes}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// Makes `answer`, which a route gave when the body broke off, say that it was too slow. Its
/// other headers stay, the request id among them.
pub(crate) fn late_body(answer: Response<Body>) -> Response<Body> {
    let (mut parts, _) = answer.into_parts();
    parts.status = StatusCode::REQUEST_TIMEOUT;
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    parts.headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    Response::from_parts(parts, Body::from(LATE))
}
