//! Searches at the FHIR endpoint: what is found, what is said about it, and by whom.

use serde_json::{Value, json};

use crate::world::{Answer, BASE, World, on_every_engine};

/// Two patients, a practitioner of one, and Observations of both.
async fn ward(world: &World) {
    world.app().await;
    for (id, family, doctor) in [("me", "Muster", Some("d")), ("you", "Other", None)] {
        let mut body = json!({"resourceType": "Patient", "active": true, "name": [{"family": family}]});
        if let Some(doctor) = doctor {
            body["generalPractitioner"] = json!([{"reference": format!("Practitioner/{doctor}")}]);
        }
        world.put(&format!("/Patient/{id}"), &body).await;
    }
    world.put("/Practitioner/d", &json!({"name": [{"family": "Doctor"}]})).await;
    for (id, patient, code, date) in [
        ("o1", "me", "8480-6", "2025-01-01"),
        ("o2", "me", "8462-4", "2025-03-01"),
        ("o3", "you", "8480-6", "2025-02-01"),
    ] {
        let body = json!({
            "status": "final", "subject": {"reference": format!("Patient/{patient}")},
            "code": {"coding": [{"system": "http://loinc.org", "code": code}]}, "effectiveDateTime": date,
            "note": [{"text": "n"}],
        });
        world.put(&format!("/Observation/{id}"), &body).await;
    }
}

async fn found(world: &World, query: &str) -> Answer {
    let answer = world.get(&format!("/fhir/{query}")).by_root().send().await;
    assert_eq!(answer.status, 200, "{query}: {answer:?}");
    answer
}

/// The resources of an answer with their modes: `o1`, `+me` for what came with them.
fn shown(answer: &Answer) -> Vec<String> {
    let entries = answer.body["entry"].as_array().unwrap();
    let shown = entries.iter().map(|entry| {
        let id = entry["resource"]["id"].as_str().unwrap_or_default();
        match entry["search"]["mode"].as_str().unwrap() {
            "match" => id.to_owned(),
            "include" => format!("+{id}"),
            mode => mode.to_owned(),
        }
    });
    shown.collect()
}

fn link<'a>(answer: &'a Answer, relation: &str) -> Option<&'a str> {
    let links = answer.body["link"].as_array().unwrap();
    links.iter().find(|link| link["relation"] == relation)?["url"].as_str()
}

#[tokio::test]
async fn search_parameters_decide_what_is_found() {
    on_every_engine(async |world| {
        ward(world).await;
        for (query, ids) in [
            ("Observation?code=8480-6", &["o1", "o3"] as &[&str]),
            ("Observation?code=http://loinc.org|8480-6&subject=Patient/me", &["o1"]),
            ("Observation?date=ge2025-02&_sort=-date", &["o2", "o3"]),
            ("Observation?subject:Patient.name=must", &["o1", "o2"]),
            ("Observation?subject:Patient.general-practitioner.name=doc&code:not=8480-6", &["o2"]),
            ("Patient?_has:Observation:patient:code=8462-4", &["me"]),
            ("Patient?family=MUST", &["me"]),
            ("Patient?general-practitioner:missing=true", &["you"]),
            ("Observation?patient=me&_include=Observation:subject", &["o1", "o2", "+me"]),
            (
                "Observation?_id=o1&_include=Observation:patient&_include:iterate=Patient:general-practitioner",
                &["o1", "+me", "+d"],
            ),
            ("Patient?_id=you&_revinclude=Observation:patient", &["you", "+o3"]),
            ("Patient?.name.family=Other", &["you"]),
            ("Patient?family=none", &[]),
        ] {
            assert_eq!(shown(&found(world, query).await), ids, "{query}");
        }
    })
    .await;
}

#[tokio::test]
async fn links_lead_through_all_matches_and_say_what_was_understood() {
    on_every_engine(async |world| {
        ward(world).await;
        let mut address = "Observation?_sort=-date&_count=1&unheard=of".to_owned();
        let mut ids = Vec::new();
        for _ in 0..3 {
            let page = found(world, &address).await;
            let told = shown(&page);
            assert_eq!(told.len(), if ids.is_empty() { 2 } else { 1 }, "a link asks for what was understood alone");
            ids.push(told[0].clone());
            assert!(!link(&page, "self").unwrap().contains("unheard"), "{page:?}");
            let Some(next) = link(&page, "next") else { break };
            address = next.strip_prefix(BASE).and_then(|path| path.strip_prefix("/fhir/")).unwrap().to_owned();
        }
        assert_eq!(ids, ["o2", "o3", "o1"]);
        let counted = found(world, "Observation?_summary=count").await;
        assert_eq!((&counted.body["total"], counted.body["entry"].as_array().map(Vec::len)), (&json!(3), Some(0)));
        let uncounted = found(world, "Observation?_total=none&_count=1").await;
        assert_eq!(uncounted.body["total"], Value::Null);
    })
    .await;
}

#[tokio::test]
async fn what_is_not_supported_is_told_or_refused_when_strict() {
    on_every_engine(async |world| {
        ward(world).await;
        let told = found(world, "Patient?family=Muster&unheard=of").await;
        assert_eq!(shown(&told), ["me", "outcome"]);
        let outcome = &told.body["entry"][1]["resource"];
        assert_eq!(outcome["resourceType"], "OperationOutcome");
        assert!(outcome["issue"][0]["diagnostics"].as_str().unwrap().contains("unheard"), "{outcome}");
        let strict = world.get("/fhir/Patient?unheard=of").by_root().header("prefer", "handling=strict").send().await;
        assert_eq!(strict.outcome().0, 400);
        for query in [
            "Observation?date=yesterday",
            "Observation?code:exact=x",
            "Observation?_cursor=zz",
            "Observation?.code.x'=1",
        ] {
            let answer = world.get(&format!("/fhir/{query}")).by_root().send().await;
            assert_eq!(answer.outcome().0, 400, "{query}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_form_asks_what_an_address_asks() {
    on_every_engine(async |world| {
        ward(world).await;
        let call = world.call("POST", "/fhir/Observation/_search?subject=Patient/me").by_root();
        let answer = call.form(&[("code", "8480-6")]).send().await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(shown(&answer), ["o1"]);
        let by_address = world.call("POST", "/fhir/Observation/_search?code=8462-4").by_root().send().await;
        assert_eq!(shown(&by_address), ["o2"]);
        let json = world.call("POST", "/fhir/Observation").by_root().form(&[("code", "x")]).send().await;
        assert_eq!(json.status, 415);
    })
    .await;
}

#[tokio::test]
async fn elements_are_chosen_and_what_is_left_out_is_marked() {
    on_every_engine(async |world| {
        ward(world).await;
        let answer = found(world, "Observation?_id=o1&_elements=status,effective").await;
        let resource = &answer.body["entry"][0]["resource"];
        assert_eq!((&resource["status"], &resource["effectiveDateTime"]), (&json!("final"), &json!("2025-01-01")));
        assert_eq!((&resource["note"], &resource["meta"]["tag"][0]["code"]), (&Value::Null, &json!("SUBSETTED")));
    })
    .await;
}

#[tokio::test]
async fn a_summary_shows_as_much_as_it_says_wherever_a_resource_is_shown() {
    on_every_engine(async |world| {
        ward(world).await;
        let text = json!({"status": "generated", "div": "<div xmlns=\"http://www.w3.org/1999/xhtml\">n</div>"});
        let body = json!({"resourceType": "Observation", "text": text, "status": "final", "code": {"text": "c"},
            "subject": {"reference": "Patient/me"}, "note": [{"text": "n"}], "valueString": "v"});
        let written = world.put("/Observation/told", &body).await;
        let version = written.body["meta"]["versionId"].as_str().unwrap();
        for (query, shows, lacks) in [
            ("_summary=true", &["status", "code", "subject", "valueString"] as &[&str], &["text", "note"] as &[&str]),
            ("_summary=text", &["text", "status", "code"], &["subject", "note", "valueString"]),
            ("_summary=data", &["status", "code", "note", "valueString"], &["text"]),
            ("_elements=note", &["status", "code", "note"], &["text", "subject", "valueString"]),
            ("_summary=false", &["text", "status", "code", "subject", "note", "valueString"], &[]),
        ] {
            let read = found(world, &format!("Observation/told?{query}")).await.body;
            let shown = [
                found(world, &format!("Observation?_id=told&{query}")).await.body["entry"][0]["resource"].clone(),
                found(world, &format!("Observation/told/_history/{version}?{query}")).await.body,
                found(world, &format!("Patient/me/$everything?_type=Observation&{query}")).await.body["entry"][2]["resource"].clone(),
            ];
            for other in shown {
                assert_eq!(other, read, "{query}");
            }
            assert!(shows.iter().all(|name| !read[name].is_null()), "{query}: {read}");
            assert!(lacks.iter().all(|name| read[name].is_null()), "{query}: {read}");
            assert_eq!(read["meta"]["tag"][0]["code"] == "SUBSETTED", !lacks.is_empty(), "{query}: {read}");
        }
        for path in ["Observation/told?_summary=some", "Observation?_summary=some", "Observation/told?_elements=a.b"] {
            assert_eq!(world.get(&format!("/fhir/{path}")).by_root().send().await.outcome().0, 400, "{path}");
        }
        let kept = world.get("/fhir/Observation/told").by_root().send().await.body;
        assert_eq!((&kept["note"], &kept["meta"]["tag"]), (&body["note"], &Value::Null), "it is a view, and changes nothing");
    })
    .await;
}

#[tokio::test]
async fn chains_and_includes_show_no_more_than_the_caller_may_search() {
    on_every_engine(async |world| {
        ward(world).await;
        let get = async |token: &str, query: &str| world.get(&format!("/fhir/{query}")).bearer(token).send().await;
        let everything = world.mint(Some("ada"), Some("me"), "patient/*.rs");
        let own =
            get(&everything, "Observation?_sort=date&_include=Observation:subject&_revinclude=Observation:focus").await;
        assert_eq!(shown(&own), ["o1", "o2", "+me"]);
        assert_eq!(own.body["total"], 2);
        let chained = get(&everything, "Observation?subject:Patient.name=Other").await;
        assert!(shown(&chained).is_empty(), "{chained:?}");

        let observations = world.mint(Some("ada"), Some("me"), "patient/Observation.rs");
        let without = get(&observations, "Observation?_id=o1&_include=Observation:subject").await;
        assert_eq!(shown(&without), ["o1"], "no scope opens the Patient");
        let refused = get(&observations, "Observation?subject:Patient.name=Muster").await;
        assert_eq!(refused.outcome().0, 403);
        let reverse = get(
            &world.mint(Some("ada"), Some("me"), "patient/Patient.rs"),
            "Patient?_has:Observation:patient:code=8480-6",
        )
        .await;
        assert_eq!(reverse.outcome().0, 403);
    })
    .await;
}
