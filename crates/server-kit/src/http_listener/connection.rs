//! One connection, from its handshake to its last response.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use http::Request;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutWriter;
use tokio_util::sync::CancellationToken;

use super::body_rate::{RatedBody, TooSlow};
use super::connection_timer::{ConnectionTimer, Deadline};
use super::detach::{
    BoxedConnectionStream, DetachableRequest, DetachedConnection, ObservedStream, ResponseFuture, ResumedConnection,
};
use super::refusal::ListenerErrorBodies;
use super::{ListenerLimits, RouteService};
use crate::tls::ReloadableTlsCertificate;
use crate::trusted_proxies::{Peer, TrustedProxies};

/// Longest request head, in bytes; a longer one is answered with 431.
pub const REQUEST_HEAD_MAX_BYTES: usize = 64 * 1024;
/// Longest time for one refusal: handshake, response, and waiting for the other side to read it.
const REFUSAL_TIME_MAX: Duration = Duration::from_secs(2);

/// One accepted connection and the routes that serve it.
pub struct HttpConnection<R> {
    pub(super) peer: Peer,
    pub(super) routes: R,
    pub(super) limits: Arc<ListenerLimits>,
    pub(super) stopping: CancellationToken,
}

impl<R: RouteService> HttpConnection<R> {
    /// Creates a connection of a client at `address` without a listener.
    pub fn new(address: SocketAddr, routes: R, limits: ListenerLimits, stopping: CancellationToken) -> Self {
        let peer = Peer::new(address, &TrustedProxies::default());
        Self { peer, routes, limits: Arc::new(limits), stopping }
    }

    /// Serves requests until either side ends.
    pub(super) async fn open<D: DetachableRequest>(
        self,
        stream: TcpStream,
        tls: Option<Arc<ReloadableTlsCertificate>>,
    ) {
        // Responses are small and complete: waiting to fill a packet only delays them.
        let _ = stream.set_nodelay(true);
        let mut stream = TimeoutWriter::new(stream);
        stream.set_timeout(Some(self.limits.write_timeout));
        let stream: BoxedConnectionStream = Box::pin(stream);
        let stream = match tls {
            None => Some(stream),
            // Boxed, so that a plain connection does not hold the memory of the handshake.
            Some(tls) => Box::pin(handshake(stream, tls, self.limits.header_timeout)).await,
        };
        if let Some(stream) = stream {
            Box::pin(self.converse::<D>(stream)).await;
        }
    }

    async fn converse<D: DetachableRequest>(self, stream: BoxedConnectionStream) {
        let mut resumed = ResumedConnection::from_unread_stream(stream);
        // Boxed, so that the memory of the HTTP library is freed while a request waits.
        while let Some(detached) = Box::pin(self.serve_until_detached::<D>(resumed)).await {
            let next = D::wait_for_resume(detached, &self.stopping, self.limits.keep_alive_timeout).await;
            let Some(next) = next else { return };
            resumed = next;
        }
    }

    /// Serves requests until the connection is over or `D` detaches one of them.
    pub async fn serve_until_detached<D: DetachableRequest>(
        &self,
        resumed: ResumedConnection,
    ) -> Option<DetachedConnection<D::DetachedRequest>> {
        let ResumedConnection { stream, start, response } = resumed;
        let in_flight = D::new_for_connection(response);
        let timer = ConnectionTimer::new(self.limits.header_timeout, self.limits.keep_alive_timeout);
        let service = service_fn(|request| {
            timer.head_complete();
            let responding = in_flight.respond_to_next_request(request, |request| self.respond(request));
            let timer = Arc::clone(&timer);
            async move { Ok::<_, Infallible>(timer.responded(responding.await)) }
        });
        let stream = ObservedStream::new((stream, start), &timer, &in_flight);
        let mut connection = http1::Builder::new()
            .header_read_timeout(None)
            .max_header_size(REQUEST_HEAD_MAX_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        let mut deadline = Deadline::of(&timer);
        let mut is_stopping = false;
        let ended = loop {
            tokio::select! {
                // A connection that has to end before its first poll would not use the response that it holds.
                biased;
                ended = poll_fn(|context| {
                    serve_or_detach(&mut connection, (&*in_flight, is_stopping), &mut deadline, context)
                }) => break ended,
                () = self.stopping.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    Pin::new(&mut connection).graceful_shutdown();
                }
            }
        };
        match ended {
            Ended::Detached(request) => {
                let parts = connection.into_parts();
                let early = parts.read_buf.to_vec();
                return Some(DetachedConnection { stream: parts.io.into_inner().into_inner(), request, early });
            }
            Ended::Over(Ok(())) => {}
            Ended::Over(Err(error)) => tracing::debug!(%error, "connection ended early"),
            Ended::Late => {
                let parts = connection.into_parts();
                // An idle connection is closed without a response, because its client sent no request.
                if !parts.read_buf.is_empty() {
                    let end = say(parts.io.into_inner().into_inner(), self.limits.refusals.late());
                    let _ = timeout(REFUSAL_TIME_MAX, end).await;
                }
            }
        }
        None
    }

    /// Not an `async fn`, which would keep the memory of the request while the response is made.
    fn respond(&self, mut request: Request<Incoming>) -> ResponseFuture {
        let client = self.peer.client(request.headers());
        request.extensions_mut().insert(ConnectInfo(client));
        let mut routes = self.routes.clone();
        // Most requests have no body.
        if request.body().is_end_stream() {
            let responding = routes.call(request.map(|_| Body::empty()));
            return Box::pin(async {
                let Ok(response) = responding.await;
                response
            });
        }
        let (too_slow, body_rate, refusals) = (TooSlow::default(), self.limits.body_rate, self.limits.refusals);
        let body = |body| Body::new(RatedBody::new(body, body_rate, too_slow.clone()));
        let responding = routes.call(request.map(body));
        Box::pin(async move {
            let Ok(response) = responding.await;
            // A route that succeeded all the same did not need the body.
            let failed = response.status().is_client_error() || response.status().is_server_error();
            if failed && too_slow.is_set() { refusals.late_body(response) } else { response }
        })
    }
}

async fn handshake(
    stream: BoxedConnectionStream,
    tls: Arc<ReloadableTlsCertificate>,
    time_max: Duration,
) -> Option<BoxedConnectionStream> {
    match timeout(time_max, tls.acceptor().accept(stream)).await {
        Ok(Ok(stream)) => return Some(Box::pin(stream)),
        Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
        Err(_) => tracing::debug!("TLS handshake took too long"),
    }
    None
}

/// The reason why the HTTP library has no more to do.
enum Ended<T> {
    Over(hyper::Result<()>),
    Detached(T),
    Late,
}

/// Polls the connection, then its deadline. No request is taken away from a connection that has to end: its last
/// response is the library's.
fn serve_or_detach<D: DetachableRequest>(
    connection: &mut (impl Future<Output = hyper::Result<()>> + Unpin),
    (in_flight, is_stopping): (&D, bool),
    deadline: &mut Deadline,
    context: &mut Context<'_>,
) -> Poll<Ended<D::DetachedRequest>> {
    if let Poll::Ready(outcome) = Pin::new(connection).poll(context) {
        return Poll::Ready(Ended::Over(outcome));
    }
    match if is_stopping { None } else { in_flight.detach_if_possible() } {
        Some(request) => Poll::Ready(Ended::Detached(request)),
        None => deadline.poll(context).map(|()| Ended::Late),
    }
}

/// Answers that there are too many connections.
pub(super) async fn refuse(
    stream: TcpStream,
    tls: Option<Arc<ReloadableTlsCertificate>>,
    refusals: &ListenerErrorBodies,
) {
    let refusing = async {
        match tls {
            None => say(stream, refusals.busy()).await,
            Some(tls) => {
                if let Ok(stream) = tls.acceptor().accept(stream).await {
                    say(stream, refusals.busy()).await;
                }
            }
        }
    };
    let _ = timeout(REFUSAL_TIME_MAX, refusing).await;
}

/// Writes `response` and waits for the other side to close. Closing first, with its request unread, would reset the
/// connection and could discard the response before it is read.
async fn say<I: AsyncRead + AsyncWrite + Unpin>(mut stream: I, response: String) {
    if stream.write_all(response.as_bytes()).await.is_ok() && stream.shutdown().await.is_ok() {
        let mut unread = [0; 1024];
        while matches!(stream.read(&mut unread).await, Ok(1..)) {}
    }
}
