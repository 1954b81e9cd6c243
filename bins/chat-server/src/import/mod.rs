//! The command `import`: takes over an organization from the export of another server.
//!
//! It reads every file twice: first all of them, so that what cannot be used is known before anything is written, then
//! one after the other. What is done is noted with what was written, so the same command goes on after it broke off.

mod files;
pub(crate) mod folder;

use std::path::Path;

use anyhow::bail;
use chat_core::event_log::store::RealmStore as _;
use chat_core::files::AttachmentStore as _;
use chat_core::import_export::import::export_tables::RealmTables;
use chat_core::import_export::import::{
    self, ImportCheckpoint, ImportReferences, ImportStepOutcome, ImportStore, ImportedImageUrls, ImportedReactions,
    ImportedUpload, MessageSurvey, OrganizationImportSource, TransferReport,
};
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::render_context::{RenderContext, RenderSettings};
use chat_storage::ChatStore;
use serde_json::{Value, json};

use crate::bootstrap::fresh_key;
use crate::config::{Command, Config};
use crate::import::files::Files;
use crate::import::folder::Folder;
use crate::progress::Progress;
use crate::system_runtime::SystemRuntime;
use crate::{database, files as kept_files};

/// Messages with reactions that are written in one step.
const REACTIONS_STEP: usize = 5_000;
/// Uploads that are kept and written down in one step.
const UPLOADS_STEP: usize = 50;
const FULL: &str = "the database holds an organization already: an import needs an empty one";

/// Imports the export in a folder and prints what was taken over and what was not, as JSON.
///
/// # Errors
/// When the folder holds no export that can be used, the database holds something else, or storage fails. What was
/// written until then stays, and the same command goes on from there.
pub(crate) async fn run(config: &Config, folder: &Path) -> anyhow::Result<()> {
    let export = read(folder)?;
    let base_url = config.address.base_url().unwrap_or("http://localhost");
    let mark = import(config, &export, base_url).await?;
    println!("{}", report_json(&mark.report));
    Ok(())
}

/// Looks through an export.
///
/// # Errors
/// When the folder holds none that can be used.
pub(crate) fn read(folder: &Path) -> anyhow::Result<Export> {
    Export::read(Folder::open(folder)?)
}

/// Refuses a database whose import broke off: a part of an organization is none.
///
/// # Errors
/// When there is such an import.
pub(crate) async fn check(store: &ChatStore) -> anyhow::Result<()> {
    match store.import_checkpoint().await? {
        Some(mark) if !mark.is_done => {
            bail!("the import into this database is not finished: run `chat-server import` on the same folder again")
        }
        _ => Ok(()),
    }
}

/// An export, but for its messages.
pub(crate) struct Export {
    folder: Folder,
    tables: RealmTables,
    survey: MessageSurvey,
    source: String,
}

impl Export {
    fn read(folder: Folder) -> anyhow::Result<Self> {
        let (tables, source) = folder.tables()?;
        folder.check(&tables)?;
        let progress = Progress::new("looking through", folder.message_files().len());
        let mut survey = MessageSurvey::default();
        for file in folder.message_files() {
            survey.add_file(&folder.messages(file)?);
            progress.step();
        }
        progress.end();
        Ok(Self { folder, tables, survey, source })
    }
}

/// Imports an export, or goes on with it.
///
/// # Errors
/// As [`run`].
pub(crate) async fn import(config: &Config, export: &Export, base_url: &str) -> anyhow::Result<ImportCheckpoint> {
    let store = database::start(config).await?;
    // The folder of an embedded database is there by now.
    let _instance_lock = database::instance_lock(&config.database)?;
    let kept = kept_files::Files::open(config)?;
    let files = Files { folder: &export.folder, store: &kept, source: &export.source };
    let begun = begin(&store, (export, &files), (base_url, accepts_loss(config))).await;
    store.flush_and_close().await;
    let mark = begun?;
    if mark.is_done {
        return Ok(mark);
    }
    // Opened again, so that the organization is in memory as after every other start.
    let store = database::start(config).await?;
    let done = go_on(&store, (export, &files), base_url, mark).await;
    store.flush_and_close().await;
    done
}

/// Writes the organization, unless that is done.
async fn begin(
    store: &ChatStore,
    (export, files): (&Export, &Files<'_>),
    (base_url, accepts_loss): (&str, bool),
) -> anyhow::Result<ImportCheckpoint> {
    match store.import_checkpoint().await? {
        Some(mark) if mark.source == export.source => return Ok(mark),
        Some(_) => bail!("another export was imported into this database: an import needs an empty one"),
        None if store.snapshot().realm().is_some() => bail!(FULL),
        None => {}
    }
    if !accepts_loss {
        refuse_lost_restrictions(export, base_url)?;
    }
    let pictures = files.pictures(&export.tables).await?;
    let source = OrganizationImportSource { tables: &export.tables, survey: &export.survey, pictures: &pictures };
    let mut report = TransferReport::default();
    let made = import::convert_organization(source, base_url, || fresh_key().ok(), &mut report)?;
    let uploads = import::convert_uploads(&export.tables, &export.source).len();
    report.count_omitted("uploads of somebody the export does not have", export.tables.attachments.len() - uploads);
    for (what, count) in export.folder.others() {
        report.count_omitted(what, *count);
    }
    let mark = ImportCheckpoint { source: export.source.clone(), steps: 1, is_done: false, report };
    match store.import_organization(&made, &mark).await? {
        ImportStepOutcome::Done => Ok(mark),
        ImportStepOutcome::Refused => bail!(FULL),
    }
}

fn accepts_loss(config: &Config) -> bool {
    matches!(config.task(), Command::Import { accept_lost_restrictions: true, .. })
}

/// Refuses an organization that forbids something that cannot be forbidden here, before anything is written.
fn refuse_lost_restrictions(export: &Export, base_url: &str) -> anyhow::Result<()> {
    let (pictures, mut report) = (ImportedImageUrls::default(), TransferReport::default());
    let source = OrganizationImportSource { tables: &export.tables, survey: &export.survey, pictures: &pictures };
    import::convert_organization(source, base_url, || fresh_key().ok(), &mut report)?;
    if report.restrictions.is_empty() {
        return Ok(());
    }
    let lost: Vec<&str> = report.restrictions.iter().map(String::as_str).collect();
    bail!(
        "the organization forbids what cannot be forbidden here: {}; to import it all the same, add \
         --accept-lost-restrictions",
        lost.join(", ")
    );
}

/// What is written in one step.
enum Work<'a> {
    Uploads(&'a [ImportedUpload]),
    Messages(&'a str),
    Things,
    Reactions(&'a [ImportedReactions]),
}

/// What every step needs.
struct Import<'a> {
    store: &'a ChatStore,
    export: &'a Export,
    files: &'a Files<'a>,
    setting: RenderSettings<'a>,
    realm: &'a RealmSnapshot,
    atlas: &'a ImportReferences,
}

/// Does the steps that are missing.
async fn go_on(
    store: &ChatStore,
    (export, files): (&Export, &Files<'_>),
    base_url: &str,
    mut mark: ImportCheckpoint,
) -> anyhow::Result<ImportCheckpoint> {
    let realm = store.snapshot();
    let uploads = import::convert_uploads(&export.tables, &export.source);
    let atlas = ImportReferences::from_tables(&export.tables, &export.survey).with_uploads(&uploads);
    let render_context = RenderContext::from_realm(&realm);
    let setting = RenderSettings {
        realm_url: base_url,
        render_context: &render_context,
        uploads: None,
        now_s: SystemRuntime.now_s(),
    };
    let mut given = TransferReport::default();
    let reactions = import::convert_reactions(&realm, &export.tables.reactions, &mut given);
    let messages = export.folder.message_files().iter().map(|file| Work::Messages(file));
    let steps: Vec<Work<'_>> = (uploads.chunks(UPLOADS_STEP).map(Work::Uploads))
        .chain(messages)
        .chain([Work::Things])
        .chain(reactions.chunks(REACTIONS_STEP).map(Work::Reactions))
        .collect();
    let work = Import { store, export, files, setting, realm: &realm, atlas: &atlas };
    let progress = Progress::new("importing", steps.len());
    for (place, step) in steps.iter().enumerate() {
        // The organization was the first.
        if usize::try_from(mark.steps) == Ok(place + 1) {
            mark.is_done = place + 1 == steps.len();
            if mark.is_done {
                mark.report.merge(&given);
            }
            was_turn(work.step(step, &mut mark).await?)?;
        }
        progress.step();
    }
    progress.end();
    Ok(mark)
}

impl Import<'_> {
    async fn step(&self, step: &Work<'_>, mark: &mut ImportCheckpoint) -> anyhow::Result<ImportStepOutcome> {
        mark.steps += 1;
        Ok(match step {
            Work::Uploads(some) => {
                let kept = self.files.uploads(some, &mut mark.report).await?;
                self.store.import_uploads(&kept, mark).await?
            }
            Work::Messages(file) => {
                let file = self.export.folder.messages(file)?;
                let uploads = self.store.attachments_at_paths(&self.atlas.uploads_used_by(&file)).await?;
                let rows = (&file, uploads.as_slice());
                let messages = import::convert_messages(&self.setting, self.realm, self.atlas, rows, &mut mark.report);
                self.store.import_messages(&messages, mark).await?
            }
            Work::Things => {
                let tables = (&self.export.tables, self.atlas);
                let things =
                    import::convert_drafts_and_bot_storage(&self.setting, self.realm, tables, &mut mark.report);
                self.store.import_drafts_and_bot_storage(&things, mark).await?
            }
            Work::Reactions(some) => self.store.import_reactions(some, mark).await?,
        })
    }
}

fn was_turn(step: ImportStepOutcome) -> anyhow::Result<()> {
    match step {
        ImportStepOutcome::Done => Ok(()),
        ImportStepOutcome::Refused => bail!("another import runs on this database"),
    }
}

fn report_json(report: &TransferReport) -> Value {
    let mut object = json!({"taken_over": report.taken, "not_taken_over": report.left});
    if !report.restrictions.is_empty()
        && let Value::Object(members) = &mut object
    {
        members.insert("restrictions_lost".to_owned(), json!(report.restrictions));
    }
    object
}

#[cfg(test)]
mod tests;
