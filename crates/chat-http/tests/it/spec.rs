//! The specification, endpoint by endpoint: which test shows each of its sentences.
//!
//! Each file is one endpoint. It begins with the endpoint, then names sentences that tests elsewhere show, each with
//! those tests; the sentences that no other test shows have theirs below. `cargo xtask tidy` sees to it that every
//! endpoint has its file and that every test a file names is there.

mod delete_events;
mod delete_messages_reactions;
mod delete_realm_emoji;
mod delete_users_me_muted_users;
mod every_endpoint;
mod get_messages_matches_narrow;
mod get_realm_linkifiers;
mod get_realm_profile_fields;
mod get_server_settings;
mod get_streams;
mod patch_realm_user_settings_defaults;
mod patch_scheduled_messages;
mod patch_users_me_subscriptions_muted_topics;
mod post_fetch_api_key;
mod post_invites;
mod post_mark_topic_as_read;
mod post_mobile_push_test_notification;
mod post_realm_playgrounds;
mod post_realm_profile_fields;
mod post_typing;
mod post_user_groups_create;
mod post_users_me_status;

use serde_json::json;

use crate::test_app::{Person, TestApp, TestResponse};

/// Members, moderators and guests are told so where only administrators may.
const ADMINISTRATOR: &str = "Must be an organization administrator";

fn channel(app: &TestApp, name: &str) -> i64 {
    app.realm().channel_by_name(name).unwrap().id.0
}

/// Makes a channel with these people in it, or puts them into one that is there. Its number.
pub(crate) async fn gather(app: &TestApp, name: &str, people: &[&Person], parameters: &[(&str, &str)]) -> i64 {
    let subscriptions = json!([{"name": name}]).to_string();
    let principals = json!(people.iter().map(|person| person.id).collect::<Vec<_>>()).to_string();
    let all = [&[("subscriptions", subscriptions.as_str()), ("principals", &principals)], parameters].concat();
    app.call(&app.ada, "POST /users/me/subscriptions", &all).await.success();
    channel(app, name)
}

/// A private channel of these people, Ada not among them unless she is named.
async fn private(app: &TestApp, name: &str, people: &[&Person]) -> i64 {
    gather(app, name, people, &[("invite_only", "true")]).await
}

async fn archive(app: &TestApp, channel: i64) {
    app.call(&app.ada, &format!("DELETE /streams/{channel}"), &[]).await.success();
}

/// Says something under a topic of a channel. The number of the message.
pub(crate) async fn say(app: &TestApp, from: &Person, channel: i64, (topic, content): (&str, &str)) -> i64 {
    let to = channel.to_string();
    let parameters = [("type", "stream"), ("to", to.as_str()), ("topic", topic), ("content", content)];
    app.call(from, "POST /messages", &parameters).await.success()["id"].as_i64().unwrap()
}

/// Says something to people. The number of the message.
async fn tell(app: &TestApp, from: &Person, to: &[&Person], content: &str) -> i64 {
    let to = json!(to.iter().map(|person| person.id).collect::<Vec<_>>()).to_string();
    let parameters = [("type", "direct"), ("to", to.as_str()), ("content", content)];
    app.call(from, "POST /messages", &parameters).await.success()["id"].as_i64().unwrap()
}

/// Of two calls that race, the success first, with the refusal.
#[track_caller]
pub(crate) fn one_succeeds(response: (TestResponse, TestResponse)) -> TestResponse {
    let (won, lost) = if response.0.status.is_success() { response } else { (response.1, response.0) };
    won.success();
    lost
}
