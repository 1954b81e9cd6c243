//! The errors of the operations on packages.

use migrations::PackageIdError;
use migrations::package::{PackageChangeError, PrepareInstallError};

use crate::limits::PACKAGES_PER_REQUEST_MAX;

/// The reason why packages were not installed or uninstalled; nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum PackageOperationError {
    /// The body does not name packages.
    #[error(
        "the body has to be Parameters with 1 to {PACKAGES_PER_REQUEST_MAX} parameters package, each with a valueString"
    )]
    NotParameters,
    /// A parameter that is not supported.
    #[error("the parameter {0} is not supported: packages come, as they are, from the registry this server is set to")]
    Unsupported(String),
    /// A name that no package can have.
    #[error("package: {0}")]
    Id(#[from] PackageIdError),
    /// A name without a version, of a package with several versions.
    #[error("several versions of package {0} are installed: {versions}", versions = .1.join(", "))]
    Several(String, Vec<String>),
    /// A package that is not installed.
    #[error("package {0} is not installed")]
    Unknown(String),
    /// The packages could not be downloaded, or do not fit each other.
    #[error("{0}")]
    Prepare(Box<PrepareInstallError>),
    /// The store refuses the change.
    #[error("{0}")]
    Refused(#[from] PackageChangeError),
}

impl From<PrepareInstallError> for PackageOperationError {
    fn from(cause: PrepareInstallError) -> Self {
        Self::Prepare(Box::new(cause))
    }
}
