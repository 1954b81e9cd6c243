//! `GET /streams`
//!
//! - every field of the channel object: `channels::seeing::a_channel_is_shown_with_every_field`,
//!   `channels::seeing::topics_are_listed_the_newest_first_and_the_first_message_is_known`
//! - `include_public` and `include_subscribed` are true unless they are said:
//!   `channels::seeing::which_channels_are_listed_follows_from_what_is_asked`
//! - `include_web_public`:
//!   `channels::listing::include_web_public_adds_what_everybody_sees_and_include_public_has_it_too`
//! - `include_all_active` is for administrators only, and else `BAD_REQUEST`:
//!   `channels::listing::include_all_active_is_for_administrators_and_leaves_archived_channels_out`
//! - `include_default`: `channels::listing::include_default_tells_of_each_channel_whether_new_users_are_put_into_it`
//! - `include_owner_subscribed`:
//!   `channels::listing::include_owner_subscribed_adds_the_owners_subscribed_channels_for_bot_callers`
//! - all are optional booleans: `channels::listing::every_flag_is_a_boolean_and_another_parameter_is_named_as_ignored`
//! - guests: `channels::seeing::a_guest_sees_the_channels_they_were_put_into_and_those_open_to_all`

use serde_json::{Value, json};

use super::{archive, gather, private};
use crate::personal::{bot, put};
use crate::test_app::{Person, TestApp};
use chat_core::id::UserId;
use chat_core::model::realm_change::RealmChange;
use chat_core::model::role::Role;
use chat_core::model::user::User;

async fn streams(app: &TestApp, who: &Person, parameters: &[(&str, &str)]) -> Vec<Value> {
    let response = app.call(who, "GET /streams", parameters).await.success();
    response["streams"].as_array().unwrap().clone()
}

async fn names(app: &TestApp, who: &Person, parameters: &[(&str, &str)]) -> Vec<String> {
    let streams = streams(app, who, parameters).await;
    streams.iter().map(|stream| stream["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn stream_post_policy_is_a_number_and_is_announcement_only_follows_from_it() {
    let app = TestApp::found().await;
    let id = gather(&app, "news", &[&app.ada], &[]).await;
    for policy in 1..=4 {
        let call = format!("PATCH /streams/{id}");
        let response = app.call(&app.ada, &call, &[("stream_post_policy", &policy.to_string())]).await;
        response.success();
        let shown = streams(&app, &app.ada, &[]).await.pop().unwrap();
        assert_eq!(
            (&shown["stream_post_policy"], &shown["is_announcement_only"]),
            (&json!(policy), &json!(policy == 2))
        );
    }
}

#[tokio::test]
async fn a_channel_says_who_sees_it_and_its_history() {
    let app = TestApp::found().await;
    gather(&app, "open", &[&app.ada], &[("is_web_public", "true")]).await;
    private(&app, "den", &[&app.ada]).await;
    gather(&app, "club", &[&app.ada], &[("invite_only", "true"), ("history_public_to_subscribers", "true")]).await;
    let shown = streams(&app, &app.ada, &[]).await;
    let flags = |name: &str| {
        let stream = shown.iter().find(|stream| stream["name"] == name).unwrap();
        ["invite_only", "is_web_public", "history_public_to_subscribers"].map(|key| stream[key].as_bool().unwrap())
    };
    assert_eq!(flags("general"), [false, false, true]);
    assert_eq!(flags("open"), [false, true, true]);
    assert_eq!(flags("den"), [true, false, false]);
    assert_eq!(flags("club"), [true, false, true]);
}

#[tokio::test]
async fn a_channel_that_is_archived_is_in_no_list() {
    let app = TestApp::found().await;
    let old = gather(&app, "old", &[&app.ada], &[("is_web_public", "true")]).await;
    archive(&app, old).await;
    for flag in ["include_web_public", "include_subscribed", "include_all_active", "include_default"] {
        assert_eq!(names(&app, &app.ada, &[(flag, "true")]).await, ["general", "sandbox"], "{flag}");
    }
}

#[tokio::test]
async fn include_default_alone_adds_no_channel() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let none = [("include_public", "false"), ("include_subscribed", "false"), ("include_default", "true")];
    assert_eq!(names(&app, &sam, &none).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_bot_that_belongs_to_nobody_has_no_owners_channels() {
    let app = TestApp::found().await;
    let robot = bot(&app, "robot").await;
    let mut user = User::clone(app.realm().user(UserId(robot.id)).unwrap());
    user.bot.as_mut().unwrap().owner_id = None;
    put(&app, vec![RealmChange::User(Box::new(user))]).await;
    let owned = [("include_public", "false"), ("include_owner_subscribed", "true")];
    assert_eq!(names(&app, &robot, &owned).await, Vec::<String>::new());
}

#[tokio::test]
async fn include_all_active_shows_private_channels_the_administrator_is_not_in() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let adam = app.person("adam", Role::Administrator).await;
    private(&app, "den", &[&sam]).await;
    assert_eq!(names(&app, &adam, &[("include_all_active", "true")]).await, ["general", "sandbox", "den"]);
    let mona = app.person("mona", Role::Moderator).await;
    let response = app.call(&mona, "GET /streams", &[("include_all_active", "true")]).await;
    response.refused("User not authorized for this query");
    assert_eq!(names(&app, &mona, &[("include_all_active", "false")]).await, ["general", "sandbox"]);
}
