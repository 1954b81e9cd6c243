//! `PATCH /scheduled_messages/{scheduled_message_id}`
//!
//! - all fields are optional: `scheduled::each_field_is_optional_and_nothing_at_all_is_refused`
//! - `type` is `direct`, `channel`, `stream` or `private`; changing it requires `to`, and to a channel also `topic`:
//!   `scheduled::changing_the_type_requires_to_and_to_a_channel_also_topic`
//! - `to` is a channel id or a list of user ids:
//!   `scheduled::to_is_a_channel_id_for_channels_and_a_list_of_user_ids_for_people`
//! - `content` is bounded by `max_message_length`, `topic` by `max_topic_length` and ignored for direct messages:
//!   `scheduled::content_and_topic_are_bounded_and_the_topic_is_ignored_for_people`
//! - `scheduled_delivery_timestamp` is in seconds: `scheduled::the_time_is_in_the_future_and_an_integer`
//! - it is required for a message that failed, whose `failed` is true:
//!   `scheduled::a_failed_message_says_so_and_an_edit_must_carry_a_new_time`
//! - `STREAM_DOES_NOT_EXIST` with `stream_id`, and `BAD_REQUEST` for an invalid user id:
//!   `scheduled::a_missing_channel_is_named_and_an_invalid_user_id_is_a_bad_request`
//! - `BAD_REQUEST` when no scheduled message has that id:
//!   `scheduled::without_a_scheduled_message_of_that_id_it_is_a_bad_request`
//! - its id differs from the id of the message that is sent:
//!   `scheduled::at_its_time_it_goes_out_once_under_another_id_and_is_listed_no_more`
//! - one of many nodes sends it: `chat_storage::scheduled::of_many_who_try_at_once_one_sends_each_message`

use chat_core::model::role::Role;
use serde_json::{Value, json};

use super::{archive, channel, gather, private};
use crate::personal::{bot, close, mark};
use crate::test_app::{NOW_S, Person, TestApp, TestResponse};

const LATER_S: i64 = NOW_S + 3_600;

/// Schedules `hi` under `lunch` in `general` for an hour later.
async fn scheduled(app: &TestApp, who: &Person) -> i64 {
    let (to, at) = (channel(app, "general").to_string(), LATER_S.to_string());
    let parameters = [
        ("type", "channel"),
        ("to", to.as_str()),
        ("topic", "lunch"),
        ("content", "hi"),
        ("scheduled_delivery_timestamp", &at),
    ];
    let response = app.call(who, "POST /scheduled_messages", &parameters).await.success();
    response["scheduled_message_id"].as_i64().unwrap()
}

async fn edit(app: &TestApp, who: &Person, id: i64, parameters: &[(&str, &str)]) -> TestResponse {
    app.call(who, &format!("PATCH /scheduled_messages/{id}"), parameters).await
}

async fn list(app: &TestApp, who: &Person) -> Vec<Value> {
    let response = app.call(who, "GET /scheduled_messages", &[]).await.success();
    response["scheduled_messages"].as_array().unwrap().clone()
}

/// What Ada reads of everything, the oldest first.
async fn contents(app: &TestApp) -> Vec<String> {
    let window = [("anchor", "newest"), ("num_before", "100"), ("num_after", "0"), ("apply_markdown", "false")];
    let response = app.call(&app.ada, "GET /messages", &window).await.success();
    let messages = response["messages"].as_array().unwrap().iter();
    messages.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn it_does_not_go_to_a_channel_that_is_archived_or_not_there_for_its_sender() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let (den, old) = (private(&app, "den", &[&app.ada]).await, gather(&app, "old", &[&sam], &[]).await);
    archive(&app, old).await;
    let id = scheduled(&app, &sam).await;
    let before = list(&app, &sam).await;
    let response = edit(&app, &sam, id, &[("to", &den.to_string())]).await;
    let text = format!("Channel with ID '{den}' does not exist");
    assert_eq!(response.error(), (400, "STREAM_DOES_NOT_EXIST", text.as_str()));
    assert_eq!(response.body["stream_id"], json!(den));
    edit(&app, &sam, id, &[("to", &old.to_string())]).await.refused("Not authorized to send to channel 'old'");
    assert_eq!(list(&app, &sam).await, before);
}

#[tokio::test]
async fn a_guest_and_a_bot_edit_what_they_scheduled_and_nobody_what_another_did() {
    let app = TestApp::found().await;
    let (gus, robot) = (app.person("gus", Role::Guest).await, bot(&app, "robot").await);
    gather(&app, "general", &[&gus], &[]).await;
    for who in [&gus, &robot] {
        let id = scheduled(&app, who).await;
        let response = edit(&app, &app.ada, id, &[("content", "x")]).await;
        assert_eq!(response.error(), (404, "BAD_REQUEST", "Scheduled message does not exist"));
        edit(&app, who, id, &[("content", "again")]).await.success();
        assert_eq!(list(&app, who).await[0]["content"], "again");
    }
    let response = app.call_as_nobody("PATCH /scheduled_messages/1", &[("content", "x")]).await;
    assert_eq!(response.error().0, 401);
}

#[tokio::test]
async fn it_does_not_go_to_somebody_whose_account_is_closed() {
    let app = TestApp::found().await;
    let gone = app.person("gone", Role::Member).await;
    close(&app, &gone).await;
    let id = scheduled(&app, &app.ada).await;
    let response = edit(&app, &app.ada, id, &[("type", "direct"), ("to", &format!("[{}]", gone.id))]).await;
    response.refused("'gone@example.org' is no longer using the chat.");
    assert_eq!(list(&app, &app.ada).await[0]["type"], "stream");
}

#[tokio::test]
async fn nothing_may_be_null_and_a_time_has_an_end() {
    let app = TestApp::found().await;
    let id = scheduled(&app, &app.ada).await;
    let before = mark(&app);
    for (name, value, text) in [
        ("scheduled_delivery_timestamp", "null", "scheduled_delivery_timestamp is not an integer"),
        ("scheduled_delivery_timestamp", "\"1\"", "scheduled_delivery_timestamp is not an integer"),
        ("scheduled_delivery_timestamp", "99999999999999999999", "scheduled_delivery_timestamp is too large"),
        ("to", "null", "Invalid data type for channel ID"),
        ("to", "true", "Invalid data type for channel ID"),
        ("type", "null", "Invalid type"),
        ("topic", "a\u{7}b", "Invalid character in topic, at position 2!"),
    ] {
        edit(&app, &app.ada, id, &[(name, value)]).await.refused(text);
    }
    assert_eq!(mark(&app), before);
    edit(&app, &app.ada, id, &[("scheduled_delivery_timestamp", &i64::MAX.to_string())]).await.success();
    assert_eq!(list(&app, &app.ada).await[0]["scheduled_delivery_timestamp"], json!(i64::MAX));
}

#[tokio::test]
async fn an_edit_that_races_with_the_delivery_holds_or_comes_too_late() {
    for round in 0..8 {
        let app = TestApp::found().await;
        let id = scheduled(&app, &app.ada).await;
        app.wait_s(3_600);
        let later = (LATER_S + 60).to_string();
        let values = [("content", "later"), ("scheduled_delivery_timestamp", later.as_str())];
        let (response, ()) = tokio::join!(edit(&app, &app.ada, id, &values), async {
            for _ in 0..round {
                tokio::task::yield_now().await;
            }
            app.send_due().await;
        });
        if response.status.is_success() {
            assert_eq!((contents(&app).await.len(), list(&app, &app.ada).await.len()), (0, 1));
            app.wait_s(60);
            app.send_due().await;
            assert_eq!(contents(&app).await, ["later"]);
        } else {
            assert_eq!(response.error(), (404, "BAD_REQUEST", "Scheduled message does not exist"));
            assert_eq!((contents(&app).await, list(&app, &app.ada).await.len()), (vec!["hi".to_owned()], 0));
        }
    }
}

#[tokio::test]
async fn a_message_that_failed_leads_its_sender_to_their_scheduled_messages() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    scheduled(&app, &sam).await;
    app.call(&app.ada, &format!("PATCH /streams/{}", channel(&app, "general")), &[("stream_post_policy", "2")])
        .await
        .success();
    app.wait_s(3_600);
    app.send_due().await;
    let window = [("anchor", "newest"), ("num_before", "1"), ("num_after", "0")];
    let response = app.call(&sam, "GET /messages", &window).await.success();
    let content = response["messages"][0]["content"].as_str().unwrap();
    assert!(content.ends_with(r##"<p><a href="#scheduled">View scheduled messages</a></p>"##), "{content}");
}

#[tokio::test]
async fn what_it_does_not_support_is_named_and_ignored() {
    let app = TestApp::found().await;
    let id = scheduled(&app, &app.ada).await;
    let response = edit(&app, &app.ada, id, &[("content", "x"), ("read_by_sender", "true")]).await.success();
    assert_eq!(response["ignored_parameters_unsupported"], json!(["read_by_sender"]));
    edit(&app, &app.ada, id, &[("read_by_sender", "true")]).await.refused("Nothing to change");
}
