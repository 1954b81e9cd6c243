//! `DELETE /events`
//!
//! - `BAD_EVENT_QUEUE_ID` when the queue does not exist or was already deleted:
//!   `events::a_deleted_queue_is_gone_and_cannot_be_deleted_again`
//! - a queue is its owner's: `events::a_queue_is_its_owners_and_its_name_is_random`
//! - a poll that waits ends: `events::deleting_a_queue_ends_the_poll_that_waits`

use serde_json::json;

use super::one_succeeds;
use crate::personal::bot;
use crate::test_app::{Person, TestApp, TestResponse};
use chat_core::model::role::Role;

async fn queue(app: &TestApp, who: &Person) -> String {
    app.call(who, "POST /register", &[]).await.success()["queue_id"].as_str().unwrap().to_owned()
}

/// Asserts that there is no such queue, and that the refusal names it.
#[track_caller]
fn assert_absent(response: &TestResponse, queue: &str) {
    let text = format!("Bad event queue ID: {queue}");
    assert_eq!(response.error(), (400, "BAD_EVENT_QUEUE_ID", text.as_str()));
    assert_eq!(response.body["queue_id"], json!(queue));
}

#[tokio::test]
async fn queue_id_is_required() {
    let app = TestApp::found().await;
    let response = app.call(&app.ada, "DELETE /events", &[]).await;
    response.refused("Missing 'queue_id' argument");
    assert_eq!(response.body["var_name"], json!("queue_id"));
    for odd in ["", "\"x\"", "0", "nope"] {
        assert_absent(&app.call(&app.ada, "DELETE /events", &[("queue_id", odd)]).await, odd);
    }
}

#[tokio::test]
async fn the_error_also_returns_queue_id_to_who_is_not_its_owner() {
    let app = TestApp::found().await;
    let (sam, robot) = (app.person("sam", Role::Guest).await, bot(&app, "robot").await);
    let id = queue(&app, &sam).await;
    for who in [&app.ada, &robot] {
        assert_absent(&app.call(who, "DELETE /events", &[("queue_id", &id)]).await, &id);
    }
    assert_eq!(app.call_as_nobody("DELETE /events", &[("queue_id", &id)]).await.error().0, 401);
    app.call(&sam, "DELETE /events", &[("queue_id", &id)]).await.success();
    let own = queue(&app, &robot).await;
    app.call(&robot, "DELETE /events", &[("queue_id", &own)]).await.success();
}

#[tokio::test]
async fn of_two_who_delete_it_at_once_one_is_told_it_is_gone() {
    let app = TestApp::found().await;
    let id = queue(&app, &app.ada).await;
    let named = [("queue_id", id.as_str())];
    let both = tokio::join!(app.call(&app.ada, "DELETE /events", &named), app.call(&app.ada, "DELETE /events", &named));
    assert_absent(&one_succeeds(both), &id);
}

#[tokio::test]
async fn other_queues_of_the_same_user_stay() {
    let app = TestApp::found().await;
    let gone = queue(&app, &app.ada).await;
    let response = app.call(&app.ada, "POST /register", &[]).await.success();
    let (stays, last) = (response["queue_id"].as_str().unwrap(), response["last_event_id"].to_string());
    app.call(&app.ada, &format!("DELETE /events?queue_id={gone}"), &[]).await.success();
    let poll = [("queue_id", stays), ("last_event_id", last.as_str()), ("dont_block", "true")];
    assert_eq!(app.call(&app.ada, "GET /events", &poll).await.success()["queue_id"], json!(stays));
}
