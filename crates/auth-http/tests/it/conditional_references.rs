//! Conditional references of transactions, and what a stored Bundle refers to.

use serde_json::{Value, json};

use crate::world::{Answer, World, on_every_engine};

const SYSTEM: &str = "http://payer.example/member";

fn patient(value: &str) -> Value {
    json!({"resourceType": "Patient", "identifier": [{"system": SYSTEM, "value": value}]})
}

/// An Observation of whom the reference finds.
fn observation(reference: &str) -> Value {
    json!({
        "resourceType": "Observation", "status": "final", "code": {"text": "x"}, "subject": {"reference": reference},
    })
}

async fn transaction(world: &World, entries: &[Value]) -> Answer {
    let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": entries});
    world.post("/fhir").by_root().fhir(&bundle).send().await
}

fn create(resource: &Value) -> Value {
    let kind = resource["resourceType"].as_str().unwrap();
    json!({"request": {"method": "POST", "url": kind}, "resource": resource})
}

async fn count(world: &World, kind: &str) -> Value {
    world.get(&format!("/fhir/{kind}?_summary=count")).by_root().send().await.body["total"].clone()
}

#[tokio::test]
async fn a_conditional_reference_of_a_transaction_becomes_the_one_resource_it_finds() {
    on_every_engine(async |world| {
        for (id, value) in [("p1", "1"), ("p2", "2"), ("p3", "2")] {
            world.put(&format!("/fhir/Patient/{id}"), &patient(value)).await;
        }
        let one = format!("Patient?identifier={SYSTEM}|1");
        let answer = transaction(world, &[create(&observation(&one)), create(&observation("Patient?_id=p2"))]).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        for (entry, expected) in answer.body["entry"].as_array().unwrap().iter().zip(["Patient/p1", "Patient/p2"]) {
            assert_eq!(entry["resource"]["subject"]["reference"], expected);
        }
        let found = world.get("/fhir/Observation?subject=Patient/p1").by_root().send().await;
        assert_eq!(found.body["total"], 1, "it is a reference like any other");

        let before = count(world, "Observation").await;
        for (reference, code, text) in [
            (format!("Patient?identifier={SYSTEM}|9"), "not-found", "finds no resource"),
            (format!("Patient?identifier={SYSTEM}|2"), "multiple-matches", "finds more than one resource"),
        ] {
            let answer = transaction(world, &[create(&patient("7")), create(&observation(&reference))]).await;
            assert_eq!(answer.status, 412, "{answer:?}");
            let issue = &answer.body["issue"][0];
            assert_eq!((&issue["code"], &issue["expression"][0]), (&json!(code), &json!("Bundle.entry[1]")));
            let expected = format!("the conditional reference {reference} {text}");
            assert_eq!(issue["diagnostics"], expected);
        }
        let unheard = transaction(world, &[create(&observation("Patient?unheard=of"))]).await;
        assert_eq!(unheard.status, 400, "{unheard:?}");
        assert_eq!(count(world, "Observation").await, before, "nothing is written then");
        assert_eq!(count(world, "Patient").await, 3);
    })
    .await;
}

#[tokio::test]
async fn a_conditional_reference_finds_what_the_same_transaction_writes() {
    on_every_engine(async |world| {
        world.put("/fhir/Patient/old", &patient("old")).await;
        let by = |value: &str| format!("Patient?identifier={SYSTEM}|{value}");
        let named = json!({
            "fullUrl": "urn:uuid:00000000-0000-4000-8000-000000000001",
            "request": {"method": "POST", "url": "Patient"}, "resource": patient("named"),
        });
        let put = json!({"request": {"method": "PUT", "url": "Patient/put"}, "resource": {
            "resourceType": "Patient", "id": "put", "identifier": patient("put")["identifier"],
        }});
        let known = json!({
            "request": {"method": "POST", "url": "Patient", "ifNoneExist": format!("identifier={SYSTEM}|old")},
            "resource": patient("old"),
        });
        let references = ["new", "new", "named", "put", "old"];
        let mut entries = vec![create(&patient("new")), named, put, known];
        entries.extend(references.iter().map(|value| create(&observation(&by(value)))));
        let answer = transaction(world, &entries).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let written = answer.body["entry"].as_array().unwrap();
        let id = |at: usize| format!("Patient/{}", written[at]["resource"]["id"].as_str().unwrap());
        let expected = [id(0), id(0), id(1), "Patient/put".to_owned(), "Patient/old".to_owned()];
        for (entry, expected) in written[4..].iter().zip(expected) {
            assert_eq!(entry["resource"]["subject"]["reference"], expected);
        }
        let gone = json!({"request": {"method": "DELETE", "url": "Patient/old"}});
        let answer = transaction(world, &[gone, create(&observation(&by("old")))]).await;
        assert_eq!(answer.status, 412, "what the Bundle removes is not found: {answer:?}");
    })
    .await;
}

#[tokio::test]
async fn a_conditional_reference_finds_only_what_its_sender_may_search() {
    on_every_engine(async |world| {
        world.put("/fhir/Patient/p1", &patient("1")).await;
        let token = world.token_with_scope("writer", "system/Observation.c").await;
        let entries = [create(&observation(&format!("Patient?identifier={SYSTEM}|1")))];
        let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": entries});
        let answer = world.post("/fhir").bearer(&token).fhir(&bundle).send().await;
        assert_eq!(answer.status, 403, "{answer:?}");
    })
    .await;
}

#[tokio::test]
async fn a_stored_bundle_keeps_the_references_between_its_own_entries() {
    on_every_engine(async |world| {
        let urn = "urn:uuid:4f6c9d3a-0000-4000-8000-000000000001";
        for kind in ["collection", "document", "message"] {
            let first = match kind {
                "message" => json!({
                    "resourceType": "MessageHeader", "eventUri": "http://e", "source": {"endpoint": "http://s"},
                    "focus": [{"reference": urn}],
                }),
                _ => json!({
                    "resourceType": "Composition", "status": "final", "date": "2026-01-01", "title": "t",
                    "type": {"text": "t"}, "author": [{"reference": urn}], "subject": {"reference": urn},
                }),
            };
            let body = json!({
                "resourceType": "Bundle", "type": kind, "timestamp": "2026-01-01T00:00:00Z",
                "identifier": {"system": "urn:ietf:rfc:3986", "value": urn},
                "entry": [
                    {"fullUrl": "urn:uuid:4f6c9d3a-0000-4000-8000-000000000002", "resource": first},
                    {"fullUrl": urn, "resource": {"resourceType": "Patient", "active": true}},
                ],
            });
            for path in ["/fhir/Bundle", "/Bundle"] {
                let answer = world.post(path).by_root().json(&body).send().await;
                assert_eq!(answer.status, 201, "{kind} {path}: {answer:?}");
                let id = answer.body["id"].as_str().unwrap();
                let mut read = world.get(&format!("/fhir/Bundle/{id}")).by_root().send().await.body;
                for added in ["id", "meta"] {
                    read.as_object_mut().unwrap().remove(added);
                }
                if path == "/fhir/Bundle" {
                    assert_eq!(read, body, "{kind}");
                }
            }
            let within = json!({"request": {"method": "POST", "url": "Bundle"}, "resource": body});
            assert_eq!(transaction(world, &[within]).await.status, 200, "{kind}");
        }
        let other = world.post("/fhir/Observation").by_root().fhir(&observation(urn)).send().await;
        assert_eq!(other.status, 422, "elsewhere a name of no entry is still refused");
    })
    .await;
}
