//! Requests that are asked again, without the HTTP library.

use axum::response::{IntoResponse as _, Response};
use chat_http::RepollableRequest;

use super::detach::{read_until, timeless};
use super::*;

/// Offers to be asked again; the answer tells which way the number came. 13 is a caller who is let in no more.
struct Number(Arc<Notify>);

impl RepollableRequest for Number {
    fn varying_query_parameter(&self) -> &'static str {
        "n"
    }

    fn answer_with_number(self: Arc<Self>, number: i64) -> Option<Pin<Box<dyn Future<Output = Response> + Send>>> {
        self.0.notify_one();
        (number != 13).then(|| -> Pin<Box<dyn Future<Output = Response> + Send>> {
            Box::pin(async move { answer(number, "again") })
        })
    }
}

/// An answer with more to its head than a body has; 14 is one that nobody but the library writes.
fn answer(number: i64, way: &str) -> Response {
    if number == 14 {
        return (http::StatusCode::ACCEPTED, format!("n={number}!")).into_response();
    }
    ([("x-way", way.to_owned())], format!("n={number}!")).into_response()
}

struct Repeating {
    server: Running,
    /// Told of every request that was asked again.
    again: Arc<Notify>,
}

fn repeating(limits: ListenerLimits) -> Repeating {
    let again = Arc::new(Notify::new());
    let offered = Arc::clone(&again);
    let number = |uri: http::Uri, wait: Option<Extension<LongPollSignal>>| async move {
        let number = uri.query().and_then(|query| query.strip_prefix("n=")).and_then(|text| text.parse().ok());
        if let Some(Extension(wait)) = wait {
            wait.offer_repoll(|| Arc::new(Number(offered)));
            wait.report_waiting();
            // Once more around the runtime, as whoever waits.
            tokio::task::yield_now().await;
        }
        answer(number.unwrap_or(-1), "library")
    };
    let server = run_with(limits, Router::new().route("/number", any(number)));
    Repeating { server, again }
}

fn ask(number: &str) -> String {
    format!(
        "GET /number?n={number} HTTP/1.1\r\nhost: here\r\nauthorization: Basic YQ==\r\nconnection: keep-alive\r\n\r\n"
    )
}

async fn asked(stream: &mut TcpStream, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    read_until(stream, "!").await
}

fn way(answer: &str) -> &str {
    answer.split("x-way: ").nth(1).and_then(|rest| rest.split("\r\n").next()).unwrap_or("none")
}

#[tokio::test]
async fn the_same_request_with_another_number_is_answered_without_the_library_and_byte_for_byte_as_by_it() {
    let Repeating { server, .. } = repeating(ROOMY);
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let first = asked(&mut stream, &ask("7")).await;
    assert_eq!(way(&first), "library");
    for number in ["8", "9", "-1", "1234567"] {
        let again = asked(&mut stream, &ask(number)).await;
        assert_eq!(way(&again), "again", "{again}");
        assert!(again.contains("\r\ndate: ") && again.ends_with(&format!("\r\n\r\nn={number}!")), "{again}");
        let as_first = again.replace("x-way: again", "x-way: library");
        let sized = first.replace("content-length: 4", &format!("content-length: {}", number.len() + 3));
        assert_eq!(timeless(&as_first), timeless(&sized.replace("n=7!", &format!("n={number}!"))));
    }
}

#[tokio::test]
async fn any_other_request_is_the_library_s() {
    let Repeating { server, .. } = repeating(ROOMY);
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    for other in [
        ask("07"),
        ask("8").replace("Basic YQ==", "Basic YQ=!"),
        ask("8").replace("host: here", "host: there"),
        ask("8").replace("GET", "PUT"),
        ask("13"),
    ] {
        asked(&mut stream, &ask("7")).await;
        assert_eq!(way(&asked(&mut stream, &ask("8")).await), "again");
        assert_eq!(way(&asked(&mut stream, &other).await), "library", "{other}");
    }
    let answer = asked(&mut stream, "GET /none HTTP/1.1\r\nhost: !\r\nconnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
}

#[tokio::test]
async fn what_is_sent_in_pieces_or_too_early_is_the_library_s() {
    let Repeating { server, .. } = repeating(ROOMY);
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    asked(&mut stream, &ask("7")).await;
    let request = ask("8");
    let (start, end) = request.split_at(20);
    stream.write_all(start.as_bytes()).await.unwrap();
    // What is said in the meantime elsewhere gives the server the time to read it.
    asked(&mut TcpStream::connect(server.address).await.unwrap(), &ask("1")).await;
    asked(&mut stream, end).await;
    let two = asked(&mut stream, &(ask("9") + &ask("10"))).await;
    assert!(two.ends_with("n=9!"), "{two}");
    assert!(read_until(&mut stream, "!").await.ends_with("n=10!"));
    assert!(asked(&mut stream, &ask("11")).await.ends_with("n=11!"));
}

#[tokio::test]
async fn a_client_that_wants_the_connection_to_end_is_never_repeated() {
    let Repeating { server, .. } = repeating(ROOMY);
    for request in [ask("7").replace("keep-alive", "close"), "GET /number?n=7 HTTP/1.0\r\n\r\n".to_owned()] {
        let answer = all(connect(&server, &(request.clone() + &ask("8"))).await).await;
        assert!(answer.ends_with("n=7!"), "{answer}");
    }
}

#[tokio::test]
async fn an_answer_of_another_kind_is_written_by_the_library() {
    let Repeating { server, again } = repeating(ROOMY);
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    asked(&mut stream, &ask("7")).await;
    let accepted = asked(&mut stream, &ask("14")).await;
    again.notified().await;
    assert!(accepted.starts_with("HTTP/1.1 202") && accepted.ends_with("n=14!"), "{accepted}");
    assert!(asked(&mut stream, &ask("8")).await.ends_with("n=8!"));
}

#[tokio::test]
async fn silence_after_an_answer_ends_the_connection_without_a_word() {
    let Repeating { server, .. } = repeating(ListenerLimits { keep_alive_timeout: SHORT, ..ROOMY });
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    asked(&mut stream, &ask("7")).await;
    asked(&mut stream, &ask("8")).await;
    assert_eq!(all(stream).await, "");
}

#[tokio::test]
async fn a_stop_ends_a_connection_that_is_not_asked() {
    let Repeating { server, .. } = repeating(ROOMY);
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    asked(&mut stream, &ask("7")).await;
    asked(&mut stream, &ask("8")).await;
    server.stopping.cancel();
    assert_eq!(all(stream).await, "");
    server.end.await.unwrap();
}
