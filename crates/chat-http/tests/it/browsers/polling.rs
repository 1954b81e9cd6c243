//! The poll of a browser, asked again without its head.

use std::sync::Arc;

use chat_http::RepollableRequest;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt as _;

use super::{Browser, SESSION};
use crate::test_app::TestApp;

/// A browser with a queue in which there is a message.
async fn polled(app: &TestApp, browser: &Browser) -> (HeaderMap, i64, Option<Arc<dyn RepollableRequest>>) {
    let registered = browser.call(app, "POST /register", &[("event_types", r#"["message"]"#)]).await.success();
    let (queue, last) = (registered["queue_id"].as_str().unwrap(), registered["last_event_id"].as_i64().unwrap());
    let to = [("type", "stream"), ("to", "general"), ("topic", "t"), ("content", "hello")];
    app.call(&app.ada, "POST /messages", &to).await.success();
    let cookie = format!("{SESSION}={}", browser.cookie(SESSION).unwrap());
    let address = format!("/json/events?queue_id={queue}&last_event_id={last}");
    let (answer, repoll) = app.asked(&address, &[("cookie", &cookie)]).await;
    assert_eq!(answer.status(), 200);
    (answer.headers().clone(), last, repoll)
}

#[tokio::test]
async fn a_poll_of_a_browser_asked_again_is_answered_alike() {
    let app = TestApp::with_client().await;
    let browser = Browser::signed_in(&app, "ada@example.org", "ada's").await;
    let (headers, last, repoll) = polled(&app, &browser).await;
    let again = repoll.unwrap().answer_with_number(last).unwrap().await;
    let names = |headers: &HeaderMap| {
        let names = headers.keys().filter(|name| **name != CONTENT_LENGTH).map(|name| name.as_str().to_owned());
        names.collect::<Vec<_>>()
    };
    let (mut first, mut second) = (names(&headers), names(again.headers()));
    first.sort_unstable();
    second.sort_unstable();
    assert_eq!(first, second);
    assert_eq!(again.headers()["cache-control"], "no-store");
    assert!(!again.headers().contains_key("access-control-allow-origin"));
    let body = again.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&body).contains("hello"));
}

#[tokio::test]
async fn a_session_that_has_ended_or_is_to_be_noted_asks_as_a_whole() {
    let app = TestApp::with_client().await;
    let (first, second) = (
        Browser::signed_in(&app, "ada@example.org", "ada's").await,
        Browser::signed_in(&app, "ada@example.org", "ada's").await,
    );
    let (_, last, repoll) = polled(&app, &first).await;
    let repoll = repoll.unwrap();
    second.call(&app, "DELETE /sessions", &[]).await.success();
    assert!(Arc::clone(&repoll).answer_with_number(last).is_none());
    let (_, last, repoll) = polled(&app, &second).await;
    let repoll = repoll.unwrap();
    assert!(Arc::clone(&repoll).answer_with_number(last).is_some());
    app.wait_s(3_600);
    assert!(repoll.answer_with_number(last).is_none());
}
