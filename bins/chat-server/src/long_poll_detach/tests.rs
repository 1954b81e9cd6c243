use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, Extension};
use axum::routing::{any, get, post};
use chat_http::LongPollSignal;
use hyper::body::Frame;
use server_kit::http_listener::{BoundListener, ListenerErrorBodies, ListenerLimits, MinimumBodyRate};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::*;

mod detach;
mod repoll;

/// A time that passes while a test waits for it.
const SHORT: Duration = Duration::from_millis(50);
/// A time that no test waits for.
const LONG: Duration = Duration::from_hours(1);

/// Limits that no test meets, to be lowered one at a time.
const ROOMY: ListenerLimits = ListenerLimits {
    header_timeout: LONG,
    keep_alive_timeout: LONG,
    drain_timeout: LONG,
    connections_max: 10,
    connections_per_address: None,
    body_rate: MinimumBodyRate { pause_max: LONG, total_max: LONG },
    write_timeout: LONG,
    refusals: ListenerErrorBodies { busy: "{}", late: "{}", request_id: || "a1".to_owned() },
};

/// A server whose `/slow` answers when `release` is notified, after `entered`. `/wait` does too, reports that it waits,
/// and notifies `cut` when it is over; `/asked` waits likewise and answers the address that the request comes from;
/// `/flood` waits likewise, answers without end, and notifies `cut` when the response is dropped. `/read` answers the
/// size of the body.
struct Running {
    address: SocketAddr,
    stopping: CancellationToken,
    entered: Arc<Notify>,
    release: Arc<Notify>,
    cut: Arc<Notify>,
    end: JoinHandle<usize>,
}

fn run(limits: ListenerLimits) -> Running {
    run_behind("", limits)
}

fn run_behind(proxies: &str, limits: ListenerLimits) -> Running {
    let (entered, release, cut) = (Arc::new(Notify::new()), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (enter, wait) = (Arc::clone(&entered), Arc::clone(&release));
    let slow = move || async move {
        enter.notify_one();
        wait.notified().await;
        "finished"
    };
    let held = Hold { enter: Arc::clone(&entered), wait: Arc::clone(&release), cut: Arc::clone(&cut) };
    let asked_held = held.clone();
    let asked = |ConnectInfo(peer): ConnectInfo<SocketAddr>, wait| async move {
        format!("{} for {peer}", asked_held.pass(wait).await)
    };
    let flood_held = Hold { cut: Arc::default(), ..held.clone() };
    let flood_end = Arc::clone(&cut);
    let flood = move |wait| async move {
        flood_held.pass(wait).await;
        Body::new(Endless(flood_end))
    };
    let peer = |ConnectInfo(peer): ConnectInfo<SocketAddr>| async move { peer.to_string() };
    let router = Router::new()
        .route("/slow", get(slow))
        .route("/wait", any(move |wait| async move { held.pass(wait).await }))
        .route("/asked", get(asked))
        .route("/flood", get(flood))
        .route("/peer", get(peer))
        .route("/read", post(async |body: Bytes| body.len().to_string()));
    let (address, stopping, end) = listening(proxies, limits, router);
    Running { address, stopping, entered, release, cut, end }
}

/// A server of these routes, which notifies of nothing.
fn run_with(limits: ListenerLimits, router: Router) -> Running {
    let (address, stopping, end) = listening("", limits, router);
    Running { address, stopping, entered: Arc::default(), release: Arc::default(), cut: Arc::default(), end }
}

#[expect(clippy::disallowed_methods, reason = "the test joins it by its handle")]
fn listening(
    proxies: &str,
    limits: ListenerLimits,
    router: Router,
) -> (SocketAddr, CancellationToken, JoinHandle<usize>) {
    let any_port = "127.0.0.1:0".parse().unwrap();
    let bound = BoundListener::bind(any_port, None).unwrap();
    let address = bound.address();
    let listener = bound.listen(limits).unwrap().with_trusted_proxies(proxies.parse().unwrap());
    let stopping = CancellationToken::new();
    (address, stopping.clone(), tokio::spawn(listener.serve_detachable_requests::<InFlight>(router, stopping)))
}

/// A request that is held.
#[derive(Clone)]
struct Hold {
    enter: Arc<Notify>,
    wait: Arc<Notify>,
    cut: Arc<Notify>,
}

impl Hold {
    async fn pass(self, wait: Option<Extension<LongPollSignal>>) -> &'static str {
        let _over = Endless(self.cut);
        if let Some(Extension(wait)) = wait {
            wait.report_waiting();
        }
        self.enter.notify_one();
        self.wait.notified().await;
        "finished"
    }
}

/// An answer that is never over; tells when it was dropped.
struct Endless(Arc<Notify>);

impl hyper::body::Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 16 * 1024])))))
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.0.notify_one();
    }
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

fn upload(path: &str, size_bytes: usize) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: here\r\ncontent-length: {size_bytes}\r\n\r\n")
}

fn forwarded(path: &str, header: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: here\r\nx-forwarded-for: {header}\r\n\r\n")
}
