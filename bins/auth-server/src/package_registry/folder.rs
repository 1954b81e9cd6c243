//! A folder of `<name>-<version>.tgz`.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use async_trait::async_trait;
use migrations::PackageId;
use migrations::package::{FetchedPackage, PackageRegistry, RegistryError};
use url::Url;

use super::tarball::FileTarball;

const ENDING: &str = ".tgz";

/// A folder as a registry.
#[derive(Debug)]
pub(super) struct Folder {
    address: String,
    path: PathBuf,
}

impl Folder {
    /// Returns the folder at a `file://` address.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn open(address: &Url) -> io::Result<Self> {
        let path = address.to_file_path();
        let path = path.map_err(|()| io::Error::new(io::ErrorKind::InvalidInput, "it names no folder"))?;
        fs::read_dir(&path)?;
        Ok(Self { address: address.to_string(), path })
    }

    fn files(&self) -> io::Result<Vec<String>> {
        let files: io::Result<Vec<_>> = fs::read_dir(&self.path)?.collect();
        Ok(files?.into_iter().filter_map(|file| file.file_name().into_string().ok()).collect())
    }
}

#[async_trait]
impl PackageRegistry for Folder {
    fn display_address(&self) -> &str {
        &self.address
    }

    async fn package_versions(&self, name: &str) -> Result<Vec<String>, RegistryError> {
        let files = self.files().map_err(|error| unreadable(&error))?;
        let versions = files.iter().filter_map(|file| version_in(file, name));
        let versions: Vec<String> = versions.map(str::to_owned).collect();
        if versions.is_empty() { Err(RegistryError::Unknown) } else { Ok(versions) }
    }

    async fn fetch_package(&self, package: &PackageId) -> Result<FetchedPackage, RegistryError> {
        let file = format!("{}-{}{ENDING}", package.name(), package.version());
        let opened = File::open(self.path.join(file)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => RegistryError::Unknown,
            _ => unreadable(&error),
        })?;
        super::read(package, FileTarball::new(opened)).await
    }
}

/// Returns the version of a file, if it is of the package: a name may go on with a hyphen.
fn version_in<'a>(file: &'a str, name: &str) -> Option<&'a str> {
    let version = file.strip_prefix(name)?.strip_prefix('-')?.strip_suffix(ENDING)?;
    PackageId::new(name, version).is_ok().then_some(version)
}

fn unreadable(error: &io::Error) -> RegistryError {
    RegistryError::Answer(format!("the folder cannot be read: {error}"))
}
