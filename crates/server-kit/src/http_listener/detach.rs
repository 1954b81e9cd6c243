//! Requests that may be taken away from the HTTP library while they wait for their response.

use std::convert::Infallible;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http::{Request, Response};
use hyper::body::Incoming;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

use super::connection_timer::ConnectionTimer;

/// A stream that a connection reads from and writes to.
pub trait ConnectionStream: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> ConnectionStream for T {}

/// The stream of a connection: TCP, or TLS over TCP.
pub type BoxedConnectionStream = Pin<Box<dyn ConnectionStream>>;

/// A future of the response to one request.
pub type ResponseFuture = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;

/// The request in flight on one connection, which can be detached from the HTTP library while it waits.
///
/// The library keeps its buffers for a connection whose request waits. A server with long polls takes such a connection
/// apart, and gives the library the stream again when the response is there ([`ResumedConnection`]).
pub trait DetachableRequest: Send + Sync + Sized + 'static {
    /// The state of a request that was detached.
    type DetachedRequest: Send;

    /// Creates the state of a connection; `response` answers the first request that the library reads.
    fn new_for_connection(response: Option<Response<Body>>) -> Arc<Self>;

    /// Answers the next request of the connection by `route`; the future never ends when the request is detached.
    fn respond_to_next_request(
        self: &Arc<Self>,
        request: Request<Incoming>,
        route: impl FnOnce(Request<Incoming>) -> ResponseFuture,
    ) -> impl Future<Output = Response<Body>> + Send + 'static;

    /// Called with what was just read from the client.
    fn on_bytes_read(&self, _bytes: &[u8]) {}

    /// Called before a write to the client.
    fn on_write_started(&self) {}

    /// Called when everything that was to be written is written.
    fn on_all_written(&self) {}

    /// Detaches the request if that is possible now; called when the connection has nothing to do.
    fn detach_if_possible(&self) -> Option<Self::DetachedRequest>;

    /// Waits until the HTTP library is needed again, and returns the connection to resume; `None` when the connection
    /// is over. A client has `keep_alive_timeout` for its next request.
    fn wait_for_resume(
        detached: DetachedConnection<Self::DetachedRequest>,
        stopping: &CancellationToken,
        keep_alive_timeout: Duration,
    ) -> impl Future<Output = Option<ResumedConnection>> + Send;
}

/// A connection whose request was detached from the HTTP library.
pub struct DetachedConnection<T> {
    /// The stream of the connection.
    pub stream: BoxedConnectionStream,
    /// The detached request.
    pub request: T,
    /// The bytes that the client has sent after the request.
    pub early: Vec<u8>,
}

/// A connection that is handed back to the HTTP library.
pub struct ResumedConnection {
    /// The stream of the connection.
    pub stream: BoxedConnectionStream,
    /// The bytes that the library reads before those of the stream.
    pub start: Bytes,
    /// The response to the request that the library reads first.
    pub response: Option<Response<Body>>,
}

impl ResumedConnection {
    /// Creates a connection from a stream that nothing was read from.
    #[must_use]
    pub fn from_unread_stream(stream: BoxedConnectionStream) -> Self {
        Self { stream, start: Bytes::new(), response: None }
    }
}

/// Requests that stay with the HTTP library.
pub(super) struct Attached;

impl DetachableRequest for Attached {
    type DetachedRequest = Infallible;

    fn new_for_connection(_: Option<Response<Body>>) -> Arc<Self> {
        Arc::new(Self)
    }

    fn respond_to_next_request(
        self: &Arc<Self>,
        request: Request<Incoming>,
        route: impl FnOnce(Request<Incoming>) -> ResponseFuture,
    ) -> impl Future<Output = Response<Body>> + Send + 'static {
        route(request)
    }

    fn detach_if_possible(&self) -> Option<Infallible> {
        None
    }

    async fn wait_for_resume(
        never: DetachedConnection<Infallible>,
        _: &CancellationToken,
        _: Duration,
    ) -> Option<ResumedConnection> {
        match never.request {}
    }
}

/// A stream that reports to the timer of its connection, and to its request, what is read and written.
pub(super) struct ObservedStream<D> {
    stream: BoxedConnectionStream,
    start: Bytes,
    timer: Arc<ConnectionTimer>,
    in_flight: Arc<D>,
}

impl<D> ObservedStream<D> {
    pub(super) fn new(
        (stream, start): (BoxedConnectionStream, Bytes),
        timer: &Arc<ConnectionTimer>,
        in_flight: &Arc<D>,
    ) -> Self {
        Self { stream, start, timer: Arc::clone(timer), in_flight: Arc::clone(in_flight) }
    }

    pub(super) fn into_inner(self) -> BoxedConnectionStream {
        self.stream
    }
}

impl<D: DetachableRequest> AsyncRead for ObservedStream<D> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = to.filled().len();
        if self.start.is_empty() {
            ready!(self.stream.as_mut().poll_read(context, to))?;
            self.in_flight.on_bytes_read(to.filled().get(before..).unwrap_or_default());
        } else {
            let size_bytes = self.start.len().min(to.remaining());
            to.put_slice(&self.start.split_to(size_bytes));
        }
        if to.filled().len() > before {
            self.timer.bytes_read();
        }
        Poll::Ready(Ok(()))
    }
}

impl<D: DetachableRequest> AsyncWrite for ObservedStream<D> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        self.in_flight.on_write_started();
        self.stream.as_mut().poll_write(context, from)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.in_flight.on_write_started();
        self.stream.as_mut().poll_write_vectored(context, from)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Called by the HTTP library when it has handed over everything, and not before.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.stream.as_mut().poll_flush(context))?;
        self.in_flight.on_all_written();
        self.timer.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_shutdown(context)
    }
}
