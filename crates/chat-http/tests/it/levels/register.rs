//! What a client begins with: presence, preferences and constants.

use serde_json::{Value, json};

use crate::personal::{heard, listen, state};
use crate::test_app::{NOW_S, Person, TestApp};

const DAY_S: i64 = 86_400;

async fn is_present(app: &TestApp, who: &Person, days: Option<&str>) -> [bool; 2] {
    let limit = |name| days.map(|days| (name, days)).into_iter();
    let sign: Vec<_> =
        [("status", "idle"), ("slim_presence", "true")].into_iter().chain(limit("history_limit_days")).collect();
    let answer = app.call(&app.ada, "POST /users/me/presence", &sign).await.success();
    let registration: Vec<_> =
        [("slim_presence", "true")].into_iter().chain(limit("presence_history_limit_days")).collect();
    let begun = app.call(&app.ada, "POST /register", &registration).await.success();
    [answer, begun].map(|shown| shown["presences"].get(who.id.to_string()).is_some())
}

#[tokio::test]
async fn level_409_an_organization_keeps_the_text_of_messages_out_of_notifications_in_clear() {
    let app = TestApp::found().await;
    let name = "require_e2ee_push_notifications";
    let queue = listen(&app, &app.ada, r#"["realm"]"#, &[]).await;
    let state = async || {
        let register = [("event_types", r#"["realm"]"#)];
        let state = app.call(&app.ada, "POST /register", &register).await.success();
        state["realm_require_e2ee_push_notifications"].clone()
    };
    assert_eq!(state().await, json!(false));
    app.call(&app.ada, "PATCH /realm", &[(name, "true")]).await.success();
    assert_eq!(state().await, json!(true));
    let event = json!({"type": "realm", "op": "update", "property": name, "value": true});
    assert_eq!(heard(&app, &queue).await, [event]);
}

#[tokio::test]
async fn level_288_presence_goes_back_as_many_days_as_the_client_asks_for() {
    let app = TestApp::found().await;
    let sam = app.person("sam", chat_core::model::role::Role::Member).await;
    app.call(&sam, "POST /users/me/presence", &[("status", "active")]).await.success();
    app.wait_s(10 * DAY_S);
    for (days, shown) in [(None, true), (Some("9"), false), (Some("11"), true), (Some("0"), false), (Some("-1"), false)]
    {
        assert_eq!(is_present(&app, &sam, days).await, [shown; 2], "{days:?}");
    }
    app.wait_s(10 * DAY_S);
    for (days, shown) in [(None, false), (Some("365"), true)] {
        assert_eq!(is_present(&app, &sam, days).await, [shown; 2], "{days:?}");
    }
}

/// Sets a preference and takes it back, and asserts that its default and each change is shown.
async fn assert_preference(name: &str, usual: Value, other: &str) {
    let app = TestApp::found().await;
    let queue = listen(&app, &app.ada, r#"["user_settings"]"#, &[]).await;
    for of in ["user_settings", "realm_user_settings_defaults"] {
        assert_eq!(state(&app, &app.ada, of).await[name], usual, "{of}");
    }
    // For clients without the object of preferences there is nothing new.
    assert_eq!(state(&app, &app.ada, name).await, Value::Null);
    app.call(&app.ada, "PATCH /settings", &[(name, other)]).await.success();
    app.call(&app.ada, "PATCH /realm/user_settings_defaults", &[(name, other)]).await.success();
    let value: Value = serde_json::from_str(other).unwrap();
    for of in ["user_settings", "realm_user_settings_defaults"] {
        assert_eq!(state(&app, &app.ada, of).await[name], value, "{of}");
    }
    let told = json!({"type": "user_settings", "op": "update", "property": name, "value": value});
    assert_eq!(heard(&app, &queue).await, [told]);
}

#[tokio::test]
async fn level_329_a_user_chooses_whether_their_time_zone_is_suggested() {
    assert_preference("web_suggest_update_timezone", json!(true), "false").await;
}

#[tokio::test]
async fn level_350_a_user_chooses_whether_summaries_are_hidden_of_which_there_are_none() {
    assert_preference("hide_ai_features", json!(false), "true").await;
    let app = TestApp::found().await;
    assert_eq!(state(&app, &app.ada, "server_can_summarize_topics").await, false);
}

#[tokio::test]
async fn level_398_a_user_chooses_whether_unread_counts_are_summed() {
    assert_preference("web_left_sidebar_unreads_count_summary", json!(true), "false").await;
}

#[tokio::test]
async fn level_411_a_user_chooses_whether_folders_are_shown() {
    assert_preference("web_left_sidebar_show_channel_folders", json!(true), "false").await;
}

#[tokio::test]
async fn levels_383_and_401_a_channel_opens_in_one_of_four_views() {
    let app = TestApp::found().await;
    for view in ["3", "4"] {
        app.call(&app.ada, "PATCH /settings", &[("web_channel_default_view", view)]).await.success();
        assert_eq!(state(&app, &app.ada, "user_settings").await["web_channel_default_view"].to_string(), view);
    }
    let refused = app.call(&app.ada, "PATCH /settings", &[("web_channel_default_view", "5")]).await;
    refused.refused("Invalid web_channel_default_view: Value error, Not in the list of possible values");
}

#[tokio::test]
async fn levels_338_363_369_and_406_have_their_constants() {
    let app = TestApp::found().await;
    let begun = app.call(&app.ada, "POST /register", &[]).await.success();
    for (key, value) in [
        ("password_max_length", json!(100)),
        ("realm_billing", json!({"has_pending_sponsorship_request": false})),
        ("navigation_tour_video_url", Value::Null),
        ("push_devices", json!({})),
    ] {
        assert_eq!(begun.get(key), Some(&value), "{key}");
    }
    let types = r#"["realm_billing", "push_device", "onboarding_steps"]"#;
    let some = app.call(&app.ada, "POST /register", &[("fetch_event_types", types)]).await.success();
    let named = ["realm_billing", "push_devices", "navigation_tour_video_url", "password_max_length"];
    assert_eq!(named.map(|key| some.get(key).is_some()), [true, true, true, false]);
}

#[tokio::test]
async fn levels_406_and_420_a_device_for_encrypted_notifications_is_refused() {
    let app = TestApp::found().await;
    let device = [("token_kind", "fcm"), ("push_account_id", "7")];
    for call in ["POST /mobile_push/register", "POST /mobile_push/e2ee/test_notification"] {
        let refused = app.call(&app.ada, call, &device).await;
        let text = "Server is not configured to use push notification service.";
        assert_eq!(refused.error(), (400, "PUSH_SERVICE_NOT_CONFIGURED", text));
    }
}

#[tokio::test]
async fn level_419_presence_is_two_times_of_each_user_to_clients_that_declare_it() {
    let app = TestApp::found().await;
    let sam = app.person("sam", chat_core::model::role::Role::Member).await;
    let simple = ("client_capabilities", r#"{"notification_settings_null": true, "simplified_presence_events": true}"#);
    let types = r#"["presence"]"#;
    let queue = listen(&app, &sam, types, &[simple]).await;
    let slim = listen(&app, &sam, types, &[("slim_presence", "true")]).await;
    app.call(&app.ada, "POST /users/me/presence", &[("status", "active")]).await.success();
    app.store.sync_presences().await.unwrap();
    let times = json!({"active_timestamp": NOW_S, "idle_timestamp": NOW_S});
    let presences = json!({app.ada.id.to_string(): times});
    assert_eq!(heard(&app, &queue).await, [json!({"type": "presence", "presences": presences})]);
    assert_eq!(heard(&app, &slim).await[0]["user_id"], json!(app.ada.id));
    let begun = app.call(&sam, "POST /register", &[simple]).await.success();
    assert_eq!(begun["presences"], presences);
}
