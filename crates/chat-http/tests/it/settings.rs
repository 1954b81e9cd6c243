//! What people change of their own account.

use chat_core::id::UserId;
use chat_core::model::role::Role;
use chat_core::wire_format::user_settings::{USER_SETTINGS, UserSettingDefault};
use serde_json::{Value, json};

use crate::personal::{bot, heard, listen, mark, state};
use crate::test_app::TestApp;

#[tokio::test]
async fn everybody_changes_their_own_name() {
    let app = TestApp::found().await;
    let gus = app.person("gus", Role::Guest).await;
    let response = app.call(&gus, "PATCH /settings", &[("full_name", " Augustus "), ("e-mail", "g@example.org")]).await;
    assert_eq!(response.success()["ignored_parameters_unsupported"], json!(["e-mail"]));
    assert_eq!(app.realm().user(UserId(gus.id)).unwrap().full_name, "Augustus");
    let before = app.realm().log_position();
    for (name, text) in [("A", "Name too short!"), ("A*a", "Invalid characters in name!"), ("A|1", "Invalid format!")] {
        app.call(&gus, "PATCH /settings", &[("full_name", name)]).await.refused(text);
    }
    app.call(&gus, "PATCH /settings", &[("full_name", "")]).await.success();
    assert_eq!(app.realm().log_position(), before);
}

#[tokio::test]
async fn a_new_password_replaces_the_one_who_asks_knows() {
    let app = TestApp::found().await;
    let change = [("old_password", "ada's"), ("new_password", "analytical")];
    app.call(&app.ada, "PATCH /settings", &change).await.success();
    let login = |password| [("username", "ada@example.org"), ("password", password)];
    let response = app.call_as_nobody("POST /fetch_api_key", &login("ada's")).await;
    assert_eq!(response.error().0, 401);
    let response = app.call_as_nobody("POST /fetch_api_key", &login("analytical")).await;
    assert_eq!(response.success()["api_key"], json!(app.ada.key));
}

#[tokio::test]
async fn a_password_that_is_weak_or_asked_for_by_a_stranger_stays_as_it_was() {
    let app = TestApp::found().await;
    let before = app.realm().log_position();
    let with_name = |old, new| [("full_name", "Countess"), ("old_password", old), ("new_password", new)];
    let response = app.call(&app.ada, "PATCH /settings", &with_name("ada's", "12345")).await;
    response.refused("The password is too weak.");
    app.call(&app.ada, "PATCH /settings", &[("new_password", "analytical")]).await.refused("Wrong password!");
    for _ in 0..4 {
        app.call(&app.ada, "PATCH /settings", &with_name("x", "analytical")).await.refused("Wrong password!");
    }
    let response = app.call(&app.ada, "PATCH /settings", &with_name("ada's", "analytical")).await;
    assert_eq!(response.error(), (429, "RATE_LIMIT_HIT", "API usage exceeded rate limit"));
    assert_eq!(app.realm().log_position(), before);
    app.wait_s(360);
    let login = [("username", "ada@example.org"), ("password", "ada's")];
    app.call_as_nobody("POST /fetch_api_key", &login).await.success();
}

/// Another value than the preset one.
fn another(name: &str, preset: UserSettingDefault) -> Value {
    match (name, preset) {
        (_, UserSettingDefault::Flag(flag)) => json!(!flag),
        (_, UserSettingDefault::Number(number)) => json!(if number == 1 { 2 } else { 1 }),
        ("default_language", _) => json!("de"),
        ("emojiset", _) => json!("twitter"),
        ("web_animate_image_previews", _) => json!("never"),
        ("web_home_view", _) => json!("recent_topics"),
        ("resolved_topic_notice_auto_read_policy", _) => json!("always"),
        (_, UserSettingDefault::Word(word)) => json!(format!("{word}-2")),
    }
}

/// As it is sent.
fn sent(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[tokio::test]
async fn every_preference_is_changed_and_told_to_the_callers_own_clients() {
    let app = TestApp::found().await;
    let gus = app.person("gus", Role::Guest).await;
    let newer = listen(&app, &gus, r#"["user_settings"]"#, &[]).await;
    let legacy = r#"["update_display_settings","update_global_notifications"]"#;
    let older = listen(&app, &gus, legacy, &[]).await;
    let capable = [("client_capabilities", r#"{"notification_settings_null": true, "user_settings_object": true}"#)];
    let capable = listen(&app, &gus, legacy, &capable).await;
    let others = state(&app, &app.ada, "user_settings").await;
    for (name, _, preset) in USER_SETTINGS {
        let value = another(name, preset);
        let response = app.call(&gus, "PATCH /settings", &[(name, &sent(&value))]).await.success();
        assert_eq!(response, json!({"result": "success", "msg": ""}), "{name}");
        assert_eq!(state(&app, &gus, "user_settings").await[name], value);
    }
    let events = heard(&app, &newer).await;
    let expected = USER_SETTINGS.map(|(name, _, preset)| {
        let value = another(name, preset);
        let mut event = json!({"type": "user_settings", "op": "update", "property": name, "value": value});
        if name == "default_language" {
            event["language_name"] = json!("Deutsch");
        }
        event
    });
    assert_eq!(events, expected);
    let events = heard(&app, &older).await;
    assert_eq!(events.len(), 52);
    let sounds = json!({
        "type": "update_global_notifications", "user": "gus@example.org", "notification_name": "enable_sounds",
        "setting": false,
    });
    let colors = json!({
        "type": "update_display_settings", "user": "gus@example.org", "setting_name": "color_scheme", "setting": 2,
    });
    assert!(events.contains(&sounds) && events.contains(&colors));
    assert_eq!(heard(&app, &capable).await.len(), 0);
    assert_eq!(state(&app, &app.ada, "user_settings").await, others);
}

#[tokio::test]
async fn older_clients_send_each_part_to_an_address_of_its_own() {
    let app = TestApp::found().await;
    app.call(&app.ada, "PATCH /settings/display", &[("high_contrast_mode", "true")]).await.success();
    app.call(&app.ada, "PATCH /settings/notifications", &[("enable_sounds", "false")]).await.success();
    let settings = state(&app, &app.ada, "user_settings").await;
    assert_eq!((&settings["high_contrast_mode"], &settings["enable_sounds"]), (&json!(true), &json!(false)));
}

#[tokio::test]
async fn what_a_preference_cannot_be_is_refused_and_nothing_of_the_request_is_done() {
    let app = TestApp::found().await;
    let before = mark(&app);
    for (name, value, text) in [
        ("color_scheme", "4", "Invalid color_scheme: Value error, Not in the list of possible values"),
        ("email_address_visibility", "6", "Invalid email_address_visibility"),
        ("default_language", "xx", "Invalid default_language"),
        ("web_home_view", "feed", "Invalid web_home_view"),
        ("enter_sends", "yes", "enter_sends is not valid JSON"),
        ("enter_sends", "1", "enter_sends is not a boolean"),
        ("timezone", "Nowhere at all", "Invalid timezone: Value error, Not a recognized time zone"),
    ] {
        let parameters = [("twenty_four_hour_time", "true"), ("full_name", "Countess"), (name, value)];
        app.call(&app.ada, "PATCH /settings", &parameters).await.refused(text);
    }
    let robot = bot(&app, "robot").await;
    let after = mark(&app);
    let response = app.call(&robot, "PATCH /settings", &[("enter_sends", "true")]).await;
    response.refused("This endpoint does not accept bot requests.");
    assert_eq!((mark(&app), state(&app, &app.ada, "full_name").await), (after, json!("Ada Lovelace")));
    assert!(after > before);
}

#[tokio::test]
async fn name_time_zone_and_preferences_change_together() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let queue = listen(&app, &sam, r#"["realm_user"]"#, &[]).await;
    let parameters = [("timezone", "Europe/London"), ("full_name", "Countess"), ("enter_sends", "true")];
    app.call(&app.ada, "PATCH /settings", &parameters).await.success();
    let settings = state(&app, &app.ada, "user_settings").await;
    assert_eq!((&settings["timezone"], &settings["enter_sends"]), (&json!("Europe/London"), &json!(true)));
    let ada = app.realm().user(UserId(9)).unwrap().clone();
    assert_eq!((ada.full_name.as_str(), ada.timezone.as_str()), ("Countess", "Europe/London"));
    let events = heard(&app, &queue).await;
    assert_eq!(events[0]["person"], json!({"user_id": 9, "email": "ada@example.org", "timezone": "Europe/London"}));
    assert_eq!(events[1]["person"], json!({"user_id": 9, "full_name": "Countess"}));
}
