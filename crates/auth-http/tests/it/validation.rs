//! What is written at `/fhir` is what FHIR says, whichever way it comes; and `$validate` says it without writing.

use migrations::package::testing::{TestPackage, canonical_definition};
use serde_json::{Value, json};

use crate::world::{Answer, SECRET, World, on_every_engine};

fn observation() -> Value {
    json!({"resourceType": "Observation", "status": "final", "code": {"text": "Glucose"}, "valueInteger": 5})
}

/// An Observation with two faults.
fn faulty() -> Value {
    json!({"resourceType": "Observation", "status": "done", "code": {"txt": "Glucose"}})
}

/// The places of what is wrong.
fn places(outcome: &Value) -> Vec<Value> {
    assert_eq!(outcome["resourceType"], "OperationOutcome", "{outcome}");
    let issues = outcome["issue"].as_array().unwrap().iter();
    issues.map(|issue| issue["expression"][0].clone()).collect()
}

fn bundle(kind: &str, method: &str, url: &str, resource: &Value) -> Value {
    let entry = json!({"request": {"method": method, "url": url}, "resource": resource});
    json!({"resourceType": "Bundle", "type": kind, "entry": [entry]})
}

async fn is_there(world: &World, id: &str) -> bool {
    world.get(&format!("/fhir/Observation/{id}")).by_root().send().await.status == 200
}

#[tokio::test]
async fn no_way_of_writing_at_the_fhir_endpoint_takes_what_is_no_fhir() {
    on_every_engine(async |world| {
        let mut named = faulty();
        named["id"] = "x".into();
        for (method, path, body) in [
            ("PUT", "/fhir/Observation/x", faulty()),
            ("POST", "/fhir/Observation", faulty()),
            ("PUT", "/fhir/Observation?_id=x", named.clone()),
            ("PUT", "/fhir", json!([named])),
            ("POST", "/fhir", bundle("transaction", "PUT", "Observation/x", &faulty())),
        ] {
            let answer = world.call(method, path).by_root().fhir(&body).send().await;
            assert_eq!(answer.outcome(), (422, "code-invalid"), "{method} {path}");
            let issues = answer.body["issue"].as_array().unwrap();
            let told: Vec<_> = issues.iter().map(|issue| (&issue["severity"], &issue["code"])).collect();
            assert_eq!(told, [(&json!("error"), &json!("code-invalid")), (&json!("error"), &json!("structure"))]);
            assert!(answer.body.to_string().contains("Observation.code.txt"), "{}", answer.body);
            assert!(!is_there(world, "x").await, "{method} {path}");
        }
        let batch = bundle("batch", "PUT", "Observation/x", &faulty());
        let answer = world.post("/fhir").by_root().fhir(&batch).send().await;
        let response = &answer.body["entry"][0]["response"];
        assert_eq!(response["status"], "422", "{response}");
        assert_eq!(places(&response["outcome"]), ["Observation.status", "Observation.code.txt"]);
        assert!(!is_there(world, "x").await);
    })
    .await;
}

#[tokio::test]
async fn a_patch_makes_what_is_fhir_or_nothing() {
    on_every_engine(async |world| {
        assert_eq!(world.call("PUT", "/fhir/Observation/p").by_root().fhir(&observation()).send().await.status, 201);
        let change = json!({"status": "done"});
        let operations = json!([{"op": "remove", "path": "/code"}]);
        let entry = |change: &Value, kind: &str| bundle(kind, "PATCH", "Observation/p", change);
        for (method, path, body, expected, code) in [
            ("PATCH", "/fhir/Observation/p", change.clone(), "Observation.status", "code-invalid"),
            ("PATCH", "/fhir/Observation?_id=p", change.clone(), "Observation.status", "code-invalid"),
            ("PATCH", "/fhir/Observation/p", operations, "expected the element code", "required"),
            ("POST", "/fhir", entry(&change, "transaction"), "Observation.status", "code-invalid"),
        ] {
            let call = world.call(method, path).by_root();
            let answer = if method == "PATCH" { call.json(&body) } else { call.fhir(&body) }.send().await;
            assert_eq!(answer.outcome(), (422, code), "{method} {path}");
            assert!(answer.body.to_string().contains(expected), "{}", answer.body);
        }
        let answer = world.post("/fhir").by_root().fhir(&entry(&change, "batch")).send().await;
        assert_eq!(answer.body["entry"][0]["response"]["status"], "422", "{}", answer.body);
        let kept = world.get("/fhir/Observation/p").by_root().send().await;
        assert_eq!((&kept.body["status"], &kept.body["code"]["text"]), (&json!("final"), &json!("Glucose")));
        let good = entry(&json!({"status": "amended"}), "transaction");
        assert_eq!(world.post("/fhir").by_root().fhir(&good).send().await.status, 200);
        assert_eq!(world.get("/fhir/Observation/p").by_root().send().await.body["status"], "amended");
    })
    .await;
}

#[tokio::test]
async fn what_is_valid_stays_valid_in_every_spelling_and_when_it_is_read_and_written_again() {
    on_every_engine(async |world| {
        let mut fhir = observation();
        fhir["subject"] = json!({"reference": "Patient/me", "display": "Me"});
        fhir["extension"] = json!([{"url": "http://e/x", "valueCoding": {"system": "s", "code": "c"}}]);
        fhir["valueInteger"] = json!(7);
        let mut native = fhir.clone();
        native["subject"] = json!({"resourceType": "Patient", "id": "me", "display": "Me"});
        native["extension"] = json!([{"url": "http://e/x", "value": {"Coding": {"system": "s", "code": "c"}}}]);
        for (id, body) in [("fhir", fhir), ("native", native)] {
            let path = format!("/fhir/Observation/{id}");
            let made = world.call("PUT", &path).by_root().fhir(&body).send().await;
            assert_eq!(made.status, 201, "{}", made.body);
            let read = world.get(&path).by_root().send().await.body;
            let again = world.call("PUT", &path).by_root().fhir(&read).send().await;
            assert_eq!((again.status.as_u16(), &again.body["meta"]), (200, &read["meta"]), "nothing changed");
            let outcome = world.post(&format!("{path}/$validate?mode=profile")).by_root().send().await;
            assert_eq!(outcome.body["issue"][0]["code"], "informational", "{}", outcome.body);
        }
    })
    .await;
}

#[tokio::test]
async fn types_of_the_platform_and_the_native_endpoint_are_not_judged() {
    let world = World::new().await;
    world.put("/Thing/first", &json!({})).await;
    for (path, body) in [
        ("/fhir/Thing/t", json!({"anything": {"goes": true}})),
        ("/fhir/Client/c", json!({"grant_types": ["basic"], "secret": SECRET})),
        ("/Observation/native", json!({"made": "up"})),
    ] {
        let answer = world.call("PUT", path).by_root().fhir(&body).send().await;
        assert_eq!(answer.status, 201, "{path} {}", answer.body);
    }
    world.end().await;
}

async fn validate(world: &World, path: &str, body: &Value) -> Answer {
    world.post(&format!("/fhir/{path}")).by_root().fhir(body).send().await
}

#[tokio::test]
async fn validating_tells_everything_and_writes_nothing() {
    on_every_engine(async |world| {
        let parameters = |mode: &str, resource: &Value| {
            json!({"resourceType": "Parameters", "parameter": [{"name": "resource", "resource": resource},
                {"name": "mode", "valueCode": mode}]})
        };
        for (path, body) in [
            ("Observation/$validate", faulty()),
            ("Observation/$validate?mode=create", faulty()),
            ("Observation/$validate", parameters("update", &faulty())),
            ("Observation/x/$validate", parameters("update", &faulty())),
            ("Observation/x/$validate", faulty()),
        ] {
            let answer = validate(world, path, &body).await;
            assert_eq!(answer.status, 200, "{path} {}", answer.body);
            assert_eq!(places(&answer.body), ["Observation.status", "Observation.code.txt"], "{path}");
        }
        let fine = validate(world, "Observation/x/$validate", &observation()).await;
        assert_eq!((fine.status.as_u16(), &fine.body["issue"][0]["severity"]), (200, &json!("information")));
        assert!(!is_there(world, "x").await, "nothing is written");

        let mut other = observation();
        other["id"] = "y".into();
        let answer = validate(world, "Observation/x/$validate", &other).await;
        assert_eq!(places(&answer.body), ["Observation.id"], "it is another one");
        let client = validate(world, "Client/$validate", &json!({"active": "yes"})).await;
        assert!(places(&client.body).contains(&json!("Client.active")), "{}", client.body);
    })
    .await;
}

#[tokio::test]
async fn a_question_that_makes_no_sense_is_refused() {
    let world = World::new().await;
    let nothing = json!({"resourceType": "Parameters", "parameter": [{"name": "mode", "valueCode": "create"}]});
    for (path, body) in [
        ("Observation/$validate?mode=destroy", observation()),
        ("Observation/$validate?mode=delete", observation()),
        ("Observation/x/$validate?mode=create", observation()),
        ("Observation/$validate", nothing),
    ] {
        assert_eq!(validate(&world, path, &body).await.outcome(), (400, "invalid"), "{path}");
    }
    let missing = world.post("/fhir/Observation/x/$validate?mode=delete").by_root().send().await;
    assert_eq!(missing.outcome(), (404, "not-found"));
    let empty = world.post("/fhir/Observation/$validate").by_root().send().await;
    assert_eq!(empty.outcome(), (400, "invalid"));
    world.end().await;
}

#[tokio::test]
async fn who_may_not_write_may_not_ask_whether_it_could() {
    let world = World::new().await;
    let reads = world.token_with_scope("reads", "system/Observation.rs").await;
    let creates = world.token_with_scope("creates", "system/Observation.c").await;
    assert_eq!(world.call("PUT", "/fhir/Observation/x").by_root().fhir(&observation()).send().await.status, 201);
    for (token, path, expected) in [
        (&reads, "Observation/$validate", 403),
        (&reads, "Observation/x/$validate", 403),
        (&reads, "Observation/x/$validate?mode=delete", 403),
        (&reads, "Observation/x/$validate?mode=profile", 200),
        (&creates, "Observation/$validate", 200),
        (&creates, "Observation/$validate?mode=update", 403),
        (&creates, "Observation/x/$validate?mode=profile", 403),
    ] {
        let answer = world.post(&format!("/fhir/{path}")).bearer(token).fhir(&observation()).send().await;
        assert_eq!(answer.status, expected, "{path} {}", answer.body);
    }
    let nobody = world.post("/fhir/Observation/$validate").fhir(&observation()).send().await;
    assert_eq!(nobody.status, 401);
    world.end().await;
}

const PROFILE: &str = "http://acme.example/StructureDefinition/lab";

fn package() -> TestPackage {
    let mut profile = canonical_definition("StructureDefinition", PROFILE, "1");
    profile["type"] = "Observation".into();
    profile["snapshot"] = json!({"element": [
        {"id": "Observation", "path": "Observation", "min": 0, "max": "*"},
        {"id": "Observation.subject", "path": "Observation.subject", "min": 1, "max": "1", "type": [{"code": "Reference"}]},
        {"id": "Observation.method", "path": "Observation.method", "min": 0, "max": "1", "type": [{"code": "CodeableConcept"}],
            "binding": {"strength": "required", "valueSet": "http://acme.example/ValueSet/methods"}},
    ]});
    let mut methods = canonical_definition("ValueSet", "http://acme.example/ValueSet/methods", "1");
    methods["compose"] = json!({"include": [{"system": "http://acme.example/CodeSystem/methods"}]});
    let mut system = canonical_definition("CodeSystem", "http://acme.example/CodeSystem/methods", "1");
    system["content"] = "complete".into();
    system["concept"] = json!([{"code": "strip"}]);
    TestPackage::new("acme.lab", "1.0.0")
        .with_resource(&profile)
        .with_resource(&methods)
        .with_resource(&system)
        .with_published_extras()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installed_profile_judges_by_its_snapshot_and_installed_codes() {
    on_every_engine(async |world| {
        let asked = format!("Observation/$validate?profile={PROFILE}");
        let before = validate(world, &asked, &observation()).await;
        assert_eq!(
            (&before.body["issue"][0]["severity"], &before.body["issue"][0]["code"]),
            (&json!("error"), &json!("not-found"))
        );

        world.shelf.add_tarball(package().package_id().unwrap(), package().pack_tarball().unwrap());
        let install =
            json!({"resourceType": "Parameters", "parameter": [{"name": "package", "valueString": "acme.lab@1.0.0"}]});
        assert_eq!(validate(world, "$fhir-package-install", &install).await.status, 200);

        let method = |code: &str| {
            let mut document = observation();
            document["method"] =
                json!({"coding": [{"system": "http://acme.example/CodeSystem/methods", "code": code}]});
            document
        };
        let answer = validate(world, &asked, &method("guess")).await;
        assert_eq!(places(&answer.body), ["Observation", "Observation.method"], "{}", answer.body);
        let mut fits = method("strip");
        fits["subject"] = json!({"display": "somebody"});
        let answer = validate(world, &asked, &fits).await;
        assert_eq!(answer.body["issue"][0]["code"], "informational", "{}", answer.body);

        let mut claims = method("strip");
        claims["meta"] = json!({"profile": [PROFILE]});
        let answer = validate(world, "Observation/$validate", &claims).await;
        assert_eq!(places(&answer.body), ["Observation"], "what a resource says it follows judges as well");
        let base = "Observation/$validate?profile=http://hl7.org/fhir/StructureDefinition/";
        let answer = validate(world, &format!("{base}Observation"), &observation()).await;
        assert_eq!(answer.body["issue"][0]["code"], "informational");
        let answer = validate(world, &format!("{base}Patient"), &observation()).await;
        assert_eq!(answer.body["issue"][0]["severity"], "error", "{}", answer.body);
    })
    .await;
}
