//! Packages over HTTP and by migrations: who may, what is told, and that nothing is done by half.

use migrations::package::InstalledConformance;
use migrations::package::testing::{TestPackage, canonical_definition};
use serde_json::{Value, json};

use crate::world::{Answer, Choice, SECRET, World, on_every_engine};

const PATIENT: &str = "http://acme.example/StructureDefinition/patient";
const NICK: &str = "http://acme.example/SearchParameter/nick";

fn publish(world: &World, packages: &[TestPackage]) {
    for package in packages {
        world.shelf.add_tarball(package.package_id().unwrap(), package.pack_tarball().unwrap());
    }
}

fn base() -> TestPackage {
    TestPackage::new("acme.base", "1.0.0")
        .with_resource(&canonical_definition("StructureDefinition", PATIENT, "1"))
        .with_resource(&canonical_definition("ValueSet", "http://acme.example/ValueSet/v", "1"))
        .with_published_extras()
}

fn guide() -> TestPackage {
    TestPackage::new("acme.guide", "2.0.0").with_dependency("acme.base", "1.x").with_resource(&canonical_definition(
        "SearchParameter",
        NICK,
        "2",
    ))
}

fn parameters(packages: &[&str]) -> Value {
    let parameters = packages.iter().map(|package| json!({"name": "package", "valueString": package}));
    json!({"resourceType": "Parameters", "parameter": parameters.collect::<Vec<_>>()})
}

async fn operate(world: &World, operation: &str, packages: &[&str]) -> Answer {
    world.post(&format!("/fhir/$fhir-package-{operation}")).by_root().fhir(&parameters(packages)).send().await
}

async fn total(world: &World, query: &str) -> u64 {
    world.get(&format!("/fhir/{query}")).by_root().send().await.body["total"].as_u64().unwrap()
}

/// The names in a list of packages.
async fn installed(world: &World) -> Vec<Value> {
    let answer = world.get("/fhir/$packages").by_root().send().await;
    assert_eq!(answer.status, 200);
    let packages = answer.body["parameter"].as_array().unwrap().iter().filter(|one| one["name"] == "package");
    packages.map(|one| one["part"][0]["valueString"].clone()).collect()
}

fn told(answer: &Answer) -> String {
    answer.body["issue"][0]["diagnostics"].as_str().unwrap_or_default().to_owned()
}

fn migration(id: &str, action: &str, package: &str) -> Value {
    json!({"resourceType": "PlatformMigration", "id": id, "action": format!("far-migration-fhir-package-{action}"),
        "status": "to-run", "params": parameters(&[package])})
}

fn sql(id: &str, sql: &str) -> Value {
    json!({"resourceType": "PlatformMigration", "id": id, "action": "aidbox-migration-run-sql", "status": "to-run",
        "params": {"resourceType": "Parameters", "parameter": [{"name": "sql", "valueString": sql}]}})
}

async fn transact(world: &World, migrations: &[Value]) -> Answer {
    let entries = migrations.iter().map(|migration| {
        let condition = format!("id={}", migration["id"].as_str().unwrap());
        json!({"request": {"method": "POST", "url": "PlatformMigration", "ifNoneExist": condition}, "resource": migration})
    });
    let entries: Vec<_> = entries.collect();
    let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": entries});
    world.post("/fhir").by_root().fhir(&bundle).send().await
}

#[tokio::test(flavor = "multi_thread")]
async fn packages_are_installed_listed_found_and_uninstalled() {
    on_every_engine(async |world| {
        publish(world, &[base(), guide()]);
        let answer = operate(world, "install", &["acme.guide@2.0.0"]).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let source = json!({"name": "source", "part": [
            {"name": "type", "valueString": "npm"}, {"name": "registry", "valueString": "the shelf"}]});
        let package = |name: &str, canonicals: u64, intention: &str| {
            json!({"name": "package", "part": [{"name": "name", "valueString": name},
                {"name": "installedCanonicals", "valueInteger": canonicals},
                {"name": "intention", "valueString": intention}, source]})
        };
        let expected = json!({"resourceType": "Parameters", "parameter": [
            {"name": "result", "valueBoolean": true},
            package("acme.guide@2.0.0", 1, "direct"), package("acme.base@1.0.0", 2, "transitive")]});
        assert_eq!(answer.body, expected);
        assert_eq!(installed(world).await, ["acme.base@1.0.0", "acme.guide@2.0.0"]);

        let found = world.get(&format!("/fhir/StructureDefinition?url={PATIENT}")).by_root().send().await.body;
        assert_eq!(found["total"], 1);
        assert_eq!(found["entry"][0]["resource"]["name"], "patient");
        assert_eq!(total(world, &format!("SearchParameter?url={NICK}")).await, 1);

        let answer = operate(world, "uninstall", &["acme.base"]).await;
        assert_eq!(answer.status, 422);
        let expected = "package acme.base@1.0.0 is needed by acme.guide@2.0.0: uninstall what needs it first";
        assert_eq!(told(&answer), expected);
        assert_eq!(installed(world).await.len(), 2);

        let answer = operate(world, "uninstall", &["acme.guide", "acme.base@1.0.0"]).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let deleted = json!({"name": "package", "part": [
            {"name": "name", "valueString": "acme.guide@2.0.0"}, {"name": "status", "valueString": "deleted"}]});
        assert_eq!(answer.body["parameter"][1], deleted);
        assert!(installed(world).await.is_empty());
        assert_eq!(total(world, "StructureDefinition").await + total(world, "SearchParameter").await, 0);
    })
    .await;
}

#[tokio::test]
async fn packages_are_the_administrators_alone() {
    let world = World::new().await;
    publish(&world, &[base()]);
    world.client_with_policy("allowed", &json!({"engine": "allow"})).await;
    for (method, path) in [
        ("GET", "/fhir/$packages"),
        ("POST", "/fhir/$fhir-package-install"),
        ("POST", "/fhir/$fhir-package-uninstall"),
        ("POST", "/$fhir-package-install"),
    ] {
        let body = parameters(&["acme.base@1.0.0"]);
        let answer = world.call(method, path).basic("allowed", SECRET).fhir(&body).send().await;
        assert_eq!(answer.status, 403, "{method} {path}");
        let answer = world.call(method, path).fhir(&body).send().await;
        assert_eq!(answer.status, 401, "{method} {path}");
    }
    assert_eq!(world.shelf.fetch_count(), 0);
    assert!(installed(&world).await.is_empty());
    world.end().await;
}

#[tokio::test]
async fn what_cannot_be_installed_is_refused_by_name() {
    let world = World::new().await;
    let broken = TestPackage::new("acme.broken", "1.0.0").with_file("package/ValueSet-x.json", b"{");
    let r5 = TestPackage::new("acme.r5", "1.0.0").with_manifest_member("fhirVersions", json!(["5.0.0"]));
    publish(&world, &[base(), broken, r5]);
    for (package, told_of) in [
        ("acme.base@1.0.x", "not an exact version"),
        ("acme.base@current", "not an exact version"),
        ("acme.base@latest", "not an exact version"),
        ("acme.base", "<package-name>@<version>"),
        ("../acme@1.0.0", "not a package name"),
        ("https://host.example/p.tgz", "<package-name>@<version>"),
        ("acme.none@1.0.0", "package acme.none@1.0.0 from the shelf: it is not there"),
        ("acme.broken@1.0.0", "ValueSet-x.json"),
        ("acme.r5@1.0.0", "is for FHIR 5.0.0"),
    ] {
        let answer = operate(&world, "install", &["acme.base@1.0.0", package]).await;
        assert_eq!(answer.status, 422, "{package}: {}", answer.body);
        assert!(told(&answer).contains(told_of), "{package}: {}", told(&answer));
    }
    for package in ["acme.base@1.0.0", "acme.base"] {
        let answer = operate(&world, "uninstall", &[package]).await;
        assert_eq!(answer.status, 422);
        assert_eq!(told(&answer), format!("package {package} is not installed"));
    }
    assert!(installed(&world).await.is_empty());
    world.end().await;
}

#[tokio::test]
async fn parameters_that_are_none_or_ask_for_more_than_there_is_are_refused() {
    let world = World::new().await;
    let ask = async |body: Value| world.post("/fhir/$fhir-package-install").by_root().fhir(&body).send().await;
    for body in [json!({}), json!({"parameter": []}), json!({"parameter": [{"name": "package", "valueUrl": "x"}]})] {
        assert_eq!(ask(body).await.status, 400);
    }
    let mut other = parameters(&["acme.base@1.0.0"]);
    other["parameter"].as_array_mut().unwrap().push(json!({"name": "registry", "valueUrl": "http://10.0.0.1"}));
    let answer = ask(other).await;
    assert_eq!(answer.status, 422);
    assert!(told(&answer).contains("registry"), "{}", told(&answer));
    assert_eq!(world.shelf.fetch_count(), 0);
    world.end().await;
}

#[tokio::test]
async fn a_registry_that_is_out_is_no_fault_of_the_request() {
    let world = World::new().await;
    world.shelf.stop_answering();
    let answer = operate(&world, "install", &["acme.base@1.0.0"]).await;
    assert_eq!(answer.status, 503);
    assert!(answer.headers.contains_key("retry-after"));
    let answer = transact(&world, &[migration("m", "install", "acme.base@1.0.0")]).await;
    assert_eq!(answer.status, 503);
    assert_eq!(total(&world, "PlatformMigration").await, 0);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_installs_once_and_its_repetition_needs_no_registry() {
    on_every_engine(async |world| {
        publish(world, &[base(), guide()]);
        let bundle = [migration("i", "install", "acme.guide@2.0.0")];
        let answer = transact(world, &bundle).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let stored = world.get("/PlatformMigration/i").by_root().send().await.body;
        assert_eq!((&stored["status"], &stored["result"]), (&json!("done"), &json!(3)));
        assert_eq!(installed(world).await.len(), 2);

        world.shelf.stop_answering();
        let fetches = world.shelf.fetch_count();
        assert_eq!(transact(world, &bundle).await.status, 200);
        let again = world.post("/fhir/PlatformMigration").by_root().fhir(&bundle[0]).send().await;
        assert_eq!(again.status, 409);
        assert_eq!(world.shelf.fetch_count(), fetches);

        let gone = [migration("u", "uninstall", "acme.guide@2.0.0"), migration("v", "uninstall", "acme.base@1.0.0")];
        assert_eq!(transact(world, &gone).await.status, 200);
        let stored = world.get("/PlatformMigration/u").by_root().send().await.body;
        assert_eq!((&stored["status"], &stored["result"]["valueBoolean"]), (&json!("done"), &json!(true)));
        assert!(installed(world).await.is_empty());
        assert_eq!(total(world, "StructureDefinition").await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_whose_sql_fails_installs_nothing() {
    on_every_engine(async |world| {
        publish(world, &[base()]);
        let bundle = [migration("i", "install", "acme.base@1.0.0"), sql("s", "SELEC 1")];
        let answer = transact(world, &bundle).await;
        assert_eq!(answer.status, 422);
        assert!(installed(world).await.is_empty());
        assert_eq!(total(world, "StructureDefinition").await + total(world, "PlatformMigration").await, 0);
        // SQL of the same transaction sees what was installed before it.
        let count = "CREATE TABLE seen AS SELECT count(*) AS n FROM structuredefinition";
        let bundle = [migration("i", "install", "acme.base@1.0.0"), sql("s", count)];
        assert_eq!(transact(world, &bundle).await.status, 200);
        let check = "CREATE TABLE one (n BIGINT CHECK (n = 1)); INSERT INTO one SELECT n FROM seen";
        world.db().run_user_sql(check).await.unwrap().unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_whose_package_is_refused_keeps_nothing() {
    on_every_engine(async |world| {
        publish(world, &[base(), guide()]);
        operate(world, "install", &["acme.guide@2.0.0"]).await;
        let table = sql("s", "CREATE TABLE kept (id BIGINT)");
        for (refused, told_of) in [
            (migration("u", "uninstall", "acme.base@1.0.0"), "needed by acme.guide@2.0.0"),
            (migration("u", "uninstall", "acme.none@1.0.0"), "acme.none@1.0.0 is not installed"),
            (migration("u", "install", "acme.none@1.0.0"), "acme.none@1.0.0 from the shelf: it is not there"),
            (migration("u", "install", "acme.base@1.x"), "not an exact version"),
        ] {
            let answer = transact(world, &[table.clone(), refused]).await;
            assert_eq!(answer.status, 422, "{}", answer.body);
            assert!(told(&answer).contains(told_of), "{}", told(&answer));
            assert_eq!(total(world, "PlatformMigration").await, 0);
            assert!(world.db().run_user_sql("SELECT id FROM kept").await.unwrap().is_err());
        }
    })
    .await;
}

/// A package that says what a server has to do, as published guides do.
fn conformance(name: &str) -> TestPackage {
    let statement = |id: &str, kind: &str, mode: &str| {
        json!({"resourceType": "CapabilityStatement", "id": id, "url": format!("http://{name}.example/CapabilityStatement/{id}"),
            "kind": kind, "rest": [{"mode": mode}]})
    };
    let profile = |id: &str, derivation: &str, is_abstract: bool| {
        json!({"resourceType": "StructureDefinition", "id": id, "url": format!("http://{name}.example/StructureDefinition/{id}"),
            "version": "1", "kind": "resource", "type": "Patient", "derivation": derivation, "abstract": is_abstract})
    };
    let guide = format!("http://{name}.example/ImplementationGuide/{name}");
    TestPackage::new(name, "1.0.0")
        .with_resource(&json!({"resourceType": "ImplementationGuide", "id": "ig", "url": guide}))
        .with_resource(&statement("server", "requirements", "server"))
        .with_resource(&statement("client", "requirements", "client"))
        .with_resource(&statement("instance", "instance", "server"))
        .with_resource(&profile("patient", "constraint", false))
        .with_resource(&profile("kind-of", "specialization", false))
        .with_resource(&profile("base", "constraint", true))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_capability_statement_names_what_is_installed() {
    on_every_engine(async |world| {
        let statement = async || world.get("/fhir/metadata").send().await.body;
        let of_patient = |statement: &Value| {
            let resources = statement["rest"][0]["resource"].as_array().unwrap();
            resources.iter().find(|resource| resource["type"] == "Patient").unwrap()["supportedProfile"].clone()
        };
        let before = statement().await;
        assert_eq!((before.get("instantiates"), before.get("implementationGuide")), (None, None));
        assert_eq!(of_patient(&before), Value::Null);

        publish(
            world,
            &[
                conformance("needed"),
                conformance("asked").with_dependency("needed", "1.0.0"),
                conformance("hl7.fhir.r4.core"),
            ],
        );
        assert_eq!(operate(world, "install", &["asked@1.0.0", "hl7.fhir.r4.core@1.0.0"]).await.status, 200);
        let installed = statement().await;
        assert_eq!(installed["instantiates"], json!(["http://asked.example/CapabilityStatement/server"]));
        assert_eq!(installed["implementationGuide"], json!(["http://asked.example/ImplementationGuide/asked"]));
        let profiles = ["asked", "needed"].map(|name| format!("http://{name}.example/StructureDefinition/patient"));
        assert_eq!(of_patient(&installed), json!(profiles));
        assert_eq!(fhir_validation::validate_fhir_document("CapabilityStatement", &installed), Some(Vec::new()));

        assert_eq!(operate(world, "uninstall", &["asked"]).await.status, 200);
        let after = statement().await;
        assert_eq!((after.get("instantiates"), of_patient(&after)), (None, json!([profiles[1]])));
    })
    .await;
}

#[tokio::test]
async fn the_capability_statement_names_what_the_settings_name() {
    let urls = |url: &str| std::iter::once(url.to_owned()).collect();
    let conforms_to = InstalledConformance {
        guides: urls("http://e.example/ImplementationGuide/g"),
        requirements: urls("http://e.example/CapabilityStatement/s|2"),
        ..InstalledConformance::default()
    };
    let world = World::with(Choice { conforms_to, ..Choice::default() }).await;
    let statement = world.get("/fhir/metadata").send().await.body;
    assert_eq!(statement["implementationGuide"], json!(["http://e.example/ImplementationGuide/g"]));
    assert_eq!(statement["instantiates"], json!(["http://e.example/CapabilityStatement/s|2"]));
    world.end().await;
}
