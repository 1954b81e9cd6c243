//! `DELETE /realm/emoji/{emoji_name}`
//!
//! - it stays visible in old messages and reactions:
//!   `things::emoji::a_deactivated_emoji_stays_visible_in_old_messages_and_reactions`
//! - and in statuses: `personal::status::a_custom_emoji_that_was_deactivated_stays_in_a_status`
//! - who is no administrator deactivates only what they added:
//!   `things::emoji::who_is_no_administrator_deactivates_only_what_they_added`
//! - an unknown name is 404 since level 190: `things::emoji::an_unknown_name_is_404`
//! - everybody is told: `things::emoji::everybody_is_told_of_a_new_emoji_and_of_one_that_goes`

use serde_json::{Value, json};

use super::{gather, one_succeeds};
use crate::cellar::{form, png};
use crate::personal::{bot, heard, listen, state};
use crate::town::{Person, Town};
use chat_core::model::role::Role;

async fn add(town: &Town, who: &Person, name: &str) {
    let picture = form(&[("filename", "x.png", "image/png", &png(8, 8))]);
    town.call_with_files(who, &format!("POST /realm/emoji/{name}"), picture).await.success();
}

async fn emoji(town: &Town) -> Vec<Value> {
    let told = town.call(&town.ada, "GET /realm/emoji", &[]).await.success();
    told["emoji"].as_object().unwrap().values().cloned().collect()
}

#[tokio::test]
async fn it_stays_visible_in_channel_descriptions() {
    let town = Town::found().await;
    add(&town, &town.ada, "tick").await;
    let source = emoji(&town).await[0]["source_url"].as_str().unwrap().to_owned();
    let id = gather(&town, "done", &[&town.ada], &[]).await;
    town.call(&town.ada, &format!("PATCH /streams/{id}"), &[("description", "All :tick:")]).await.success();
    town.call(&town.ada, "DELETE /realm/emoji/tick", &[]).await.success();
    town.call(&town.ada, &format!("PATCH /streams/{id}"), &[("new_name", "finished")]).await.success();
    let told = town.call(&town.ada, &format!("GET /streams/{id}"), &[]).await.success();
    let rendered = told["stream"]["rendered_description"].as_str().unwrap();
    assert!(rendered.contains(&source), "{rendered}");
}

#[tokio::test]
async fn it_is_in_the_list_still_and_its_name_is_free() {
    let town = Town::found().await;
    add(&town, &town.ada, "tick").await;
    town.call(&town.ada, "DELETE /realm/emoji/tick", &[]).await.success();
    let gone = emoji(&town).await;
    assert_eq!((gone.len(), &gone[0]["deactivated"]), (1, &json!(true)));
    assert_eq!(state(&town, &town.ada, "realm_emoji").await[gone[0]["id"].as_str().unwrap()], gone[0]);
    add(&town, &town.ada, "tick").await;
    let flags: Vec<_> = emoji(&town).await.iter().map(|emoji| emoji["deactivated"].clone()).collect();
    assert_eq!(flags, [json!(true), json!(false)]);
}

#[tokio::test]
async fn of_two_who_deactivate_it_at_once_one_is_told_that_it_does_not_exist() {
    let town = Town::found().await;
    add(&town, &town.ada, "tick").await;
    let ear = listen(&town, &town.ada, r#"["realm_emoji"]"#, &[]).await;
    let call = "DELETE /realm/emoji/tick";
    let both = tokio::join!(town.call(&town.ada, call, &[]), town.call(&town.ada, call, &[]));
    assert_eq!(one_succeeds(both).error(), (404, "BAD_REQUEST", "Emoji 'tick' does not exist"));
    assert_eq!(heard(&town, &ear).await.len(), 1);
}

#[tokio::test]
async fn who_reacted_with_it_before_can_be_joined_and_nobody_begins_anew() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let general = gather(&town, "general", &[&sam], &[]).await;
    add(&town, &town.ada, "tick").await;
    let code = emoji(&town).await[0]["id"].as_str().unwrap().to_owned();
    let [old, new] = [
        super::say(&town, &town.ada, general, ("x", "a")).await,
        super::say(&town, &town.ada, general, ("x", "b")).await,
    ];
    let tick = [("emoji_name", "tick"), ("emoji_code", code.as_str()), ("reaction_type", "realm_emoji")];
    town.call(&town.ada, &format!("POST /messages/{old}/reactions"), &tick).await.success();
    town.call(&town.ada, "DELETE /realm/emoji/tick", &[]).await.success();
    town.call(&sam, &format!("POST /messages/{old}/reactions"), &tick).await.success();
    let told = town.call(&sam, &format!("POST /messages/{new}/reactions"), &tick).await;
    told.refused("This custom emoji has been deactivated.");
}

#[tokio::test]
async fn a_bot_deactivates_what_it_added_and_nobody_without_an_account_anything() {
    let town = Town::found().await;
    let (robot, sam) = (bot(&town, "robot").await, town.person("sam", Role::Member).await);
    add(&town, &robot, "tick").await;
    town.call(&sam, "DELETE /realm/emoji/tick", &[])
        .await
        .refused("Must be an organization administrator or emoji author");
    assert_eq!(town.call_as_nobody("DELETE /realm/emoji/tick", &[]).await.error().0, 401);
    town.call(&robot, "DELETE /realm/emoji/tick", &[]).await.success();
    // The names everybody has are no custom emoji.
    let told = town.call(&town.ada, "DELETE /realm/emoji/smile", &[]).await;
    assert_eq!(told.error(), (404, "BAD_REQUEST", "Emoji 'smile' does not exist"));
}
