use std::sync::Mutex;

use async_trait::async_trait;
use fhir_resource::{ResourceType, StoredResource};
use serde_json::json;

use super::*;
use crate::package::testing::{FakePackageRegistry, TestPackage, canonical_definition};
use crate::package::{InstalledConformance, InstalledPackage, PackageChangeError, PackageTarballError};

/// A store that knows what is installed, and nothing else.
#[derive(Default)]
struct Known(Mutex<Vec<InstalledPackage>>);

#[async_trait]
impl PackageStore for Known {
    async fn installed_packages(&self) -> Result<Vec<InstalledPackage>, StoreError> {
        Ok(self.0.lock().unwrap().clone())
    }

    async fn installed_conformance(&self) -> Result<InstalledConformance, StoreError> {
        Ok(InstalledConformance::default())
    }

    async fn find_canonical(
        &self,
        _: &ResourceType,
        _: &str,
        _: Option<&str>,
    ) -> Result<Option<StoredResource>, StoreError> {
        Ok(None)
    }

    async fn install_prepared(
        &self,
        prepared: &PreparedInstall,
        now_us: i64,
    ) -> Result<Result<u64, PackageChangeError>, StoreError> {
        let rows = prepared.packages().iter().map(|package| InstalledPackage {
            id: package.id.clone(),
            intention: package.intention,
            canonicals: 0,
            source: package.source.clone(),
            installed_us: now_us,
        });
        self.0.lock().unwrap().extend(rows);
        Ok(Ok(0))
    }

    async fn uninstall_packages(&self, _: &[PackageId], _: i64) -> Result<Result<(), PackageChangeError>, StoreError> {
        Ok(Ok(()))
    }
}

struct World {
    shelf: Arc<FakePackageRegistry>,
    installer: PackageInstaller,
}

fn world(packages: &[TestPackage]) -> World {
    let shelf = Arc::new(FakePackageRegistry::with_packages(packages).unwrap());
    let installer = PackageInstaller::new(Arc::clone(&shelf) as _, Arc::new(Known::default()), ProgressReporter::new());
    World { shelf, installer }
}

impl World {
    async fn prepare(&self, package: &str) -> Result<Vec<String>, PrepareInstallError> {
        let prepared = self.installer.prepare_install(&[package.parse().unwrap()]).await?;
        Ok(prepared.packages().iter().map(|package| package.id.to_string()).collect())
    }
}

fn package(name: &str, version: &str) -> TestPackage {
    TestPackage::new(name, version).with_resource(&canonical_definition(
        "ValueSet",
        &format!("http://{name}.example/v"),
        version,
    ))
}

#[tokio::test]
async fn dependencies_come_before_what_needs_them_and_each_once() {
    let world = world(&[
        package("a", "1.0.0").with_dependency("b", "1.0.0").with_dependency("c", "1.0.0"),
        package("b", "1.0.0").with_dependency("d", "1.0.0"),
        package("c", "1.0.0").with_dependency("d", "1.0.0"),
        package("d", "1.0.0"),
    ]);
    assert_eq!(world.prepare("a@1.0.0").await.unwrap(), ["d@1.0.0", "c@1.0.0", "b@1.0.0", "a@1.0.0"]);
    assert_eq!(world.shelf.fetch_count(), 4);
    let prepared = world.installer.prepare_install(&["a@1.0.0".parse().unwrap()]).await.unwrap();
    let direct: Vec<_> = prepared.packages().iter().filter(|p| p.intention == InstallReason::Direct).collect();
    assert_eq!(direct.len(), 1);
    assert_eq!(direct[0].id.to_string(), "a@1.0.0");
    assert_eq!(direct[0].needs.len(), 2);
}

#[tokio::test]
async fn a_circle_of_dependencies_ends() {
    let world = world(&[
        package("a", "1.0.0").with_dependency("b", "1.0.0").with_dependency("a", "1.0.0"),
        package("b", "1.0.0").with_dependency("a", "1.0.0"),
    ]);
    assert_eq!(world.prepare("a@1.0.0").await.unwrap(), ["b@1.0.0", "a@1.0.0"]);
}

#[tokio::test]
async fn two_versions_of_one_name_are_two_packages() {
    let world = world(&[
        package("a", "1.0.0").with_dependency("b", "1.0.0").with_dependency("c", "1.0.0"),
        package("b", "1.0.0").with_dependency("c", "2.0.0"),
        package("c", "1.0.0"),
        package("c", "2.0.0"),
    ]);
    assert_eq!(world.prepare("a@1.0.0").await.unwrap(), ["c@2.0.0", "c@1.0.0", "b@1.0.0", "a@1.0.0"]);
}

#[tokio::test]
async fn a_series_is_resolved_to_its_newest_version_of_the_registry() {
    let world = world(&[
        package("a", "1.0.0").with_dependency("b", "1.2.x"),
        package("b", "1.2.3"),
        package("b", "1.2.10"),
        package("b", "1.3.0"),
    ]);
    assert_eq!(world.prepare("a@1.0.0").await.unwrap(), ["b@1.2.10", "a@1.0.0"]);
}

#[tokio::test]
async fn what_is_installed_is_fetched_again_only_when_it_is_asked_for() {
    let world = world(&[package("a", "1.0.0").with_dependency("b", "1.0.0"), package("b", "1.0.0")]);
    let both = world.installer.prepare_install(&["a@1.0.0".parse().unwrap()]).await.unwrap();
    world.installer.store().install_prepared(&both, 1).await.unwrap().unwrap();
    assert_eq!(world.shelf.fetch_count(), 2);
    assert_eq!(world.prepare("a@1.0.0").await.unwrap(), ["a@1.0.0"]);
    assert_eq!(world.prepare("b@1.0.0").await.unwrap(), ["b@1.0.0"]);
    assert_eq!(world.shelf.fetch_count(), 4);
}

#[tokio::test]
async fn a_package_the_registry_does_not_have_is_named_with_who_needs_it() {
    let world = world(&[
        package("a", "1.0.0").with_dependency("b", "1.0.0"),
        package("s", "1.0.0").with_dependency("t", "1.x"),
    ]);
    let fault = world.prepare("x@1.0.0").await.unwrap_err();
    assert_eq!(fault.to_string(), "package x@1.0.0 from the shelf: it is not there");
    assert!(!fault.is_registry_outage());
    let fault = world.prepare("a@1.0.0").await.unwrap_err();
    assert_eq!(fault.to_string(), "package b@1.0.0 (needed by a@1.0.0) from the shelf: it is not there");
    let fault = world.prepare("s@1.0.0").await.unwrap_err();
    assert_eq!(fault.to_string(), "package t (needed by s@1.0.0) from the shelf: it is not there");
}

#[tokio::test]
async fn a_dependency_that_moves_is_refused() {
    for version in ["current", "dev", "latest", "^1.0.0"] {
        let world = world(&[package("a", "1.0.0").with_dependency("b", version), package("b", "1.0.0")]);
        let fault = world.prepare("a@1.0.0").await.unwrap_err();
        assert!(matches!(&fault, PrepareInstallError::MovingNeed { .. }), "{fault}");
        assert!(fault.to_string().contains(version), "{fault}");
    }
    let none = world(&[package("a", "1.0.0").with_dependency("b", "2.x"), package("b", "1.0.0")]);
    assert!(matches!(none.prepare("a@1.0.0").await, Err(PrepareInstallError::NoneOfSeries { .. })));
}

#[tokio::test]
async fn a_package_for_another_fhir_version_is_refused_wherever_it_stands() {
    let r5 = package("b", "1.0.0").with_manifest_member("fhirVersions", json!(["5.0.0"]));
    let world = world(&[package("a", "1.0.0").with_dependency("b", "1.0.0"), r5]);
    let fault = world.prepare("a@1.0.0").await.unwrap_err().to_string();
    let expected = "package b@1.0.0 (needed by a@1.0.0) is for FHIR 5.0.0, and this server is for FHIR 4.0 (R4)";
    assert_eq!(fault, expected);
}

#[tokio::test]
async fn a_broken_tarball_is_refused_before_anything_is_installed() {
    let world = world(&[package("a", "1.0.0").with_dependency("b", "1.0.0")]);
    let broken = package("b", "1.0.0").with_file("package/ValueSet-x.json", b"{");
    world.shelf.add_tarball("b@1.0.0".parse().unwrap(), broken.pack_tarball().unwrap());
    let fault = world.prepare("a@1.0.0").await.unwrap_err();
    let PrepareInstallError::Registry { fault: RegistryError::Tarball(PackageTarballError::Json { file, .. }), .. } =
        &fault
    else {
        panic!("{fault}");
    };
    assert_eq!(file, "ValueSet-x.json");
    assert!(world.installer.store().installed_packages().await.unwrap().is_empty());
}

#[tokio::test]
async fn there_is_a_most_of_packages() {
    let chain: Vec<_> = (0..=limits::PACKAGES_PER_INSTALL_MAX)
        .map(|n| package(&format!("p{n}"), "1.0.0").with_dependency(&format!("p{}", n + 1), "1.0.0"))
        .collect();
    assert!(matches!(world(&chain).prepare("p0@1.0.0").await, Err(PrepareInstallError::TooMany)));
}
