//! FHIR packages: which one, what is in it, what it needs, and where it comes from.
//!
//! A package is read twice. When it is prepared every file is parsed, so that a broken one is
//! refused before anything is written; when it is installed its canonicals are read once more, one
//! at a time, on their way into the transaction. The road not taken is to keep what the first
//! reading found: a package of 50 MB unpacks to ten times that.

mod archive;
mod canonical;
mod conformance;
mod id;
mod install;
mod manifest;
mod registry;
mod store;
mod survey;
mod version;

pub mod limits;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use archive::PackageTarballError;
pub use canonical::{CANONICAL_TYPES, CanonicalResource, visit_package_canonicals};
pub use conformance::InstalledConformance;
pub use id::{PackageId, PackageIdError};
pub use install::{InstallReason, PackageInstaller, PrepareInstallError, PreparedInstall, PreparedPackage};
pub use manifest::{PackageDependency, PackageManifest};
pub use registry::{DownloadedTarball, FetchedPackage, PackageRegistry, RegistryError};
pub use store::{InstalledPackage, PackageChangeError, PackageStore};
pub use survey::TarballContents;
pub use version::compare_canonical_versions;
