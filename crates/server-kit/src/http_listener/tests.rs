use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::Bytes;
use axum::extract::ConnectInfo;
use axum::routing::{get, post};
use hyper::body::Frame;
use rustix::process::{Signal, getpid, kill_process};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::*;
use crate::shutdown::termination_token;

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

/// A server whose `/slow` answers when `release` is notified, after `entered`; whose `/endless`
/// answers without end, and notifies `cut` when it is given up; whose `/read` answers the size of
/// the body, or 400 when that breaks off, and `/ignore` 200 in either case.
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
    run_until(proxies, limits, CancellationToken::new())
}

#[expect(clippy::disallowed_methods, reason = "the test joins it by its handle")]
fn run_until(proxies: &str, limits: ListenerLimits, stopping: CancellationToken) -> Running {
    let any_port = "127.0.0.1:0".parse().unwrap();
    let bound = BoundListener::bind(any_port, None).unwrap();
    let address = bound.address();
    let listener = bound.listen(limits).unwrap().with_trusted_proxies(proxies.parse().unwrap());
    let (entered, release, cut) = (Arc::new(Notify::new()), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (enter, wait, end) = (Arc::clone(&entered), Arc::clone(&release), Arc::clone(&cut));
    let slow = move || async move {
        enter.notify_one();
        wait.notified().await;
        "finished"
    };
    let peer = |ConnectInfo(peer): ConnectInfo<SocketAddr>| async move { peer.to_string() };
    let router = Router::new()
        .route("/slow", get(slow))
        .route("/peer", get(peer))
        .route("/chunks", get(async || Body::new(Chunks(2))))
        .route("/read", post(async |body: Bytes| body.len().to_string()))
        .route("/ignore", post(async |body: Result<Bytes, _>| if body.is_err() { "ignored" } else { "read" }))
        .route("/endless", get(move || async move { Body::new(Endless(Arc::clone(&end))) }));
    let end = tokio::spawn(listener.serve(router, stopping.clone()));
    Running { address, stopping, entered, release, cut, end }
}

/// An answer that is made in so many pieces.
struct Chunks(u8);

impl hyper::body::Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let left = self.0.checked_sub(1);
        self.0 = left.unwrap_or(0);
        Poll::Ready(left.map(|_| Ok(Frame::data(Bytes::from_static(b"piece")))))
    }
}

/// An answer that is never over; reports when it was dropped.
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

#[tokio::test]
async fn a_bound_address_refuses_connections() {
    let any_port = "127.0.0.1:0".parse().unwrap();
    let bound = BoundListener::bind(any_port, None).unwrap();
    let refused = TcpStream::connect(bound.address()).await.unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn a_handler_knows_the_address_of_the_other_side() {
    let server = run(ROOMY);
    let stream = connect(&server, &request("/peer")).await;
    let own = stream.local_addr().unwrap().to_string();
    let answer = all(stream).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.ends_with(&own), "{answer}");
}

fn forwarded(path: &str, header: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: here\r\nx-forwarded-for: {header}\r\n\r\n")
}

#[tokio::test]
async fn a_handler_knows_whom_a_trusted_proxy_asks_for_request_by_request() {
    let server = run_behind("127.0.0.0/8", ROOMY);
    let conversation = forwarded("/peer", "198.51.100.1, 203.0.113.9") + &forwarded("/peer", "2001:db8::7");
    let answers = all(connect(&server, &(conversation + &request("/peer"))).await).await;
    let (first, second, third) = ("\r\n\r\n203.0.113.9:0HTTP", "\r\n\r\n[2001:db8::7]:0HTTP", "\r\n\r\n127.0.0.1:");
    assert!([first, second, third].iter().all(|answer| answers.contains(answer)), "{answers}");
}

#[tokio::test]
async fn what_a_client_claims_to_be_asked_for_changes_nothing() {
    for proxies in ["", "192.0.2.1,::1"] {
        let server = run_behind(proxies, ROOMY);
        let stream = connect(&server, &(forwarded("/peer", "203.0.113.9") + &request("/peer"))).await;
        let own = stream.local_addr().unwrap().to_string();
        let answers = all(stream).await;
        assert_eq!(answers.matches(&own).count(), 2, "{answers}");
        assert!(!answers.contains("203.0.113.9"), "{answers}");
    }
}

#[tokio::test]
async fn one_connection_too_many_is_told_so_and_the_others_go_on() {
    let server = run(ListenerLimits { connections_max: 1, ..ROOMY });
    let first = connect(&server, &request("/slow")).await;
    server.entered.notified().await;
    let refused = all(connect(&server, &request("/peer")).await).await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.contains("retry-after: 1"), "{refused}");
    assert!(refused.contains("x-request-id: "), "{refused}");
    server.release.notify_one();
    assert!(all(first).await.ends_with("finished"));
}

#[tokio::test]
async fn an_address_with_its_share_of_connections_is_refused_and_another_is_not() {
    let server = run(ListenerLimits { connections_per_address: NonZeroUsize::new(1), ..ROOMY });
    let first = connect(&server, &request("/slow")).await;
    server.entered.notified().await;
    let refused = all(connect(&server, &request("/peer")).await).await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    let other = TcpSocket::new_v4().unwrap();
    other.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut other = other.connect(server.address).await.unwrap();
    other.write_all(request("/peer").as_bytes()).await.unwrap();
    let answer = all(other).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("127.0.0.2"), "{answer}");
    server.release.notify_one();
    assert!(all(first).await.ends_with("finished"));
}

#[tokio::test]
async fn a_trusted_proxy_has_as_many_connections_as_it_needs() {
    let server = run_behind("127.0.0.1", ListenerLimits { connections_per_address: NonZeroUsize::new(1), ..ROOMY });
    let first = connect(&server, &request("/slow")).await;
    server.entered.notified().await;
    let answer = all(connect(&server, &request("/peer")).await).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    server.release.notify_one();
    assert!(all(first).await.ends_with("finished"));
}

#[tokio::test]
async fn a_head_that_does_not_end_is_answered_408() {
    let server = run(ListenerLimits { header_timeout: SHORT, ..ROOMY });
    let answer = all(connect(&server, "GET /peer HTTP/1.1\r\nhost: ").await).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("x-request-id: "), "{answer}");
}

#[tokio::test]
async fn a_silent_connection_is_closed_without_an_answer() {
    let server = run(ListenerLimits { header_timeout: SHORT, ..ROOMY });
    assert_eq!(all(connect(&server, "").await).await, "");
}

#[tokio::test]
async fn a_connection_kept_alive_outlives_the_header_time_limit() {
    let server = run(ListenerLimits { header_timeout: SHORT, ..ROOMY });
    let mut stream = connect(&server, "").await;
    for _ in 0..3 {
        stream.write_all(b"GET /peer HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
        let answer = part(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        // A client that comes back for its next request a while later.
        tokio::time::sleep(2 * SHORT).await;
    }
    // The head of a later request has no more time than that of the first.
    stream.write_all(b"GET /peer HTTP/1.1\r\nhost: ").await.unwrap();
    let answer = all(stream).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
}

#[tokio::test]
async fn a_connection_kept_alive_is_closed_without_an_answer_after_its_own_limit() {
    for path in ["/peer", "/chunks"] {
        let server = run(ListenerLimits { keep_alive_timeout: SHORT, ..ROOMY });
        let mut stream = connect(&server, &format!("GET {path} HTTP/1.1\r\nhost: h\r\n\r\n")).await;
        let answer = part(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let rest = all(stream).await;
        assert!(!rest.contains("HTTP/1.1"), "{rest}");
    }
}

/// Returns what there is of an answer.
async fn part(stream: &mut TcpStream) -> String {
    let mut bytes = vec![0; 4_096];
    let size = stream.read(&mut bytes).await.unwrap();
    String::from_utf8_lossy(&bytes[..size]).into_owned()
}

#[tokio::test]
async fn a_head_over_the_limit_is_answered_431() {
    let server = run(ROOMY);
    let long = format!("GET / HTTP/1.1\r\nlong: {}\r\n\r\n", "x".repeat(REQUEST_HEAD_MAX_BYTES));
    let mut stream = connect(&server, &long).await;
    let mut start = [0; 12];
    stream.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 431");
}

#[tokio::test]
async fn a_body_that_pauses_too_long_is_answered_408() {
    let mut limits = ROOMY;
    limits.body_rate.pause_max = SHORT;
    let server = run(limits);
    let answer = all(connect(&server, &(upload("/read", 10) + "half ")).await).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
}

#[tokio::test]
async fn a_body_that_trickles_without_a_pause_is_answered_408() {
    let mut limits = ROOMY;
    limits.body_rate.total_max = SHORT;
    let server = run(limits);
    let mut stream = connect(&server, &upload("/read", 1_000_000)).await;
    let mut tick = tokio::time::interval(Duration::from_millis(1));
    let mut start = [0; 12];
    let sent = AtomicUsize::new(0);
    let (mut read, mut write) = stream.split();
    let trickle = async {
        while write.write_all(b"x").await.is_ok() {
            sent.fetch_add(1, Ordering::Relaxed);
            tick.tick().await;
        }
    };
    let (answered, ()) = tokio::join!(read.read_exact(&mut start), trickle);
    answered.unwrap();
    assert_eq!(&start, b"HTTP/1.1 408");
    assert!(sent.into_inner() > 1);
}

#[tokio::test]
async fn a_body_that_came_is_read_and_the_connection_goes_on() {
    let server = run(ROOMY);
    let stream = connect(&server, &(upload("/read", 5) + "whole" + &request("/peer"))).await;
    let answer = all(stream).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\r\n\r\n5HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_route_that_does_without_the_late_body_keeps_its_answer() {
    let mut limits = ROOMY;
    limits.body_rate.pause_max = SHORT;
    let server = run(limits);
    let answer = all(connect(&server, &upload("/ignore", 10)).await).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ignored"), "{answer}");
}

#[tokio::test]
async fn who_takes_nothing_of_an_answer_is_cut_off_and_who_waits_for_one_is_not() {
    let mut limits = ROOMY;
    limits.write_timeout = SHORT;
    let server = run(limits);
    let waiting = connect(&server, &request("/slow")).await;
    server.entered.notified().await;
    // By the time this one is cut off, the other has waited as long.
    let _unread = connect(&server, &request("/endless")).await;
    server.cut.notified().await;
    server.release.notify_one();
    assert!(all(waiting).await.ends_with("finished"));
}

#[tokio::test]
async fn a_stop_refuses_new_connections_and_finishes_what_runs() {
    let server = run(ROOMY);
    let running = connect(&server, &request("/slow")).await;
    let idle = connect(&server, "").await;
    server.entered.notified().await;
    server.stopping.cancel();
    assert_eq!(all(idle).await, "");
    while TcpStream::connect(server.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!server.end.is_finished());
    server.release.notify_one();
    assert!(all(running).await.ends_with("finished"));
    server.end.await.unwrap();
}

#[tokio::test]
async fn sigterm_finishes_what_runs_and_does_not_wait_for_a_reader_that_hangs() {
    let mut limits = ROOMY;
    // Enough for an answer on a busy machine.
    limits.drain_timeout = Duration::from_secs(1);
    let mut background = task_set::TaskSet::default();
    let stopping = termination_token(&mut background).unwrap();
    let server = run_until("", limits, stopping);
    let unread = connect(&server, &request("/endless")).await;
    let running = connect(&server, &request("/slow")).await;
    server.entered.notified().await;
    kill_process(getpid(), Signal::TERM).unwrap();
    server.release.notify_one();
    assert!(all(running).await.ends_with("finished"));
    assert_eq!(server.end.await.unwrap(), 1, "the reader alone was cut off");
    server.cut.notified().await;
    drop(unread);
}

#[tokio::test]
async fn until_it_is_ready_another_router_answers_and_no_connection_outlives_that() {
    let bound = BoundListener::bind("127.0.0.1:0".parse().unwrap(), None).unwrap();
    let address = bound.address();
    let listener = bound.listen(ROOMY).unwrap();
    let ready = Notify::new();
    let starting = Router::new().fallback(async || "starting");
    let ask = async {
        let mut kept = TcpStream::connect(address).await.unwrap();
        kept.write_all(b"GET / HTTP/1.1\r\nhost: here\r\n\r\n").await.unwrap();
        let mut first = [0; 1024];
        let size_bytes = kept.read(&mut first).await.unwrap();
        ready.notify_one();
        (String::from_utf8_lossy(&first[..size_bytes]).into_owned(), all(kept).await)
    };
    let ((), (first, rest)) = tokio::join!(listener.serve_until_work_done(starting, ready.notified()), ask);
    assert!(first.starts_with("HTTP/1.1 200") && first.ends_with("starting"), "{first}");
    assert_eq!(rest, "");

    let serving = listener.serve(Router::new().fallback(async || "ready"), CancellationToken::new());
    let ask = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request("/").as_bytes()).await.unwrap();
        all(stream).await
    };
    let answer = tokio::select! {
        answer = ask => answer,
        _ = serving => panic!("it stopped"),
    };
    assert!(answer.ends_with("ready"), "{answer}");
}
