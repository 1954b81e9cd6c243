//! From what is asked for to everything that has to be installed.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::Arc;

use fhir_store::StoreError;

use super::conformance::InstalledConformance;
use super::id::PackageId;
use super::limits;
use super::manifest::PackageDependency;
use super::registry::{DownloadedTarball, FetchedPackage, PackageRegistry, RegistryError};
use super::store::PackageStore;
use super::version::Wanted;
use crate::progress::ProgressReporter;

/// The reason why a package is installed: requested or a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallReason {
    /// It was asked for.
    Direct,
    /// A package that was asked for depends on it.
    Transitive,
}

/// A downloaded package that is ready to install.
#[derive(Debug, Clone)]
pub struct PreparedPackage {
    /// Which.
    pub id: PackageId,
    /// Why.
    pub intention: InstallReason,
    /// What it depends on, each in the version that was chosen.
    pub needs: Vec<PackageId>,
    /// How many canonicals it has.
    pub canonicals: usize,
    /// What it says a server conforms to.
    pub conformance: InstalledConformance,
    /// Address of the registry it comes from.
    pub source: String,
    /// Its tarball.
    pub tarball: Arc<dyn DownloadedTarball>,
}

impl PartialEq for PreparedPackage {
    /// Tarballs are not compared: a version of a package is published once.
    fn eq(&self, other: &Self) -> bool {
        let told = |package: &Self| (package.intention, package.canonicals);
        self.id == other.id && told(self) == told(other) && self.needs == other.needs && self.source == other.source
    }
}

/// Downloaded packages with all dependencies, ready to install without network.
#[derive(Debug, Clone)]
pub struct PreparedInstall {
    packages: Vec<PreparedPackage>,
    progress: ProgressReporter,
}

impl PartialEq for PreparedInstall {
    /// By the packages.
    fn eq(&self, other: &Self) -> bool {
        self.packages == other.packages
    }
}

impl PreparedInstall {
    /// Returns the packages, dependencies first.
    #[must_use]
    pub fn packages(&self) -> &[PreparedPackage] {
        &self.packages
    }

    /// Returns the reporter for progress of the installation.
    #[must_use]
    pub const fn progress_reporter(&self) -> &ProgressReporter {
        &self.progress
    }
}

/// The reason why packages could not be prepared for installation. What it prints is fit for the caller.
#[derive(Debug, thiserror::Error)]
pub enum PrepareInstallError {
    /// The registry does not give one of them.
    #[error("package {package}{} from {registry}: {fault}", needed(needed_by.as_ref()))]
    Registry {
        /// Which: `name@version`, or a name where the version was still to be chosen.
        package: String,
        /// Who depends on it; `None` for one that was asked for.
        needed_by: Option<PackageId>,
        /// Address of the registry.
        registry: String,
        /// The reason why not.
        #[source]
        fault: RegistryError,
    },
    /// A dependency has no version that stays what it is.
    #[error(
        "package {package} needs {name} in version {version:?}: a dependency is an exact version, or a series \
         such as 4.0.x"
    )]
    MovingNeed {
        /// Who depends.
        package: PackageId,
        /// On what.
        name: String,
        /// The version it writes.
        version: String,
    },
    /// The registry has no version of a series.
    #[error("package {package} needs {name} in version {version}, and {registry} has none of that series")]
    NoneOfSeries {
        /// Who depends.
        package: PackageId,
        /// On what.
        name: String,
        /// The series it writes.
        version: String,
        /// Address of the registry.
        registry: String,
    },
    /// A package is for another FHIR version than this server's.
    #[error("package {package}{} is for FHIR {}, and this server is for FHIR 4.0 (R4)", needed(needed_by.as_ref()), found.join(", "))]
    FhirVersion {
        /// Which.
        package: PackageId,
        /// Who depends on it; `None` for one that was asked for.
        needed_by: Option<PackageId>,
        /// What it is for.
        found: Vec<String>,
    },
    /// There are more than [`limits::PACKAGES_PER_INSTALL_MAX`] in all.
    #[error("that would install more than {} packages", limits::PACKAGES_PER_INSTALL_MAX)]
    TooMany,
    /// The store cannot say what is installed.
    #[error("the store cannot say what is installed")]
    Store(#[from] StoreError),
}

fn needed(by: Option<&PackageId>) -> String {
    by.map(|by| format!(" (needed by {by})")).unwrap_or_default()
}

impl PrepareInstallError {
    /// Returns whether the registry failed, so that the same may succeed later.
    #[must_use]
    pub const fn is_registry_outage(&self) -> bool {
        match self {
            Self::Registry { fault, .. } => fault.is_registry_outage(),
            Self::MovingNeed { .. }
            | Self::NoneOfSeries { .. }
            | Self::FhirVersion { .. }
            | Self::TooMany
            | Self::Store(_) => false,
        }
    }
}

/// Prepares packages of one registry for installation into one store.
pub struct PackageInstaller {
    registry: Arc<dyn PackageRegistry>,
    store: Arc<dyn PackageStore>,
    progress: ProgressReporter,
}

/// A package that is still to be fetched, and who needs it.
struct Wish {
    id: PackageId,
    needed_by: Option<PackageId>,
}

impl PackageInstaller {
    /// Of this registry into this store; what takes long is reported to `progress`.
    #[must_use]
    pub fn new(registry: Arc<dyn PackageRegistry>, store: Arc<dyn PackageStore>, progress: ProgressReporter) -> Self {
        Self { registry, store, progress }
    }

    /// Returns the store that packages are installed into.
    #[must_use]
    pub fn store(&self) -> &dyn PackageStore {
        self.store.as_ref()
    }

    /// Returns the reporter for progress.
    #[must_use]
    pub const fn progress_reporter(&self) -> &ProgressReporter {
        &self.progress
    }

    /// Downloads packages and all dependencies that are not installed, each once. Packages may depend on each other in
    /// a circle, and on two versions of one name.
    ///
    /// What is asked for is fetched also when it is installed: installing it again repairs it.
    ///
    /// # Errors
    /// [`PrepareInstallError`].
    pub async fn prepare_install(&self, packages: &[PackageId]) -> Result<PreparedInstall, PrepareInstallError> {
        let installed = self.store.installed_packages().await?;
        let installed: HashSet<PackageId> = installed.into_iter().map(|package| package.id).collect();
        let mut wishes: VecDeque<Wish> = packages.iter().map(|id| Wish { id: id.clone(), needed_by: None }).collect();
        let mut met = HashSet::new();
        let mut prepared = Vec::new();
        while let Some(wish) = wishes.pop_front() {
            let is_here = wish.needed_by.is_some() && installed.contains(&wish.id);
            if is_here || !met.insert(wish.id.clone()) {
                continue;
            }
            if met.len() > limits::PACKAGES_PER_INSTALL_MAX {
                return Err(PrepareInstallError::TooMany);
            }
            self.progress.report(format!("fetching package {}{}", wish.id, needed(wish.needed_by.as_ref())));
            let package = self.fetch(&wish).await?;
            let needed_by = Some(&wish.id);
            wishes.extend(package.needs.iter().map(|id| Wish { id: id.clone(), needed_by: needed_by.cloned() }));
            prepared.push(package);
        }
        prepared.reverse();
        Ok(PreparedInstall { packages: prepared, progress: self.progress.clone() })
    }

    async fn fetch(&self, Wish { id, needed_by }: &Wish) -> Result<PreparedPackage, PrepareInstallError> {
        let registry = || self.registry.display_address().to_owned();
        let fetched = self.registry.fetch_package(id).await.map_err(|fault| PrepareInstallError::Registry {
            package: id.to_string(),
            needed_by: needed_by.clone(),
            registry: registry(),
            fault,
        })?;
        let manifest = &fetched.contents().manifest;
        if !manifest.supports_r4() {
            let (package, needed_by) = (id.clone(), needed_by.clone());
            return Err(PrepareInstallError::FhirVersion { package, needed_by, found: manifest.fhir_versions.clone() });
        }
        let mut needs = BTreeSet::new();
        for need in &manifest.needs {
            needs.insert(self.choose(id, need).await?);
        }
        // A package that needs itself needs nothing.
        needs.remove(id);
        let intention = if needed_by.is_some() { InstallReason::Transitive } else { InstallReason::Direct };
        Ok(prepared(id, intention, needs, &fetched, registry()))
    }

    /// Returns the version of a dependency.
    async fn choose(&self, package: &PackageId, need: &PackageDependency) -> Result<PackageId, PrepareInstallError> {
        let moving = || PrepareInstallError::MovingNeed {
            package: package.clone(),
            name: need.name.clone(),
            version: need.version.clone(),
        };
        let chosen = match Wanted::read(&need.version).ok_or_else(moving)? {
            Wanted::Exact(version) => version,
            series @ Wanted::Newest(_) => {
                let offered = self.registry.package_versions(&need.name).await.map_err(|fault| {
                    PrepareInstallError::Registry {
                        package: need.name.clone(),
                        needed_by: Some(package.clone()),
                        registry: self.registry.display_address().to_owned(),
                        fault,
                    }
                })?;
                let newest = series.newest_of(offered.iter().map(String::as_str)).map(str::to_owned);
                newest.ok_or_else(|| PrepareInstallError::NoneOfSeries {
                    package: package.clone(),
                    name: need.name.clone(),
                    version: need.version.clone(),
                    registry: self.registry.display_address().to_owned(),
                })?
            }
        };
        PackageId::new(&need.name, &chosen).map_err(|_| moving())
    }
}

fn prepared(
    id: &PackageId,
    intention: InstallReason,
    needs: BTreeSet<PackageId>,
    fetched: &FetchedPackage,
    source: String,
) -> PreparedPackage {
    PreparedPackage {
        id: id.clone(),
        intention,
        needs: needs.into_iter().collect(),
        canonicals: fetched.contents().canonicals,
        conformance: fetched.contents().conformance.clone(),
        source,
        tarball: Arc::clone(fetched.tarball()),
    }
}

impl std::fmt::Debug for PackageInstaller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Installer").field("registry", &self.registry.display_address()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
