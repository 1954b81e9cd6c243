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
        assert_eq!(by_p("PUT", "/Organization/o", &json!({"name": "O"})).send().await.status, 201, "the rest it may");
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
