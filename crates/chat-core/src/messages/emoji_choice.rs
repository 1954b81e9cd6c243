//! An emoji that a user chose: of Unicode, of the realm, or special.

use serde_json::Value;

use crate::emoji::{self, SPECIAL};
use crate::model::message::ReactionType;
use crate::model::realm_change::RealmItemKind;
use crate::model::realm_snapshot::RealmSnapshot;

/// An emoji that a request names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmojiChoice {
    /// The name it was chosen by.
    pub name: String,
    /// Its code.
    pub code: String,
    /// Its kind.
    pub kind: ReactionType,
}

/// The reason why a request does not name an emoji.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmojiChoiceError {
    /// None has the name.
    #[error("Emoji '{0}' does not exist")]
    UnknownName(String),
    /// There is no such kind.
    #[error("Invalid emoji type.")]
    UnknownKind,
    /// None has the code.
    #[error("Invalid emoji code.")]
    UnknownCode,
    /// The emoji of the code has another name.
    #[error("Invalid emoji name.")]
    OtherName,
    /// The realm has none of the number.
    #[error("Invalid custom emoji.")]
    UnknownCustom,
    /// The realm's emoji of the number has another name.
    #[error("Invalid custom emoji name.")]
    OtherCustomName,
    /// The realm's emoji was taken out of use.
    #[error("This custom emoji has been deactivated.")]
    Deactivated,
}

/// Returns the emoji of that name; custom emoji of the realm take precedence, as they may have the name of another.
///
/// # Errors
/// [`EmojiChoiceError::UnknownName`].
pub fn resolve_emoji_by_name(realm: &RealmSnapshot, name: &str) -> Result<EmojiChoice, EmojiChoiceError> {
    let choice = |code: String, kind| Ok(EmojiChoice { name: name.to_owned(), code, kind });
    let custom =
        realm.realm_items(RealmItemKind::Emoji).find(|(_, emoji)| name_of(emoji) == Some(name) && is_active(emoji));
    if let Some((id, _)) = custom {
        return choice(id.to_string(), ReactionType::RealmEmoji);
    }
    if name == SPECIAL {
        return choice(SPECIAL.to_owned(), ReactionType::ExtraEmoji);
    }
    match emoji::emoji_by_name(name) {
        Some(emoji) => choice(emoji.code.to_owned(), ReactionType::UnicodeEmoji),
        None => Err(EmojiChoiceError::UnknownName(name.to_owned())),
    }
}

/// Returns the emoji of that name with the requested code and type, filling in what the request left out.
/// [`check_emoji_exists`] checks that they fit.
///
/// # Errors
/// [`EmojiChoiceError::UnknownName`] when there is something to be found by the name, and
/// [`EmojiChoiceError::UnknownKind`].
pub fn complete_emoji_choice(
    realm: &RealmSnapshot,
    name: &str,
    (code, kind): (Option<&str>, Option<&str>),
) -> Result<EmojiChoice, EmojiChoiceError> {
    let kind = kind.map(|kind| ReactionType::from_wire_name(kind).ok_or(EmojiChoiceError::UnknownKind));
    if let (Some(code), Some(kind)) = (code, kind.clone()) {
        return Ok(EmojiChoice { name: name.to_owned(), code: code.to_owned(), kind: kind? });
    }
    let found = resolve_emoji_by_name(realm, name)?;
    let code = code.map_or(found.code, str::to_owned);
    Ok(EmojiChoice { name: found.name, code, kind: kind.transpose()?.unwrap_or(found.kind) })
}

/// Checks that an active emoji of that code and type, and name if given, exists.
///
/// # Errors
/// See [`EmojiChoiceError`].
pub fn check_emoji_exists(
    realm: &RealmSnapshot,
    (code, kind): (&str, ReactionType),
    name: Option<&str>,
) -> Result<(), EmojiChoiceError> {
    let is_called = |known: Option<&str>| name.is_none_or(|name| known == Some(name));
    match kind {
        ReactionType::RealmEmoji => {
            let id = code.parse().ok().filter(|id: &i64| id.to_string() == code);
            let emoji =
                id.and_then(|id| realm.realm_item(RealmItemKind::Emoji, id)).ok_or(EmojiChoiceError::UnknownCustom)?;
            if !is_called(name_of(emoji)) {
                return Err(EmojiChoiceError::OtherCustomName);
            }
            if name.is_none() || is_active(emoji) { Ok(()) } else { Err(EmojiChoiceError::Deactivated) }
        }
        ReactionType::ExtraEmoji if code != SPECIAL => Err(EmojiChoiceError::UnknownCode),
        ReactionType::ExtraEmoji if is_called(Some(SPECIAL)) => Ok(()),
        ReactionType::ExtraEmoji => Err(EmojiChoiceError::OtherName),
        ReactionType::UnicodeEmoji => {
            let emoji = emoji::emoji_by_code(code).ok_or(EmojiChoiceError::UnknownCode)?;
            let fits = name.is_none_or(|name| emoji.has_name_or_alias(name));
            if fits { Ok(()) } else { Err(EmojiChoiceError::OtherName) }
        }
    }
}

fn name_of(emoji: &Value) -> Option<&str> {
    emoji.get("name").and_then(Value::as_str)
}

fn is_active(emoji: &Value) -> bool {
    emoji.get("deactivated").and_then(Value::as_bool) != Some(true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::testing;

    fn realm() -> RealmSnapshot {
        let emoji = |id, name: &str, gone: bool| RealmChange::Item {
            kind: RealmItemKind::Emoji,
            id,
            document: Some(json!({"id": id.to_string(), "name": name, "deactivated": gone})),
        };
        testing::realm(
            RealmPermissionSettings::default(),
            vec![emoji(7, "tick", false), emoji(8, "gone_away", true), emoji(9, "wave", false)],
        )
    }

    #[test]
    fn a_name_is_the_realms_own_emoji_before_another() {
        let code = |name| resolve_emoji_by_name(&realm(), name).map(|choice| (choice.code, choice.kind));
        assert_eq!(code("tick"), Ok(("7".to_owned(), ReactionType::RealmEmoji)));
        assert_eq!(code("wave"), Ok(("9".to_owned(), ReactionType::RealmEmoji)));
        assert_eq!(code("smile"), Ok(("1f642".to_owned(), ReactionType::UnicodeEmoji)));
        assert_eq!(code("zulip"), Ok(("zulip".to_owned(), ReactionType::ExtraEmoji)));
        assert_eq!(code("gone_away").unwrap_err().to_string(), "Emoji 'gone_away' does not exist");
    }

    #[test]
    fn code_kind_and_name_have_to_fit() {
        let realm = realm();
        let refusal = |code, kind, name| match check_emoji_exists(&realm, (code, kind), Some(name)) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        assert_eq!(refusal("1f44d", ReactionType::UnicodeEmoji, "thumbs_up"), "");
        assert_eq!(refusal("1f44d", ReactionType::UnicodeEmoji, "smile"), "Invalid emoji name.");
        assert_eq!(refusal("1F44D", ReactionType::UnicodeEmoji, "thumbs_up"), "Invalid emoji code.");
        assert_eq!(refusal("7", ReactionType::RealmEmoji, "tick"), "");
        assert_eq!(refusal("07", ReactionType::RealmEmoji, "tick"), "Invalid custom emoji.");
        assert_eq!(refusal("7", ReactionType::RealmEmoji, "gone_away"), "Invalid custom emoji name.");
        assert_eq!(refusal("8", ReactionType::RealmEmoji, "gone_away"), "This custom emoji has been deactivated.");
        assert_eq!(refusal("zulip", ReactionType::ExtraEmoji, "zulip"), "");
        assert_eq!(refusal("1f44d", ReactionType::ExtraEmoji, "zulip"), "Invalid emoji code.");
        assert_eq!(refusal("zulip", ReactionType::ExtraEmoji, "smile"), "Invalid emoji name.");
        assert_eq!(check_emoji_exists(&realm, ("8", ReactionType::RealmEmoji), None), Ok(()));
    }
}
