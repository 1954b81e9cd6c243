//! `PATCH /users/me/subscriptions/muted_topics`
//!
//! - `op` `add` mutes and `remove` unmutes: `personal::topics::op_add_mutes_and_op_remove_unmutes`
//! - exactly one of `stream_id` and `stream`: `personal::topics::exactly_one_of_stream_id_and_stream_is_given`
//! - `topic` and `op` are required: `personal::topics::topic_and_op_are_required_and_op_is_add_or_remove`
//! - it succeeds even if the topic has no messages:
//!   `personal::topics::the_request_succeeds_even_if_the_topic_has_no_messages`
//! - from feature level 169 repeating an op succeeds: `personal::topics::repeating_an_op_succeeds`
//! - a channel that is not there: `personal::topics::a_channel_that_is_unknown_or_not_seen_is_none`
//! - its successor is `POST /user_topics`:
//!   `personal::topics::each_policy_can_be_chosen_and_is_told_to_the_callers_own_clients`

use chat_core::model::role::Role;
use serde_json::json;

use super::{archive, channel, gather, say};
use crate::personal::{heard, listen, mark, state};
use crate::test_app::{NOW_S, Person, TestApp, TestResponse};

async fn mute(app: &TestApp, who: &Person, op: &str, channel: (&str, &str)) -> TestResponse {
    app.call(who, "PATCH /users/me/subscriptions/muted_topics", &[channel, ("topic", "lunch"), ("op", op)]).await
}

#[tokio::test]
async fn a_channel_that_is_archived_is_none() {
    let app = TestApp::found().await;
    let id = gather(&app, "old", &[&app.ada], &[]).await.to_string();
    mute(&app, &app.ada, "add", ("stream", "old")).await.success();
    archive(&app, channel(&app, "old")).await;
    let before = mark(&app);
    let response = app
        .call(
            &app.ada,
            "PATCH /users/me/subscriptions/muted_topics",
            &[("stream_id", &id), ("topic", "dinner"), ("op", "add")],
        )
        .await;
    response.refused("Invalid channel ID");
    assert_eq!(mark(&app), before);
    // What was muted in it can be let go of.
    mute(&app, &app.ada, "remove", ("stream_id", &id)).await.success();
    assert_eq!(state(&app, &app.ada, "user_topics").await, json!([]));
}

#[tokio::test]
async fn a_guest_mutes_in_a_web_public_channel_and_where_they_are() {
    let app = TestApp::found().await;
    let gus = app.person("gus", Role::Guest).await;
    gather(&app, "open", &[&app.ada], &[("is_web_public", "true")]).await;
    mute(&app, &gus, "add", ("stream", "general")).await.refused("Invalid channel name 'general'");
    mute(&app, &gus, "add", ("stream", "open")).await.success();
    gather(&app, "general", &[&gus], &[]).await;
    mute(&app, &gus, "add", ("stream", "general")).await.success();
    assert_eq!(state(&app, &gus, "muted_topics").await.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn of_two_that_mute_at_once_one_is_told() {
    let app = TestApp::found().await;
    let queue = listen(&app, &app.ada, r#"["user_topic"]"#, &[]).await;
    let general = ("stream", "general");
    let (first, second) = tokio::join!(mute(&app, &app.ada, "add", general), mute(&app, &app.ada, "add", general));
    first.success();
    second.success();
    let event = json!({
        "type": "user_topic", "stream_id": channel(&app, "general"), "topic_name": "lunch", "last_updated": NOW_S,
        "visibility_policy": 1,
    });
    assert_eq!(heard(&app, &queue).await, [event]);
}

#[tokio::test]
async fn a_muted_topic_is_not_at_home() {
    let app = TestApp::found().await;
    let general = channel(&app, "general");
    say(&app, &app.ada, general, ("Lunch", "soup")).await;
    say(&app, &app.ada, general, ("tea", "cake")).await;
    let home = [
        ("anchor", "newest"),
        ("num_before", "10"),
        ("num_after", "0"),
        ("narrow", r#"[{"operator": "in", "operand": "home"}]"#),
    ];
    let count =
        async || app.call(&app.ada, "GET /messages", &home).await.success()["messages"].as_array().unwrap().len();
    assert_eq!(count().await, 2);
    mute(&app, &app.ada, "add", ("stream", "general")).await.success();
    assert_eq!(count().await, 1);
    mute(&app, &app.ada, "remove", ("stream", "general")).await.success();
    assert_eq!(count().await, 2);
}

#[tokio::test]
async fn a_stream_id_is_not_null_and_the_name_a_raw_string() {
    let app = TestApp::found().await;
    mute(&app, &app.ada, "add", ("stream_id", "null")).await.refused("stream_id is not an integer");
    mute(&app, &app.ada, "add", ("stream", "\"general\"")).await.refused("Invalid channel name '\"general\"'");
    mute(&app, &app.ada, "add", ("stream", "")).await.refused("Invalid channel name ''");
}
