//! Conditional writes at the FHIR endpoint: by search parameters, to the letter, within what the caller reaches.

use serde_json::{Value, json};

use crate::world::{World, on_every_engine};

fn observation(id: &str, patient: &str, code: &str) -> Value {
    json!({
        "resourceType": "Observation", "id": id, "status": "final",
        "identifier": [{"system": "http://lab.example", "value": format!("{id}|{patient}")}],
        "code": {"coding": [{"system": "http://loinc.org", "code": code}]},
        "subject": {"reference": format!("Patient/{patient}")},
    })
}

/// Of the patients `me` and `you`: codes that one has, that both have, and that one has twice.
async fn ward(world: &World) {
    for id in ["me", "you"] {
        let body = json!({"resourceType": "Patient", "name": [{"family": id}]});
        world.put(&format!("/Patient/{id}"), &body).await;
    }
    for (id, patient, code) in [
        ("mine", "me", "mine"),
        ("both-me", "me", "both"),
        ("both-you", "you", "both"),
        ("one", "me", "twice"),
        ("two", "me", "twice"),
    ] {
        world.put(&format!("/Observation/{id}"), &observation(id, patient, code)).await;
    }
}

async fn codes(world: &World) -> Vec<String> {
    let answer = world.get("/fhir/Observation?_count=100").by_root().send().await;
    let entries = answer.body["entry"].as_array().unwrap().iter();
    entries
        .map(|entry| format!("{} {}", entry["resource"]["id"].as_str().unwrap(), entry["resource"]["status"]))
        .collect()
}

/// A conditional write of an Observation, by the administrator where there is no token; its status.
async fn conditional(world: &World, method: &str, criteria: &str, token: Option<&str>) -> u16 {
    let path = if method == "POST" { "/fhir/Observation".to_owned() } else { format!("/fhir/Observation?{criteria}") };
    let call = world.call(method, &path);
    let call = if method == "POST" { call.header("if-none-exist", criteria) } else { call };
    let call = match token {
        Some(token) => call.bearer(token),
        None => call.by_root(),
    };
    let call = match body(method) {
        Some(body) => call.fhir(&body),
        None => call,
    };
    let answer = call.send().await;
    if answer.status.is_client_error() { answer.outcome().0 } else { answer.status.as_u16() }
}

/// The same as the one entry of a Bundle.
async fn entry(world: &World, kind: &str, method: &str, criteria: &str) -> u16 {
    let mut entry = if method == "POST" {
        json!({"request": {"method": method, "url": "Observation", "ifNoneExist": criteria}})
    } else {
        json!({"request": {"method": method, "url": format!("Observation?{criteria}")}})
    };
    if let Some(body) = body(method) {
        entry["resource"] = body;
    }
    let bundle = json!({"resourceType": "Bundle", "type": kind, "entry": [entry]});
    let answer = world.post("/fhir").by_root().fhir(&bundle).send().await;
    match answer.body["entry"][0]["response"]["status"].as_str() {
        Some(status) => status.parse().unwrap(),
        None => answer.outcome().0,
    }
}

fn body(method: &str) -> Option<Value> {
    let mut made = observation("made", "me", "made");
    match method {
        "POST" => Some(made),
        "PUT" => {
            made.as_object_mut().unwrap().shift_remove("id");
            Some(made)
        }
        "PATCH" => Some(json!({"status": "amended"})),
        _ => None,
    }
}

const METHODS: [&str; 4] = ["POST", "PUT", "PATCH", "DELETE"];

#[tokio::test]
async fn criteria_that_find_none_one_and_many_are_told_apart_in_every_way_to_send_them() {
    on_every_engine(async |world| {
        for way in ["alone", "batch", "transaction"] {
            ward(world).await;
            let sent = async |method: &str, criteria: &str| match way {
                "alone" => conditional(world, method, criteria, None).await,
                kind => entry(world, kind, method, criteria).await,
            };
            let before = codes(world).await;
            for method in METHODS {
                assert_eq!(sent(method, "code=http://loinc.org%7Ctwice").await, 412, "{way} {method}: several match");
            }
            assert_eq!(sent("POST", "code=mine&subject=Patient/me").await, 200, "{way}: there is one");
            assert_eq!(sent("PATCH", "code=none").await, 404, "{way}: none to patch");
            assert_eq!(sent("DELETE", "subject:Patient.family=nobody").await, 204, "{way}: none to delete");
            assert_eq!(codes(world).await, before, "{way}: nothing was written");

            let one = "identifier=http://lab.example%7Cmine%5C%7Cme&subject:Patient.family=me";
            assert_eq!(sent("PATCH", one).await, 200, "{way}");
            assert!(codes(world).await.contains(&"mine \"amended\"".to_owned()), "{way}");
            assert_eq!(sent("POST", "code=made").await, 201, "{way}");
            assert_eq!(sent("DELETE", "code=made").await, 200, "{way}");
            assert_eq!(sent("DELETE", one).await, 200, "{way}");
            assert!(!codes(world).await.iter().any(|told| told.starts_with("mine ")), "{way}");
            assert_eq!(sent("PUT", "code=made").await, 201, "{way}: it is made where there is none");
            assert_eq!(sent("DELETE", "code=made").await, 200, "{way}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_criterion_that_is_not_understood_refuses_the_write_and_is_never_passed_over() {
    on_every_engine(async |world| {
        ward(world).await;
        let before = codes(world).await;
        for criteria in [
            "code=mine&unheard=of",
            "code=mine&status=",
            "code=mine&status:exact=final",
            "code=mine&_count=1",
            "code=mine&_sort=date",
            "code=mine&_include=Observation:subject",
            "code=mine&_summary=true",
            "code=mine&_cursor=5b5d",
            "code=mine&date=yesterday",
            "code=mine&code:in=http://example.org/vs",
            "code=mine&_has:Patient:unheard:name=x",
            "unheard=of",
            "_format=json",
            "code",
            "",
        ] {
            for method in METHODS {
                assert_eq!(conditional(world, method, criteria, None).await, 400, "{method} {criteria}");
                for kind in ["batch", "transaction"] {
                    assert_eq!(entry(world, kind, method, criteria).await, 400, "{kind} {method} {criteria}");
                }
            }
        }
        let lenient = world.call("DELETE", "/fhir/Observation?code=mine&unheard=of").by_root();
        assert_eq!(lenient.header("prefer", "handling=lenient").send().await.outcome().0, 400);
        assert_eq!(codes(world).await, before);
    })
    .await;
}

#[tokio::test]
async fn criteria_find_what_the_caller_reaches_and_tell_of_nothing_else() {
    on_every_engine(async |world| {
        world.app().await;
        ward(world).await;
        let mint = |scope: &str| world.mint(Some("ada"), Some("me"), scope);
        let all = mint("patient/*.cruds");
        let observations = mint("patient/Observation.cruds");
        assert_eq!(conditional(world, "POST", "code=both", Some(&all)).await, 200, "of two it reaches one");
        assert_eq!(conditional(world, "PATCH", "code=both", Some(&observations)).await, 200);
        assert_eq!(conditional(world, "DELETE", "subject:Patient.family=you", Some(&all)).await, 204);
        for method in METHODS {
            let status = conditional(world, method, "subject:Patient.family=me", Some(&observations)).await;
            assert_eq!(status, 403, "{method}: no scope opens what the chain looks at");
        }
        let narrow = mint("patient/Observation.d patient/Observation.rs?code=both");
        assert_eq!(
            conditional(world, "DELETE", "status=final,amended", Some(&narrow)).await,
            200,
            "by scope there is one"
        );
        assert_eq!(codes(world).await, ["both-you \"final\"", "mine \"final\"", "one \"final\"", "two \"final\""]);
    })
    .await;
}

#[tokio::test]
async fn entries_of_a_bundle_search_as_requests_of_their_own_do() {
    on_every_engine(async |world| {
        ward(world).await;
        let urls = [
            "Observation?code=http://loinc.org%7Ctwice&_sort=-_id&_include=Observation:subject",
            "Patient?_has:Observation:patient:code=mine",
            "Observation?subject:Patient.family=you&_summary=count",
            "Patient?unheard=of&_total=accurate",
            "AuditEvent?_id=none",
        ];
        for kind in ["batch", "transaction"] {
            let entries = urls.map(|url| json!({"request": {"method": "GET", "url": url}}));
            let bundle = json!({"resourceType": "Bundle", "type": kind, "entry": entries});
            let answer = world.post("/fhir").by_root().fhir(&bundle).send().await;
            for (entry, url) in answer.body["entry"].as_array().unwrap().iter().zip(urls) {
                let alone = world.get(&format!("/fhir/{url}")).by_root().send().await;
                assert_eq!((&entry["response"]["status"], &entry["resource"]), (&json!("200"), &alone.body), "{url}");
            }
        }
        let write =
            json!({"request": {"method": "PUT", "url": "Patient/new"}, "resource": {"resourceType": "Patient"}});
        let strict = [write, json!({"request": {"method": "GET", "url": "Patient?unheard=of"}})];
        let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": strict});
        let answer = world.post("/fhir").by_root().header("prefer", "handling=strict").fhir(&bundle).send().await;
        assert_eq!(answer.outcome().0, 400, "{answer:?}");
        assert_eq!(world.get("/fhir/Patient/new").by_root().send().await.status, 404, "nothing is written then");
    })
    .await;
}
