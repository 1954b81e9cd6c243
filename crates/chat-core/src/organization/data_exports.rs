//! Data exports: archives of the organization that administrators order, download and delete.
//!
//! An export is an item of the realm with the state of its archive ([`DataExport`]). Administrators request one; a node
//! takes it ([`work::claim`]), writes the archive into the store of files, and records the result. What an archive
//! contains is decided in [`crate::import_export::export`].
//!
//! # Source
//! Names, numbers, limits and texts are those of existing servers at feature level 421. Where their texts name the
//! address of the operator we name the operator, because this server has no such address.

pub mod work;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::UserId;
use crate::limits::SECONDS_PER_DAY;
use crate::model::email_address_visibility::EmailAddressVisibility;
use crate::model::realm_change::{RealmChange, RealmItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::role::Role;
use crate::model::user::User;
use crate::permission::access::{self, PermissionError};
use crate::wire_format::user_settings;

/// The user setting by which people allow an export of their private data.
pub const CONSENT: &str = "allow_private_data_export";
/// Exports that can be requested in [`REQUEST_PERIOD_S`].
pub const MAX_REQUESTS: usize = 5;
/// Seconds in which requests are counted: a week.
pub const REQUEST_PERIOD_S: i64 = 7 * SECONDS_PER_DAY;
/// Messages of an organization that can be exported over the API. A larger one is exported at the command line.
pub const MAX_EXPORTED_MESSAGES: u64 = 250_000;
/// Bytes of all uploads of an organization that can be exported over the API: 20 GiB.
pub const MAX_EXPORTED_UPLOAD_BYTES: i64 = 20 * 1024 * 1024 * 1024;
/// Seconds for which an archive can be downloaded: a week. Not specified; existing servers keep archives until they are
/// deleted. We delete them, because an archive holds what people deleted since.
pub const ARCHIVE_KEPT_S: i64 = 7 * SECONDS_PER_DAY;
/// Exports that are listed. Older ones without an archive are forgotten. Not specified; each administrator receives all
/// of them with each event.
pub const MAX_LISTED: usize = 100;

/// The kind of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataExportType {
    /// 1: public channels, and what all members know of each other.
    Public,
    /// 2: also what people can read who allow the export of their private data.
    FullWithConsent,
}

impl DataExportType {
    /// All of them with their numbers on the wire.
    pub const NUMBERS: [(i64, Self); 2] = [(1, Self::Public), (2, Self::FullWithConsent)];

    fn number(self) -> i64 {
        match self {
            Self::Public => 1,
            Self::FullWithConsent => 2,
        }
    }
}

/// The state of an export. Times are unix seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum DataExportStatus {
    /// No node has taken it yet.
    Requested,
    /// A node writes the archive.
    Started {
        /// The name of the node.
        node: String,
        /// When the export counts as interrupted unless the node says that it goes on.
        until_s: i64,
    },
    /// The archive can be downloaded.
    Succeeded {
        /// When it was complete.
        at_s: i64,
        /// The size of the archive.
        size_bytes: u64,
    },
    /// There is no archive, because it could not be written or its node ended.
    Failed {
        /// When that was found out.
        at_s: i64,
    },
    /// An administrator deleted the archive, or it was older than [`ARCHIVE_KEPT_S`].
    Deleted {
        /// When.
        at_s: i64,
    },
}

/// An export, as the realm stores it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataExport {
    /// What is exported.
    pub export_type: DataExportType,
    /// The administrator who requested it.
    pub acting_user_id: UserId,
    /// When, in unix seconds.
    pub requested_s: i64,
    /// Its state.
    #[serde(flatten)]
    pub status: DataExportStatus,
    /// Whether bytes of its archive may be in the store of files.
    pub has_bytes: bool,
}

impl DataExport {
    /// Returns the name of the archive of that number, at the end of its address.
    #[must_use]
    pub fn archive_name(id: i64) -> String {
        format!("organization-{id}.tar.gz")
    }

    /// Returns the number in the name of an archive.
    #[must_use]
    pub fn number_in(name: &str) -> Option<i64> {
        let id = name.strip_prefix("organization-")?.strip_suffix(".tar.gz")?.parse().ok()?;
        (Self::archive_name(id) == name).then_some(id)
    }

    /// Returns whether a node has still to write it, or writes it.
    fn is_pending(&self) -> bool {
        matches!(self.status, DataExportStatus::Requested | DataExportStatus::Started { .. })
    }
}

/// The size of an organization, counted before an export is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrganizationSize {
    /// Its messages; from [`MAX_EXPORTED_MESSAGES`] on they need not be counted further.
    pub messages: u64,
    /// Bytes of its uploads.
    pub upload_bytes: i64,
}

/// The reason why an export is not made, shown or deleted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DataExportError {
    /// The caller is not an administrator.
    #[error(transparent)]
    NotAllowed(#[from] PermissionError),
    /// [`MAX_REQUESTS`] were requested within [`REQUEST_PERIOD_S`].
    #[error("Exceeded rate limit.")]
    TooMany,
    /// The organization is larger than [`MAX_EXPORTED_MESSAGES`] or [`MAX_EXPORTED_UPLOAD_BYTES`].
    #[error("Please request a manual export from the administrator of this server.")]
    TooLarge,
    /// No owner would have an own account where the archive is imported.
    #[error(
        "Make sure at least one Organization Owner is consenting to the export or contact the administrator of this \
         server for help."
    )]
    NoConsentingOwner,
    /// No owner would have their address where the archive is imported.
    #[error(
        "Make sure at least one Organization Owner allows other Administrators to see their email address or contact \
         the administrator of this server for help"
    )]
    NoOwnerWithAddress,
    /// There is none of that number.
    #[error("Invalid data export ID")]
    NotFound,
    /// Its archive was deleted.
    #[error("Export already deleted")]
    AlreadyDeleted,
    /// It has no archive.
    #[error("Export failed, nothing to delete")]
    Failed,
    /// Its archive is being written.
    #[error("Export still in progress")]
    InProgress,
}

/// Returns all exports, in the order of their numbers. The documents were written by this module; one that cannot be
/// parsed is left out.
pub fn all(realm: &RealmSnapshot) -> impl Iterator<Item = (i64, DataExport)> {
    realm
        .realm_items(RealmItemKind::DataExport)
        .filter_map(|(id, document)| Some((id, DataExport::deserialize(document).ok()?)))
}

/// Returns the export of that number.
fn find(realm: &RealmSnapshot, id: i64) -> Option<DataExport> {
    DataExport::deserialize(realm.realm_item(RealmItemKind::DataExport, id)?).ok()
}

/// Returns all exports as administrators see them, for the server at that address.
///
/// # Errors
/// For everybody else.
pub fn list(realm: &RealmSnapshot, caller: &User, realm_url: &str) -> Result<Vec<Value>, DataExportError> {
    access::require_administrator(caller)?;
    Ok(all(realm).map(|(id, export)| shown(id, &export, realm_url)).collect())
}

fn shown(id: i64, export: &DataExport, realm_url: &str) -> Value {
    let url = format!("{realm_url}/exports/{}", DataExport::archive_name(id));
    let (url, failed_s, deleted_s) = match export.status {
        DataExportStatus::Requested | DataExportStatus::Started { .. } => (None, None, None),
        DataExportStatus::Succeeded { .. } => (Some(url), None, None),
        DataExportStatus::Failed { at_s } => (None, Some(at_s), None),
        DataExportStatus::Deleted { at_s } => (None, None, Some(at_s)),
    };
    json!({
        "id": id,
        "acting_user_id": export.acting_user_id,
        "export_time": export.requested_s,
        "export_type": export.export_type.number(),
        "export_url": url,
        "deleted_timestamp": deleted_s,
        "failed_timestamp": failed_s,
        "pending": export.is_pending(),
    })
}

/// Requests an export, and notifies administrators. Returns its number.
///
/// # Errors
/// See [`DataExportError`]; nothing is to be written then.
pub fn request(
    realm: &RealmSnapshot,
    caller: &User,
    (export_type, size, realm_url): (DataExportType, OrganizationSize, &str),
    commit: &mut RealmCommit,
) -> Result<i64, DataExportError> {
    access::require_administrator(caller)?;
    let since_s = commit.at_s.saturating_sub(REQUEST_PERIOD_S);
    if all(realm).filter(|(_, export)| export.requested_s >= since_s).count() >= MAX_REQUESTS {
        return Err(DataExportError::TooMany);
    }
    if size.messages > MAX_EXPORTED_MESSAGES || size.upload_bytes > MAX_EXPORTED_UPLOAD_BYTES {
        return Err(DataExportError::TooLarge);
    }
    require_owner(realm, export_type)?;
    let export = DataExport {
        export_type,
        acting_user_id: caller.id,
        requested_s: commit.at_s,
        status: DataExportStatus::Requested,
        has_bytes: false,
    };
    let id = realm.new_realm_item_id(RealmItemKind::DataExport);
    let mut changes: Vec<_> = forgotten(realm).map(|id| (id, None)).collect();
    changes.push((id, Some(export)));
    change(realm, changes, Some(realm_url), commit);
    Ok(id)
}

/// Returns the oldest exports that leave the list when another one comes.
fn forgotten(realm: &RealmSnapshot) -> impl Iterator<Item = i64> {
    let surplus = realm.realm_items(RealmItemKind::DataExport).count().saturating_add(1).saturating_sub(MAX_LISTED);
    all(realm).filter(|(_, export)| !export.is_pending() && !export.has_bytes).map(|(id, _)| id).take(surplus)
}

/// Makes sure that what is imported from such an archive has an owner who can sign in.
///
/// # Source
/// Not specified; as existing servers do, except that we count owners with an open account alone.
fn require_owner(realm: &RealmSnapshot, export_type: DataExportType) -> Result<(), DataExportError> {
    let mut owners = realm.users().filter(|user| user.is_active && user.role == Role::Owner);
    let (is_there, otherwise) = match export_type {
        DataExportType::Public => (
            owners.any(|owner| owner.email_address_visibility() != EmailAddressVisibility::Nobody),
            DataExportError::NoOwnerWithAddress,
        ),
        DataExportType::FullWithConsent => {
            (owners.any(|owner| is_consenting(realm, owner)), DataExportError::NoConsentingOwner)
        }
    };
    if is_there { Ok(()) } else { Err(otherwise) }
}

/// Takes an archive away, and notifies administrators. Its bytes go right after ([`work::without_use`]).
///
/// # Errors
/// See [`DataExportError`]; nothing is to be written then.
pub fn delete(
    realm: &RealmSnapshot,
    caller: &User,
    (id, realm_url): (i64, &str),
    commit: &mut RealmCommit,
) -> Result<(), DataExportError> {
    access::require_administrator(caller)?;
    let export = find(realm, id).ok_or(DataExportError::NotFound)?;
    match export.status {
        DataExportStatus::Requested | DataExportStatus::Started { .. } => return Err(DataExportError::InProgress),
        DataExportStatus::Failed { .. } => return Err(DataExportError::Failed),
        DataExportStatus::Deleted { .. } => return Err(DataExportError::AlreadyDeleted),
        DataExportStatus::Succeeded { .. } => {}
    }
    let export = DataExport { status: DataExportStatus::Deleted { at_s: commit.at_s }, ..export };
    change(realm, vec![(id, Some(export))], Some(realm_url), commit);
    Ok(())
}

/// Returns the size in bytes of the archive of that number, when it can be downloaded.
///
/// # Errors
/// For who is not an administrator, and when there is no such archive.
pub fn downloadable(realm: &RealmSnapshot, caller: &User, id: i64) -> Result<u64, DataExportError> {
    access::require_administrator(caller)?;
    match find(realm, id).map(|export| export.status) {
        Some(DataExportStatus::Succeeded { size_bytes, .. }) => Ok(size_bytes),
        _ => Err(DataExportError::NotFound),
    }
}

/// Writes down what becomes of exports; with the address of the server it also notifies administrators.
fn change(
    realm: &RealmSnapshot,
    exports: Vec<(i64, Option<DataExport>)>,
    realm_url: Option<&str>,
    commit: &mut RealmCommit,
) {
    let item = |(id, export): (i64, Option<DataExport>)| RealmChange::Item {
        kind: RealmItemKind::DataExport,
        id,
        document: export.map(|export| json!(export)),
    };
    let changes: Vec<_> = exports.into_iter().map(item).collect();
    if let Some(realm_url) = realm_url {
        let after = realm.preview_changes(&changes);
        let exports: Vec<_> = all(&after).map(|(id, export)| shown(id, &export, realm_url)).collect();
        let event = json!({"type": "realm_export", "exports": exports});
        commit.events.push(NewEvent::same_for_everyone(EventAudience::Administrators, event));
    }
    commit.changes.extend(changes);
}

/// Returns whether an export with consent has the private data of the user: of people who allow it, and of bots for
/// which that setting is on or whose owner allows it.
#[must_use]
pub fn is_consenting(realm: &RealmSnapshot, user: &User) -> bool {
    let allows = |id: UserId| user_settings::bool_setting(realm, id, CONSENT);
    let owner = user.bot.as_ref().and_then(|bot| bot.owner_id);
    allows(user.id) || owner.is_some_and(allows)
}

/// Returns which people allow an export of their private data: everybody with an open account, without bots.
///
/// # Errors
/// For who is not an administrator.
pub fn consents(realm: &RealmSnapshot, caller: &User) -> Result<Vec<Value>, DataExportError> {
    access::require_administrator(caller)?;
    let mut people: Vec<_> = realm.users().filter(|user| user.is_active && user.bot.is_none()).collect();
    people.sort_unstable_by_key(|user| user.id);
    let consent = |user: &User| json!({"user_id": user.id, "consented": is_consenting(realm, user)});
    Ok(people.into_iter().map(|user| consent(user)).collect())
}

/// Returns the event by which administrators learn whether a person allows it.
pub(crate) fn consent_event(user_id: UserId, consented: bool) -> NewEvent {
    let event = json!({"type": "realm_export_consent", "user_id": user_id, "consented": consented});
    NewEvent::same_for_everyone(EventAudience::Administrators, event)
}

#[cfg(test)]
mod tests;
