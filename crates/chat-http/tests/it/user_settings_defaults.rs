//! `PATCH /realm/user_settings_defaults`, sentence by sentence.

use chat_core::model::role::Role;
use chat_core::wire_format::user_settings::USER_SETTINGS;
use serde_json::{Value, json};

use crate::personal::{bot, close, heard, listen, mark, state};
use crate::test_app::{Person, TestApp, TestResponse};

const PATH: &str = "PATCH /realm/user_settings_defaults";
const TYPES: &str = r#"["realm_user_settings_defaults"]"#;

/// Every parameter, with a value that a new realm does not have.
const ALL: [(&str, &str); 58] = [
    ("dense_mode", "true"),
    ("starred_message_counts", "false"),
    ("receives_typing_notifications", "false"),
    ("fluid_layout_width", "true"),
    ("high_contrast_mode", "true"),
    ("enable_drafts_synchronization", "false"),
    ("translate_emoticons", "true"),
    ("display_emoji_reaction_users", "false"),
    ("web_escape_navigates_to_home_view", "false"),
    ("left_side_userlist", "true"),
    ("enable_stream_desktop_notifications", "true"),
    ("enable_stream_email_notifications", "true"),
    ("enable_stream_push_notifications", "true"),
    ("enable_stream_audible_notifications", "true"),
    ("enable_desktop_notifications", "false"),
    ("enable_sounds", "false"),
    ("enable_followed_topic_desktop_notifications", "false"),
    ("enable_followed_topic_email_notifications", "false"),
    ("enable_followed_topic_push_notifications", "false"),
    ("enable_followed_topic_audible_notifications", "false"),
    ("enable_offline_email_notifications", "true"),
    ("enable_offline_push_notifications", "false"),
    ("enable_online_push_notifications", "false"),
    ("enable_digest_emails", "false"),
    ("message_content_in_email_notifications", "false"),
    ("pm_content_in_desktop_notifications", "false"),
    ("wildcard_mentions_notify", "false"),
    ("enable_followed_topic_wildcard_mentions_notify", "false"),
    ("automatically_follow_topics_where_mentioned", "false"),
    ("presence_enabled", "false"),
    ("enter_sends", "true"),
    ("twenty_four_hour_time", "true"),
    ("send_private_typing_notifications", "false"),
    ("send_stream_typing_notifications", "false"),
    ("send_read_receipts", "false"),
    ("web_navigate_to_sent_message", "false"),
    ("hide_ai_features", "true"),
    ("resolved_topic_notice_auto_read_policy", "never"),
    ("web_left_sidebar_show_channel_folders", "false"),
    ("web_left_sidebar_unreads_count_summary", "false"),
    ("web_suggest_update_timezone", "false"),
    ("web_channel_default_view", "2"),
    ("color_scheme", "3"),
    ("user_list_style", "1"),
    ("web_stream_unreads_count_display_policy", "3"),
    ("desktop_icon_count_display", "4"),
    ("automatically_follow_topics_policy", "4"),
    ("automatically_unmute_topics_in_muted_streams_policy", "1"),
    ("email_address_visibility", "5"),
    ("web_font_size_px", "14"),
    ("web_line_height_percent", "120"),
    ("email_notifications_batching_period_seconds", "60"),
    ("demote_inactive_streams", "3"),
    ("realm_name_in_email_notifications_policy", "2"),
    ("web_home_view", "all_messages"),
    ("emojiset", "text"),
    ("web_animate_image_previews", "never"),
    ("notification_sound", "pop"),
];

async fn change(app: &TestApp, who: &Person, parameters: &[(&str, &str)]) -> TestResponse {
    app.call(who, PATH, parameters).await
}

/// A user who joins now.
async fn newcomer(app: &TestApp) -> Person {
    let parameters = [("email", "eve@example.org"), ("password", "correct horse"), ("full_name", "Eve Moneypenny")];
    let id = app.call(&app.ada, "POST /users", &parameters).await.success()["user_id"].as_i64().unwrap();
    let login = [("username", "eve@example.org"), ("password", "correct horse")];
    let response = app.call_as_nobody("POST /fetch_api_key", &login).await.success();
    Person { id, email: "eve@example.org".to_owned(), key: response["api_key"].as_str().unwrap().to_owned() }
}

fn value(sent: &str) -> Value {
    serde_json::from_str(sent).unwrap_or_else(|_| json!(sent))
}

#[tokio::test]
async fn it_sets_defaults_for_users_who_join_later_and_existing_users_are_not_changed() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let before = state(&app, &sam, "user_settings").await;
    let queue = listen(&app, &sam, TYPES, &[]).await;
    let response = change(&app, &app.ada, &ALL).await.success();
    assert_eq!(response.get("ignored_parameters_unsupported"), None);

    let eve = newcomer(&app).await;
    let (begun, defaults) =
        (state(&app, &eve, "user_settings").await, state(&app, &eve, "realm_user_settings_defaults").await);
    for (name, sent) in ALL {
        assert_eq!((&begun[name], &defaults[name]), (&value(sent), &value(sent)), "{name}");
        assert_ne!(before[name], value(sent), "{name}");
    }
    assert_eq!(state(&app, &sam, "user_settings").await, before);
    let events = heard(&app, &queue).await;
    assert_eq!(events.len(), ALL.len());
    for (name, sent) in ALL {
        let event = json!({
            "type": "realm_user_settings_defaults", "op": "update", "property": name, "value": value(sent),
        });
        assert!(events.contains(&event), "{name}");
    }
}

#[tokio::test]
async fn who_has_joined_keeps_what_the_defaults_were() {
    let app = TestApp::found().await;
    change(&app, &app.ada, &[("enter_sends", "true")]).await.success();
    let eve = newcomer(&app).await;
    change(&app, &app.ada, &[("enter_sends", "false"), ("color_scheme", "2")]).await.success();
    let settings = state(&app, &eve, "user_settings").await;
    assert_eq!((&settings["enter_sends"], &settings["color_scheme"]), (&json!(true), &json!(1)));
}

#[tokio::test]
async fn any_subset_may_be_sent_and_none_at_all() {
    let app = TestApp::found().await;
    for (name, sent) in ALL {
        change(&app, &app.ada, &[(name, sent)]).await.success();
        assert_eq!(state(&app, &app.ada, "realm_user_settings_defaults").await[name], value(sent));
    }
    let before = mark(&app);
    change(&app, &app.ada, &[]).await.success();
    change(&app, &app.ada, &[("color_scheme", "3")]).await.success();
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn unsupported_parameters_are_listed() {
    let app = TestApp::found().await;
    let before = mark(&app);
    let unsupported = [
        ("default_language", "de"),
        ("email", "x@example.org"),
        ("enable_login_emails", "false"),
        ("enable_marketing_emails", "false"),
        ("full_name", "Everybody"),
        ("timezone", "UTC"),
    ];
    let response = change(&app, &app.ada, &unsupported).await.success();
    assert_eq!(response["ignored_parameters_unsupported"], json!(unsupported.map(|(name, _)| name)));
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn each_value_that_is_not_allowed_is_refused_and_nothing_changes() {
    let app = TestApp::found().await;
    let before = mark(&app);
    let listed = |name: &str| format!("Invalid {name}: Value error, Not in the list of possible values");
    let mut cases = Vec::new();
    for (name, last) in [
        ("web_channel_default_view", 4),
        ("color_scheme", 3),
        ("user_list_style", 3),
        ("web_stream_unreads_count_display_policy", 3),
        ("demote_inactive_streams", 3),
        ("realm_name_in_email_notifications_policy", 3),
        ("desktop_icon_count_display", 4),
        ("automatically_follow_topics_policy", 4),
        ("automatically_unmute_topics_in_muted_streams_policy", 4),
        ("email_address_visibility", 5),
    ] {
        for number in [0, last + 1] {
            cases.push((name, number.to_string(), listed(name)));
        }
    }
    for (name, sent, text) in [
        ("emojiset", "apple", listed("emojiset").as_str()),
        ("web_home_view", "feed", "Invalid web_home_view"),
        ("web_animate_image_previews", "sometimes", "Invalid web_animate_image_previews"),
        ("email_notifications_batching_period_seconds", "0", "Invalid email batching period: 0 seconds"),
        ("email_notifications_batching_period_seconds", "604801", "Invalid email batching period: 604801 seconds"),
        ("web_font_size_px", "0", "web_font_size_px is too small"),
        ("web_line_height_percent", "-5", "web_line_height_percent is too small"),
        ("notification_sound", "", "notification_sound cannot be blank"),
    ] {
        cases.push((name, sent.to_owned(), text.to_owned()));
    }
    for (name, sent, text) in cases {
        change(&app, &app.ada, &[("enter_sends", "true"), (name, &sent)]).await.refused(&text);
    }
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn each_value_of_another_type_is_refused_and_nothing_changes() {
    let app = TestApp::found().await;
    let before = mark(&app);
    for (name, sent) in ALL {
        let text = match value(sent) {
            Value::Bool(_) => format!("{name} is not a boolean"),
            Value::Number(_) => format!("{name} is not an integer"),
            _ => continue,
        };
        change(&app, &app.ada, &[(name, "\"x\"")]).await.refused(&text);
        change(&app, &app.ada, &[(name, "x")]).await.refused(&format!("{name} is not valid JSON"));
    }
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn it_is_only_for_organization_administrators() {
    let app = TestApp::found().await;
    let before = app.person("max", Role::Administrator).await;
    change(&app, &before, &[("enter_sends", "true")]).await.success();
    let mut refused = vec![bot(&app, "robot").await];
    for (name, role) in [("mona", Role::Moderator), ("mel", Role::Member), ("gus", Role::Guest)] {
        refused.push(app.person(name, role).await);
    }
    let before = mark(&app);
    for person in &refused {
        let response = change(&app, person, &[("enter_sends", "false")]).await;
        response.refused("Must be an organization administrator");
    }
    assert_eq!(app.call_as_nobody(PATH, &[("enter_sends", "false")]).await.error().0, 401);
    assert_eq!(mark(&app), before);
    close(&app, &refused[0]).await;
    assert_eq!(change(&app, &refused[0], &[]).await.error().0, 401);
}

#[test]
fn the_parameters_are_those_of_the_table_that_users_have() {
    let personal = ["allow_private_data_export", "default_language", "enable_login_emails", "enable_marketing_emails"];
    // Existing clients know it, and the specification does not.
    let further = ["web_mark_read_on_scroll_policy"];
    let mut known: Vec<_> = USER_SETTINGS.iter().map(|(name, ..)| *name).collect();
    known.retain(|name| !personal.contains(name) && !further.contains(name));
    let mut sent = ALL.map(|(name, _)| name);
    known.sort_unstable();
    sent.sort_unstable();
    assert_eq!(known, sent);
}
