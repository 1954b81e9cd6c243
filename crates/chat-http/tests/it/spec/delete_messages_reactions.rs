//! `DELETE /messages/{message_id}/reactions`
//!
//! - `emoji_name`, `emoji_code` and `reaction_type` are all optional:
//!   `changes::reacting::of_a_removal_emoji_name_emoji_code_and_reaction_type_are_all_optional_but_not_all_absent`
//! - `BAD_REQUEST` for an invalid emoji code:
//!   `changes::reacting::an_emoji_that_is_none_is_refused_by_name_and_by_code`,
//!   `chat_core::messages::reaction::tests::a_code_no_emoji_has_is_not_merely_absent`
//! - `REACTION_DOES_NOT_EXIST`, and the event: `changes::reacting::a_reaction_is_added_told_and_taken_away`
//! - a reaction with a deactivated emoji can be taken away:
//!   `organization_items::emoji::a_deactivated_emoji_stays_visible_in_old_messages_and_reactions`

use serde_json::{Value, json};

use super::{archive, channel, gather, one_succeeds, private, say, tell};
use crate::file_store::{form, png};
use crate::personal::{bot, heard, listen};
use crate::test_app::{Person, TestApp, TestResponse};
use chat_core::model::role::Role;

const ABSENT: (u16, &str, &str) = (400, "REACTION_DOES_NOT_EXIST", "Reaction doesn't exist.");

async fn react(app: &TestApp, who: &Person, message: i64, emoji: &[(&str, &str)]) -> TestResponse {
    app.call(who, &format!("POST /messages/{message}/reactions"), emoji).await
}

async fn unreact(app: &TestApp, who: &Person, message: i64, emoji: &[(&str, &str)]) -> TestResponse {
    app.call(who, &format!("DELETE /messages/{message}/reactions"), emoji).await
}

async fn reactions(app: &TestApp, message: i64) -> Value {
    let response = app.call(&app.ada, &format!("GET /messages/{message}"), &[]).await.success();
    response["message"]["reactions"].clone()
}

#[tokio::test]
async fn each_kind_of_emoji_is_taken_away_by_name_alone_and_by_code_and_kind() {
    let app = TestApp::found().await;
    let id = say(&app, &app.ada, channel(&app, "general"), ("lunch", "soup")).await;
    let picture = form(&[("filename", "x.png", "image/png", &png(8, 8))]);
    app.call_with_files(&app.ada, "POST /realm/emoji/tick", picture).await.success();
    let custom = app.call(&app.ada, "GET /realm/emoji", &[]).await.success();
    let custom = custom["emoji"].as_object().unwrap().keys().next().unwrap().clone();
    for (name, code, kind) in [
        ("smile", "1f642", "unicode_emoji"),
        ("tick", custom.as_str(), "realm_emoji"),
        ("zulip", "zulip", "zulip_extra_emoji"),
    ] {
        for named in [&[("emoji_name", name)][..], &[("emoji_code", code), ("reaction_type", kind)]] {
            react(&app, &app.ada, id, &[("emoji_name", name)]).await.success();
            let shown = reactions(&app, id).await;
            assert_eq!((&shown[0]["emoji_code"], &shown[0]["reaction_type"]), (&json!(code), &json!(kind)));
            unreact(&app, &app.ada, id, named).await.success();
            assert_eq!(reactions(&app, id).await, json!([]), "{named:?}");
        }
    }
}

#[tokio::test]
async fn of_two_who_take_one_reaction_away_at_once_one_is_told_it_is_absent() {
    let app = TestApp::found().await;
    let id = say(&app, &app.ada, channel(&app, "general"), ("lunch", "soup")).await;
    react(&app, &app.ada, id, &[("emoji_name", "smile")]).await.success();
    let queue = listen(&app, &app.ada, r#"["reaction"]"#, &[]).await;
    let smile = [("emoji_name", "smile")];
    let both = tokio::join!(unreact(&app, &app.ada, id, &smile), unreact(&app, &app.ada, id, &smile));
    assert_eq!(one_succeeds(both).error(), ABSENT);
    assert_eq!(heard(&app, &queue).await.len(), 1);
}

#[tokio::test]
async fn a_message_that_is_not_there_for_the_caller_is_invalid() {
    let app = TestApp::found().await;
    let (sam, gus) = (app.person("sam", Role::Member).await, app.person("gus", Role::Guest).await);
    let den = private(&app, "den", &[&app.ada]).await;
    let (secret, note) =
        (say(&app, &app.ada, den, ("x", "secret")).await, tell(&app, &app.ada, &[&app.ada], "note").await);
    let public = say(&app, &app.ada, channel(&app, "general"), ("x", "soup")).await;
    let smile = [("emoji_name", "smile")];
    for (who, id) in [(&sam, secret), (&sam, note), (&gus, public), (&app.ada, 0), (&app.ada, i64::MAX)] {
        unreact(&app, who, id, &smile).await.refused("Invalid message(s)");
    }
    for id in ["-1", "x", "99999999999999999999"] {
        let response = app.call(&app.ada, &format!("DELETE /messages/{id}/reactions"), &smile).await;
        assert_eq!(response.error(), (404, "BAD_REQUEST", "Not Found"), "{id}");
    }
    assert_eq!(app.call_as_nobody(&format!("DELETE /messages/{public}/reactions"), &smile).await.error().0, 401);
}

#[tokio::test]
async fn those_of_a_direct_message_are_told_and_nobody_else() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Member).await);
    let id = tell(&app, &app.ada, &[&sam], "hi").await;
    react(&app, &sam, id, &[("emoji_name", "smile")]).await.success();
    let (ada, other) =
        (listen(&app, &app.ada, r#"["reaction"]"#, &[]).await, listen(&app, &eve, r#"["reaction"]"#, &[]).await);
    unreact(&app, &sam, id, &[("emoji_name", "smile")]).await.success();
    let event = json!({
        "type": "reaction", "op": "remove", "message_id": id, "emoji_name": "smile", "emoji_code": "1f642",
        "reaction_type": "unicode_emoji", "user_id": sam.id,
        "user": {"user_id": sam.id, "email": sam.email, "full_name": "sam", "is_mirror_dummy": false},
    });
    assert_eq!((heard(&app, &ada).await, heard(&app, &other).await.len()), (vec![event], 0));
}

#[tokio::test]
async fn bots_and_guests_take_away_their_own() {
    let app = TestApp::found().await;
    let (robot, gus) = (bot(&app, "robot").await, app.person("gus", Role::Guest).await);
    let general = gather(&app, "general", &[&gus], &[]).await;
    let id = say(&app, &app.ada, general, ("lunch", "soup")).await;
    for who in [&robot, &gus] {
        react(&app, who, id, &[("emoji_name", "smile")]).await.success();
    }
    for who in [&robot, &gus] {
        assert_eq!(unreact(&app, &app.ada, id, &[("emoji_name", "smile")]).await.error(), ABSENT);
        unreact(&app, who, id, &[("emoji_name", "smile")]).await.success();
    }
    assert_eq!(reactions(&app, id).await, json!([]));
}

#[tokio::test]
async fn in_a_channel_that_is_archived_nothing_changes_any_more() {
    let app = TestApp::found().await;
    let old = gather(&app, "old", &[&app.ada], &[]).await;
    let id = say(&app, &app.ada, old, ("lunch", "soup")).await;
    react(&app, &app.ada, id, &[("emoji_name", "smile")]).await.success();
    archive(&app, old).await;
    let queue = listen(&app, &app.ada, r#"["reaction"]"#, &[]).await;
    let response = unreact(&app, &app.ada, id, &[("emoji_name", "smile")]).await;
    let succeeded = response.status.is_success();
    assert_eq!(heard(&app, &queue).await.len(), usize::from(succeeded));
    if !succeeded {
        response.refused("Invalid message(s)");
    }
}

#[tokio::test]
async fn the_id_in_a_form_is_named_as_ignored() {
    let app = TestApp::found().await;
    let id = say(&app, &app.ada, channel(&app, "general"), ("lunch", "soup")).await;
    react(&app, &app.ada, id, &[("emoji_name", "smile")]).await.success();
    let response = unreact(&app, &app.ada, id, &[("emoji_name", "smile"), ("message_id", "1")]).await.success();
    assert_eq!(response["ignored_parameters_unsupported"], json!(["message_id"]));
}
