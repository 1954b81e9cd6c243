//! Conditional references of transactions and of other writes, and what a stored Bundle refers to.

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

/// Sends the reference in every way that writes outside of a transaction: status and first issue of each, which is
/// where a batch has those of its entry.
async fn written_alone(world: &World, reference: &str) -> Vec<(u16, Value, Value)> {
    let named = |id: &str| {
        let mut named = observation(reference);
        named["id"] = json!(id);
        named
    };
    let whole = |answer: Answer| (answer.status.as_u16(), answer.body["issue"][0].clone(), answer.body);
    let mut answers = vec![
        whole(world.post("/fhir/Observation").by_root().fhir(&observation(reference)).send().await),
        whole(world.call("PUT", "/fhir/Observation/put").by_root().fhir(&named("put")).send().await),
        whole(world.call("PUT", "/fhir/Observation?code=never").by_root().fhir(&named("found")).send().await),
    ];
    let put = json!({"request": {"method": "PUT", "url": "Observation/batched"}, "resource": named("batched")});
    let bundle = json!({"resourceType": "Bundle", "type": "batch", "entry": [create(&observation(reference)), put]});
    let batch = world.post("/fhir").by_root().fhir(&bundle).send().await;
    assert_eq!(batch.status, 200, "{batch:?}");
    for entry in batch.body["entry"].as_array().unwrap() {
        let status = entry["response"]["status"].as_str().unwrap()[..3].parse().unwrap();
        answers.push((status, entry["response"]["outcome"]["issue"][0].clone(), entry["resource"].clone()));
    }
    let list = world.call("PUT", "/fhir").by_root().fhir(&json!([named("listed")])).send().await;
    answers.push((list.status.as_u16(), list.body["issue"][0].clone(), list.body[0].clone()));
    answers
}

#[tokio::test]
async fn a_conditional_reference_outside_of_a_transaction_is_not_stored_as_it_stands() {
    on_every_engine(async |world| {
        for (id, value) in [("p1", "1"), ("p2", "2"), ("p3", "2")] {
            world.put(&format!("/fhir/Patient/{id}"), &patient(value)).await;
        }
        for (reference, code, text) in [
            (format!("Patient?identifier={SYSTEM}|9"), "not-found", "finds no resource"),
            (format!("Patient?identifier={SYSTEM}|2"), "multiple-matches", "finds more than one resource"),
        ] {
            for (status, issue, body) in written_alone(world, &reference).await {
                assert_eq!((status, &issue["code"]), (412, &json!(code)), "{body}");
                assert_eq!(issue["diagnostics"], format!("the conditional reference {reference} {text}"));
            }
        }
        assert_eq!(count(world, "Observation").await, 0);
        for (status, _, body) in written_alone(world, &format!("Patient?identifier={SYSTEM}|1")).await {
            assert!(matches!(status, 200 | 201), "{body}");
            assert_eq!(body["subject"]["reference"], "Patient/p1", "{body}");
        }
        for (id, status) in [("p1", 201), ("p9", 412)] {
            let native = observation(&format!("Patient?_id={id}"));
            let answer = world.post("/Observation").by_root().json(&native).send().await;
            assert_eq!(answer.status, status, "{answer:?}");
        }
        let found = world.get("/fhir/Observation?subject=Patient/p1&_summary=count").by_root().send().await;
        assert_eq!(found.body["total"], 7, "all of them are references like any other");

        let me = json!({"resourceType": "Patient", "identifier": patient("me")["identifier"], "link": [{
            "type": "seealso", "other": {"reference": format!("Patient?identifier={SYSTEM}|me")},
        }]});
        let answer = world.post("/fhir/Patient").by_root().fhir(&me).send().await;
        let own = format!("Patient/{}", answer.body["id"].as_str().unwrap());
        assert_eq!(answer.body["link"][0]["other"]["reference"], own, "a resource may mean itself: {answer:?}");
    })
    .await;
}

#[tokio::test]
async fn a_patch_puts_no_conditional_reference_in() {
    on_every_engine(async |world| {
        world.put("/fhir/Patient/p1", &patient("1")).await;
        world.put("/fhir/Observation/o", &observation("Patient/p1")).await;
        let reference = format!("Patient?identifier={SYSTEM}|1");
        let change = json!([{"op": "replace", "path": "/subject/reference", "value": reference}]);
        let patch = async |change: &Value| {
            let request = world.call("PATCH", "/fhir/Observation/o").by_root();
            request.text("application/json-patch+json", change.to_string()).send().await
        };
        let alone = patch(&change).await;
        let entry = json!({"request": {"method": "PATCH", "url": "Observation/o"}, "resource": change});
        let within = transaction(world, &[entry]).await;
        for answer in [alone, within] {
            assert_eq!(answer.status, 422, "{answer:?}");
            let text = answer.body["issue"][0]["diagnostics"].as_str().unwrap();
            assert!(text.starts_with(&format!("the patch adds the conditional reference {reference}: ")), "{text}");
        }
        let other = patch(&json!([{"op": "replace", "path": "/status", "value": "amended"}])).await;
        assert_eq!(other.status, 200, "{other:?}");
        assert_eq!(other.body["subject"]["reference"], "Patient/p1");
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
        let alone = observation(&format!("Patient?identifier={SYSTEM}|1"));
        let answer = world.post("/fhir/Observation").bearer(&token).fhir(&alone).send().await;
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
