//! `POST /users/me/status`
//!
//! - changes only the fields sent: `personal::status::it_changes_only_the_fields_sent`
//! - an empty string clears: `personal::status::an_empty_string_clears`
//! - `status_text` has at most 60 characters, longer is `BAD_REQUEST`:
//!   `personal::status::status_text_has_at_most_60_characters`
//! - `emoji_name`, `emoji_code` and the three values of `reaction_type`:
//!   `personal::status::each_kind_of_emoji_can_be_set`
//! - `away` equals the negation of `presence_enabled`:
//!   `personal::status::away_equals_the_negation_of_presence_enabled`
//! - nothing to change: `personal::status::nothing_to_change_is_refused`
//! - `emoji_code` or `reaction_type` without `emoji_name`:
//!   `personal::status::emoji_code_or_reaction_type_without_emoji_name_is_refused`
//! - unknown emoji, invalid name, invalid custom emoji:
//!   `personal::status::an_emoji_that_is_unknown_or_has_another_name_or_is_no_custom_one_is_refused`
//! - a deactivated custom emoji stays: `personal::status::a_custom_emoji_that_was_deactivated_stays_in_a_status`
//! - bots: `personal::status::bots_have_a_status_and_who_does_not_exist_has_none`

use chat_core::model::realm_change::{RealmChange, RealmItemKind};
use chat_core::model::role::Role;
use serde_json::json;

use crate::personal::{close, heard, listen, mark, put, state};
use crate::test_app::{Person, TestApp, TestResponse};

async fn set(app: &TestApp, who: &Person, parameters: &[(&str, &str)]) -> TestResponse {
    app.call(who, "POST /users/me/status", parameters).await
}

#[tokio::test]
async fn of_two_who_change_different_fields_at_once_both_changes_hold() {
    let app = TestApp::found().await;
    let (text, emoji) = tokio::join!(
        set(&app, &app.ada, &[("status_text", "at lunch")]),
        set(&app, &app.ada, &[("emoji_name", "smile")])
    );
    text.success();
    emoji.success();
    let expected = json!({
        "status_text": "at lunch", "emoji_name": "smile", "emoji_code": "1f642", "reaction_type": "unicode_emoji",
    });
    assert_eq!(state(&app, &app.ada, "user_status").await["9"], expected);
}

#[tokio::test]
async fn a_guest_hears_of_it_and_a_deactivated_user_sets_none() {
    let app = TestApp::found().await;
    let (gus, gone) = (app.person("gus", Role::Guest).await, app.person("gone", Role::Member).await);
    close(&app, &gone).await;
    let queue = listen(&app, &gus, r#"["user_status"]"#, &[]).await;
    set(&app, &app.ada, &[("status_text", "at lunch")]).await.success();
    assert_eq!(heard(&app, &queue).await, [json!({"type": "user_status", "user_id": 9, "status_text": "at lunch"})]);
    assert_eq!(set(&app, &gone, &[("status_text", "x")]).await.error().0, 401);
    assert_eq!(app.call_as_nobody("POST /users/me/status", &[("status_text", "x")]).await.error().0, 401);
}

#[tokio::test]
async fn what_is_so_already_is_told_to_nobody() {
    let app = TestApp::found().await;
    let all = [("status_text", "at lunch"), ("emoji_name", "smile"), ("away", "true")];
    set(&app, &app.ada, &all).await.success();
    let queue = listen(&app, &app.ada, "null", &[]).await;
    set(&app, &app.ada, &all).await.success();
    assert_eq!(heard(&app, &queue).await.len(), 0);
}

#[tokio::test]
async fn away_is_a_boolean_and_the_emoji_of_a_kind() {
    let app = TestApp::found().await;
    let emoji = json!({"name": "gone", "source_url": "/x.png", "deactivated": true, "author_id": 9});
    put(&app, vec![RealmChange::Item { kind: RealmItemKind::Emoji, id: 70, document: Some(emoji) }]).await;
    let before = mark(&app);
    for (parameters, text) in [
        (&[("away", "1")][..], "away is not a boolean"),
        (&[("away", "null")], "away is not a boolean"),
        (&[("emoji_name", "smile"), ("reaction_type", "emoji")], "Invalid emoji type."),
        (&[("emoji_name", "smile"), ("emoji_code", "x")], "Invalid emoji code."),
        (
            &[("emoji_name", "gone"), ("emoji_code", "70"), ("reaction_type", "realm_emoji")],
            "This custom emoji has been deactivated.",
        ),
        (
            &[("emoji_name", "smile"), ("emoji_code", "zulip"), ("reaction_type", "zulip_extra_emoji")],
            "Invalid emoji name.",
        ),
    ] {
        let parameters = [&[("status_text", "x")], parameters].concat();
        set(&app, &app.ada, &parameters).await.refused(text);
    }
    assert_eq!(mark(&app), before);
}
