//! What the nodes decide about exports: which one writes it, what came of it, and which archives go.
//!
//! One export is written at a time, so that a server never has more than one export's work and room in use. The node
//! that writes it renews its claim; when it does not, the export counts as interrupted and has failed. It is not taken
//! again, because what ended one node may end the next.

use super::{ARCHIVE_KEPT_S, DataExport, DataExportStatus, DataExportType, all, change, find};
use crate::event_log::realm_commit::RealmCommit;
use crate::model::realm_snapshot::RealmSnapshot;

/// Seconds for which a claim holds. Clocks of two nodes may differ by less: what a node writes whose claim was taken
/// for ended is thrown away.
pub const CLAIM_S: i64 = 300;

/// An export that a node has to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimedExport {
    /// Its number.
    pub id: i64,
    /// What it is to contain.
    pub export_type: DataExportType,
}

/// Returns whether there is anything that [`settle`], [`claim`] or [`without_use`] would do now. Costs no I/O.
#[must_use]
pub fn is_due(realm: &RealmSnapshot, now_s: i64) -> bool {
    all(realm).any(|(_, export)| {
        export.status == DataExportStatus::Requested || is_unused(&export) || settled(&export, now_s).is_some()
    })
}

/// Returns what an export is once its claim or its archive is too old.
fn settled(export: &DataExport, now_s: i64) -> Option<DataExportStatus> {
    match export.status {
        DataExportStatus::Started { until_s, .. } if until_s <= now_s => Some(DataExportStatus::Failed { at_s: now_s }),
        DataExportStatus::Succeeded { at_s, .. } if at_s.saturating_add(ARCHIVE_KEPT_S) <= now_s => {
            Some(DataExportStatus::Deleted { at_s: now_s })
        }
        _ => None,
    }
}

/// Marks exports as failed whose node ended, and archives as deleted that were kept for [`ARCHIVE_KEPT_S`]; notifies
/// administrators. Returns the exports that were interrupted.
pub fn settle(realm: &RealmSnapshot, realm_url: &str, commit: &mut RealmCommit) -> Vec<i64> {
    let settled = |(id, export): (i64, DataExport)| {
        let status = settled(&export, commit.at_s)?;
        Some((id, Some(DataExport { status, ..export })))
    };
    let settled: Vec<_> = all(realm).filter_map(settled).collect();
    let has_failed = |export: &Option<DataExport>| {
        export.as_ref().is_some_and(|export| matches!(export.status, DataExportStatus::Failed { .. }))
    };
    let interrupted = settled.iter().filter(|(_, export)| has_failed(export)).map(|(id, _)| *id).collect();
    if !settled.is_empty() {
        change(realm, settled, Some(realm_url), commit);
    }
    interrupted
}

/// Takes the oldest export that was requested for a node, unless one is being written.
pub fn claim(realm: &RealmSnapshot, node: &str, commit: &mut RealmCommit) -> Option<ClaimedExport> {
    if all(realm).any(|(_, export)| matches!(export.status, DataExportStatus::Started { .. })) {
        return None;
    }
    let (id, export) = all(realm).find(|(_, export)| export.status == DataExportStatus::Requested)?;
    let export_type = export.export_type;
    // Bytes may be there from the moment on in which the node begins.
    let export = DataExport { status: started(node, commit.at_s), has_bytes: true, ..export };
    change(realm, vec![(id, Some(export))], None, commit);
    Some(ClaimedExport { id, export_type })
}

fn started(node: &str, now_s: i64) -> DataExportStatus {
    DataExportStatus::Started { node: node.to_owned(), until_s: now_s.saturating_add(CLAIM_S) }
}

/// The claim of a node on an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportClaim<'a> {
    /// The number of the export.
    pub id: i64,
    /// The name of the node.
    pub node: &'a str,
}

/// Returns the export when that node writes it.
fn own(realm: &RealmSnapshot, claim: ExportClaim<'_>) -> Option<DataExport> {
    let export = find(realm, claim.id)?;
    match &export.status {
        DataExportStatus::Started { node: writing, .. } if writing == claim.node => Some(export),
        _ => None,
    }
}

/// Notes that the node still writes the export. Returns whether the export is still that node's.
pub fn renew(realm: &RealmSnapshot, claim: ExportClaim<'_>, commit: &mut RealmCommit) -> bool {
    let Some(export) = own(realm, claim) else { return false };
    let export = DataExport { status: started(claim.node, commit.at_s), ..export };
    change(realm, vec![(claim.id, Some(export))], None, commit);
    true
}

/// The end of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportEnd {
    /// The archive is in the store of files, with so many bytes.
    Written(u64),
    /// There is no archive.
    Failed,
}

/// Records how an export ended, and notifies administrators. Returns whether the export was still that node's; when it
/// was not, the archive has to be thrown away.
pub fn finish(
    realm: &RealmSnapshot,
    claim: ExportClaim<'_>,
    (end, realm_url): (ExportEnd, &str),
    commit: &mut RealmCommit,
) -> bool {
    let Some(export) = own(realm, claim) else { return false };
    let at_s = commit.at_s;
    let status = match end {
        ExportEnd::Written(size_bytes) => DataExportStatus::Succeeded { at_s, size_bytes },
        ExportEnd::Failed => DataExportStatus::Failed { at_s },
    };
    change(realm, vec![(claim.id, Some(DataExport { status, ..export }))], Some(realm_url), commit);
    true
}

/// Returns the exports whose archives have to be removed from the store of files: of those that failed or were deleted.
pub fn without_use(realm: &RealmSnapshot) -> impl Iterator<Item = i64> {
    all(realm).filter(|(_, export)| is_unused(export)).map(|(id, _)| id)
}

fn is_unused(export: &DataExport) -> bool {
    let has_ended = matches!(export.status, DataExportStatus::Failed { .. } | DataExportStatus::Deleted { .. });
    has_ended && export.has_bytes
}

/// Notes that the store of files has nothing of that export any longer.
pub fn note_removed(realm: &RealmSnapshot, id: i64, commit: &mut RealmCommit) {
    if let Some(export) = find(realm, id).filter(is_unused) {
        change(realm, vec![(id, Some(DataExport { has_bytes: false, ..export }))], None, commit);
    }
}
