//! Reading and writing single resources, natively and as FHIR.

use serde_json::{Value, json};

use crate::world::{BASE, Choice, SECRET, World, on_every_engine};

#[tokio::test]
async fn a_put_creates_then_updates_then_changes_nothing() {
    on_every_engine(async |world| {
        let put = async |body: Value| world.call("PUT", "/Organization/o").by_root().json(&body).send().await;
        let created = put(json!({"name": "A"})).await;
        assert_eq!(created.status, 201, "{created:?}");
        let version = created.body["meta"]["versionId"].as_str().unwrap().to_owned();
        assert_eq!(created.header("etag"), format!("W/\"{version}\""));
        assert_eq!(created.header("location"), format!("{BASE}/Organization/o/_history/{version}"));
        assert_eq!(created.header("last-modified"), "Thu, 01 Jan 2026 00:00:00 GMT");
        assert_eq!(created.header("content-type"), "application/json");

        let updated = put(json!({"name": "B"})).await;
        assert_eq!((updated.status.as_u16(), updated.header("location")), (200, ""));
        assert_ne!(updated.header("etag"), created.header("etag"));
        let unchanged = put(json!({"name": "B"})).await;
        assert_eq!(unchanged.status, 200);
        assert_eq!(unchanged.header("etag"), updated.header("etag"), "no new version");
    })
    .await;
}

#[tokio::test]
async fn a_resource_is_read_at_its_address_and_at_that_of_its_version() {
    let world = World::new().await;
    let created = world.put("/Organization/o", &json!({"name": "A"})).await;
    let read = world.get("/Organization/o").by_root().send().await;
    assert_eq!((read.status.as_u16(), &read.body["name"]), (200, &json!("A")));
    assert_eq!(read.header("etag"), created.header("etag"));
    let location = created.header("location").strip_prefix(BASE).unwrap();
    let version = world.get(location).by_root().send().await;
    assert_eq!((version.status.as_u16(), version.body), (200, read.body));
    let other = world.get("/Organization/o/_history/999999").by_root().send().await;
    assert_eq!(other.outcome(), (404, "not-found"));
    assert_eq!(world.call("HEAD", "/Organization/o").by_root().send().await.length, 0);
    world.end().await;
}

#[tokio::test]
async fn what_never_was_is_404_and_what_was_deleted_410() {
    on_every_engine(async |world| {
        let missing = world.get("/Client/x").by_root().send().await;
        assert_eq!(missing.outcome(), (404, "not-found"));
        assert_eq!(missing.body["id"], "not-found");
        assert_eq!(missing.body["issue"][0]["diagnostics"], "Resource Client/x not found");

        world.put("/Organization/o", &json!({"name": "A"})).await;
        let deleted = world.call("DELETE", "/Organization/o").by_root().send().await;
        assert_eq!((deleted.status.as_u16(), &deleted.body["name"]), (200, &json!("A")));
        assert_eq!(world.get("/Organization/o").by_root().send().await.outcome(), (410, "deleted"));
        assert_eq!(world.call("DELETE", "/Organization/o").by_root().send().await.status, 204);
        assert_eq!(world.put("/Organization/o", &json!({"name": "B"})).await.status, 201);
        let silent = world.call("DELETE", "/Organization/o?_no-content=true").by_root().send().await;
        assert_eq!((silent.status.as_u16(), silent.length), (204, 0));
    })
    .await;
}

#[tokio::test]
async fn a_post_of_an_id_that_exists_is_409() {
    on_every_engine(async |world| {
        let post = async |body: Value| world.post("/Organization").by_root().json(&body).send().await;
        let created = post(json!({"id": "o", "name": "A"})).await;
        assert_eq!(created.status, 201);
        assert!(created.header("location").starts_with(&format!("{BASE}/Organization/o/_history/")), "{created:?}");
        assert_eq!(post(json!({"id": "o", "name": "B"})).await.outcome(), (409, "duplicate"));
        assert_eq!(world.get("/Organization/o").by_root().send().await.body["name"], "A");
        let named = post(json!({"name": "C"})).await;
        assert_eq!(named.status, 201);
        assert!(named.body["id"].as_str().is_some_and(|id| !id.is_empty()));
    })
    .await;
}

#[tokio::test]
async fn a_body_that_contradicts_its_address_is_400() {
    let world = World::new().await;
    for body in [
        json!({"id": "other"}),
        json!({"resourceType": "Client"}),
        json!({"id": 1}),
        json!([]),
        json!("x"),
        json!(null),
    ] {
        let answer = world.call("PUT", "/Organization/o").by_root().json(&body).send().await;
        assert!(matches!(answer.outcome().0, 400 | 422), "{body}: {answer:?}");
    }
    let answer = world.call("PUT", "/Organization/o").by_root().json(&json!({"id": "other"})).send().await;
    assert_eq!(answer.outcome(), (400, "invalid"));
    assert_eq!(answer.body["issue"][0]["expression"], json!(["Organization.id"]));
    assert_eq!(world.get("/Organization/o").by_root().send().await.status, 404);
    world.end().await;
}

#[tokio::test]
async fn a_write_with_if_match_needs_that_version() {
    let world = World::new().await;
    let absent = world.call("PUT", "/Organization/o").by_root().header("if-match", "*").json(&json!({}));
    assert_eq!(absent.send().await.outcome(), (412, "conflict"), "`*` never creates");
    let etag = world.put("/Organization/o", &json!({"name": "A"})).await.header("etag").to_owned();
    let put = |etag: &str, name: &str| {
        let body = json!({"name": name});
        world.call("PUT", "/Organization/o").by_root().header("if-match", etag).json(&body)
    };
    assert_eq!(put("W/\"999999\"", "B").send().await.outcome(), (412, "conflict"));
    assert_eq!(put(&etag, "B").send().await.status, 200);
    assert_eq!(put(&etag, "C").send().await.outcome(), (412, "conflict"));
    assert_eq!(put("nonsense", "C").send().await.status, 400);
    for method in ["PATCH", "DELETE"] {
        let call =
            world.call(method, "/Organization/o").by_root().header("if-match", &etag).json(&json!({"name": "D"}));
        assert_eq!(call.send().await.outcome(), (412, "conflict"), "{method}");
    }
    assert_eq!(world.get("/Organization/o").by_root().send().await.body["name"], "B");
    world.end().await;
}

#[tokio::test]
async fn if_none_exist_creates_once() {
    on_every_engine(async |world| {
        for condition in ["id=o", "_id=o"] {
            let post = |name: &str| {
                let body = json!({"id": "o", "name": name});
                world.post("/Organization").by_root().header("if-none-exist", condition).json(&body)
            };
            let first = post("A").send().await;
            assert!(matches!(first.status.as_u16(), 200 | 201), "{first:?}");
            let second = post("B").send().await;
            assert_eq!((second.status.as_u16(), &second.body["name"]), (200, &json!("A")));
        }
        world.put("/Organization/p", &json!({"name": "A"})).await;
        let ambiguous = world.post("/Organization").by_root().header("if-none-exist", "name=A").json(&json!({}));
        assert_eq!(ambiguous.send().await.outcome(), (412, "multiple-matches"));
    })
    .await;
}

#[tokio::test]
async fn a_query_finds_the_target_of_a_conditional_write() {
    let world = World::new().await;
    let call = |method: &str, body: Value| world.call(method, "/Organization?name=A").by_root().json(&body);
    assert_eq!(call("PATCH", json!({"active": true})).send().await.outcome(), (404, "not-found"));
    let created = call("PUT", json!({"name": "A"})).send().await;
    assert_eq!(created.status, 201, "{created:?}");
    let updated = call("PUT", json!({"name": "A", "alias": ["x"]})).send().await;
    assert_eq!((updated.status.as_u16(), &updated.body["id"]), (200, &created.body["id"]));
    let patched = call("PATCH", json!({"active": true})).send().await;
    assert_eq!((patched.status.as_u16(), &patched.body["active"]), (200, &json!(true)));
    assert_eq!(call("DELETE", json!({})).send().await.status, 200);
    assert_eq!(call("DELETE", json!({})).send().await.status, 204);
    let everything = world.call("DELETE", "/Organization").by_root().send().await;
    assert_eq!(everything.status, 400, "a condition that says nothing is not one that matches everything");
    world.end().await;
}

#[tokio::test]
async fn a_patch_is_read_by_its_media_type_or_its_shape() {
    let world = World::new().await;
    world.put("/Organization/o", &json!({"name": "A", "active": true})).await;
    let patch = async |media_type: &str, body: Value| {
        world.call("PATCH", "/Organization/o").by_root().text(media_type, body.to_string()).send().await
    };
    let merged = patch("application/merge-patch+json", json!({"active": null, "name": "B"})).await;
    assert_eq!(merged.status, 200, "{merged:?}");
    assert_eq!((merged.body.get("active"), &merged.body["name"]), (None, &json!("B")));
    let operations = json!([{"op": "test", "path": "/name", "value": "B"}, {"op": "add", "path": "/x", "value": 1}]);
    assert_eq!(patch("application/json-patch+json", operations.clone()).await.body["x"], 1);
    assert_eq!(patch("application/json", operations).await.status, 200);
    assert_eq!(patch("application/json", json!({"name": "C"})).await.body["name"], "C");

    let failed = patch("application/json-patch+json", json!([{"op": "test", "path": "/name", "value": "Z"}])).await;
    assert_eq!(failed.outcome(), (422, "invalid"));
    assert_eq!(patch("application/json-patch+json", json!([{"op": "jump"}])).await.status, 400);
    assert_eq!(patch("application/json-patch+json", json!({"name": "D"})).await.status, 400);
    assert_eq!(patch("application/merge-patch+json", json!([1])).await.outcome().0, 422);
    let missing = world.call("PATCH", "/Organization/none").by_root().json(&json!({}));
    assert_eq!(missing.send().await.outcome(), (404, "not-found"));
    world.end().await;
}

#[tokio::test]
async fn patches_of_one_resource_at_once_are_all_kept() {
    on_every_engine(async |world| {
        world.put("/Organization/o", &json!({"name": "A"})).await;
        let patch = |member: &str| {
            let body: Value = [(member.to_owned(), json!(true))].into_iter().collect();
            world.call("PATCH", "/Organization/o").by_root().json(&body).send()
        };
        let answers = tokio::join!(patch("a"), patch("b"), patch("c"), patch("d"));
        for answer in [answers.0, answers.1, answers.2, answers.3] {
            assert_eq!(answer.status, 200, "{answer:?}");
        }
        let read = world.get("/Organization/o").by_root().send().await.body;
        for member in ["a", "b", "c", "d"] {
            assert_eq!(read[member], true, "{read}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_patch_under_fhir_sees_the_spelling_of_fhir() {
    let world = World::new().await;
    let body = json!({"partOf": {"reference": "Organization/a"}});
    assert_eq!(world.call("PUT", "/fhir/Organization/o").by_root().fhir(&body).send().await.status, 201);
    let patch = json!([{"op": "replace", "path": "/partOf/reference", "value": "Organization/b"}]);
    let patched = world.call("PATCH", "/fhir/Organization/o").by_root().fhir(&patch).send().await;
    assert_eq!(patched.body["partOf"], json!({"reference": "Organization/b"}), "{patched:?}");
    let native = world.get("/Organization/o").by_root().send().await.body;
    assert_eq!(native["partOf"], json!({"resourceType": "Organization", "id": "b"}));
    world.end().await;
}

#[tokio::test]
async fn a_resource_written_natively_is_stored_as_sent() {
    let world = World::new().await;
    let body = json!({"partOf": {"reference": "Organization/a"}, "extension": [{"url": "u", "valueUri": "v"}]});
    world.put("/Organization/o", &body).await;
    let read = world.get("/Organization/o").by_root().send().await.body;
    assert_eq!((&read["partOf"], &read["extension"]), (&body["partOf"], &body["extension"]));
    world.end().await;
}

#[tokio::test]
async fn a_list_is_a_searchset_in_pages() {
    on_every_engine(async |world| {
        for id in ["a", "b", "c"] {
            world.put(&format!("/Organization/{id}"), &json!({"name": "N"})).await;
        }
        let page = world.get("/fhir/Organization?name=N&_count=2").by_root().send().await;
        assert_eq!(page.status, 200, "{page:?}");
        assert_eq!(page.header("content-type"), "application/fhir+json");
        assert_eq!((&page.body["type"], &page.body["total"]), (&json!("searchset"), &json!(3)));
        assert_eq!(page.body["entry"][0]["fullUrl"], format!("{BASE}/fhir/Organization/a"));
        assert_eq!(page.body["entry"].as_array().unwrap().len(), 2);
        let next = page.body["link"][1]["url"].as_str().unwrap().strip_prefix(BASE).unwrap();
        let last = world.get(next).by_root().send().await.body;
        assert_eq!(last["entry"][0]["resource"]["id"], "c");
        for query in ["_sort=name", "name:contains=x", "_count=x", "_page=0"] {
            let answer = world.get(&format!("/Organization?{query}")).by_root().send().await;
            assert_eq!(answer.outcome().0, 400, "{query}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_secret_is_stored_as_a_hash_and_never_shown() {
    on_every_engine(async |world| {
        let client = json!({"grant_types": ["basic"], "secret": SECRET});
        let user = json!({"userName": "ann", "password": "correct horse battery staple"});
        for (path, body, hidden) in [("Client/c", &client, "secret"), ("User/u", &user, "password")] {
            let kind = path.split('/').next().unwrap();
            for prefix in ["/", "/fhir/"] {
                let at = format!("{prefix}{path}");
                let written = world.call("PUT", &at).by_root().json(body).send().await;
                assert!(written.status.is_success(), "{written:?}");
                let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": [
                    {"request": {"method": "PUT", "url": path}, "resource": body},
                    {"request": {"method": "GET", "url": path}},
                    {"request": {"method": "GET", "url": kind}},
                ]});
                let patch = json!({"description": prefix});
                for answer in [
                    written,
                    world.get(&at).by_root().send().await,
                    world.get(&format!("{prefix}{kind}")).by_root().send().await,
                    world.post(prefix).by_root().json(&bundle).send().await,
                    world.call("PATCH", &at).by_root().json(&patch).send().await,
                    world.call("DELETE", &at).by_root().send().await,
                ] {
                    assert!(answer.status.is_success(), "{answer:?}");
                    let text = answer.body.to_string();
                    assert!(text.contains("resourceType"), "{text}");
                    assert!(!text.contains(&format!("\"{hidden}\"")), "{text}");
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_secret_cannot_be_found_out_by_searching_or_patching() {
    let world = World::new().await;
    world.put("/Client/c", &json!({"grant_types": ["basic"], "secret": SECRET})).await;
    for path in ["/Client?secret=x", "/Client?.secret=x", "/User?password=x", "/User?.twoFactor.secretKey=x"] {
        assert_eq!(world.get(path).by_root().send().await.outcome().0, 400, "{path}");
    }
    let conditional = world.post("/Client").by_root().header("if-none-exist", "secret=x").json(&json!({}));
    assert_eq!(conditional.send().await.outcome().0, 400);
    for patch in [
        json!([{"op": "test", "path": "/secret", "value": "x"}]),
        json!([{"op": "copy", "from": "/secret", "path": "/name"}]),
        json!([{"op": "move", "from": "/secret", "path": "/name"}]),
    ] {
        let answer = world.call("PATCH", "/Client/c").by_root().json(&patch).send().await;
        assert_eq!(answer.outcome(), (422, "security"), "{patch}");
    }
    assert_eq!(world.get("/Client/c").by_root().send().await.body.get("name"), None);
    world.end().await;
}

#[tokio::test]
async fn a_patch_leaves_the_secret_alone_or_replaces_it() {
    let world = World::new().await;
    world.client_with_policy("c", &json!({"engine": "matcho", "matcho": {"uri": "/Client/c"}})).await;
    let get = async |secret: &str| world.get("/Client/c").basic("c", secret).send().await.status.as_u16();
    assert_eq!(get(SECRET).await, 200);
    let patch = async |body: Value| world.call("PATCH", "/Client/c").by_root().json(&body).send().await.status;
    assert_eq!(patch(json!({"description": "d"})).await, 200);
    assert_eq!(get(SECRET).await, 200);
    assert_eq!(patch(json!({"secret": "another-secret"})).await, 200);
    assert_eq!((get(SECRET).await, get("another-secret").await), (401, 200));
    assert_eq!(patch(json!([{"op": "replace", "path": "/secret", "value": SECRET}])).await, 200);
    assert_eq!((get(SECRET).await, get("another-secret").await), (200, 401));
    assert_eq!(patch(json!({"secret": null})).await, 200);
    assert_eq!(get(SECRET).await, 401);
    world.end().await;
}

#[tokio::test]
async fn a_document_that_breaks_the_rules_of_its_type_is_422_with_every_place() {
    let world = World::new().await;
    let client = json!({
        "active": "yes", "grant_types": ["magic"], "jwks": [{"kty": "EC", "kid": "k", "d": "x"}],
        "auth": {"client_credentials": {"client_assertion_types": ["urn:unheard"]}},
    });
    let answer = world.call("PUT", "/Client/c").by_root().json(&client).send().await;
    assert_eq!(answer.status, 422);
    let places: Vec<&str> =
        answer.body["issue"].as_array().unwrap().iter().map(|issue| issue["expression"][0].as_str().unwrap()).collect();
    let types = "Client.auth.client_credentials.client_assertion_types[0]";
    for place in ["Client.active", "Client.grant_types[0]", "Client.jwks[0].d", types] {
        assert!(places.contains(&place), "{places:?}");
    }
    assert_eq!(world.get("/Client/c").by_root().send().await.status, 404);

    world.put("/Client/c", &json!({"active": true})).await;
    let patch = world.call("PATCH", "/Client/c").by_root().json(&json!({"active": "yes"})).send().await;
    assert_eq!(patch.status, 422, "{patch:?}");
    let policy = world.call("PUT", "/AccessPolicy/p").by_root().json(&json!({"engine": "magic"})).send().await;
    assert_eq!(policy.status, 422);
    world.end().await;
}

#[tokio::test]
async fn the_brand_name_of_a_migration_means_the_migration() {
    let world = World::with(Choice { platform_name: "acme", ..Choice::default() }).await;
    let params = json!({"parameter": [{"name": "sql", "valueString": "SELECT 1"}]});
    let mut body = json!({"resourceType": "AcmeMigration", "id": "m", "status": "done",
        "action": "acme-migration-run-sql", "params": params});
    let created = world.post("/fhir/AcmeMigration").by_root().fhir(&body).send().await;
    assert_eq!((created.status.as_u16(), &created.body["resourceType"]), (201, &json!("PlatformMigration")));
    let list = world.get("/fhir/PlatformMigration").by_root().send().await.body;
    assert_eq!((&list["total"], &list["entry"][0]["resource"]["id"]), (&json!(1), &json!("m")));
    assert_eq!(world.post("/fhir/AcmeMigration").by_root().fhir(&body).send().await.outcome(), (409, "duplicate"));
    body["id"] = json!("n");
    body["status"] = json!("to-run");
    let ran = world.post("/fhir/AcmeMigration").by_root().fhir(&body).send().await;
    assert_eq!((ran.status.as_u16(), &ran.body["status"]), (201, &json!("done")), "{ran:?}");
    body["action"] = json!("unknown");
    assert_eq!(world.post("/fhir/AcmeMigration").by_root().fhir(&body).send().await.status, 422);
    world.end().await;
}

#[tokio::test]
async fn a_put_with_if_none_match_does_not_overwrite() {
    on_every_engine(async |world| {
        let put = |path: &'static str, tag: &'static str, name: &'static str| {
            world.call("PUT", path).by_root().header("if-none-match", tag).json(&json!({"name": name}))
        };
        for path in ["/Organization/o", "/fhir/Organization/p"] {
            assert_eq!(put(path, "*", "A").send().await.status, 201);
            assert_eq!(put(path, "*", "B").send().await.outcome(), (412, "conflict"));
            let read = world.get(path).by_root().send().await;
            assert_eq!(read.body["name"], "A");
            let tag = read.header("etag").to_owned();
            let body = json!({"name": "B"});
            let of_version = || world.call("PUT", path).by_root().header("if-none-match", &tag).json(&body);
            assert_eq!(of_version().send().await.outcome(), (412, "conflict"));
            assert_eq!(put(path, "W/\"1000000\"", "C").send().await.status, 200);
            assert_eq!(of_version().send().await.status, 200, "another version by now");
            let patch = world.call("PATCH", path).by_root().header("if-none-match", "*").json(&json!({"name": "D"}));
            assert_eq!(patch.send().await.outcome(), (412, "conflict"));
            let delete = world.call("DELETE", path).by_root().header("if-none-match", "*").send().await;
            assert_eq!(delete.outcome(), (412, "conflict"));
            assert_eq!(put(path, "1, 2", "E").send().await.outcome(), (400, "invalid"));
            assert_eq!(world.get(path).by_root().send().await.body["name"], "B");
        }
        let found = world.call("PUT", "/fhir/Organization?_id=p").by_root().header("if-none-match", "*");
        assert_eq!(found.json(&json!({"name": "F"})).send().await.outcome(), (412, "conflict"));
        let request = json!({"method": "PUT", "url": "Organization/p", "ifNoneMatch": "*"});
        let entry = json!({"request": request, "resource": {"name": "G"}});
        let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": [entry]});
        assert_eq!(world.post("/fhir").by_root().fhir(&bundle).send().await.outcome(), (412, "conflict"));
        assert_eq!(world.get("/Organization/p").by_root().send().await.body["name"], "B");
    })
    .await;
}

#[tokio::test]
async fn what_is_created_as_fhir_says_its_type() {
    let world = World::new().await;
    let answer = world.post("/fhir/Patient").by_root().fhir(&json!({})).send().await;
    assert_eq!(answer.outcome(), (400, "invalid"), "{answer:?}");
    assert_eq!(answer.body["issue"][0]["expression"][0], "Patient.resourceType");
    let entry = json!({"request": {"method": "POST", "url": "Patient"}, "resource": {"gender": "female"}});
    let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": [entry]});
    let answer = world.post("/fhir").by_root().fhir(&bundle).send().await;
    assert_eq!(answer.outcome(), (400, "invalid"), "{answer:?}");
    let none = world.get("/fhir/Patient").by_root().send().await;
    assert_eq!(none.body.get("entry").and_then(Value::as_array).map_or(0, Vec::len), 0, "{none:?}");
    let whole = world.post("/fhir/Patient").by_root().fhir(&json!({"resourceType": "Patient"})).send().await;
    assert_eq!(whole.status, 201);
    // Here the address says it, and so it does at the native endpoint.
    assert_eq!(world.call("PUT", "/fhir/Patient/p").by_root().fhir(&json!({})).send().await.status, 201);
    assert_eq!(world.post("/Patient").by_root().json(&json!({})).send().await.status, 201);
    world.end().await;
}

#[tokio::test]
async fn a_type_that_no_one_defines_is_404_and_not_an_empty_answer() {
    on_every_engine(async |world| {
        let body = json!({"resourceType": "Patiant", "active": true});
        for (method, path) in [
            ("GET", "/fhir/Patiant"),
            ("GET", "/fhir/Patiant?_summary=count"),
            ("POST", "/fhir/Patiant/_search"),
            ("GET", "/fhir/Patiant/x"),
            ("GET", "/fhir/Patiant/_history"),
            ("POST", "/fhir/Patiant"),
            ("PUT", "/fhir/Patiant/x"),
            ("PUT", "/fhir/Patiant?_id=x"),
            ("PATCH", "/fhir/Patiant/x"),
            ("DELETE", "/fhir/Patiant/x"),
        ] {
            let call = world.call(method, path).by_root();
            let call = if matches!(method, "GET" | "DELETE") || path.ends_with("_search") { call } else { call.fhir(&body) };
            let answer = call.send().await;
            assert_eq!(answer.outcome(), (404, "not-found"), "{method} {path}: {answer:?}");
        }
        let entries = [json!({"request": {"method": "GET", "url": "Patiant"}}), json!({"request": {"method": "PUT", "url": "Patiant/x"}, "resource": body})];
        for (kind, at) in [("batch", "/entry/0/response/status"), ("batch", "/entry/1/response/status")] {
            let bundle = json!({"resourceType": "Bundle", "type": kind, "entry": entries});
            let answer = world.post("/fhir").by_root().fhir(&bundle).send().await;
            assert_eq!(answer.body.pointer(at).unwrap(), "404", "{answer:?}");
        }
        let stranger = world.get("/fhir/Patiant").send().await;
        assert_eq!(stranger.outcome(), (401, "login"), "who may not ask is not told");

        // A type of the platform, with its own word for it, and one that users registered by writing it.
        for path in ["/fhir/Client", "/fhir/User", "/fhir/AcmeMigration", "/fhir/PlatformMigration", "/fhir/Observation"] {
            assert_eq!(world.get(path).by_root().send().await.status, 200, "{path}");
        }
        assert_eq!(world.get("/fhir/Wearable").by_root().send().await.outcome(), (404, "not-found"));
        assert_eq!(world.get("/Wearable").by_root().send().await.status, 200, "natively every type is one");
        world.put("/Wearable/w", &json!({"brand": "x"})).await;
        assert_eq!(world.get("/fhir/Wearable").by_root().send().await.body["total"], 1);
        let written = world.call("PUT", "/fhir/Wearable/v").by_root().fhir(&json!({"brand": "y"})).send().await;
        assert_eq!(written.status, 201);

        // And one that an installed definition describes.
        assert_eq!(world.get("/fhir/Gadget").by_root().send().await.status, 404);
        let definition = json!({"resourceType": "StructureDefinition", "url": "http://e.example/Gadget", "name": "Gadget",
            "status": "active", "kind": "resource", "abstract": false, "type": "Gadget", "derivation": "specialization"});
        world.put("/StructureDefinition/gadget", &definition).await;
        assert_eq!(world.get("/fhir/Gadget").by_root().send().await.body["total"], 0);
    })
    .await;
}
