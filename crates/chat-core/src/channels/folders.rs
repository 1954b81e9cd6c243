//! Channel folders: named groups of channels that administrators make for the lists of all users.
//!
//! A folder is a document with `name`, `description`, `rendered_description`, `order`, `date_created`, `creator_id` and
//! `is_archived`. Channels name their folder. Folders are archived and never deleted.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{ChannelContext, ChannelError, rendered};
use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::limits::MAX_CHANNEL_FOLDERS;
use crate::model::realm_change::{RealmChange, RealmItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::fold_case;
use crate::permission::access;
use crate::text_processing::printable_names::find_unprintable_in_name;
use crate::wire_format::realm_and_user_items;

/// The reason why a folder is not created or changed, or cannot hold a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChannelFolderError {
    /// There is no such folder, or it is archived and cannot take a channel.
    #[error("Invalid channel folder ID")]
    NotFound,
    /// The name is empty or blank.
    #[error("Channel folder name can't be empty.")]
    NameEmpty,
    /// The name has a character that is not shown; its position counts from 1.
    #[error("Invalid character in channel folder name, at position {0}.")]
    InvalidCharacter(usize),
    /// A folder in use has the name.
    #[error("Channel folder name already in use")]
    NameTaken,
    /// A folder to archive holds channels, archived ones included.
    #[error("You need to remove all the channels from this folder to archive it.")]
    NotEmpty,
    /// The new order does not name each folder once.
    #[error("Invalid order mapping.")]
    InvalidOrder,
    /// There are [`MAX_CHANNEL_FOLDERS`] already.
    #[error("An organization has at most {MAX_CHANNEL_FOLDERS} channel folders.")]
    TooMany,
}

/// The properties of a folder to change. `None` leaves one as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelFolderUpdate {
    /// The name.
    pub name: Option<String>,
    /// The description, as typed.
    pub description: Option<String>,
    /// Whether the folder is archived.
    pub is_archived: Option<bool>,
}

/// Creates a folder and returns its id. It comes after all others.
///
/// # Errors
/// See [`ChannelError`]; nothing is to be written then.
pub fn create_channel_folder(
    env: &ChannelContext<'_>,
    (name, description): (&str, &str),
    commit: &mut RealmCommit,
) -> Result<i64, ChannelError> {
    access::require_administrator(env.caller)?;
    let name = parse_name(env.realm, name, None)?;
    if env.realm.realm_items(RealmItemKind::ChannelFolder).count() >= MAX_CHANNEL_FOLDERS {
        return Err(ChannelFolderError::TooMany.into());
    }
    let id = env.realm.new_realm_item_id(RealmItemKind::ChannelFolder);
    let document = json!({
        "name": name,
        "description": description,
        "rendered_description": rendered(env, description),
        "order": id,
        "date_created": commit.at_s,
        "creator_id": env.caller.id,
        "is_archived": false,
    });
    let folder = realm_and_user_items::channel_folder_object(id, &document);
    commit.events.push(event(json!({"type": "channel_folder", "op": "add", "channel_folder": folder})));
    commit.changes.push(change(id, document));
    Ok(id)
}

/// Changes a folder. Each property that differs has its own event.
///
/// # Errors
/// See [`ChannelError`]; nothing is to be written then.
pub fn update_channel_folder(
    env: &ChannelContext<'_>,
    id: i64,
    update: &ChannelFolderUpdate,
    commit: &mut RealmCommit,
) -> Result<(), ChannelError> {
    access::require_administrator(env.caller)?;
    let before = env.realm.realm_item(RealmItemKind::ChannelFolder, id).ok_or(ChannelFolderError::NotFound)?;
    let mut parts = Vec::new();
    if let Some(name) = &update.name {
        parts.push(json!({"name": parse_name(env.realm, name, Some(id))?}));
    }
    if let Some(description) = &update.description {
        parts.push(json!({"description": description, "rendered_description": rendered(env, description)}));
    }
    if let Some(is_archived) = update.is_archived {
        require_archivable(env.realm, (id, before), is_archived)?;
        parts.push(json!({"is_archived": is_archived}));
    }
    let mut document = before.clone();
    for data in parts {
        let merged = merge(&document, &data);
        if merged != document {
            document = merged;
            let folder = json!({"type": "channel_folder", "op": "update", "channel_folder_id": id, "data": data});
            commit.events.push(event(folder));
        }
    }
    if document != *before {
        commit.changes.push(change(id, document));
    }
    Ok(())
}

/// Puts all folders, archived ones included, into an order.
///
/// # Errors
/// [`ChannelFolderError::InvalidOrder`] unless each folder is named once; when the caller is not an administrator.
pub fn reorder_channel_folders(
    env: &ChannelContext<'_>,
    order: &[i64],
    commit: &mut RealmCommit,
) -> Result<(), ChannelError> {
    access::require_administrator(env.caller)?;
    let folders: BTreeMap<i64, &Value> = env.realm.realm_items(RealmItemKind::ChannelFolder).collect();
    let named: BTreeSet<i64> = order.iter().copied().collect();
    if named.len() != order.len() || !named.iter().eq(folders.keys()) {
        return Err(ChannelFolderError::InvalidOrder.into());
    }
    let moved = (0_i64..).zip(order).filter_map(|(place, id)| {
        let document = *folders.get(id)?;
        let after = merge(document, &json!({"order": place}));
        (after != *document).then(|| change(*id, after))
    });
    let moved: Vec<_> = moved.collect();
    if !moved.is_empty() {
        commit.changes.extend(moved);
        commit.events.push(event(json!({"type": "channel_folder", "op": "reorder", "order": order})));
    }
    Ok(())
}

/// Checks that there is a folder that can take a channel.
///
/// # Errors
/// [`ChannelFolderError::NotFound`].
pub(super) fn require_open_folder(realm: &RealmSnapshot, id: i64) -> Result<(), ChannelFolderError> {
    let folder = realm.realm_item(RealmItemKind::ChannelFolder, id);
    let is_open = folder.is_some_and(|folder| !is_archived(folder));
    if is_open { Ok(()) } else { Err(ChannelFolderError::NotFound) }
}

/// Returns the trimmed name, if it is valid and no other folder in use has it.
fn parse_name<'a>(realm: &RealmSnapshot, name: &'a str, own: Option<i64>) -> Result<&'a str, ChannelFolderError> {
    let name = name.trim();
    if name.is_empty() {
        return Err(ChannelFolderError::NameEmpty);
    }
    if let Some(position) = find_unprintable_in_name(name) {
        return Err(ChannelFolderError::InvalidCharacter(position));
    }
    if is_taken(realm, name, own) { Err(ChannelFolderError::NameTaken) } else { Ok(name) }
}

/// Returns whether another folder in use has the name, compared case-insensitively.
fn is_taken(realm: &RealmSnapshot, name: &str, own: Option<i64>) -> bool {
    let mut others = realm.realm_items(RealmItemKind::ChannelFolder).filter(|(id, _)| Some(*id) != own);
    others.any(|(_, folder)| !is_archived(folder) && fold_case(name_of(folder)) == fold_case(name))
}

/// Checks that the folder may be archived, or taken back into use.
fn require_archivable(
    realm: &RealmSnapshot,
    (id, folder): (i64, &Value),
    archive: bool,
) -> Result<(), ChannelFolderError> {
    if archive && realm.channels().any(|channel| channel.folder_id == Some(id)) {
        return Err(ChannelFolderError::NotEmpty);
    }
    let comes_back = !archive && is_archived(folder);
    if comes_back && is_taken(realm, name_of(folder), Some(id)) {
        return Err(ChannelFolderError::NameTaken);
    }
    Ok(())
}

fn name_of(folder: &Value) -> &str {
    folder.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn is_archived(folder: &Value) -> bool {
    folder.get("is_archived").and_then(Value::as_bool).unwrap_or(false)
}

/// Returns the document with these members.
fn merge(document: &Value, data: &Value) -> Value {
    let mut members = document.as_object().cloned().unwrap_or_default();
    members.extend(data.as_object().cloned().unwrap_or_default());
    Value::Object(members)
}

fn change(id: i64, document: Value) -> RealmChange {
    RealmChange::Item { kind: RealmItemKind::ChannelFolder, id, document: Some(document) }
}

fn event(event: Value) -> NewEvent {
    NewEvent::same_for_everyone(EventAudience::Everyone, event)
}
