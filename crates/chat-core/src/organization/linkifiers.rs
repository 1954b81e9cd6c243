//! Adding, changing, ordering and removing linkifiers: decisions that become commits.
//!
//! A linkifier is a document with `pattern`, `url_template` and `order`. What it makes of a text is decided in
//! [`crate::markdown::Linkifier`]; nothing is kept that could not be compiled there.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::event_log::event::{ClientCapability, EventAudience, NewEvent, QueueCondition};
use crate::event_log::realm_commit::RealmCommit;
use crate::limits::{MAX_LINKIFIER_CHARS, MAX_LINKIFIERS};
use crate::markdown::{Linkifier, LinkifierError};
use crate::model::realm_change::{RealmChange, RealmItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access::{self, PermissionError};
use crate::text_processing::form_errors::{FormError, FormErrors, blank, too_long, unshown};
use crate::text_processing::url_template::{self, UrlTemplateError};
use crate::wire_format::realm_and_user_items;

/// The pattern and template of a linkifier to add or change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkifierRequest<'a> {
    /// The regular expression, as typed.
    pub pattern: &'a str,
    /// The URL template of RFC 6570, as typed.
    pub url_template: &'a str,
}

/// The reason why a linkifier cannot be added, changed, removed or reordered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RealmLinkifierError {
    /// The caller is not who may.
    #[error(transparent)]
    NotAllowed(#[from] PermissionError),
    /// There is none of that number.
    #[error("Linkifier not found.")]
    NotFound,
    /// Pattern or template is none, or the two do not go together.
    #[error(transparent)]
    Unfit(#[from] FormErrors),
    /// There are [`MAX_LINKIFIERS`] already.
    #[error("An organization has at most {MAX_LINKIFIERS} linkifiers.")]
    TooMany,
    /// An order leaves one out, or has one twice.
    #[error("The ordered list must enumerate all existing linkifiers exactly once")]
    NotAnOrder,
}

/// Adds a linkifier after the others and returns its id. Its number is the answer.
///
/// # Errors
/// See [`RealmLinkifierError`]; nothing is to be written then.
pub fn add_linkifier(
    realm: &RealmSnapshot,
    caller: &User,
    request: LinkifierRequest<'_>,
    commit: &mut RealmCommit,
) -> Result<i64, RealmLinkifierError> {
    access::require_administrator(caller)?;
    check(realm, request, None)?;
    if realm.realm_items(RealmItemKind::Linkifier).count() >= MAX_LINKIFIERS {
        return Err(RealmLinkifierError::TooMany);
    }
    let last = realm
        .realm_items(RealmItemKind::Linkifier)
        .map(|(id, document)| realm_and_user_items::order(id, document))
        .max();
    let id = realm.new_realm_item_id(RealmItemKind::Linkifier);
    let document = document(request, last.unwrap_or(0).saturating_add(1));
    change(realm, vec![(id, Some(document))], commit);
    Ok(id)
}

/// Changes the pattern or template of a linkifier.
///
/// # Errors
/// See [`RealmLinkifierError`]; nothing is to be written then.
pub fn update_linkifier(
    realm: &RealmSnapshot,
    caller: &User,
    (id, request): (i64, LinkifierRequest<'_>),
    commit: &mut RealmCommit,
) -> Result<(), RealmLinkifierError> {
    access::require_administrator(caller)?;
    let before = realm.realm_item(RealmItemKind::Linkifier, id).ok_or(RealmLinkifierError::NotFound)?;
    check(realm, request, Some(id))?;
    let after = document(request, realm_and_user_items::order(id, before));
    if after != *before {
        change(realm, vec![(id, Some(after))], commit);
    }
    Ok(())
}

/// Removes a linkifier. What it made of texts before stays.
///
/// # Errors
/// See [`RealmLinkifierError`]; nothing is to be written then.
pub fn remove_linkifier(
    realm: &RealmSnapshot,
    caller: &User,
    id: i64,
    commit: &mut RealmCommit,
) -> Result<(), RealmLinkifierError> {
    access::require_administrator(caller)?;
    realm.realm_item(RealmItemKind::Linkifier, id).ok_or(RealmLinkifierError::NotFound)?;
    change(realm, vec![(id, None)], commit);
    Ok(())
}

/// Puts the linkifiers into the given order.
///
/// # Errors
/// See [`RealmLinkifierError`]; nothing is to be written then.
pub fn reorder_linkifiers(
    realm: &RealmSnapshot,
    caller: &User,
    ids: &[i64],
    commit: &mut RealmCommit,
) -> Result<(), RealmLinkifierError> {
    access::require_administrator(caller)?;
    let known: BTreeSet<i64> = realm.realm_items(RealmItemKind::Linkifier).map(|(id, _)| id).collect();
    if ids.len() != known.len() || ids.iter().copied().collect::<BTreeSet<_>>() != known {
        return Err(RealmLinkifierError::NotAnOrder);
    }
    let moved = (1..).zip(ids).filter_map(|(order, id)| {
        let before = realm.realm_item(RealmItemKind::Linkifier, *id)?;
        let mut after = before.clone();
        after.as_object_mut()?.insert("order".to_owned(), json!(order));
        (after != *before).then_some((*id, Some(after)))
    });
    change(realm, moved.collect(), commit);
    Ok(())
}

fn document(LinkifierRequest { pattern, url_template }: LinkifierRequest<'_>, order: i64) -> Value {
    json!({"pattern": pattern, "url_template": url_template, "order": order})
}

/// Whether a linkifier could be that: the one of that number, or a new one.
///
/// # Source
/// Not specified; texts and fields are those existing clients know. We bound the length, because a pattern is
/// compiled on every node and its matching costs at every message.
fn check(realm: &RealmSnapshot, request: LinkifierRequest<'_>, id: Option<i64>) -> Result<(), FormErrors> {
    let fields = [("pattern", request.pattern), ("url_template", request.url_template)];
    let unfit = |(field, text)| {
        blank(field, text).or_else(|| too_long(field, text, MAX_LINKIFIER_CHARS)).or_else(|| unshown(field, text))
    };
    FormErrors::none(fields.into_iter().filter_map(unfit).collect())?;
    Linkifier::new(request.pattern, request.url_template).map_err(|error| problem(&error))?;
    if !url_template::is_of_allowed_scheme(request.url_template) {
        return Err(FormError::of("url_template", UrlTemplateError).into());
    }
    let is_taken = |(other, document): (i64, &Value)| {
        Some(other) != id && document.get("pattern").and_then(Value::as_str) == Some(request.pattern)
    };
    if realm.realm_items(RealmItemKind::Linkifier).any(is_taken) {
        return Err(FormError::of_all("Realm filter with this Realm and Pattern already exists.").into());
    }
    Ok(())
}

fn problem(error: &LinkifierError) -> FormError {
    match error {
        LinkifierError::Pattern(_) => FormError::of("pattern", error),
        LinkifierError::Template(_) => FormError::of("url_template", error),
        LinkifierError::GroupNotInTemplate(_) | LinkifierError::GroupNotInPattern(_) => FormError::of_all(error),
    }
}

/// Writes down what changes, and notifies the clients that understand it of the linkifiers there are then.
fn change(realm: &RealmSnapshot, documents: Vec<(i64, Option<Value>)>, commit: &mut RealmCommit) {
    if documents.is_empty() {
        return;
    }
    let item = |(id, document)| RealmChange::Item { kind: RealmItemKind::Linkifier, id, document };
    let changes: Vec<_> = documents.into_iter().map(item).collect();
    let after = realm.preview_changes(&changes);
    let event =
        json!({"type": "realm_linkifiers", "realm_linkifiers": realm_and_user_items::linkifier_objects(&after)});
    let gate = QueueCondition::With(ClientCapability::LinkifierUrlTemplate);
    commit.events.push(NewEvent::same_for_everyone(EventAudience::Everyone, event).with_queue_condition(gate));
    commit.changes.extend(changes);
}

#[cfg(test)]
mod tests;
