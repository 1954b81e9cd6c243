//! Request bodies that no handler has read.
//!
//! Many refusals are made before the body is read. The connection then still has the body in it, so the HTTP library
//! closes it, and a client that keeps connections open learns of it only when its next request fails; worse, a client
//! that is still sending may lose the response. So the rest is read and discarded, up to a limit, and beyond the limit
//! the response says that the connection closes.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use http::HeaderValue;
use http::header::{CONNECTION, EXPECT};
use http_body_util::BodyExt as _;

use crate::http_listener::ResponseFuture;

/// Most bytes of a body that are read and discarded.
const DRAIN_MAX_BYTES: usize = 32 * 1024 * 1024;
/// Longest time to wait for them.
const DRAIN_MAX_TIME: Duration = Duration::from_secs(5);

/// Answers `request` by `next`, then drains the unread request body, or closes the connection.
pub fn respond_then_drain_body(request: Request, next: impl FnOnce(Request) -> ResponseFuture) -> ResponseFuture {
    if request.body().is_end_stream() {
        return next(request);
    }
    let (parts, body) = request.into_parts();
    // Such a client has not sent its body yet, and will not when it sees the answer.
    let waits = parts.headers.contains_key(EXPECT);
    let body = SharedBody(Arc::new(Mutex::new(body)));
    let responding = next(Request::from_parts(parts, Body::new(body.clone())));
    Box::pin(async move {
        let mut response = responding.await;
        if !body.is_end_stream() && (waits || !body.read_to_end().await) {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    })
}

/// A body that can be read on after its handler has dropped it.
#[derive(Clone)]
struct SharedBody(Arc<Mutex<Body>>);

impl SharedBody {
    /// Reads what is left, and returns whether that was all of it.
    async fn read_to_end(mut self) -> bool {
        let read = async {
            let mut left_bytes = DRAIN_MAX_BYTES;
            while let Some(frame) = self.frame().await {
                let Ok(frame) = frame else { return false };
                let read_bytes = frame.data_ref().map_or(0, Bytes::len);
                match left_bytes.checked_sub(read_bytes) {
                    Some(left) => left_bytes = left,
                    None => return false,
                }
            }
            true
        };
        tokio::time::timeout(DRAIN_MAX_TIME, read).await.unwrap_or(false)
    }

    fn body(&self) -> MutexGuard<'_, Body> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpBody for SharedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut *self.body()).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body().is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body().size_hint()
    }
}

#[cfg(test)]
mod tests {
    use axum::response::{IntoResponse as _, Response};

    use super::*;

    /// Calls a handler that does not read the body.
    async fn answer(body: Body, expects: bool) -> (Response, Arc<Mutex<usize>>) {
        let read_bytes = Arc::new(Mutex::new(0));
        let counter = Arc::clone(&read_bytes);
        let body = body.map_frame(move |frame| {
            *counter.lock().unwrap() += frame.data_ref().map_or(0, Bytes::len);
            frame
        });
        let request = Request::post("/").body(Body::new(body)).unwrap();
        let request = if expects { with_expect(request) } else { request };
        let response = respond_then_drain_body(request, |request| {
            Box::pin(async {
                drop(request);
                "no".into_response()
            })
        });
        (response.await, read_bytes)
    }

    fn with_expect(mut request: Request) -> Request {
        request.headers_mut().insert(EXPECT, HeaderValue::from_static("100-continue"));
        request
    }

    #[tokio::test]
    async fn an_unread_body_is_discarded_and_the_connection_stays() {
        let (response, read_bytes) = answer(Body::from(vec![0; 100_000]), false).await;
        assert_eq!(response.headers().get(CONNECTION), None);
        assert_eq!(*read_bytes.lock().unwrap(), 100_000);
    }

    #[tokio::test]
    async fn a_body_over_the_limit_closes_the_connection() {
        let (response, _) = answer(Body::from(vec![0; DRAIN_MAX_BYTES + 1]), false).await;
        assert_eq!(response.headers()[CONNECTION], "close");
    }

    #[tokio::test]
    async fn a_client_that_waits_for_100_continue_sends_no_body() {
        let (response, read_bytes) = answer(Body::from(vec![0; 1000]), true).await;
        assert_eq!(response.headers()[CONNECTION], "close");
        assert_eq!(*read_bytes.lock().unwrap(), 0);
    }
}
