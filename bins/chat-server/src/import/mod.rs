//! The command `import`: takes over an organization from the export of another server.
//!
//! It reads every file twice: first all of them, so that what cannot be used is known before anything is written, then one
//! after the other. What is done is noted with what was written, so the same command goes on after it broke off.

pub(crate) mod folder;

use std::path::Path;

use anyhow::{Context as _, bail};
use chat_core::import::layout::Tables;
use chat_core::import::{self, Atlas, ImportStore, Mark, Report, Step, Survey};
use chat_core::lexicon::{Lexicon, Setting};
use chat_core::ports::RealmStore as _;
use chat_storage::Store;
use serde_json::{Value, json};

use crate::bootstrap::fresh_key;
use crate::config::Config;
use crate::database;
use crate::import::folder::Folder;
use crate::machine::Machine;
use crate::progress::Progress;

/// Messages with reactions that are written in one step.
const REACTIONS_STEP: usize = 5_000;

/// Imports the export in a folder and prints what was taken over and what was not, as JSON.
///
/// # Errors
/// When the folder holds no export that can be used, the database holds something else, or storage fails. What was
/// written until then stays, and the same command goes on from there.
pub(crate) async fn run(config: &Config, folder: &Path) -> anyhow::Result<()> {
    let export = Export::read(Folder::open(folder)?)?;
    let base_url = config.address.base_url().unwrap_or("http://localhost");
    let mark = import(config, &export, base_url).await?;
    println!("{}", told(&mark.report));
    Ok(())
}

/// Refuses a database whose import broke off: a part of an organization is none.
///
/// # Errors
/// When there is such an import.
pub(crate) async fn check(store: &Store) -> anyhow::Result<()> {
    match store.import_mark().await? {
        Some(mark) if !mark.is_done => {
            bail!("the import into this database is not finished: run `chat-server import` on the same folder again")
        }
        _ => Ok(()),
    }
}

/// An export, but for its messages.
struct Export {
    folder: Folder,
    tables: Tables,
    survey: Survey,
    source: String,
}

impl Export {
    fn read(folder: Folder) -> anyhow::Result<Self> {
        let (tables, source) = folder.tables()?;
        let progress = Progress::new("looking through", folder.message_files().len());
        let mut survey = Survey::default();
        for file in folder.message_files() {
            survey.look_at(&Folder::messages(file)?);
            progress.step();
        }
        progress.end();
        Ok(Self { folder, tables, survey, source })
    }
}

async fn import(config: &Config, export: &Export, base_url: &str) -> anyhow::Result<Mark> {
    let store = open(config).await?;
    // The folder of an embedded database is there by now.
    let _hold = database::hold(&config.database)?;
    let begun = begin(&store, export, base_url).await;
    store.stop().await;
    let mark = begun?;
    if mark.is_done {
        return Ok(mark);
    }
    // Opened anew, so that the organization is in memory as after every other start.
    let store = open(config).await?;
    let done = go_on(&store, export, base_url, mark).await;
    store.stop().await;
    done
}

async fn open(config: &Config) -> anyhow::Result<Store> {
    Store::start(database::open(&config.database).await?).await.context("cannot read the organization")
}

/// Writes the organization, unless that is done.
async fn begin(store: &Store, export: &Export, base_url: &str) -> anyhow::Result<Mark> {
    match store.import_mark().await? {
        Some(mark) if mark.source == export.source => return Ok(mark),
        Some(_) => bail!("another export was imported into this database: an import needs an empty one"),
        None => {}
    }
    let mut report = Report::default();
    let made = import::organization(&export.tables, &export.survey, base_url, || fresh_key().ok(), &mut report)?;
    for (what, count) in export.folder.others() {
        report.leave(what, *count);
    }
    let mark = Mark { source: export.source.clone(), steps: 1, is_done: false, report };
    match store.import_organization(&made, &mark).await? {
        Step::Done => Ok(mark),
        Step::Refused => bail!("the database holds an organization already: an import needs an empty one"),
    }
}

/// Does the steps that are missing.
async fn go_on(store: &Store, export: &Export, base_url: &str, mut mark: Mark) -> anyhow::Result<Mark> {
    let realm = store.realm();
    let (lexicon, atlas) = (Lexicon::of(&realm), Atlas::of(&export.tables, &export.survey));
    let setting = Setting { realm_url: base_url, lexicon: &lexicon, uploads: None, now_s: Machine.now_s() };
    let files = export.folder.message_files();
    let mut given = Report::default();
    let reactions = import::reactions(&realm, &export.tables.reactions, &mut given);
    // One at least, since the last step says that it was the last.
    let reaction_steps = reactions.len().div_ceil(REACTIONS_STEP).max(1);
    let progress = Progress::new("importing", files.len() + reaction_steps);
    for (place, file) in files.iter().enumerate() {
        if is_next(&mark, place) {
            let file = Folder::messages(file)?;
            let messages = import::messages(&setting, &realm, &atlas, &file, &mut mark.report);
            mark.steps += 1;
            was_turn(store.import_messages(&messages, &mark).await?)?;
        }
        progress.step();
    }
    for place in 0..reaction_steps {
        if is_next(&mark, files.len() + place) {
            let some = reactions.iter().skip(place * REACTIONS_STEP).take(REACTIONS_STEP);
            mark.steps += 1;
            mark.is_done = place + 1 == reaction_steps;
            if mark.is_done {
                mark.report.add(&given);
            }
            was_turn(store.import_reactions(&some.cloned().collect::<Vec<_>>(), &mark).await?)?;
        }
        progress.step();
    }
    progress.end();
    Ok(mark)
}

/// Whether the step at that place, after the organization, is the next.
fn is_next(mark: &Mark, place: usize) -> bool {
    usize::try_from(mark.steps) == Ok(place + 1)
}

fn was_turn(step: Step) -> anyhow::Result<()> {
    match step {
        Step::Done => Ok(()),
        Step::Refused => bail!("another import runs on this database"),
    }
}

fn told(report: &Report) -> Value {
    json!({"taken_over": report.taken, "not_taken_over": report.left})
}

#[cfg(test)]
mod tests;
