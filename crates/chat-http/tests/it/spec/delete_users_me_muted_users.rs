//! `DELETE /users/me/muted_users/{muted_user_id}`
//!
//! - a muted user becomes unmuted, and the own clients are told: `personal::muting::a_muted_user_is_unmuted`
//! - `User is not muted`: `personal::muting::of_a_user_who_is_not_muted_it_says_so_and_nothing_changes`
//! - a user who does not exist: `personal::muting::a_user_who_does_not_exist_is_neither_muted_nor_unmuted`
//! - bot users can be unmuted since level 188: `personal::muting::bots_and_closed_accounts_are_muted_and_unmuted_too`

use serde_json::json;

use super::one_succeeds;
use crate::personal::{heard, listen};
use crate::test_app::TestApp;
use chat_core::model::role::Role;

#[tokio::test]
async fn of_two_who_unmute_at_once_one_is_told_that_the_user_is_not_muted() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    app.call(&app.ada, &format!("POST /users/me/muted_users/{}", sam.id), &[]).await.success();
    let queue = listen(&app, &app.ada, r#"["muted_users"]"#, &[]).await;
    let call = format!("DELETE /users/me/muted_users/{}", sam.id);
    let both = tokio::join!(app.call(&app.ada, &call, &[]), app.call(&app.ada, &call, &[]));
    one_succeeds(both).refused("User is not muted");
    assert_eq!(heard(&app, &queue).await, [json!({"type": "muted_users", "muted_users": []})]);
}

#[tokio::test]
async fn a_user_is_unmuted_for_the_caller_alone() {
    let app = TestApp::found().await;
    let (sam, gus) = (app.person("sam", Role::Member).await, app.person("gus", Role::Guest).await);
    for who in [&app.ada, &gus] {
        app.call(who, &format!("POST /users/me/muted_users/{}", sam.id), &[]).await.success();
    }
    app.call(&gus, &format!("DELETE /users/me/muted_users/{}", sam.id), &[]).await.success();
    app.call(&app.ada, &format!("DELETE /users/me/muted_users/{}", sam.id), &[]).await.success();
}
