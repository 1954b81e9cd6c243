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
//! - the server keeps no state of it, clients hide it: `typing::typing_writes_nothing_down_and_is_not_told_to_who_comes_later`
//! - of more than a hundred subscribers nobody hears:
//!   `chat_core::people::typing::tests::of_a_hundred_active_subscribers_all_hear_and_of_more_nobody`
//! - guests: `typing::guests_type_where_they_may_write_and_nobody_without_an_account_does`

use chat_core::model::role::Role;
use serde_json::json;

use super::{archive, channel, gather, private};
use crate::personal::{bot, close, heard, listen};
use crate::town::{Person, Told, Town};

const CAPABLE: [(&str, &str); 1] =
    [("client_capabilities", r#"{"notification_settings_null": true, "stream_typing_notifications": true}"#)];
const TYPES: &str = r#"["typing"]"#;

async fn in_channel(town: &Town, who: &Person, channel: i64, topic: &str) -> Told {
    let channel = channel.to_string();
    let parameters = [("type", "channel"), ("op", "start"), ("stream_id", channel.as_str()), ("topic", topic)];
    town.call(who, "POST /typing", &parameters).await
}

#[tokio::test]
async fn the_timings_are_set_by_the_register_response() {
    let town = Town::found().await;
    let told = town.call(&town.ada, "POST /register", &[]).await.success();
    for (name, milliseconds) in [
        ("server_typing_started_wait_period_milliseconds", 30_000),
        ("server_typing_started_expiry_period_milliseconds", 45_000),
        ("server_typing_stopped_wait_period_milliseconds", 12_000),
    ] {
        assert_eq!(told[name], json!(milliseconds), "{name}");
    }
}

#[tokio::test]
async fn a_start_that_is_repeated_is_told_again() {
    let town = Town::found().await;
    let ear = listen(&town, &town.ada, TYPES, &CAPABLE).await;
    for _ in 0..3 {
        in_channel(&town, &town.ada, channel(&town, "general"), "lunch").await.success();
    }
    let told = heard(&town, &ear).await;
    assert_eq!((told.len(), &told[0], &told[1]), (3, &told[1], &told[2]));
}

#[tokio::test]
async fn in_a_channel_that_is_archived_or_not_there_for_the_caller_nobody_types() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let (den, old) = (private(&town, "den", &[&town.ada]).await, gather(&town, "old", &[&town.ada, &sam], &[]).await);
    archive(&town, old).await;
    let ear = listen(&town, &town.ada, TYPES, &CAPABLE).await;
    for id in [den, old, 0, -1] {
        in_channel(&town, &sam, id, "lunch").await.refused("Invalid channel ID");
    }
    in_channel(&town, &town.ada, old, "lunch").await.refused("Invalid channel ID");
    assert_eq!(heard(&town, &ear).await.len(), 0);
}

#[tokio::test]
async fn a_guest_does_not_type_in_a_web_public_channel_they_are_not_in() {
    let town = Town::found().await;
    let gus = town.person("gus", Role::Guest).await;
    let open = gather(&town, "open", &[&town.ada], &[("is_web_public", "true")]).await;
    in_channel(&town, &gus, open, "lunch").await.refused("Not authorized to send to channel 'open'");
    gather(&town, "open", &[&gus], &[]).await;
    in_channel(&town, &gus, open, "lunch").await.success();
}

#[tokio::test]
async fn where_only_administrators_write_only_they_type() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let news = gather(&town, "news", &[&town.ada, &sam], &[("stream_post_policy", "2")]).await;
    let refused = "Only organization administrators can send to this channel.";
    in_channel(&town, &sam, news, "lunch").await.refused(refused);
    in_channel(&town, &town.ada, news, "lunch").await.success();
}

#[tokio::test]
async fn a_topic_is_told_as_messages_would_have_it() {
    let town = Town::found().await;
    let ear = listen(&town, &town.ada, TYPES, &CAPABLE).await;
    in_channel(&town, &town.ada, channel(&town, "general"), &format!(" {} ", "t".repeat(61))).await.success();
    let told = heard(&town, &ear).await;
    assert_eq!(told[0]["topic"], json!(format!("{}...", "t".repeat(57))));
    let odd = in_channel(&town, &town.ada, channel(&town, "general"), "a\u{7}b").await;
    odd.refused("Invalid character in topic, at position 2!");
}

#[tokio::test]
async fn bots_type_and_deactivated_users_are_passed_over() {
    let town = Town::found().await;
    let (robot, sam) = (bot(&town, "robot").await, town.person("sam", Role::Member).await);
    let gone = town.person("gone", Role::Member).await;
    close(&town, &gone).await;
    let ear = listen(&town, &sam, TYPES, &[]).await;
    let to = json!([sam.id, gone.id]).to_string();
    town.call(&robot, "POST /typing", &[("op", "start"), ("to", &to)]).await.success();
    let told = heard(&town, &ear).await;
    assert_eq!((told.len(), &told[0]["sender"]["user_id"]), (1, &json!(robot.id)));
    assert_eq!(town.call(&gone, "POST /typing", &[("op", "start"), ("to", "[9]")]).await.error().0, 401);
}

#[tokio::test]
async fn both_names_of_a_topic_are_one_too_many() {
    let town = Town::found().await;
    let id = channel(&town, "general").to_string();
    let both = [("type", "stream"), ("op", "stop"), ("stream_id", &id), ("topic", "a"), ("subject", "b")];
    let told = town.call(&town.ada, "POST /typing", &both).await;
    let text = "Can't decide between 'topic' and 'subject' arguments";
    assert_eq!(told.error(), (400, "REQUEST_CONFUSING_VAR", text));
}

#[tokio::test]
async fn a_parameter_it_does_not_support_is_named_and_ignored() {
    let town = Town::found().await;
    let told = town.call(&town.ada, "POST /typing", &[("op", "stop"), ("to", "[9]"), ("notification_to", "x")]).await;
    assert_eq!(told.success()["ignored_parameters_unsupported"], json!(["notification_to"]));
}
