//! A reader's copies of messages that they did not receive when they were sent: every answer says the same of them.

use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::spec::{gather, say};
use crate::test_app::{Person, TestApp};

async fn leave(app: &TestApp, who: &Person, name: &str) {
    let names = json!([name]).to_string();
    app.call(who, "DELETE /users/me/subscriptions", &[("subscriptions", &names)]).await.success();
}

async fn move_to(app: &TestApp, message: i64, channel: i64) {
    let to = channel.to_string();
    let parameters = [("stream_id", to.as_str()), ("propagate_mode", "change_one")];
    app.call(&app.ada, &format!("PATCH /messages/{message}"), &parameters).await.success();
}

async fn mark(app: &TestApp, who: &Person, (op, flag): (&str, &str), message: i64) {
    let messages = json!([message]).to_string();
    app.call(who, "POST /messages/flags", &[("messages", &messages), ("op", op), ("flag", flag)]).await.success();
}

async fn flags(app: &TestApp, who: &Person, message: i64) -> Value {
    app.call(who, &format!("GET /messages/{message}"), &[]).await.success()["message"]["flags"].clone()
}

/// The numbers of the messages that have the reader's star, or that are unread, by the list of them.
async fn listed(app: &TestApp, who: &Person, narrow: &Value) -> Vec<i64> {
    let narrow = narrow.to_string();
    let all = [("anchor", "newest"), ("num_before", "100"), ("num_after", "0"), ("narrow", narrow.as_str())];
    let response = app.call(who, "GET /messages", &all).await.success();
    response["messages"].as_array().unwrap().iter().map(|message| message["id"].as_i64().unwrap()).collect()
}

/// The unread messages of channels that a new registration names.
async fn unread(app: &TestApp, who: &Person) -> Vec<i64> {
    let state = app.call(who, "POST /register", &[]).await.success();
    let topics = state["unread_msgs"]["streams"].as_array().unwrap();
    let ids = topics.iter().flat_map(|topic| topic["unread_message_ids"].as_array().unwrap());
    ids.map(|id| id.as_i64().unwrap()).collect()
}

#[tokio::test]
async fn a_message_that_came_to_a_channel_before_its_reader_came_back_is_read_in_every_answer() {
    let app = TestApp::found().await;
    let eve = app.person("eve", Role::Member).await;
    let tea = gather(&app, "tea", &[&app.ada, &eve], &[]).await;
    let cake = gather(&app, "cake", &[&app.ada], &[]).await;
    let moved = say(&app, &app.ada, cake, ("plan", "x")).await;
    move_to(&app, moved, tea).await;
    assert_eq!(unread(&app, &eve).await, [moved]);
    leave(&app, &eve, "tea").await;
    gather(&app, "tea", &[&eve], &[]).await;
    assert_eq!(flags(&app, &eve, moved).await, json!(["read", "historical"]));

    let test_queue = app.call(&eve, "POST /register", &[]).await.success();
    mark(&app, &eve, ("remove", "read"), moved).await;
    let (queue_id, last) = (test_queue["queue_id"].as_str().unwrap(), test_queue["last_event_id"].to_string());
    let poll = [("queue_id", queue_id), ("last_event_id", last.as_str()), ("dont_block", "true")];
    let events = app.call(&eve, "GET /events", &poll).await.success();
    let flagged = events["events"].as_array().unwrap().iter().filter(|event| event["type"] == "update_message_flags");
    assert_eq!(flagged.count(), 0, "{events}");
    assert_eq!(flags(&app, &eve, moved).await, json!(["read", "historical"]));
    assert!(unread(&app, &eve).await.is_empty());
    assert!(listed(&app, &eve, &json!([["is", "unread"]])).await.is_empty());
    assert!(listed(&app, &eve, &json!([["channel", "tea"], ["is", "unread"]])).await.is_empty());
}

#[tokio::test]
async fn a_star_on_a_message_from_before_its_reader_came_is_in_the_list_of_stars() {
    let app = TestApp::found().await;
    let eve = app.person("eve", Role::Member).await;
    let tea = gather(&app, "tea", &[&app.ada], &[]).await;
    let hidden = gather(&app, "hidden", &[&app.ada], &[]).await;
    let early = say(&app, &app.ada, tea, ("plan", "soup")).await;
    let other = say(&app, &app.ada, tea, ("plan", "salad")).await;
    let lost = say(&app, &app.ada, hidden, ("plan", "soup")).await;
    gather(&app, "tea", &[&eve], &[]).await;
    for id in [early, lost] {
        mark(&app, &eve, ("add", "starred"), id).await;
    }
    let own = [("is_private", "true"), ("history_public_to_subscribers", "true")];
    app.call(&app.ada, &format!("PATCH /streams/{hidden}"), &own).await.success();
    let state = app.call(&eve, "POST /register", &[]).await.success();
    assert_eq!(state["starred_messages"], json!([early]));
    for narrow in [
        json!([["is", "starred"]]),
        json!([["channel", "tea"], ["is", "starred"]]),
        json!([["channel", "tea"], ["topic", "plan"], ["is", "starred"]]),
        json!([{"operator": "sender", "operand": app.ada.id}, {"operator": "is", "operand": "starred"}]),
        json!([["search", "soup"], ["is", "starred"]]),
    ] {
        assert_eq!(listed(&app, &eve, &narrow).await, [early], "{narrow}");
    }
    assert!(listed(&app, &eve, &json!([["is", "starred"], ["is", "unread"]])).await.is_empty());
    let rest = json!([{"operator": "is", "operand": "starred", "negated": true}]);
    assert!(!listed(&app, &eve, &rest).await.contains(&other));
}
