//! The accept loop: a limit of connections, a time limit for request heads, TLS, and an end that
//! loses no answer.
//!
//! HTTP/1.1 only. A connection without a request is closed after the header time limit, so that
//! limit is also the longest keep-alive.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower::ServiceExt as _;
use tower_http::timeout::TimeoutBody;

use crate::shutdown::Stop;
use crate::tls::Tls;

/// How long running requests may take to finish once the server is to stop.
const DRAIN_MAX: Duration = Duration::from_secs(10);
/// Longest request head, in bytes; a longer one is answered with 431.
const HEAD_MAX_BYTES: usize = 64 * 1024;
/// Longest pause inside a request body; after it the handler sees the body break off.
const BODY_PAUSE_MAX: Duration = Duration::from_secs(30);
/// Connections over the limit that are told so at the same time; more are closed without a word.
const REFUSALS_MAX: usize = 256;
/// Connections that may wait to be accepted; the system's own maximum is often smaller.
const BACKLOG: u32 = 4096;
/// How long one refusal may take: handshake, answer, and waiting for the other side to read it.
const REFUSAL_TIME_MAX: Duration = Duration::from_secs(2);
/// Pause after a failed accept, which is most often a lack of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);
/// File descriptors kept for the database, files and outbound calls beside the connections.
const DESCRIPTORS_APART: u64 = 256;

/// The answer over the connection limit.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: application/json\r\nretry-after: 1\r\nconnection: close\r\n\r\n\
    {\"error\":\"temporarily_unavailable\",\"error_description\":\"too many connections\"}";
/// The answer to a head that did not arrive in time.
const LATE: &[u8] = b"HTTP/1.1 408 Request Timeout\r\n\
    content-length: 0\r\nconnection: close\r\n\r\n";

/// What one listener allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// From the first wait for a request until its head is complete.
    pub(crate) header_timeout: Duration,
    /// Open connections, idle ones included.
    pub(crate) connections_max: usize,
}

/// An address that is ours, and refuses connections until [`Reserved::listen`]: what the server
/// is called must be known before it is ready.
#[derive(Debug)]
pub(crate) struct Reserved {
    socket: TcpSocket,
    address: SocketAddr,
    tls: Option<Arc<Tls>>,
}

impl Reserved {
    /// Binds `address`; port 0 takes a free one.
    ///
    /// # Errors
    /// When the address is in use, not of this machine, or not permitted.
    pub(crate) fn bind(address: SocketAddr, tls: Option<Arc<Tls>>) -> anyhow::Result<Self> {
        let (socket, address) = bind(address).with_context(|| format!("cannot listen on {address}"))?;
        Ok(Self { socket, address, tls })
    }

    /// Scheme, address and port that were bound, for example `http://127.0.0.1:8080`.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The address that was bound.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on connections are taken; they wait for [`Listener::serve`].
    ///
    /// # Errors
    /// When somebody else listens there since it was bound.
    pub(crate) fn listen(self, limits: Limits) -> anyhow::Result<Listener> {
        let socket = self.socket.listen(BACKLOG);
        let socket = socket.with_context(|| format!("cannot listen on {}", self.address))?;
        allow_descriptors(limits.connections_max);
        Ok(Listener { socket, limits, tls: self.tls })
    }
}

fn bind(address: SocketAddr) -> io::Result<(TcpSocket, SocketAddr)> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // A restart must not wait for connections of the process before it.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let bound = socket.local_addr()?;
    Ok((socket, bound))
}

/// A listening address.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: TcpListener,
    limits: Limits,
    tls: Option<Arc<Tls>>,
}

impl Listener {
    /// Serves until `stop`, then finishes what runs, for [`DRAIN_MAX`] at most.
    pub(crate) async fn serve(self, router: Router, mut stop: Stop) {
        let slots = Arc::new(Semaphore::new(self.limits.connections_max));
        let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
        let mut connections = JoinSet::new();
        loop {
            let (stream, peer) = tokio::select! {
                accepted = self.accept() => accepted,
                Some(_) = connections.join_next() => continue,
                () = stop.stopped() => break,
            };
            if let Ok(slot) = Arc::clone(&slots).try_acquire_owned() {
                let connection = Connection {
                    peer,
                    router: router.clone(),
                    header_timeout: self.limits.header_timeout,
                    stop: stop.clone(),
                };
                let tls = self.tls.clone();
                connections.spawn(async move {
                    connection.open(stream, tls).await;
                    drop(slot);
                });
                continue;
            }
            metrics::counter!("http_connections_refused_total").increment(1);
            if let Ok(slot) = Arc::clone(&refusals).try_acquire_owned() {
                let tls = self.tls.clone();
                connections.spawn(async move {
                    let _ = timeout(REFUSAL_TIME_MAX, refuse(stream, tls)).await;
                    drop(slot);
                });
            }
        }
        drop(self.socket);
        drain(connections).await;
    }

    async fn accept(&self) -> (TcpStream, SocketAddr) {
        loop {
            match self.socket.accept().await {
                Ok(accepted) => return accepted,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            }
        }
    }
}

async fn drain(mut connections: JoinSet<()>) {
    let finish = async { while connections.join_next().await.is_some() {} };
    if timeout(DRAIN_MAX, finish).await.is_err() {
        let count = connections.len();
        tracing::warn!(count, "connections were cut off: they did not finish in time");
        connections.shutdown().await;
    }
}

/// One accepted connection and what serves it.
struct Connection {
    peer: SocketAddr,
    router: Router,
    header_timeout: Duration,
    stop: Stop,
}

impl Connection {
    async fn open(self, stream: TcpStream, tls: Option<Arc<Tls>>) {
        // Answers are small and complete: waiting to fill a packet only delays them.
        let _ = stream.set_nodelay(true);
        match tls {
            None => self.converse(stream).await,
            Some(tls) => match timeout(self.header_timeout, tls.acceptor().accept(stream)).await {
                Ok(Ok(stream)) => self.converse(stream).await,
                Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
                Err(_) => tracing::debug!("TLS handshake took too long"),
            },
        }
    }

    async fn converse<I>(mut self, stream: I)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (router, peer) = (self.router, self.peer);
        let service = service_fn(move |request| answer(router.clone(), peer, request));
        let mut connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.header_timeout)
            .max_header_size(HEAD_MAX_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        let ended = tokio::select! {
            outcome = &mut connection => Some(outcome),
            () = self.stop.stopped() => None,
        };
        let outcome = if let Some(outcome) = ended {
            outcome
        } else {
            Pin::new(&mut connection).graceful_shutdown();
            (&mut connection).await
        };
        let Err(error) = outcome else { return };
        tracing::debug!(%error, "connection ended early");
        if error.is_timeout() {
            let parts = connection.into_parts();
            // Whoever sent nothing asked nothing: an idle connection is closed without an answer.
            if !parts.read_buf.is_empty() {
                let end = say(parts.io.into_inner(), LATE);
                let _ = timeout(REFUSAL_TIME_MAX, end).await;
            }
        }
    }
}

async fn answer(
    router: Router,
    peer: SocketAddr,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    request.extensions_mut().insert(ConnectInfo(peer));
    router.oneshot(request.map(|body| TimeoutBody::new(BODY_PAUSE_MAX, body))).await
}

async fn refuse(stream: TcpStream, tls: Option<Arc<Tls>>) {
    match tls {
        None => say(stream, BUSY).await,
        Some(tls) => {
            if let Ok(stream) = tls.acceptor().accept(stream).await {
                say(stream, BUSY).await;
            }
        }
    }
}

/// Writes `bytes` and waits for the other side to close. Closing first, with its request unread,
/// would reset the connection and could take the answer away before it is read.
async fn say<I: AsyncRead + AsyncWrite + Unpin>(mut stream: I, bytes: &[u8]) {
    if stream.write_all(bytes).await.is_ok() && stream.shutdown().await.is_ok() {
        let mut unread = [0; 1024];
        while matches!(stream.read(&mut unread).await, Ok(1..)) {}
    }
}

/// Raises the soft limit of open files, commonly 1,024, so that the connection limit is reached
/// before it. The hard limit is the administrator's and stays.
fn allow_descriptors(connections_max: usize) {
    let wanted = u64::try_from(connections_max).map_or(u64::MAX, |n| n + DESCRIPTORS_APART);
    let limit = getrlimit(Resource::Nofile);
    let (Some(soft), hard) = (limit.current, limit.maximum) else {
        return;
    };
    if soft >= wanted {
        return;
    }
    let reachable = hard.map_or(wanted, |hard| hard.min(wanted));
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(reachable), maximum: hard });
    if raised.is_err() || reachable < wanted {
        tracing::warn!(wanted, available = reachable, "fewer open files are allowed than --max-connections needs");
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::sync::{Notify, watch};
    use tokio::task::JoinHandle;

    use super::*;

    /// A server with `connections_max` and a header timeout of `header_ms`, whose `/slow` answers
    /// when `release` is notified, after `entered`.
    struct Running {
        address: SocketAddr,
        stop: watch::Sender<bool>,
        entered: Arc<Notify>,
        release: Arc<Notify>,
        end: JoinHandle<()>,
    }

    #[expect(clippy::disallowed_methods, reason = "the test joins it by its handle")]
    fn run(connections_max: usize, header_ms: u64) -> Running {
        let limits = Limits { header_timeout: Duration::from_millis(header_ms), connections_max };
        let any_port = "127.0.0.1:0".parse().unwrap();
        let reserved = Reserved::bind(any_port, None).unwrap();
        let address = reserved.address();
        let listener = reserved.listen(limits).unwrap();
        let (stop, stopped) = Stop::by_hand();
        let (entered, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (enter, wait) = (Arc::clone(&entered), Arc::clone(&release));
        let slow = move || async move {
            enter.notify_one();
            wait.notified().await;
            "finished"
        };
        let peer = |ConnectInfo(peer): ConnectInfo<SocketAddr>| async move { peer.to_string() };
        let router = Router::new().route("/slow", get(slow)).route("/peer", get(peer));
        let end = tokio::spawn(listener.serve(router, stopped));
        Running { address, stop, entered, release, end }
    }

    async fn connect(server: &Running, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    async fn all(mut stream: TcpStream) -> String {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    fn request(path: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n")
    }

    #[tokio::test]
    async fn a_reserved_address_refuses_connections() {
        let any_port = "127.0.0.1:0".parse().unwrap();
        let reserved = Reserved::bind(any_port, None).unwrap();
        let refused = TcpStream::connect(reserved.address()).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[tokio::test]
    async fn a_handler_knows_the_address_of_the_other_side() {
        let server = run(10, 10_000);
        let stream = connect(&server, &request("/peer")).await;
        let own = stream.local_addr().unwrap().to_string();
        let answer = all(stream).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.ends_with(&own), "{answer}");
    }

    #[tokio::test]
    async fn one_connection_too_many_is_told_so_and_the_others_go_on() {
        let server = run(1, 10_000);
        let first = connect(&server, &request("/slow")).await;
        server.entered.notified().await;
        let refused = all(connect(&server, &request("/peer")).await).await;
        assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
        assert!(refused.contains("retry-after: 1"), "{refused}");
        server.release.notify_one();
        assert!(all(first).await.ends_with("finished"));
    }

    #[tokio::test]
    async fn a_head_that_does_not_end_is_answered_408() {
        let server = run(10, 50);
        let answer = all(connect(&server, "GET /peer HTTP/1.1\r\nhost: ").await).await;
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    }

    #[tokio::test]
    async fn a_silent_connection_is_closed_without_an_answer() {
        let server = run(10, 50);
        assert_eq!(all(connect(&server, "").await).await, "");
    }

    #[tokio::test]
    async fn a_head_over_the_limit_is_answered_431() {
        let server = run(10, 10_000);
        let long = format!("GET / HTTP/1.1\r\nlong: {}\r\n\r\n", "x".repeat(HEAD_MAX_BYTES));
        let mut stream = connect(&server, &long).await;
        let mut start = [0; 12];
        stream.read_exact(&mut start).await.unwrap();
        assert_eq!(&start, b"HTTP/1.1 431");
    }

    #[tokio::test]
    async fn a_stop_refuses_new_connections_and_finishes_what_runs() {
        let server = run(10, 10_000);
        let running = connect(&server, &request("/slow")).await;
        let idle = connect(&server, "").await;
        server.entered.notified().await;
        server.stop.send(true).unwrap();
        assert_eq!(all(idle).await, "");
        while TcpStream::connect(server.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        assert!(!server.end.is_finished());
        server.release.notify_one();
        assert!(all(running).await.ends_with("finished"));
        server.end.await.unwrap();
    }
}
