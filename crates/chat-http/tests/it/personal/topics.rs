//! `PATCH /users/me/subscriptions/muted_topics` and `POST /user_topics`, sentence by sentence.

use chat_core::model::role::Role;
use serde_json::{Value, json};

use super::{bot, heard, listen, mark, state};
use crate::test_app::{NOW_S, Person, TestApp, TestResponse};

const ADD: (&str, &str) = ("op", "add");
const REMOVE: (&str, &str) = ("op", "remove");
const LUNCH: (&str, &str) = ("topic", "Lunch");
const BY_NAME: (&str, &str) = ("stream", "general");

async fn mute(app: &TestApp, who: &Person, parameters: &[(&str, &str)]) -> TestResponse {
    app.call(who, "PATCH /users/me/subscriptions/muted_topics", parameters).await
}

async fn choose(app: &TestApp, who: &Person, (channel, topic, policy): (i64, &str, &str)) -> TestResponse {
    let channel = channel.to_string();
    let parameters = [("stream_id", channel.as_str()), ("topic", topic), ("visibility_policy", policy)];
    app.call(who, "POST /user_topics", &parameters).await
}

fn general(app: &TestApp) -> i64 {
    app.realm().channel_by_name("general").unwrap().id.0
}

/// A private channel of Ada's.
async fn private(app: &TestApp) -> i64 {
    let parameters = [("subscriptions", r#"[{"name": "board"}]"#), ("invite_only", "true")];
    app.call(&app.ada, "POST /users/me/subscriptions", &parameters).await.success();
    app.realm().channel_by_name("board").unwrap().id.0
}

fn policy(channel: i64, topic: &str, policy: i64) -> Value {
    json!({"stream_id": channel, "topic_name": topic, "last_updated": NOW_S, "visibility_policy": policy})
}

#[tokio::test]
async fn op_add_mutes_and_op_remove_unmutes() {
    let app = TestApp::found().await;
    let id = general(&app).to_string();
    for channel in [("stream_id", id.as_str()), BY_NAME] {
        mute(&app, &app.ada, &[channel, LUNCH, ADD]).await.success();
        assert_eq!(state(&app, &app.ada, "muted_topics").await, json!([["general", "Lunch", NOW_S]]));
        assert_eq!(state(&app, &app.ada, "user_topics").await, json!([policy(general(&app), "Lunch", 1)]));
        mute(&app, &app.ada, &[channel, ("topic", "lunch"), REMOVE]).await.success();
        assert_eq!(state(&app, &app.ada, "muted_topics").await, json!([]));
        assert_eq!(state(&app, &app.ada, "user_topics").await, json!([]));
    }
}

#[tokio::test]
async fn repeating_an_op_succeeds() {
    let app = TestApp::found().await;
    mute(&app, &app.ada, &[BY_NAME, LUNCH, REMOVE]).await.success();
    mute(&app, &app.ada, &[BY_NAME, LUNCH, ADD]).await.success();
    let before = mark(&app);
    app.wait_s(5);
    mute(&app, &app.ada, &[BY_NAME, ("topic", " LUNCH "), ADD]).await.success();
    assert_eq!((mark(&app), state(&app, &app.ada, "muted_topics").await[0][2].clone()), (before, json!(NOW_S)));
}

#[tokio::test]
async fn exactly_one_of_stream_id_and_stream_is_given() {
    let app = TestApp::found().await;
    let id = general(&app).to_string();
    let before = mark(&app);
    let response = mute(&app, &app.ada, &[("stream_id", &id), BY_NAME, LUNCH, ADD]).await;
    response.refused("Unsupported parameter combination: stream_id, stream");
    assert_eq!(response.body["parameters"], "stream_id, stream");
    mute(&app, &app.ada, &[LUNCH, ADD]).await.refused("Missing 'stream_id' argument");
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn topic_and_op_are_required_and_op_is_add_or_remove() {
    let app = TestApp::found().await;
    let before = mark(&app);
    for (parameters, text) in [
        (&[BY_NAME, ADD][..], "Missing 'topic' argument"),
        (&[BY_NAME, LUNCH], "Missing 'op' argument"),
        (&[BY_NAME, LUNCH, ("op", "toggle")], "Invalid op"),
        (&[BY_NAME, LUNCH, ("op", "\"add\"")], "Invalid op"),
        (&[("stream_id", "general"), LUNCH, ADD], "stream_id is not valid JSON"),
        (&[("stream_id", "\"1\""), LUNCH, ADD], "stream_id is not an integer"),
    ] {
        mute(&app, &app.ada, parameters).await.refused(text);
    }
    let long = "x".repeat(61);
    let response = mute(&app, &app.ada, &[BY_NAME, ("topic", &long), ADD]).await;
    response.refused("topic is too long (limit: 60 characters)");
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn the_request_succeeds_even_if_the_topic_has_no_messages() {
    let app = TestApp::found().await;
    mute(&app, &app.ada, &[BY_NAME, ("topic", "never written"), ADD]).await.success();
    mute(&app, &app.ada, &[BY_NAME, ("topic", ""), ADD]).await.success();
    assert_eq!(state(&app, &app.ada, "muted_topics").await.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_channel_that_is_unknown_or_not_seen_is_none() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let board = private(&app).await;
    let before = mark(&app);
    for id in ["999", &board.to_string()] {
        mute(&app, &sam, &[("stream_id", id), LUNCH, ADD]).await.refused("Invalid channel ID");
        mute(&app, &sam, &[("stream_id", id), LUNCH, REMOVE]).await.refused("Topic is not muted");
    }
    for name in ["nowhere", "board"] {
        let response = mute(&app, &sam, &[("stream", name), LUNCH, ADD]).await;
        response.refused(&format!("Invalid channel name '{name}'"));
        mute(&app, &sam, &[("stream", name), LUNCH, REMOVE]).await.refused("Topic is not muted");
    }
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn each_policy_can_be_chosen_and_is_told_to_the_callers_own_clients() {
    let app = TestApp::found().await;
    let (sam, id) = (app.person("sam", Role::Member).await, general(&app));
    let newer = listen(&app, &sam, r#"["user_topic","muted_topics"]"#, &[]).await;
    let older = listen(&app, &sam, r#"["muted_topics"]"#, &[]).await;
    let all = listen(&app, &sam, "null", &[]).await;
    let other = listen(&app, &app.ada, "null", &[]).await;
    for number in ["1", "2", "3", "3", "0", "0"] {
        choose(&app, &sam, (id, "Lunch", number)).await.success();
    }
    let expected = |number| {
        let mut event = policy(id, "Lunch", number);
        event["type"] = json!("user_topic");
        event
    };
    assert_eq!(heard(&app, &newer).await, [1, 2, 3, 0].map(expected));
    let muted = json!({"type": "muted_topics", "muted_topics": [["general", "Lunch", NOW_S]]});
    let none = json!({"type": "muted_topics", "muted_topics": []});
    assert_eq!(heard(&app, &older).await, [muted, none.clone(), none.clone(), none]);
    assert_eq!((heard(&app, &all).await.len(), heard(&app, &other).await.len()), (8, 0));
}

#[tokio::test]
async fn a_policy_that_is_none_and_a_channel_that_is_none_are_refused() {
    let app = TestApp::found().await;
    let (sam, id, board) = (app.person("sam", Role::Guest).await, general(&app), private(&app).await);
    let before = mark(&app);
    let listed = "Invalid visibility_policy: Value error, Not in the list of possible values";
    for (request_fields, text) in [
        ((id, "x", "4"), listed),
        ((id, "x", "-1"), listed),
        ((id, "x", "true"), "visibility_policy is not an integer"),
        ((id, "x", "mute"), "visibility_policy is not valid JSON"),
        ((999, "x", "1"), "Invalid channel ID"),
        ((999, "x", "0"), "Invalid channel ID"),
        ((board, "x", "3"), "Invalid channel ID"),
        // A guest who is in no channel sees none that is not open to the web.
        ((id, "x", "1"), "Invalid channel ID"),
    ] {
        choose(&app, &sam, request_fields).await.refused(text);
    }
    let long = "x".repeat(61);
    choose(&app, &app.ada, (id, &long, "1")).await.refused("topic is too long (limit: 60 characters)");
    let response = app.call(&app.ada, "POST /user_topics", &[("stream_id", "1"), ("topic", "x")]).await;
    response.refused("Missing 'visibility_policy' argument");
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn a_policy_is_let_go_of_in_a_channel_that_is_no_longer_seen() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let board = private(&app).await;
    let invite = [("subscriptions", r#"[{"name": "board"}]"#), ("principals", &format!("[{}]", sam.id))];
    app.call(&app.ada, "POST /users/me/subscriptions", &invite).await.success();
    choose(&app, &sam, (board, "Lunch", "3")).await.success();
    app.call(&sam, "DELETE /users/me/subscriptions", &[("subscriptions", r#"["board"]"#)]).await.success();
    choose(&app, &sam, (board, "Lunch", "1")).await.refused("Invalid channel ID");
    choose(&app, &sam, (board, "Lunch", "0")).await.success();
    choose(&app, &sam, (board, "Lunch", "0")).await.success();
    assert_eq!(state(&app, &sam, "user_topics").await, json!([]));
}

#[tokio::test]
async fn who_left_a_private_channel_does_not_learn_its_new_name_by_what_they_muted() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let board = private(&app).await;
    let invite = [("subscriptions", r#"[{"name": "board"}]"#), ("principals", &format!("[{}]", sam.id))];
    app.call(&app.ada, "POST /users/me/subscriptions", &invite).await.success();
    mute(&app, &sam, &[("stream", "board"), LUNCH, ADD]).await.success();
    app.call(&sam, "DELETE /users/me/subscriptions", &[("subscriptions", r#"["board"]"#)]).await.success();
    app.call(&app.ada, &format!("PATCH /streams/{board}"), &[("new_name", "closing the ward")]).await.success();
    let queue = listen(&app, &sam, r#"["muted_topics"]"#, &[]).await;
    mute(&app, &sam, &[BY_NAME, LUNCH, ADD]).await.success();
    let known = json!([["general", "Lunch", NOW_S]]);
    assert_eq!(state(&app, &sam, "muted_topics").await, known);
    assert_eq!(heard(&app, &queue).await[0]["muted_topics"], known);
}

#[tokio::test]
async fn bots_choose_too_and_nobody_does_not() {
    let app = TestApp::found().await;
    let robot = bot(&app, "robot").await;
    mute(&app, &robot, &[BY_NAME, LUNCH, ADD]).await.success();
    choose(&app, &robot, (general(&app), "Lunch", "2")).await.success();
    assert_eq!(state(&app, &robot, "user_topics").await, json!([policy(general(&app), "Lunch", 2)]));
    let response = app.call_as_nobody("POST /user_topics", &[]).await;
    assert_eq!((response.error().0, response.error().1), (401, "UNAUTHORIZED"));
}

#[tokio::test]
async fn what_is_unread_again_is_said_to_be_heard_or_not() {
    let app = TestApp::found().await;
    let id = general(&app);
    let parameters = [("type", "stream"), ("to", "general"), ("topic", "Lunch"), ("content", "soup")];
    let sent = app.call(&app.ada, "POST /messages", &parameters).await.success()["id"].to_string();
    let messages = format!("[{sent}]");
    let mark = async |op: &str| {
        let parameters = [("messages", messages.as_str()), ("op", op), ("flag", "read")];
        app.call(&app.ada, "POST /messages/flags", &parameters).await.success();
    };
    mark("add").await;
    for (policy, is_heard) in [("1", false), ("2", true), ("3", true), ("0", true)] {
        choose(&app, &app.ada, (id, "lunch", policy)).await.success();
        let queue = listen(&app, &app.ada, r#"["update_message_flags"]"#, &[]).await;
        mark("remove").await;
        let events = heard(&app, &queue).await;
        assert_eq!(events[0]["message_details"][&sent]["unmuted_stream_msg"], json!(is_heard), "{policy}");
        mark("add").await;
    }
}
