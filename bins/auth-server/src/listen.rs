//! The accept loop: a limit of connections, time limits for whoever sends or reads slowly, TLS,
//! and an end that loses no answer.
//!
//! HTTP/1.1 only. A connection whose first request does not come is closed after the header time limit; between two
//! requests it may be idle for longer ([`clock`]).

mod answers;
mod body;
mod clock;
mod connection;
mod peer;
mod shares;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;

use self::body::Pace;
use self::connection::{Connection, refuse};
use self::peer::Peer;
pub(crate) use self::peer::{NotProxies, TrustedProxies};
use self::shares::{Share, Shares};
use crate::shutdown::Stop;
use crate::tls::Tls;

/// How long requests to a server that is not ready may take to finish once it is: their answers are one
/// line each.
const HANDOVER_MAX: Duration = Duration::from_millis(250);
/// Longest pause inside a request body; after it the answer is 408.
const BODY_PAUSE_MAX: Duration = Duration::from_secs(30);
/// Longest time for a request body, beside what its size earns it; after it the answer is 408.
const BODY_TOTAL_MAX: Duration = Duration::from_mins(1);
/// Longest time in which the other side takes nothing of an answer; then it is cut off. The system
/// reports progress only when a good part of its send buffer is free again, so a reader of a few
/// bytes at a time counts as one that takes nothing.
const WRITE_PAUSE_MAX: Duration = Duration::from_secs(30);
/// Connections over the limit that are told so at the same time; more are closed without a word.
const REFUSALS_MAX: usize = 256;
/// Connections that may wait to be accepted; the system's own maximum is often smaller.
const BACKLOG: u32 = 4096;
/// Pause after a failed accept, which is most often a lack of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);
/// File descriptors kept for the database, files and outbound calls beside the connections.
const DESCRIPTORS_APART: u64 = 256;

/// What one listener allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// For the head of a request, and for a new connection until its first one is complete.
    pub(crate) header_timeout: Duration,
    /// Between the answer to a request and the beginning of the next one.
    pub(crate) keep_alive_timeout: Duration,
    /// How long running requests may take to finish once the server is to stop.
    pub(crate) drain: Duration,
    /// Open connections, idle ones included.
    pub(crate) connections_max: usize,
    /// Open connections of one address; none is no limit.
    pub(crate) connections_per_address: Option<NonZeroUsize>,
    pub(crate) tolerance: Tolerance,
}

/// How long the other side may take. Not for the operator to choose: the default is for everybody.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tolerance {
    body: Pace,
    write_pause: Duration,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self { body: Pace { pause_max: BODY_PAUSE_MAX, total_max: BODY_TOTAL_MAX }, write_pause: WRITE_PAUSE_MAX }
    }
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
        Ok(Listener { socket, limits, tls: self.tls, proxies: TrustedProxies::default() })
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
    proxies: TrustedProxies,
}

impl Listener {
    /// Connections of these `proxies` bring requests of others; of a listener that was told of none, nobody's do.
    pub(crate) fn behind(self, proxies: TrustedProxies) -> Self {
        Self { proxies, ..self }
    }

    /// Serves until `stop`, then finishes what runs, for [`Limits::drain`] at most. Returns how many connections were cut
    /// off then.
    pub(crate) async fn serve(self, router: Router, stop: Stop) -> usize {
        let mut connections = JoinSet::new();
        let mut until = stop.clone();
        tokio::select! {
            never = self.take(&router, &stop, &mut connections) => match never {},
            () = until.stopped() => {}
        }
        drop(self.socket);
        drain(connections, self.limits.drain).await
    }

    /// Answers with `router` until `work` is done. Connections do not outlive it, so that whoever asks
    /// again is answered by what serves next; those waiting to be accepted wait for that.
    pub(crate) async fn answer_while<T>(&self, router: Router, work: impl Future<Output = T>) -> T {
        let mut connections = JoinSet::new();
        let (end, ended) = Stop::by_hand();
        let done = tokio::select! {
            done = work => done,
            never = self.take(&router, &ended, &mut connections) => match never {},
        };
        // Nobody to tell is no fault.
        let _ = end.send(true);
        let _cut = drain(connections, HANDOVER_MAX).await;
        done
    }

    /// Takes connections for as long as it is waited for.
    async fn take(&self, router: &Router, stop: &Stop, connections: &mut JoinSet<()>) -> Infallible {
        let slots = Slots::new(self.limits);
        let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
        loop {
            let (stream, address) = tokio::select! {
                accepted = self.accept() => accepted,
                Some(_) = connections.join_next() => continue,
            };
            let tls = self.tls.clone();
            let peer = Peer::new(address, &self.proxies);
            if let Some(slot) = slots.take(&peer) {
                let connection = self.connection(peer, router.clone(), stop.clone());
                connections.spawn(async move {
                    connection.open(stream, tls).await;
                    drop(slot);
                });
                continue;
            }
            metrics::counter!("http_connections_refused_total").increment(1);
            if let Ok(slot) = Arc::clone(&refusals).try_acquire_owned() {
                connections.spawn(async move {
                    refuse(stream, tls).await;
                    drop(slot);
                });
            }
        }
    }

    fn connection(&self, peer: Peer, router: Router, stop: Stop) -> Connection {
        let Limits { header_timeout, keep_alive_timeout, tolerance, .. } = self.limits;
        Connection {
            peer,
            router,
            header_timeout,
            keep_alive_timeout,
            body_pace: tolerance.body,
            write_pause_max: tolerance.write_pause,
            stop,
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
struct Slots {
    all: Arc<Semaphore>,
    shares: Arc<Shares>,
}

impl Slots {
    fn new(limits: Limits) -> Self {
        let all = Arc::new(Semaphore::new(limits.connections_max));
        Self { all, shares: Shares::new(limits.connections_per_address) }
    }

    /// A place for a connection of `peer`, until it is dropped; `None` over either limit. A proxy has as many as it
    /// needs: not one client, but all of them.
    fn take(&self, peer: &Peer) -> Option<(OwnedSemaphorePermit, Share)> {
        let slot = Arc::clone(&self.all).try_acquire_owned().ok()?;
        let share = match peer {
            Peer::Client(address) => self.shares.take(address.ip())?,
            Peer::Proxy(..) => Share::unlimited(),
        };
        Some((slot, share))
    }
}

/// Returns how many were cut off because they did not finish in time.
async fn drain(mut connections: JoinSet<()>, time_max: Duration) -> usize {
    let finish = async { while connections.join_next().await.is_some() {} };
    if timeout(time_max, finish).await.is_ok() {
        return 0;
    }
    let count = connections.len();
    connections.shutdown().await;
    count
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
mod tests;
