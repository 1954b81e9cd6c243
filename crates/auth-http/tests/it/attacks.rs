//! What a partner with credentials tries beyond what it was given. Each refusal is followed by a look
//! at what was written or shown.

use serde_json::{Value, json};

use crate::world::{SECRET, World, on_every_engine};

#[tokio::test]
async fn a_partner_with_an_allow_policy_cannot_rewrite_a_registration() {
    on_every_engine(async |world| {
        world.client_with_policy("p", &json!({"engine": "allow"})).await;
        let before = world.get("/Client/p").by_root().send().await.body;
        let by_p = |method: &str, path: &str, body: &Value| world.call(method, path).basic("p", SECRET).json(body);
        let scope = json!({"scope": ["system/*.*"]});
        let operations = json!([{"op": "add", "path": "/scope", "value": ["system/*.*"]}]);
        let policy = json!({"engine": "allow"});
        let user = json!({"userName": "eve"});
        for (method, path, body) in [
            ("PATCH", "/Client/p", &scope),
            ("PATCH", "/fhir/Client/p", &scope),
            ("PATCH", "/Client/p", &operations),
            ("PATCH", "/Client?id=p", &scope),
            ("PUT", "/Client/p", &scope),
            ("DELETE", "/Client/p", &scope),
            ("POST", "/Client", &scope),
            ("PUT", "/AccessPolicy/mine", &policy),
            ("POST", "/fhir/AccessPolicy", &policy),
            ("PATCH", "/AccessPolicy/p", &json!({"link": []})),
            ("PUT", "/User/eve", &user),
            ("PUT", "/fhir/Organization/o", &json!({"name": "Another payer"})),
            ("PUT", "/fhir/SearchParameter/s", &json!({"code": "hidden", "base": ["User"]})),
        ] {
            assert_eq!(by_p(method, path, body).send().await.outcome(), (403, "forbidden"), "{method} {path}");
        }
        for kind in ["batch", "transaction"] {
            let entry = json!({"request": {"method": "PUT", "url": "AccessPolicy/mine"}, "resource": policy});
            let bundle = json!({"resourceType": "Bundle", "type": kind, "entry": [entry]});
            let answer = by_p("POST", "/", &bundle).send().await;
            let status = &answer.body["entry"][0]["response"]["status"];
            assert!(answer.status == 403 || *status == "403", "{kind}: {answer:?}");
        }
        assert_eq!(world.get("/Client/p").by_root().send().await.body, before);
        assert_eq!(world.get("/Client").by_root().send().await.body["total"], 1);
        assert_eq!(world.get("/AccessPolicy").by_root().send().await.body["total"], 1);
        assert_eq!(world.get("/User").by_root().send().await.body["total"], 0);
        assert_eq!(world.get("/Organization").by_root().send().await.body["total"], 0);
        assert_eq!(world.get("/SearchParameter").by_root().send().await.body["total"], 0);
        assert_eq!(by_p("PUT", "/Patient/o", &json!({"name": []})).send().await.status, 201, "the rest it may");
    })
    .await;
}

#[tokio::test]
async fn a_partner_with_an_allow_policy_cannot_see_a_diagnosis() {
    let world = World::new().await;
    world.client_with_policy("p", &json!({"engine": "allow"})).await;
    world.client_with_policy("q", &json!({"engine": "matcho", "matcho": {"uri": "#^/Client/"}})).await;
    let diagnosis =
        async |of: &str, by: &str| world.get(&format!("/Client/{of}/$b2b-claim")).basic(by, SECRET).send().await;
    for of in ["p", "q"] {
        assert_eq!(diagnosis(of, "p").await.outcome(), (403, "forbidden"), "{of}");
    }
    assert_eq!(diagnosis("p", "q").await.status, 200, "a policy that spells it out lets it");
    world.end().await;
}

/// What policies allow a partner: one of engine matcho for each pattern.
async fn partner(world: &World, id: &str, patterns: &[Value]) {
    world.client_with_policy(id, &json!({"engine": "matcho", "matcho": {"$one-of": patterns}})).await;
}

async fn a_patient(world: &World, id: &str, ssn: &str) -> Value {
    let body = json!({"resourceType": "Patient", "ssn": ssn, "name": [{"family": "Secret"}]});
    world.put(&format!("/Patient/{id}"), &body).await.body
}

#[tokio::test]
async fn a_conditional_create_does_not_show_what_the_caller_may_not_read() {
    on_every_engine(async |world| {
        a_patient(world, "p2", "2").await;
        let create = json!({"request-method": "post", "uri": "#^(/fhir)?/Patient$"});
        let search = json!({"request-method": "get", "uri": "#^(/fhir)?/Patient$", "params": {"_id": "p2"}});
        partner(world, "creates", std::slice::from_ref(&create)).await;
        partner(world, "searches", &[create, search]).await;
        let post = |by: &str, path: &str, condition: &str| {
            let call = world.post(path).basic(by, SECRET).header("if-none-exist", condition);
            call.json(&json!({"resourceType": "Patient", "id": "new"}))
        };
        for path in ["/Patient", "/fhir/Patient"] {
            let refused = post("creates", path, "_id=p2").send().await;
            assert_eq!(refused.outcome(), (403, "forbidden"), "{refused:?}");
            let other = post("searches", path, "name=2").send().await;
            assert_eq!(other.outcome(), (403, "forbidden"), "the condition is a list, judged as one: {other:?}");
            let silent = post("searches", path, "Patient?_id=p2").send().await;
            assert_eq!((silent.status.as_u16(), silent.length), (200, 0), "{silent:?}");
            assert_ne!(silent.header("etag"), "");
        }
        let entry = |condition: &str| {
            let request = json!({"method": "POST", "url": "Patient", "ifNoneExist": condition});
            json!({"resourceType": "Bundle", "type": "batch", "entry": [{"request": request, "resource": {}}]})
        };
        let sent = |by: &str, condition: &str| world.post("/").basic(by, SECRET).json(&entry(condition));
        let refused = sent("creates", "_id=p2").send().await.body;
        assert_eq!(refused["entry"][0]["response"]["status"], "403", "{refused}");
        let silent = sent("searches", "_id=p2").send().await.body;
        assert_eq!(silent["entry"][0]["response"]["status"], "200", "{silent}");
        assert!(!silent.to_string().contains("Secret"), "{silent}");
        assert_eq!(world.get("/Patient").by_root().send().await.body["total"], 1, "nothing was written");
    })
    .await;
}

#[tokio::test]
async fn a_put_to_an_id_takes_no_condition_that_finds_another() {
    on_every_engine(async |world| {
        let before = a_patient(world, "p2", "2").await;
        partner(world, "p", &[json!({"uri": "#^/Patient(/p1)?$"})]).await;
        for by_root in [true, false] {
            let call = world.call("PUT", "/Patient/p1").header("if-none-exist", "ssn=2");
            let call = if by_root { call.by_root() } else { call.basic("p", SECRET) };
            let answer = call.json(&json!({"a": 1})).send().await;
            assert_eq!(answer.outcome(), (400, "invalid"), "{answer:?}");
            assert!(!answer.body.to_string().contains("Secret"));
        }
        assert_eq!(world.get("/Patient/p1").by_root().send().await.status, 404);
        assert_eq!(world.get("/Patient/p2").by_root().send().await.body, before);
    })
    .await;
}

#[tokio::test]
async fn an_entry_of_a_bundle_is_judged_by_its_own_address() {
    on_every_engine(async |world| {
        a_patient(world, "p1", "1").await;
        a_patient(world, "p2", "2").await;
        let own = |query: &str| json!({"uri": "/Patient", "params": {"ssn": "1"}, "query-string": query});
        partner(world, "p", &[own("ssn=1")]).await;
        let get = |url: &str| json!({"request": {"method": "GET", "url": url}});
        for kind in ["batch", "transaction"] {
            let bundle = |entry: Value| json!({"resourceType": "Bundle", "type": kind, "entry": [entry]});
            for address in ["/?ssn=1", "/"] {
                for url in ["Patient?ssn=2", "Patient"] {
                    let answer = world.post(address).basic("p", SECRET).json(&bundle(get(url))).send().await;
                    let status = &answer.body["entry"][0]["response"]["status"];
                    assert!(answer.status == 403 || *status == "403", "{kind} {address} {url}: {answer:?}");
                    assert!(!answer.body.to_string().contains("Secret"), "{kind} {address} {url}");
                }
                let delete = json!({"request": {"method": "DELETE", "url": "Patient?ssn=2"}});
                let answer = world.post(address).basic("p", SECRET).json(&bundle(delete)).send().await;
                let status = &answer.body["entry"][0]["response"]["status"];
                assert!(answer.status == 403 || *status == "403", "{kind} {address}: {answer:?}");
                let may = world.post(address).basic("p", SECRET).json(&bundle(get("Patient?ssn=1"))).send().await.body;
                assert_eq!(may["entry"][0]["resource"]["total"], 1, "{kind} {address}: {may}");
            }
        }
        assert_eq!(world.get("/Patient").by_root().send().await.body["total"], 2);
    })
    .await;
}

#[tokio::test]
async fn a_patch_does_not_hide_from_policies_what_it_writes() {
    on_every_engine(async |world| {
        let own = json!({"request-method": "#^(put|patch)$", "uri": "#^(/fhir)?/Client/self$",
            "body": {"scope": "nil?"}});
        partner(world, "self", &[own]).await;
        let before = world.get("/Client/self").by_root().send().await.body;
        let patch = |path: &str, body: Value| world.call("PATCH", path).basic("self", SECRET).json(&body);
        for path in ["/Client/self", "/fhir/Client/self"] {
            for body in
                [json!({"scope": ["system/*.*"]}), json!([{"op": "add", "path": "/scope", "value": ["system/*.*"]}])]
            {
                let answer = patch(path, body.clone()).send().await;
                assert_eq!(answer.outcome(), (403, "forbidden"), "{path} {body}: {answer:?}");
            }
        }
        assert_eq!(world.get("/Client/self").by_root().send().await.body, before);
        assert_eq!(patch("/Client/self", json!({"description": "d"})).send().await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn a_patch_is_judged_by_the_document_it_makes() {
    on_every_engine(async |world| {
        let harmless = json!({"request-method": "patch", "resource": {"status": "draft", "secret": "nil?"}});
        partner(world, "p", &[harmless.clone(), json!({"request-method": "get", "uri": "/Thing"})]).await;
        let thing = json!({"status": "draft", "owner": "a"});
        world.put("/Thing/t", &thing).await;
        let patch = |path: &str, body: &Value| world.call("PATCH", path).basic("p", SECRET).json(body);
        let publish = json!({"status": "final"});
        let moved = json!([{"op": "remove", "path": "/status"}]);
        for body in [&publish, &moved] {
            for path in ["/Thing/t", "/Thing?owner=a", "/fhir/Thing/t"] {
                assert_eq!(patch(path, body).send().await.outcome(), (403, "forbidden"), "{path} {body}");
            }
            for kind in ["batch", "transaction"] {
                for url in ["Thing/t", "Thing?owner=a"] {
                    let entry = json!({"request": {"method": "PATCH", "url": url}, "resource": body});
                    let bundle = json!({"resourceType": "Bundle", "type": kind, "entry": [entry]});
                    let answer = world.post("/").basic("p", SECRET).json(&bundle).send().await;
                    let status = &answer.body["entry"][0]["response"]["status"];
                    assert!(answer.status == 403 || *status == "403", "{kind} {url} {body}: {answer:?}");
                }
            }
        }
        assert_eq!(patch("/Thing/none", &publish).send().await.status, 403, "not told that there is none");
        assert_eq!(
            patch("/Thing/t", &json!([{"op": "test", "path": "/owner", "value": "b"}])).send().await.status,
            403
        );
        assert_eq!(world.get("/Thing/t").by_root().send().await.body["status"], "draft");

        let own = json!({"owner": "b"});
        assert_eq!(patch("/Thing/t", &own).send().await.status, 200);
        let entry = json!({"request": {"method": "PATCH", "url": "Thing/t"}, "resource": {"owner": "c"}});
        let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": [entry]});
        assert_eq!(world.post("/").basic("p", SECRET).json(&bundle).send().await.status, 200);
        assert_eq!(world.get("/Thing/t").by_root().send().await.body["owner"], "c");

        world.put("/Client/q", &json!({"secret": SECRET, "status": "draft"})).await;
        for body in [
            json!({"secret": "mine-is-long-enough"}),
            json!([{"op": "add", "path": "/secret", "value": "mine-is-long-enough"}]),
        ] {
            assert_eq!(patch("/Client/q", &body).send().await.status, 403, "{body}");
        }
        let kept = patch("/Client/q", &json!({"description": "d"})).send().await;
        assert_eq!(kept.status, 200, "the secret that was there is not what the patch writes: {kept:?}");
    })
    .await;
}

#[tokio::test]
async fn scopes_to_write_do_not_read() {
    on_every_engine(async |world| {
        let patient = json!({"resourceType": "Patient", "birthDate": "1970-01-01", "name": [{"family": "Secret"}]});
        world.put("/Patient/p", &patient).await;
        let updates = world.token_with_scope("updates", "system/Patient.u").await;
        let deletes = world.token_with_scope("deletes", "system/Patient.d").await;
        let creates = world.token_with_scope("creates", "system/Patient.c").await;
        let both = world.token_with_scope("both", "system/Patient.ru").await;
        let empty = json!({});
        for path in ["/Patient/p", "/fhir/Patient/p"] {
            let answer = world.call("PATCH", path).bearer(&updates).json(&empty).send().await;
            assert_eq!((answer.status.as_u16(), answer.length), (200, 0), "{answer:?}");
            assert_ne!(answer.header("etag"), "");
            let seen = world.call("PATCH", path).bearer(&both).json(&empty).send().await;
            assert_eq!((seen.status.as_u16(), &seen.body["birthDate"]), (200, &json!("1970-01-01")));
        }
        let made = world
            .post("/fhir/Patient")
            .bearer(&creates)
            .fhir(&json!({"resourceType": "Patient", "birthDate": "1980-01-01"}))
            .send()
            .await;
        assert_eq!((made.status.as_u16(), made.length), (201, 0));
        assert_ne!(made.header("location"), "");
        for kind in ["batch", "transaction"] {
            let entry = json!({"request": {"method": "PATCH", "url": "Patient/p"}, "resource": {}});
            let bundle = json!({"resourceType": "Bundle", "type": kind, "entry": [entry]});
            let answer = world.post("/fhir").bearer(&updates).fhir(&bundle).send().await.body;
            assert_eq!(answer["entry"][0]["response"]["status"], "200", "{answer}");
            assert!(!answer.to_string().contains("Secret"), "{answer}");
        }
        let list =
            json!([{"id": "p", "resourceType": "Patient", "birthDate": "1970-01-01", "name": [{"family": "Secret"}]}]);
        let answer = world.call("PUT", "/").bearer(&updates).json(&list).send().await;
        assert_eq!((answer.status.as_u16(), answer.body), (200, json!([])));
        let gone = world.call("DELETE", "/fhir/Patient/p").bearer(&deletes).send().await;
        assert_eq!((gone.status.as_u16(), gone.length), (204, 0));
        assert_eq!(world.get("/Patient/p").by_root().send().await.status, 410);
    })
    .await;
}

#[tokio::test]
async fn a_body_of_nobody_is_not_parsed_unless_a_policy_is_open_to_everyone() {
    let world = World::new().await;
    let statuses = async || {
        let mut statuses = Vec::new();
        for (method, path) in [("PUT", "/Patient/p"), ("POST", "/fhir"), ("PATCH", "/Client/c"), ("PUT", "/")] {
            let body = format!("[{}", "[],".repeat(100_000));
            let answer = world.call(method, path).text("application/json", body).send().await;
            statuses.push(answer.outcome().0);
        }
        statuses
    };
    assert_eq!(statuses().await, [401; 4]);
    world.put("/AccessPolicy/open", &json!({"engine": "allow"})).await;
    assert_eq!(statuses().await, [400; 4]);
    world.end().await;
}

#[tokio::test]
async fn a_name_the_json_library_keeps_for_itself_is_never_stored() {
    on_every_engine(async |world| {
        for kind in ["Thing", "AccessPolicy", "Organization"] {
            world.put(&format!("/{kind}/there"), &json!({"engine": "allow"})).await;
        }
        let name = "$serde_json::private::Number";
        let merge = json!({"a": 1, name: "x"});
        let within = json!({"op": "add", "path": "/a", "value": [{"b": 1, name: "x"}]});
        let at = json!({"op": "add", "path": format!("/{name}"), "value": "x"});
        for kind in ["Thing", "AccessPolicy", "Organization"] {
            let top = json!({"resourceType": kind, "engine": "allow", name: "x"});
            let deep = json!({"engine": "allow", "a": [[{"b": {"c": 1, name: "x"}}]]});
            let entry = |method: &str, url: String, resource: &Value| {
                let entry = json!({"request": {"method": method, "url": url}, "resource": resource});
                json!({"resourceType": "Bundle", "type": "transaction", "entry": [entry]})
            };
            let named = json!([{"resourceType": kind, "id": "x", name: "x"}]);
            for (method, path, body) in [
                ("PUT", format!("/{kind}/x"), top.clone()),
                ("PUT", format!("/fhir/{kind}/x"), deep.clone()),
                ("POST", format!("/{kind}"), top.clone()),
                ("PATCH", format!("/{kind}/there"), merge.clone()),
                ("PATCH", format!("/{kind}/there"), json!([within])),
                ("PATCH", format!("/{kind}/there"), json!([at])),
                ("PATCH", format!("/fhir/{kind}/there"), json!([at])),
                ("POST", "/".to_owned(), entry("PUT", format!("{kind}/x"), &deep)),
                ("POST", "/".to_owned(), entry("PATCH", format!("{kind}/there"), &json!([at]))),
                ("PUT", "/".to_owned(), named),
            ] {
                let answer = world.call(method, &path).by_root().json(&body).send().await;
                assert!(matches!(answer.outcome().0, 400 | 422), "{method} {path} {body}: {answer:?}");
            }
            let list = world.get(&format!("/{kind}")).by_root().send().await;
            assert_eq!((list.status.as_u16(), &list.body["total"]), (200, &json!(1)), "{kind}");
            assert!(!list.body.to_string().contains("serde_json"), "{kind}");
        }
        assert_eq!(world.get("/Thing").send().await.status, 200, "the policies still load");
    })
    .await;
}

#[tokio::test]
async fn a_policy_written_under_fhir_means_what_it_says() {
    on_every_engine(async |world| {
        let matcho = json!({"request-method": "put", "resource": {"subject": {"reference": "Patient/1"}}});
        let policy = json!({"resourceType": "AccessPolicy", "engine": "matcho", "matcho": matcho,
            "link": [{"reference": "Client/p"}]});
        world.client_with_policy("p", &json!({"engine": "matcho", "matcho": {"request-method": "nothing"}})).await;
        world.put("/Thing/first", &json!({})).await;
        let entry = json!({"request": {"method": "PUT", "url": "AccessPolicy/p"}, "resource": policy});
        let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": [entry]});
        for (method, path, body) in [
            ("PUT", "/fhir/AccessPolicy/p", &policy),
            ("PATCH", "/fhir/AccessPolicy/p", &json!({"matcho": matcho})),
            ("POST", "/fhir", &bundle),
        ] {
            assert_eq!(world.call(method, path).by_root().fhir(body).send().await.status, 200, "{method}");
            for at in ["/AccessPolicy/p", "/fhir/AccessPolicy/p"] {
                assert_eq!(world.get(at).by_root().send().await.body["matcho"], matcho, "{method} {at}");
            }
            let put = |subject: &str| {
                let body = json!({"subject": {"reference": subject}});
                world.call("PUT", "/fhir/Thing/t").basic("p", SECRET).fhir(&body)
            };
            assert!(put("Patient/1").send().await.status.is_success(), "{method}");
            assert_eq!(put("Patient/2").send().await.status, 403, "{method}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_list_of_resources_is_as_long_as_a_bundle_at_most() {
    let world = World::new().await;
    let resources: Vec<Value> = (0..5_001).map(|n| json!({"resourceType": "Thing", "id": format!("t{n}")})).collect();
    let entries: Vec<Value> = (0..5_001).map(|_| json!({"request": {"method": "GET", "url": "Thing/t"}})).collect();
    let bundle = json!({"resourceType": "Bundle", "type": "batch", "entry": entries});
    for (method, body) in [("PUT", json!(resources)), ("POST", bundle)] {
        assert_eq!(world.call(method, "/").by_root().json(&body).send().await.outcome(), (413, "too-long"), "{method}");
    }
    assert_eq!(world.get("/Thing").by_root().send().await.body["total"], 0);
    world.end().await;
}

#[tokio::test]
async fn a_batch_of_reads_cannot_fill_the_memory() {
    let world = World::new().await;
    let large = "x".repeat(900_000);
    world.put("/Thing/t", &json!({"large": large})).await;
    let entries: Vec<Value> = (0..80).map(|_| json!({"request": {"method": "GET", "url": "Thing/t"}})).collect();
    for kind in ["batch", "transaction"] {
        let bundle = json!({"resourceType": "Bundle", "type": kind, "entry": entries});
        let answer = world.post("/").by_root().json(&bundle).send().await;
        assert!(answer.length < 66 * 1024 * 1024, "{kind}: {}", answer.length);
        let entry = answer.body["entry"].as_array().unwrap();
        assert_eq!((entry.len(), &entry[0]["response"]["status"]), (80, &json!("200")), "{kind}");
        let refused = &entry[79]["response"];
        assert_eq!(
            (&refused["status"], &refused["outcome"]["issue"][0]["code"]),
            (&json!("413"), &json!("too-costly"))
        );
    }
    world.end().await;
}

#[tokio::test]
async fn a_number_beyond_a_double_is_no_condition() {
    on_every_engine(async |world| {
        world.put("/Thing/t", &json!({"x": 1})).await;
        for number in ["1e200000", "-1e-200000", "0e-20000"] {
            assert_eq!(world.get(&format!("/Thing?x={number}")).by_root().send().await.outcome().0, 400);
            let condition = format!("x={number}");
            let post = world.post("/Thing").by_root().header("if-none-exist", &condition).json(&json!({"x": 2}));
            assert_eq!(post.send().await.outcome().0, 400, "{number}");
            let entries = [
                json!({"request": {"method": "POST", "url": "Thing", "ifNoneExist": condition}, "resource": {}}),
                json!({"request": {"method": "GET", "url": format!("Thing?{condition}")}}),
            ];
            let bundle = json!({"resourceType": "Bundle", "type": "batch", "entry": entries});
            let answer = world.post("/").by_root().json(&bundle).send().await.body;
            for entry in answer["entry"].as_array().unwrap() {
                assert_eq!(entry["response"]["status"], "400", "{answer}");
            }
        }
        assert_eq!(world.get("/Thing").by_root().send().await.body["total"], 1);
    })
    .await;
}

#[tokio::test]
async fn a_condition_in_a_header_does_not_stand_in_for_the_one_that_decides() {
    on_every_engine(async |world| {
        let search = json!({"request-method": "get", "uri": "/Patient", "params": {"org": "own"}});
        let write = json!({"request-method": "#^(patch|put|delete)$", "uri": "/Patient"});
        partner(world, "p", &[search, write]).await;
        let before = a_patient(world, "foreign", "123").await;
        for (method, body) in [("PATCH", json!({"a": 1})), ("PUT", json!({"a": 1})), ("DELETE", json!(null))] {
            let request = world.call(method, "/Patient?ssn=123").basic("p", SECRET).json(&body);
            let answer = request.header("if-none-exist", "org=own").send().await;
            assert_eq!(answer.status, 400, "{method}: {answer:?}");
        }
        assert_eq!(world.get("/Patient/foreign").by_root().send().await.body["ssn"], before["ssn"]);
    })
    .await;
}

#[tokio::test]
async fn a_patch_in_a_bundle_is_applied_to_the_version_it_was_judged_on() {
    on_every_engine(async |world| {
        let own = json!({"request-method": "#^(put|patch)$", "resource": {"org": "own"}});
        partner(world, "p", &[own, json!({"request-method": "get"})]).await;
        let stored = world.put("/Thing/mine", &json!({"org": "own", "a": "x"})).await;
        let version: i64 = stored.body["meta"]["versionId"].as_str().unwrap().parse().unwrap();
        let bring = json!({"request": {"method": "PUT", "url": "Thing/mine"},
            "resource": {"resourceType": "Thing", "id": "mine", "org": "own", "a": "foreign"}});
        for guess in version + 1..version + 6 {
            let guessed = json!({"request": {"method": "PATCH", "url": "Thing/mine", "ifMatch": format!("W/\"{guess}\"")},
                "resource": [{"op": "copy", "from": "/a", "path": "/org"}]});
            let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": [bring, guessed]});
            let answer = world.post("/").basic("p", SECRET).json(&bundle).send().await;
            assert!(matches!(answer.status.as_u16(), 403 | 412), "{answer:?}");
        }
        assert_eq!(world.get("/Thing/mine").by_root().send().await.body["org"], "own");
    })
    .await;
}
