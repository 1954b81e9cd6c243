use std::convert::Infallible;
use std::ffi::OsString;
use std::future::pending;
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Wake, Waker};

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{StatusCode, header};
use serde_json::Value;
use tokio::task;
use tower::Service as _;
use url::form_urlencoded;

use super::*;
use crate::config;

/// Longest time for a server to answer or to stop. It is not reached unless the test fails.
const LONG: Duration = Duration::from_mins(1);

const OWNER: &str = "owner@example.org";
const PASSWORD: &str = "a password of an owner";

/// Returns a server that is ready, on a port that the system chose, its background tasks, and the time it has to stop.
async fn ready(dir: &Path) -> (Server, TaskSet, Duration) {
    let flags = ["--listen=127.0.0.1:0", "--owner-email", OWNER, "--owner-password", PASSWORD];
    let line = std::iter::once("chat-server").chain(flags).map(OsString::from);
    let folder = [OsString::from("--data-dir"), dir.as_os_str().to_owned()];
    let config = config::read(line.chain(folder)).unwrap();
    let mut background = TaskSet::default();
    let server = start(&config, &mut background).await.unwrap();
    (server, background, config.limits.shutdown_timeout())
}

/// Wakes the test, and panics in the task that does it. The runtime's driver and the threads of the database belong to
/// no task.
struct PanicInTasks(Waker);

impl Wake for PanicInTasks {
    fn wake(self: Arc<Self>) {
        assert!(task::try_id().is_none(), "out of order");
        self.0.wake_by_ref();
    }
}

/// Waits for an answer; the task that brings it panics.
async fn panic_in_what_wakes<T>(answering: impl Future<Output = T>) -> T {
    let mut answering = pin!(answering);
    poll_fn(|context: &mut Context<'_>| {
        let waker = Waker::from(Arc::new(PanicInTasks(context.waker().clone())));
        answering.as_mut().poll(&mut Context::from_waker(&waker))
    })
    .await
}

fn form(path: &str, authorization: &str, body: &str) -> Request {
    Request::post(path)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::AUTHORIZATION, authorization)
        .body(Body::from(body.to_owned()))
        .unwrap()
}

/// Returns a direct message of the owner to the owner, as a request.
async fn message(chat: &mut ChatService) -> Request {
    let credentials = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("username", OWNER), ("password", PASSWORD)])
        .finish();
    let Ok(answer) = chat.call(form("/api/v1/fetch_api_key", "", &credentials)).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let answer = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    let key = STANDARD.encode(format!("{OWNER}:{}", answer["api_key"].as_str().unwrap()));
    form("/api/v1/messages", &format!("Basic {key}"), &format!("type=direct&to=[{}]&content=x", answer["user_id"]))
}

async fn health(chat: &mut ChatService) -> StatusCode {
    let Ok(answer) = chat.call(Request::get("/health").body(Body::empty()).unwrap()).await;
    answer.status()
}

#[tokio::test]
async fn a_server_stops_with_an_error_when_the_task_that_writes_messages_panics() {
    let dir = tempfile::tempdir().unwrap();
    let (server, background, limit) = ready(dir.path()).await;
    let mut chat = server.router.clone();
    let (first, second) = (message(&mut chat).await, message(&mut chat).await);
    let mut running = pin!(run(server, background, CancellationToken::new(), limit));
    // A server whose tasks all run does not stop.
    let (sent, before) = tokio::select! {
        _ = &mut running => panic!("the server stopped by itself"),
        before = async { (chat.call(first).await, health(&mut chat).await) } => before,
    };
    assert_eq!((sent.unwrap().status(), before), (StatusCode::OK, StatusCode::OK));

    // The message is committed before the task panics, so it may be answered.
    let sending = async {
        let _answered = panic_in_what_wakes(chat.call(second)).await;
        pending::<Infallible>().await
    };
    let stopped = tokio::select! {
        stopped = &mut running => stopped,
        never = sending => match never {},
        () = tokio::time::sleep(LONG) => panic!("the server runs on without the task"),
    };
    let ended = stopped.unwrap_err().downcast::<UnexpectedTaskEnd>().unwrap();
    assert_eq!((ended.name, ended.cause.unwrap().is_panic()), ("write messages", true));
}

#[tokio::test]
async fn a_server_that_is_asked_to_stop_does_not_report_its_tasks() {
    let dir = tempfile::tempdir().unwrap();
    let (server, background, limit) = ready(dir.path()).await;
    let stopping = CancellationToken::new();
    stopping.cancel();
    run(server, background, stopping, limit).await.unwrap();
}

#[test]
fn nothing_is_deleted_by_the_time_of_a_clock_that_differs_from_the_database_or_cannot_be_compared() {
    for (skew_s, expected) in [
        (0, true),
        (SKEW_MAX_S, true),
        (-SKEW_MAX_S, true),
        (SKEW_MAX_S + 1, false),
        (-SKEW_MAX_S - 1, false),
        (i64::MAX, false),
        (i64::MIN, false),
    ] {
        assert_eq!(is_in_time(Ok(skew_s)), expected, "{skew_s}");
    }
    assert!(!is_in_time(Err(StoreError("the database is gone".into()))));
}
