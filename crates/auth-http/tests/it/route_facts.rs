//! What the route of a request determines is never defined by its caller: every engine of policies, every way in.

use serde_json::{Value, json};

use crate::world::{Answer, SECRET, World, on_every_engine};

/// A policy of each engine that is about the record `a` alone.
fn of_the_record() -> Vec<(&'static str, Value)> {
    let matcho = json!({"engine": "matcho", "matcho": {"params": {"resource/id": "a"}}});
    let schema = json!({"engine": "json-schema", "schema": {
        "required": ["params"],
        "properties": {"params": {"required": ["resource/id"], "properties": {"resource/id": {"const": "a"}}}},
    }});
    let sql = json!({"engine": "sql", "sql": {"query": "SELECT {{params.resource/id}} = 'a'"}});
    let every = json!({"engine": "complex", "and": [matcho, schema, sql]});
    let either = json!({"engine": "complex", "or": [matcho, schema]});
    vec![("matcho", matcho), ("json-schema", schema), ("sql", sql), ("and", every), ("or", either)]
}

/// What a caller calls its own parameter to look like the record.
const CLAIMS: [&str; 3] = ["resource%2Fid=a", "resource/id=a", "resource%2Fid=b&resource%2Fid=a"];

async fn with_policy(world: &World, policy: &Value) {
    world.client_with_policy("partner", policy).await;
    for id in ["a", "b"] {
        let patient = json!({"resourceType": "Patient", "identifier": [{"value": id}]});
        world.put(&format!("/Patient/{id}"), &patient).await;
    }
}

async fn call(world: &World, method: &str, path: &str, body: Option<&Value>) -> Answer {
    let call = world.call(method, path).basic("partner", SECRET).header("prefer", "respond-async");
    match body {
        Some(body) => call.fhir(body).send().await,
        None => call.send().await,
    }
}

/// The status of each entry of a batch.
async fn batch(world: &World, entries: &[(&str, String)]) -> Vec<String> {
    let patient = json!({"resourceType": "Patient"});
    let entries: Vec<Value> = entries
        .iter()
        .map(|(method, url)| {
            let request = json!({"method": method, "url": url});
            if *method == "GET" {
                json!({"request": request})
            } else {
                json!({"request": request, "resource": patient})
            }
        })
        .collect();
    let bundle = json!({"resourceType": "Bundle", "type": "batch", "entry": entries});
    let answer = call(world, "POST", "/fhir", Some(&bundle)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let entries = answer.body["entry"].as_array().unwrap();
    entries.iter().map(|entry| entry["response"]["status"].as_str().unwrap().to_owned()).collect()
}

async fn patients(world: &World) -> u64 {
    world.get("/fhir/Patient?_summary=count").by_root().send().await.body["total"].as_u64().unwrap()
}

#[tokio::test]
async fn a_parameter_of_the_callers_own_is_never_the_record_of_the_route() {
    on_every_engine(async |world| {
        let patient = json!({"resourceType": "Patient"});
        for (engine, policy) in of_the_record() {
            with_policy(world, &policy).await;
            assert_eq!(call(world, "GET", "/fhir/Patient/a", None).await.status, 200, "{engine}");
            for claim in CLAIMS {
                for (method, path, body) in [
                    ("GET", format!("/fhir/Patient?{claim}"), None),
                    ("GET", format!("/Patient?{claim}"), None),
                    ("GET", format!("/fhir/Patient/b?{claim}"), None),
                    ("GET", format!("/fhir/Patient/_history?{claim}"), None),
                    ("GET", format!("/fhir/Patient/b/_history?{claim}"), None),
                    ("GET", format!("/fhir/Patient/b/_history/1?{claim}"), None),
                    ("GET", format!("/fhir/_history?{claim}"), None),
                    ("POST", format!("/fhir/Patient?{claim}"), Some(&patient)),
                    ("POST", format!("/Patient?{claim}"), Some(&patient)),
                    ("PUT", format!("/fhir/Patient/b?{claim}"), Some(&patient)),
                    ("PATCH", format!("/fhir/Patient/b?{claim}"), Some(&patient)),
                    ("DELETE", format!("/fhir/Patient/b?{claim}"), None),
                ] {
                    let answer = call(world, method, &path, body).await;
                    assert_eq!(answer.status, 403, "{engine}: {method} {path} {answer:?}");
                }
                // A condition that names it is refused before anything is decided.
                for (method, body) in [("PUT", Some(&patient)), ("PATCH", Some(&patient)), ("DELETE", None)] {
                    let path = format!("/fhir/Patient?identifier=b&{claim}");
                    let answer = call(world, method, &path, body).await;
                    assert!(answer.status.is_client_error(), "{engine}: {method} {path} {answer:?}");
                }
                let entries = [
                    ("GET", format!("Patient?{claim}")),
                    ("GET", format!("Patient/_history?{claim}")),
                    ("POST", format!("Patient?{claim}")),
                ];
                for status in batch(world, &entries).await {
                    assert!(status.starts_with('4'), "{engine}: {claim} {status}");
                }
            }
            let form = world.post("/fhir/Patient/_search").basic("partner", SECRET).form(&[("resource/id", "a")]);
            assert_eq!(form.send().await.status, 403, "{engine}");
            let mixed = world.post("/fhir/Patient/_search?resource%2Fid=a").basic("partner", SECRET);
            assert_eq!(mixed.form(&[("resource/id", "a")]).send().await.status, 403, "{engine}");
            assert_eq!(patients(world).await, 2, "{engine}: nothing was made");
        }
    })
    .await;
}

#[tokio::test]
async fn a_transaction_is_refused_whose_entry_names_a_record_in_its_query() {
    on_every_engine(async |world| {
        for (engine, policy) in of_the_record() {
            with_policy(world, &policy).await;
            for (method, url) in [("GET", "Patient?resource%2Fid=a"), ("POST", "Patient?resource%2Fid=a")] {
                let mut entry = json!({"request": {"method": method, "url": url}});
                if method == "POST" {
                    entry["resource"] = json!({"resourceType": "Patient"});
                }
                let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": [entry]});
                let answer = call(world, "POST", "/fhir", Some(&bundle)).await;
                assert!(answer.status.is_client_error(), "{engine}: {method} {answer:?}");
                let answer = call(world, "POST", "/", Some(&bundle)).await;
                assert!(answer.status.is_client_error(), "{engine}: {method} {answer:?}");
            }
            assert_eq!(patients(world).await, 2, "{engine}: nothing was made");
        }
    })
    .await;
}

#[tokio::test]
async fn an_operation_has_the_type_it_touches_and_no_record_whatever_its_query_says() {
    on_every_engine(async |world| {
        let parameters = json!({"resourceType": "Parameters"});
        let paths = |claim: &str| ["/fhir/$export", "/fhir/Patient/$export"].map(|path| format!("{path}?{claim}"));
        for (engine, policy) in of_the_record() {
            with_policy(world, &policy).await;
            for path in CLAIMS.iter().flat_map(|claim| paths(claim)) {
                let answer = call(world, "POST", &path, Some(&parameters)).await;
                assert_eq!(answer.status, 403, "{engine}: {path} {answer:?}");
            }
        }
        let no_type = json!({"engine": "matcho", "matcho": {"params": {"resource/type": "Nothing"}}});
        with_policy(world, &no_type).await;
        for path in paths("resource%2Ftype=Nothing") {
            assert_eq!(call(world, "POST", &path, Some(&parameters)).await.status, 403, "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn neither_type_nor_operation_nor_caller_is_what_a_parameter_or_a_header_says() {
    on_every_engine(async |world| {
        world.put("/Observation/o", &json!({"resourceType": "Observation"})).await;
        let query = "resource%2Ftype=Patient&operation=FhirRead&operation.id=FhirRead&id=FhirRead&client.id=other\
            &remote-addr=10.0.0.1&request-method=get&uri=/fhir/Patient/a&role=admin&user.id=root&jwt.sub=root";
        let own = |name: &str, value: Value| json!({"engine": "matcho", "matcho": {name: value}});
        let schema = |name: &str, value: Value| {
            json!({"engine": "json-schema", "schema": {
            "required": [name], "properties": {name: value}}})
        };
        for policy in [
            own("params", json!({"resource/type": "Patient"})),
            own("operation", json!({"id": "FhirRead"})),
            own("client", json!({"id": "other"})),
            own("remote-addr", json!("10.0.0.1")),
            own("role", json!("present?")),
            own("user", json!({"id": "root"})),
            own("jwt", json!({"sub": "present?"})),
            own("uri", json!("/fhir/Patient/a")),
            schema("operation", json!({"properties": {"id": {"const": "FhirRead"}}})),
            schema("params", json!({"properties": {"resource/type": {"const": "Patient"}}})),
            schema("user", json!({})),
            json!({"engine": "sql", "sql": {"query": "SELECT {{params.resource/type}} = 'Patient'"}}),
            json!({"engine": "sql", "sql": {"query": "SELECT {{operation.id}} = 'FhirRead'"}}),
            json!({"engine": "sql", "sql": {"query": "SELECT count(*) >= 0 FROM {{!operation}}"}}),
        ] {
            world.client_with_policy("partner", &policy).await;
            let get = world.get(&format!("/fhir/Observation?{query}")).basic("partner", SECRET);
            let get = get.header("operation", "FhirRead").header("x-forwarded-for", "10.0.0.1").header("role", "admin");
            let answer = get.send().await;
            assert_eq!(answer.status, 403, "{policy}: {answer:?}");
        }
        // A policy of engine allow for an operation is for that operation.
        let allow = json!({"engine": "allow", "link": [{"resourceType": "Operation", "id": "FhirRead"}]});
        world.put("/AccessPolicy/partner", &allow).await;
        let list = world.get(&format!("/fhir/Observation?{query}")).basic("partner", SECRET).send().await;
        assert_eq!(list.status, 403, "{list:?}");
        let read = world.get("/fhir/Observation/o?operation=FhirSearch").basic("partner", SECRET).send().await;
        assert_eq!(read.status, 200, "{read:?}");
    })
    .await;
}

#[tokio::test]
async fn a_header_that_is_sent_twice_is_not_the_one_a_policy_wants() {
    let world = World::new().await;
    let policy = json!({"engine": "matcho", "matcho": {"headers": {"x-network": "inside"}}});
    with_policy(&world, &policy).await;
    let get = |values: &[&str]| {
        let call = world.get("/fhir/Patient/a").basic("partner", SECRET);
        values.iter().fold(call, |call, value| call.header("x-network", value)).send()
    };
    assert_eq!(get(&["inside"]).await.status, 200);
    for values in [&["inside", "outside"][..], &["outside", "inside"], &["outside"]] {
        assert_eq!(get(values).await.status, 403, "{values:?}");
    }
    world.end().await;
}
