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
    /// The package was requested.
    Direct,
    /// A requested package depends on it.
    Transitive,
}

/// A downloaded package that is ready to install.
#[derive(Debug, Clone)]
pub struct PreparedPackage {
    /// The name and the version.
    pub id: PackageId,
    /// The reason why it is installed.
    pub intention: InstallReason,
    /// The packages that it depends on, each in the version that was chosen.
    pub needs: Vec<PackageId>,
    /// The number of its canonicals.
    pub canonicals: usize,
    /// The canonical URLs that a server with the package declares conformance to.
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
    /// Returns the packages in the reverse of the order in which they were downloaded, so the requested ones come last.
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

/// The reason why packages could not be prepared for installation. Its text is safe to show to a caller.
#[derive(Debug, thiserror::Error)]
pub enum PrepareInstallError {
    /// The registry does not return one of the packages.
    #[error("package {package}{} from {registry}: {fault}", needed(needed_by.as_ref()))]
    Registry {
        /// The package: `name@version`, or its name where no version was chosen yet.
        package: String,
        /// The package that depends on it; `None` for a requested one.
        needed_by: Option<PackageId>,
        /// Address of the registry.
        registry: String,
        /// The reason.
        #[source]
        fault: RegistryError,
    },
    /// The version of a dependency is neither exact nor a series, so it may change.
    #[error(
        "package {package} needs {name} in version {version:?}: a dependency is an exact version, or a series \
         such as 4.0.x"
    )]
    MovingNeed {
        /// The package that has the dependency.
        package: PackageId,
        /// The name of the package that it depends on.
        name: String,
        /// The version in its manifest.
        version: String,
    },
    /// The registry has no version of a series.
    #[error("package {package} needs {name} in version {version}, and {registry} has none of that series")]
    NoneOfSeries {
        /// The package that has the dependency.
        package: PackageId,
        /// The name of the package that it depends on.
        name: String,
        /// The series in its manifest.
        version: String,
        /// Address of the registry.
        registry: String,
    },
    /// A package is for another FHIR version than this server's.
    #[error("package {package}{} is for FHIR {}, and this server is for FHIR 4.0 (R4)", needed(needed_by.as_ref()), found.join(", "))]
    FhirVersion {
        /// The package.
        package: PackageId,
        /// The package that depends on it; `None` for a requested one.
        needed_by: Option<PackageId>,
        /// The FHIR versions that it is for.
        found: Vec<String>,
    },
    /// There are more than [`limits::PACKAGES_PER_INSTALL_MAX`] in all.
    #[error("that would install more than {} packages", limits::PACKAGES_PER_INSTALL_MAX)]
    TooMany,
    /// The store cannot return the installed packages.
    #[error("the store cannot say what is installed")]
    Store(#[from] StoreError),
}

fn needed(by: Option<&PackageId>) -> String {
    by.map(|by| format!(" (needed by {by})")).unwrap_or_default()
}

impl PrepareInstallError {
    /// Returns whether the registry failed, so that the same call may succeed later.
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

/// An installer that prepares packages of one registry for installation into one store.
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
    /// Creates an installer from `registry` into `store`; long steps are reported to `progress`.
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

    /// Downloads packages and all their dependencies that are not installed, each once. Packages may depend on each
    /// other in a circle, and on two versions of one name.
    ///
    /// Requested packages are downloaded even when they are installed: installing one again repairs it.
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
