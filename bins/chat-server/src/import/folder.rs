//! The folder of an export: which files it has, and what is in them.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use chat_core::import_export::export::ExportUploadFolder;
use chat_core::import_export::import::ExportFileRecord;
use chat_core::import_export::import::export_tables::{MessageFile, RealmTables};
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::confined::ConfinedFolder;

/// Folders and files that hold what is not taken over, in the words of the report.
const OTHERS: [(&str, &str); 1] = [("analytics.json", "files of statistics")];
/// What the name of a file or folder ends in while it is written.
pub(crate) const PARTIAL: &str = "partial";
/// The organization itself.
const REALM: &str = "realm.json";
/// The list of the files in a folder.
pub(crate) const RECORDS: &str = "records.json";
/// What says which uploads there are.
pub(crate) const UPLOADS: &str = "attachment.json";

/// An unpacked export.
#[derive(Debug)]
pub(super) struct Folder {
    root: ConfinedFolder,
    messages: Vec<String>,
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
        let root = ConfinedFolder::open(path)?;
        let mut messages = Vec::new();
        for name in root.names()? {
            let ending = Path::new(&name).extension().and_then(|ending| ending.to_str());
            match ending {
                Some(PARTIAL) => bail!("the export in {} was not finished: {name}", path.display()),
                Some("json") if name.starts_with("messages-") => messages.push(name),
                _ => {}
            }
        }
        // Their numbers have as many digits each.
        messages.sort();
        if root.read(REALM)?.is_none() {
            bail!("{} has no realm.json: name the folder that an export was unpacked to", path.display());
        }
        let mut others = Vec::new();
        for (name, what) in OTHERS {
            others.extend(root.read(name)?.map(|_| (what, 1)));
        }
        Ok(Self { root, messages, others })
    }

    /// Returns the organization, and what the export is recognised by.
    pub(super) fn tables(&self) -> anyhow::Result<(RealmTables, String)> {
        let mut bytes = Vec::new();
        self.needed(REALM)?.read_to_end(&mut bytes).with_context(|| format!("cannot read {REALM}"))?;
        let digest = Sha256::digest(&bytes);
        let start = digest.first_chunk().copied().unwrap_or_default();
        let mut tables: RealmTables = serde_json::from_slice(&bytes).with_context(|| self.no_table(REALM))?;
        if let Some(uploads) = self.root.read(UPLOADS)? {
            tables.attachments = self.parse::<RealmTables>(UPLOADS, uploads)?.attachments;
        }
        Ok((tables, format!("{:032x}", u128::from_be_bytes(start))))
    }

    /// Opens every file that the export names, so that a link is refused before anything is written.
    ///
    /// # Errors
    /// When one is a link, or leads through one.
    pub(super) fn check(&self, tables: &RealmTables) -> anyhow::Result<()> {
        for upload in &tables.attachments {
            self.file(ExportUploadFolder::Uploads, &upload.path_id)?;
        }
        for cabinet in [ExportUploadFolder::Avatars, ExportUploadFolder::Emoji, ExportUploadFolder::Emblems] {
            for record in self.records(cabinet)? {
                self.file(cabinet, &record.path)?;
            }
        }
        Ok(())
    }

    /// Returns what the list of a folder says of its files; nothing when there is no list.
    pub(super) fn records(&self, cabinet: ExportUploadFolder) -> anyhow::Result<Vec<ExportFileRecord>> {
        let list = format!("{}/{RECORDS}", cabinet.folder_name());
        self.root.read(&list)?.map_or_else(|| Ok(Vec::new()), |file| self.parse(&list, file))
    }

    /// A file of a folder; `None` when it is not there, or the path leads elsewhere.
    ///
    /// # Errors
    /// When it is a link or lies behind one, or cannot be read.
    pub(super) fn file(&self, cabinet: ExportUploadFolder, path: &str) -> anyhow::Result<Option<File>> {
        let path = Path::new(path);
        if path.is_absolute() {
            return Ok(None);
        }
        self.root.read(Path::new(cabinet.folder_name()).join(path))
    }

    /// Returns the names of the files of messages, in order.
    pub(super) fn message_files(&self) -> &[String] {
        &self.messages
    }

    /// Returns what else is there, and how much of it.
    pub(super) fn others(&self) -> &[(&'static str, usize)] {
        &self.others
    }

    /// Reads a file of messages.
    pub(super) fn messages(&self, name: &str) -> anyhow::Result<MessageFile> {
        self.parse(name, self.needed(name)?)
    }

    fn needed(&self, name: &str) -> anyhow::Result<File> {
        self.root.read(name)?.with_context(|| format!("{} is not a file", self.root.path().join(name).display()))
    }

    fn parse<T: DeserializeOwned>(&self, name: &str, file: File) -> anyhow::Result<T> {
        serde_json::from_reader(BufReader::new(file)).with_context(|| self.no_table(name))
    }

    fn no_table(&self, name: &str) -> String {
        format!("{} is not as an export has it", self.root.path().join(name).display())
    }
}
