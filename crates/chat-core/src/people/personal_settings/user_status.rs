//! What a user says they are doing: a few words, an emoji, and whether they want to be seen at all.

use serde_json::{Map, Value, json};

use super::preferences;
use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::UserId;
use crate::messages::emoji_choice::{EmojiChoice, EmojiChoiceError, check_emoji_exists, complete_emoji_choice};
use crate::messages::reaction::RequestedEmoji;
use crate::model::message::ReactionType;
use crate::model::realm_change::UserItemKind;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::people::presence;
use crate::permission::access::PermissionError;
use crate::text_processing::printable_names::find_unprintable_in_name;
use crate::wire_format::add;

/// The fields of a user's status to change. What is not given stays as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct UserStatusUpdate<'a> {
    /// The words; an empty text clears them.
    pub text: Option<&'a str>,
    /// The emoji; an empty name clears it.
    pub emoji: RequestedEmoji<'a>,
    /// Whether the user does not want to be seen: the opposite of the preference `presence_enabled`.
    pub away: Option<bool>,
}

/// The reason why a status is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UserStatusError {
    /// The caller may not set the status of others.
    #[error(transparent)]
    NotAllowed(#[from] PermissionError),
    /// There is no such person.
    #[error("No such user")]
    NoSuchUser,
    /// The account of that person is closed.
    #[error("User is deactivated")]
    Deactivated,
    /// Nothing is to be different.
    #[error("Client did not pass any new values.")]
    NothingNew,
    /// A character no screen shows.
    #[error("Invalid characters in status_text!")]
    InvalidCharacters,
    /// Half an emoji.
    #[error("Client must pass emoji_name if they pass either emoji_code or reaction_type.")]
    EmojiNameless,
    /// There is no such emoji.
    #[error(transparent)]
    Emoji(#[from] EmojiChoiceError),
}

/// Updates the given parts of a user's status, and notifies all users of only what changed.
///
/// # Errors
/// See [`UserStatusError`].
///
/// # Source
/// Specification, `POST /users/me/status`.
pub fn update_user_status(
    realm: &RealmSnapshot,
    user: &User,
    update: UserStatusUpdate<'_>,
    commit: &mut RealmCommit,
) -> Result<(), UserStatusError> {
    if update.text.is_none() && update.emoji.name.is_none() && update.away.is_none() {
        return Err(UserStatusError::NothingNew);
    }
    if update.text.is_some_and(|text| find_unprintable_in_name(text).is_some()) {
        return Err(UserStatusError::InvalidCharacters);
    }
    let before = StoredStatus::of(realm, user.id);
    let after = StoredStatus {
        text: update.text.unwrap_or(&before.text).to_owned(),
        emoji: if is_asked_for(update.emoji)? { named(realm, update.emoji)? } else { before.emoji.clone() },
    };
    let mut news = Map::new();
    if let Some(away) = update.away.filter(|away| preferences::share_presence(realm, user, !*away, commit)) {
        news.insert("away".to_owned(), away.into());
    }
    if after.text != before.text {
        news.insert("status_text".to_owned(), after.text.as_str().into());
    }
    if after.emoji != before.emoji {
        news.extend(emoji_keys(after.emoji.as_ref()));
    }
    if after != before {
        commit.changes.push(super::only(user.id, UserItemKind::Status, after.document()));
    }
    if !news.is_empty() {
        commit.events.push(status_event(user.id, news));
    }
    Ok(())
}

/// Changes the status of another person for them.
///
/// # Errors
/// See [`UserStatusError`].
///
/// # Source
/// Not specified; feature level 407 of the API, as existing clients know it.
pub fn set_for(
    realm: &RealmSnapshot,
    caller: &User,
    (user_id, update): (UserId, UserStatusUpdate<'_>),
    commit: &mut RealmCommit,
) -> Result<(), UserStatusError> {
    if caller.bot.is_some() || !caller.is_administrator() {
        return Err(PermissionError::Insufficient.into());
    }
    let user = realm.user(user_id).filter(|user| user.bot.is_none()).ok_or(UserStatusError::NoSuchUser)?;
    if !user.is_active {
        return Err(UserStatusError::Deactivated);
    }
    update_user_status(realm, user, update, commit)
}

/// Returns the user's status as clients see it, without unset fields.
#[must_use]
pub fn user_status_object(realm: &RealmSnapshot, user: &User) -> Map<String, Value> {
    let said = realm.user_item(user.id, UserItemKind::Status, "").and_then(Value::as_object);
    let mut shown = said.cloned().unwrap_or_default();
    if user.bot.is_none() && !presence::shares_presence(realm, user.id) {
        shown.insert("away".to_owned(), true.into());
    }
    shown
}

/// Notifies all users of what is different.
pub(super) fn status_event(user_id: UserId, news: Map<String, Value>) -> NewEvent {
    let mut event = json!({"type": "user_status", "user_id": user_id});
    add(&mut event, Value::Object(news));
    NewEvent::same_for_everyone(EventAudience::Everyone, event)
}

/// Returns whether there shall be another emoji, or none.
fn is_asked_for(emoji: RequestedEmoji<'_>) -> Result<bool, UserStatusError> {
    let is_half = emoji.name.is_none() && (emoji.code.is_some() || emoji.kind.is_some());
    if is_half { Err(UserStatusError::EmojiNameless) } else { Ok(emoji.name.is_some()) }
}

/// Returns the emoji that shall be; `None` for an empty name.
fn named(realm: &RealmSnapshot, emoji: RequestedEmoji<'_>) -> Result<Option<EmojiChoice>, UserStatusError> {
    let Some(name) = emoji.name.filter(|name| !name.is_empty()) else { return Ok(None) };
    let choice = complete_emoji_choice(realm, name, (emoji.code, emoji.kind))?;
    check_emoji_exists(realm, (&choice.code, choice.kind), Some(name))?;
    Ok(Some(choice))
}

/// What a user said themselves.
#[derive(Debug, PartialEq, Eq)]
struct StoredStatus {
    text: String,
    emoji: Option<EmojiChoice>,
}

impl StoredStatus {
    fn of(realm: &RealmSnapshot, user_id: UserId) -> Self {
        let document = realm.user_item(user_id, UserItemKind::Status, "");
        let text = |key: &str| document.and_then(|document| document.get(key)).and_then(Value::as_str);
        let emoji = || {
            let (name, code) = (text("emoji_name")?.to_owned(), text("emoji_code")?.to_owned());
            Some(EmojiChoice { name, code, kind: ReactionType::from_wire_name(text("reaction_type")?)? })
        };
        Self { text: text("status_text").unwrap_or_default().to_owned(), emoji: emoji() }
    }

    /// Returns what is kept of it: what is set, as it is shown.
    fn document(&self) -> Option<Value> {
        let mut kept = Map::new();
        if !self.text.is_empty() {
            kept.insert("status_text".to_owned(), self.text.as_str().into());
        }
        if self.emoji.is_some() {
            kept.extend(emoji_keys(self.emoji.as_ref()));
        }
        (!kept.is_empty()).then_some(Value::Object(kept))
    }
}

/// An emoji as clients know it; no emoji is one without name and code.
fn emoji_keys(emoji: Option<&EmojiChoice>) -> Map<String, Value> {
    let (name, code) = emoji.map_or(("", ""), |emoji| (&emoji.name, &emoji.code));
    let kind = emoji.map_or(ReactionType::UnicodeEmoji, |emoji| emoji.kind).wire_name();
    [("emoji_name", name), ("emoji_code", code), ("reaction_type", kind)]
        .map(|(key, text)| (key.to_owned(), Value::from(text)))
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_log::event::{EventBody, LogRecord};
    use crate::id::EventId;
    use crate::model::realm::RealmPermissionSettings;
    use crate::testing;

    /// Returns what is so after each update of user 4, and what is refusal of it as `user_status`.
    fn after(updates: &[UserStatusUpdate<'_>]) -> (Map<String, Value>, Vec<Value>) {
        let mut realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let mut said = Vec::new();
        for update in updates {
            let mut commit = RealmCommit { at_s: 9, ..RealmCommit::default() };
            update_user_status(&realm, realm.user(UserId(4)).unwrap(), *update, &mut commit).unwrap();
            said.extend(commit.events.iter().filter_map(|event| match &event.body {
                EventBody::Plain { kind, event } => (kind == "user_status").then(|| event.clone()),
                EventBody::Message(_) | EventBody::Edit { .. } | EventBody::Flagged(_) => None,
            }));
            let at = EventId(realm.log_position().0 + 1);
            realm = realm.after_record(&LogRecord::new(at, 0, commit.changes, None));
        }
        (user_status_object(&realm, realm.user(UserId(4)).unwrap()), said)
    }

    fn text(text: &str) -> UserStatusUpdate<'_> {
        UserStatusUpdate { text: Some(text), ..UserStatusUpdate::default() }
    }

    fn emoji(name: &str) -> UserStatusUpdate<'_> {
        UserStatusUpdate {
            emoji: RequestedEmoji { name: Some(name), ..RequestedEmoji::default() },
            ..UserStatusUpdate::default()
        }
    }

    #[test]
    fn what_is_not_given_stays_as_it_is() {
        let (status, said) = after(&[text("in surgery"), emoji("+1"), text("in surgery"), text("")]);
        let thumb = json!({"emoji_name": "+1", "emoji_code": "1f44d", "reaction_type": "unicode_emoji"});
        assert_eq!(Value::Object(status), thumb);
        let of = |more: Value| {
            let mut event = json!({"type": "user_status", "user_id": 4});
            add(&mut event, more);
            event
        };
        assert_eq!(said, [of(json!({"status_text": "in surgery"})), of(thumb), of(json!({"status_text": ""}))]);
    }

    #[test]
    fn an_emoji_without_a_name_is_none() {
        let (status, said) = after(&[emoji("+1"), emoji("")]);
        assert_eq!(status.len(), 0);
        let none = json!({
            "type": "user_status", "user_id": 4, "emoji_name": "", "emoji_code": "", "reaction_type": "unicode_emoji",
        });
        assert_eq!(said.last(), Some(&none));
    }

    #[test]
    fn away_is_the_opposite_of_being_seen() {
        let away = |away| UserStatusUpdate { away: Some(away), ..UserStatusUpdate::default() };
        let (status, said) = after(&[away(true), away(true)]);
        assert_eq!(Value::Object(status), json!({"away": true}));
        assert_eq!(said, [json!({"type": "user_status", "user_id": 4, "away": true})]);
        let (status, said) = after(&[away(true), away(false)]);
        assert_eq!((status.len(), &said[1]["away"]), (0, &json!(false)));
    }

    #[test]
    fn half_an_emoji_and_nothing_at_all_are_refused() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let refusal = |update| {
            let mut commit = RealmCommit::default();
            let refused = update_user_status(&realm, realm.user(UserId(4)).unwrap(), update, &mut commit).unwrap_err();
            assert!(commit.changes.is_empty() && commit.events.is_empty());
            refused.to_string()
        };
        assert_eq!(refusal(UserStatusUpdate::default()), "Client did not pass any new values.");
        let code = RequestedEmoji { code: Some("1f44d"), ..RequestedEmoji::default() };
        assert_eq!(
            refusal(UserStatusUpdate { emoji: code, ..UserStatusUpdate::default() }),
            "Client did not pass any new values."
        );
        assert_eq!(
            refusal(UserStatusUpdate { emoji: code, ..text("x") }),
            "Client must pass emoji_name if they pass either emoji_code or reaction_type."
        );
        let other = RequestedEmoji { name: Some("smile"), ..code };
        assert_eq!(refusal(UserStatusUpdate { emoji: other, ..UserStatusUpdate::default() }), "Invalid emoji name.");
    }
}
