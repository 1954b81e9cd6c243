//! Histories and versions, and reads that ask for what is new.

use serde_json::{Value, json};

use crate::world::{BASE, World, on_every_engine};

/// What each entry of a history is: its method, its address and what it shows of `name` or `status`.
fn told(bundle: &Value) -> Vec<(String, String, Value)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let entries = bundle["entry"].as_array().unwrap().iter();
    entries
        .map(|entry| {
            let resource = &entry["resource"];
            let shown = resource.get("name").or(resource.get("status")).cloned().unwrap_or_default();
            (text(&entry["request"]["method"]), text(&entry["request"]["url"]), shown)
        })
        .collect()
}

fn link<'a>(bundle: &'a Value, relation: &str) -> Option<&'a str> {
    let mut links = bundle["link"].as_array().unwrap().iter();
    links.find(|link| link["relation"] == relation)?["url"].as_str()?.strip_prefix(BASE)
}

async fn organization(world: &World) -> Vec<String> {
    let mut versions = Vec::new();
    for name in ["A", "B"] {
        world.wait_s(1);
        let answer = world.put("/fhir/Organization/o", &json!({"resourceType": "Organization", "name": name})).await;
        versions.push(answer.body["meta"]["versionId"].as_str().unwrap().to_owned());
    }
    world.wait_s(1);
    assert_eq!(world.call("DELETE", "/fhir/Organization/o").by_root().send().await.status, 200);
    world.wait_s(1);
    let answer = world.put("/fhir/Organization/o", &json!({"resourceType": "Organization", "name": "C"})).await;
    versions.push(answer.body["meta"]["versionId"].as_str().unwrap().to_owned());
    versions
}

#[tokio::test]
async fn a_history_tells_every_version_newest_first_and_deletions_without_content() {
    on_every_engine(async |world| {
        let versions = organization(world).await;
        let answer = world.get("/fhir/Organization/o/_history").by_root().send().await;
        assert_eq!((answer.status.as_u16(), &answer.body["type"]), (200, &json!("history")), "{answer:?}");
        let entry = |method: &str, url: &str, shown: Value| (method.to_owned(), url.to_owned(), shown);
        let expected = [
            entry("POST", "Organization", "C".into()),
            entry("DELETE", "Organization/o", Value::Null),
            entry("PUT", "Organization/o", "B".into()),
            entry("POST", "Organization", "A".into()),
        ];
        assert_eq!(told(&answer.body), expected);
        let newest = &answer.body["entry"][0];
        assert_eq!(newest["fullUrl"], format!("{BASE}/fhir/Organization/o"));
        assert_eq!(newest["response"]["etag"], format!("W/\"{}\"", versions[2]));
        assert_eq!(newest["resource"]["meta"]["versionId"], versions[2]);
        assert_eq!(answer.body["entry"][1].get("resource"), None);

        let of_type = world.get("/fhir/Organization/_history").by_root().send().await;
        assert_eq!(told(&of_type.body), expected);
        let of_system = world.get("/fhir/_history?_count=4").by_root().send().await;
        assert_eq!(told(&of_system.body), expected);
        let native = world.get("/Organization/o/_history").by_root().send().await;
        assert_eq!(native.body["entry"][0]["fullUrl"], format!("{BASE}/Organization/o"));
    })
    .await;
}

#[tokio::test]
async fn each_version_is_read_at_its_address_and_that_of_a_deletion_is_gone() {
    on_every_engine(async |world| {
        let versions = organization(world).await;
        for (version, name) in versions.iter().zip(["A", "B", "C"]) {
            let path = format!("/fhir/Organization/o/_history/{version}");
            let answer = world.get(&path).by_root().send().await;
            assert_eq!((answer.status.as_u16(), &answer.body["name"]), (200, &json!(name)));
            assert_eq!(answer.header("etag"), format!("W/\"{version}\""));
        }
        let history = world.get("/fhir/Organization/o/_history").by_root().send().await.body;
        let deleted =
            history["entry"][1]["response"]["etag"].as_str().unwrap().trim_matches(['W', '/', '"']).to_owned();
        let gone = world.get(&format!("/fhir/Organization/o/_history/{deleted}")).by_root().send().await;
        assert_eq!(gone.outcome(), (410, "deleted"));
        for version in ["0", "999999", "-1", "x", "99999999999999999999"] {
            let missing = world.get(&format!("/fhir/Organization/o/_history/{version}")).by_root().send().await;
            assert_eq!(missing.outcome(), (404, "not-found"), "{version}");
        }
        let never = world.get("/fhir/Organization/never/_history").by_root().send().await;
        assert_eq!(never.outcome(), (404, "not-found"));
    })
    .await;
}

#[tokio::test]
async fn the_pages_of_a_history_hold_each_version_once_whatever_is_written_meanwhile() {
    on_every_engine(async |world| {
        for number in 0..7 {
            world.put(&format!("/Location/l{number}"), &json!({"name": number.to_string()})).await;
        }
        let mut next = Some("/fhir/Location/_history?_count=3".to_owned());
        let mut names = Vec::new();
        while let Some(path) = next {
            let page = world.get(&path).by_root().send().await;
            assert_eq!(page.status, 200, "{page:?}");
            assert_eq!(link(&page.body, "self"), Some(path.as_str()));
            names.extend(told(&page.body).into_iter().map(|(.., name)| name));
            next = link(&page.body, "next").map(str::to_owned);
            world.put("/Location/later", &json!({"name": format!("later {}", names.len())})).await;
        }
        assert_eq!(names, ["6", "5", "4", "3", "2", "1", "0"]);
    })
    .await;
}

#[tokio::test]
async fn a_history_since_a_time_leaves_out_what_was_before() {
    on_every_engine(async |world| {
        organization(world).await;
        let since = async |time: &str| {
            let path = format!("/fhir/Organization/o/_history?_since={time}");
            world.get(&path).by_root().send().await
        };
        assert_eq!(told(&since("2026-01-01T00:00:03Z").await.body).len(), 2);
        assert_eq!(told(&since("2026-01-01T01:00:02%2B01:00").await.body).len(), 3);
        assert_eq!(told(&since("2026-01-01").await.body).len(), 4);
        assert_eq!(told(&since("2027-01-01").await.body).len(), 0);
        assert_eq!(since("tomorrow").await.outcome(), (400, "invalid"));
        for refused in ["_at=2026-01-01", "_cursor=1", "_count=x", "name=A"] {
            let answer = world.get(&format!("/fhir/Organization/_history?{refused}")).by_root().send().await;
            assert_eq!(answer.outcome().0, 400, "{refused}");
        }
    })
    .await;
}

/// A resource that was the patient's, then another's, then was deleted.
#[tokio::test]
async fn a_history_shows_a_patients_app_the_versions_of_its_patient_alone() {
    on_every_engine(async |world| {
        world.app().await;
        let token = world.mint(Some("ada"), Some("me"), "patient/Observation.rs");
        let put = async |id: &str, patient: &str, status: &str| {
            let subject = json!({"reference": format!("Patient/{patient}")});
            let code = json!({"text": "Glucose"});
            let body = json!({"resourceType": "Observation", "code": code, "subject": subject, "status": status});
            world.put(&format!("/fhir/Observation/{id}"), &body).await.body["meta"]["versionId"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        let mine = put("moved", "me", "final").await;
        let yours = put("moved", "you", "amended").await;
        put("other", "you", "registered").await;
        put("kept", "me", "preliminary").await;
        world.call("DELETE", "/fhir/Observation/kept").by_root().send().await;
        let get = async |path: &str| world.get(path).bearer(&token).send().await;

        let statuses = |body: &Value| told(body).into_iter().map(|(.., status)| status).collect::<Vec<_>>();
        assert_eq!(statuses(&get("/fhir/Observation/moved/_history").await.body), ["final"]);
        let all = [Value::Null, "preliminary".into(), "final".into()];
        assert_eq!(statuses(&get("/fhir/Observation/_history").await.body), all);
        assert_eq!(statuses(&get("/fhir/_history").await.body), all, "nothing of what the token has no scope for");
        assert_eq!(get("/fhir/Observation/other/_history").await.outcome(), (404, "not-found"));
        assert_eq!(get("/fhir/Patient/me/_history").await.outcome().0, 403);
        assert_eq!(get(&format!("/fhir/Observation/moved/_history/{mine}")).await.status, 200);
        assert_eq!(get(&format!("/fhir/Observation/moved/_history/{yours}")).await.outcome(), (404, "not-found"));

        let reads = world.mint(Some("ada"), Some("me"), "patient/Observation.r");
        assert_eq!(world.get("/fhir/Observation/moved/_history").bearer(&reads).send().await.status, 200);
        for path in ["/fhir/Observation/_history", "/fhir/_history"] {
            let refused = world.get(path).bearer(&reads).send().await;
            assert_eq!(refused.outcome().0, 403, "{path}");
            assert!(refused.header("www-authenticate").contains("insufficient_scope"), "{refused:?}");
        }
        assert_eq!(world.get("/fhir/_history").send().await.outcome().0, 401);
    })
    .await;
}

#[tokio::test]
async fn no_version_shows_what_nobody_may_see() {
    let world = World::new().await;
    world.put("/Client/c", &json!({"secret": "hush", "grant_types": ["basic"]})).await;
    world.put("/Client/c", &json!({"secret": "hush again", "grant_types": ["basic"]})).await;
    for path in ["/Client/c/_history", "/Client/_history", "/_history", "/fhir/_history"] {
        let answer = world.get(path).by_root().send().await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.body["entry"].as_array().unwrap().len() >= 2);
        assert!(!answer.text.contains("\"secret\""), "{path}: {}", answer.text);
    }
    world.end().await;
}

#[tokio::test]
async fn the_entries_of_a_bundle_read_versions_and_histories() {
    let world = World::new().await;
    let versions = organization(&world).await;
    let get = |url: &str| json!({"request": {"method": "GET", "url": url}});
    let one = format!("Organization/o/_history/{}", versions[0]);
    let head = json!({"request": {"method": "HEAD", "url": "Organization/o"}});
    let entries =
        [get(&one), get("Organization/o/_history?_count=1"), get("Organization/_history"), head, get("a/b/c")];
    let body = json!({"resourceType": "Bundle", "type": "batch", "entry": entries});
    let answer = world.post("/fhir").by_root().fhir(&body).send().await;
    let entry = |index: usize| &answer.body["entry"][index];
    let statuses: Vec<_> = (0..5).map(|index| entry(index)["response"]["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["200", "200", "200", "200", "400"], "{answer:?}");
    assert_eq!(entry(0)["resource"]["name"], "A");
    assert_eq!(told(&entry(1)["resource"]).len(), 1);
    assert_eq!(told(&entry(2)["resource"]).len(), 4);
    world.end().await;
}

#[tokio::test]
async fn a_read_of_what_the_reader_holds_is_304() {
    let world = World::new().await;
    let put = world.put("/fhir/Organization/o", &json!({"resourceType": "Organization", "name": "A"})).await;
    let read =
        async |name: &str, value: &str| world.get("/fhir/Organization/o").by_root().header(name, value).send().await;
    for (name, value) in [
        ("if-none-match", put.header("etag")),
        ("if-none-match", "\"7\", W/\"1\""),
        ("if-modified-since", put.header("last-modified")),
        ("if-modified-since", "Fri, 02 Jan 2026 00:00:00 GMT"),
    ] {
        let held = read(name, value).await;
        assert_eq!(
            (held.status.as_u16(), held.length, held.header("etag")),
            (304, 0, put.header("etag")),
            "{name} {value}"
        );
    }
    for (name, value) in [
        ("if-none-match", "W/\"0\""),
        ("if-modified-since", "Wed, 31 Dec 2025 23:59:59 GMT"),
        ("if-modified-since", "last week"),
    ] {
        assert_eq!(read(name, value).await.status, 200, "{name} {value}");
    }
    let call = world.get("/fhir/Organization/o").by_root().header("if-modified-since", put.header("last-modified"));
    assert_eq!(call.header("if-none-match", "W/\"0\"").send().await.status, 200, "a tag says more than a date");
    world.end().await;
}

#[tokio::test]
async fn a_writer_is_answered_as_it_prefers() {
    let world = World::new().await;
    let body = json!({"resourceType": "Organization", "name": "A"});
    let post = async |prefer: &str| {
        world.post("/fhir/Organization").by_root().header("prefer", prefer).fhir(&body).send().await
    };
    assert_eq!(post("return=representation").await.body["name"], "A");
    let minimal = post("return=minimal").await;
    assert_eq!((minimal.status.as_u16(), minimal.length), (201, 0));
    assert!(minimal.header("location").starts_with(BASE) && !minimal.header("etag").is_empty(), "{minimal:?}");
    let told = post("return=OperationOutcome").await;
    assert_eq!(told.outcome(), (201, "informational"));

    let entry = json!({"request": {"method": "POST", "url": "Organization"}, "resource": body});
    let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": [entry]});
    let transact =
        async |prefer: &str| world.post("/fhir").by_root().header("prefer", prefer).fhir(&bundle).send().await.body;
    assert_eq!(transact("return=representation").await["entry"][0]["resource"]["name"], "A");
    let minimal = transact("return=minimal").await;
    assert_eq!(
        (&minimal["entry"][0]["response"]["status"], minimal["entry"][0].get("resource")),
        (&json!("201"), None)
    );
    let told = transact("return=OperationOutcome").await;
    assert_eq!(told["entry"][0]["response"]["outcome"]["issue"][0]["severity"], "information");
    world.end().await;
}
