//! Who may call the resource endpoints.

use serde_json::json;

use crate::world::{BASE, SECRET, World, on_every_engine};

#[tokio::test]
async fn without_credentials_every_resource_address_is_401_with_a_challenge() {
    let world = World::new().await;
    let body = json!({});
    for (method, path) in [
        ("GET", "/Client/x"),
        ("GET", "/Client"),
        ("PUT", "/Client/x"),
        ("POST", "/Client"),
        ("PATCH", "/Client/x"),
        ("DELETE", "/Client/x"),
        ("GET", "/fhir/Patient/x"),
        ("GET", "/fhir/Patient"),
        ("GET", "/Client/x/_history/1"),
    ] {
        let answer = world.call(method, path).json(&body).send().await;
        assert_eq!(answer.outcome(), (401, "login"), "{method} {path}");
        let challenge = format!("Bearer realm=\"{BASE}\"");
        assert_eq!(answer.header("www-authenticate"), challenge, "{method} {path}");
    }
    assert_eq!(world.get("/Client/x").by_root().send().await.outcome(), (404, "not-found"), "nothing was written");
    world.end().await;
}

#[tokio::test]
async fn credentials_that_are_wrong_never_count_as_absent() {
    let world = World::new().await;
    world.put("/AccessPolicy/open", &json!({"engine": "allow"})).await;
    assert_eq!(world.get("/fhir/Patient").send().await.status, 200, "the policy is open to everyone");

    let wrong = world.get("/fhir/Patient").basic("nobody", "x").send().await;
    assert_eq!(wrong.outcome(), (401, "login"));
    assert!(wrong.header("www-authenticate").starts_with("Basic "), "{wrong:?}");
    let wrong = world.get("/fhir/Patient").bearer("nonsense").send().await;
    assert_eq!(wrong.outcome(), (401, "login"));
    let challenge = format!("Bearer realm=\"{BASE}\", error=\"invalid_token\"");
    assert_eq!(wrong.header("www-authenticate"), challenge);
    for header in ["Digest x", "Basic", "Basic %%%", "Bearer", ""] {
        let wrong = world.get("/fhir/Patient").header("authorization", header).send().await;
        assert_eq!(wrong.outcome(), (401, "login"), "{header}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_client_without_the_grant_basic_may_not_use_it() {
    let world = World::new().await;
    world.put("/Client/x", &json!({"grant_types": ["client_credentials"], "secret": SECRET})).await;
    world.put("/AccessPolicy/x", &json!({"engine": "allow"})).await;
    assert_eq!(world.get("/fhir/Patient").basic("x", SECRET).send().await.outcome(), (401, "login"));
    world.end().await;
}

#[tokio::test]
async fn a_client_without_a_policy_is_forbidden_and_with_one_may() {
    on_every_engine(async |world| {
        world.put("/Client/reader", &json!({"grant_types": ["basic"], "secret": SECRET})).await;
        world.put("/Organization/o", &json!({"name": "O"})).await;
        let answer = world.get("/fhir/Organization/o").basic("reader", SECRET).send().await;
        assert_eq!(answer.outcome(), (403, "forbidden"));
        assert_eq!(answer.body["id"], "forbidden");
        assert_eq!(answer.body["issue"][0]["severity"], "fatal");
        assert_eq!(answer.body["issue"][0]["diagnostics"], "Forbidden");
        assert_eq!(answer.header("content-type"), "application/fhir+json");

        let policy = json!({
            "engine": "matcho",
            "link": [{"reference": "Client/reader"}],
            "matcho": {"uri": "#^/fhir/Organization", "request-method": "get"},
        });
        world.put("/AccessPolicy/reader", &policy).await;
        assert_eq!(world.get("/fhir/Organization/o").basic("reader", SECRET).send().await.status, 200);
        let write = world.call("DELETE", "/fhir/Organization/o").basic("reader", SECRET).send().await;
        assert_eq!(write.outcome(), (403, "forbidden"));
        assert_eq!(world.get("/Organization/o").basic("reader", SECRET).send().await.status, 403);
        assert_eq!(world.get("/Organization/o").by_root().send().await.status, 200, "it was not deleted");
    })
    .await;
}

#[tokio::test]
async fn a_token_that_lacks_a_scope_is_insufficient_whatever_a_policy_allows() {
    let world = World::new().await;
    let token = world.token_with_scope("service", "system/Patient.rs").await;
    let answer = world.get("/fhir/Observation").bearer(&token).send().await;
    assert_eq!(answer.outcome(), (403, "forbidden"));
    let challenge = answer.header("www-authenticate");
    assert!(challenge.contains("error=\"insufficient_scope\""), "{challenge}");
    assert!(challenge.contains("scope=\"system/Observation.s\""), "{challenge}");

    assert_eq!(world.get("/fhir/Patient").bearer(&token).send().await.status, 200);
    assert_eq!(world.get("/Observation").bearer(&token).send().await.status, 403, "natively too");
    let patient = json!({"resourceType": "Patient"});
    for (method, path) in [("POST", "/fhir/Patient"), ("PUT", "/fhir/Patient/p"), ("DELETE", "/fhir/Patient/p")] {
        let answer = world.call(method, path).bearer(&token).fhir(&patient).send().await;
        assert_eq!(answer.status, 403, "{method}");
    }
    assert_eq!(world.get("/Patient/p").by_root().send().await.status, 404, "nothing was written");
    world.end().await;
}

#[tokio::test]
async fn a_conditional_write_needs_the_scope_to_search() {
    let world = World::new().await;
    let creates = world.token_with_scope("creates", "system/Patient.c").await;
    let both = world.token_with_scope("both", "system/Patient.cs").await;
    let patient = json!({"resourceType": "Patient", "name": [{"family": "X"}]});
    let post =
        |token: &str| world.post("/fhir/Patient").bearer(token).header("if-none-exist", "identifier=1").fhir(&patient);
    assert_eq!(post(&creates).send().await.status, 403);
    assert_eq!(post(&both).send().await.status, 201);
    world.end().await;
}

#[tokio::test]
async fn policies_see_the_request_and_not_its_credentials() {
    let world = World::new().await;
    let policy = json!({"engine": "matcho", "matcho": {
        "request-method": "put",
        "uri": "/Organization/o",
        "scheme": "https",
        "remote-addr": "192.0.2.7",
        "params": {"resource/type": "Organization", "resource/id": "o", "x": ["1", "2"]},
        "headers": {"x-site": "a", "authorization": "nil?"},
        "body": {"name": "O"},
        "resource": {"name": "O"},
        "client": {"id": "writer", "secret": "nil?"},
    }});
    world.client_with_policy("writer", &policy).await;
    let put = |path: &str, name: &str| {
        let body = json!({"name": name});
        world.call("PUT", path).basic("writer", SECRET).header("x-site", "a").json(&body)
    };
    let answer = put("/Organization/o?x=1&x=2", "O").send().await;
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(put("/Organization/o?x=1", "O").send().await.status, 403);
    assert_eq!(put("/Organization/o?x=1&x=2", "P").send().await.status, 403);
    world.end().await;
}

#[tokio::test]
async fn a_caller_may_not_grant_itself_a_policy() {
    let world = World::new().await;
    world.put("/Client/x", &json!({"grant_types": ["basic"], "secret": SECRET})).await;
    let policy = json!({"engine": "allow", "link": [{"reference": "Client/x"}]});
    let answer = world.call("PUT", "/AccessPolicy/x").basic("x", SECRET).json(&policy).send().await;
    assert_eq!(answer.status, 403);
    assert_eq!(world.get("/AccessPolicy/x").by_root().send().await.status, 404);
    world.end().await;
}

#[tokio::test]
async fn an_unknown_address_is_404_and_a_wrong_method_405() {
    let world = World::new().await;
    for path in ["/nowhere", "/a/b/c/d", "/fhir/nowhere", "/fhir/a/b/c/d", "/.well-known/nothing", "/Client/x/y"] {
        assert_eq!(world.get(path).by_root().send().await.outcome(), (404, "not-found"), "{path}");
    }
    for (method, path) in [("DELETE", "/"), ("GET", "/fhir"), ("POST", "/Client/x"), ("POST", "/health")] {
        let answer = world.call(method, path).by_root().send().await;
        assert_eq!(answer.outcome(), (405, "not-supported"), "{method} {path}");
        assert_ne!(answer.header("allow"), "", "{method} {path}");
    }
    world.end().await;
}
