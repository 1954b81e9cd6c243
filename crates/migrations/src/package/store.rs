//! Where installed packages are stored.

use async_trait::async_trait;
use fhir_resource::{ResourceType, StoredResource};
use fhir_store::StoreError;

use super::archive::PackageTarballError;
use super::conformance::InstalledConformance;
use super::id::PackageId;
use super::install::{InstallReason, PreparedInstall};

/// A package that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledPackage {
    /// The name and the version.
    pub id: PackageId,
    /// The reason why it was installed.
    pub intention: InstallReason,
    /// The number of its canonicals, those that another package has too included.
    pub canonicals: u64,
    /// Address of the registry it came from.
    pub source: String,
    /// The time of installation, UNIX microseconds.
    pub installed_us: i64,
}

/// The reason why packages were not installed or uninstalled; nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum PackageChangeError {
    /// The package to uninstall is not installed.
    #[error("package {0} is not installed")]
    NotInstalled(PackageId),
    /// Other packages depend on it.
    #[error("package {package} is needed by {}: uninstall what needs it first", joined(needed_by))]
    Needed {
        /// The package to uninstall.
        package: PackageId,
        /// The packages that depend on it, by name.
        needed_by: Vec<PackageId>,
    },
    /// A dependency was installed when the package was prepared, and is not installed any more.
    #[error("package {package} needs {needs}, which was uninstalled meanwhile: try again")]
    NeedGone {
        /// The package to install.
        package: PackageId,
        /// The dependency.
        needs: PackageId,
    },
    /// Its canonicals cannot be read.
    #[error("package {package} cannot be installed: {fault}")]
    Tarball {
        /// The package.
        package: PackageId,
        /// The reason.
        #[source]
        fault: PackageTarballError,
    },
}

fn joined(packages: &[PackageId]) -> String {
    packages.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A store of packages. One method is one transaction.
#[async_trait]
pub trait PackageStore: Send + Sync {
    /// Returns the installed packages, by name and version.
    ///
    /// # Errors
    /// Only when the store itself fails.
    async fn installed_packages(&self) -> Result<Vec<InstalledPackage>, StoreError>;

    /// Returns the canonical URLs that the server declares conformance to: the profiles of all installed packages, and
    /// the guides and requirements of those that were requested, not of their dependencies. FHIR's own package adds
    /// none.
    ///
    /// # Errors
    /// Only when the store itself fails.
    async fn installed_conformance(&self) -> Result<InstalledConformance, StoreError>;

    /// Returns the installed canonical of this type and URL, in this version or the newest. Nothing is cached in
    /// memory, so an installation on any node takes effect with its commit.
    ///
    /// # Errors
    /// Only when the store itself fails.
    async fn find_canonical(
        &self,
        kind: &ResourceType,
        url: &str,
        version: Option<&str>,
    ) -> Result<Option<StoredResource>, StoreError>;

    /// Installs prepared packages, all or none, and returns the number of canonicals in those that it wrote. `now_us`
    /// is the time of every version written, UNIX microseconds.
    ///
    /// A dependency that is installed by then is left as it is. A requested package is written again, as far as it
    /// differs.
    ///
    /// # Errors
    /// The outer error means the store itself failed, the inner one that it is refused.
    async fn install_prepared(
        &self,
        prepared: &PreparedInstall,
        now_us: i64,
    ) -> Result<Result<u64, PackageChangeError>, StoreError>;

    /// Uninstalls packages, all or none, with the canonicals that no other package has. Dependencies that only they
    /// needed stay.
    ///
    /// # Errors
    /// The outer error means the store itself failed, the inner one that it is refused.
    async fn uninstall_packages(
        &self,
        packages: &[PackageId],
        now_us: i64,
    ) -> Result<Result<(), PackageChangeError>, StoreError>;
}
