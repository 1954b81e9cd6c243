//! What users answer.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde_json::{Map, Value, json};

use super::data::is_web_address;
use super::kind::ProfileFieldType;
use super::{ProfileField, ProfileFieldError, find_profile_field};
use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::UserId;
use crate::limits::{
    MAX_LINK_PROFILE_VALUE_CHARS, MAX_LONG_PROFILE_VALUE_CHARS, MAX_SHORT_PROFILE_VALUE_CHARS,
    MAX_USERS_PER_PROFILE_VALUE,
};
use crate::model::realm_change::{RealmChange, UserItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::render_context::RenderSettings;
use crate::model::user::User;
use crate::text_processing::printable_names::{find_unprintable_in_name, find_unprintable_in_text};

/// The value of a custom profile field, as sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfileFieldValue {
    /// A text.
    Text(String),
    /// Users.
    People(Vec<UserId>),
}

/// The reason why the value of a profile field is not valid. Variants with one text hold the name of the field. What is
/// named first is the field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileFieldValueError {
    /// There is no such field.
    #[error(transparent)]
    Field(#[from] ProfileFieldError),
    /// Users where a text is wanted.
    #[error("{0} is not a string")]
    NotAString(String),
    /// A text where users are wanted.
    #[error("User IDs is not a list")]
    NotAList,
    /// Too many characters.
    #[error("{name} is too long (limit: {limit} characters)")]
    TooLong {
        /// The field.
        name: String,
        /// Characters allowed.
        limit: usize,
    },
    /// A character no screen shows.
    #[error("Invalid characters in {0}!")]
    InvalidCharacters(String),
    /// None of the options.
    #[error("'{value}' is not a valid choice for '{name}'.")]
    NotAChoice {
        /// What was sent.
        value: String,
        /// The field.
        name: String,
    },
    /// No day, or not as `2026-12-31`.
    #[error("{0} is not a date")]
    NotADate(String),
    /// No whole address.
    #[error("{0} is not a URL")]
    NotAUrl(String),
    /// A user who is named is not there.
    #[error("Invalid user ID: {0}")]
    NoSuchUser(UserId),
    /// A user who is named closed their account.
    #[error("User with ID {0} is deactivated")]
    UserDeactivated(UserId),
    /// A bot is named.
    #[error("User with ID {0} is a bot")]
    IsBot(UserId),
    /// The field is one that administrators answer.
    #[error("You are not allowed to change this field. Contact an administrator to update it.")]
    NotEditable,
    /// More than [`MAX_USERS_PER_PROFILE_VALUE`].
    #[error("{0} cannot name more than {MAX_USERS_PER_PROFILE_VALUE} users")]
    TooManyPeople(String),
}

/// Refuses the answer of a user to a field that administrators answer.
///
/// # Errors
/// [`ProfileFieldValueError::NotEditable`], and when there is no such field.
pub fn check_editable(
    realm: &RealmSnapshot,
    caller: &User,
    ids: impl IntoIterator<Item = i64>,
) -> Result<(), ProfileFieldValueError> {
    for id in ids {
        if !find_profile_field(realm, id)?.editable_by_user && !caller.is_administrator() {
            return Err(ProfileFieldValueError::NotEditable);
        }
    }
    Ok(())
}

/// Sets a user's values of custom profile fields, the last of several for one field; `None` removes a value. Notifies
/// all users of what changed; values that are set already change nothing.
///
/// # Errors
/// When there is no such field, or an answer is none; nothing is to be written then.
pub fn set_profile_values(
    realm: &RealmSnapshot,
    user: &User,
    answers: &[(i64, Option<ProfileFieldValue>)],
    setting: &RenderSettings<'_>,
    commit: &mut RealmCommit,
) -> Result<(), ProfileFieldValueError> {
    for (id, _) in answers {
        find_profile_field(realm, *id)?;
    }
    let answers: BTreeMap<_, _> = answers.iter().map(|(id, answer)| (*id, answer)).collect();
    for (id, answer) in answers {
        let field = find_profile_field(realm, id)?;
        let document = match answer {
            Some(answer) => Some(document(&field, text(realm, &field, answer)?, setting, realm)),
            None => None,
        };
        let now = realm.user_item(user.id, UserItemKind::ProfileValue, &id.to_string());
        if document.as_ref() != now {
            commit.events.push(answer_event(user.id, id, document.as_ref()));
            commit.changes.push(kept(user.id, id, document));
        }
    }
    Ok(())
}

/// Returns the answer as it is kept and shown: `value`, and `rendered_value` where the kind is written as messages are.
fn document(field: &ProfileField, text: String, setting: &RenderSettings<'_>, realm: &RealmSnapshot) -> Value {
    let mut document = Map::new();
    if field.kind.has_rendered_value() {
        document.insert("rendered_value".to_owned(), setting.render_description(realm, &text).into());
    }
    document.insert("value".to_owned(), text.into());
    Value::Object(document)
}

/// Returns the answer as text, when it is one to this field. Users become a JSON list of their numbers.
fn text(
    realm: &RealmSnapshot,
    field: &ProfileField,
    answer: &ProfileFieldValue,
) -> Result<String, ProfileFieldValueError> {
    let name = || field.name.clone();
    let text = match (field.kind, answer) {
        (ProfileFieldType::People, ProfileFieldValue::People(people)) => return checked_people(realm, field, people),
        (ProfileFieldType::People, ProfileFieldValue::Text(_)) => return Err(ProfileFieldValueError::NotAList),
        (_, ProfileFieldValue::People(_)) => return Err(ProfileFieldValueError::NotAString(name())),
        (_, ProfileFieldValue::Text(text)) => text,
    };
    let at_most = |limit: usize| match text.chars().nth(limit) {
        Some(_) => Err(ProfileFieldValueError::TooLong { name: name(), limit }),
        None => Ok(()),
    };
    let unfit = if field.kind == ProfileFieldType::LongText {
        find_unprintable_in_text(text)
    } else {
        find_unprintable_in_name(text)
    };
    if unfit.is_some() {
        return Err(ProfileFieldValueError::InvalidCharacters(name()));
    }
    match field.kind {
        ProfileFieldType::LongText => at_most(MAX_LONG_PROFILE_VALUE_CHARS)?,
        ProfileFieldType::Choice if options(field).get(text.as_str()).is_none() => {
            at_most(MAX_LONG_PROFILE_VALUE_CHARS)?;
            return Err(ProfileFieldValueError::NotAChoice { value: text.clone(), name: name() });
        }
        ProfileFieldType::Date if !is_date(text) => return Err(ProfileFieldValueError::NotADate(name())),
        ProfileFieldType::Link => {
            at_most(MAX_LINK_PROFILE_VALUE_CHARS)?;
            if !is_web_address(text) {
                return Err(ProfileFieldValueError::NotAUrl(name()));
            }
        }
        ProfileFieldType::ShortText | ProfileFieldType::ExternalAccount | ProfileFieldType::Pronouns => {
            at_most(MAX_SHORT_PROFILE_VALUE_CHARS)?;
        }
        ProfileFieldType::Choice | ProfileFieldType::Date | ProfileFieldType::People => {}
    }
    Ok(text.clone())
}

fn checked_people(
    realm: &RealmSnapshot,
    field: &ProfileField,
    people: &[UserId],
) -> Result<String, ProfileFieldValueError> {
    if people.len() > MAX_USERS_PER_PROFILE_VALUE {
        return Err(ProfileFieldValueError::TooManyPeople(field.name.clone()));
    }
    let mut named: Vec<UserId> = Vec::new();
    for id in people {
        let user = realm.user(*id).ok_or(ProfileFieldValueError::NoSuchUser(*id))?;
        if !user.is_active {
            return Err(ProfileFieldValueError::UserDeactivated(*id));
        }
        if user.bot.is_some() {
            return Err(ProfileFieldValueError::IsBot(*id));
        }
        if !named.contains(id) {
            named.push(*id);
        }
    }
    Ok(json!(named).to_string())
}

/// A day as `2026-12-31`, and in no other way.
fn is_date(text: &str) -> bool {
    Date::strptime("%Y-%m-%d", text).is_ok_and(|date| date.strftime("%Y-%m-%d").to_string() == text)
}

/// Returns the options of a field by their keys.
fn options(field: &ProfileField) -> Map<String, Value> {
    serde_json::from_str(&field.field_data).unwrap_or_default()
}

/// Takes back the answers that name an option the field no longer has. Returns the events.
pub(super) fn dropped(
    realm: &RealmSnapshot,
    (id, field): (i64, &ProfileField),
    commit: &mut RealmCommit,
) -> Vec<NewEvent> {
    let options = options(field);
    let is_gone = |answer: &Value| {
        let value = answer.get("value").and_then(Value::as_str);
        value.is_none_or(|value| !options.contains_key(value))
    };
    let mut events = Vec::new();
    for user_id in answered(realm, id, is_gone) {
        commit.changes.push(kept(user_id, id, None));
        events.push(answer_event(user_id, id, None));
    }
    events
}

/// Returns the changes that take back all answers to a field. They have no events: the field is gone, and its
/// answers with it.
pub(super) fn forget(realm: &RealmSnapshot, id: i64) -> Vec<RealmChange> {
    answered(realm, id, |_| true).into_iter().map(|user_id| kept(user_id, id, None)).collect()
}

/// Returns who gave such an answer, in the order of their numbers.
fn answered(realm: &RealmSnapshot, id: i64, such: impl Fn(&Value) -> bool) -> Vec<UserId> {
    let key = id.to_string();
    let given = |user: &User| realm.user_item(user.id, UserItemKind::ProfileValue, &key).is_some_and(&such);
    let mut users: Vec<_> = realm.users().filter(|user| given(user)).map(|user| user.id).collect();
    users.sort_unstable();
    users
}

fn kept(user_id: UserId, id: i64, document: Option<Value>) -> RealmChange {
    RealmChange::UserItem { user_id, kind: UserItemKind::ProfileValue, key: id.to_string(), document }
}

/// Notifies all users an answer, or that there is none any more.
fn answer_event(user_id: UserId, id: i64, document: Option<&Value>) -> NewEvent {
    let mut field = json!({"id": id, "value": null});
    if let Some(document) = document {
        crate::wire_format::add(&mut field, document.clone());
    }
    let person = json!({"user_id": user_id, "custom_profile_field": field});
    NewEvent::same_for_everyone(
        EventAudience::Everyone,
        json!({"type": "realm_user", "op": "update", "person": person}),
    )
}
