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
    /// Which.
    pub id: PackageId,
    /// The reason why it is here.
    pub intention: InstallReason,
    /// Its canonicals, also those that another package has too.
    pub canonicals: u64,
    /// Address of the registry it came from.
    pub source: String,
    /// When, unix microseconds.
    pub installed_us: i64,
}

/// The reason why packages were not installed or uninstalled; nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum PackageChangeError {
    /// There is nothing to uninstall.
    #[error("package {0} is not installed")]
    NotInstalled(PackageId),
    /// Others depend on it.
    #[error("package {package} is needed by {}: uninstall what needs it first", joined(needed_by))]
    Needed {
        /// What was to be uninstalled.
        package: PackageId,
        /// Who depends on it, by name.
        needed_by: Vec<PackageId>,
    },
    /// What it depends on was there when it was prepared, and is not any more.
    #[error("package {package} needs {needs}, which was uninstalled meanwhile: try again")]
    NeedGone {
        /// What was to be installed.
        package: PackageId,
        /// What it needs.
        needs: PackageId,
    },
    /// Its canonicals cannot be read.
    #[error("package {package} cannot be installed: {fault}")]
    Tarball {
        /// Which.
        package: PackageId,
        /// Why.
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

    /// Returns the canonical URLs that the installed packages declare conformance to. FHIR's own package is none of
    /// them.
    ///
    /// # Errors
    /// Only when the store itself fails.
    async fn installed_conformance(&self) -> Result<InstalledConformance, StoreError>;

    /// Returns the installed canonical of this type and URL, in this version or the newest. It is what the last commit
    /// on any node says: nothing is cached in memory, so an installation takes effect with its commit.
    ///
    /// # Errors
    /// Only when the store itself fails.
    async fn find_canonical(
        &self,
        kind: &ResourceType,
        url: &str,
        version: Option<&str>,
    ) -> Result<Option<StoredResource>, StoreError>;

    /// Installs prepared packages, all or none, and returns the number of their canonicals. `now_us` is the time of
    /// everything written.
    ///
    /// A dependency that is installed by now is left as it is. A package that was asked for and is
    /// installed is written again, where it is not as it came.
    ///
    /// # Errors
    /// The outer error means the store itself failed, the inner one that it is refused.
    async fn install_prepared(
        &self,
        prepared: &PreparedInstall,
        now_us: i64,
    ) -> Result<Result<u64, PackageChangeError>, StoreError>;

    /// Uninstalls packages, all or none, with the canonicals that no other package has. What only they needed stays.
    ///
    /// # Errors
    /// The outer error means the store itself failed, the inner one that it is refused.
    async fn uninstall_packages(
        &self,
        packages: &[PackageId],
        now_us: i64,
    ) -> Result<Result<(), PackageChangeError>, StoreError>;
}
