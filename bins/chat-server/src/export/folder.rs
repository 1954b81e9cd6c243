//! The folder of an export that is being written. It and its files are their owner's alone: they hold what people wrote
//! to each other.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use chat_core::files::FileStore;
use chat_core::import_export::export::{
    ExportTableFile, ExportUploadFolder, ExportWriteError, ExportWriter, ExportedUploadFile, OriginalServerRelease,
};
use serde_json::Value;
use server_kit::shutdown::CancellationToken;

use crate::confined::ConfinedFolder;
use crate::import::folder::{PARTIAL, RECORDS, UPLOADS};
use crate::progress::Progress;

/// The table whose rows are counted while one waits.
const COUNTED: &str = "zerver_message";

/// The reason why an export of a server that stops is not finished.
const STOPPED: &str = "the export was stopped";

/// A folder that has another name until it is whole.
pub(super) struct Folder {
    /// What it will be called.
    path: PathBuf,
    /// The folder, by the name it has until then.
    partial: ConfinedFolder,
    organization: Tables,
    messages: Option<(usize, Tables)>,
    attachments: Tables,
    files: Vec<ExportedUploadFile>,
    progress: Progress,
    /// When a server writes it: the end of that work.
    stopped: Option<CancellationToken>,
}

impl Folder {
    /// Begins an export that will be at `path`.
    ///
    /// # Errors
    /// When there is something already, or an export to that place was begun and not finished.
    pub(super) fn begin(path: &Path) -> anyhow::Result<Self> {
        let mut name =
            path.file_name().with_context(|| format!("{} is no name of a folder", path.display()))?.to_owned();
        if path.extension().is_some_and(|ending| ending == PARTIAL) {
            bail!("{}: a name that ends so is that of an export that was not finished", path.display());
        }
        match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
            Ok(true) => {}
            Ok(false) => bail!("{} has something in it: an export needs a new or empty folder", path.display()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("cannot look into {}", path.display())),
        }
        name.push(".");
        name.push(PARTIAL);
        let partial = path.with_file_name(name);
        let partial = ConfinedFolder::create(&partial).with_context(|| {
            format!("cannot make {}; one that another export left there can be deleted", partial.display())
        })?;
        let mut organization = Tables::create(&partial, "realm.json", ExportTableFile::Organization)?;
        organization.say("import_source", "zulip")?;
        let attachments = Tables::create(&partial, UPLOADS, ExportTableFile::Attachments)?;
        let progress = Progress::new("exporting", 0);
        Ok(Self {
            path: path.to_owned(),
            partial,
            organization,
            messages: None,
            attachments,
            files: Vec::new(),
            progress,
            stopped: None,
        })
    }

    /// The same without signs of progress, until the token is cancelled: then nothing more can be written.
    pub(super) fn until(self, stopped: CancellationToken) -> Self {
        Self { progress: Progress::hidden(), stopped: Some(stopped), ..self }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    /// Writes of which release the export is.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn name_release(&self, release: OriginalServerRelease) -> anyhow::Result<()> {
        let Some((name, status)) = release.migration_status() else { return Ok(()) };
        let write = || {
            let mut file = BufWriter::new(self.partial.create_file(name)?);
            serde_json::to_writer(&mut file, &status)?;
            end(file)
        };
        write().with_context(|| format!("cannot write {name}"))
    }

    /// Fetches the bytes of files, and lists them. Returns how many are gone: they were deleted after they were listed.
    ///
    /// # Errors
    /// When one cannot be read or written.
    pub(super) async fn fetch(&mut self, store: &dyn FileStore) -> anyhow::Result<usize> {
        let files = std::mem::take(&mut self.files);
        let is_watched = self.stopped.is_none();
        let progress = if is_watched { Progress::new("files", files.len()) } else { Progress::hidden() };
        let mut gone = 0;
        for cabinet in ExportUploadFolder::ALL {
            let of_it = files.iter().filter(|file| file.cabinet == cabinet);
            let name = cabinet.folder_name();
            self.partial.create_folder(name).with_context(|| format!("cannot make the folder {name}"))?;
            let mut list = List::create(&self.partial, &format!("{name}/{RECORDS}"))?;
            for file in of_it {
                if self.is_stopped() {
                    bail!(STOPPED);
                }
                if fetch(store, file, &self.partial).await.with_context(|| format!("cannot fetch {}", file.path))? {
                    list.put(&file.record)?;
                } else {
                    gone += 1;
                }
                progress.step();
            }
            list.end()?;
        }
        progress.end();
        Ok(gone)
    }

    /// Gives it its name, once everything is on the disk.
    ///
    /// # Errors
    /// When it cannot be written; it keeps its other name then.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        let Self { path, partial, organization, messages, attachments, progress, files: _, stopped: _ } = self;
        progress.end();
        let files = [Some(organization), messages.map(|(_, tables)| tables), Some(attachments)];
        let written: std::io::Result<()> = files.into_iter().flatten().try_for_each(Tables::end);
        let name = partial.path().display();
        written.and_then(|()| partial.sync()).with_context(|| format!("cannot write {name}"))?;
        fs::rename(partial.path(), &path).with_context(|| format!("cannot call {name} {}", path.display()))?;
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        sync(above).with_context(|| format!("cannot write {}", above.display()))
    }

    /// Deletes what was written of an export that is none.
    pub(super) fn give_up(self) {
        self.progress.end();
        if let Err(error) = fs::remove_dir_all(self.partial.path()) {
            tracing::warn!(%error, folder = %self.partial.path().display(), "an export that was not finished stays");
        }
    }

    fn sheet(&mut self, sheet: ExportTableFile) -> std::io::Result<&mut Tables> {
        let number = match sheet {
            ExportTableFile::Organization => return Ok(&mut self.organization),
            ExportTableFile::Messages(number) => number,
            ExportTableFile::Attachments => return Ok(&mut self.attachments),
        };
        let open = match self.messages.take() {
            Some(open) if open.0 == number => open,
            before => {
                before.map_or(Ok(()), |(_, tables)| tables.end())?;
                (number, Tables::create(&self.partial, &format!("messages-{number:06}.json"), sheet)?)
            }
        };
        Ok(&mut self.messages.insert(open).1)
    }
}

impl ExportWriter for Folder {
    fn expect_messages(&mut self, messages: u64) {
        self.progress.expect(messages);
    }

    fn write_row(&mut self, sheet: ExportTableFile, table: &'static str, row: Value) -> Result<(), ExportWriteError> {
        if self.is_stopped() {
            return Err(ExportWriteError(STOPPED.into()));
        }
        if table == COUNTED {
            self.progress.step();
        }
        self.sheet(sheet).and_then(|tables| tables.row(table, &row)).map_err(|error| ExportWriteError(error.into()))
    }

    fn add_uploaded_file(&mut self, file: ExportedUploadFile) {
        self.files.push(file);
    }
}

/// Writes the bytes of a file; says whether it is there.
async fn fetch(store: &dyn FileStore, file: &ExportedUploadFile, folder: &ConfinedFolder) -> anyhow::Result<bool> {
    let Some(mut reader) = store.open(&file.key, None).await? else { return Ok(false) };
    let path = Path::new(file.cabinet.folder_name()).join(&file.path);
    let mut written = BufWriter::new(folder.create_file(path)?);
    while let Some(piece) = reader.next_chunk().await? {
        written.write_all(&piece)?;
    }
    end(written)?;
    Ok(true)
}

/// A list of files: one JSON array, a file a line.
struct List {
    file: BufWriter<File>,
    is_begun: bool,
}

impl List {
    fn create(folder: &ConfinedFolder, path: &str) -> std::io::Result<Self> {
        Ok(Self { file: BufWriter::new(folder.create_file(path)?), is_begun: false })
    }

    fn put(&mut self, record: &Value) -> std::io::Result<()> {
        self.file.write_all(if self.is_begun { b",\n" } else { b"[\n" })?;
        self.is_begun = true;
        serde_json::to_writer(&mut self.file, record)?;
        Ok(())
    }

    fn end(mut self) -> std::io::Result<()> {
        self.file.write_all(if self.is_begun { b"\n]\n" } else { b"[]\n" })?;
        end(self.file)
    }
}

/// A file of tables: one JSON object, a table a key, a row a line.
struct Tables {
    file: BufWriter<File>,
    is_begun: bool,
    table: Option<&'static str>,
    /// Those that have to be there and have no row yet.
    missing: Vec<&'static str>,
}

impl Tables {
    fn create(folder: &ConfinedFolder, name: &str, sheet: ExportTableFile) -> std::io::Result<Self> {
        let mut file = BufWriter::new(folder.create_file(name)?);
        file.write_all(b"{")?;
        Ok(Self { file, is_begun: false, table: None, missing: sheet.required_tables().to_vec() })
    }

    /// Writes a word that is no table, before any table.
    fn say(&mut self, key: &str, word: &str) -> std::io::Result<()> {
        self.next()?;
        write!(self.file, "\"{key}\": \"{word}\"")
    }

    fn row(&mut self, table: &'static str, row: &Value) -> std::io::Result<()> {
        if self.table == Some(table) {
            self.file.write_all(b",\n")?;
        } else {
            self.close()?;
            self.next()?;
            writeln!(self.file, "\"{table}\": [")?;
            self.table = Some(table);
            self.missing.retain(|missing| *missing != table);
        }
        serde_json::to_writer(&mut self.file, row)?;
        Ok(())
    }

    fn close(&mut self) -> std::io::Result<()> {
        if self.table.take().is_some() { self.file.write_all(b"\n]") } else { Ok(()) }
    }

    fn next(&mut self) -> std::io::Result<()> {
        let before: &[u8] = if self.is_begun { b",\n" } else { b"\n" };
        self.is_begun = true;
        self.file.write_all(before)
    }

    /// Returns when it is on the disk.
    fn end(mut self) -> std::io::Result<()> {
        self.close()?;
        for table in std::mem::take(&mut self.missing) {
            self.next()?;
            write!(self.file, "\"{table}\": []")?;
        }
        self.file.write_all(b"\n}\n")?;
        end(self.file)
    }
}

/// Returns when it is on the disk.
fn end(file: BufWriter<File>) -> std::io::Result<()> {
    file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
}

fn sync(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}
