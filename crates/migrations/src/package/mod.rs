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

pub use archive::TarballFault;
pub use canonical::{CANONICAL_TYPES, Canonical, canonicals};
pub use conformance::Conformance;
pub use id::{PackageFault, PackageId};
pub use install::{Installer, Intention, PrepareFault, PreparedInstall, PreparedPackage};
pub use manifest::{Manifest, Need};
pub use registry::{Fetched, PackageRegistry, RegistryFault, Tarball};
pub use store::{InstalledPackage, PackageRefused, PackageStore};
pub use survey::Survey;
pub use version::newest;
