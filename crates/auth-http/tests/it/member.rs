//! What a member's app reaches: that member's record and nothing else.

use serde_json::{Value, json};

use crate::world::{Answer, BASE, World, on_every_engine};

/// An app's token for the patient `me`.
fn member(world: &World, scope: &str) -> String {
    world.mint(Some("ada"), Some("me"), scope)
}

fn observation(patient: &str) -> Value {
    json!({
        "resourceType": "Observation", "status": "final", "code": {"text": "Glucose"},
        "subject": {"reference": format!("Patient/{patient}")},
        "category": [{"coding": [{"system": "http://lab.example", "code": "laboratory"}]}],
    })
}

/// Two patients with an Observation each, and a third that is gone.
async fn two_records(world: &World) {
    world.app().await;
    for patient in ["me", "you"] {
        world.put(&format!("/Patient/{patient}"), &json!({"active": true})).await;
        let body = observation(patient);
        let path = format!("/fhir/Observation/of-{patient}");
        assert_eq!(world.call("PUT", &path).by_root().fhir(&body).send().await.status, 201);
    }
    world.put("/Observation/gone", &observation("me")).await;
    world.call("DELETE", "/Observation/gone").by_root().send().await;
}

/// All of an answer that a caller can tell it by, with what was asked for taken out.
fn face(answer: &Answer, id: &str) -> (u16, Vec<(String, String)>, String) {
    let mut headers: Vec<_> = answer
        .headers
        .iter()
        .filter(|(name, _)| !["x-request-id", "date", "content-length"].contains(&name.as_str()))
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    headers.sort();
    (answer.status.as_u16(), headers, answer.body.to_string().replace(id, "ID"))
}

#[tokio::test]
async fn what_is_anothers_or_was_deleted_cannot_be_told_from_what_never_was() {
    on_every_engine(async |world| {
        two_records(world).await;
        let token = member(world, "patient/*.cruds");
        for (method, suffix) in [("GET", ""), ("GET", "/_history/1"), ("PATCH", ""), ("DELETE", ""), ("GET", "?_id=")] {
            let mut faces = Vec::new();
            for id in ["of-you", "gone", "never"] {
                let path = match suffix {
                    "?_id=" => format!("/fhir/Observation?_id={id}"),
                    suffix => format!("/fhir/Observation/{id}{suffix}"),
                };
                let mut call = world.call(method, &path).bearer(&token);
                if method == "PATCH" {
                    call = call.json(&json!({"status": "amended"}));
                }
                faces.push(face(&call.send().await, id));
            }
            assert_eq!(faces[0], faces[1], "{method} {suffix}: another's and a deleted one");
            assert_eq!(faces[0], faces[2], "{method} {suffix}: another's and none");
        }
        let theirs = world.get("/fhir/Observation/of-you").by_root().send().await;
        assert_eq!((theirs.status.as_u16(), &theirs.body["status"]), (200, &json!("final")));
    })
    .await;
}

#[tokio::test]
async fn totals_and_pages_count_one_record_alone() {
    on_every_engine(async |world| {
        world.app().await;
        for n in 0..30 {
            let patient = if n % 3 == 0 { "me" } else { "you" };
            world.put(&format!("/Observation/o{n:02}"), &observation(patient)).await;
        }
        let token = member(world, "patient/Observation.rs");
        let mut address = "/fhir/Observation?_count=4&status=final".to_owned();
        let mut seen = Vec::new();
        for _ in 0..4 {
            let page = world.get(&address).bearer(&token).send().await;
            assert_eq!(page.body["total"], 10, "{page:?}");
            for entry in page.body["entry"].as_array().unwrap() {
                assert_eq!(entry["resource"]["subject"]["reference"], "Patient/me");
                seen.push(entry["resource"]["id"].as_str().unwrap().to_owned());
            }
            let links = page.body["link"].as_array().unwrap();
            let Some(next) = links.iter().find(|link| link["relation"] == "next") else { break };
            address = next["url"].as_str().unwrap().strip_prefix(BASE).unwrap().to_owned();
        }
        let mine: Vec<_> = (0..30).step_by(3).map(|n| format!("o{n:02}")).collect();
        assert_eq!(seen, mine);
        let filtered = world.get("/fhir/Observation?_count=0&status=amended").bearer(&token).send().await;
        assert_eq!(filtered.body["total"], 0);
    })
    .await;
}

#[tokio::test]
async fn a_reference_counts_in_every_spelling_that_can_be_stored() {
    on_every_engine(async |world| {
        world.app().await;
        let token = member(world, "patient/*.rs");
        for (id, subject) in [
            ("a", json!({"reference": "Patient/me"})),
            ("b", json!({"reference": "Patient/me/_history/1"})),
            ("c", json!({"reference": format!("{BASE}/fhir/Patient/me")})),
            ("d", json!({"resourceType": "Patient", "id": "me"})),
            ("e", json!({"uri": format!("{BASE}/fhir/Patient/me")})),
        ] {
            let body = json!({"status": "final", "code": {"text": "Glucose"}, "subject": subject});
            let native = format!("/Observation/{id}-native");
            world.put(&native, &body).await;
            let fhir = format!("/fhir/Observation/{id}-fhir");
            assert_eq!(world.call("PUT", &fhir).by_root().fhir(&body).send().await.status, 201);
            for path in [native, fhir] {
                assert_eq!(world.get(&path).bearer(&token).send().await.status, 200, "{path} {subject}");
            }
        }
        for (id, subject) in [
            ("x", json!({"reference": "https://elsewhere.example/fhir/Patient/me"})),
            ("y", json!({"identifier": {"value": "me"}})),
        ] {
            world.put(&format!("/Observation/{id}"), &json!({"subject": subject})).await;
        }
        let all = world.get("/fhir/Observation").bearer(&token).send().await;
        assert_eq!(all.body["total"], 10, "{all:?}");
    })
    .await;
}

#[tokio::test]
async fn an_app_writes_into_no_record_but_its_own() {
    on_every_engine(async |world| {
        two_records(world).await;
        let token = member(world, "patient/*.cruds");
        let mut joint = observation("me");
        joint["performer"] = json!([{"reference": "Patient/you"}]);
        let stray = json!({"resourceType": "Observation", "status": "final", "code": {"text": "Glucose"}});
        for body in [observation("you"), joint, stray] {
            let puts = world.call("PUT", "/fhir/Observation/of-me").bearer(&token).fhir(&body).send().await;
            assert_eq!(puts.outcome(), (403, "forbidden"), "{body}");
            let posts = world.post("/fhir/Observation").bearer(&token).fhir(&body).send().await;
            assert_eq!(posts.outcome(), (403, "forbidden"), "{body}");
        }
        let moved = json!({"subject": {"reference": "Patient/you"}});
        let patches = world.call("PATCH", "/fhir/Observation/of-me").bearer(&token).json(&moved).send().await;
        assert_eq!(patches.outcome(), (403, "forbidden"));
        let takes = world.call("PUT", "/fhir/Observation/of-you").bearer(&token).fhir(&observation("me")).send().await;
        assert_eq!(takes.outcome(), (404, "not-found"));
        for (kind, body) in [("Patient", json!({})), ("Practitioner", json!({})), ("Client", json!({}))] {
            let posts = world.post(&format!("/fhir/{kind}")).bearer(&token).fhir(&body).send().await;
            assert_eq!(posts.outcome(), (403, "forbidden"), "{kind}");
        }
        let all = world.get("/fhir/Observation").by_root().send().await;
        assert_eq!(all.body["total"], 2, "nothing was made");
        let mine = world.get("/fhir/Observation/of-me").by_root().send().await;
        assert_eq!(mine.body["subject"]["reference"], "Patient/me");
    })
    .await;
}

#[tokio::test]
async fn a_transaction_with_one_entry_outside_does_nothing_and_a_batch_all_the_rest() {
    on_every_engine(async |world| {
        two_records(world).await;
        let token = member(world, "patient/*.cruds");
        let urn = "urn:uuid:4f6c9d3a-0000-4000-8000-000000000001";
        let entry =
            |method: &str, url: &str, body: Value| json!({"request": {"method": method, "url": url}, "resource": body});
        let mut linked = observation("me");
        linked["hasMember"] = json!([{"reference": urn}]);
        let mut named = entry("POST", "Observation", observation("me"));
        named["fullUrl"] = urn.into();
        let entries = [
            entry("POST", "Observation", observation("me")),
            named,
            entry("POST", "Observation", linked),
            entry("PUT", "Observation/of-you", observation("me")),
            entry("POST", "Observation", observation("you")),
        ];
        let send = async |kind: &str, entries: &[Value]| {
            let body = json!({"resourceType": "Bundle", "type": kind, "entry": entries});
            world.post("/fhir").bearer(&token).fhir(&body).send().await
        };
        let whole = send("transaction", &entries).await;
        assert_eq!(whole.outcome(), (404, "not-found"), "{whole:?}");
        assert_eq!(whole.body["issue"][0]["expression"][0], "Bundle.entry[3]");
        let total = async || world.get("/fhir/Observation").by_root().send().await.body["total"].clone();
        assert_eq!(total().await, 2);
        let good = send("transaction", &entries[..3]).await;
        assert_eq!(good.status, 200, "{good:?}");
        assert_eq!(total().await, 5);
        let each = send("batch", &[entries[0].clone(), entries[3].clone(), entries[4].clone()]).await;
        let statuses: Vec<_> =
            each.body["entry"].as_array().unwrap().iter().map(|entry| entry["response"]["status"].clone()).collect();
        assert_eq!(statuses, ["201", "404", "403"], "{each:?}");
    })
    .await;
}

#[tokio::test]
async fn what_is_nobodys_may_be_read_and_what_is_the_servers_own_may_not() {
    let world = World::new().await;
    two_records(&world).await;
    let token = member(&world, "patient/*.read");
    for kind in ["Practitioner", "Organization", "Location", "Medication"] {
        world.put(&format!("/{kind}/x"), &json!({"name": "X"})).await;
        assert_eq!(world.get(&format!("/fhir/{kind}/x")).bearer(&token).send().await.status, 200, "{kind}");
        assert_eq!(world.get(&format!("/fhir/{kind}")).bearer(&token).send().await.body["total"], 1, "{kind}");
    }
    let only = member(&world, "patient/Observation.read");
    assert_eq!(world.get("/fhir/Practitioner/x").bearer(&only).send().await.status, 403, "it was not granted");
    for path in
        ["/Client/app", "/User/ada", "/AccessPolicy/app", "/fhir/Client", "/fhir/User", "/fhir/Group", "/fhir/Bundle"]
    {
        let refused = world.get(path).bearer(&token).send().await;
        assert_eq!(refused.outcome(), (403, "forbidden"), "{path}");
        assert!(refused.header("www-authenticate").contains("insufficient_scope"), "{path}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_scope_with_a_query_opens_what_meets_it_and_one_that_no_resource_decides_is_refused_by_name() {
    on_every_engine(async |world| {
        two_records(world).await;
        let mut vital = observation("me");
        vital["category"] = json!([{"coding": [{"system": "http://lab.example", "code": "vital-signs"}]}]);
        world.put("/Observation/vital", &vital).await;
        let lab = "patient/Observation.rs?category=http://lab.example|laboratory";
        let token = member(world, lab);
        assert_eq!(world.get("/fhir/Observation/of-me").bearer(&token).send().await.status, 200);
        assert_eq!(world.get("/fhir/Observation/vital").bearer(&token).send().await.outcome(), (404, "not-found"));
        assert_eq!(world.get("/fhir/Observation/of-you").bearer(&token).send().await.outcome(), (404, "not-found"));
        assert_eq!(world.get("/fhir/Observation").bearer(&token).send().await.body["total"], 1);
        let both = member(world, &format!("{lab} patient/Observation.rs?category=vital-signs"));
        assert_eq!(world.get("/fhir/Observation").bearer(&both).send().await.body["total"], 2);
        let plain = member(world, &format!("{lab} patient/Observation.rs"));
        assert_eq!(world.get("/fhir/Observation/vital").bearer(&plain).send().await.status, 200);

        for (query, found) in [("status=final", 2), ("status=amended", 0), ("category=laboratory&status=final", 1)] {
            let token = member(world, &format!("patient/Observation.rs?{query}"));
            let read = world.get("/fhir/Observation/of-me").bearer(&token).send().await.status;
            assert_eq!(read, if found == 0 { 404 } else { 200 }, "{query}");
            assert_eq!(world.get("/fhir/Observation").bearer(&token).send().await.body["total"], found, "{query}");
        }
        let either = member(world, &format!("{lab} patient/Observation.rs?status=amended"));
        assert_eq!(world.get("/fhir/Observation").bearer(&either).send().await.body["total"], 1);

        let token = member(world, "patient/Observation.rs?category:in=http://lab.example/set");
        for path in ["/fhir/Observation/of-me", "/fhir/Observation"] {
            let refused = world.get(path).bearer(&token).send().await;
            assert_eq!(refused.outcome(), (403, "forbidden"), "{path}");
            let text = refused.body["issue"][0]["diagnostics"].as_str().unwrap();
            assert!(text.contains("parameter category:in of Observation"), "{text}");
            assert!(refused.header("www-authenticate").contains("scope=\"patient/Observation."), "{refused:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_a_writer_may_not_read_is_not_shown_in_the_answer() {
    let world = World::new().await;
    two_records(&world).await;
    let token = member(&world, "patient/Observation.cu patient/Observation.rs?category=vital-signs");
    let answer = world.call("PUT", "/fhir/Observation/of-me").bearer(&token).fhir(&observation("me")).send().await;
    assert_eq!((answer.status.as_u16(), answer.length), (200, 0), "it is of another category");
    let mut vital = observation("me");
    vital["category"] = json!([{"coding": [{"code": "vital-signs"}]}]);
    let answer = world.post("/fhir/Observation").bearer(&token).fhir(&vital).send().await;
    assert_eq!((answer.status.as_u16(), &answer.body["resourceType"]), (201, &json!("Observation")));
    world.end().await;
}

#[tokio::test]
async fn a_policy_is_asked_after_the_scope_and_widens_nothing() {
    let world = World::new().await;
    two_records(&world).await;
    let token = member(&world, "patient/*.read");
    assert_eq!(world.get("/fhir/Observation/of-me").bearer(&token).send().await.status, 200);
    let by_patient = json!({"engine": "matcho", "link": [{"reference": "Client/app"}], "matcho": {
        "uri": "#^/fhir/Observation",
        "jwt": {"scope": "present?", "context": {"patient": "present?"}},
        "session": {"patient": {"id": "me"}, "user": {"id": "ada"}, "client": {"id": "app"}},
    }});
    world.put("/AccessPolicy/app", &by_patient).await;
    assert_eq!(world.get("/fhir/Observation/of-me").bearer(&token).send().await.status, 200);
    assert_eq!(world.get("/fhir/Observation/of-you").bearer(&token).send().await.status, 404);
    assert_eq!(world.get("/fhir/Patient/me").bearer(&token).send().await.outcome(), (403, "forbidden"));
    let another = world.mint(Some("ada"), Some("you"), "patient/*.read");
    assert_eq!(world.get("/fhir/Observation/of-you").bearer(&another).send().await.outcome(), (403, "forbidden"));
    world.end().await;
}

#[tokio::test]
async fn a_wider_scope_takes_nothing_away_from_a_clinicians_token() {
    let world = World::new().await;
    two_records(&world).await;
    // Here ada is no person of a record, so she works with those of others.
    let allow = |who: &str| json!({"engine": "allow", "link": [{"reference": who}]});
    world.put("/AccessPolicy/app", &allow("Client/app")).await;
    let reads = async |scope: &str| {
        let token = world.mint(Some("ada"), Some("me"), scope);
        let mut told = Vec::new();
        for path in ["/fhir/Observation/of-me", "/fhir/Observation/of-you"] {
            told.push(world.get(path).bearer(&token).send().await.status.as_u16());
        }
        let found = world.get("/fhir/Observation?_summary=count").bearer(&token).send().await;
        (told, found.body["total"].as_i64())
    };
    // The app's policy is no right of the person's to more than the patient at hand.
    assert_eq!(reads("patient/*.read").await, (vec![200, 404], Some(1)));
    assert_eq!(reads("user/*.read patient/*.read").await, (vec![200, 404], Some(1)));
    assert_eq!(reads("user/*.read").await, (vec![403, 403], None));
    world.put("/AccessPolicy/ada", &allow("User/ada")).await;
    assert_eq!(reads("user/*.read patient/*.read").await, (vec![200, 200], Some(2)));
    world.end().await;
}

#[tokio::test]
async fn confining_a_request_asks_the_store_for_nothing_more() {
    let world = World::new().await;
    two_records(&world).await;
    let confined = member(&world, "patient/*.cruds");
    let granular = member(&world, "patient/*.cud patient/Observation.rs?category=laboratory");
    let service = world.mint(None, None, "system/*.cruds");
    let amended = json!({"status": "amended"});
    for (method, path, body) in [
        ("GET", "/fhir/Observation/of-me", None),
        ("GET", "/fhir/Observation/of-you", None),
        ("GET", "/fhir/Observation", None),
        ("PUT", "/fhir/Observation/of-me", Some(observation("me"))),
        ("PATCH", "/fhir/Observation/of-me", Some(amended.clone())),
        ("PATCH", "/fhir/Observation?_id=of-me", Some(amended)),
        ("DELETE", "/fhir/Observation?_id=of-you", None),
    ] {
        let mut asked = Vec::new();
        for token in [&confined, &granular, &service] {
            let before = world.asked();
            let call = world.call(method, path).bearer(token);
            let answer = if let Some(body) = &body { call.json(body) } else { call }.send().await;
            assert!(answer.status.is_success() || answer.status == 404, "{answer:?}");
            asked.push(world.asked() - before);
        }
        assert!(asked[0] > 0 && asked[0] == asked[1] && asked[0] == asked[2], "{method} {path}: {asked:?}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_user_scope_opens_what_policies_allow_that_user_and_its_roles() {
    on_every_engine(async |world| {
        two_records(world).await;
        let token = world.mint(Some("ada"), None, "user/*.rs");
        let read = async |path: &str| world.get(path).bearer(&token).send().await.status.as_u16();
        let policy = |extra: Value| {
            let mut policy = json!({"engine": "matcho", "matcho": {"uri": "#^/fhir/Observation"}});
            policy.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            policy
        };
        world.put("/AccessPolicy/app", &policy(json!({"roleName": "nurse"}))).await;
        assert_eq!(read("/fhir/Observation/of-me").await, 403, "ada is no nurse");
        world.put("/User/ada", &json!({"userName": "ada", "roles": [{"value": "nurse"}]})).await;
        for path in ["/fhir/Observation/of-me", "/fhir/Observation/of-you", "/fhir/Observation"] {
            assert_eq!(read(path).await, 200, "{path}");
        }
        assert_eq!(read("/fhir/Patient/me").await, 403, "the policy is about Observations");
        let write = world.call("DELETE", "/fhir/Observation/of-me").bearer(&token).send().await;
        assert_eq!(write.outcome(), (403, "forbidden"), "the scope is for reading");

        world.put("/AccessPolicy/app", &policy(json!({"link": [{"reference": "User/eve"}]}))).await;
        assert_eq!(read("/fhir/Observation/of-me").await, 403);
        world.put("/AccessPolicy/app", &policy(json!({"link": [{"reference": "User/ada"}]}))).await;
        assert_eq!(read("/fhir/Observation/of-me").await, 200);
        let matched =
            json!({"user": {"id": "ada", "password": "nil?"}, "role": ["nurse"], "session": {"patient": "nil?"}});
        world.put("/AccessPolicy/app", &json!({"engine": "matcho", "matcho": matched})).await;
        assert_eq!(read("/fhir/Observation/of-you").await, 200);
        world.put("/User/ada", &json!({"userName": "ada", "active": false})).await;
        assert_eq!(read("/fhir/Observation/of-you").await, 401, "the person is no longer there");
    })
    .await;
}

#[tokio::test]
async fn a_list_by_patient_and_category_finds_what_the_token_opens_of_it() {
    on_every_engine(async |world| {
        two_records(world).await;
        let member = member(world, "patient/*.rs");
        let total = async |query: &str, token: Option<&str>| {
            let call = world.get(&format!("/fhir/Observation?{query}"));
            let call = token
                .map_or_else(|| world.get(&format!("/fhir/Observation?{query}")).by_root(), |token| call.bearer(token));
            let answer = call.send().await;
            assert_eq!(answer.status, 200, "{query}: {answer:?}");
            answer.body["total"].as_u64().unwrap()
        };
        for (query, to_the_member, to_the_administrator) in [
            ("patient=me", 1, 1),
            ("patient=Patient/me", 1, 1),
            (&format!("patient={BASE}/fhir/Patient/me"), 1, 1),
            ("patient=you", 0, 1),
            ("patient=me&patient=you", 0, 0),
            ("patient=nobody", 0, 0),
            ("category=laboratory", 1, 2),
            ("category=http://lab.example|laboratory&patient=me", 1, 1),
            ("category=vital-signs", 0, 0),
            ("patient=me&status=amended", 0, 0),
        ] {
            assert_eq!(total(query, Some(&member)).await, to_the_member, "{query}");
            assert_eq!(total(query, None).await, to_the_administrator, "{query}");
        }
    })
    .await;
}

#[tokio::test]
async fn no_cache_keeps_a_members_record() {
    on_every_engine(async |world| {
        two_records(world).await;
        let token = member(world, "patient/*.rs");
        for path in ["/fhir/Patient/me", "/fhir/Observation", "/fhir/Observation/of-you", "/fhir/Observation/of-me"] {
            let answer = world.get(path).bearer(&token).send().await;
            assert_eq!(answer.headers["cache-control"], "no-store", "{path}");
        }
    })
    .await;
}
