//! Saved snippets: texts that a user keeps to write them again.
//!
//! # Source
//! Not specified; feature levels 297 and 368 of the API, as existing clients know them.

use serde_json::{Value, json};

use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::{SnippetId, UserId};
use crate::limits::MAX_SAVED_SNIPPETS;
use crate::model::realm_change::{RealmChange, UserItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::wire_format::add;

/// The reason why a snippet is not saved, or stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SnippetError {
    /// None of that number is the caller's.
    #[error("Saved snippet does not exist.")]
    NotFound,
    /// The caller has [`MAX_SAVED_SNIPPETS`] already.
    #[error("Too many saved snippets (maximum {MAX_SAVED_SNIPPETS}).")]
    TooMany,
}

/// The parts of a snippet that a request changes. What is `None` stays.
#[derive(Debug, Clone, Copy, Default)]
pub struct SnippetUpdate<'a> {
    /// The title.
    pub title: Option<&'a str>,
    /// The text, as typed.
    pub content: Option<&'a str>,
}

/// Returns the snippets of a user as clients see them, in the order of their numbers.
#[must_use]
pub fn list(realm: &RealmSnapshot, user_id: UserId) -> Vec<Value> {
    let items = realm.user_items(user_id, UserItemKind::SavedSnippet);
    let mut snippets: Vec<_> = items.filter_map(|(key, document)| Some((key.parse().ok()?, document))).collect();
    snippets.sort_unstable_by_key(|(id, _)| *id);
    snippets.into_iter().map(|(id, document)| object(SnippetId(id), document)).collect()
}

/// Saves a snippet, and returns its number.
///
/// # Errors
/// [`SnippetError::TooMany`].
pub fn create(
    realm: &RealmSnapshot,
    user: &User,
    title: &str,
    content: &str,
    commit: &mut RealmCommit,
) -> Result<SnippetId, SnippetError> {
    let ids = realm.user_items(user.id, UserItemKind::SavedSnippet).filter_map(|(key, _)| key.parse().ok());
    let ids: Vec<i64> = ids.collect();
    if ids.len() >= MAX_SAVED_SNIPPETS {
        return Err(SnippetError::TooMany);
    }
    // Numbers follow the log, so the number of a deleted snippet is not given again.
    let largest = ids.into_iter().max().unwrap_or(0);
    let id = SnippetId(largest.max(realm.changed_at().0).saturating_add(1));
    let document = json!({"title": title, "content": content, "date_created": commit.at_s});
    let event = json!({"type": "saved_snippets", "op": "add", "saved_snippet": object(id, &document)});
    put(user, id, Some(document), commit);
    commit.events.push(NewEvent::same_for_everyone(EventAudience::from_users([user.id]), event));
    Ok(id)
}

/// Changes a snippet. An update that changes nothing is reported to no client.
///
/// # Errors
/// [`SnippetError::NotFound`].
pub fn update(
    realm: &RealmSnapshot,
    user: &User,
    (id, update): (SnippetId, SnippetUpdate<'_>),
    commit: &mut RealmCommit,
) -> Result<(), SnippetError> {
    let before = find(realm, user, id)?;
    let mut after = before.clone();
    for (key, text) in [("title", update.title), ("content", update.content)] {
        if let Some(text) = text {
            add(&mut after, json!({key: text}));
        }
    }
    if after != *before {
        let event = json!({"type": "saved_snippets", "op": "update", "saved_snippet": object(id, &after)});
        put(user, id, Some(after), commit);
        commit.events.push(NewEvent::same_for_everyone(EventAudience::from_users([user.id]), event));
    }
    Ok(())
}

/// Deletes a snippet.
///
/// # Errors
/// [`SnippetError::NotFound`].
pub fn delete(realm: &RealmSnapshot, user: &User, id: SnippetId, commit: &mut RealmCommit) -> Result<(), SnippetError> {
    find(realm, user, id)?;
    put(user, id, None, commit);
    let event = json!({"type": "saved_snippets", "op": "remove", "saved_snippet_id": id});
    commit.events.push(NewEvent::same_for_everyone(EventAudience::from_users([user.id]), event));
    Ok(())
}

fn find<'a>(realm: &'a RealmSnapshot, user: &User, id: SnippetId) -> Result<&'a Value, SnippetError> {
    realm.user_item(user.id, UserItemKind::SavedSnippet, &id.to_string()).ok_or(SnippetError::NotFound)
}

fn put(user: &User, id: SnippetId, document: Option<Value>, commit: &mut RealmCommit) {
    let (kind, key) = (UserItemKind::SavedSnippet, id.to_string());
    commit.changes.push(RealmChange::UserItem { user_id: user.id, kind, key, document });
}

fn object(id: SnippetId, document: &Value) -> Value {
    let mut object = json!({"id": id});
    add(&mut object, document.clone());
    object
}
