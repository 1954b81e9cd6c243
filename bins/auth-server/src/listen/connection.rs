//! One connection, from its handshake to its last answer.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutWriter;
use tower::ServiceExt as _;

use super::answers;
use super::body::{Late, Pace, PacedBody};
use super::clock::{Clock, Limit, Timed};
use super::peer::Peer;
use crate::shutdown::Stop;
use crate::tls::Tls;

/// Longest request head, in bytes; a longer one is answered with 431.
pub(crate) const HEAD_MAX_BYTES: usize = 64 * 1024;
/// How long one refusal may take: handshake, answer, and waiting for the other side to read it.
const REFUSAL_TIME_MAX: Duration = Duration::from_secs(2);

/// One accepted connection and what serves it.
pub(crate) struct Connection {
    pub(crate) peer: Peer,
    pub(crate) router: Router,
    /// For the handshake, and again for every request head.
    pub(crate) header_timeout: Duration,
    /// Between two requests.
    pub(crate) keep_alive_timeout: Duration,
    pub(crate) body_pace: Pace,
    /// Longest time in which the other side takes nothing of what is to be written. Waiting with
    /// nothing to write is free: that is a long poll.
    pub(crate) write_pause_max: Duration,
    pub(crate) stop: Stop,
}

impl Connection {
    /// Serves requests until either side ends.
    pub(crate) async fn open(self, stream: TcpStream, tls: Option<Arc<Tls>>) {
        // Answers are small and complete: waiting to fill a packet only delays them.
        let _ = stream.set_nodelay(true);
        let mut stream = TimeoutWriter::new(stream);
        stream.set_timeout(Some(self.write_pause_max));
        let stream = Box::pin(stream);
        // Each in a future of its own size: a plain connection that waits for long does not hold the room of TLS.
        match tls {
            None => Box::pin(self.converse(stream)).await,
            Some(tls) => Box::pin(self.encrypt(stream, tls)).await,
        }
    }

    async fn encrypt<I>(self, stream: I, tls: Arc<Tls>)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        match timeout(self.header_timeout, tls.acceptor().accept(stream)).await {
            Ok(Ok(stream)) => self.converse(stream).await,
            Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
            Err(_) => tracing::debug!("TLS handshake took too long"),
        }
    }

    async fn converse<I>(mut self, stream: I)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (router, peer, pace) = (self.router, self.peer, self.body_pace);
        let clock = Clock::new(self.header_timeout, self.keep_alive_timeout);
        let service = service_fn(|request: Request<Incoming>| {
            clock.request();
            let client = peer.client(request.headers());
            let (answering, clock) = (answer(router.clone(), client, pace, request), Arc::clone(&clock));
            async move { answering.await.map(|answer| clock.answered(answer)) }
        });
        let mut connection = http1::Builder::new()
            .header_read_timeout(None)
            .max_header_size(HEAD_MAX_BYTES)
            .serve_connection(TokioIo::new(Timed::new(stream, &clock)), service);
        let mut limit = Limit::of(&clock);
        let mut is_stopping = false;
        let ended = loop {
            tokio::select! {
                ended = poll_fn(|context| serve_in_time(&mut connection, &mut limit, context)) => break ended,
                () = self.stop.stopped(), if !is_stopping => {
                    is_stopping = true;
                    Pin::new(&mut connection).graceful_shutdown();
                }
            }
        };
        match ended {
            Ended::Over(Ok(())) => {}
            Ended::Over(Err(error)) => tracing::debug!(%error, "connection ended early"),
            Ended::Late => {
                let parts = connection.into_parts();
                // A client that sent nothing asked for nothing: an idle connection is closed without an answer.
                if !parts.read_buf.is_empty() {
                    let end = say(parts.io.into_inner().into_inner(), answers::late());
                    let _ = timeout(REFUSAL_TIME_MAX, end).await;
                }
            }
        }
    }
}

/// Why the HTTP library has no more to do.
enum Ended {
    Over(hyper::Result<()>),
    Late,
}

fn serve_in_time(
    connection: &mut (impl Future<Output = hyper::Result<()>> + Unpin),
    limit: &mut Limit,
    context: &mut Context<'_>,
) -> Poll<Ended> {
    match Pin::new(connection).poll(context) {
        Poll::Ready(outcome) => Poll::Ready(Ended::Over(outcome)),
        Poll::Pending => limit.poll(context).map(|()| Ended::Late),
    }
}

async fn answer(
    router: Router,
    client: SocketAddr,
    pace: Pace,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    request.extensions_mut().insert(ConnectInfo(client));
    let late = Late::default();
    let request = request.map(|body| PacedBody::new(body, pace, late.clone()));
    let answer = router.oneshot(request).await?;
    // A route that succeeded all the same did not need the body.
    let failed = answer.status().is_client_error() || answer.status().is_server_error();
    Ok(if failed && late.is_set() { answers::late_body(answer) } else { answer })
}

/// Tells the other side that there are too many connections.
pub(crate) async fn refuse(stream: TcpStream, tls: Option<Arc<Tls>>) {
    let told = async {
        match tls {
            None => say(stream, answers::busy()).await,
            Some(tls) => {
                if let Ok(stream) = tls.acceptor().accept(stream).await {
                    say(stream, answers::busy()).await;
                }
            }
        }
    };
    let _ = timeout(REFUSAL_TIME_MAX, told).await;
}

/// Writes `answer` and waits for the other side to close. Closing first, with its request unread,
/// would reset the connection and could take the answer away before it is read.
async fn say<I: AsyncRead + AsyncWrite + Unpin>(mut stream: I, answer: String) {
    if stream.write_all(answer.as_bytes()).await.is_ok() && stream.shutdown().await.is_ok() {
        let mut unread = [0; 1024];
        while matches!(stream.read(&mut unread).await, Ok(1..)) {}
    }
}
