//! Every access policy that the documents print, against what it must not open.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::match_groups::{Scene, entry_ids, scene};
use crate::payers::{accepted, davinci, post};
use crate::world::{Answer, World, on_every_engine};

/// A policy, and the document that prints it.
struct Documented {
    file: String,
    policy: Value,
}

/// The README and the pages of `docs`.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut documents: Vec<PathBuf> = pages.filter(|path| path.extension().is_some_and(|ext| ext == "md")).collect();
    documents.push(root.join("README.md"));
    documents.sort();
    documents
}

/// The JSON objects of a text that name an engine; parts of one are not taken apart.
fn policies_in(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut behind = 0;
    for (at, _) in text.match_indices("\"engine\"") {
        if at < behind {
            continue;
        }
        let (policy, end) = text[..at]
            .rmatch_indices('{')
            .find_map(|(begin, _)| {
                let mut values = serde_json::Deserializer::from_str(&text[begin..]).into_iter::<Value>();
                let value = values.next()?.ok().filter(|value| value.get("engine").is_some())?;
                Some((value, begin + values.byte_offset()))
            })
            .unwrap_or_else(|| panic!("no policy around {}", &text[at.saturating_sub(200)..at + 20]));
        behind = end;
        found.push(policy);
    }
    found
}

fn documented() -> Vec<Documented> {
    let mut all = Vec::new();
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        all.extend(policies_in(&text).into_iter().map(|policy| Documented { file: file.clone(), policy }));
    }
    for file in ["apps.md", "partners.md", "payer-operations.md", "migrations.md"] {
        assert!(all.iter().any(|one| one.file == file), "{file} prints no policy any more");
    }
    all
}

/// Gives a documented policy to the partner `payer-b`, in the place of its own.
async fn give(world: &World, documented: &Documented) {
    let mut policy = documented.policy.clone();
    assert!(policy["link"].is_array(), "{}: a printed policy is for a party: {policy}", documented.file);
    policy["link"] = json!([{"reference": "Client/payer-b"}]);
    policy.as_object_mut().unwrap().remove("resourceType");
    world.put("/AccessPolicy/payer-b", &policy).await;
}

async fn ask(world: &World, token: &str, (method, path, body): (&str, &str, Option<&Value>)) -> Answer {
    let call = world.call(method, path).bearer(token).header("prefer", "respond-async");
    match body {
        Some(body) => call.json(body).send().await,
        None => call.send().await,
    }
}

async fn assert_closed(world: &World, token: &str, file: &str, asked: (&str, &str, Option<&Value>)) {
    let answer = ask(world, token, asked).await;
    let status = answer.status.as_u16();
    assert!(matches!(status, 403 | 404), "the policy of {file} opens {} {}: {answer:?}", asked.0, asked.1);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_documented_policy_opens_registrations_or_the_groups_of_others() {
    on_every_engine(async |world| {
        let Scene { payer_b, foreign, .. } = scene(world).await;
        world.put("/User/ada", &json!({"userName": "ada"})).await;
        let introspector = json!({"type": "jwt", "jwt": {"iss": "https://idp.example", "secret": "0".repeat(32)}});
        world.put("/TokenIntrospector/idp", &introspector).await;
        let one = json!({"resourceType": "Client", "id": "payer-c"});
        for documented in documented() {
            give(world, &documented).await;
            let file = documented.file.as_str();
            for (kind, id) in
                [("Client", "payer-c"), ("User", "ada"), ("AccessPolicy", "payer-c"), ("TokenIntrospector", "idp")]
            {
                for prefix in ["", "/fhir"] {
                    for path in ["", "?_count=1", &format!("/{id}"), &format!("/{id}/_history"), "/_history"] {
                        let path = format!("{prefix}/{kind}{path}");
                        assert_closed(world, &payer_b, file, ("GET", &path, None)).await;
                    }
                    let (own, all) = (format!("{prefix}/{kind}/{id}"), format!("{prefix}/{kind}"));
                    let mut body = one.clone();
                    (body["resourceType"], body["id"]) = (kind.into(), id.into());
                    assert_closed(world, &payer_b, file, ("PUT", &own, Some(&body))).await;
                    assert_closed(world, &payer_b, file, ("PATCH", &own, Some(&json!({"active": true})))).await;
                    assert_closed(world, &payer_b, file, ("POST", &all, Some(&body))).await;
                    assert_closed(world, &payer_b, file, ("DELETE", &own, None)).await;
                }
            }
            for (method, path) in [
                ("PUT", "/fhir/Organization/org-payer-c"),
                ("PATCH", "/fhir/Organization/org-payer-c"),
                ("DELETE", "/fhir/Organization/org-payer-c"),
                ("POST", "/rpc"),
                ("GET", "/$packages"),
                ("GET", "/db/migrations"),
                ("GET", "/$explain-access"),
            ] {
                let body = json!({"resourceType": "Organization", "method": "platform.smart/get-launch-uri"});
                let body = (!matches!(method, "GET" | "DELETE")).then_some(&body);
                assert_closed(world, &payer_b, file, (method, path, body)).await;
            }
            for path in ["/fhir/_history?_count=1000", "/_history?_count=1000", "/fhir/Group/_history", "/fhir/Group"] {
                let answer = ask(world, &payer_b, ("GET", path, None)).await;
                let told = entry_ids(&answer).iter().any(|id| foreign.contains(id));
                assert!(!told, "the policy of {file} tells of others at {path}");
                let entries = answer.body["entry"].as_array().into_iter().flatten();
                let mut kinds = entries.filter_map(|entry| entry["resource"]["resourceType"].as_str());
                let registered = ["Client", "User", "AccessPolicy", "TokenIntrospector"];
                assert!(kinds.all(|kind| !registered.contains(&kind)), "the policy of {file} opens {path}");
            }
            for id in &foreign {
                for path in [format!("/fhir/Group/{id}"), format!("/Group/{id}"), format!("/fhir/Group/{id}/_history")]
                {
                    assert_closed(world, &payer_b, file, ("GET", &path, None)).await;
                }
                let path = format!("/fhir/Group/{id}/$davinci-data-export");
                assert_closed(world, &payer_b, file, ("POST", &path, Some(&davinci("payertopayer")))).await;
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_of_a_partner_payer_opens_matches_and_exports_and_nothing_else() {
    on_every_engine(async |world| {
        let Scene { payer_b, own, .. } = scene(world).await;
        let partners: Vec<_> = documented().into_iter().filter(|one| one.file == "payer-operations.md").collect();
        for documented in &partners {
            give(world, documented).await;
            let file = documented.file.as_str();
            for path in [
                "/fhir/Patient",
                "/Patient",
                "/fhir/Patient/a",
                "/fhir/Patient/a/_history",
                "/fhir/Patient/a/$everything",
                "/fhir/Observation",
                "/fhir/Coverage",
                "/fhir/Organization",
                "/fhir/Consent",
                "/fhir/_history",
                "/_history",
                "/Group",
                "/fhir/Group/_history",
                &format!("/fhir/Group/{}/_history", own[0]),
                &format!("/fhir/Group/{}/_history/1", own[0]),
                &format!("/Group/{}", own[0]),
                "/fhir/$export",
                "/fhir/Patient/$export",
                &format!("/fhir/Group/{}/$export", own[0]),
            ] {
                assert_closed(world, &payer_b, file, ("GET", path, None)).await;
            }
            let group = json!({"resourceType": "Group", "type": "animal", "actual": false});
            let own_path = format!("/fhir/Group/{}", own[0]);
            for (method, path, body) in [
                ("PUT", own_path.as_str(), Some(&group)),
                ("PATCH", &own_path, Some(&group)),
                ("DELETE", &own_path, None),
                ("POST", "/fhir/Group", Some(&group)),
                ("POST", "/fhir/$export", Some(&json!({"resourceType": "Parameters"}))),
            ] {
                assert_closed(world, &payer_b, file, (method, path, body)).await;
            }
            let entries = ["Patient", "Patient/a", "Group/_history", "Observation"]
                .map(|url| json!({"request": {"method": "GET", "url": url}}));
            let bundle = json!({"resourceType": "Bundle", "type": "batch", "entry": entries});
            let answer = ask(world, &payer_b, ("POST", "/fhir", Some(&bundle))).await;
            for entry in answer.body["entry"].as_array().unwrap() {
                assert_eq!(entry["response"]["status"], "403", "{answer:?}");
            }
        }
        // What it is printed for.
        let path = format!("/fhir/Group/{}/$davinci-data-export", own[0]);
        accepted(&post(world, &payer_b, &path, &davinci("payertopayer")).await);
        for path in ["/fhir/Group".to_owned(), format!("/fhir/Group/{}", own[0])] {
            assert_eq!(world.get(&path).bearer(&payer_b).send().await.status, 200, "{path}");
        }
        let nobody = json!({"resourceType": "Parameters"});
        for path in ["/fhir/Group/$bulk-member-match", "/fhir/Patient/$member-match"] {
            assert_eq!(post(world, &payer_b, path, &nobody).await.status, 422, "{path} is reached");
        }
    })
    .await;
}
