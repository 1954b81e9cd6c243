//! The folder of an export: which files it has, and what is in them.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use chat_core::import::layout::{MessageFile, Tables};
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

/// Folders and files that hold what is not taken over, in the words of the report.
const OTHERS: [(&str, &str); 4] = [
    ("uploads", "folders of uploads"),
    ("emoji", "folders of pictures of custom emoji"),
    ("realm_icons", "folders of icons and logos"),
    ("analytics.json", "files of statistics"),
];
/// What the name of a file or folder ends in while it is written.
pub(crate) const PARTIAL: &str = "partial";
/// What says which uploads there are.
const UPLOADS: &str = "attachment.json";

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
        let mut others: Vec<(&'static str, usize)> = others.collect();
        let uploads = path.join(UPLOADS);
        if uploads.is_file() {
            let count: u64 = read::<Tables>(&uploads)?.others.values().sum();
            others.push(("uploads", usize::try_from(count).unwrap_or(usize::MAX)));
        }
        Ok(Self { path: path.to_owned(), messages, others })
    }

    /// The organization, and what the export is recognised by.
    pub(super) fn tables(&self) -> anyhow::Result<(Tables, String)> {
        let path = self.path.join("realm.json");
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let digest = Sha256::digest(&bytes);
        let start = digest.first_chunk().copied().unwrap_or_default();
        let tables = serde_json::from_slice(&bytes).with_context(|| no_table(&path))?;
        Ok((tables, format!("{:032x}", u128::from_be_bytes(start))))
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
