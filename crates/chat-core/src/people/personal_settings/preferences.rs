//! Preferences: what each can be, and what happens when a user chooses.
//!
//! Which there are, and what a new user of a new realm has, is [`USER_SETTINGS`].

use serde_json::{Map, Value, json};

use super::{language, user_status};
use crate::event_log::event::{ClientCapability, EventAudience, NewEvent, QueueCondition};
use crate::event_log::realm_commit::RealmCommit;
use crate::messages::draft;
use crate::model::email_address_visibility::PREFERENCE;
use crate::model::realm_change::{RealmChange, RealmItemKind, UserItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::organization::data_exports;
use crate::people::{email_change, presence};
use crate::permission::access::{PermissionError, require_administrator};
use crate::wire_format::add;
use crate::wire_format::user_settings::{self, LegacySettingGroup, USER_SETTINGS};

/// The maximum batching period of e-mails about messages, in seconds: a week.
pub const MAX_EMAIL_BATCHING_PERIOD_S: i64 = 604_800;
/// The maximum number of characters of a notification sound's name.
pub const MAX_SOUND_NAME_CHARS: usize = 100;
/// The preference that says whether others see when a user is there.
const PRESENCE: &str = "presence_enabled";
/// Preferences for which a realm has no value of its own.
///
/// # Source
/// Specification, `PATCH /realm/user_settings_defaults`, by what it does not name.
const PERSONAL: [&str; 4] =
    [data_exports::CONSENT, "default_language", "enable_login_emails", "enable_marketing_emails"];

/// A user setting and its new value, of the type that [`USER_SETTINGS`] states.
pub type PreferenceChange = (&'static str, Value);

/// The reason why preferences are not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PreferenceError {
    /// The caller is not who may.
    #[error(transparent)]
    NotAllowed(#[from] PermissionError),
    /// None of the words it can be.
    #[error("Invalid {0}")]
    NotAWord(&'static str),
    /// None of the values it can be.
    #[error("Invalid {0}: Value error, Not in the list of possible values")]
    NotListed(&'static str),
    /// A number under its least value.
    #[error("{0} is too small")]
    TooSmall(&'static str),
    /// A number over its greatest value.
    #[error("{0} is too large")]
    TooLarge(&'static str),
    /// A name that is none.
    #[error("{0} cannot be blank")]
    Blank(&'static str),
    /// A name with too many characters.
    #[error("{0} is too long (limit: {MAX_SOUND_NAME_CHARS} characters)")]
    TooLong(&'static str),
    /// No pause, or one that is too long.
    #[error("Invalid email batching period: {0} seconds")]
    Batching(i64),
}

/// Of these columns the preferences that can be chosen and are not what every realm begins with, and how many columns
/// have the name of one and are none.
pub(crate) fn fitting(scope: PreferenceScope, columns: &Map<String, Value>) -> (Map<String, Value>, usize) {
    let (mut chosen, mut refused) = (Map::new(), 0);
    for (name, preset) in scope.available_preferences() {
        let Some(value) = columns.get(name) else { continue };
        let preset = Value::from(preset);
        let is_alike = (value.is_boolean(), value.is_string(), value.is_i64())
            == (preset.is_boolean(), preset.is_string(), preset.is_i64());
        if !is_alike || check(scope, name, value).is_err() {
            refused += 1;
        } else if *value != preset {
            chosen.insert(name.to_owned(), value.clone());
        }
    }
    (chosen, refused)
}

/// The target of a setting change: one user, or the realm's defaults for new users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreferenceScope {
    /// For the user who chooses.
    Own,
    /// For users who join later.
    Newcomers,
}

impl PreferenceScope {
    /// Returns the preferences that can be changed in this scope, each with a default value of its type.
    pub fn available_preferences(self) -> impl Iterator<Item = (&'static str, user_settings::UserSettingDefault)> {
        let all = USER_SETTINGS.iter().map(|(name, _, preset)| (*name, *preset));
        all.filter(move |(name, _)| self == Self::Own || !PERSONAL.contains(name))
    }
}

/// Changes preferences of the user; notifies their own clients, and others of what concerns them. Values that are set
/// already are not reported.
///
/// # Errors
/// See [`PreferenceError`]; nothing is chosen then.
pub fn change_preferences(
    realm: &RealmSnapshot,
    user: &User,
    chosen: &[PreferenceChange],
    commit: &mut RealmCommit,
) -> Result<(), PreferenceError> {
    let news = news(PreferenceScope::Own, &user_settings::user_settings_of(realm, user), chosen)?;
    change(realm, user, &news, commit);
    if let Some((_, is_shared)) = news.iter().find(|(name, _)| *name == PRESENCE) {
        let away = Map::from_iter([("away".to_owned(), json!(is_shared == false))]);
        commit.events.push(user_status::status_event(user.id, away));
    }
    Ok(())
}

/// Changes the realm's default preferences for users who join later, and notifies all users. Existing users keep
/// theirs.
///
/// # Errors
/// See [`PreferenceError`]; nothing is chosen then.
///
/// # Source
/// Specification, `PATCH /realm/user_settings_defaults`.
pub fn change_default_preferences(
    realm: &RealmSnapshot,
    caller: &User,
    chosen: &[PreferenceChange],
    commit: &mut RealmCommit,
) -> Result<(), PreferenceError> {
    require_administrator(caller)?;
    let news = news(PreferenceScope::Newcomers, &user_settings::default_user_settings(realm), chosen)?;
    if news.is_empty() {
        return Ok(());
    }
    let document = Some(merged(realm.realm_item(RealmItemKind::UserDefaults, 0), &news));
    commit.changes.push(RealmChange::Item { kind: RealmItemKind::UserDefaults, id: 0, document });
    for (property, value) in &news {
        let event =
            json!({"type": "realm_user_settings_defaults", "op": "update", "property": property, "value": value});
        commit.events.push(NewEvent::same_for_everyone(EventAudience::Everyone, event));
    }
    Ok(())
}

/// Lets others see, or see no longer, when a person is there. Says whether that is different from before.
pub(super) fn share_presence(realm: &RealmSnapshot, user: &User, is_shared: bool, commit: &mut RealmCommit) -> bool {
    let is_new = user.bot.is_none() && presence::shares_presence(realm, user.id) != is_shared;
    if is_new {
        change(realm, user, &[(PRESENCE, is_shared.into())], commit);
    }
    is_new
}

/// Those that are otherwise than before, once all are found to be what they can be. Of one that is given twice the
/// last counts.
fn news(
    scope: PreferenceScope,
    before: &Map<String, Value>,
    chosen: &[PreferenceChange],
) -> Result<Vec<PreferenceChange>, PreferenceError> {
    chosen.iter().try_for_each(|(name, value)| check(scope, name, value))?;
    Ok(chosen.iter().filter(|(name, value)| before.get(*name) != Some(value)).cloned().collect())
}

fn change(realm: &RealmSnapshot, user: &User, news: &[PreferenceChange], commit: &mut RealmCommit) {
    if news.is_empty() {
        return;
    }
    let document = merged(realm.user_item(user.id, UserItemKind::Settings, ""), news);
    commit.changes.push(super::only(user.id, UserItemKind::Settings, Some(document)));
    for (name, value) in news {
        if let (true, Some(is_shared)) = (*name == PRESENCE, value.as_bool()) {
            commit.events.extend(presence::presence_sharing_events(user, is_shared, commit.at_s));
        }
        if let (data_exports::CONSENT, Some(consented)) = (*name, value.as_bool()) {
            commit.events.push(data_exports::consent_event(user.id, consented));
        }
        if (*name, value.as_bool()) == (draft::DRAFT_SYNC_SETTING, Some(false)) {
            commit.drafts_gone.push(user.id);
        }
        if let (PREFERENCE, Some(number)) = (*name, value.as_i64()) {
            email_change::changed(realm, user, number, commit);
        }
        tell(user, name, value, commit);
    }
}

/// Notifies the user's own clients of a preference, the older ones in the words of its family.
pub(crate) fn tell(user: &User, name: &str, value: &Value, commit: &mut RealmCommit) {
    let audience = EventAudience::from_users([user.id]);
    let mut event = json!({"type": "user_settings", "op": "update", "property": name, "value": value});
    let family = USER_SETTINGS.iter().find(|(known, ..)| *known == name).map(|(_, family, _)| *family);
    let older = match family {
        Some(LegacySettingGroup::Notification) => {
            Some(json!({"type": "update_global_notifications", "notification_name": name}))
        }
        // The time zone is kept with the user, and told with how things look.
        Some(LegacySettingGroup::Display) | None => {
            Some(json!({"type": "update_display_settings", "setting_name": name}))
        }
        Some(LegacySettingGroup::Other) => None,
    };
    let language = value.as_str().filter(|_| name == "default_language").and_then(language::name);
    let language = language.map_or_else(|| json!({}), |language| json!({"language_name": language}));
    add(&mut event, language.clone());
    commit.events.push(NewEvent::same_for_everyone(audience.clone(), event));
    if let Some(mut older) = older {
        add(&mut older, json!({"user": user.public_email(), "setting": value}));
        add(&mut older, language);
        let gate = QueueCondition::Without(ClientCapability::UserSettingsObject);
        commit.events.push(NewEvent::same_for_everyone(audience, older).with_queue_condition(gate));
    }
}

fn merged(before: Option<&Value>, news: &[PreferenceChange]) -> Value {
    let mut document = before.and_then(Value::as_object).cloned().unwrap_or_default();
    document.extend(news.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    Value::Object(document)
}

/// The allowed values of a user setting beyond its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreferenceRange {
    /// Everything of its type.
    Any,
    /// From 1 to this.
    UpTo(i64),
    /// From the one to the other.
    Between(i64, i64),
    /// Seconds to wait, from 1 to [`MAX_EMAIL_BATCHING_PERIOD_S`].
    Batching,
    /// One of these.
    Words(&'static [&'static str]),
    /// One of these; who names another is told that there is a list.
    ListedWords(&'static [&'static str]),
    /// The code of a language.
    Language,
    /// A name of any kind, of [`MAX_SOUND_NAME_CHARS`] characters at most.
    Name,
}

/// Returns the allowed values of the preference of that name.
///
/// # Source
/// Specification, `PATCH /realm/user_settings_defaults`, and for what it leaves open the numbers existing clients know.
/// Not specified how large things may look; we refuse what no screen shows, which existing servers fail on. They also
/// refuse `dense_mode` beside other sizes than its own; as it has no effect and any subset may be sent, we take it.
#[must_use]
pub fn preference_range(name: &str) -> PreferenceRange {
    match name {
        "color_scheme"
        | "demote_inactive_streams"
        | "realm_name_in_email_notifications_policy"
        | "user_list_style"
        | "web_mark_read_on_scroll_policy"
        | "web_stream_unreads_count_display_policy" => PreferenceRange::UpTo(3),
        "automatically_follow_topics_policy"
        | "automatically_unmute_topics_in_muted_streams_policy"
        | "desktop_icon_count_display"
        | "web_channel_default_view" => PreferenceRange::UpTo(4),
        "email_address_visibility" => PreferenceRange::UpTo(5),
        "email_notifications_batching_period_seconds" => PreferenceRange::Batching,
        "web_font_size_px" => PreferenceRange::Between(1, 200),
        "web_line_height_percent" => PreferenceRange::Between(1, 1_000),
        "web_animate_image_previews" => PreferenceRange::Words(&["always", "on_hover", "never"]),
        "web_home_view" => PreferenceRange::Words(&["recent_topics", "inbox", "all_messages"]),
        "resolved_topic_notice_auto_read_policy" => PreferenceRange::Words(&["always", "except_followed", "never"]),
        "emojiset" => PreferenceRange::ListedWords(&["google", "twitter", "text", "google-blob"]),
        "default_language" => PreferenceRange::Language,
        "notification_sound" => PreferenceRange::Name,
        _ => PreferenceRange::Any,
    }
}

/// Whether the preference can be that. The texts differ as existing clients know them.
fn check(scope: PreferenceScope, name: &'static str, value: &Value) -> Result<(), PreferenceError> {
    let number = value.as_i64().unwrap_or_default();
    let word = value.as_str().unwrap_or_default();
    let ensure = |holds: bool, otherwise: PreferenceError| if holds { Ok(()) } else { Err(otherwise) };
    match preference_range(name) {
        PreferenceRange::Any => Ok(()),
        PreferenceRange::UpTo(last) => {
            let in_short = scope == PreferenceScope::Own && name == "email_address_visibility";
            let refused = if in_short { PreferenceError::NotAWord } else { PreferenceError::NotListed };
            ensure((1..=last).contains(&number), refused(name))
        }
        PreferenceRange::Between(first, last) => {
            ensure(number >= first, PreferenceError::TooSmall(name))?;
            ensure(number <= last, PreferenceError::TooLarge(name))
        }
        PreferenceRange::Batching => {
            ensure((1..=MAX_EMAIL_BATCHING_PERIOD_S).contains(&number), PreferenceError::Batching(number))
        }
        PreferenceRange::Words(words) => ensure(words.contains(&word), PreferenceError::NotAWord(name)),
        PreferenceRange::ListedWords(words) => ensure(words.contains(&word), PreferenceError::NotListed(name)),
        PreferenceRange::Language => ensure(language::name(word).is_some(), PreferenceError::NotAWord(name)),
        PreferenceRange::Name => {
            ensure(!word.trim().is_empty(), PreferenceError::Blank(name))?;
            ensure(word.chars().count() <= MAX_SOUND_NAME_CHARS, PreferenceError::TooLong(name))
        }
    }
}

#[cfg(test)]
mod tests;
