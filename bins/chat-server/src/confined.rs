//! A folder whose files are opened and made below it, and never through a symbolic link.
//!
//! Each part of a path is opened relative to the folder before it, so that neither a link in the folder nor one that
//! replaces a part in the meantime leads elsewhere. `openat2` would do that in one call, but only on newer Linux
//! kernels.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fsync, mkdirat, openat, statat};
use rustix::io::Errno;

/// How a folder on the way is opened.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// How a file is read. Without `NONBLOCK`, opening a pipe would wait for its writer.
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
/// How a file is made.
const CREATE: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Permissions of a folder: its owner's alone.
const FOLDER_MODE: Mode = Mode::RWXU;
/// Permissions of a file: its owner's alone.
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// An open folder.
#[derive(Debug)]
pub(crate) struct ConfinedFolder {
    path: PathBuf,
    folder: OwnedFd,
}

impl ConfinedFolder {
    /// Opens a folder that an operator named; that path may itself lead through links.
    ///
    /// # Errors
    /// When it is not there or not a folder.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        Self::at(path, FOLDER).with_context(|| format!("cannot read the folder {}", path.display()))
    }

    /// Makes a folder and opens it.
    ///
    /// # Errors
    /// When there is something at that path, or it cannot be made.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        mkdirat(CWD, path, FOLDER_MODE)?;
        Ok(Self::at(path, FOLDER.union(OFlags::NOFOLLOW))?)
    }

    fn at(path: &Path, flags: OFlags) -> Result<Self, Errno> {
        Ok(Self { folder: openat(CWD, path, flags, Mode::empty())?, path: path.to_owned() })
    }

    /// Returns the path by which it was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the names of what is directly in the folder, in no order; a name that is not text is left out.
    ///
    /// # Errors
    /// When it cannot be listed.
    pub(crate) fn names(&self) -> anyhow::Result<Vec<String>> {
        let unlisted = || format!("cannot read the folder {}", self.path.display());
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.folder).with_context(unlisted)? {
            let entry = entry.with_context(unlisted)?;
            names.extend(entry.file_name().to_str().ok().map(str::to_owned));
        }
        Ok(names)
    }

    /// Opens a file for reading; `None` when there is no regular file at that path, or the path leaves the folder.
    ///
    /// # Errors
    /// When a part of the path is a symbolic link, which is named, or the file cannot be read.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> anyhow::Result<Option<File>> {
        let path = path.as_ref();
        let Some(names) = parts(path) else { return Ok(None) };
        let Some((last, above)) = names.split_last() else { return Ok(None) };
        let (mut inner, mut walked) = (None, PathBuf::new());
        for name in above {
            walked.push(name);
            let outer = inner.as_ref().map_or(self.folder.as_fd(), OwnedFd::as_fd);
            match openat(outer, *name, FOLDER.union(OFlags::NOFOLLOW), Mode::empty()) {
                Ok(folder) => inner = Some(folder),
                Err(error) => return self.absent(outer, name, &walked, error),
            }
        }
        let outer = inner.as_ref().map_or(self.folder.as_fd(), OwnedFd::as_fd);
        match openat(outer, *last, READ, Mode::empty()) {
            Ok(file) => {
                let file = File::from(file);
                let is_file = file.metadata().with_context(|| self.unread(path))?.is_file();
                Ok(is_file.then_some(file))
            }
            Err(error) => self.absent(outer, last, path, error),
        }
    }

    /// Sorts out why a part of a path could not be opened.
    fn absent(&self, outer: BorrowedFd<'_>, name: &OsStr, path: &Path, error: Errno) -> anyhow::Result<Option<File>> {
        let found = statat(outer, name, AtFlags::SYMLINK_NOFOLLOW);
        let kind = found.map(|found| FileType::from_raw_mode(found.st_mode));
        match (kind, error) {
            (Ok(FileType::Symlink), _) => {
                bail!("{} is a symbolic link: links are not followed", self.path.join(path).display())
            }
            // What is no folder has nothing in it, and a socket cannot be opened.
            (Err(Errno::NOENT), _) | (Ok(_), Errno::NOENT | Errno::NOTDIR | Errno::NXIO) => Ok(None),
            _ => Err(error).with_context(|| self.unread(path)),
        }
    }

    fn unread(&self, path: &Path) -> String {
        format!("cannot read {}", self.path.join(path).display())
    }

    /// Makes a file, and the folders above it.
    ///
    /// # Errors
    /// When there is one, the path leaves the folder or leads through a link, or it cannot be written.
    pub(crate) fn create_file(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let names = parts(path.as_ref()).ok_or(Errno::INVAL)?;
        let (last, above) = names.split_last().ok_or(Errno::INVAL)?;
        let inner = self.make_folders(above)?;
        let outer = inner.as_ref().map_or(self.folder.as_fd(), OwnedFd::as_fd);
        Ok(File::from(openat(outer, *last, CREATE, FILE_MODE)?))
    }

    /// Makes a folder, and those above it, unless they are there.
    ///
    /// # Errors
    /// When the path leaves the folder, leads through a link, or it cannot be written.
    pub(crate) fn create_folder(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let names = parts(path.as_ref()).ok_or(Errno::INVAL)?;
        self.make_folders(&names).map(drop)
    }

    fn make_folders(&self, names: &[&OsStr]) -> io::Result<Option<OwnedFd>> {
        let mut inner: Option<OwnedFd> = None;
        for name in names {
            let outer = inner.as_ref().map_or(self.folder.as_fd(), OwnedFd::as_fd);
            match mkdirat(outer, *name, FOLDER_MODE) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            inner = Some(openat(outer, *name, FOLDER.union(OFlags::NOFOLLOW), Mode::empty())?);
        }
        Ok(inner)
    }

    /// Waits until the names in the folder are on the disk.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(fsync(&self.folder)?)
    }
}

/// Returns the names that a path below a folder has; `None` when it leads out of it.
fn parts(path: &Path) -> Option<Vec<&OsStr>> {
    let part = |component| match component {
        Component::Normal(name) => Some(name),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    };
    path.components().map(part).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_is_refused_by_name_wherever_it_stands_in_a_path() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "hidden").unwrap();
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("in")).unwrap();
        fs::write(place.path().join("in/file"), "shown").unwrap();
        symlink(outside.path(), place.path().join("to-folder")).unwrap();
        symlink(outside.path().join("secret"), place.path().join("in/to-file")).unwrap();
        symlink("file", place.path().join("in/beside")).unwrap();
        symlink("nowhere", place.path().join("dangling")).unwrap();
        let folder = ConfinedFolder::open(place.path()).unwrap();
        for (path, link) in [
            ("to-folder/secret", "to-folder"),
            ("in/to-file", "in/to-file"),
            ("in/beside", "in/beside"),
            ("dangling", "dangling"),
        ] {
            let refused = folder.read(path).unwrap_err().to_string();
            let named = format!("{} is a symbolic link", place.path().join(link).display());
            assert!(refused.starts_with(&named), "{refused}");
        }
        let mut text = String::new();
        folder.read("in/file").unwrap().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "shown");
        for none in ["in", "in/none", "none/file", "in/file/x", "../secret", "/etc/passwd", "./in/file", ""] {
            assert!(folder.read(none).unwrap().is_none(), "{none}");
        }
    }

    #[test]
    fn a_file_is_made_below_the_folder_and_not_through_a_link() {
        let outside = tempfile::tempdir().unwrap();
        let place = tempfile::tempdir().unwrap();
        let folder = ConfinedFolder::create(&place.path().join("new")).unwrap();
        folder.create_file("a/b/c").unwrap();
        assert!(place.path().join("new/a/b/c").is_file());
        symlink(outside.path(), place.path().join("new/link")).unwrap();
        symlink(outside.path().join("made"), place.path().join("new/file")).unwrap();
        for refused in ["link/made", "file", "a/b/c", "../made", "/made"] {
            assert!(folder.create_file(refused).is_err(), "{refused}");
        }
        assert!(folder.create_folder("link/made").is_err());
        assert!(fs::read_dir(outside.path()).unwrap().next().is_none());
        assert!(ConfinedFolder::create(&place.path().join("new")).is_err());
    }
}
