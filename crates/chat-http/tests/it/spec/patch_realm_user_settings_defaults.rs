//! `PATCH /realm/user_settings_defaults`
//!
//! - sets what users have who join later, existing users are not changed, and everybody is notified of each:
//!   `user_settings_defaults::it_sets_defaults_for_users_who_join_later_and_existing_users_are_not_changed`,
//!   `user_settings_defaults::who_has_joined_keeps_what_the_defaults_were`
//! - any subset may be sent, all are optional: `user_settings_defaults::any_subset_may_be_sent_and_none_at_all`
//! - unsupported parameters are listed, profile and identity settings are not supported:
//!   `user_settings_defaults::unsupported_parameters_are_listed`
//! - every boolean, integer and string parameter of the specification:
//!   `user_settings_defaults::the_parameters_are_those_of_the_table_that_users_have`
//! - other values than the allowed ones are refused:
//!   `user_settings_defaults::each_value_that_is_not_allowed_is_refused_and_nothing_changes`,
//!   `user_settings_defaults::each_value_of_another_type_is_refused_and_nothing_changes`
//! - ADMIN: `user_settings_defaults::it_is_only_for_organization_administrators`
//! - what the values of `automatically_follow_topics_policy` mean, and those of its like for muted channels:
//!   `personal::following::who_starts_a_topic_follows_it_unless_they_chose_otherwise`,
//!   `personal::following::who_sends_to_a_topic_follows_it_when_they_chose_so`,
//!   `personal::following::who_participates_in_a_topic_follows_it_when_they_chose_so`,
//!   `personal::following::a_topic_of_a_muted_channel_is_heard_again_by_who_sends_to_it`
//! - `automatically_follow_topics_where_mentioned`:
//!   `personal::following::who_is_mentioned_in_a_topic_follows_it_unless_they_chose_otherwise`
//! - `presence_enabled` and `send_read_receipts`: `presence::who_does_not_want_it_known_is_not_there`,
//!   `changes::flagging::receipts_name_readers_but_not_the_sender_nor_who_hides_or_is_muted`
//! - what notifies telephones:
//!   `chat_core::push_notifications::receivers::tests::a_channel_notifies_those_who_asked_for_it`,
//!   `chat_core::push_notifications::receivers::tests::a_followed_topic_notifies_unless_that_is_off`,
//!   `chat_core::push_notifications::receivers::tests::a_mention_of_everybody_notifies_where_it_is_heard`,
//!   `chat_core::push_notifications::receivers::tests::who_is_there_is_notified_unless_they_wish_it_only_when_away`
//! - where drafts are no longer synchronized those on the server are deleted:
//!   `drafts::when_enable_drafts_synchronization_is_disabled_drafts_stored_on_the_server_are_deleted`

use chat_core::event_log::email_queue::EmailQueueStore as _;
use chat_core::id::UserId;
use chat_core::wire_format::user_settings;
use serde_json::{Value, json};

use crate::personal::{heard, listen, state};
use crate::test_app::{Person, TestApp, TestResponse};

async fn change(app: &TestApp, who: &Person, parameters: &[(&str, &str)]) -> TestResponse {
    app.call(who, "PATCH /realm/user_settings_defaults", parameters).await
}

async fn defaults(app: &TestApp) -> Value {
    state(app, &app.ada, "realm_user_settings_defaults").await
}

#[tokio::test]
async fn each_allowed_value_is_taken() {
    let app = TestApp::found().await;
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
        for number in 1..=last {
            change(&app, &app.ada, &[(name, &number.to_string())]).await.success();
            assert_eq!(defaults(&app).await[name], json!(number), "{name}");
        }
    }
    for (name, words) in [
        ("web_home_view", &["recent_topics", "inbox", "all_messages"][..]),
        ("emojiset", &["google", "twitter", "text", "google-blob"]),
        ("web_animate_image_previews", &["always", "on_hover", "never"]),
        ("notification_sound", &["none", "ding", "any name at all"]),
    ] {
        for word in words {
            change(&app, &app.ada, &[(name, word)]).await.success();
            assert_eq!(defaults(&app).await[name], json!(word), "{name}");
        }
    }
    for (name, number) in [
        ("web_font_size_px", 20),
        ("web_line_height_percent", 120),
        ("email_notifications_batching_period_seconds", 1),
        ("email_notifications_batching_period_seconds", 604_800),
    ] {
        change(&app, &app.ada, &[(name, &number.to_string())]).await.success();
        assert_eq!(defaults(&app).await[name], json!(number), "{name}");
    }
}

#[tokio::test]
async fn no_value_is_null_and_no_number_is_too_long_to_be_refused() {
    let app = TestApp::found().await;
    for (name, sent, text) in [
        ("color_scheme", "null", "color_scheme is not an integer"),
        ("enter_sends", "null", "enter_sends is not a boolean"),
        ("enter_sends", "1", "enter_sends is not a boolean"),
        ("color_scheme", "99999999999999999999", "color_scheme is too large"),
        ("color_scheme", "1.0", "color_scheme is not an integer"),
        ("emojiset", "\"google\"", "Invalid emojiset: Value error, Not in the list of possible values"),
    ] {
        change(&app, &app.ada, &[(name, sent)]).await.refused(text);
    }
}

#[tokio::test]
async fn who_joins_by_an_invitation_begins_with_the_defaults() {
    let app = TestApp::found().await;
    change(&app, &app.ada, &[("color_scheme", "2"), ("receives_typing_notifications", "false")]).await.success();
    let invitation = [("invitee_emails", "new@example.org"), ("stream_ids", "[]")];
    app.call(&app.ada, "POST /invites", &invitation).await.success();
    let mail = app.store.claim_due_emails(i64::MAX, i64::MAX, 10).await.unwrap().pop().unwrap().mail;
    let path = mail.text.split_once("https://chat.example.org/").unwrap().1.split_whitespace().next().unwrap();
    let form = [("full_name", "New Person"), ("password", "correct horse")];
    assert_eq!(app.browse(&format!("POST /{path}"), &form).await.0, 200);
    let realm = app.realm();
    let user = realm.user_by_email("new@example.org").unwrap();
    let begun = user_settings::user_settings_of(&realm, user);
    assert_eq!((&begun["color_scheme"], &begun["receives_typing_notifications"]), (&json!(2), &json!(false)));
    let ada = user_settings::user_settings_of(&realm, realm.user(UserId(9)).unwrap());
    assert_eq!(ada["color_scheme"], json!(1));
}

#[tokio::test]
async fn of_two_changes_at_once_both_hold() {
    let app = TestApp::found().await;
    let queue = listen(&app, &app.ada, r#"["realm_user_settings_defaults"]"#, &[]).await;
    let (first, second) = tokio::join!(
        change(&app, &app.ada, &[("color_scheme", "3")]),
        change(&app, &app.ada, &[("enter_sends", "true")])
    );
    first.success();
    second.success();
    let now = defaults(&app).await;
    assert_eq!((&now["color_scheme"], &now["enter_sends"]), (&json!(3), &json!(true)));
    assert_eq!(heard(&app, &queue).await.len(), 2);
}
