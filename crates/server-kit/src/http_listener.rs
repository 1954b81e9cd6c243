//! The accept loop: connection quotas, time limits for clients that send or read slowly, TLS, and an end that loses no
//! response.
//!
//! HTTP/1.1 only. A connection whose first request does not arrive is closed after the header timeout; between two
//! requests it may be idle for longer ([`ListenerLimits::keep_alive_timeout`]).

mod body_rate;
mod connection;
mod connection_quota;
mod connection_timer;
mod detach;
mod refusal;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{Request, Response};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tower::Service;

use self::connection::refuse;
use self::connection_quota::{ConnectionQuota, QuotaPermit};
use self::detach::Attached;
use crate::tls::ReloadableTlsCertificate;
use crate::trusted_proxies::{Peer, TrustedProxies};

pub use self::body_rate::MinimumBodyRate;
pub use self::connection::{HttpConnection, REQUEST_HEAD_MAX_BYTES};
pub use self::detach::{
    BoxedConnectionStream, ConnectionStream, DetachableRequest, DetachedConnection, ResponseFuture, ResumedConnection,
};
pub use self::refusal::ListenerErrorBodies;

/// The longest time a client may take nothing of a response before its connection is closed. The system reports
/// progress only when a good part of its send buffer is free again, so a reader of a few bytes at a time counts as one
/// that takes nothing.
pub const WRITE_STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest time for requests to a server that is not ready to finish once it is: their responses are one line each.
const HANDOVER_MAX: Duration = Duration::from_millis(250);
/// Connections over the limit that are answered at the same time; further ones are closed without a response.
const REFUSALS_MAX: usize = 256;
/// Connections that may wait to be accepted; the system's own maximum is often smaller.
const BACKLOG: u32 = 4096;
/// Pause after a failed accept, which is most often a lack of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);
/// File descriptors left for the database, files and outbound calls beside the connections.
const DESCRIPTORS_APART: u64 = 256;

/// The routes of a server: a service that is always ready.
pub trait RouteService:
    Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send + 'static>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<R> RouteService for R where
    R: Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send + 'static>
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// The limits of one listener: connections, time limits and body rate.
#[derive(Debug, Clone, Copy)]
pub struct ListenerLimits {
    /// Longest time for the head of a request, and for a new connection until its first head is complete.
    pub header_timeout: Duration,
    /// Longest time between the response to a request and the beginning of the next request.
    pub keep_alive_timeout: Duration,
    /// Longest time for running requests to finish once the server stops.
    pub drain_timeout: Duration,
    /// Most open connections, idle ones included.
    pub connections_max: usize,
    /// Most open connections of one subscriber ([`attempt_limits::address_networks::subscriber_network`]); `None` for
    /// no limit.
    pub connections_per_address: Option<NonZeroUsize>,
    /// The lowest rate of request bodies.
    pub body_rate: MinimumBodyRate,
    /// Longest time in which the client takes nothing of what is to be written. Waiting with nothing to write is not
    /// limited: that is a long poll.
    pub write_timeout: Duration,
    /// The bodies of the responses to requests that exceed these limits.
    pub refusals: ListenerErrorBodies,
}

/// The reason why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}")]
pub struct ListenError {
    address: SocketAddr,
    #[source]
    cause: io::Error,
}

/// A bound address that refuses connections until [`BoundListener::listen`].
#[derive(Debug)]
pub struct BoundListener {
    socket: TcpSocket,
    address: SocketAddr,
    tls: Option<Arc<ReloadableTlsCertificate>>,
}

impl BoundListener {
    /// Binds `address`; port 0 takes a free one.
    ///
    /// # Errors
    /// See [`ListenError`].
    pub fn bind(address: SocketAddr, tls: Option<Arc<ReloadableTlsCertificate>>) -> Result<Self, ListenError> {
        let (socket, address) = bind(address).map_err(|cause| ListenError { address, cause })?;
        Ok(Self { socket, address, tls })
    }

    /// Returns the URL of the bound address, for example `http://127.0.0.1:8080`.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Returns the address that was bound.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts to accept connections; they wait for [`Listener::serve`].
    ///
    /// # Errors
    /// When another process listens on the address in the meantime.
    pub fn listen(self, limits: ListenerLimits) -> Result<Listener, ListenError> {
        let address = self.address;
        let socket = self.socket.listen(BACKLOG).map_err(|cause| ListenError { address, cause })?;
        raise_descriptor_limit(limits.connections_max);
        Ok(Listener { socket, limits: Arc::new(limits), tls: self.tls, proxies: TrustedProxies::default() })
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

/// A socket that accepts connections, with the limits and the TLS certificate of its connections.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    limits: Arc<ListenerLimits>,
    tls: Option<Arc<ReloadableTlsCertificate>>,
    proxies: TrustedProxies,
}

impl Listener {
    /// Sets the proxies whose client addresses are trusted; by default none are.
    #[must_use]
    pub fn with_trusted_proxies(self, proxies: TrustedProxies) -> Self {
        Self { proxies, ..self }
    }

    /// Serves until `stopping` is cancelled, lets running requests finish within the drain timeout, and returns the
    /// number of connections that were closed after it.
    pub async fn serve(self, routes: impl RouteService, stopping: CancellationToken) -> usize {
        self.serve_detachable_requests::<Attached>(routes, stopping).await
    }

    /// Serves as [`Listener::serve`] does, and lets `D` detach waiting requests from their connections.
    pub async fn serve_detachable_requests<D: DetachableRequest>(
        self,
        routes: impl RouteService,
        stopping: CancellationToken,
    ) -> usize {
        let mut connections = JoinSet::new();
        tokio::select! {
            never = self.accept_all::<D>(&routes, &stopping, &mut connections) => match never {},
            () = stopping.cancelled() => {}
        }
        drop(self.socket);
        drain(connections, self.limits.drain_timeout).await
    }

    /// Serves `router` until `work` is done, then closes its connections, so that the next request of each client is
    /// answered by the router that serves next. Connections that are not accepted by then wait for that router.
    pub async fn serve_until_work_done<T>(&self, router: Router, work: impl Future<Output = T>) -> T {
        let mut connections = JoinSet::new();
        let stopping = CancellationToken::new();
        let done = tokio::select! {
            done = work => done,
            never = self.accept_all::<Attached>(&router, &stopping, &mut connections) => match never {},
        };
        stopping.cancel();
        let _cut_off = drain(connections, HANDOVER_MAX).await;
        done
    }

    async fn accept_all<D: DetachableRequest>(
        &self,
        routes: &impl RouteService,
        stopping: &CancellationToken,
        connections: &mut JoinSet<()>,
    ) -> Infallible {
        let slots = ConnectionSlots::new(&self.limits);
        let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
        loop {
            let (stream, address) = tokio::select! {
                accepted = self.accept() => accepted,
                Some(_) = connections.join_next() => continue,
            };
            let tls = self.tls.clone();
            let peer = Peer::new(address, &self.proxies);
            if let Some(slot) = slots.acquire(&peer) {
                let limits = Arc::clone(&self.limits);
                let connection = HttpConnection { peer, routes: routes.clone(), limits, stopping: stopping.clone() };
                connections.spawn(async move {
                    connection.open::<D>(stream, tls).await;
                    drop(slot);
                });
                continue;
            }
            metrics::counter!("http_connections_refused_total").increment(1);
            if let Ok(slot) = Arc::clone(&refusals).try_acquire_owned() {
                let limits = Arc::clone(&self.limits);
                connections.spawn(async move {
                    refuse(stream, tls, &limits.refusals).await;
                    drop(slot);
                });
            }
        }
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

/// The places for connections.
struct ConnectionSlots {
    all: Arc<Semaphore>,
    quota: Arc<ConnectionQuota>,
}

impl ConnectionSlots {
    fn new(limits: &ListenerLimits) -> Self {
        let all = Arc::new(Semaphore::new(limits.connections_max));
        Self { all, quota: ConnectionQuota::new(limits.connections_per_address) }
    }

    /// Takes a place for a connection of `peer`, until it is dropped; `None` over either limit. A proxy has no quota,
    /// because its connections are those of all its clients.
    fn acquire(&self, peer: &Peer) -> Option<(OwnedSemaphorePermit, QuotaPermit)> {
        let slot = Arc::clone(&self.all).try_acquire_owned().ok()?;
        let permit = match peer {
            Peer::Client(address) => self.quota.acquire(address.ip())?,
            Peer::Proxy(..) => QuotaPermit::unlimited(),
        };
        Some((slot, permit))
    }
}

/// Waits for the connections to end; returns how many were cut off because they did not in time.
async fn drain(mut connections: JoinSet<()>, timeout_after: Duration) -> usize {
    let finish = async { while connections.join_next().await.is_some() {} };
    if timeout(timeout_after, finish).await.is_ok() {
        return 0;
    }
    let count = connections.len();
    connections.shutdown().await;
    count
}

/// Raises the soft limit of open files, commonly 1,024, so that the connection limit is reached before it. The hard
/// limit is the administrator's and stays.
fn raise_descriptor_limit(connections_max: usize) {
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
mod tests;
