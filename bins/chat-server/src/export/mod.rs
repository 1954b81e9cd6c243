//! The command `export`: writes the organization into a folder, in the layout that `import` reads. A server does the
//! same for administrators who request an export, and packs the folder ([`ExportWorker`]).
//!
//! What it writes is the organization at one moment: it is read in one transaction, beside servers that run on. The
//! bytes of files are fetched after it; one that was deleted in the meantime is counted. The folder has another name
//! until it is whole, so that nobody takes a part of an export for all of it.

mod folder;
mod worker;

pub(crate) use worker::ExportWorker;

use std::path::Path;

use anyhow::{Context as _, bail};
use chat_core::event_log::store::RealmStore as _;
use chat_core::files::FileStore;
use chat_core::import_export::export::{ExportContent, ExportStore as _, OrganizationExport, OriginalServerRelease};
use chat_core::import_export::import::TransferReport;
use chat_storage::ChatStore;
use serde_json::{Value, json};

use crate::config::Config;
use crate::export::folder::Folder;
use crate::files::Files;
use crate::system_runtime::SystemRuntime;
use crate::{database, import};

/// Exports the organization into a folder and prints what is in it and what is not, as JSON.
///
/// # Errors
/// When the folder has something in it, there is no organization, storage fails or the folder cannot be written. There
/// is no folder of that name then.
pub(crate) async fn run(config: &Config, (folder, release): (&Path, OriginalServerRelease)) -> anyhow::Result<()> {
    let store = database::start_existing(config).await?;
    let written = export(&store, &Files::open(config)?, (folder, release)).await;
    store.flush_and_close().await;
    println!("{}", report_json(&written?));
    Ok(())
}

async fn export(
    store: &ChatStore,
    files: &dyn FileStore,
    (path, release): (&Path, OriginalServerRelease),
) -> anyhow::Result<TransferReport> {
    import::check(store).await?;
    if store.snapshot().realm().is_none() {
        bail!("there is no organization to export");
    }
    write(store, files, Folder::begin(path)?, (release, ExportContent::Everything)).await
}

/// Writes what an export contains into a folder and gives the folder its name. Of an export that fails nothing stays.
async fn write(
    store: &ChatStore,
    files: &dyn FileStore,
    mut folder: Folder,
    (release, content): (OriginalServerRelease, ExportContent),
) -> anyhow::Result<TransferReport> {
    let mut export = OrganizationExport::new(&mut folder, release, SystemRuntime.now_s()).with_content(content);
    let shown = store.export_organization(&mut export).await.context("cannot export the organization");
    let mut report = export.into_report();
    let fetched = match shown.and_then(|()| folder.name_release(release)) {
        Ok(()) => folder.fetch(files).await,
        Err(error) => Err(error),
    };
    match fetched {
        Ok(gone) => {
            report.count_omitted("files whose bytes are gone", gone);
            folder.finish().map(|()| report)
        }
        Err(error) => {
            folder.give_up();
            Err(error)
        }
    }
}

fn report_json(report: &TransferReport) -> Value {
    json!({"exported": report.taken, "not_exported": report.left})
}

#[cfg(test)]
mod tests;
