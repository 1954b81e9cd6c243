//! Whether a resource exists is not told to who does not reach it, by whatever answer of a write.

use serde_json::{Value, json};

use crate::world::{Answer, BASE, World, on_every_engine};

/// An Observation of the patient `me`, of another patient, and an id that is free.
const IDS: [&str; 3] = ["own", "foreign", "unknown"];

fn observation(patient: &str) -> Value {
    json!({"resourceType": "Observation", "status": "final", "code": {"text": "t"},
        "subject": {"reference": format!("Patient/{patient}")}})
}

async fn scene(world: &World) -> String {
    world.app().await;
    for id in ["me", "you"] {
        world.put(&format!("/fhir/Patient/{id}"), &json!({"resourceType": "Patient"})).await;
    }
    world.put("/fhir/Observation/own", &observation("me")).await;
    world.put("/fhir/Observation/foreign", &observation("you")).await;
    world.put("/fhir/Observation/deleted", &observation("you")).await;
    assert_eq!(world.call("DELETE", "/fhir/Observation/deleted").by_root().send().await.status, 200);
    world.mint(Some("ada"), Some("me"), "patient/*.cruds")
}

/// An answer with the ids that it names, and what differs between any two requests, in the words of one id.
fn told(answer: &Answer, ids: &[&str]) -> String {
    let mut headers: Vec<String> =
        answer.headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    // A length is that of the id in the text.
    headers.retain(|line| !["x-request-id", "etag", "content-length"].iter().any(|name| line.starts_with(name)));
    let location = answer.header("location").to_owned();
    let made = location.strip_prefix(&format!("{BASE}/fhir/Observation/")).and_then(|rest| rest.split('/').next());
    let version = answer.body["meta"]["versionId"].as_str().unwrap_or("~");
    let mut text = format!("{} {headers:?} {}", answer.status, answer.text);
    for id in made.iter().chain(ids) {
        text = text.replace(&format!("Observation/{id}"), "Observation/…").replace(&format!("\"{id}\""), "\"…\"");
    }
    let text = text.replace(&format!("_history/{version}"), "_history/…");
    text.replace(&format!("\"versionId\":\"{version}\""), "\"versionId\":\"…\"").replace(BASE, "")
}

#[tokio::test]
async fn a_create_with_the_id_of_anothers_resource_is_answered_as_any_other() {
    on_every_engine(async |world| {
        let token = scene(world).await;
        let create = async |id: &str, patient: &str| {
            let mut body = observation(patient);
            body["id"] = id.into();
            world.post("/fhir/Observation").bearer(&token).fhir(&body).send().await
        };
        let mut answers = Vec::new();
        for id in IDS.iter().chain(&["deleted"]) {
            let answer = create(id, "me").await;
            assert_eq!(answer.status, 201, "{id}: {answer:?}");
            let made = answer.body["id"].as_str().unwrap();
            assert!(!IDS.contains(&made) && made != "deleted", "the id is the server's: {answer:?}");
            answers.push(told(&answer, &[made, id]));
        }
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
        let mut refused = Vec::new();
        for id in IDS.iter().chain(&["deleted"]) {
            let answer = create(id, "you").await;
            assert_eq!(answer.outcome(), (403, "forbidden"), "{id}: {answer:?}");
            refused.push(told(&answer, &[id]));
        }
        assert!(refused.iter().all(|answer| *answer == refused[0]), "{refused:#?}");
        let foreign = world.get("/fhir/Observation/foreign").by_root().send().await;
        assert_eq!(foreign.body["subject"]["reference"], "Patient/you");
    })
    .await;
}

#[tokio::test]
async fn an_update_that_would_create_is_answered_as_one_of_anothers_resource() {
    on_every_engine(async |world| {
        let token = scene(world).await;
        let hidden = ["foreign", "unknown", "deleted"];
        let puts: [(&str, Option<&str>); 3] =
            [("Observation", None), ("Observation", Some("W/\"1\"")), ("Patient", None)];
        for (kind, if_match) in puts {
            let mut answers = Vec::new();
            for id in hidden {
                let id = if kind == "Patient" && id == "foreign" { "you" } else { id };
                let mut body = if kind == "Patient" { json!({"resourceType": kind}) } else { observation("me") };
                body["id"] = id.into();
                let call = world.call("PUT", &format!("/fhir/{kind}/{id}")).bearer(&token).fhir(&body);
                let call = if let Some(tag) = if_match { call.header("if-match", tag) } else { call };
                let answer = call.send().await;
                assert_eq!(answer.status, if if_match.is_some() { 412 } else { 404 }, "{kind}/{id}: {answer:?}");
                answers.push(told(&answer, &[id]).replace(&format!("{kind}/{id}"), "…"));
            }
            assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
        }
        let mut own = observation("me");
        own["id"] = "own".into();
        let updated = world.call("PUT", "/fhir/Observation/own").bearer(&token).fhir(&own).send().await;
        assert_eq!(updated.status, 200, "one's own is updated: {updated:?}");
    })
    .await;
}

#[tokio::test]
async fn a_bundle_and_a_condition_tell_no_more_than_a_request() {
    on_every_engine(async |world| {
        let token = scene(world).await;
        for kind in ["batch", "transaction"] {
            for (method, status) in [("POST", "201"), ("PUT", "404")] {
                let mut answers = Vec::new();
                for id in ["foreign", "unknown", "deleted"] {
                    let mut resource = observation("me");
                    resource["id"] = id.into();
                    let url = if method == "POST" { "Observation".to_owned() } else { format!("Observation/{id}") };
                    let entry = json!({"request": {"method": method, "url": url}, "resource": resource});
                    let bundle = json!({"resourceType": "Bundle", "type": kind, "entry": [entry]});
                    let answer = world.post("/fhir").bearer(&token).fhir(&bundle).send().await;
                    let made = answer.body["entry"][0]["resource"]["id"].as_str().unwrap_or(id).to_owned();
                    let response = answer.body["entry"][0]["response"]["status"].as_str().map(str::to_owned);
                    assert_eq!(response.unwrap_or_else(|| answer.status.as_str().to_owned()), status, "{answer:?}");
                    assert!(method == "PUT" || made != id, "the id is the server's: {answer:?}");
                    let version = answer.body["entry"][0]["resource"]["meta"]["versionId"].as_str().unwrap_or("~");
                    let text =
                        answer.text.replace(&format!("_history/{version}"), "").replace(&format!("\"{version}\""), "");
                    answers
                        .push(text.replace(&format!("W/\\\"{version}\\\""), "").replace(&made, "…").replace(id, "…"));
                }
                assert!(answers.iter().all(|answer| *answer == answers[0]), "{kind} {method} {answers:#?}");
            }
        }
        let mut answers = Vec::new();
        for id in ["foreign", "unknown", "deleted"] {
            let mut body = observation("me");
            body["id"] = id.into();
            let path = "/fhir/Observation?identifier=http://none.example%7Cnone";
            let answer = world.call("PUT", path).bearer(&token).fhir(&body).send().await;
            assert_eq!(answer.outcome(), (404, "not-found"), "{id}: {answer:?}");
            answers.push(told(&answer, &[id]));
        }
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
        let path = "/fhir/Observation?identifier=http://none.example%7Cnone";
        let made = world.call("PUT", path).bearer(&token).fhir(&observation("me")).send().await;
        assert_eq!(made.status, 201, "without an id of its own it is created: {made:?}");
    })
    .await;
}

#[tokio::test]
async fn who_reaches_everything_still_names_what_it_creates() {
    on_every_engine(async |world| {
        scene(world).await;
        let mut named = observation("me");
        named["id"] = "named".into();
        let posted = world.post("/fhir/Observation").by_root().fhir(&named).send().await;
        assert_eq!((posted.status.as_u16(), &posted.body["id"]), (201, &json!("named")));
        assert_eq!(world.post("/fhir/Observation").by_root().fhir(&named).send().await.status, 409);
        named["id"] = "put".into();
        let put = world.call("PUT", "/fhir/Observation/put").by_root().fhir(&named).send().await;
        assert_eq!(put.status, 201);
        let system = world.mint(None, None, "system/Observation.cruds");
        named["id"] = "loaded".into();
        let loaded = world.post("/fhir/Observation").bearer(&system).fhir(&named).send().await;
        assert_eq!((loaded.status.as_u16(), &loaded.body["id"]), (201, &json!("loaded")), "{loaded:?}");
    })
    .await;
}
