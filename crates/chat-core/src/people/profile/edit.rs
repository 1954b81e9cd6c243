//! What administrators make of the fields.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::accounts::ExternalAccountType;
use super::answer::{dropped, forget};
use super::data::{FieldData, encoded, known_account};
use super::kind::ProfileFieldType;
use super::{ProfileError, ProfileField, fields, known, shown};
use crate::limits::{MAX_FIELD_HINT_CHARS, MAX_FIELD_NAME_CHARS, MAX_PROFILE_FIELDS, MAX_SUMMARY_FIELDS};
use crate::log::commit::RealmCommit;
use crate::log::event::{EventAudience, NewEvent};
use crate::model::change::{ItemKind, RealmChange};
use crate::model::snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access;
use crate::text::printable::unprintable;

/// A custom profile field to create.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewProfileField {
    /// The question, as typed. A field of a known account is called as that account is.
    pub name: String,
    /// A word of help, as typed.
    pub hint: String,
    /// The number of its kind.
    pub kind: i64,
    /// What belongs to it.
    pub data: FieldData,
    /// Whether the answer stands in the short form of a profile.
    pub in_summary: bool,
    /// Whether clients ask people to answer it.
    pub required: bool,
    /// Whether administrators alone answer it.
    pub only_administrators_answer: bool,
}

/// Makes a field behind the others, notifies all users, and returns its number.
///
/// # Errors
/// See [`ProfileError`]; nothing is to be written then.
///
/// # Source
/// Specification, `POST /realm/profile_fields`.
pub fn create(
    realm: &RealmSnapshot,
    caller: &User,
    new: &NewProfileField,
    commit: &mut RealmCommit,
) -> Result<i64, ProfileError> {
    access::require_administrator(caller)?;
    let before = fields(realm);
    if new.in_summary {
        check_summary_room(&before)?;
    }
    let kind = ProfileFieldType::try_from(new.kind);
    let field_data = kind.map_or(Ok(String::new()), |kind| encoded(kind, &new.data))?;
    let account = known_account(&new.data).filter(|_| kind == Ok(ProfileFieldType::ExternalAccount));
    let (name, hint) = account.map_or((new.name.trim(), new.hint.trim()), |account| (account.name, account.hint));
    check_words(name, hint)?;
    let kind = kind.map_err(|_| ProfileError::NoSuchKind)?;
    if new.in_summary && !kind.fits_summary() {
        return Err(ProfileError::SummaryRefused);
    }
    if before.len() >= MAX_PROFILE_FIELDS {
        return Err(ProfileError::TooMany);
    }
    check_free(&before, name)?;
    let id = realm.new_item_id(ItemKind::ProfileField);
    let field = ProfileField {
        name: name.to_owned(),
        kind,
        hint: hint.to_owned(),
        field_data,
        order: id,
        required: new.required,
        display_in_profile_summary: new.in_summary,
        editable_by_user: !new.only_administrators_answer,
    };
    let mut after = before;
    after.push((id, field));
    put(&after, &[id], commit);
    Ok(id)
}

/// The properties of a custom profile field to change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProfileFieldUpdate {
    /// The question, as typed.
    pub name: Option<String>,
    /// A word of help, as typed.
    pub hint: Option<String>,
    /// What belongs to it. Answers that name an option which is gone go with it.
    pub data: Option<FieldData>,
    /// Whether the answer stands in the short form of a profile.
    pub in_summary: Option<bool>,
    /// Whether clients ask people to answer it.
    pub required: Option<bool>,
    /// Whether people answer it themselves.
    pub editable_by_user: Option<bool>,
}

/// Changes a field, and notifies all users. What is so already changes nothing.
///
/// # Errors
/// See [`ProfileError`]; nothing is to be written then.
pub fn update(
    realm: &RealmSnapshot,
    caller: &User,
    (id, update): (i64, &ProfileFieldUpdate),
    commit: &mut RealmCommit,
) -> Result<(), ProfileError> {
    access::require_administrator(caller)?;
    let before = known(realm, id)?;
    let mut all = fields(realm);
    let after = changed(&all, &before, update)?;
    if after != before {
        let is_choice = after.kind == ProfileFieldType::Choice && after.field_data != before.field_data;
        let gone = if is_choice { dropped(realm, (id, &after), commit) } else { Vec::new() };
        all.iter_mut().filter(|(other, _)| *other == id).for_each(|(_, field)| *field = after.clone());
        put(&all, &[id], commit);
        commit.events.extend(gone);
    }
    Ok(())
}

fn changed(
    all: &[(i64, ProfileField)],
    before: &ProfileField,
    update: &ProfileFieldUpdate,
) -> Result<ProfileField, ProfileError> {
    let mut after = before.clone();
    if let Some(in_summary) = update.in_summary {
        if in_summary && !before.display_in_profile_summary {
            check_summary_room(all)?;
        }
        after.display_in_profile_summary = in_summary;
    }
    if let Some(data) = &update.data {
        after.field_data = encoded(before.kind, data)?;
    }
    let trimmed = |text: &Option<String>, now: &str| text.as_deref().map_or(now, str::trim).to_owned();
    (after.name, after.hint) = (trimmed(&update.name, &before.name), trimmed(&update.hint, &before.hint));
    let words = |field: &ProfileField| (field.name.clone(), field.hint.clone(), field.field_data.clone());
    if account_of(before).is_some() && words(&after) != words(before) {
        return Err(ProfileError::DefaultUnchangeable);
    }
    check_words(&after.name, &after.hint)?;
    if after.display_in_profile_summary && !after.kind.fits_summary() {
        return Err(ProfileError::SummaryRefused);
    }
    if after.name != before.name {
        check_free(all, &after.name)?;
    }
    after.required = update.required.unwrap_or(before.required);
    after.editable_by_user = update.editable_by_user.unwrap_or(before.editable_by_user);
    Ok(after)
}

/// Puts the fields into the order of these numbers, and notifies all users.
///
/// # Errors
/// When not every field is named exactly once; nothing is to be written then.
pub fn reorder(
    realm: &RealmSnapshot,
    caller: &User,
    order: &[i64],
    commit: &mut RealmCommit,
) -> Result<(), ProfileError> {
    access::require_administrator(caller)?;
    let mut all = fields(realm);
    let named: BTreeSet<_> = order.iter().copied().collect();
    let there: BTreeSet<_> = all.iter().map(|(id, _)| *id).collect();
    if named != there || order.len() != there.len() {
        return Err(ProfileError::NotAnOrder);
    }
    let mut moved = Vec::new();
    for (place, id) in (0..).zip(order) {
        for (_, field) in all.iter_mut().filter(|(other, field)| other == id && field.order != place) {
            field.order = place;
            moved.push(*id);
        }
    }
    all.sort_by_key(|(id, field)| (field.order, *id));
    if !moved.is_empty() {
        put(&all, &moved, commit);
    }
    Ok(())
}

/// Removes a field with all answers to it, and notifies all users.
///
/// # Errors
/// See [`ProfileError`]; nothing is to be written then.
pub fn remove(realm: &RealmSnapshot, caller: &User, id: i64, commit: &mut RealmCommit) -> Result<(), ProfileError> {
    access::require_administrator(caller)?;
    known(realm, id)?;
    let mut all = fields(realm);
    all.retain(|(other, _)| *other != id);
    commit.changes.push(RealmChange::Item { kind: ItemKind::ProfileField, id, document: None });
    commit.changes.extend(forget(realm, id));
    put(&all, &[], commit);
    Ok(())
}

/// Writes down those of the fields that changed, and notifies all users of all.
fn put(all: &[(i64, ProfileField)], changed: &[i64], commit: &mut RealmCommit) {
    for (id, field) in all.iter().filter(|(id, _)| changed.contains(id)) {
        let document = Some(json!(field));
        commit.changes.push(RealmChange::Item { kind: ItemKind::ProfileField, id: *id, document });
    }
    let shown: Vec<Value> = all.iter().map(|(id, field)| shown(*id, field)).collect();
    let event = json!({"type": "custom_profile_fields", "fields": shown});
    commit.events.push(NewEvent::plain(EventAudience::Everyone, event));
}

/// Returns the known account the field asks for.
fn account_of(field: &ProfileField) -> Option<&'static ExternalAccountType> {
    let data: FieldData = serde_json::from_str(&field.field_data).ok()?;
    known_account(&data).filter(|_| field.kind == ProfileFieldType::ExternalAccount)
}

fn check_summary_room(all: &[(i64, ProfileField)]) -> Result<(), ProfileError> {
    let count = all.iter().filter(|(_, field)| field.display_in_profile_summary).count();
    if count >= MAX_SUMMARY_FIELDS { Err(ProfileError::SummaryFull) } else { Ok(()) }
}

fn check_words(name: &str, hint: &str) -> Result<(), ProfileError> {
    if name.is_empty() {
        return Err(ProfileError::NameBlank);
    }
    if hint.chars().nth(MAX_FIELD_HINT_CHARS).is_some() {
        return Err(ProfileError::HintTooLong);
    }
    if name.chars().nth(MAX_FIELD_NAME_CHARS).is_some() {
        return Err(ProfileError::NameTooLong);
    }
    for (what, text) in [("name", name), ("hint", hint)] {
        if unprintable(text).is_some() {
            return Err(ProfileError::InvalidCharacters(what));
        }
    }
    Ok(())
}

fn check_free(all: &[(i64, ProfileField)], name: &str) -> Result<(), ProfileError> {
    let taken = all.iter().any(|(_, field)| field.name == name);
    if taken { Err(ProfileError::NameTaken) } else { Ok(()) }
}
