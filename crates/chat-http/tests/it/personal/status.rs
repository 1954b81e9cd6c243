//! `POST /users/me/status` and `GET /users/{user_id}/status`, sentence by sentence.

use chat_core::model::realm_change::{RealmChange, RealmItemKind};
use chat_core::model::role::Role;
use serde_json::{Value, json};

use super::{bot, close, heard, listen, mark, put, state};
use crate::test_app::{NOW_S, Person, TestApp, TestResponse};

const TYPES: &str = r#"["user_status","user_settings","presence"]"#;

async fn set(app: &TestApp, who: &Person, parameters: &[(&str, &str)]) -> TestResponse {
    app.call(who, "POST /users/me/status", parameters).await
}

async fn status(app: &TestApp, id: i64) -> Value {
    app.call(&app.ada, &format!("GET /users/{id}/status"), &[]).await.success()["status"].clone()
}

fn custom(id: i64, name: &str, deactivated: bool) -> RealmChange {
    let document = json!({"name": name, "source_url": "/x.png", "deactivated": deactivated, "author_id": 9});
    RealmChange::Item { kind: RealmItemKind::Emoji, id, document: Some(document) }
}

#[tokio::test]
async fn it_changes_only_the_fields_sent() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Guest).await;
    let queue = listen(&app, &app.ada, TYPES, &[]).await;
    assert_eq!(status(&app, sam.id).await, json!({}));
    set(&app, &sam, &[("status_text", " on the ward "), ("emoji_name", "hospital")]).await.success();
    let response = set(&app, &sam, &[("status_text", "at lunch"), ("colour", "red")]).await.success();
    assert_eq!(response["ignored_parameters_unsupported"], json!(["colour"]));
    let now = json!({
        "status_text": "at lunch", "emoji_name": "hospital", "emoji_code": "1f3e5", "reaction_type": "unicode_emoji",
    });
    assert_eq!(status(&app, sam.id).await, now);
    assert_eq!(state(&app, &app.ada, "user_status").await, json!({sam.id.to_string(): now}));
    let first = json!({
        "type": "user_status", "user_id": sam.id, "status_text": "on the ward", "emoji_name": "hospital",
        "emoji_code": "1f3e5", "reaction_type": "unicode_emoji",
    });
    let second = json!({"type": "user_status", "user_id": sam.id, "status_text": "at lunch"});
    assert_eq!(heard(&app, &queue).await, [first, second]);
}

#[tokio::test]
async fn an_empty_string_clears() {
    let app = TestApp::found().await;
    set(&app, &app.ada, &[("status_text", "away"), ("emoji_name", "smile")]).await.success();
    let queue = listen(&app, &app.ada, TYPES, &[]).await;
    set(&app, &app.ada, &[("status_text", ""), ("emoji_name", "")]).await.success();
    assert_eq!((status(&app, 9).await, state(&app, &app.ada, "user_status").await), (json!({}), json!({})));
    let cleared = json!({
        "type": "user_status", "user_id": 9, "status_text": "", "emoji_name": "", "emoji_code": "",
        "reaction_type": "unicode_emoji",
    });
    assert_eq!(heard(&app, &queue).await, [cleared]);
}

#[tokio::test]
async fn status_text_has_at_most_60_characters() {
    let app = TestApp::found().await;
    let (longest, longer) = ("ä".repeat(60), "ä".repeat(61));
    set(&app, &app.ada, &[("status_text", &format!("  {longest} "))]).await.success();
    let before = mark(&app);
    let response = set(&app, &app.ada, &[("status_text", &longer), ("emoji_name", "smile")]).await;
    response.refused("status_text is too long (limit: 60 characters)");
    assert_eq!(set(&app, &app.ada, &[("status_text", "a\0b")]).await.error().0, 400);
    assert_eq!((mark(&app), &status(&app, 9).await), (before, &json!({"status_text": longest})));
}

#[tokio::test]
async fn each_kind_of_emoji_can_be_set() {
    let app = TestApp::found().await;
    put(&app, vec![custom(70, "scrubs", false)]).await;
    for (name, code, kind) in
        [("smile", "1f642", "unicode_emoji"), ("scrubs", "70", "realm_emoji"), ("zulip", "zulip", "zulip_extra_emoji")]
    {
        let expected = json!({"emoji_name": name, "emoji_code": code, "reaction_type": kind});
        let whole = [("emoji_name", name), ("emoji_code", code), ("reaction_type", kind)];
        for parameters in [&whole[..], &whole[..2], &whole[..1]] {
            set(&app, &app.ada, &[("emoji_name", "")]).await.success();
            set(&app, &app.ada, parameters).await.success();
            assert_eq!(status(&app, 9).await, expected, "{parameters:?}");
        }
    }
}

#[tokio::test]
async fn away_equals_the_negation_of_presence_enabled() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let own = listen(&app, &sam, TYPES, &[("slim_presence", "true")]).await;
    let other = listen(&app, &app.ada, TYPES, &[]).await;
    set(&app, &sam, &[("away", "true")]).await.success();
    assert_eq!(status(&app, sam.id).await, json!({"away": true}));
    assert_eq!(state(&app, &sam, "user_settings").await["presence_enabled"], json!(false));
    set(&app, &sam, &[("away", "true")]).await.success();
    app.call(&sam, "PATCH /settings", &[("presence_enabled", "true")]).await.success();
    assert_eq!((status(&app, sam.id).await, state(&app, &sam, "user_status").await), (json!({}), json!({})));

    let website = |status: &str, timestamp: i64| json!({"website": {"client": "website", "status": status, "timestamp": timestamp, "pushable": false}});
    let presence = |presence: Value| {
        json!({
            "type": "presence", "user_id": sam.id, "email": "sam@example.org", "presence": presence,
            "server_timestamp": 1.8e9,
        })
    };
    let away = |away: bool| json!({"type": "user_status", "user_id": sam.id, "away": away});
    let events = heard(&app, &other).await;
    let expected =
        [presence(website("idle", NOW_S - 260)), away(true), presence(website("active", NOW_S)), away(false)];
    assert_eq!(events, expected);
    let events = heard(&app, &own).await;
    let setting =
        |value: bool| json!({"type": "user_settings", "op": "update", "property": "presence_enabled", "value": value});
    assert_eq!((events[1].clone(), events[4].clone(), events.len()), (setting(false), setting(true), 6));
    assert_eq!(events[0].get("email"), None);
}

#[tokio::test]
async fn nothing_to_change_is_refused() {
    let app = TestApp::found().await;
    let before = mark(&app);
    for parameters in [&[][..], &[("emoji_code", "1f642")], &[("reaction_type", "unicode_emoji")], &[("text", "x")]] {
        set(&app, &app.ada, parameters).await.refused("Client did not pass any new values.");
    }
    assert_eq!((mark(&app), status(&app, 9).await), (before, json!({})));
}

#[tokio::test]
async fn emoji_code_or_reaction_type_without_emoji_name_is_refused() {
    let app = TestApp::found().await;
    let before = mark(&app);
    for alone in [("emoji_code", "1f642"), ("reaction_type", "unicode_emoji")] {
        let response = set(&app, &app.ada, &[("status_text", "x"), alone]).await;
        response.refused("Client must pass emoji_name if they pass either emoji_code or reaction_type.");
    }
    assert_eq!((mark(&app), status(&app, 9).await), (before, json!({})));
}

#[tokio::test]
async fn an_emoji_that_is_unknown_or_has_another_name_or_is_no_custom_one_is_refused() {
    let app = TestApp::found().await;
    put(&app, vec![custom(70, "scrubs", false), custom(71, "gone", true)]).await;
    let before = mark(&app);
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
        set(&app, &app.ada, &parameters).await.refused(text);
    }
    set(&app, &app.ada, &[("away", "1")]).await.refused("away is not a boolean");
    assert_eq!((mark(&app), status(&app, 9).await), (before, json!({})));
}

#[tokio::test]
async fn a_custom_emoji_that_was_deactivated_stays_in_a_status() {
    let app = TestApp::found().await;
    put(&app, vec![custom(70, "scrubs", false)]).await;
    set(&app, &app.ada, &[("emoji_name", "scrubs")]).await.success();
    put(&app, vec![custom(70, "scrubs", true)]).await;
    assert_eq!(status(&app, 9).await["emoji_code"], "70");
}

#[tokio::test]
async fn bots_have_a_status_and_who_does_not_exist_has_none() {
    let app = TestApp::found().await;
    let robot = bot(&app, "robot").await;
    set(&app, &robot, &[("status_text", "beep"), ("away", "true")]).await.success();
    assert_eq!(status(&app, robot.id).await, json!({"status_text": "beep"}));
    app.call(&robot, "GET /users/999/status", &[]).await.refused("No such user");
    let response = app.call_as_nobody("POST /users/me/status", &[("status_text", "x")]).await;
    assert_eq!((response.error().0, response.error().1), (401, "UNAUTHORIZED"));
    close(&app, &robot).await;
    assert_eq!(set(&app, &robot, &[("status_text", "x")]).await.error().0, 401);
    assert_eq!(state(&app, &app.ada, "user_status").await, json!({}));
}
