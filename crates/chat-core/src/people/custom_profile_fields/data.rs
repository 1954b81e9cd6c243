//! What belongs to a field of some kinds: the options to choose from, the account that is meant.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::accounts::ExternalAccountType;
use super::kind::ProfileFieldType;
use crate::limits::MAX_PROFILE_FIELD_DATA_CHARS;
use crate::markdown::SafeUrl;

/// The `field_data` of a custom profile field.
pub type ProfileFieldData = Map<String, Value>;

/// What stands for the name of an account in the pattern of an address.
const USERNAME: &str = "%(username)s";

/// The reason why the `field_data` of a profile field is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileFieldDataError {
    /// A list of options without any.
    #[error("Field must have at least one choice.")]
    NoChoice,
    /// Two options look the same.
    #[error("Field must not have duplicate choices.")]
    DuplicateChoice,
    /// An option without a key.
    #[error("'value' cannot be blank.")]
    ChoiceKeyBlank,
    /// An option is no object.
    #[error("field_data is not a dict")]
    NotADict,
    /// A key is missing.
    #[error("{0} key is missing from field_data")]
    KeyMissing(&'static str),
    /// A text is no text.
    #[error("field_data[\"{0}\"] is not a string")]
    NotAString(&'static str),
    /// A text is blank.
    #[error("field_data[\"{0}\"] cannot be blank.")]
    Blank(&'static str),
    /// There are keys nobody knows.
    #[error("Unexpected arguments: {0}")]
    Unexpected(String),
    /// No such kind of account.
    #[error("Invalid external account type")]
    NoSuchAccount,
    /// An account of one's own needs an address.
    #[error("Custom external account must define URL pattern")]
    PatternMissing,
    /// The address does not say where the name goes.
    #[error("URL pattern must contain '%(username)s'.")]
    PatternWithoutName,
    /// The address is none.
    #[error("url_pattern is not a URL")]
    PatternNotAUrl,
    /// More than [`MAX_PROFILE_FIELD_DATA_CHARS`].
    #[error("field_data is too long (limit: {MAX_PROFILE_FIELD_DATA_CHARS} characters)")]
    TooLong,
}

/// Returns what belongs to a field of that kind, as JSON; empty for kinds that need nothing, whatever was sent.
///
/// # Errors
/// See [`ProfileFieldDataError`].
///
/// # Source
/// Specification, "Custom profile field" and `POST /realm/profile_fields`: options map a key to `text` and `order`, an
/// account holds a `subtype`. What an account holds beside it is as existing clients know it.
pub(super) fn encoded(kind: ProfileFieldType, data: &ProfileFieldData) -> Result<String, ProfileFieldDataError> {
    match kind {
        ProfileFieldType::Choice => check_choices(data)?,
        ProfileFieldType::ExternalAccount => check_account(data)?,
        _ => return Ok(String::new()),
    }
    let text = json!(data).to_string();
    if text.chars().nth(MAX_PROFILE_FIELD_DATA_CHARS).is_some() {
        Err(ProfileFieldDataError::TooLong)
    } else {
        Ok(text)
    }
}

fn check_choices(data: &ProfileFieldData) -> Result<(), ProfileFieldDataError> {
    if data.is_empty() {
        return Err(ProfileFieldDataError::NoChoice);
    }
    let mut texts = BTreeSet::new();
    for (key, choice) in data {
        if key.trim().is_empty() {
            return Err(ProfileFieldDataError::ChoiceKeyBlank);
        }
        let choice = choice.as_object().ok_or(ProfileFieldDataError::NotADict)?;
        texts.insert(required(choice, "text")?);
        required(choice, "order")?;
        no_more_than(choice, &["text", "order"])?;
    }
    if texts.len() < data.len() { Err(ProfileFieldDataError::DuplicateChoice) } else { Ok(()) }
}

fn check_account(data: &ProfileFieldData) -> Result<(), ProfileFieldDataError> {
    let subtype = required(data, "subtype")?;
    let pattern = data.get("url_pattern").map(|_| required(data, "url_pattern")).transpose()?;
    if let Some(pattern) = pattern {
        check_pattern(pattern)?;
    }
    no_more_than(data, &["subtype", "url_pattern"])?;
    match (ExternalAccountType::by_subtype(subtype), subtype, pattern) {
        (Some(_), _, _) | (None, "custom", Some(_)) => Ok(()),
        (None, "custom", None) => Err(ProfileFieldDataError::PatternMissing),
        (None, _, _) => Err(ProfileFieldDataError::NoSuchAccount),
    }
}

fn check_pattern(pattern: &str) -> Result<(), ProfileFieldDataError> {
    if pattern.matches(USERNAME).count() != 1 {
        return Err(ProfileFieldDataError::PatternWithoutName);
    }
    if is_web_address(&pattern.replace(USERNAME, "username")) {
        Ok(())
    } else {
        Err(ProfileFieldDataError::PatternNotAUrl)
    }
}

fn required<'a>(object: &'a Map<String, Value>, key: &'static str) -> Result<&'a str, ProfileFieldDataError> {
    let value = object.get(key).ok_or(ProfileFieldDataError::KeyMissing(key))?;
    let text = value.as_str().ok_or(ProfileFieldDataError::NotAString(key))?;
    if text.trim().is_empty() { Err(ProfileFieldDataError::Blank(key)) } else { Ok(text) }
}

fn no_more_than(object: &Map<String, Value>, known: &[&str]) -> Result<(), ProfileFieldDataError> {
    let more: Vec<_> = object.keys().map(String::as_str).filter(|key| !known.contains(key)).collect();
    if more.is_empty() { Ok(()) } else { Err(ProfileFieldDataError::Unexpected(more.join(", "))) }
}

/// Returns the site an account is on, when it is a known one and nothing is said of it but its name.
pub(super) fn known_account(data: &ProfileFieldData) -> Option<&'static ExternalAccountType> {
    ExternalAccountType::by_subtype(data.get("subtype")?.as_str()?)
}

/// Returns whether this is a whole address of something on the web: one that may stand in a link.
pub(super) fn is_web_address(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let is_of_the_web = ["http", "https", "ftp"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    let names_a_host = rest.starts_with(|first: char| first.is_alphanumeric() || first == '[');
    is_of_the_web && names_a_host && !text.contains(char::is_whitespace) && SafeUrl::parse(text).is_some()
}
