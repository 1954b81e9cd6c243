//! Requests that wait without their HTTP connection.

use server_kit::http_listener::HttpConnection;
use tokio::io::{AsyncRead, duplex};

use super::*;

const WAIT: &str = "GET /wait HTTP/1.1\r\nhost: here\r\n\r\n";

/// Returns what comes, up to this end or that of the stream.
pub(super) async fn read_until(stream: &mut (impl AsyncRead + Unpin), end: &str) -> String {
    let mut read = Vec::new();
    while !read.ends_with(end.as_bytes()) {
        let mut byte = [0];
        if stream.read(&mut byte).await.unwrap() == 0 {
            break;
        }
        read.extend(byte);
    }
    String::from_utf8(read).unwrap()
}

/// An answer without what differs between any two.
pub(super) fn timeless(answer: &str) -> String {
    answer.split("\r\n").filter(|line| !line.starts_with("date: ")).collect::<Vec<_>>().join("\r\n")
}

/// Several requests of one connection, each released, whose last says that it is.
async fn conversation(server: &Running, requests: &[String]) -> String {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    for request in requests {
        stream.write_all(request.as_bytes()).await.unwrap();
    }
    for _ in requests {
        server.entered.notified().await;
        server.release.notify_one();
    }
    timeless(&all(stream).await)
}

#[tokio::test]
async fn an_answer_that_was_waited_for_is_byte_for_byte_any_other() {
    let server = run(ROOMY);
    let forms = [
        vec!["GET {} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n"],
        vec!["GET {} HTTP/1.0\r\n\r\n"],
        vec!["GET {} HTTP/1.0\r\nconnection: keep-alive\r\n\r\n", "GET {} HTTP/1.0\r\n\r\n"],
        vec!["GET {} HTTP/1.1\r\nhost: here\r\nconnection: Keep-Alive\r\n\r\n", "GET {} HTTP/1.0\r\n\r\n"],
        vec!["HEAD {} HTTP/1.1\r\nhost: here\r\n\r\n", "HEAD {} HTTP/1.0\r\n\r\n"],
        vec!["GET {} HTTP/1.1\r\nhost: here\r\nconnection: upgrade, close\r\nupgrade: x\r\n\r\n"],
        vec![
            "GET {} HTTP/1.1\r\nhost: a\r\n\r\n",
            "GET {} HTTP/1.1\r\nhost: b\r\nconnection: x\r\nconnection: close\r\n\r\n",
        ],
    ];
    for form in forms {
        let requests = |path: &str| form.iter().map(|form| form.replace("{}", path)).collect::<Vec<_>>();
        let waited = conversation(&server, &requests("/wait")).await;
        let other = conversation(&server, &requests("/slow")).await;
        assert!(waited.starts_with("HTTP/1.") && waited.contains("200 OK"), "{waited}");
        assert_eq!(waited, other, "{form:?}");
    }
}

#[tokio::test]
async fn who_asks_is_known_before_and_after_an_answer_that_was_waited_for() {
    let server = run_behind("127.0.0.1", ROOMY);
    let mut stream = connect(&server, &forwarded("/asked", "203.0.113.1")).await;
    server.entered.notified().await;
    server.release.notify_one();
    let answer = read_until(&mut stream, "203.0.113.1:0").await;
    assert!(answer.ends_with("\r\n\r\nfinished for 203.0.113.1:0"), "{answer}");
    stream.write_all(forwarded("/peer", "203.0.113.2").as_bytes()).await.unwrap();
    assert!(read_until(&mut stream, "203.0.113.2:0").await.starts_with("HTTP/1.1 200"));
    stream.write_all(request("/peer").as_bytes()).await.unwrap();
    assert!(all(stream).await.contains("\r\n\r\n127.0.0.1:"));
}

#[tokio::test]
async fn a_connection_goes_on_after_an_answer_that_was_waited_for() {
    let server = run(ROOMY);
    let mut stream = connect(&server, WAIT).await;
    for _ in 0..3 {
        server.entered.notified().await;
        server.release.notify_one();
        let answer = read_until(&mut stream, "finished").await;
        assert!(answer.starts_with("HTTP/1.1 200") && !answer.contains("connection:"), "{answer}");
        stream.write_all(WAIT.as_bytes()).await.unwrap();
    }
    server.entered.notified().await;
    stream.write_all(request("/peer").as_bytes()).await.unwrap();
    server.release.notify_one();
    let rest = all(stream).await;
    assert!(rest.contains("finishedHTTP/1.1 200") && rest.contains("127.0.0.1:"), "{rest}");
}

#[tokio::test]
async fn more_than_is_read_early_is_answered_in_its_order() {
    let server = run(ROOMY);
    let mut stream = connect(&server, WAIT).await;
    server.entered.notified().await;
    let sizes = [2000, 1, 60_000];
    for size_bytes in sizes {
        let upload = upload("/read", size_bytes) + &"x".repeat(size_bytes);
        stream.write_all(upload.as_bytes()).await.unwrap();
    }
    stream.write_all(request("/peer").as_bytes()).await.unwrap();
    server.release.notify_one();
    let answers = all(stream).await;
    let bodies: Vec<_> =
        answers.split("HTTP/1.1 200 OK\r\n").filter_map(|answer| answer.split("\r\n\r\n").nth(1)).collect();
    assert_eq!(bodies.get(..4), Some(["finished", "2000", "1", "60000"].as_slice()), "{answers}");
}

#[tokio::test]
async fn who_leaves_while_waiting_is_noticed() {
    let server = run(ROOMY);
    let gone = connect(&server, WAIT).await;
    server.entered.notified().await;
    drop(gone);
    server.cut.notified().await;
    let mut silent = connect(&server, WAIT).await;
    server.entered.notified().await;
    silent.shutdown().await.unwrap();
    server.cut.notified().await;
    assert_eq!(all(silent).await, "");
}

#[tokio::test]
async fn a_stop_finishes_what_waits_and_says_that_the_connection_ends() {
    let server = run(ROOMY);
    let waiting = connect(&server, WAIT).await;
    server.entered.notified().await;
    server.stopping.cancel();
    server.release.notify_one();
    let answer = all(waiting).await;
    assert!(answer.contains("\r\nconnection: close\r\n") && answer.ends_with("finished"), "{answer}");
    server.end.await.unwrap();
}

#[tokio::test]
async fn waiting_does_not_count_as_a_late_head_and_silence_after_it_does() {
    let server = run(ListenerLimits { header_timeout: SHORT, keep_alive_timeout: SHORT, ..ROOMY });
    let mut waiting = connect(&server, WAIT).await;
    server.entered.notified().await;
    // By the time this one is closed, the other has waited as long.
    assert_eq!(all(connect(&server, "").await).await, "");
    server.release.notify_one();
    assert!(read_until(&mut waiting, "finished").await.starts_with("HTTP/1.1 200"));
    assert_eq!(all(waiting).await, "");
    let mut early = connect(&server, &(WAIT.to_owned() + "GET /pe")).await;
    server.entered.notified().await;
    server.release.notify_one();
    assert!(read_until(&mut early, "finished").await.starts_with("HTTP/1.1 200"));
    let late = all(early).await;
    assert!(late.starts_with("HTTP/1.1 408"), "{late}");
}

#[tokio::test]
async fn who_takes_nothing_of_an_answer_it_waited_for_is_cut_off() {
    let mut limits = ROOMY;
    limits.write_timeout = SHORT;
    let server = run(limits);
    let _unread = connect(&server, "GET /flood HTTP/1.1\r\nhost: here\r\n\r\n").await;
    server.entered.notified().await;
    server.release.notify_one();
    server.cut.notified().await;
}

#[tokio::test]
async fn a_connection_that_waits_keeps_its_place() {
    let server = run(ListenerLimits { connections_max: 1, ..ROOMY });
    let waiting = connect(&server, WAIT).await;
    server.entered.notified().await;
    assert!(all(connect(&server, &request("/peer")).await).await.starts_with("HTTP/1.1 503"));
    drop(waiting);
    server.cut.notified().await;
    while all(connect(&server, &request("/peer")).await).await.starts_with("HTTP/1.1 503") {}
}

#[tokio::test]
async fn a_request_with_a_body_waits_where_it_is() {
    let server = run(ROOMY);
    let stream = connect(&server, &(upload("/wait", 4) + "body" + &request("/peer"))).await;
    server.entered.notified().await;
    server.release.notify_one();
    let answers = all(stream).await;
    assert!(answers.contains("\r\n\r\nfinishedHTTP/1.1 200"), "{answers}");
}

/// A connection that no listener accepted; its `/wait` waits for ever, and its `/large` answers 4 KiB.
fn alone() -> HttpConnection<Router> {
    let wait = |Extension(wait): Extension<LongPollSignal>| async move {
        wait.report_waiting();
        std::future::pending::<&str>().await
    };
    let router = Router::new().route("/wait", get(wait)).route("/large", get(|| async { "x".repeat(4096) }));
    HttpConnection::new("127.0.0.1:1".parse().unwrap(), router, ROOMY, CancellationToken::new())
}

#[tokio::test]
async fn a_request_that_waits_leaves_the_library_at_once() {
    let connection = alone();
    let (mut client, stream) = duplex(1024);
    client.write_all(WAIT.as_bytes()).await.unwrap();
    assert!(
        connection
            .serve_until_detached::<InFlight>(ResumedConnection::from_unread_stream(Box::pin(stream)))
            .await
            .is_some()
    );
}

#[tokio::test]
async fn an_earlier_answer_is_written_before_it_leaves() {
    let connection = alone();
    // The first answer is larger than what fits, so its end waits for its reader while the second request is there.
    let (mut client, stream) = duplex(1024);
    let both = "GET /large HTTP/1.1\r\nhost: here\r\n\r\n".to_owned() + WAIT;
    client.write_all(both.as_bytes()).await.unwrap();
    let end = "x".repeat(4096);
    let (detached, read) = tokio::join!(
        connection.serve_until_detached::<InFlight>(ResumedConnection::from_unread_stream(Box::pin(stream))),
        read_until(&mut client, &end)
    );
    assert!(detached.is_some() && read.starts_with("HTTP/1.1 200"));
}
