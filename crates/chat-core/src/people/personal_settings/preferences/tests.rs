use std::collections::BTreeSet;

use super::*;
use crate::event_log::event::EventBody;
use crate::id::UserId;
use crate::model::realm::RealmPermissionSettings;
use crate::testing;
use crate::wire_format::user_settings::UserSettingDefault;

const BOOLEANS: &str = "dense_mode, starred_message_counts, receives_typing_notifications, fluid_layout_width,
    high_contrast_mode, enable_drafts_synchronization, translate_emoticons, display_emoji_reaction_users,
    web_escape_navigates_to_home_view, left_side_userlist, enable_stream_desktop_notifications,
    enable_stream_email_notifications, enable_stream_push_notifications, enable_stream_audible_notifications,
    enable_desktop_notifications, enable_sounds, enable_followed_topic_desktop_notifications,
    enable_followed_topic_email_notifications, enable_followed_topic_push_notifications,
    enable_followed_topic_audible_notifications, enable_offline_email_notifications,
    enable_offline_push_notifications, enable_online_push_notifications, enable_digest_emails,
    message_content_in_email_notifications, pm_content_in_desktop_notifications, wildcard_mentions_notify,
    enable_followed_topic_wildcard_mentions_notify, automatically_follow_topics_where_mentioned, presence_enabled,
    enter_sends, twenty_four_hour_time, send_private_typing_notifications, send_stream_typing_notifications,
    send_read_receipts, web_navigate_to_sent_message, hide_ai_features, web_left_sidebar_show_channel_folders,
    web_left_sidebar_unreads_count_summary, web_suggest_update_timezone";

/// Integers with the last of their values, from 1.
const LISTED: [(&str, i64); 8] = [
    ("web_channel_default_view", 4),
    ("color_scheme", 3),
    ("user_list_style", 3),
    ("web_stream_unreads_count_display_policy", 3),
    ("desktop_icon_count_display", 4),
    ("automatically_follow_topics_policy", 4),
    ("automatically_unmute_topics_in_muted_streams_policy", 4),
    ("email_address_visibility", 5),
];
const OTHER_INTEGERS: [&str; 5] = [
    "web_font_size_px",
    "web_line_height_percent",
    "email_notifications_batching_period_seconds",
    "demote_inactive_streams",
    "realm_name_in_email_notifications_policy",
];
const WORDS: [(&str, &[&str]); 4] = [
    ("web_home_view", &["recent_topics", "inbox", "all_messages"]),
    ("resolved_topic_notice_auto_read_policy", &["always", "except_followed", "never"]),
    ("emojiset", &["google", "twitter", "text", "google-blob"]),
    ("web_animate_image_previews", &["always", "on_hover", "never"]),
];

fn refusal(name: &'static str, value: impl Into<Value>) -> String {
    check(PreferenceScope::Newcomers, name, &value.into())
        .map_or_else(|refused| refused.to_string(), |()| String::new())
}

/// Returns what is sent and what changes when user 4 chooses.
fn chosen(chosen: &[PreferenceChange]) -> (Vec<Value>, Vec<RealmChange>) {
    let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
    let mut commit = RealmCommit { at_s: 9, ..RealmCommit::default() };
    change_preferences(&realm, realm.user(UserId(4)).unwrap(), chosen, &mut commit).unwrap();
    let events = commit.events.into_iter().map(|event| match event.body {
        EventBody::Plain { event, .. } => event,
        EventBody::Message(_) | EventBody::Edit { .. } | EventBody::Flagged(_) => Value::Null,
    });
    (events.collect(), commit.changes)
}

#[test]
fn every_preference_of_the_specification_is_there_with_its_type_and_no_other_but_one() {
    let flags: Vec<&str> = BOOLEANS.split(',').map(str::trim).collect();
    assert_eq!(flags.len(), 40);
    let mut expected: BTreeSet<(&str, char)> = flags.into_iter().map(|name| (name, 'b')).collect();
    expected.extend(LISTED.iter().map(|(name, _)| (*name, 'i')).chain(OTHER_INTEGERS.map(|name| (name, 'i'))));
    expected.extend(WORDS.iter().map(|(name, _)| (*name, 's')).chain([("notification_sound", 's')]));
    // Not of the specification; existing clients know it.
    expected.insert(("web_mark_read_on_scroll_policy", 'i'));
    let found = PreferenceScope::Newcomers.available_preferences().map(|(name, preset)| match preset {
        UserSettingDefault::Flag(_) => (name, 'b'),
        UserSettingDefault::Number(_) => (name, 'i'),
        UserSettingDefault::Word(_) => (name, 's'),
    });
    assert_eq!(found.collect::<BTreeSet<_>>(), expected);
}

#[test]
fn integers_and_words_are_taken_as_far_as_they_are_allowed_and_no_further() {
    for (name, last) in LISTED {
        assert!((1..=last).all(|number| refusal(name, number).is_empty()), "{name}");
        for number in [0, last + 1, -1] {
            let text = format!("Invalid {name}: Value error, Not in the list of possible values");
            assert_eq!(refusal(name, number), text);
        }
    }
    for (name, words) in WORDS {
        assert!(words.iter().all(|word| refusal(name, *word).is_empty()), "{name}");
        assert!(refusal(name, "nonsense").starts_with(&format!("Invalid {name}")), "{name}");
    }
    assert_eq!(refusal("web_home_view", "x"), "Invalid web_home_view");
    assert_eq!(refusal("emojiset", "x"), "Invalid emojiset: Value error, Not in the list of possible values");
}

#[test]
fn pauses_sizes_and_names_have_bounds() {
    let batching = "email_notifications_batching_period_seconds";
    assert_eq!((refusal(batching, 1), refusal(batching, 604_800)), (String::new(), String::new()));
    assert_eq!(refusal(batching, 0), "Invalid email batching period: 0 seconds");
    assert_eq!(refusal(batching, 604_801), "Invalid email batching period: 604801 seconds");
    assert_eq!(refusal("web_line_height_percent", -5), "web_line_height_percent is too small");
    assert_eq!(refusal("web_font_size_px", 201), "web_font_size_px is too large");
    assert_eq!((refusal("notification_sound", "none"), refusal("notification_sound", "ding")), Default::default());
    assert_eq!(refusal("notification_sound", " "), "notification_sound cannot be blank");
    let long = "a".repeat(101);
    assert_eq!(refusal("notification_sound", long), "notification_sound is too long (limit: 100 characters)");
}

#[test]
fn what_is_so_already_is_told_to_nobody() {
    let (events, changes) = chosen(&[("enter_sends", json!(false)), ("color_scheme", json!(2))]);
    assert_eq!(events.len(), 2);
    assert_eq!(events[0], json!({"type": "user_settings", "op": "update", "property": "color_scheme", "value": 2}));
    let older = json!({
        "type": "update_display_settings", "user": "User4@example.org", "setting_name": "color_scheme", "setting": 2,
    });
    assert_eq!(events[1], older);
    assert_eq!(changes, [super::super::only(UserId(4), UserItemKind::Settings, Some(json!({"color_scheme": 2})))]);
    assert_eq!(chosen(&[("enter_sends", json!(false))]), (Vec::new(), Vec::new()));
}

#[test]
fn a_preference_of_another_family_is_told_to_older_clients_in_its_own_words_or_not_at_all() {
    let kinds = |name, value: Value| -> Vec<Value> {
        chosen(&[(name, value)]).0.into_iter().map(|event| event["type"].clone()).collect()
    };
    assert_eq!(kinds("enable_sounds", json!(false)), ["user_settings", "update_global_notifications"]);
    assert_eq!(kinds("send_read_receipts", json!(false)), ["user_settings"]);
    let (events, _) = chosen(&[("default_language", json!("de"))]);
    assert_eq!((&events[0]["language_name"], &events[1]["language_name"]), (&json!("Deutsch"), &json!("Deutsch")));
}

#[test]
fn who_hides_is_gone_for_others_at_once() {
    let (events, _) = chosen(&[("presence_enabled", json!(false))]);
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let expected = ["presence", "presence", "presence", "user_settings", "update_global_notifications", "user_status"];
    assert_eq!(kinds, expected);
    let website = &events[0]["presence"]["website"];
    assert_eq!((&website["status"], &website["timestamp"]), (&json!("idle"), &json!(9 - 260)));
    assert_eq!((&events[0]["server_timestamp"], &events[5]["away"]), (&json!(9.0), &json!(true)));
}

#[test]
fn only_administrators_choose_for_newcomers_and_everybody_is_told() {
    let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
    let choose = |id, chosen: &[PreferenceChange]| {
        let mut commit = RealmCommit::default();
        change_default_preferences(&realm, realm.user(UserId(id)).unwrap(), chosen, &mut commit).map(|()| commit)
    };
    let change = [("enter_sends", json!(true)), ("color_scheme", json!(1))];
    assert_eq!(choose(3, &change).unwrap_err(), PreferenceError::NotAllowed(PermissionError::AdministratorRequired));
    let commit = choose(2, &change).unwrap();
    let document = Some(json!({"enter_sends": true}));
    assert_eq!(commit.changes, [RealmChange::Item { kind: RealmItemKind::UserDefaults, id: 0, document }]);
    assert_eq!((commit.events.len(), &commit.events[0].audience), (1, &EventAudience::Everyone));
    assert!(choose(2, &[]).unwrap().events.is_empty());
}
