//! A user's preferences as clients see them.

use serde_json::{Map, Value, json};

use crate::id::UserId;
use crate::model::realm_change::{RealmItemKind, UserItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;

/// The group of a user setting for clients older than the `user_settings` object: display, notification or other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LegacySettingGroup {
    /// How things look.
    Display,
    /// How the user hears of things.
    Notification,
    /// Anything else; older clients do not know it.
    Other,
}

/// The default value of a user setting: a boolean, number or text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserSettingDefault {
    /// Yes or no.
    Flag(bool),
    /// A number; the specification says what the numbers mean.
    Number(i64),
    /// A word.
    Word(&'static str),
}

impl From<UserSettingDefault> for Value {
    fn from(preset: UserSettingDefault) -> Self {
        match preset {
            Flag(flag) => flag.into(),
            Number(number) => number.into(),
            Word(word) => word.into(),
        }
    }
}

use LegacySettingGroup::{Display, Notification, Other};
use UserSettingDefault::{Flag, Number, Word};

/// All user settings: name, legacy group and default value.
///
/// # Source
/// Names and allowed values: specification, `PATCH /realm/user_settings_defaults`. The values new users begin with
/// are not specified; they are those existing clients know.
pub const USER_SETTINGS: [(&str, LegacySettingGroup, UserSettingDefault); 63] = [
    ("color_scheme", Display, Number(1)),
    ("default_language", Display, Word("en")),
    ("demote_inactive_streams", Display, Number(1)),
    ("dense_mode", Display, Flag(false)),
    ("display_emoji_reaction_users", Display, Flag(true)),
    ("emojiset", Display, Word("google")),
    ("enable_drafts_synchronization", Display, Flag(true)),
    ("enter_sends", Display, Flag(false)),
    ("fluid_layout_width", Display, Flag(false)),
    ("high_contrast_mode", Display, Flag(false)),
    ("left_side_userlist", Display, Flag(false)),
    ("starred_message_counts", Display, Flag(true)),
    ("translate_emoticons", Display, Flag(false)),
    ("twenty_four_hour_time", Display, Flag(false)),
    ("user_list_style", Display, Number(2)),
    ("web_animate_image_previews", Display, Word("on_hover")),
    ("web_channel_default_view", Display, Number(1)),
    ("web_escape_navigates_to_home_view", Display, Flag(true)),
    ("web_font_size_px", Display, Number(16)),
    ("web_home_view", Display, Word("inbox")),
    ("web_line_height_percent", Display, Number(140)),
    ("web_mark_read_on_scroll_policy", Display, Number(1)),
    ("web_navigate_to_sent_message", Display, Flag(true)),
    ("web_stream_unreads_count_display_policy", Display, Number(2)),
    ("automatically_follow_topics_policy", Notification, Number(3)),
    ("automatically_follow_topics_where_mentioned", Notification, Flag(true)),
    ("automatically_unmute_topics_in_muted_streams_policy", Notification, Number(2)),
    ("desktop_icon_count_display", Notification, Number(1)),
    ("email_notifications_batching_period_seconds", Notification, Number(120)),
    ("enable_desktop_notifications", Notification, Flag(true)),
    ("enable_digest_emails", Notification, Flag(true)),
    ("enable_followed_topic_audible_notifications", Notification, Flag(true)),
    ("enable_followed_topic_desktop_notifications", Notification, Flag(true)),
    ("enable_followed_topic_email_notifications", Notification, Flag(true)),
    ("enable_followed_topic_push_notifications", Notification, Flag(true)),
    ("enable_followed_topic_wildcard_mentions_notify", Notification, Flag(true)),
    ("enable_login_emails", Notification, Flag(true)),
    ("enable_marketing_emails", Notification, Flag(true)),
    // No letter is sent for a message, so a client that shows this does not promise one.
    ("enable_offline_email_notifications", Notification, Flag(false)),
    ("enable_offline_push_notifications", Notification, Flag(true)),
    ("enable_online_push_notifications", Notification, Flag(true)),
    ("enable_sounds", Notification, Flag(true)),
    ("enable_stream_audible_notifications", Notification, Flag(false)),
    ("enable_stream_desktop_notifications", Notification, Flag(false)),
    ("enable_stream_email_notifications", Notification, Flag(false)),
    ("enable_stream_push_notifications", Notification, Flag(false)),
    ("message_content_in_email_notifications", Notification, Flag(true)),
    ("notification_sound", Notification, Word("zulip")),
    ("pm_content_in_desktop_notifications", Notification, Flag(true)),
    ("presence_enabled", Notification, Flag(true)),
    ("realm_name_in_email_notifications_policy", Notification, Number(1)),
    ("wildcard_mentions_notify", Notification, Flag(true)),
    ("allow_private_data_export", Other, Flag(false)),
    ("email_address_visibility", Other, Number(1)),
    ("hide_ai_features", Other, Flag(false)),
    ("receives_typing_notifications", Other, Flag(true)),
    ("resolved_topic_notice_auto_read_policy", Other, Word("except_followed")),
    ("send_private_typing_notifications", Other, Flag(true)),
    ("send_read_receipts", Other, Flag(true)),
    ("send_stream_typing_notifications", Other, Flag(true)),
    ("web_left_sidebar_show_channel_folders", Other, Flag(true)),
    ("web_left_sidebar_unreads_count_summary", Other, Flag(true)),
    ("web_suggest_update_timezone", Other, Flag(true)),
];

/// Returns all settings of the user, with defaults for those that are unset.
#[must_use]
pub fn user_settings_of(realm: &RealmSnapshot, user: &User) -> Map<String, Value> {
    let mut settings = filled(realm.user_item(user.id, UserItemKind::Settings, ""));
    settings.insert("timezone".to_owned(), user.timezone.as_str().into());
    settings
}

/// Returns the value of a user's boolean setting; false for an unknown name.
#[must_use]
pub fn bool_setting(realm: &RealmSnapshot, user_id: UserId, name: &str) -> bool {
    match one(realm, user_id, name) {
        (Some(chosen), _) => chosen.as_bool() == Some(true),
        (None, preset) => preset == Some(Flag(true)),
    }
}

/// Returns the value of a user's numeric setting; 0 for an unknown name.
#[must_use]
pub fn number_setting(realm: &RealmSnapshot, user_id: UserId, name: &str) -> i64 {
    match one(realm, user_id, name) {
        (Some(chosen), _) => chosen.as_i64().unwrap_or_default(),
        (None, Some(Number(preset))) => preset,
        (None, _) => 0,
    }
}

/// Returns the value of a user's setting that is a word; empty for an unknown name.
#[must_use]
pub fn word_setting<'a>(realm: &'a RealmSnapshot, user_id: UserId, name: &str) -> &'a str {
    match one(realm, user_id, name) {
        (Some(chosen), _) => chosen.as_str().unwrap_or_default(),
        (None, Some(Word(preset))) => preset,
        (None, _) => "",
    }
}

/// Returns what the user chose, and what they have who chose nothing.
fn one<'a>(realm: &'a RealmSnapshot, user_id: UserId, name: &str) -> (Option<&'a Value>, Option<UserSettingDefault>) {
    let chosen = realm.user_item(user_id, UserItemKind::Settings, "");
    let preset = USER_SETTINGS.iter().find(|(known, ..)| *known == name).map(|(.., preset)| *preset);
    (chosen.and_then(|chosen| chosen.get(name)), preset)
}

/// Returns the settings of a new user: the realm's defaults, and the server's for the rest.
#[must_use]
pub fn default_user_settings(realm: &RealmSnapshot) -> Map<String, Value> {
    filled(realm.realm_item(RealmItemKind::UserDefaults, 0))
}

fn filled(chosen: Option<&Value>) -> Map<String, Value> {
    let value = |name: &str, preset: UserSettingDefault| {
        let chosen = chosen.and_then(|chosen| chosen.get(name));
        chosen.cloned().unwrap_or_else(|| preset.into())
    };
    USER_SETTINGS.iter().map(|(name, _, preset)| ((*name).to_owned(), value(name, *preset))).collect()
}

/// Returns the lists of choices for settings: notification sounds and emoji sets.
#[must_use]
pub fn setting_choices() -> Map<String, Value> {
    let sets = [("google", "Google"), ("google-blob", "Google blobs"), ("twitter", "Twitter"), ("text", "Plain text")];
    let sets: Value = sets.iter().map(|(key, text)| json!({"key": key, "text": text})).collect();
    let choices = [("available_notification_sounds", json!(["zulip"])), ("emojiset_choices", sets)];
    choices.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::testing;

    #[test]
    fn what_the_user_chose_stands_over_what_a_new_user_has() {
        let chosen = RealmChange::UserItem {
            user_id: UserId(4),
            kind: UserItemKind::Settings,
            key: String::new(),
            document: Some(json!({"color_scheme": 3, "unknown": 1})),
        };
        let defaults_of_realm = RealmChange::Item {
            kind: RealmItemKind::UserDefaults,
            id: 0,
            document: Some(json!({"enter_sends": true})),
        };
        let realm = testing::realm(RealmPermissionSettings::default(), vec![chosen, defaults_of_realm]);
        let settings = user_settings_of(&realm, realm.user(UserId(4)).unwrap());
        assert_eq!((&settings["color_scheme"], &settings["enter_sends"]), (&json!(3), &json!(false)));
        assert_eq!((settings.get("unknown"), settings.len()), (None, USER_SETTINGS.len() + 1));
        assert_eq!(
            (number_setting(&realm, UserId(4), "color_scheme"), number_setting(&realm, UserId(3), "color_scheme")),
            (3, 1)
        );
        assert_eq!(
            ["enable_sounds", "enter_sends", "x"].map(|name| bool_setting(&realm, UserId(4), name)),
            [true, false, false]
        );
        let fresh = default_user_settings(&realm);
        assert_eq!((&fresh["color_scheme"], &fresh["enter_sends"]), (&json!(1), &json!(true)));
    }

    #[test]
    fn no_preference_stands_twice() {
        let names: std::collections::BTreeSet<_> = USER_SETTINGS.iter().map(|(name, ..)| name).collect();
        assert_eq!(names.len(), USER_SETTINGS.len());
    }
}
