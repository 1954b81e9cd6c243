//! Polls that are asked again without their heads.

use std::sync::Arc;

use axum::response::Response;
use chat_core::model::role::Role;
use chat_http::RepollableRequest;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderName};
use http_body_util::BodyExt as _;
use serde_json::Value;

use crate::test_app::{Person, TestApp};

/// A queue for every message, with a message in it.
struct Heard {
    app: TestApp,
    ada: Person,
    queue: String,
    last: i64,
}

impl Heard {
    async fn found(per_minute: u32) -> Self {
        let app = TestApp::allowing(per_minute).await;
        let ada = app.ada.clone();
        let response = app.call(&ada, "POST /register", &[("event_types", r#"["message"]"#)]).await.success();
        let (queue, last) =
            (response["queue_id"].as_str().unwrap().to_owned(), response["last_event_id"].as_i64().unwrap());
        let heard = Self { app, ada, queue, last };
        heard.say("first").await;
        heard
    }

    async fn say(&self, content: &str) {
        let to = [("type", "stream"), ("to", "general"), ("topic", "t"), ("content", content)];
        self.app.call(&self.ada, "POST /messages", &to).await.success();
    }

    fn path(&self, more: &str) -> String {
        format!("/events?queue_id={}&last_event_id={}{more}", self.queue, self.last)
    }

    async fn poll(&self, more: &str, headers: &[(&str, &str)]) -> (TestResponse, Option<Arc<dyn RepollableRequest>>) {
        let (answer, repoll) = self.app.repeatable(&self.ada, &self.path(more), headers).await;
        (TestResponse::of(answer).await, repoll)
    }

    async fn offered(&self) -> Arc<dyn RepollableRequest> {
        self.poll("", &[]).await.1.unwrap()
    }
}

#[derive(Debug)]
struct TestResponse {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

impl TestResponse {
    async fn of(answer: Response) -> Self {
        let (head, body) = answer.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Self { status: head.status.as_u16(), headers: head.headers, body: serde_json::from_slice(&bytes).unwrap() }
    }

    fn contents(&self) -> Vec<&str> {
        let events = self.body["events"].as_array().unwrap();
        events.iter().map(|event| event["message"]["content"].as_str().unwrap()).collect()
    }

    fn last(&self) -> i64 {
        self.body["events"].as_array().unwrap().last().unwrap()["id"].as_i64().unwrap()
    }

    /// The size is for whoever writes the answer to say.
    fn names(&self) -> Vec<&str> {
        self.headers.keys().filter(|name| **name != CONTENT_LENGTH).map(HeaderName::as_str).collect()
    }
}

async fn again(repoll: &Arc<dyn RepollableRequest>, number: i64) -> TestResponse {
    TestResponse::of(Arc::clone(repoll).answer_with_number(number).unwrap().await).await
}

#[tokio::test]
async fn a_poll_asked_again_hears_what_the_same_poll_hears() {
    let heard = Heard::found(1000).await;
    let (first, repoll) = heard.poll("", &[]).await;
    let repoll = repoll.unwrap();
    assert_eq!((repoll.varying_query_parameter(), first.contents()), ("last_event_id", vec!["first"]));
    let same = again(&repoll, heard.last).await;
    assert_eq!((same.status, &same.body), (200, &first.body));
    assert_eq!(same.names(), first.names());
    assert_ne!(same.headers["x-request-id"], first.headers["x-request-id"]);
    heard.say("second").await;
    assert_eq!(again(&repoll, first.last()).await.contents(), ["second"]);
}

#[tokio::test]
async fn a_poll_asked_again_waits_for_what_is_not_said_yet() {
    let heard = Heard::found(0).await;
    let (first, repoll) = heard.poll("", &[]).await;
    let repoll = repoll.unwrap();
    let (events, ()) = tokio::join!(again(&repoll, first.last()), heard.say("later"));
    assert_eq!(events.contents(), ["later"]);
}

#[tokio::test]
async fn a_poll_whose_answer_names_what_stands_in_its_request_is_not_offered() {
    let heard = Heard::found(0).await;
    for more in ["&dont_block=true", "&unknown=1"] {
        assert!(heard.poll(more, &[]).await.1.is_none(), "{more}");
    }
    assert!(heard.poll("", &[("x-request-id", "mine")]).await.1.is_none());
    assert!(heard.poll("&client=x", &[]).await.1.is_some());
}

#[tokio::test]
async fn a_refused_poll_is_not_offered() {
    let heard = Heard::found(0).await;
    let stranger = Person { key: "x".repeat(32), ..heard.ada.clone() };
    let (answer, repoll) = heard.app.repeatable(&stranger, &heard.path(""), &[]).await;
    assert_eq!((answer.status().as_u16(), repoll.is_none()), (401, true));
}

#[tokio::test]
async fn asked_again_an_account_counts_its_requests() {
    let heard = Heard::found(8).await;
    let repoll = heard.offered().await;
    let mut left = again(&repoll, heard.last).await.headers["x-ratelimit-remaining"].clone();
    for _ in 0..8 {
        let events = again(&repoll, heard.last).await;
        if events.status != 200 {
            assert_eq!((events.status, events.body["code"].as_str()), (429, Some("RATE_LIMIT_HIT")));
            assert!(events.headers.contains_key("retry-after"), "{:?}", events.headers);
            return;
        }
        assert!(events.headers["x-ratelimit-remaining"] < left);
        left = events.headers["x-ratelimit-remaining"].clone();
    }
    panic!("nine requests of eight were let in");
}

#[tokio::test]
async fn a_deleted_queue_is_gone_for_who_asks_again() {
    let heard = Heard::found(0).await;
    let repoll = heard.offered().await;
    heard.app.call(&heard.ada, "DELETE /events", &[("queue_id", &heard.queue)]).await.success();
    let events = again(&repoll, heard.last).await;
    assert_eq!((events.status, events.body["code"].as_str()), (400, Some("BAD_EVENT_QUEUE_ID")));
}

#[tokio::test]
async fn who_would_not_be_let_in_any_more_is_not_answered_without_a_head() {
    let mut heard = Heard::found(0).await;
    let bob = heard.app.person("bob", Role::Member).await;
    let response = heard.app.call(&bob, "POST /register", &[("all_public_streams", "true")]).await.success();
    let owner = std::mem::replace(&mut heard.ada, bob.clone());
    heard.queue = response["queue_id"].as_str().unwrap().to_owned();
    heard.last = response["last_event_id"].as_i64().unwrap();
    let subscribe =
        heard.app.call(&bob, "POST /users/me/subscriptions", &[("subscriptions", r#"[{"name":"general"}]"#)]);
    subscribe.await.success();
    let repoll = heard.offered().await;
    assert!(Arc::clone(&repoll).answer_with_number(heard.last).is_some());
    heard.app.call(&owner, &format!("DELETE /users/{}", bob.id), &[]).await.success();
    assert!(repoll.answer_with_number(heard.last).is_none());
}
