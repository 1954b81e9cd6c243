//! `DELETE /realm/emoji/{emoji_name}`
//!
//! - it stays visible in old messages and reactions:
//!   `organization_items::emoji::a_deactivated_emoji_stays_visible_in_old_messages_and_reactions`
//! - and in statuses: `personal::status::a_custom_emoji_that_was_deactivated_stays_in_a_status`
//! - who is no administrator deactivates only what they added:
//!   `organization_items::emoji::who_is_no_administrator_deactivates_only_what_they_added`
//! - an unknown name is 404 since level 190: `organization_items::emoji::an_unknown_name_is_404`
//! - everybody is told: `organization_items::emoji::everybody_is_told_of_a_new_emoji_and_of_one_that_goes`

use serde_json::{Value, json};

use super::{gather, one_succeeds};
use crate::file_store::{form, png};
use crate::personal::{bot, heard, listen, state};
use crate::test_app::{Person, TestApp};
use chat_core::model::role::Role;

async fn add(app: &TestApp, who: &Person, name: &str) {
    let picture = form(&[("filename", "x.png", "image/png", &png(8, 8))]);
    app.call_with_files(who, &format!("POST /realm/emoji/{name}"), picture).await.success();
}

async fn emoji(app: &TestApp) -> Vec<Value> {
    let response = app.call(&app.ada, "GET /realm/emoji", &[]).await.success();
    response["emoji"].as_object().unwrap().values().cloned().collect()
}

#[tokio::test]
async fn it_stays_visible_in_channel_descriptions() {
    let app = TestApp::found().await;
    add(&app, &app.ada, "tick").await;
    let source = emoji(&app).await[0]["source_url"].as_str().unwrap().to_owned();
    let id = gather(&app, "done", &[&app.ada], &[]).await;
    app.call(&app.ada, &format!("PATCH /streams/{id}"), &[("description", "All :tick:")]).await.success();
    app.call(&app.ada, "DELETE /realm/emoji/tick", &[]).await.success();
    app.call(&app.ada, &format!("PATCH /streams/{id}"), &[("new_name", "finished")]).await.success();
    let response = app.call(&app.ada, &format!("GET /streams/{id}"), &[]).await.success();
    let rendered = response["stream"]["rendered_description"].as_str().unwrap();
    assert!(rendered.contains(&source), "{rendered}");
}

#[tokio::test]
async fn it_is_in_the_list_still_and_its_name_is_free() {
    let app = TestApp::found().await;
    add(&app, &app.ada, "tick").await;
    app.call(&app.ada, "DELETE /realm/emoji/tick", &[]).await.success();
    let gone = emoji(&app).await;
    assert_eq!((gone.len(), &gone[0]["deactivated"]), (1, &json!(true)));
    assert_eq!(state(&app, &app.ada, "realm_emoji").await[gone[0]["id"].as_str().unwrap()], gone[0]);
    add(&app, &app.ada, "tick").await;
    let flags: Vec<_> = emoji(&app).await.iter().map(|emoji| emoji["deactivated"].clone()).collect();
    assert_eq!(flags, [json!(true), json!(false)]);
}

#[tokio::test]
async fn of_two_who_deactivate_it_at_once_one_is_told_that_it_does_not_exist() {
    let app = TestApp::found().await;
    add(&app, &app.ada, "tick").await;
    let queue = listen(&app, &app.ada, r#"["realm_emoji"]"#, &[]).await;
    let call = "DELETE /realm/emoji/tick";
    let both = tokio::join!(app.call(&app.ada, call, &[]), app.call(&app.ada, call, &[]));
    assert_eq!(one_succeeds(both).error(), (404, "BAD_REQUEST", "Emoji 'tick' does not exist"));
    assert_eq!(heard(&app, &queue).await.len(), 1);
}

#[tokio::test]
async fn who_reacted_with_it_before_can_be_joined_and_nobody_begins_anew() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let general = gather(&app, "general", &[&sam], &[]).await;
    add(&app, &app.ada, "tick").await;
    let code = emoji(&app).await[0]["id"].as_str().unwrap().to_owned();
    let [old, new] =
        [super::say(&app, &app.ada, general, ("x", "a")).await, super::say(&app, &app.ada, general, ("x", "b")).await];
    let tick = [("emoji_name", "tick"), ("emoji_code", code.as_str()), ("reaction_type", "realm_emoji")];
    app.call(&app.ada, &format!("POST /messages/{old}/reactions"), &tick).await.success();
    app.call(&app.ada, "DELETE /realm/emoji/tick", &[]).await.success();
    app.call(&sam, &format!("POST /messages/{old}/reactions"), &tick).await.success();
    let response = app.call(&sam, &format!("POST /messages/{new}/reactions"), &tick).await;
    response.refused("This custom emoji has been deactivated.");
}

#[tokio::test]
async fn a_bot_deactivates_what_it_added_and_nobody_without_an_account_anything() {
    let app = TestApp::found().await;
    let (robot, sam) = (bot(&app, "robot").await, app.person("sam", Role::Member).await);
    add(&app, &robot, "tick").await;
    app.call(&sam, "DELETE /realm/emoji/tick", &[])
        .await
        .refused("Must be an organization administrator or emoji author");
    assert_eq!(app.call_as_nobody("DELETE /realm/emoji/tick", &[]).await.error().0, 401);
    app.call(&robot, "DELETE /realm/emoji/tick", &[]).await.success();
    // The names everybody has are no custom emoji.
    let response = app.call(&app.ada, "DELETE /realm/emoji/smile", &[]).await;
    assert_eq!(response.error(), (404, "BAD_REQUEST", "Emoji 'smile' does not exist"));
}
