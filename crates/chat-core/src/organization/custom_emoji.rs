//! Adding custom emoji and taking them out of use: decisions that become commits.
//!
//! An emoji is a document with `name`, `source_url`, `still_url` (of its first picture when it moves, else null),
//! `deactivated` and `author_id`. It is never removed: messages, reactions and statuses that have it go on showing it.

use serde_json::{Value, json};

use crate::emoji;
use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::limits::{MAX_CUSTOM_EMOJI, MAX_CUSTOM_EMOJI_NAME_CHARS};
use crate::model::realm_change::{RealmChange, RealmItemKind};
use crate::model::realm_permission::RealmPermission;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access::PermissionError;
use crate::permission::group_settings::has_realm_permission;
use crate::wire_format::realm_and_user_items;

/// The folder of custom emoji images, relative to the realm's URL.
pub const CUSTOM_EMOJI_IMAGE_FOLDER: &str = "/user_avatars/1/emoji/images";

/// The reason why custom emoji cannot be added or deactivated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CustomEmojiError {
    /// The caller is not who may.
    #[error(transparent)]
    NotAllowed(#[from] PermissionError),
    /// The name is blank.
    #[error("Emoji name is missing")]
    NameMissing,
    /// The name has a character that no emoji's name has.
    #[error("Emoji names must contain only lowercase English letters, digits, spaces, dashes, and underscores.")]
    NameCharacters,
    /// The name ends as none does.
    #[error("Emoji names must end with either a letter or digit.")]
    NameEnd,
    /// The name has more than [`MAX_CUSTOM_EMOJI_NAME_CHARS`].
    #[error("emoji_name is too long (limit: {MAX_CUSTOM_EMOJI_NAME_CHARS} characters)")]
    NameTooLong,
    /// Another one in use has the name.
    #[error("A custom emoji with this name already exists.")]
    NameTaken,
    /// The name is that of an emoji everybody has.
    #[error("Only administrators can override default emoji.")]
    DefaultOverridden,
    /// There are [`MAX_CUSTOM_EMOJI`] already.
    #[error("An organization has at most {MAX_CUSTOM_EMOJI} custom emoji.")]
    TooMany,
    /// None in use has the name.
    #[error("Emoji '{0}' does not exist")]
    NotFound(String),
    /// The caller neither added it nor is an administrator.
    #[error("Must be an organization administrator or emoji author")]
    NotAuthor,
}

/// The addresses of a custom emoji's images, relative to the realm's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomEmojiImageUrls {
    /// The emoji.
    pub source_url: String,
    /// Its first picture, when it moves.
    pub still_url: Option<String>,
}

/// Checks whether the caller may add a custom emoji of that name, and returns the normalized name. For use before its
/// images are made.
///
/// # Errors
/// See [`CustomEmojiError`].
pub fn check_new_custom_emoji(
    realm: &RealmSnapshot,
    caller: &User,
    written: &str,
    now_s: i64,
) -> Result<String, CustomEmojiError> {
    let name = name(written)?;
    if caller.is_guest() {
        return Err(PermissionError::GuestRefused.into());
    }
    let permitted = has_realm_permission(realm, caller, RealmPermission::AddCustomEmoji, now_s);
    if !permitted {
        return Err(PermissionError::Insufficient.into());
    }
    if in_use(realm, &name).is_some() {
        return Err(CustomEmojiError::NameTaken);
    }
    if emoji::is_default_emoji_name(&name) && !caller.is_administrator() {
        return Err(CustomEmojiError::DefaultOverridden);
    }
    if realm.realm_items(RealmItemKind::Emoji).count() >= MAX_CUSTOM_EMOJI {
        return Err(CustomEmojiError::TooMany);
    }
    Ok(name)
}

/// Adds a custom emoji and returns its id. Its number is the answer.
///
/// # Errors
/// As [`check_new_custom_emoji`]; nothing is to be written then.
pub fn add_custom_emoji(
    realm: &RealmSnapshot,
    caller: &User,
    (written, pictures): (&str, &CustomEmojiImageUrls),
    commit: &mut RealmCommit,
) -> Result<i64, CustomEmojiError> {
    let name = check_new_custom_emoji(realm, caller, written, commit.at_s)?;
    let id = realm.new_realm_item_id(RealmItemKind::Emoji);
    let document = json!({
        "name": name,
        "source_url": pictures.source_url,
        "still_url": pictures.still_url,
        "deactivated": false,
        "author_id": caller.id,
    });
    change(realm, (id, document), commit);
    Ok(id)
}

/// Deactivates a custom emoji; messages that use it keep it. Where it was used it stays.
///
/// # Errors
/// See [`CustomEmojiError`]; nothing is to be written then.
///
/// # Source
/// Specification, `DELETE /realm/emoji/{emoji_name}`.
pub fn deactivate_custom_emoji(
    realm: &RealmSnapshot,
    caller: &User,
    name: &str,
    commit: &mut RealmCommit,
) -> Result<(), CustomEmojiError> {
    let (id, before) = in_use(realm, name).ok_or_else(|| CustomEmojiError::NotFound(name.to_owned()))?;
    let author = before.get("author_id").and_then(Value::as_i64);
    if !caller.is_administrator() && author != Some(caller.id.0) {
        return Err(CustomEmojiError::NotAuthor);
    }
    let mut after = before.clone();
    if let Value::Object(members) = &mut after {
        members.insert("deactivated".to_owned(), true.into());
    }
    change(realm, (id, after), commit);
    Ok(())
}

/// A name as it is kept: blanks inside become underscores.
fn name(written: &str) -> Result<String, CustomEmojiError> {
    let name = written.trim().replace(' ', "_");
    let of_names = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    if name.is_empty() {
        return Err(CustomEmojiError::NameMissing);
    }
    if !name.bytes().all(of_names) {
        return Err(CustomEmojiError::NameCharacters);
    }
    if name.ends_with(['-', '_']) {
        return Err(CustomEmojiError::NameEnd);
    }
    if name.len() > MAX_CUSTOM_EMOJI_NAME_CHARS { Err(CustomEmojiError::NameTooLong) } else { Ok(name) }
}

fn in_use<'a>(realm: &'a RealmSnapshot, name: &str) -> Option<(i64, &'a Value)> {
    let says = |emoji: &Value, key: &str, value: &Value| emoji.get(key) == Some(value);
    let (name, gone) = (Value::from(name), Value::from(true));
    let found = |(_, emoji): &(i64, &Value)| says(emoji, "name", &name) && !says(emoji, "deactivated", &gone);
    realm.realm_items(RealmItemKind::Emoji).find(found)
}

/// Writes an emoji down, and notifies all users of the emoji there are then.
fn change(realm: &RealmSnapshot, (id, document): (i64, Value), commit: &mut RealmCommit) {
    let changes = vec![RealmChange::Item { kind: RealmItemKind::Emoji, id, document: Some(document) }];
    let after = realm.preview_changes(&changes);
    let event = json!({"type": "realm_emoji", "op": "update", "realm_emoji": realm_and_user_items::custom_emoji_objects(&after)});
    commit.events.push(NewEvent::same_for_everyone(EventAudience::Everyone, event));
    commit.changes.extend(changes);
}

#[cfg(test)]
mod tests;
