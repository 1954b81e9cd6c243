//! The folder of an export: which files it has, and what is in them.

use std::fs::{self, File};
use std::io::{BufReader, ErrorKind};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};
use chat_core::export::Cabinet;
use chat_core::import::FileRecord;
use chat_core::import::layout::{MessageFile, Tables};
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

/// Folders and files that hold what is not taken over, in the words of the report.
const OTHERS: [(&str, &str); 1] = [("analytics.json", "files of statistics")];
/// What the name of a file or folder ends in while it is written.
pub(crate) const PARTIAL: &str = "partial";
/// The list of the files in a folder.
pub(crate) const RECORDS: &str = "records.json";
/// What says which uploads there are.
pub(crate) const UPLOADS: &str = "attachment.json";

/// An unpacked export.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    messages: Vec<PathBuf>,
    others: Vec<(&'static str, usize)>,
}

impl Folder {
    /// Looks which files there are.
    ///
    /// # Errors
    /// When the folder has no export, or one that was not finished.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        if path.extension().is_some_and(|ending| ending == PARTIAL) {
            bail!("the export in {} was not finished", path.display());
        }
        let mut messages = Vec::new();
        let entries = fs::read_dir(path).with_context(|| format!("cannot read the folder {}", path.display()))?;
        for entry in entries {
            let file = entry?.path();
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let ending = file.extension().and_then(|ending| ending.to_str());
            match ending {
                Some(PARTIAL) => bail!("the export in {} was not finished: {name}", path.display()),
                Some("json") if name.starts_with("messages-") => messages.push(file),
                _ => {}
            }
        }
        // Their numbers have as many digits each.
        messages.sort();
        if !path.join("realm.json").is_file() {
            bail!("{} has no realm.json: name the folder that an export was unpacked to", path.display());
        }
        let others = OTHERS.into_iter().filter(|(name, _)| path.join(name).exists()).map(|(_, what)| (what, 1));
        Ok(Self { path: path.to_owned(), messages, others: others.collect() })
    }

    /// The organization, and what the export is recognised by.
    pub(super) fn tables(&self) -> anyhow::Result<(Tables, String)> {
        let path = self.path.join("realm.json");
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let digest = Sha256::digest(&bytes);
        let start = digest.first_chunk().copied().unwrap_or_default();
        let mut tables: Tables = serde_json::from_slice(&bytes).with_context(|| no_table(&path))?;
        let uploads = self.path.join(UPLOADS);
        if uploads.is_file() {
            tables.attachments = read::<Tables>(&uploads)?.attachments;
        }
        Ok((tables, format!("{:032x}", u128::from_be_bytes(start))))
    }

    /// What the list of a folder says of its files; nothing when there is no list.
    pub(super) fn records(&self, cabinet: Cabinet) -> anyhow::Result<Vec<FileRecord>> {
        let list = self.path.join(cabinet.name()).join(RECORDS);
        if list.is_file() { read(&list) } else { Ok(Vec::new()) }
    }

    /// A file of a folder; `None` when it is not there, or the path leads elsewhere.
    pub(super) fn file(&self, cabinet: Cabinet, path: &str) -> anyhow::Result<Option<File>> {
        let path = Path::new(path);
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Ok(None);
        }
        let path = self.path.join(cabinet.name()).join(path);
        match File::open(&path) {
            Ok(file) if file.metadata()?.is_file() => Ok(Some(file)),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// The files of messages, in order.
    pub(super) fn message_files(&self) -> &[PathBuf] {
        &self.messages
    }

    /// What else is there, and how much of it.
    pub(super) fn others(&self) -> &[(&'static str, usize)] {
        &self.others
    }

    /// A file of messages.
    pub(super) fn messages(path: &Path) -> anyhow::Result<MessageFile> {
        read(path)
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_reader(BufReader::new(file)).with_context(|| no_table(path))
}

fn no_table(path: &Path) -> String {
    format!("{} is not as an export has it", path.display())
}
