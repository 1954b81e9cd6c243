//! Batch, transaction, and lists of resources.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::world::{SECRET, World, on_every_engine};

fn bundle(kind: &str, entries: &[Value]) -> Value {
    json!({"resourceType": "Bundle", "type": kind, "entry": entries})
}

fn put(url: &str, resource: impl Into<Value>) -> Value {
    json!({"request": {"method": "PUT", "url": url}, "resource": resource.into()})
}

fn get(url: &str) -> Value {
    json!({"request": {"method": "GET", "url": url}})
}

#[tokio::test]
async fn a_transaction_registers_a_partner_at_once() {
    on_every_engine(async |world| {
        let entries = [
            json!({"fullUrl": "urn:uuid:1", "request": {"method": "POST", "url": "Organization"},
                "resource": {"resourceType": "Organization", "name": "Payer"}}),
            put("Organization/child", json!({"partOf": {"reference": "urn:uuid:1"}})),
            get("Organization/child"),
            get("Organization"),
        ];
        for path in ["/", "/fhir"] {
            let answer = world.post(path).by_root().json(&bundle("transaction", &entries)).send().await;
            assert_eq!(answer.status, 200, "{answer:?}");
            assert_eq!(answer.body["type"], "transaction-response");
            let entry = answer.body["entry"].as_array().unwrap();
            assert_eq!(entry.len(), 4);
            assert_eq!(entry[0]["response"]["status"], "201");
            assert!(entry[0]["response"]["location"].is_string());
            assert_eq!(entry[2]["response"]["status"], "200");
            assert_eq!(entry[2]["resource"], entry[1]["resource"]);
            assert_eq!(entry[3]["resource"]["type"], "searchset");
        }
    })
    .await;
}

#[tokio::test]
async fn a_transaction_that_fails_writes_nothing_and_names_its_entry() {
    on_every_engine(async |world| {
        world.put("/Organization/there", &json!({"name": "A"})).await;
        let post = json!({"request": {"method": "POST", "url": "Organization"}, "resource": {"id": "there"}});
        let broken = put("Client/c", json!({"active": "yes"}));
        let patch = json!({"request": {"method": "PATCH", "url": "Client/c"}, "resource": {"active": true}});
        for (entry, status, place) in [
            (post, 409, "Bundle.entry[1]"),
            (broken, 422, "Bundle.entry[1]"),
            (patch, 400, ""),
            (put("Organization/x", json!({"id": "y"})), 400, "Bundle.entry[1]"),
            (json!({"request": {"method": "JUMP", "url": "Organization"}}), 400, "Bundle.entry[1]"),
        ] {
            let entries = [put("Organization/new", json!({"name": "N"})), entry.clone()];
            let answer = world.post("/").by_root().json(&bundle("transaction", &entries)).send().await;
            assert_eq!(answer.outcome().0, status, "{entry}: {answer:?}");
            if !place.is_empty() {
                assert_eq!(answer.body["issue"][0]["expression"][0], place, "{answer:?}");
            }
            assert_eq!(world.get("/Organization/new").by_root().send().await.status, 404, "{entry}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_transaction_the_caller_may_not_do_in_part_is_not_done_at_all() {
    let world = World::new().await;
    let policy = json!({"engine": "matcho", "matcho": {"uri": "#^/Organization"}});
    world.client_with_policy("c", &policy).await;
    let entries = [put("Organization/o", json!({})), put("Client/evil", json!({"secret": "x"}))];
    let answer = world.post("/").basic("c", SECRET).json(&bundle("transaction", &entries)).send().await;
    assert_eq!(answer.outcome(), (403, "forbidden"));
    assert_eq!(answer.body["issue"][0]["expression"][0], "Bundle.entry[1]");
    for path in ["/Organization/o", "/Client/evil"] {
        assert_eq!(world.get(path).by_root().send().await.status, 404, "{path}");
    }
    world.end().await;
}

#[tokio::test]
async fn each_entry_of_a_batch_is_authorized_and_answered_on_its_own() {
    let world = World::new().await;
    let policy = json!({"engine": "matcho", "matcho": {"uri": "#^/fhir/Organization"}});
    world.client_with_policy("c", &policy).await;
    let entries = [
        put("Organization/o", json!({"name": "O"})),
        put("Client/evil", json!({})),
        get("Organization/o"),
        get("Organization/none"),
        json!({"request": {"method": "GET"}}),
        json!("nonsense"),
        put("Organization/p", json!({"id": "q"})),
    ];
    let answer = world.post("/fhir").basic("c", SECRET).fhir(&bundle("batch", &entries)).send().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body["type"], "batch-response");
    let statuses: Vec<&str> = answer.body["entry"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["response"]["status"].as_str().unwrap())
        .collect();
    assert_eq!(statuses, ["201", "403", "200", "404", "400", "400", "400"]);
    assert_eq!(answer.body["entry"][1]["response"]["outcome"]["resourceType"], "OperationOutcome");
    assert_eq!(world.get("/Client/evil").by_root().send().await.status, 404);
    world.end().await;
}

#[tokio::test]
async fn a_bundle_without_credentials_is_401() {
    let world = World::new().await;
    let entries = [put("Organization/o", json!({}))];
    for kind in ["transaction", "batch"] {
        let answer = world.post("/").json(&bundle(kind, &entries)).send().await;
        assert_eq!(answer.outcome(), (401, "login"), "{kind}");
        assert!(answer.header("www-authenticate").starts_with("Bearer "), "{kind}");
    }
    assert_eq!(world.get("/Organization/o").by_root().send().await.status, 404);
    world.end().await;
}

#[tokio::test]
async fn a_list_of_resources_is_upserted_in_one_transaction() {
    on_every_engine(async |world| {
        let list = json!([
            {"resourceType": "Organization", "id": "a", "name": "A"},
            {"resourceType": "Client", "id": "c", "secret": SECRET, "grant_types": ["basic"]},
        ]);
        let answer = world.call("PUT", "/").by_root().json(&list).send().await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.body[0]["id"], "a");
        assert_eq!(answer.body[1].get("secret"), None);

        let broken = json!([{"resourceType": "Organization", "id": "b"}, {"resourceType": "Client", "id": "c",
            "active": "yes"}]);
        let answer = world.call("PUT", "/").by_root().json(&broken).send().await;
        assert_eq!(answer.outcome().0, 422);
        assert_eq!(world.get("/Organization/b").by_root().send().await.status, 404);
        for nameless in [json!([{"resourceType": "Organization"}]), json!([1]), json!({}), json!([{"id": "x"}])] {
            assert_eq!(world.call("PUT", "/").by_root().json(&nameless).send().await.outcome().0, 400, "{nameless}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_is_no_bundle_of_requests_is_400() {
    let world = World::new().await;
    for body in [
        json!({}),
        json!({"resourceType": "Client"}),
        json!({"resourceType": "Bundle"}),
        json!({"resourceType": "Bundle", "type": "searchset"}),
        json!({"resourceType": "Bundle", "type": "batch", "entry": {}}),
        json!([]),
        json!(1),
    ] {
        let answer = world.post("/fhir").by_root().fhir(&body).send().await;
        assert_eq!(answer.outcome(), (400, "structure"), "{body}");
    }
    let empty = world.post("/fhir").by_root().fhir(&bundle("batch", &[])).send().await;
    assert_eq!((empty.status.as_u16(), &empty.body["entry"]), (200, &json!([])));
    world.end().await;
}

#[tokio::test]
async fn a_migration_is_created_once_by_its_id() {
    on_every_engine(async |world| {
        let entry = json!({
            "request": {"method": "POST", "url": "AcmeMigration", "ifNoneExist": "id=m1"},
            "resource": {"resourceType": "AcmeMigration", "id": "m1", "status": "done",
                "action": "far-migration-fhir-package-install",
                "params": {"parameter": [{"name": "package", "valueString": "hl7.fhir.us.core@5.0.0"}]}},
        });
        let answer = async || {
            let sent = bundle("transaction", std::slice::from_ref(&entry));
            world.post("/fhir").by_root().fhir(&sent).send().await.body["entry"][0]["response"]["status"].clone()
        };
        assert_eq!(answer().await, "201");
        assert_eq!(answer().await, "200");
    })
    .await;
}

#[tokio::test]
async fn a_record_that_two_entries_of_a_transaction_write_fails_the_transaction() {
    on_every_engine(async |world| {
        world.put("/Organization/there", &json!({"name": "There"})).await;
        let found = json!({"request": {"method": "PUT", "url": "Organization?_id=there"}, "resource": {"name": "C"}});
        let delete = |url: &str| json!({"request": {"method": "DELETE", "url": url}});
        let patch = json!({"request": {"method": "PATCH", "url": "Patient/a"}, "resource": {"active": true}});
        let post = |id: &str| {
            let resource = json!({"resourceType": "Organization", "id": id});
            json!({"request": {"method": "POST", "url": "Organization"}, "resource": resource})
        };
        for (first, second, twice) in [
            (put("Organization/new", json!({"name": "A"})), put("Organization/new", json!({"name": "B"})), "new"),
            (put("Organization/there", json!({"name": "A"})), found, "there"),
            (put("Organization/there", json!({"name": "A"})), delete("Organization/there"), "there"),
            (post("new"), put("Organization/new", json!({})), "new"),
        ] {
            for path in ["/", "/fhir"] {
                let entries = [put("Patient/a", json!({})), first.clone(), second.clone()];
                let answer = world.post(path).by_root().fhir(&bundle("transaction", &entries)).send().await;
                assert_eq!(answer.outcome(), (400, "invalid"), "{second}: {answer:?}");
                assert_eq!(answer.body["issue"][0]["expression"][0], "Bundle.entry[2]", "{answer:?}");
                let text = format!("another entry of the transaction writes Organization/{twice} too");
                assert_eq!(answer.body["issue"][0]["diagnostics"], text);
                assert_eq!(world.get("/Patient/a").by_root().send().await.status, 404, "{second}");
                assert_eq!(world.get("/Organization/there").by_root().send().await.body["name"], "There");
            }
        }
        let twice = [put("Patient/a", json!({})), patch];
        let answer = world.post("/fhir").by_root().fhir(&bundle("transaction", &twice)).send().await;
        assert_eq!(answer.outcome(), (400, "invalid"), "{answer:?}");
        let list = json!([{"resourceType": "Patient", "id": "a"}, {"resourceType": "Patient", "id": "a"}]);
        assert_eq!(world.call("PUT", "/").by_root().json(&list).send().await.outcome(), (400, "invalid"));

        // What a condition finds already there is not written, and a batch is not one transaction.
        let once = json!({"request": {"method": "POST", "url": "Organization", "ifNoneExist": "_id=there"},
            "resource": {"resourceType": "Organization", "id": "there"}});
        let entries = [once.clone(), once, put("Organization/there", json!({"name": "D"}))];
        for kind in ["transaction", "batch"] {
            let answer = world.post("/fhir").by_root().fhir(&bundle(kind, &entries)).send().await;
            assert_eq!(answer.body["entry"][2]["response"]["status"], "200", "{kind}: {answer:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_json_patch_in_a_binary_is_applied_in_a_bundle() {
    on_every_engine(async |world| {
        let binary = |media_type: &str, patch: &str| {
            json!({"resourceType": "Binary", "contentType": media_type, "data": STANDARD.encode(patch)})
        };
        let patch = |url: &str, resource: Value| json!({"request": {"method": "PATCH", "url": url}, "resource": resource});
        let female = r#"[{"op": "replace", "path": "/gender", "value": "female"}]"#;
        for (kind, path) in [("transaction", "/fhir"), ("batch", "/fhir"), ("transaction", "/")] {
            world.put("/Patient/a", &json!({"gender": "male"})).await;
            let entries = [patch("Patient/a", binary("application/json-patch+json", female))];
            let answer = world.post(path).by_root().fhir(&bundle(kind, &entries)).send().await;
            assert_eq!(answer.body["entry"][0]["response"]["status"], "200", "{kind}: {answer:?}");
            assert_eq!(world.get("/Patient/a").by_root().send().await.body["gender"], "female");
        }
        let merge = binary("application/merge-patch+json", r#"{"gender": "other"}"#);
        let answer = world.post("/fhir").by_root().fhir(&bundle("batch", &[patch("Patient/a", merge)])).send().await;
        assert_eq!(answer.body["entry"][0]["resource"]["gender"], "other", "{answer:?}");

        let own = world.put("/Binary/b", &json!({"contentType": "text/plain", "data": "YQ=="})).await;
        assert_eq!(own.status, 201);
        let of_binary = json!({"resourceType": "Binary", "data": "Yg=="});
        let answer = world.post("/fhir").by_root().fhir(&bundle("batch", &[patch("Binary/b", of_binary)])).send().await;
        assert_eq!(answer.body["entry"][0]["resource"]["data"], "Yg==", "{answer:?}");

        for broken in [
            binary("application/xml-patch+xml", female),
            binary("application/json-patch+json", "{"),
            binary("application/json-patch+json", r#"{"gender": "male"}"#),
            binary("application/json-patch+json", r#"[{"op": "add", "path": "/x", "value": 1e999}]"#),
            binary("application/json-patch+json", &format!("[{}]", " ".repeat(1024 * 1024))),
            json!({"resourceType": "Binary", "contentType": "application/json-patch+json", "data": "*"}),
            json!({"resourceType": "Binary", "contentType": "application/json-patch+json"}),
            json!({"resourceType": "Parameters", "parameter": []}),
        ] {
            let entries = [patch("Patient/a", broken.clone())];
            let answer = world.post("/fhir").by_root().fhir(&bundle("transaction", &entries)).send().await;
            assert!(matches!(answer.outcome().0, 400 | 413), "{broken}: {answer:?}");
            assert_eq!(world.get("/Patient/a").by_root().send().await.body["gender"], "other");
        }
    })
    .await;
}

#[tokio::test]
async fn the_paths_of_a_json_patch_in_a_bundle_are_those_of_what_a_reader_sees_there() {
    on_every_engine(async |world| {
        for id in ["a", "b", "c"] {
            world.put(&format!("/fhir/Patient/{id}"), &json!({})).await;
        }
        let observation = json!({"status": "final", "code": {"text": "x"}, "subject": {"reference": "Patient/a"}});
        world.put("/fhir/Observation/o", &observation).await;
        let change = async |address: &str, kind: &str, path: &str, value: &str| {
            let operations = json!([{"op": "replace", "path": path, "value": value}]);
            let entry = json!({"request": {"method": "PATCH", "url": "Observation/o"}, "resource": operations});
            let body = json!({"resourceType": "Bundle", "type": kind, "entry": [entry]});
            let answer = world.post(address).by_root().json(&body).send().await;
            let read = world.get("/fhir/Observation/o").by_root().send().await;
            (answer.status.as_u16(), answer.body, read.body["subject"]["reference"].clone())
        };
        for (kind, id) in [("transaction", "b"), ("batch", "c")] {
            let (_, body, subject) = change("/fhir", kind, "/subject/reference", &format!("Patient/{id}")).await;
            assert_eq!(subject, format!("Patient/{id}"), "{body}");
            let (_, body, subject) = change("/", kind, "/subject/id", "a").await;
            assert_eq!(subject, "Patient/a", "{body}");
            let (_, body, subject) = change("/fhir", kind, "/subject/id", id).await;
            assert_eq!(subject, "Patient/a", "the stored spelling is not the reader's: {body}");
        }
    })
    .await;
}
