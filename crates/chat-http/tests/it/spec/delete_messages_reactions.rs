//! `DELETE /messages/{message_id}/reactions`
//!
//! - `emoji_name`, `emoji_code` and `reaction_type` are all optional:
//!   `changes::reacting::of_a_removal_emoji_name_emoji_code_and_reaction_type_are_all_optional_but_not_all_absent`
//! - `BAD_REQUEST` for an invalid emoji code: `changes::reacting::an_emoji_that_is_none_is_refused_by_name_and_by_code`,
//!   `chat_core::messages::reaction::tests::a_code_no_emoji_has_is_not_merely_absent`
//! - `REACTION_DOES_NOT_EXIST`, and the event: `changes::reacting::a_reaction_is_added_told_and_taken_away`
//! - a reaction with a deactivated emoji can be taken away:
//!   `things::emoji::a_deactivated_emoji_stays_visible_in_old_messages_and_reactions`

use serde_json::{Value, json};

use super::{archive, channel, gather, one_succeeds, private, say, tell};
use crate::cellar::{form, png};
use crate::personal::{bot, heard, listen};
use crate::town::{Person, Told, Town};
use chat_core::model::role::Role;

const ABSENT: (u16, &str, &str) = (400, "REACTION_DOES_NOT_EXIST", "Reaction doesn't exist.");

async fn react(town: &Town, who: &Person, message: i64, emoji: &[(&str, &str)]) -> Told {
    town.call(who, &format!("POST /messages/{message}/reactions"), emoji).await
}

async fn unreact(town: &Town, who: &Person, message: i64, emoji: &[(&str, &str)]) -> Told {
    town.call(who, &format!("DELETE /messages/{message}/reactions"), emoji).await
}

async fn reactions(town: &Town, message: i64) -> Value {
    let told = town.call(&town.ada, &format!("GET /messages/{message}"), &[]).await.success();
    told["message"]["reactions"].clone()
}

#[tokio::test]
async fn each_kind_of_emoji_is_taken_away_by_name_alone_and_by_code_and_kind() {
    let town = Town::found().await;
    let id = say(&town, &town.ada, channel(&town, "general"), ("lunch", "soup")).await;
    let picture = form(&[("filename", "x.png", "image/png", &png(8, 8))]);
    town.call_with_files(&town.ada, "POST /realm/emoji/tick", picture).await.success();
    let custom = town.call(&town.ada, "GET /realm/emoji", &[]).await.success();
    let custom = custom["emoji"].as_object().unwrap().keys().next().unwrap().clone();
    for (name, code, kind) in [
        ("smile", "1f642", "unicode_emoji"),
        ("tick", custom.as_str(), "realm_emoji"),
        ("zulip", "zulip", "zulip_extra_emoji"),
    ] {
        for named in [&[("emoji_name", name)][..], &[("emoji_code", code), ("reaction_type", kind)]] {
            react(&town, &town.ada, id, &[("emoji_name", name)]).await.success();
            let shown = reactions(&town, id).await;
            assert_eq!((&shown[0]["emoji_code"], &shown[0]["reaction_type"]), (&json!(code), &json!(kind)));
            unreact(&town, &town.ada, id, named).await.success();
            assert_eq!(reactions(&town, id).await, json!([]), "{named:?}");
        }
    }
}

#[tokio::test]
async fn of_two_who_take_one_reaction_away_at_once_one_is_told_it_is_absent() {
    let town = Town::found().await;
    let id = say(&town, &town.ada, channel(&town, "general"), ("lunch", "soup")).await;
    react(&town, &town.ada, id, &[("emoji_name", "smile")]).await.success();
    let ear = listen(&town, &town.ada, r#"["reaction"]"#, &[]).await;
    let smile = [("emoji_name", "smile")];
    let both = tokio::join!(unreact(&town, &town.ada, id, &smile), unreact(&town, &town.ada, id, &smile));
    assert_eq!(one_succeeds(both).error(), ABSENT);
    assert_eq!(heard(&town, &ear).await.len(), 1);
}

#[tokio::test]
async fn a_message_that_is_not_there_for_the_caller_is_invalid() {
    let town = Town::found().await;
    let (sam, gus) = (town.person("sam", Role::Member).await, town.person("gus", Role::Guest).await);
    let den = private(&town, "den", &[&town.ada]).await;
    let (secret, note) =
        (say(&town, &town.ada, den, ("x", "secret")).await, tell(&town, &town.ada, &[&town.ada], "note").await);
    let public = say(&town, &town.ada, channel(&town, "general"), ("x", "soup")).await;
    let smile = [("emoji_name", "smile")];
    for (who, id) in [(&sam, secret), (&sam, note), (&gus, public), (&town.ada, 0), (&town.ada, i64::MAX)] {
        unreact(&town, who, id, &smile).await.refused("Invalid message(s)");
    }
    for id in ["-1", "x", "99999999999999999999"] {
        let told = town.call(&town.ada, &format!("DELETE /messages/{id}/reactions"), &smile).await;
        assert_eq!(told.error(), (404, "BAD_REQUEST", "Not Found"), "{id}");
    }
    assert_eq!(town.call_as_nobody(&format!("DELETE /messages/{public}/reactions"), &smile).await.error().0, 401);
}

#[tokio::test]
async fn those_of_a_direct_message_are_told_and_nobody_else() {
    let town = Town::found().await;
    let (sam, eve) = (town.person("sam", Role::Member).await, town.person("eve", Role::Member).await);
    let id = tell(&town, &town.ada, &[&sam], "hi").await;
    react(&town, &sam, id, &[("emoji_name", "smile")]).await.success();
    let (ada, other) =
        (listen(&town, &town.ada, r#"["reaction"]"#, &[]).await, listen(&town, &eve, r#"["reaction"]"#, &[]).await);
    unreact(&town, &sam, id, &[("emoji_name", "smile")]).await.success();
    let event = json!({
        "type": "reaction", "op": "remove", "message_id": id, "emoji_name": "smile", "emoji_code": "1f642",
        "reaction_type": "unicode_emoji", "user_id": sam.id,
        "user": {"user_id": sam.id, "email": sam.email, "full_name": "sam", "is_mirror_dummy": false},
    });
    assert_eq!((heard(&town, &ada).await, heard(&town, &other).await.len()), (vec![event], 0));
}

#[tokio::test]
async fn bots_and_guests_take_away_their_own() {
    let town = Town::found().await;
    let (robot, gus) = (bot(&town, "robot").await, town.person("gus", Role::Guest).await);
    let general = gather(&town, "general", &[&gus], &[]).await;
    let id = say(&town, &town.ada, general, ("lunch", "soup")).await;
    for who in [&robot, &gus] {
        react(&town, who, id, &[("emoji_name", "smile")]).await.success();
    }
    for who in [&robot, &gus] {
        assert_eq!(unreact(&town, &town.ada, id, &[("emoji_name", "smile")]).await.error(), ABSENT);
        unreact(&town, who, id, &[("emoji_name", "smile")]).await.success();
    }
    assert_eq!(reactions(&town, id).await, json!([]));
}

#[tokio::test]
async fn in_a_channel_that_is_archived_nothing_changes_any_more() {
    let town = Town::found().await;
    let old = gather(&town, "old", &[&town.ada], &[]).await;
    let id = say(&town, &town.ada, old, ("lunch", "soup")).await;
    react(&town, &town.ada, id, &[("emoji_name", "smile")]).await.success();
    archive(&town, old).await;
    let ear = listen(&town, &town.ada, r#"["reaction"]"#, &[]).await;
    let told = unreact(&town, &town.ada, id, &[("emoji_name", "smile")]).await;
    let succeeded = told.status.is_success();
    assert_eq!(heard(&town, &ear).await.len(), usize::from(succeeded));
    if !succeeded {
        told.refused("Invalid message(s)");
    }
}

#[tokio::test]
async fn the_id_in_a_form_is_named_as_ignored() {
    let town = Town::found().await;
    let id = say(&town, &town.ada, channel(&town, "general"), ("lunch", "soup")).await;
    react(&town, &town.ada, id, &[("emoji_name", "smile")]).await.success();
    let told = unreact(&town, &town.ada, id, &[("emoji_name", "smile"), ("message_id", "1")]).await.success();
    assert_eq!(told["ignored_parameters_unsupported"], json!(["message_id"]));
}
