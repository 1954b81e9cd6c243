//! `POST /users/me/status` and `GET /users/{user_id}/status`, sentence by sentence.

use chat_core::model::change::{ItemKind, RealmChange};
use chat_core::model::role::Role;
use serde_json::{Value, json};

use super::{bot, close, heard, listen, mark, put, state};
use crate::town::{NOW_S, Person, Told, Town};

const TYPES: &str = r#"["user_status","user_settings","presence"]"#;

async fn set(town: &Town, who: &Person, parameters: &[(&str, &str)]) -> Told {
    town.call(who, "POST /users/me/status", parameters).await
}

async fn status(town: &Town, id: i64) -> Value {
    town.call(&town.ada, &format!("GET /users/{id}/status"), &[]).await.success()["status"].clone()
}

fn custom(id: i64, name: &str, deactivated: bool) -> RealmChange {
    let document = json!({"name": name, "source_url": "/x.png", "deactivated": deactivated, "author_id": 9});
    RealmChange::Item { kind: ItemKind::Emoji, id, document: Some(document) }
}

#[tokio::test]
async fn it_changes_only_the_fields_sent() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Guest).await;
    let ear = listen(&town, &town.ada, TYPES, &[]).await;
    assert_eq!(status(&town, sam.id).await, json!({}));
    set(&town, &sam, &[("status_text", " on the ward "), ("emoji_name", "hospital")]).await.success();
    let told = set(&town, &sam, &[("status_text", "at lunch"), ("colour", "red")]).await.success();
    assert_eq!(told["ignored_parameters_unsupported"], json!(["colour"]));
    let now = json!({
        "status_text": "at lunch", "emoji_name": "hospital", "emoji_code": "1f3e5", "reaction_type": "unicode_emoji",
    });
    assert_eq!(status(&town, sam.id).await, now);
    assert_eq!(state(&town, &town.ada, "user_status").await, json!({sam.id.to_string(): now}));
    let first = json!({
        "type": "user_status", "user_id": sam.id, "status_text": "on the ward", "emoji_name": "hospital",
        "emoji_code": "1f3e5", "reaction_type": "unicode_emoji",
    });
    let second = json!({"type": "user_status", "user_id": sam.id, "status_text": "at lunch"});
    assert_eq!(heard(&town, &ear).await, [first, second]);
}

#[tokio::test]
async fn an_empty_string_clears() {
    let town = Town::found().await;
    set(&town, &town.ada, &[("status_text", "away"), ("emoji_name", "smile")]).await.success();
    let ear = listen(&town, &town.ada, TYPES, &[]).await;
    set(&town, &town.ada, &[("status_text", ""), ("emoji_name", "")]).await.success();
    assert_eq!((status(&town, 9).await, state(&town, &town.ada, "user_status").await), (json!({}), json!({})));
    let cleared = json!({
        "type": "user_status", "user_id": 9, "status_text": "", "emoji_name": "", "emoji_code": "",
        "reaction_type": "unicode_emoji",
    });
    assert_eq!(heard(&town, &ear).await, [cleared]);
}

#[tokio::test]
async fn status_text_has_at_most_60_characters() {
    let town = Town::found().await;
    let (longest, longer) = ("ä".repeat(60), "ä".repeat(61));
    set(&town, &town.ada, &[("status_text", &format!("  {longest} "))]).await.success();
    let before = mark(&town);
    let told = set(&town, &town.ada, &[("status_text", &longer), ("emoji_name", "smile")]).await;
    told.refused("status_text is too long (limit: 60 characters)");
    assert_eq!(set(&town, &town.ada, &[("status_text", "a\0b")]).await.error().0, 400);
    assert_eq!((mark(&town), &status(&town, 9).await), (before, &json!({"status_text": longest})));
}

#[tokio::test]
async fn each_kind_of_emoji_can_be_set() {
    let town = Town::found().await;
    put(&town, vec![custom(70, "scrubs", false)]).await;
    for (name, code, kind) in
        [("smile", "1f642", "unicode_emoji"), ("scrubs", "70", "realm_emoji"), ("zulip", "zulip", "zulip_extra_emoji")]
    {
        let expected = json!({"emoji_name": name, "emoji_code": code, "reaction_type": kind});
        let whole = [("emoji_name", name), ("emoji_code", code), ("reaction_type", kind)];
        for parameters in [&whole[..], &whole[..2], &whole[..1]] {
            set(&town, &town.ada, &[("emoji_name", "")]).await.success();
            set(&town, &town.ada, parameters).await.success();
            assert_eq!(status(&town, 9).await, expected, "{parameters:?}");
        }
    }
}

#[tokio::test]
async fn away_equals_the_negation_of_presence_enabled() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let own = listen(&town, &sam, TYPES, &[("slim_presence", "true")]).await;
    let other = listen(&town, &town.ada, TYPES, &[]).await;
    set(&town, &sam, &[("away", "true")]).await.success();
    assert_eq!(status(&town, sam.id).await, json!({"away": true}));
    assert_eq!(state(&town, &sam, "user_settings").await["presence_enabled"], json!(false));
    set(&town, &sam, &[("away", "true")]).await.success();
    town.call(&sam, "PATCH /settings", &[("presence_enabled", "true")]).await.success();
    assert_eq!((status(&town, sam.id).await, state(&town, &sam, "user_status").await), (json!({}), json!({})));

    let website = |status: &str, timestamp: i64| json!({"website": {"client": "website", "status": status, "timestamp": timestamp, "pushable": false}});
    let presence = |presence: Value| {
        json!({
            "type": "presence", "user_id": sam.id, "email": "sam@example.org", "presence": presence,
            "server_timestamp": 1.8e9,
        })
    };
    let away = |away: bool| json!({"type": "user_status", "user_id": sam.id, "away": away});
    let told = heard(&town, &other).await;
    let expected =
        [presence(website("idle", NOW_S - 260)), away(true), presence(website("active", NOW_S)), away(false)];
    assert_eq!(told, expected);
    let told = heard(&town, &own).await;
    let setting =
        |value: bool| json!({"type": "user_settings", "op": "update", "property": "presence_enabled", "value": value});
    assert_eq!((told[1].clone(), told[4].clone(), told.len()), (setting(false), setting(true), 6));
    assert_eq!(told[0].get("email"), None);
}

#[tokio::test]
async fn nothing_to_change_is_refused() {
    let town = Town::found().await;
    let before = mark(&town);
    for parameters in [&[][..], &[("emoji_code", "1f642")], &[("reaction_type", "unicode_emoji")], &[("text", "x")]] {
        set(&town, &town.ada, parameters).await.refused("Client did not pass any new values.");
    }
    assert_eq!((mark(&town), status(&town, 9).await), (before, json!({})));
}

#[tokio::test]
async fn emoji_code_or_reaction_type_without_emoji_name_is_refused() {
    let town = Town::found().await;
    let before = mark(&town);
    for alone in [("emoji_code", "1f642"), ("reaction_type", "unicode_emoji")] {
        let told = set(&town, &town.ada, &[("status_text", "x"), alone]).await;
        told.refused("Client must pass emoji_name if they pass either emoji_code or reaction_type.");
    }
    assert_eq!((mark(&town), status(&town, 9).await), (before, json!({})));
}

#[tokio::test]
async fn an_emoji_that_is_unknown_or_has_another_name_or_is_no_custom_one_is_refused() {
    let town = Town::found().await;
    put(&town, vec![custom(70, "scrubs", false), custom(71, "gone", true)]).await;
    let before = mark(&town);
    for (name, code, kind, text) in [
        ("no_such", None, None, "Emoji 'no_such' does not exist"),
        ("gone", None, None, "Emoji 'gone' does not exist"),
        ("smile", Some("1f44d"), None, "Invalid emoji name."),
        ("smile", Some("zz"), None, "Invalid emoji code."),
        ("smile", Some("1f642"), Some("emoji"), "Invalid emoji type."),
        ("smile", None, Some("realm_emoji"), "Invalid custom emoji."),
        ("scrubs", Some("72"), None, "Invalid custom emoji."),
        ("smile", Some("70"), Some("realm_emoji"), "Invalid custom emoji name."),
        ("gone", Some("71"), Some("realm_emoji"), "This custom emoji has been deactivated."),
    ] {
        let mut parameters = vec![("status_text", "x"), ("emoji_name", name)];
        parameters.extend(code.map(|code| ("emoji_code", code)));
        parameters.extend(kind.map(|kind| ("reaction_type", kind)));
        set(&town, &town.ada, &parameters).await.refused(text);
    }
    set(&town, &town.ada, &[("away", "1")]).await.refused("away is not a boolean");
    assert_eq!((mark(&town), status(&town, 9).await), (before, json!({})));
}

#[tokio::test]
async fn a_custom_emoji_that_was_deactivated_stays_in_a_status() {
    let town = Town::found().await;
    put(&town, vec![custom(70, "scrubs", false)]).await;
    set(&town, &town.ada, &[("emoji_name", "scrubs")]).await.success();
    put(&town, vec![custom(70, "scrubs", true)]).await;
    assert_eq!(status(&town, 9).await["emoji_code"], "70");
}

#[tokio::test]
async fn bots_have_a_status_and_who_does_not_exist_has_none() {
    let town = Town::found().await;
    let robot = bot(&town, "robot").await;
    set(&town, &robot, &[("status_text", "beep"), ("away", "true")]).await.success();
    assert_eq!(status(&town, robot.id).await, json!({"status_text": "beep"}));
    town.call(&robot, "GET /users/999/status", &[]).await.refused("No such user");
    let told = town.call_as_nobody("POST /users/me/status", &[("status_text", "x")]).await;
    assert_eq!((told.error().0, told.error().1), (401, "UNAUTHORIZED"));
    close(&town, &robot).await;
    assert_eq!(set(&town, &robot, &[("status_text", "x")]).await.error().0, 401);
    assert_eq!(state(&town, &town.ada, "user_status").await, json!({}));
}
