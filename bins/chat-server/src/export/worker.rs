//! The task that writes the exports which administrators request, and removes archives whose time is over.
//!
//! An export is taken by a commit to the realm, so one node of several writes it. The node says once a minute that it
//! still does; an export whose node was killed is marked as failed within five minutes by any node. The archive is in
//! the store of files before the export is marked as complete. What a node leaves behind in either place is removed by
//! what the realm says: bytes of an export that failed or was deleted have no use.
//!
//! The organization is written to a folder of the data directory and packed from there, because the rows of its files
//! come in turns, and a tar archive needs the size of each file first. So an export needs as much room as its folder
//! and its archive together. Writing and packing run on a thread for blocking work, which gives up when the server
//! stops.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use chat_core::event_log::decision_queue::RealmDecisionQueue;
use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::event_log::store::RealmStore as _;
use chat_core::files::{FileKey, FileStore};
use chat_core::import_export::export::{ExportContent, OriginalServerRelease};
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::organization::data_exports::work::{self, ClaimedExport, ExportClaim, ExportEnd};
use chat_core::organization::data_exports::{DataExportStatus, DataExportType, all};
use chat_storage::ChatStore;
use flate2::Compression;
use flate2::write::GzEncoder;
use server_kit::shutdown::CancellationToken;
use tokio::runtime::Handle;
use tokio::time::MissedTickBehavior;

use super::folder::Folder;
use crate::files::make_folder;
use crate::system_runtime::SystemRuntime;

/// How often a node looks for exports.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often a node says that it still writes an export: several times while a claim holds.
const RENEW_EVERY: Duration = Duration::from_mins(1);
/// The release that archives are written for, the newest.
const RELEASE: OriginalServerRelease = OriginalServerRelease::R11_0;

/// The worker that writes requested exports.
pub(crate) struct ExportWorker {
    pub(crate) store: Arc<ChatStore>,
    pub(crate) files: Arc<dyn FileStore>,
    pub(crate) base_url: String,
    /// The name of this node.
    pub(crate) node: String,
    /// The folder in which exports are written before they are packed. There is nothing else in it.
    pub(crate) folder: PathBuf,
    pub(crate) decisions: RealmDecisionQueue,
}

impl ExportWorker {
    /// Runs until the server stops. `may_delete` says whether this node's clock may be trusted with deleting by time.
    pub(crate) async fn keep(self, may_delete: impl AsyncFn(i64) -> bool) {
        let is_written = |realm: &RealmSnapshot| {
            all(realm).any(|(_, export)| matches!(export.status, DataExportStatus::Started { .. }))
        };
        if !is_written(&self.store.snapshot()) {
            self.clear_folder();
        }
        let mut tick = tokio::time::interval(LOOK_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            let now_s = SystemRuntime.now_s();
            if !work::is_due(&self.store.snapshot(), now_s) || !may_delete(now_s).await {
                continue;
            }
            if let Err(error) = self.look(now_s).await {
                tracing::error!(error = format!("{error:#}"), "data exports cannot be worked on");
            }
        }
    }

    /// Does everything that is due, and writes one export.
    pub(super) async fn look(&self, now_s: i64) -> anyhow::Result<()> {
        let interrupted = self.decide(now_s, |realm, commit| work::settle(realm, &self.base_url, commit)).await?;
        for export_id in &interrupted {
            tracing::error!(export_id, "data export failed: its node ended");
        }
        if !interrupted.is_empty() {
            self.clear_folder();
        }
        let without_use: Vec<_> = work::without_use(&self.store.snapshot()).collect();
        for id in without_use {
            self.files.delete(&FileKey::of_data_export(id)).await?;
            self.decide(now_s, |realm, commit| work::note_removed(realm, id, commit)).await?;
        }
        match self.decide(now_s, |realm, commit| work::claim(realm, &self.node, commit)).await? {
            Some(claimed) => self.write(claimed).await,
            None => Ok(()),
        }
    }

    async fn decide<T>(
        &self,
        now_s: i64,
        decide: impl Fn(&RealmSnapshot, &mut RealmCommit) -> T + Send + Sync,
    ) -> anyhow::Result<T> {
        let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| Ok::<_, anyhow::Error>(decide(realm, commit));
        Ok(self.decisions.decide_and_commit(self.store.as_ref(), now_s, decide).await?.outcome)
    }

    /// Writes an export, unless its claim ends in the meantime.
    async fn write(&self, claimed: ClaimedExport) -> anyhow::Result<()> {
        let id = claimed.id;
        let written = tokio::select! {
            written = self.archive(claimed) => written,
            () = self.lose(id) => Err(anyhow::anyhow!("another node took it for interrupted")),
        };
        let end = match written {
            Ok(size_bytes) => {
                tracing::info!(export_id = id, size_bytes, "data export written");
                ExportEnd::Written(size_bytes)
            }
            Err(error) => {
                tracing::error!(export_id = id, error = format!("{error:#}"), "data export failed");
                ExportEnd::Failed
            }
        };
        let (own, ended) = (ExportClaim { id, node: &self.node }, (end, self.base_url.as_str()));
        let now_s = SystemRuntime.now_s();
        if !self.decide(now_s, |realm, commit| work::finish(realm, own, ended, commit)).await? {
            self.files.delete(&FileKey::of_data_export(id)).await?;
        }
        Ok(())
    }

    /// Renews the claim, and returns when it is lost.
    async fn lose(&self, id: i64) {
        loop {
            tokio::time::sleep(RENEW_EVERY).await;
            let own = ExportClaim { id, node: &self.node };
            match self.decide(SystemRuntime.now_s(), |realm, commit| work::renew(realm, own, commit)).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::warn!(export_id = id, error = format!("{error:#}"), "a data export was not renewed");
                }
            }
        }
    }

    /// Writes the archive into the store of files. Returns its size in bytes.
    async fn archive(&self, claimed: ClaimedExport) -> anyhow::Result<u64> {
        let stopped = CancellationToken::new();
        let _guard = stopped.clone().drop_guard();
        let job = ArchiveJob {
            store: Arc::clone(&self.store),
            files: Arc::clone(&self.files),
            folder: self.folder.clone(),
            claimed,
            stopped,
        };
        let runtime = Handle::current();
        let archive = tokio::task::spawn_blocking(move || runtime.block_on(job.run())).await??;
        let size_bytes = archive.metadata()?.len();
        let kept = self.files.put_file(&FileKey::of_data_export(claimed.id), archive).await;
        kept.context("cannot keep the archive")?;
        Ok(size_bytes)
    }

    /// Removes what an export that was interrupted left in the folder.
    fn clear_folder(&self) {
        if let Err(error) = remove(&self.folder) {
            tracing::warn!(%error, folder = %self.folder.display(), "an export that was not finished stays");
        }
    }
}

/// The work on one archive, for a thread that may block.
struct ArchiveJob {
    store: Arc<ChatStore>,
    files: Arc<dyn FileStore>,
    folder: PathBuf,
    claimed: ClaimedExport,
    stopped: CancellationToken,
}

impl ArchiveJob {
    /// Returns the archive, in a file without a name. Nothing stays in the folder.
    async fn run(self) -> anyhow::Result<File> {
        remove(&self.folder).context("cannot remove an earlier export")?;
        make_folder(&self.folder)?;
        let packed = self.pack().await;
        let removed = remove(&self.folder);
        let packed = packed?;
        removed.context("cannot remove the folder of the export")?;
        Ok(packed)
    }

    async fn pack(&self) -> anyhow::Result<File> {
        let name = format!("organization-{}", self.claimed.id);
        let path = self.folder.join(&name);
        let folder = Folder::begin(&path)?.until(self.stopped.clone());
        let content = match self.claimed.export_type {
            DataExportType::Public => ExportContent::Public,
            DataExportType::FullWithConsent => ExportContent::FullWithConsent,
        };
        super::write(&self.store, self.files.as_ref(), folder, (RELEASE, content)).await?;
        let file = tempfile::tempfile_in(&self.folder).context("cannot make the archive")?;
        pack(&path, &name, file).context("cannot write the archive")
    }
}

/// Packs a folder under that name. Owners and times of its files are left out.
fn pack(folder: &Path, name: &str, file: File) -> io::Result<File> {
    let mut archive = tar::Builder::new(GzEncoder::new(BufWriter::new(file), Compression::default()));
    archive.mode(tar::HeaderMode::Deterministic);
    archive.follow_symlinks(false);
    archive.append_dir_all(name, folder)?;
    archive.into_inner()?.finish()?.into_inner().map_err(io::IntoInnerError::into_error)
}

/// Removes a folder, if it is there.
fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
