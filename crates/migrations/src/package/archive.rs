//! A tarball, read entry by entry and held to its bounds. Nothing of it is ever written to a disk.

use std::io::{self, BufReader, Read};
use std::ops::ControlFlow;

use flate2::bufread::MultiGzDecoder;
use tar::{Archive, Entry, EntryType};

use super::limits;

/// The folder of a tarball that holds a package.
const ROOT: &str = "package/";
/// Bytes read from a tarball at once.
const READ_BYTES: usize = 64 * 1024;

/// The reason why a tarball is not a valid package. Its text is safe to show to a caller.
#[derive(Debug, thiserror::Error)]
pub enum PackageTarballError {
    /// It is not a gzip file.
    #[error("it is no gzip file")]
    NotGzip,
    /// It cannot be read or unpacked.
    #[error("it cannot be unpacked: {0}")]
    Broken(#[source] io::Error),
    /// It ends before its last file does.
    #[error("it is cut short")]
    CutShort,
    /// It unpacks to more than [`limits::UNPACKED_MAX_BYTES`].
    #[error("it unpacks to more than {} bytes", limits::UNPACKED_MAX_BYTES)]
    TooLarge,
    /// It has more than [`limits::TARBALL_ENTRIES_MAX`] entries.
    #[error("it has more than {} files", limits::TARBALL_ENTRIES_MAX)]
    TooManyFiles,
    /// One of its files is larger than [`limits::PACKAGE_FILE_MAX_BYTES`].
    #[error("its file {0:?} is larger than {max} bytes", max = limits::PACKAGE_FILE_MAX_BYTES)]
    FileTooLarge(String),
    /// An entry has a path that leads out of the package.
    #[error("its file {0:?} leads out of the package")]
    Path(String),
    /// An entry is a link, a device or the like.
    #[error("its entry {0:?} is neither a file nor a folder")]
    NotAFile(String),
    /// There is no `package/package.json`.
    #[error("it has no package/package.json")]
    NoManifest,
    /// `package/package.json` is not a valid manifest.
    #[error("its package.json is not that of a package: {0}")]
    Manifest(String),
    /// It names a different package than the requested one.
    #[error("its package.json says that it is {0}")]
    OtherPackage(String),
    /// A file is not JSON.
    #[error("its file {file:?} is not valid JSON: {source}")]
    Json {
        /// The file, below `package/`.
        file: String,
        /// The error, with line and column.
        source: serde_json::Error,
    },
    /// A file holds a resource that cannot be stored.
    #[error("its file {file:?} holds no resource that can be stored: {problem}")]
    Resource {
        /// The file, below `package/`.
        file: String,
        /// The reason.
        problem: String,
    },
}

/// Shows the files directly below `package/` whose names end with `.json`, in their order, until
/// `visit` breaks off. All others are passed over, and read: a tarball is whole or it is refused.
///
/// # Errors
/// What is wrong with the tarball, and whatever `visit` says.
pub(super) fn walk(
    tarball: impl Read,
    mut visit: impl FnMut(&str, &[u8]) -> Result<ControlFlow<()>, PackageTarballError>,
) -> Result<(), PackageTarballError> {
    let mut packed = BufReader::with_capacity(READ_BYTES, tarball);
    if !io::BufRead::fill_buf(&mut packed).map_err(fault)?.starts_with(&[0x1f, 0x8b]) {
        return Err(PackageTarballError::NotGzip);
    }
    let unpacked = Bounded { inner: MultiGzDecoder::new(packed), left: limits::UNPACKED_MAX_BYTES };
    let mut archive = Archive::new(unpacked);
    let mut names = LongNames::default();
    let mut content = Vec::new();
    // Raw, because the library would take a name written beside an entry into memory whatever its size.
    for (index, entry) in archive.entries().map_err(fault)?.raw(true).enumerate() {
        let mut entry = entry.map_err(fault)?;
        if index >= limits::TARBALL_ENTRIES_MAX {
            return Err(PackageTarballError::TooManyFiles);
        }
        if names.take(&mut entry)? {
            continue;
        }
        let path = names.name(&entry);
        let Some(file) = file_of(&path, entry.header().entry_type())? else { continue };
        read(&mut entry, file, &mut content)?;
        if visit(file, &content)?.is_break() {
            return Ok(());
        }
    }
    // To the end, where the checksum is.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(fault)?;
    Ok(())
}

/// Returns the name of the file below `package/`, if it is one that is read.
fn file_of(path: &str, kind: EntryType) -> Result<Option<&str>, PackageTarballError> {
    match kind {
        EntryType::Regular | EntryType::Continuous | EntryType::Directory => {}
        _ => return Err(PackageTarballError::NotAFile(path.to_owned())),
    }
    let path = path.strip_prefix("./").unwrap_or(path);
    if path.starts_with('/') || path.contains(['\\', '\0']) || path.split('/').any(|segment| segment == "..") {
        return Err(PackageTarballError::Path(path.to_owned()));
    }
    let file = path.strip_prefix(ROOT).filter(|_| kind != EntryType::Directory);
    let is_json = |file: &&str| file.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case("json"));
    Ok(file.filter(|file| !file.contains('/')).filter(is_json))
}

/// Reads the whole content of an entry.
fn read(entry: &mut Entry<'_, impl Read>, file: &str, content: &mut Vec<u8>) -> Result<(), PackageTarballError> {
    let size = entry.header().entry_size().map_err(fault)?;
    if size > limits::PACKAGE_FILE_MAX_BYTES {
        return Err(PackageTarballError::FileTooLarge(file.to_owned()));
    }
    content.clear();
    entry.read_to_end(content).map_err(fault)?;
    if u64::try_from(content.len()).is_ok_and(|read| read == size) {
        Ok(())
    } else {
        Err(PackageTarballError::CutShort)
    }
}

/// The name of the next entry, where it is written in a separate entry before it.
#[derive(Default)]
struct LongNames {
    next: Option<String>,
}

impl LongNames {
    /// Takes in an entry that says something of the next one; `false` for any other.
    fn take(&mut self, entry: &mut Entry<'_, impl Read>) -> Result<bool, PackageTarballError> {
        let kind = entry.header().entry_type();
        match kind {
            EntryType::XGlobalHeader | EntryType::GNULongLink => return Ok(true),
            EntryType::XHeader | EntryType::GNULongName => {}
            _ => return Ok(false),
        }
        let mut said = Vec::new();
        if entry.header().entry_size().map_err(fault)? > limits::ENTRY_NAME_MAX_BYTES {
            return Err(PackageTarballError::Path("a name that is too long".to_owned()));
        }
        entry.read_to_end(&mut said).map_err(fault)?;
        if kind == EntryType::GNULongName {
            let name = said.split(|byte| *byte == 0).next().unwrap_or_default();
            self.next = Some(String::from_utf8_lossy(name).into_owned());
        } else {
            for pair in tar::PaxExtensions::new(&said) {
                let pair = pair.map_err(fault)?;
                if pair.key_bytes() == b"path" {
                    self.next = Some(String::from_utf8_lossy(pair.value_bytes()).into_owned());
                }
            }
        }
        Ok(true)
    }

    /// Returns the name of an entry, whichever way it was written.
    fn name(&mut self, entry: &Entry<'_, impl Read>) -> String {
        let own = || String::from_utf8_lossy(&entry.header().path_bytes()).into_owned();
        self.next.take().unwrap_or_else(own)
    }
}

/// A reader that gives no more than so many bytes.
struct Bounded<R> {
    inner: R,
    left: u64,
}

#[derive(Debug, thiserror::Error)]
#[error("it unpacks to too much")]
struct Exceeded;

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = u64::try_from(read).ok().and_then(|read| self.left.checked_sub(read)).ok_or_else(exceeded)?;
        Ok(read)
    }
}

fn exceeded() -> io::Error {
    io::Error::other(Exceeded)
}

/// Returns what an error of reading says of the tarball.
fn fault(error: io::Error) -> PackageTarballError {
    if contains_exceeded(&error) {
        return PackageTarballError::TooLarge;
    }
    match error.kind() {
        io::ErrorKind::UnexpectedEof => PackageTarballError::CutShort,
        _ => PackageTarballError::Broken(error),
    }
}

/// Returns whether the bound was the cause, which the library wraps in its errors.
fn contains_exceeded(error: &io::Error) -> bool {
    let mut next = error.get_ref().map(|inner| inner as &(dyn std::error::Error + 'static));
    while let Some(inner) = next {
        let wrapped = inner.downcast_ref::<io::Error>();
        if inner.is::<Exceeded>() || wrapped.is_some_and(contains_exceeded) {
            return true;
        }
        next = inner.source();
    }
    false
}

#[cfg(test)]
mod tests;
