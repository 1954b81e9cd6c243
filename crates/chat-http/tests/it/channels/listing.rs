//! `GET /streams`, flag by flag.

use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::RealmStore as _;
use chat_core::id::UserId;
use chat_core::model::realm_change::RealmChange;
use chat_core::model::role::Role;
use chat_core::model::user::{BotKind, BotProperties, User};
use serde_json::json;

use super::{found, names, people};
use crate::test_app::{NOW_S, Person, TestApp};

/// A bot of a user, in no channel.
async fn bot_of(app: &TestApp, owner: &Person) -> Person {
    let bot = app.person("bot", Role::Member).await;
    let mut user = User::clone(app.realm().user(UserId(bot.id)).unwrap());
    user.bot = Some(BotProperties { kind: BotKind::Generic, owner_id: Some(UserId(owner.id)) });
    let mut commit = RealmCommit { decided_at: app.realm().changed_at(), at_s: NOW_S, ..RealmCommit::default() };
    commit.changes.push(RealmChange::User(Box::new(user)));
    assert!(matches!(app.store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
    bot
}

#[tokio::test]
async fn include_owner_subscribed_adds_the_owners_subscribed_channels_for_bot_callers() {
    let app = TestApp::found().await;
    let [sam, bea, _] = people(&app).await;
    found(&app, &sam, "den", (&[&sam], &[("invite_only", "true")])).await;
    found(&app, &bea, "attic", (&[&bea], &[("invite_only", "true")])).await;
    let bot = bot_of(&app, &sam).await;
    assert_eq!(names(&app, &bot, &[]).await, ["general", "sandbox"]);
    let owners = [("include_owner_subscribed", "true"), ("include_public", "false")];
    assert_eq!(names(&app, &bot, &owners).await, ["den"]);
    // Who is no bot has no owner.
    assert_eq!(names(&app, &bea, &owners).await, ["attic"]);
}

#[tokio::test]
async fn include_web_public_adds_what_everybody_sees_and_include_public_has_it_too() {
    let app = TestApp::found().await;
    let [sam, ..] = people(&app).await;
    found(&app, &app.ada, "open", (&[&app.ada], &[("is_web_public", "true")])).await;
    let only = [("include_web_public", "true"), ("include_public", "false"), ("include_subscribed", "false")];
    assert_eq!(names(&app, &sam, &only).await, ["open"]);
    assert_eq!(names(&app, &sam, &[]).await, ["general", "sandbox", "open"]);
    let none = [("include_public", "false"), ("include_subscribed", "false")];
    assert_eq!(names(&app, &sam, &none).await, Vec::<String>::new());
}

#[tokio::test]
async fn include_default_tells_of_each_channel_whether_new_users_are_put_into_it() {
    let app = TestApp::found().await;
    let [sam, ..] = people(&app).await;
    found(&app, &sam, "den", (&[&sam], &[("invite_only", "true")])).await;
    let response = app.call(&sam, "GET /streams", &[("include_default", "true")]).await.success();
    let flags: Vec<_> = response["streams"].as_array().unwrap().iter().map(|stream| &stream["is_default"]).collect();
    assert_eq!(flags, [&json!(true), &json!(true), &json!(false)]);
    let response = app.call(&sam, "GET /streams", &[]).await.success();
    assert!(response["streams"].as_array().unwrap().iter().all(|stream| stream.get("is_default").is_none()));
}

#[tokio::test]
async fn include_all_active_is_for_administrators_and_leaves_archived_channels_out() {
    let app = TestApp::found().await;
    let [sam, _, gus] = people(&app).await;
    let den = found(&app, &sam, "den", (&[&sam], &[("invite_only", "true")])).await;
    let all = [("include_all_active", "true")];
    for who in [&sam, &gus] {
        app.call(who, "GET /streams", &all).await.refused("User not authorized for this query");
    }
    assert_eq!(names(&app, &app.ada, &all).await, ["general", "sandbox", "den"]);
    app.call(&app.ada, &format!("DELETE /streams/{den}"), &[]).await.success();
    assert_eq!(names(&app, &app.ada, &all).await, ["general", "sandbox"]);
    assert_eq!(names(&app, &sam, &[]).await, ["general", "sandbox"]);
}

#[tokio::test]
async fn every_flag_is_a_boolean_and_another_parameter_is_named_as_ignored() {
    let app = TestApp::found().await;
    for name in [
        "include_public",
        "include_web_public",
        "include_subscribed",
        "include_all_active",
        "include_default",
        "include_owner_subscribed",
    ] {
        app.call(&app.ada, "GET /streams", &[(name, "1")]).await.refused(&format!("{name} is not a boolean"));
        app.call(&app.ada, "GET /streams", &[(name, "True")]).await.refused(&format!("{name} is not valid JSON"));
    }
    let response = app.call(&app.ada, "GET /streams", &[("include_archived", "true")]).await.success();
    assert_eq!(response["ignored_parameters_unsupported"], json!(["include_archived"]));
}
