//! What administrators make of the fields.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::accounts::ExternalAccountType;
use super::answer::{dropped, forget};
use super::data::{ProfileFieldData, encoded, known_account};
use super::kind::ProfileFieldType;
use super::{ProfileField, ProfileFieldError, find_profile_field, profile_fields_in_order, shown};
use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::limits::{
    MAX_PROFILE_FIELD_HINT_CHARS, MAX_PROFILE_FIELD_NAME_CHARS, MAX_PROFILE_FIELDS, MAX_SUMMARY_PROFILE_FIELDS,
};
use crate::model::realm_change::{RealmChange, RealmItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access;
use crate::text_processing::printable_names::find_unprintable_in_name;

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
    pub data: ProfileFieldData,
    /// Whether the answer stands in the short form of a profile.
    pub in_summary: bool,
    /// Whether clients ask people to answer it.
    pub required: bool,
    /// Whether administrators alone answer it.
    pub only_administrators_answer: bool,
}

/// Creates a custom profile field after the others, notifies all users, and returns its id.
///
/// # Errors
/// See [`ProfileFieldError`]; nothing is to be written then.
///
/// # Source
/// Specification, `POST /realm/profile_fields`.
pub fn create_profile_field(
    realm: &RealmSnapshot,
    caller: &User,
    new: &NewProfileField,
    commit: &mut RealmCommit,
) -> Result<i64, ProfileFieldError> {
    access::require_administrator(caller)?;
    let before = profile_fields_in_order(realm);
    if new.in_summary {
        check_summary_room(&before)?;
    }
    let kind = ProfileFieldType::try_from(new.kind);
    let field_data = kind.map_or(Ok(String::new()), |kind| encoded(kind, &new.data))?;
    let account = known_account(&new.data).filter(|_| kind == Ok(ProfileFieldType::ExternalAccount));
    let (name, hint) = account.map_or((new.name.trim(), new.hint.trim()), |account| (account.name, account.hint));
    check_words(name, hint)?;
    let kind = kind.map_err(|_| ProfileFieldError::NoSuchKind)?;
    if new.in_summary && !kind.can_display_in_summary() {
        return Err(ProfileFieldError::SummaryRefused);
    }
    if before.len() >= MAX_PROFILE_FIELDS {
        return Err(ProfileFieldError::TooMany);
    }
    check_free(&before, name)?;
    let id = realm.new_realm_item_id(RealmItemKind::ProfileField);
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
    pub data: Option<ProfileFieldData>,
    /// Whether the answer stands in the short form of a profile.
    pub in_summary: Option<bool>,
    /// Whether clients ask people to answer it.
    pub required: Option<bool>,
    /// Whether people answer it themselves.
    pub editable_by_user: Option<bool>,
}

/// Changes a custom profile field and notifies all users. Values that are set already change nothing.
///
/// # Errors
/// See [`ProfileFieldError`]; nothing is to be written then.
pub fn update_profile_field(
    realm: &RealmSnapshot,
    caller: &User,
    (id, update): (i64, &ProfileFieldUpdate),
    commit: &mut RealmCommit,
) -> Result<(), ProfileFieldError> {
    access::require_administrator(caller)?;
    let before = find_profile_field(realm, id)?;
    let mut all = profile_fields_in_order(realm);
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
) -> Result<ProfileField, ProfileFieldError> {
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
        return Err(ProfileFieldError::DefaultUnchangeable);
    }
    check_words(&after.name, &after.hint)?;
    if after.display_in_profile_summary && !after.kind.can_display_in_summary() {
        return Err(ProfileFieldError::SummaryRefused);
    }
    if after.name != before.name {
        check_free(all, &after.name)?;
    }
    after.required = update.required.unwrap_or(before.required);
    after.editable_by_user = update.editable_by_user.unwrap_or(before.editable_by_user);
    Ok(after)
}

/// Puts the custom profile fields into the given order, and notifies all users.
///
/// # Errors
/// When not every field is named exactly once; nothing is to be written then.
pub fn reorder_profile_fields(
    realm: &RealmSnapshot,
    caller: &User,
    order: &[i64],
    commit: &mut RealmCommit,
) -> Result<(), ProfileFieldError> {
    access::require_administrator(caller)?;
    let mut all = profile_fields_in_order(realm);
    let named: BTreeSet<_> = order.iter().copied().collect();
    let there: BTreeSet<_> = all.iter().map(|(id, _)| *id).collect();
    if named != there || order.len() != there.len() {
        return Err(ProfileFieldError::NotAnOrder);
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

/// Removes a custom profile field with all its values, and notifies all users.
///
/// # Errors
/// See [`ProfileFieldError`]; nothing is to be written then.
pub fn remove_profile_field(
    realm: &RealmSnapshot,
    caller: &User,
    id: i64,
    commit: &mut RealmCommit,
) -> Result<(), ProfileFieldError> {
    access::require_administrator(caller)?;
    find_profile_field(realm, id)?;
    let mut all = profile_fields_in_order(realm);
    all.retain(|(other, _)| *other != id);
    commit.changes.push(RealmChange::Item { kind: RealmItemKind::ProfileField, id, document: None });
    commit.changes.extend(forget(realm, id));
    put(&all, &[], commit);
    Ok(())
}

/// Writes down those of the fields that changed, and notifies all users of all.
fn put(all: &[(i64, ProfileField)], changed: &[i64], commit: &mut RealmCommit) {
    for (id, field) in all.iter().filter(|(id, _)| changed.contains(id)) {
        let document = Some(json!(field));
        commit.changes.push(RealmChange::Item { kind: RealmItemKind::ProfileField, id: *id, document });
    }
    let shown: Vec<Value> = all.iter().map(|(id, field)| shown(*id, field)).collect();
    let event = json!({"type": "custom_profile_fields", "fields": shown});
    commit.events.push(NewEvent::same_for_everyone(EventAudience::Everyone, event));
}

/// Returns the known account the field asks for.
fn account_of(field: &ProfileField) -> Option<&'static ExternalAccountType> {
    let data: ProfileFieldData = serde_json::from_str(&field.field_data).ok()?;
    known_account(&data).filter(|_| field.kind == ProfileFieldType::ExternalAccount)
}

fn check_summary_room(all: &[(i64, ProfileField)]) -> Result<(), ProfileFieldError> {
    let count = all.iter().filter(|(_, field)| field.display_in_profile_summary).count();
    if count >= MAX_SUMMARY_PROFILE_FIELDS { Err(ProfileFieldError::SummaryFull) } else { Ok(()) }
}

fn check_words(name: &str, hint: &str) -> Result<(), ProfileFieldError> {
    if name.is_empty() {
        return Err(ProfileFieldError::NameBlank);
    }
    if hint.chars().nth(MAX_PROFILE_FIELD_HINT_CHARS).is_some() {
        return Err(ProfileFieldError::HintTooLong);
    }
    if name.chars().nth(MAX_PROFILE_FIELD_NAME_CHARS).is_some() {
        return Err(ProfileFieldError::NameTooLong);
    }
    for (what, text) in [("name", name), ("hint", hint)] {
        if find_unprintable_in_name(text).is_some() {
            return Err(ProfileFieldError::InvalidCharacters(what));
        }
    }
    Ok(())
}

fn check_free(all: &[(i64, ProfileField)], name: &str) -> Result<(), ProfileFieldError> {
    let taken = all.iter().any(|(_, field)| field.name == name);
    if taken { Err(ProfileFieldError::NameTaken) } else { Ok(()) }
}
