//! Custom profile fields: the questions a realm asks about its users, and what they answer.
//!
//! A field is a document of the realm, an answer a document of its user under the field's number. Both are kept as
//! clients are shown them, so that nothing is worked out when they are read.

mod accounts;
mod answer;
mod data;
mod edit;
mod kind;

pub use accounts::{EXTERNAL_ACCOUNT_TYPES, ExternalAccountType};
pub use answer::{ProfileFieldValue, ProfileFieldValueError, check_editable, set_profile_values};
pub use data::{ProfileFieldData, ProfileFieldDataError};
pub use edit::{
    NewProfileField, ProfileFieldUpdate, create_profile_field, remove_profile_field, reorder_profile_fields,
    update_profile_field,
};
pub use kind::ProfileFieldType;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::limits::{
    MAX_PROFILE_FIELD_HINT_CHARS, MAX_PROFILE_FIELD_NAME_CHARS, MAX_PROFILE_FIELDS, MAX_SUMMARY_PROFILE_FIELDS,
};
use crate::model::realm_change::RealmItemKind;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::permission::access::PermissionError;

/// A custom profile field.
///
/// # Source
/// Specification, "Custom profile field".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileField {
    /// The question.
    pub name: String,
    /// What kind of answer it wants.
    #[serde(rename = "type")]
    pub kind: ProfileFieldType,
    /// A word of help for who answers.
    pub hint: String,
    /// What can be chosen from, or which account is meant: JSON, or empty where the kind needs none.
    pub field_data: String,
    /// Its place among the fields.
    pub order: i64,
    /// Whether clients ask people to answer it.
    pub required: bool,
    /// Whether the answer stands in the short form of a profile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub display_in_profile_summary: bool,
    /// Whether people answer it themselves; otherwise administrators answer it for them.
    #[serde(default = "editable")]
    pub editable_by_user: bool,
}

/// What a field is that was stored before there was a choice.
fn editable() -> bool {
    true
}

/// The reason why a custom profile field is not created, changed or removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileFieldError {
    /// The caller is not who may.
    #[error(transparent)]
    NotAllowed(#[from] PermissionError),
    /// There is no such field.
    #[error("Field id {0} not found.")]
    NoSuchField(i64),
    /// The short form of a profile is full.
    #[error("Only {MAX_SUMMARY_PROFILE_FIELDS} custom profile fields can be displayed in the profile summary.")]
    SummaryFull,
    /// The short form of a profile does not show answers of this kind.
    #[error("Field type not supported for display in profile summary.")]
    SummaryRefused,
    /// No such kind of answer.
    #[error("Invalid field type.")]
    NoSuchKind,
    /// What belongs to the kind is not as it should be.
    #[error(transparent)]
    Data(#[from] ProfileFieldDataError),
    /// No name.
    #[error("Label cannot be blank.")]
    NameBlank,
    /// More than [`MAX_PROFILE_FIELD_NAME_CHARS`].
    #[error("name is too long (limit: {MAX_PROFILE_FIELD_NAME_CHARS} characters)")]
    NameTooLong,
    /// More than [`MAX_PROFILE_FIELD_HINT_CHARS`].
    #[error("hint is too long (limit: {MAX_PROFILE_FIELD_HINT_CHARS} characters)")]
    HintTooLong,
    /// A character no screen shows.
    #[error("Invalid characters in {0}!")]
    InvalidCharacters(&'static str),
    /// Another field has the name.
    #[error("A field with that label already exists.")]
    NameTaken,
    /// More than [`MAX_PROFILE_FIELDS`].
    #[error("Cannot have more than {MAX_PROFILE_FIELDS} custom profile fields.")]
    TooMany,
    /// A field of a known account says what that account says.
    #[error("Default custom field cannot be updated.")]
    DefaultUnchangeable,
    /// Not every field exactly once.
    #[error("Invalid order mapping.")]
    NotAnOrder,
}

/// Returns the custom profile field of that id, or an error.
///
/// # Errors
/// When there is none.
pub fn find_profile_field(realm: &RealmSnapshot, id: i64) -> Result<ProfileField, ProfileFieldError> {
    let field = realm.realm_item(RealmItemKind::ProfileField, id).and_then(read);
    field.ok_or(ProfileFieldError::NoSuchField(id))
}

/// Returns all custom profile fields with their ids, in their order.
#[must_use]
pub fn profile_fields_in_order(realm: &RealmSnapshot) -> Vec<(i64, ProfileField)> {
    let fields =
        realm.realm_items(RealmItemKind::ProfileField).filter_map(|(id, document)| Some((id, read(document)?)));
    let mut fields: Vec<_> = fields.collect();
    fields.sort_by_key(|(id, field)| (field.order, *id));
    fields
}

/// Returns all custom profile fields in their order, as `GET /realm/profile_fields` returns them: without `field_data`
/// for pronouns, which never have any. In the initial state of a queue and in events it is there, empty: existing
/// clients do not start without it.
///
/// # Source
/// Specification, "Custom profile field".
#[must_use]
pub fn profile_field_objects(realm: &RealmSnapshot) -> Vec<Value> {
    let listed = |(id, field): &(i64, ProfileField)| {
        let mut shown = shown(*id, field);
        if let (ProfileFieldType::Pronouns, Value::Object(members)) = (field.kind, &mut shown) {
            members.remove("field_data");
        }
        shown
    };
    profile_fields_in_order(realm).iter().map(listed).collect()
}

fn read(document: &Value) -> Option<ProfileField> {
    ProfileField::deserialize(document).ok()
}

/// A field as clients are shown it.
fn shown(id: i64, field: &ProfileField) -> Value {
    let mut shown = json!(field);
    crate::wire_format::add(&mut shown, json!({"id": id}));
    shown
}

#[cfg(test)]
mod tests;
