//! Packages: what an installation brings is there for every node with its commit, and goes with it.

use std::sync::Arc;

use auth_storage::AuthDatabase;
use fhir_resource::{ResourceKey, StoredResource};
use fhir_store::{
    AccessFilter, ElementEqualityFilter, HistoryPageRange, HistoryQuery, ListQuery, ResourceLookup, ResourceStore as _,
    ResourceWrite, WriteOperation,
};
use migrations::package::testing::{FakePackageRegistry, TestPackage, canonical_definition};
use migrations::package::{InstallReason, PackageChangeError, PackageInstaller, PackageStore as _, PreparedInstall};
use migrations::{PackageId, ProgressReporter};
use serde_json::json;
use tokio::task::JoinSet;

use crate::home::{NOW_US, told};

fn id(text: &str) -> PackageId {
    text.parse().unwrap()
}

fn url(kind: &str, name: &str) -> String {
    format!("http://acme.example/{kind}/{name}")
}

fn value_set(name: &str, version: &str) -> serde_json::Value {
    canonical_definition("ValueSet", &url("ValueSet", name), version)
}

fn base() -> TestPackage {
    TestPackage::new("acme.base", "1.0.0")
        .with_resource(&value_set("shared", "1"))
        .with_resource(&value_set("base", "1"))
        .with_resource(&canonical_definition("StructureDefinition", &url("StructureDefinition", "patient"), "1"))
        .with_published_extras()
}

fn guide() -> TestPackage {
    TestPackage::new("acme.guide", "2.0.0")
        .with_dependency("acme.base", "1.0.x")
        .with_resource(&value_set("shared", "1"))
        .with_resource(&canonical_definition("SearchParameter", &url("SearchParameter", "nick"), "2"))
        .with_published_extras()
}

async fn prepare(db: &AuthDatabase, packages: &[TestPackage], asked: &[&str]) -> PreparedInstall {
    let shelf = Arc::new(FakePackageRegistry::with_packages(packages).unwrap());
    let installer = PackageInstaller::new(shelf, Arc::new(db.clone()), ProgressReporter::new());
    let asked: Vec<_> = asked.iter().map(|text| id(text)).collect();
    installer.prepare_install(&asked).await.unwrap()
}

async fn install(db: &AuthDatabase, packages: &[TestPackage], asked: &str) -> u64 {
    let prepared = prepare(db, packages, &[asked]).await;
    db.install_prepared(&prepared, NOW_US).await.unwrap().unwrap()
}

async fn listed(db: &AuthDatabase, kind: &str) -> Vec<StoredResource> {
    let query = ListQuery { count: 1000, ..ListQuery::all_of_type(kind.parse().unwrap()) };
    db.list(&query).await.unwrap().entries
}

async fn by_url(db: &AuthDatabase, kind: &str, url: &str) -> Vec<StoredResource> {
    let query = ListQuery {
        filters: vec![ElementEqualityFilter::new(["url"], url)],
        ..ListQuery::all_of_type(kind.parse().unwrap())
    };
    db.list(&query).await.unwrap().entries
}

async fn installed(db: &AuthDatabase) -> Vec<String> {
    db.installed_packages().await.unwrap().iter().map(|package| package.id.to_string()).collect()
}

/// Every row is the last version of a history of its own, and no two versions are one.
async fn assert_sound(home: &crate::home::Home) {
    let unrecorded = "SELECT t.id FROM valueset t WHERE NOT EXISTS (
        SELECT 1 FROM valueset_history h WHERE h.id = t.id AND h.txid = t.txid AND h.op IN ('create', 'update')
    ) OR EXISTS (SELECT 1 FROM valueset_history h WHERE h.id = t.id AND h.txid > t.txid)";
    assert_eq!(home.ask(unrecorded).await, [""; 0]);
    let twice = "SELECT CAST(txid AS TEXT) FROM valueset_history GROUP BY txid HAVING count(*) > 1";
    assert_eq!(home.ask(twice).await, [""; 0]);
}

told! {
    async fn an_installation_brings_its_canonicals_to_every_node(home) {
        let (db, other) = (home.open().await, home.open().await);
        assert!(listed(&other, "ValueSet").await.is_empty());
        assert_eq!(install(&db, &[base(), guide()], "acme.guide@2.0.0").await, 5);
        assert_eq!(listed(&other, "ValueSet").await.len(), 2);
        let [patient] = by_url(&other, "StructureDefinition", &url("StructureDefinition", "patient")).await.try_into().unwrap();
        assert_eq!(patient.resource["name"], "patient");
        assert_eq!(patient.updated_us, NOW_US);
        let [base, guide] = other.installed_packages().await.unwrap().try_into().unwrap();
        assert_eq!((base.id.to_string().as_str(), base.canonicals), ("acme.base@1.0.0", 3));
        assert_eq!((base.intention, base.source.as_str()), (InstallReason::Transitive, "the shelf"));
        assert_eq!((guide.id.to_string().as_str(), guide.canonicals), ("acme.guide@2.0.0", 2));
        assert_eq!((guide.intention, guide.installed_us), (InstallReason::Direct, NOW_US));
        assert_sound(&home).await;
    }

    async fn a_canonical_is_found_by_url_and_version_and_is_the_newest_without_one(home) {
        let db = home.open().await;
        let versions = TestPackage::new("acme.versions", "1.0.0")
            .with_resource(&value_set("v-9", "9.0.0"))
            .with_file("package/ten.json", canonical_definition("ValueSet", &url("ValueSet", "v-9"), "10.0.0").to_string().as_bytes())
            .with_file("package/none.json", canonical_definition("ValueSet", &url("ValueSet", "v-9"), "").to_string().as_bytes())
            .with_file("package/code.json", canonical_definition("CodeSystem", &url("ValueSet", "v-9"), "11.0.0").to_string().as_bytes());
        install(&db, &[versions], "acme.versions@1.0.0").await;
        let kind = "ValueSet".parse().unwrap();
        let find = async |version: Option<&str>| {
            let found = db.find_canonical(&kind, &url("ValueSet", "v-9"), version).await.unwrap();
            found.map(|stored| stored.resource.get("version").cloned().unwrap_or_default())
        };
        assert_eq!(find(Some("9.0.0")).await, Some(json!("9.0.0")));
        assert_eq!(find(Some("10.0.0")).await, Some(json!("10.0.0")));
        assert_eq!(find(Some("")).await, Some(json!(null)));
        assert_eq!(find(None).await, Some(json!("10.0.0")));
        assert_eq!(find(Some("11.0.0")).await, None);
        assert_eq!(db.find_canonical(&kind, "http://acme.example/ValueSet/other", None).await.unwrap(), None);
    }

    async fn what_two_packages_have_goes_with_the_last_of_them(home) {
        let db = home.open().await;
        install(&db, &[base(), guide()], "acme.guide@2.0.0").await;
        db.uninstall_packages(&[id("acme.guide@2.0.0")], NOW_US + 1).await.unwrap().unwrap();
        assert_eq!(installed(&db).await, ["acme.base@1.0.0"]);
        assert_eq!(by_url(&db, "ValueSet", &url("ValueSet", "shared")).await.len(), 1);
        assert!(listed(&db, "SearchParameter").await.is_empty());
        assert_sound(&home).await;
        let [shared] = by_url(&db, "ValueSet", &url("ValueSet", "shared")).await.try_into().unwrap();
        db.uninstall_packages(&[id("acme.base@1.0.0")], NOW_US + 2).await.unwrap().unwrap();
        assert!(listed(&db, "ValueSet").await.is_empty() && listed(&db, "StructureDefinition").await.is_empty());
        assert!(installed(&db).await.is_empty());
        assert!(matches!(db.read(&shared.key).await.unwrap(), ResourceLookup::Deleted { version } if version > shared.version));
        let rows = "SELECT CAST((SELECT count(*) FROM fhir_package_canonical) + (SELECT count(*) FROM fhir_package_need)
            AS TEXT)";
        assert_eq!(home.ask(rows).await, ["0"]);
    }

    async fn a_package_that_is_needed_stays_and_who_needs_it_is_said(home) {
        let db = home.open().await;
        install(&db, &[base(), guide()], "acme.guide@2.0.0").await;
        let refused = db.uninstall_packages(&[id("acme.base@1.0.0")], NOW_US).await.unwrap().unwrap_err();
        assert_eq!(
            refused.to_string(),
            "package acme.base@1.0.0 is needed by acme.guide@2.0.0: uninstall what needs it first"
        );
        let both = [id("acme.guide@2.0.0"), id("acme.none@1.0.0")];
        let refused = db.uninstall_packages(&both, NOW_US).await.unwrap().unwrap_err();
        assert!(matches!(&refused, PackageChangeError::NotInstalled(package) if *package == both[1]), "{refused}");
        assert_eq!(installed(&db).await.len(), 2);
        assert_eq!(listed(&db, "ValueSet").await.len(), 2);
        db.uninstall_packages(&[id("acme.base@1.0.0"), id("acme.guide@2.0.0")], NOW_US).await.unwrap().unwrap();
        assert!(installed(&db).await.is_empty());
    }

    async fn a_circle_is_uninstalled_together_and_not_one_by_one(home) {
        let db = home.open().await;
        let circle = [
            TestPackage::new("a", "1.0.0").with_dependency("b", "1.0.0").with_resource(&value_set("a", "1")),
            TestPackage::new("b", "1.0.0").with_dependency("a", "1.0.0").with_resource(&value_set("b", "1")),
        ];
        assert_eq!(install(&db, &circle, "a@1.0.0").await, 2);
        for alone in ["a@1.0.0", "b@1.0.0"] {
            let refused = db.uninstall_packages(&[id(alone)], NOW_US).await.unwrap();
            assert!(matches!(refused, Err(PackageChangeError::Needed { .. })));
        }
        db.uninstall_packages(&[id("a@1.0.0"), id("b@1.0.0")], NOW_US).await.unwrap().unwrap();
        assert!(listed(&db, "ValueSet").await.is_empty());
    }

    async fn two_versions_of_one_package_live_side_by_side(home) {
        let db = home.open().await;
        let of = |version: &str| TestPackage::new("acme.v", version).with_resource(&value_set("same", version));
        install(&db, &[of("1.0.0")], "acme.v@1.0.0").await;
        install(&db, &[of("2.0.0")], "acme.v@2.0.0").await;
        assert_eq!(by_url(&db, "ValueSet", &url("ValueSet", "same")).await.len(), 2);
        db.uninstall_packages(&[id("acme.v@2.0.0")], NOW_US).await.unwrap().unwrap();
        let [left] = by_url(&db, "ValueSet", &url("ValueSet", "same")).await.try_into().unwrap();
        assert_eq!(left.resource["version"], "1.0.0");
    }

    async fn installing_again_repairs_what_was_changed_and_touches_nothing_else(home) {
        let db = home.open().await;
        install(&db, &[base()], "acme.base@1.0.0").await;
        let before = listed(&db, "ValueSet").await;
        let [edited] = by_url(&db, "ValueSet", &url("ValueSet", "base")).await.try_into().unwrap();
        let put = ResourceWrite::unconditional(edited.key.clone(), WriteOperation::Put(json!({"url": "http://other.example"})));
        let [gone] = listed(&db, "StructureDefinition").await.try_into().unwrap();
        let delete = ResourceWrite::unconditional(gone.key.clone(), WriteOperation::Delete);
        db.transact_writes(vec![put, delete], NOW_US + 1).await.unwrap().unwrap();

        assert_eq!(install(&db, &[base()], "acme.base@1.0.0").await, 3);
        let after = listed(&db, "ValueSet").await;
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before.resource, after.resource);
            assert_eq!(before.version == after.version, before.key != edited.key, "{}", before.key);
        }
        assert!(matches!(db.read(&gone.key).await.unwrap(), ResourceLookup::Found(found) if found.resource == gone.resource));
        assert_sound(&home).await;
        let operations = "SELECT op FROM structuredefinition_history ORDER BY txid";
        assert_eq!(home.ask(operations).await, ["create", "delete", "create"]);
        let kinds = vec![("ValueSet".parse().unwrap(), AccessFilter::Everything)];
        let query = HistoryQuery { kinds, id: Some(edited.key.id.clone()), window: HistoryPageRange::default() };
        let urls = || async {
            let mut versions = db.read_history(&query).await.unwrap().entries;
            versions.sort_by_key(|version| version.stored.version);
            versions.into_iter().map(|version| version.stored.resource["url"].clone()).collect::<Vec<_>>()
        };
        let (own, other) = (edited.resource["url"].clone(), json!("http://other.example"));
        assert_eq!(urls().await, [&own, &other, &own].map(Clone::clone));
        db.uninstall_packages(&[id("acme.base@1.0.0")], NOW_US + 2).await.unwrap().unwrap();
        assert_eq!(urls().await, [&own, &other, &own, &own].map(Clone::clone));
    }

    async fn installing_again_what_has_lost_a_canonical_takes_it_away(home) {
        let db = home.open().await;
        install(&db, &[base()], "acme.base@1.0.0").await;
        let less = TestPackage::new("acme.base", "1.0.0").with_resource(&value_set("shared", "1"));
        assert_eq!(install(&db, &[less], "acme.base@1.0.0").await, 1);
        assert_eq!(listed(&db, "ValueSet").await.len(), 1);
        assert!(listed(&db, "StructureDefinition").await.is_empty());
        assert_eq!(db.installed_packages().await.unwrap()[0].canonicals, 1);
    }

    async fn a_canonical_that_cannot_be_stored_leaves_nothing_of_any_package(home) {
        let db = home.open().await;
        let mut nul = value_set("nul", "1");
        nul["title"] = json!("\0");
        let broken = TestPackage::new("acme.broken", "1.0.0").with_dependency("acme.base", "1.0.0").with_resource(&nul);
        let prepared = prepare(&db, &[base(), broken], &["acme.broken@1.0.0"]).await;
        let refused = db.install_prepared(&prepared, NOW_US).await.unwrap().unwrap_err();
        assert!(refused.to_string().contains("acme.broken@1.0.0"), "{refused}");
        assert!(refused.to_string().contains("ValueSet-nul.json"), "{refused}");
        assert!(installed(&db).await.is_empty());
        assert!(listed(&db, "ValueSet").await.is_empty() && listed(&db, "StructureDefinition").await.is_empty());
    }

    async fn a_dependency_that_went_meanwhile_refuses_the_installation(home) {
        let db = home.open().await;
        install(&db, &[base()], "acme.base@1.0.0").await;
        let prepared = prepare(&db, &[base(), guide()], &["acme.guide@2.0.0"]).await;
        db.uninstall_packages(&[id("acme.base@1.0.0")], NOW_US).await.unwrap().unwrap();
        let refused = db.install_prepared(&prepared, NOW_US).await.unwrap().unwrap_err();
        assert!(matches!(refused, PackageChangeError::NeedGone { .. }), "{refused}");
        assert!(installed(&db).await.is_empty() && listed(&db, "SearchParameter").await.is_empty());
    }

    async fn a_dependency_that_came_meanwhile_is_left_as_it_is(home) {
        let db = home.open().await;
        let prepared = prepare(&db, &[base(), guide()], &["acme.guide@2.0.0"]).await;
        install(&db, &[base()], "acme.base@1.0.0").await;
        assert_eq!(db.install_prepared(&prepared, NOW_US + 1).await.unwrap().unwrap(), 2);
        assert_eq!(db.installed_packages().await.unwrap()[0].intention, InstallReason::Direct);
        assert_eq!(db.installed_packages().await.unwrap()[0].installed_us, NOW_US);
    }

    async fn a_package_of_many_canonicals_is_whole(home) {
        let db = home.open().await;
        let mut large = TestPackage::new("acme.large", "1.0.0");
        for n in 0..2_500 {
            let mut one = value_set(&format!("v{n}"), "1");
            one["description"] = json!("x".repeat(if n == 0 { 3_000_000 } else { 100 }));
            large = large.with_resource(&one);
        }
        assert_eq!(install(&db, &[large], "acme.large@1.0.0").await, 2_500);
        let page = db.list(&ListQuery::all_of_type("ValueSet".parse().unwrap())).await.unwrap();
        assert_eq!(page.total, 2_500);
        assert_sound(&home).await;
        db.uninstall_packages(&[id("acme.large@1.0.0")], NOW_US).await.unwrap().unwrap();
        assert_eq!(db.list(&ListQuery::all_of_type("ValueSet".parse().unwrap())).await.unwrap().total, 0);
    }

    async fn nodes_that_install_and_write_at_once_neither_lose_nor_double_anything(home) {
        let mut nodes = JoinSet::new();
        for n in 0..4 {
            let db = home.open().await;
            nodes.spawn(async move {
                let prepared = prepare(&db, &[base(), guide()], &["acme.guide@2.0.0"]).await;
                let own: ResourceKey = format!("ValueSet/own-{n}").parse().unwrap();
                let other = format!("SearchParameter/own-{n}").parse().unwrap();
                let put = |key| ResourceWrite::unconditional(key, WriteOperation::Put(json!({"url": "http://own.example"})));
                db.transact_writes(vec![put(own), put(other)], NOW_US).await.unwrap().unwrap();
                db.install_prepared(&prepared, NOW_US).await.unwrap().unwrap()
            });
        }
        nodes.join_all().await;
        let db = home.open().await;
        assert_eq!(installed(&db).await, ["acme.base@1.0.0", "acme.guide@2.0.0"]);
        assert_eq!(listed(&db, "ValueSet").await.len(), 2 + 4);
        assert_eq!(listed(&db, "SearchParameter").await.len(), 1 + 4);
        assert_sound(&home).await;
        let created = "SELECT CAST(count(*) AS TEXT) FROM structuredefinition_history";
        assert_eq!(home.ask(created).await, ["1"]);
    }
}
