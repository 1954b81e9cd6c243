//! Adding and removing places to run code: decisions that become commits.
//!
//! A playground is a document with `name`, `pygments_language` and `url_template`.

use serde_json::{Value, json};

use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::limits::{
    MAX_PLAYGROUND_LANGUAGE_CHARS, MAX_PLAYGROUND_NAME_CHARS, MAX_PLAYGROUND_URL_TEMPLATE_CHARS, MAX_PLAYGROUNDS,
};
use crate::model::realm_change::{RealmChange, RealmItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access::{self, PermissionError};
use crate::text_processing::form_errors::{FormError, FormErrors, blank, too_long, unshown};
use crate::text_processing::url_template::{self, UrlTemplateError};
use crate::wire_format::realm_and_user_items;

/// The variable that stands for the code.
const CODE: &str = "code";

/// A code playground to add, with its texts trimmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaygroundRequest<'a> {
    /// What people call it.
    pub name: &'a str,
    /// The language it runs, by its name in code blocks.
    pub pygments_language: &'a str,
    /// The URL template of RFC 6570.
    pub url_template: &'a str,
}

/// The reason why a code playground cannot be added or removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaygroundError {
    /// The caller is not who may.
    #[error(transparent)]
    NotAllowed(#[from] PermissionError),
    /// There is none of that number.
    #[error("Invalid playground")]
    NotFound,
    /// The language has a character that no language's name has.
    #[error("Invalid characters in pygments language")]
    Language,
    /// A field is none, or they do not go together.
    #[error(transparent)]
    Unfit(#[from] FormErrors),
    /// There are [`MAX_PLAYGROUNDS`] already.
    #[error("An organization has at most {MAX_PLAYGROUNDS} playgrounds.")]
    TooMany,
}

/// Adds a code playground and returns its id. Its number is the answer.
///
/// # Errors
/// See [`PlaygroundError`]; nothing is to be written then.
pub fn add_playground(
    realm: &RealmSnapshot,
    caller: &User,
    request: PlaygroundRequest<'_>,
    commit: &mut RealmCommit,
) -> Result<i64, PlaygroundError> {
    access::require_administrator(caller)?;
    check(request)?;
    let PlaygroundRequest { name, pygments_language, url_template } = request;
    let says = |document: &Value, key: &str, text: &str| document.get(key).and_then(Value::as_str) == Some(text);
    let is_same =
        |document: &Value| says(document, "name", name) && says(document, "pygments_language", pygments_language);
    if realm.realm_items(RealmItemKind::Playground).any(|(_, document)| is_same(document)) {
        let text = "Realm playground with this Realm, Pygments language and Name already exists.";
        return Err(FormErrors::from(FormError::of_all(text)).into());
    }
    if realm.realm_items(RealmItemKind::Playground).count() >= MAX_PLAYGROUNDS {
        return Err(PlaygroundError::TooMany);
    }
    let id = realm.new_realm_item_id(RealmItemKind::Playground);
    let document = json!({"name": name, "pygments_language": pygments_language, "url_template": url_template});
    change(realm, (id, Some(document)), commit);
    Ok(id)
}

/// Removes a code playground.
///
/// # Errors
/// See [`PlaygroundError`]; nothing is to be written then.
pub fn remove_playground(
    realm: &RealmSnapshot,
    caller: &User,
    id: i64,
    commit: &mut RealmCommit,
) -> Result<(), PlaygroundError> {
    access::require_administrator(caller)?;
    realm.realm_item(RealmItemKind::Playground, id).ok_or(PlaygroundError::NotFound)?;
    change(realm, (id, None), commit);
    Ok(())
}

/// Whether a playground could be that.
///
/// # Source
/// Specification, `POST /realm/playgrounds`: a template with exactly one variable, `code`. Texts, fields and the
/// characters of a language are those existing clients know; we bound the lengths, because every client receives all
/// playgrounds when it starts.
fn check(request: PlaygroundRequest<'_>) -> Result<(), PlaygroundError> {
    let PlaygroundRequest { name, pygments_language, url_template } = request;
    let in_name = |character: char| character.is_ascii_alphanumeric() || " _+-./#".contains(character);
    if !pygments_language.chars().all(in_name) {
        return Err(PlaygroundError::Language);
    }
    let fields = [
        ("name", name, MAX_PLAYGROUND_NAME_CHARS),
        ("pygments_language", pygments_language, MAX_PLAYGROUND_LANGUAGE_CHARS),
        ("url_template", url_template, MAX_PLAYGROUND_URL_TEMPLATE_CHARS),
    ];
    let unfit = |(field, text, limit)| {
        blank(field, text).or_else(|| too_long(field, text, limit)).or_else(|| unshown(field, text))
    };
    let mut problems: Vec<_> = fields.into_iter().filter_map(unfit).collect();
    problems.extend(in_template(url_template));
    Ok(FormErrors::none(problems)?)
}

fn in_template(written: &str) -> Option<FormError> {
    let template = match url_template::parse(written) {
        Ok(template) => template,
        Err(error) => return Some(FormError::of("url_template", error.to_string())),
    };
    let variables = url_template::variables(&template);
    if !variables.contains(CODE) {
        return Some(FormError::of_all("Missing the required variable \"code\" in the URL template"));
    }
    if variables.len() > 1 {
        return Some(FormError::of_all("\"code\" should be the only variable present in the URL template"));
    }
    (!url_template::is_of_allowed_scheme(written)).then(|| FormError::of("url_template", UrlTemplateError))
}

/// Writes down what changes, and notifies all users of the playgrounds there are then.
fn change(realm: &RealmSnapshot, (id, document): (i64, Option<Value>), commit: &mut RealmCommit) {
    let changes = vec![RealmChange::Item { kind: RealmItemKind::Playground, id, document }];
    let after = realm.preview_changes(&changes);
    let event =
        json!({"type": "realm_playgrounds", "realm_playgrounds": realm_and_user_items::playground_objects(&after)});
    commit.events.push(NewEvent::same_for_everyone(EventAudience::Everyone, event));
    commit.changes.extend(changes);
}

#[cfg(test)]
mod tests;
