//! `GET /streams`, flag by flag.

use chat_core::id::UserId;
use chat_core::log::commit::{CommitOutcome, RealmCommit};
use chat_core::log::store::RealmStore as _;
use chat_core::model::change::RealmChange;
use chat_core::model::role::Role;
use chat_core::model::user::{Bot, BotKind, User};
use serde_json::json;

use super::{found, names, people};
use crate::town::{NOW_S, Person, Town};

/// A bot of somebody, in no channel.
async fn bot_of(town: &Town, owner: &Person) -> Person {
    let bot = town.person("bot", Role::Member).await;
    let mut user = User::clone(town.realm().user(UserId(bot.id)).unwrap());
    user.bot = Some(Bot { kind: BotKind::Generic, owner_id: Some(UserId(owner.id)) });
    let mut commit = RealmCommit { decided_at: town.realm().changed(), at_s: NOW_S, ..RealmCommit::default() };
    commit.changes.push(RealmChange::User(Box::new(user)));
    assert!(matches!(town.store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
    bot
}

#[tokio::test]
async fn include_owner_subscribed_adds_the_owners_subscribed_channels_for_bot_callers() {
    let town = Town::found().await;
    let [sam, bea, _] = people(&town).await;
    found(&town, &sam, "den", (&[&sam], &[("invite_only", "true")])).await;
    found(&town, &bea, "attic", (&[&bea], &[("invite_only", "true")])).await;
    let bot = bot_of(&town, &sam).await;
    assert_eq!(names(&town, &bot, &[]).await, ["general", "sandbox"]);
    let owners = [("include_owner_subscribed", "true"), ("include_public", "false")];
    assert_eq!(names(&town, &bot, &owners).await, ["den"]);
    // Who is no bot has no owner.
    assert_eq!(names(&town, &bea, &owners).await, ["attic"]);
}

#[tokio::test]
async fn include_web_public_adds_what_everybody_sees_and_include_public_has_it_too() {
    let town = Town::found().await;
    let [sam, ..] = people(&town).await;
    found(&town, &town.ada, "open", (&[&town.ada], &[("is_web_public", "true")])).await;
    let only = [("include_web_public", "true"), ("include_public", "false"), ("include_subscribed", "false")];
    assert_eq!(names(&town, &sam, &only).await, ["open"]);
    assert_eq!(names(&town, &sam, &[]).await, ["general", "sandbox", "open"]);
    let none = [("include_public", "false"), ("include_subscribed", "false")];
    assert_eq!(names(&town, &sam, &none).await, Vec::<String>::new());
}

#[tokio::test]
async fn include_default_tells_of_each_channel_whether_new_users_are_put_into_it() {
    let town = Town::found().await;
    let [sam, ..] = people(&town).await;
    found(&town, &sam, "den", (&[&sam], &[("invite_only", "true")])).await;
    let told = town.call(&sam, "GET /streams", &[("include_default", "true")]).await.success();
    let flags: Vec<_> = told["streams"].as_array().unwrap().iter().map(|stream| &stream["is_default"]).collect();
    assert_eq!(flags, [&json!(true), &json!(true), &json!(false)]);
    let told = town.call(&sam, "GET /streams", &[]).await.success();
    assert!(told["streams"].as_array().unwrap().iter().all(|stream| stream.get("is_default").is_none()));
}

#[tokio::test]
async fn include_all_active_is_for_administrators_and_leaves_archived_channels_out() {
    let town = Town::found().await;
    let [sam, _, gus] = people(&town).await;
    let den = found(&town, &sam, "den", (&[&sam], &[("invite_only", "true")])).await;
    let all = [("include_all_active", "true")];
    for who in [&sam, &gus] {
        town.call(who, "GET /streams", &all).await.refused("User not authorized for this query");
    }
    assert_eq!(names(&town, &town.ada, &all).await, ["general", "sandbox", "den"]);
    town.call(&town.ada, &format!("DELETE /streams/{den}"), &[]).await.success();
    assert_eq!(names(&town, &town.ada, &all).await, ["general", "sandbox"]);
    assert_eq!(names(&town, &sam, &[]).await, ["general", "sandbox"]);
}

#[tokio::test]
async fn every_flag_is_a_boolean_and_another_parameter_is_named_as_ignored() {
    let town = Town::found().await;
    for name in [
        "include_public",
        "include_web_public",
        "include_subscribed",
        "include_all_active",
        "include_default",
        "include_owner_subscribed",
    ] {
        town.call(&town.ada, "GET /streams", &[(name, "1")]).await.refused(&format!("{name} is not a boolean"));
        town.call(&town.ada, "GET /streams", &[(name, "True")]).await.refused(&format!("{name} is not valid JSON"));
    }
    let told = town.call(&town.ada, "GET /streams", &[("exclude_archived", "true")]).await.success();
    assert_eq!(told["ignored_parameters_unsupported"], json!(["exclude_archived"]));
}
