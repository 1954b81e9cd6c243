//! `POST /mark_topic_as_read`
//!
//! - `stream_id` and `topic_name` are required:
//!   `changes::flagging::mark_topic_as_read_asks_for_a_stream_id_and_a_topic_name`
//! - the topic is read afterwards, and no other: `changes::flagging::a_topic_a_channel_and_everything_become_read`,
//!   `changes::flagging::an_empty_topic_is_the_whole_channel`
//! - its successor is to update personal message flags for a narrow:
//!   `changes::flagging::a_stretch_of_a_narrow_is_marked_and_says_where_it_ended`

use serde_json::json;

use super::{archive, channel, gather, private, say, tell};
use crate::personal::{heard, listen, state};
use crate::test_app::{Person, TestApp, TestResponse};
use chat_core::model::role::Role;

async fn read(app: &TestApp, who: &Person, channel: i64, topic: &str) -> TestResponse {
    let channel = channel.to_string();
    app.call(who, "POST /mark_topic_as_read", &[("stream_id", &channel), ("topic_name", topic)]).await
}

#[tokio::test]
async fn what_is_unread_elsewhere_stays_unread() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let general = gather(&app, "general", &[&sam], &[]).await;
    let sandbox = gather(&app, "sandbox", &[&sam], &[]).await;
    say(&app, &app.ada, general, ("Lunch", "soup")).await;
    let kept = [
        say(&app, &app.ada, general, ("lunches", "soup")).await,
        say(&app, &app.ada, sandbox, ("lunch", "soup")).await,
    ];
    let direct = tell(&app, &app.ada, &[&sam], "soup").await;
    read(&app, &sam, general, " LUNCH ").await.success();
    let unread = state(&app, &sam, "unread_msgs").await;
    let left: Vec<_> = unread["streams"].as_array().unwrap().iter().map(|topic| &topic["unread_message_ids"]).collect();
    assert_eq!(left, [&json!([kept[0]]), &json!([kept[1]])]);
    assert_eq!(unread["pms"][0]["unread_message_ids"], json!([direct]));
}

#[tokio::test]
async fn of_two_who_read_at_once_each_message_is_told_once() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let general = gather(&app, "general", &[&sam], &[]).await;
    let id = say(&app, &app.ada, general, ("lunch", "soup")).await;
    let queue = listen(&app, &sam, r#"["update_message_flags"]"#, &[]).await;
    let (first, second) = tokio::join!(read(&app, &sam, general, "lunch"), read(&app, &sam, general, "lunch"));
    first.success();
    second.success();
    read(&app, &sam, general, "lunch").await.success();
    let events = heard(&app, &queue).await;
    assert_eq!(events[0]["messages"], json!([id]));
    assert!(events[1..].iter().all(|event| event["messages"] == json!([id]) && event["op"] == "add"), "{events:?}");
    assert_eq!(state(&app, &sam, "unread_msgs").await["count"], json!(0));
}

#[tokio::test]
async fn a_channel_that_is_archived_or_not_there_for_the_caller_is_none() {
    let app = TestApp::found().await;
    let (sam, gus) = (app.person("sam", Role::Member).await, app.person("gus", Role::Guest).await);
    let (den, old) = (private(&app, "den", &[&app.ada]).await, gather(&app, "old", &[&sam], &[]).await);
    say(&app, &app.ada, den, ("lunch", "soup")).await;
    archive(&app, old).await;
    for (who, id) in [(&sam, den), (&sam, old), (&sam, 0), (&sam, -1), (&gus, channel(&app, "general"))] {
        read(&app, who, id, "lunch").await.refused("Invalid channel ID");
    }
    let response = app.call_as_nobody("POST /mark_topic_as_read", &[("stream_id", "1"), ("topic_name", "x")]).await;
    assert_eq!(response.error().0, 401);
}

#[tokio::test]
async fn of_a_channel_the_caller_never_was_in_there_is_no_topic_to_read() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let general = channel(&app, "general");
    say(&app, &app.ada, general, ("lunch", "soup")).await;
    read(&app, &sam, general, "lunch").await.refused("No such topic 'lunch'");
}
