//! Where packages come from: the port a binary implements.

use std::error::Error;
use std::fmt::Debug;
use std::io::{self, Read};
use std::sync::Arc;

use async_trait::async_trait;

use super::archive::PackageTarballError;
use super::id::PackageId;
use super::limits;
use super::survey::TarballContents;

/// A downloaded package tarball. Its content does not change while it is held.
pub trait DownloadedTarball: Send + Sync + Debug {
    /// Opens a reader at the beginning; several may be open at once.
    ///
    /// # Errors
    /// When it cannot be read any more.
    fn open_reader(&self) -> io::Result<Box<dyn Read + Send>>;
}

/// A downloaded package whose tarball was checked completely.
#[derive(Debug, Clone)]
pub struct FetchedPackage {
    tarball: Arc<dyn DownloadedTarball>,
    survey: TarballContents,
}

impl FetchedPackage {
    /// Reads and verifies the whole tarball of a package. This takes CPU time, so it should not run on an async worker
    /// thread.
    ///
    /// # Errors
    /// [`PackageTarballError`].
    pub fn from_tarball(package: &PackageId, tarball: Arc<dyn DownloadedTarball>) -> Result<Self, PackageTarballError> {
        let survey =
            TarballContents::read_and_verify(tarball.open_reader().map_err(PackageTarballError::Broken)?, package)?;
        Ok(Self { tarball, survey })
    }

    /// Returns the contents of the tarball.
    #[must_use]
    pub const fn contents(&self) -> &TarballContents {
        &self.survey
    }

    /// Returns the tarball.
    #[must_use]
    pub fn tarball(&self) -> &Arc<dyn DownloadedTarball> {
        &self.tarball
    }
}

/// A registry of packages.
#[async_trait]
pub trait PackageRegistry: Send + Sync {
    /// Returns the registry's address without credentials, for messages.
    fn display_address(&self) -> &str;

    /// Returns the versions of a package, in no order.
    ///
    /// # Errors
    /// [`RegistryError`]; [`RegistryError::Unknown`] when it knows no package of that name.
    async fn package_versions(&self, name: &str) -> Result<Vec<String>, RegistryError>;

    /// Downloads a package, verifies its checksum and reads it.
    ///
    /// # Errors
    /// [`RegistryError`].
    async fn fetch_package(&self, package: &PackageId) -> Result<FetchedPackage, RegistryError>;
}

/// The reason why a registry did not return a package. Its text is safe to show to a caller.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The registry has no package of that name or version.
    #[error("it is not there")]
    Unknown,
    /// The registry cannot be reached, or the connection breaks.
    #[error("it does not answer: {reason}")]
    Unreachable {
        /// The reason, in a text of this server.
        reason: String,
        /// The error, for the log.
        #[source]
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// The registry answers with a status that is neither success nor absence.
    #[error("it answers with status {0}")]
    Status(u16),
    /// The answer about the package cannot be parsed.
    #[error("its answer about the package cannot be read: {0}")]
    Answer(String),
    /// The registry redirects to an address that this server does not call.
    #[error("{0}")]
    Refused(String),
    /// The tarball is larger than [`limits::TARBALL_MAX_BYTES`].
    #[error("the tarball has more than {} bytes", limits::TARBALL_MAX_BYTES)]
    TooLarge,
    /// The tarball is not the one the registry has the checksum of.
    #[error("the tarball has the {kind} {found} and not {expected}, as the registry says")]
    Checksum {
        /// The algorithm: `SHA-1` or `SHA-512`.
        kind: &'static str,
        /// The checksum in the registry.
        expected: String,
        /// The checksum of the tarball, in the same form.
        found: String,
    },
    /// The tarball is not a valid package.
    #[error("the tarball cannot be installed: {0}")]
    Tarball(#[from] PackageTarballError),
}

impl RegistryError {
    /// Returns whether the registry failed, so that the same call may succeed later: it was not reached, or answered
    /// 429 or 5xx.
    #[must_use]
    pub const fn is_registry_outage(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Status(status) => *status >= 500 || *status == 429,
            Self::Unknown
            | Self::Answer(_)
            | Self::Refused(_)
            | Self::TooLarge
            | Self::Checksum { .. }
            | Self::Tarball(_) => false,
        }
    }
}
