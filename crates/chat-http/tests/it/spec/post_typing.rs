//! `POST /typing`
//!
//! - `type` is `direct` unless it is said, and `op` is `start` or `stop`:
//!   `typing::the_type_is_direct_unless_said_and_events_have_op_start_or_stop`
//! - `private` is no longer accepted: `typing::private_is_no_longer_accepted_and_op_is_start_or_stop`
//! - `to` is a JSON list of user ids, even for one: `typing::to_is_a_json_list_of_user_ids_even_for_one_recipient`
//! - a channel message without `stream_id` is `BAD_REQUEST`, and `topic` is required as well:
//!   `typing::a_channel_message_without_stream_id_is_a_bad_request`
//! - the parameters of the other type are ignored: `typing::of_the_other_type_parameters_are_ignored`
//! - `type` may be `stream` or `channel`, and clients advertise channel typing events with
//!   `stream_typing_notifications`: `typing::queues_that_advertise_it_get_channel_typing_events`
//! - events go only to users whose `receives_typing_notifications` is enabled:
//!   `typing::they_go_only_to_users_whose_receives_typing_notifications_is_enabled`
//! - who does not send them sends none: `typing::who_chose_not_to_send_them_sends_none`
//! - the server keeps no state of it, clients hide it:
//!   `typing::typing_writes_nothing_down_and_is_not_told_to_who_comes_later`
//! - of more than a hundred subscribers nobody hears:
//!   `chat_core::people::typing_notifications::tests::of_a_hundred_active_subscribers_all_hear_and_of_more_nobody`
//! - guests: `typing::guests_type_where_they_may_write_and_nobody_without_an_account_does`

use chat_core::model::role::Role;
use serde_json::json;

use super::{archive, channel, gather, private};
use crate::personal::{bot, close, heard, listen};
use crate::test_app::{Person, TestApp, TestResponse};

const CAPABLE: [(&str, &str); 1] =
    [("client_capabilities", r#"{"notification_settings_null": true, "stream_typing_notifications": true}"#)];
const TYPES: &str = r#"["typing"]"#;

async fn in_channel(app: &TestApp, who: &Person, channel: i64, topic: &str) -> TestResponse {
    let channel = channel.to_string();
    let parameters = [("type", "channel"), ("op", "start"), ("stream_id", channel.as_str()), ("topic", topic)];
    app.call(who, "POST /typing", &parameters).await
}

#[tokio::test]
async fn the_timings_are_set_by_the_register_response() {
    let app = TestApp::found().await;
    let response = app.call(&app.ada, "POST /register", &[]).await.success();
    for (name, milliseconds) in [
        ("server_typing_started_wait_period_milliseconds", 30_000),
        ("server_typing_started_expiry_period_milliseconds", 45_000),
        ("server_typing_stopped_wait_period_milliseconds", 12_000),
    ] {
        assert_eq!(response[name], json!(milliseconds), "{name}");
    }
}

#[tokio::test]
async fn a_start_that_is_repeated_is_told_again() {
    let app = TestApp::found().await;
    let queue = listen(&app, &app.ada, TYPES, &CAPABLE).await;
    for _ in 0..3 {
        in_channel(&app, &app.ada, channel(&app, "general"), "lunch").await.success();
    }
    let events = heard(&app, &queue).await;
    assert_eq!((events.len(), &events[0], &events[1]), (3, &events[1], &events[2]));
}

#[tokio::test]
async fn in_a_channel_that_is_archived_or_not_there_for_the_caller_nobody_types() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let (den, old) = (private(&app, "den", &[&app.ada]).await, gather(&app, "old", &[&app.ada, &sam], &[]).await);
    archive(&app, old).await;
    let queue = listen(&app, &app.ada, TYPES, &CAPABLE).await;
    for id in [den, old, 0, -1] {
        in_channel(&app, &sam, id, "lunch").await.refused("Invalid channel ID");
    }
    in_channel(&app, &app.ada, old, "lunch").await.refused("Invalid channel ID");
    assert_eq!(heard(&app, &queue).await.len(), 0);
}

#[tokio::test]
async fn a_guest_does_not_type_in_a_web_public_channel_they_are_not_in() {
    let app = TestApp::found().await;
    let gus = app.person("gus", Role::Guest).await;
    let open = gather(&app, "open", &[&app.ada], &[("is_web_public", "true")]).await;
    in_channel(&app, &gus, open, "lunch").await.refused("Not authorized to send to channel 'open'");
    gather(&app, "open", &[&gus], &[]).await;
    in_channel(&app, &gus, open, "lunch").await.success();
}

#[tokio::test]
async fn where_only_administrators_write_only_they_type() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let news = gather(&app, "news", &[&app.ada, &sam], &[("stream_post_policy", "2")]).await;
    let refused = "Only organization administrators can send to this channel.";
    in_channel(&app, &sam, news, "lunch").await.refused(refused);
    in_channel(&app, &app.ada, news, "lunch").await.success();
}

#[tokio::test]
async fn a_topic_is_told_as_messages_would_have_it() {
    let app = TestApp::found().await;
    let queue = listen(&app, &app.ada, TYPES, &CAPABLE).await;
    in_channel(&app, &app.ada, channel(&app, "general"), &format!(" {} ", "t".repeat(61))).await.success();
    let events = heard(&app, &queue).await;
    assert_eq!(events[0]["topic"], json!(format!("{}...", "t".repeat(57))));
    let odd = in_channel(&app, &app.ada, channel(&app, "general"), "a\u{7}b").await;
    odd.refused("Invalid character in topic, at position 2!");
}

#[tokio::test]
async fn bots_type_and_deactivated_users_are_passed_over() {
    let app = TestApp::found().await;
    let (robot, sam) = (bot(&app, "robot").await, app.person("sam", Role::Member).await);
    let gone = app.person("gone", Role::Member).await;
    close(&app, &gone).await;
    let queue = listen(&app, &sam, TYPES, &[]).await;
    let to = json!([sam.id, gone.id]).to_string();
    app.call(&robot, "POST /typing", &[("op", "start"), ("to", &to)]).await.success();
    let events = heard(&app, &queue).await;
    assert_eq!((events.len(), &events[0]["sender"]["user_id"]), (1, &json!(robot.id)));
    assert_eq!(app.call(&gone, "POST /typing", &[("op", "start"), ("to", "[9]")]).await.error().0, 401);
}

#[tokio::test]
async fn both_names_of_a_topic_are_one_too_many() {
    let app = TestApp::found().await;
    let id = channel(&app, "general").to_string();
    let both = [("type", "stream"), ("op", "stop"), ("stream_id", &id), ("topic", "a"), ("subject", "b")];
    let response = app.call(&app.ada, "POST /typing", &both).await;
    let text = "Can't decide between 'topic' and 'subject' arguments";
    assert_eq!(response.error(), (400, "REQUEST_CONFUSING_VAR", text));
}

#[tokio::test]
async fn a_parameter_it_does_not_support_is_named_and_ignored() {
    let app = TestApp::found().await;
    let response = app.call(&app.ada, "POST /typing", &[("op", "stop"), ("to", "[9]"), ("notification_to", "x")]).await;
    assert_eq!(response.success()["ignored_parameters_unsupported"], json!(["notification_to"]));
}
