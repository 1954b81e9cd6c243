//! Channels: who sees them, who enters, changes and leaves them, and who is told what.

mod changing;
mod entering;
mod leaving;
mod listing;
mod seeing;

use std::sync::Arc;

use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::test_app::{Person, TestApp, TestResponse};

/// What an organization administrator only may.
const ADMINISTRATOR: &str = "Must be an organization administrator";

/// The types of events these tests listen to.
const TYPES: &str = r#"["stream","subscription","default_streams"]"#;

/// Someone who listens.
struct TestQueue {
    who: Person,
    queue: String,
    last: String,
}

async fn listen(app: &TestApp, who: &Person, parameters: &[(&str, &str)]) -> TestQueue {
    let mut all = vec![("event_types", TYPES)];
    all.extend(parameters);
    let response = app.call(who, "POST /register", &all).await.success();
    TestQueue {
        who: who.clone(),
        queue: response["queue_id"].as_str().unwrap().to_owned(),
        last: response["last_event_id"].to_string(),
    }
}

/// What was told since the ear began to listen, without the numbers.
async fn heard(app: &TestApp, test_queue: &TestQueue) -> Vec<Value> {
    let parameters =
        [("queue_id", test_queue.queue.as_str()), ("last_event_id", &test_queue.last), ("dont_block", "true")];
    let mut response = app.call(&test_queue.who, "GET /events", &parameters).await.success();
    let events = response["events"].as_array_mut().unwrap();
    for event in events.iter_mut() {
        event.as_object_mut().unwrap().remove("id").unwrap();
    }
    std::mem::take(events)
}

/// Types and operations, and the property of an update.
fn kinds(events: &[Value]) -> Vec<String> {
    let word = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let words = |event| ["type", "op", "property"].map(|key| word(event, key)).join(" ").trim().to_owned();
    events.iter().map(words).collect()
}

/// Sam, Bea and Gus, who is a guest.
async fn people(app: &TestApp) -> [Person; 3] {
    [app.person("sam", Role::Member).await, app.person("bea", Role::Member).await, app.person("gus", Role::Guest).await]
}

/// Enters a channel, which is made so when there is none.
async fn enter(app: &TestApp, who: &Person, name: &str, parameters: &[(&str, &str)]) -> TestResponse {
    let subscriptions = json!([{"name": name}]).to_string();
    let mut all = vec![("subscriptions", subscriptions.as_str())];
    all.extend(parameters);
    app.call(who, "POST /users/me/subscriptions", &all).await
}

/// Makes a channel with these people in it. Its number.
async fn found(app: &TestApp, maker: &Person, name: &str, (people, parameters): (&[&Person], &[(&str, &str)])) -> i64 {
    let principals = json!(people.iter().map(|person| person.id).collect::<Vec<_>>()).to_string();
    let mut all = vec![("principals", principals.as_str())];
    all.extend(parameters);
    enter(app, maker, name, &all).await.success();
    app.realm().channel_by_name(name).unwrap().id.0
}

/// The place of the last change, to see that there was none.
fn mark(app: &TestApp) -> (i64, usize) {
    (app.realm().changed_at().0, app.realm().channels().count())
}

async fn names(app: &TestApp, who: &Person, parameters: &[(&str, &str)]) -> Vec<String> {
    let response = app.call(who, "GET /streams", parameters).await.success();
    let streams = response["streams"].as_array().unwrap();
    streams.iter().map(|stream| stream["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forty_who_make_the_same_channel_at_once_make_one() {
    let app = Arc::new(TestApp::found().await);
    let [sam, bea, _] = people(&app).await;
    let test_queue = listen(&app, &bea, &[]).await;
    let mut calls = tokio::task::JoinSet::new();
    for place in 0..40 {
        let (app, who) = (Arc::clone(&app), [&sam, &bea][place % 2].clone());
        calls.spawn(async move { enter(&app, &who, "rush", &[]).await.success() });
    }
    let answers = calls.join_all().await;
    let count = |key: &str| answers.iter().filter(|response| !response[key].as_object().unwrap().is_empty()).count();
    assert_eq!((count("subscribed"), count("already_subscribed")), (2, 38));
    assert_eq!(app.realm().channels().filter(|channel| channel.name == "rush").count(), 1);
    let events = kinds(&heard(&app, &test_queue).await);
    assert_eq!(events.iter().filter(|kind| *kind == "stream create").count(), 1, "{events:?}");
    assert_eq!(events.iter().filter(|kind| *kind == "subscription add").count(), 1, "{events:?}");
}
