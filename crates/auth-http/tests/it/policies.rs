//! Access policies of every engine, and why they decide as they do.

use serde_json::{Value, json};

use crate::world::{SECRET, World, on_every_engine};

async fn read(world: &World, id: &str) -> u16 {
    world.get(&format!("/fhir/Patient/{id}")).basic("partner", SECRET).send().await.status.as_u16()
}

async fn with_policy(world: &World, policy: &Value) {
    world.client_with_policy("partner", policy).await;
    for id in ["a", "b"] {
        world.put(&format!("/Patient/{id}"), &json!({"resourceType": "Patient"})).await;
    }
}

#[tokio::test]
async fn a_schema_and_a_combination_decide_about_the_request() {
    on_every_engine(async |world| {
        let schema = json!({"properties": {"params": {"properties": {"resource/id": {"const": "a"}}}}});
        with_policy(world, &json!({"engine": "json-schema", "schema": schema})).await;
        assert_eq!((read(world, "a").await, read(world, "b").await), (200, 403));

        let matcho = |id: &str| json!({"engine": "matcho", "matcho": {"params": {"resource/id": id}}});
        with_policy(world, &json!({"engine": "complex", "or": [matcho("b"), matcho("c")]})).await;
        assert_eq!((read(world, "a").await, read(world, "b").await), (403, 200));
        let both = json!([matcho("b"), {"engine": "json-schema", "schema": schema}]);
        with_policy(world, &json!({"engine": "complex", "and": both})).await;
        assert_eq!((read(world, "a").await, read(world, "b").await), (403, 403));
    })
    .await;
}

#[tokio::test]
async fn a_policy_knows_which_operation_is_asked_for() {
    on_every_engine(async |world| {
        let statuses = async || {
            let id = "/fhir/Patient/a";
            let asked = [("GET", id), ("GET", "/fhir/Patient"), ("PUT", id), ("DELETE", id)];
            let mut statuses = Vec::new();
            for (method, path) in asked {
                let call = world.call(method, path).basic("partner", SECRET);
                let call =
                    if method == "PUT" { call.json(&json!({"resourceType": "Patient", "id": "a"})) } else { call };
                statuses.push(call.send().await.status.as_u16());
            }
            statuses
        };
        let matcho = |operation: Value| json!({"engine": "matcho", "matcho": {"operation": {"id": operation}}});
        with_policy(world, &matcho(json!({"$not": "FhirDelete"}))).await;
        assert_eq!(statuses().await, [200, 200, 200, 403]);
        with_policy(world, &matcho(json!({"$enum": ["FhirRead", "FhirSearch"]}))).await;
        assert_eq!(statuses().await, [200, 200, 403, 403]);
        let query = "SELECT {{operation.id}} = 'FhirRead'";
        with_policy(world, &json!({"engine": "sql", "sql": {"query": query}})).await;
        assert_eq!(statuses().await, [200, 403, 403, 403]);
        let told =
            world.get("/$explain-access?method=DELETE&path=/fhir/Patient/a&client=partner").by_root().send().await;
        assert_eq!((&told.body["operation"], &told.body["allowed"]), (&json!("FhirDelete"), &json!(false)));
    })
    .await;
}

#[tokio::test]
async fn the_database_decides_with_what_the_request_says_bound_to_the_question() {
    on_every_engine(async |world| {
        let asks = |query: &str| json!({"engine": "sql", "sql": {"query": query}});
        // The record has to be one that is marked, whatever its id reads like.
        let query = "SELECT true FROM {{!params.resource/type}} WHERE id = {{params.resource/id}} \
            AND CAST(resource AS TEXT) LIKE '%open%'";
        with_policy(world, &asks(query)).await;
        world.put("/Patient/a", &json!({"resourceType": "Patient", "language": "open"})).await;
        assert_eq!((read(world, "a").await, read(world, "b").await), (200, 403));
        let injected = "/fhir/Patient?x=' OR 'a' = 'a".replace(' ', "%20").replace('\'', "%27");
        assert_eq!(world.get(&injected).basic("partner", SECRET).send().await.status, 403);

        for (query, status) in [
            ("SELECT 1;", 200),
            ("SELECT 2", 403),
            ("SELECT 'true'", 403),
            ("SELECT NULL", 403),
            ("SELECT true WHERE 1 = 0", 403),
            ("SELECT false UNION ALL SELECT true", 403),
            ("SELECT true FROM nowhere", 403),
            ("DELETE FROM patient", 403),
            ("SELECT client.id = {{client.id}} FROM client WHERE id = 'partner'", 200),
            ("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) = 0 FROM n", 403),
        ] {
            with_policy(world, &asks(query)).await;
            assert_eq!(read(world, "a").await, status, "{query}");
        }
        assert_eq!(world.get("/fhir/Patient/b").by_root().send().await.status, 200, "nothing was deleted");
        let either = json!({"engine": "complex", "or": [asks("SELECT false"), asks("SELECT true")]});
        with_policy(world, &either).await;
        assert_eq!(read(world, "a").await, 200);
    })
    .await;
}

#[tokio::test]
async fn only_the_administrator_writes_a_policy_that_asks_the_database() {
    let world = World::new().await;
    world.client_with_policy("registrar", &json!({"engine": "matcho", "matcho": {"uri": "#^/AccessPolicy"}})).await;
    let put = async |policy: Value| {
        world.call("PUT", "/AccessPolicy/p").basic("registrar", SECRET).json(&policy).send().await.status.as_u16()
    };
    let sql = json!({"engine": "sql", "sql": {"query": "SELECT true"}});
    assert_eq!(put(json!({"engine": "json-schema", "schema": {}, "roleName": "x"})).await, 201);
    assert_eq!(put(sql.clone()).await, 403);
    assert_eq!(put(json!({"engine": "complex", "or": [sql]})).await, 403);
    let patch = json!({"engine": "sql", "sql": {"query": "SELECT true"}});
    let patched = world.call("PATCH", "/AccessPolicy/p").basic("registrar", SECRET).json(&patch).send().await;
    assert_eq!(patched.status, 403);
    assert_eq!(world.get("/AccessPolicy/p").by_root().send().await.body["engine"], "json-schema");
    world.end().await;
}

#[tokio::test]
async fn an_administrator_is_told_what_decides_and_what_is_missing() {
    let world = World::new().await;
    world.app().await;
    let matcho = json!({"engine": "matcho", "matcho": {"uri": "/fhir/Claim/1"}, "link": [{"reference": "Client/app"}]});
    world.put("/AccessPolicy/claims", &matcho).await;
    let explain = async |query: &str| world.get(&format!("/$explain-access?{query}")).by_root().send().await;

    let told =
        explain("method=GET&path=/fhir/Claim/1&client=app&user=ada&patient=me&scope=patient/Claim.rs%20openid").await;
    assert_eq!((told.status.as_u16(), &told.body["allowed"]), (200, &json!(true)), "{told:?}");
    assert_eq!((&told.body["operation"], &told.body["only_in_part"]), (&json!("FhirRead"), &json!(true)));
    let explanation = &told.body["explanation"];
    assert_eq!(explanation["permitting_scopes"], json!(["patient/Claim.rs"]));
    assert_eq!(explanation["policies"][0], json!({"id": "app", "engine": "allow", "passes": true}));
    assert_eq!(explanation["policies"][1], json!({"id": "claims", "engine": "matcho", "passes": true}));

    let told = explain("method=delete&path=/fhir/Claim/2&client=app&user=ada&patient=me&scope=patient/Claim.rs").await;
    assert_eq!(told.body["allowed"], false);
    assert!(told.body["because"].as_str().unwrap().contains("lacks a scope"), "{told:?}");
    assert_eq!(told.body["explanation"]["missing_scope"], "patient/Claim.d");
    let mismatches = &told.body["explanation"]["policies"][1]["mismatches"];
    assert_eq!(mismatches[0]["but"], "/fhir/Claim/2", "{told:?}");

    let told = explain("method=PUT&path=/Client/x&client=app").await;
    assert_eq!(
        (&told.body["allowed"], &told.body["explanation"]["policies"][0]["passes"]),
        (&json!(false), &json!(false))
    );
    let nobody = explain("method=GET&path=/fhir/Patient?name=x").await;
    assert_eq!((&nobody.body["allowed"], &nobody.body["explanation"]["policies"]), (&json!(false), &json!([])));

    for refused in [
        "path=/fhir/Patient",
        "method=GET",
        "method=JUMP&path=/fhir/Patient",
        "method=GET&path=/fhir/a/b/c",
        "method=GET&path=/fhir/Patient&client=nobody",
        "method=GET&path=/fhir/Patient&user=ada",
        "method=GET&path=/fhir/Patient&client=app&user=nobody",
        "method=GET&path=/fhir/Patient&client=app&scope=patient/x.z",
    ] {
        assert_eq!(explain(refused).await.outcome().0, 400, "{refused}");
    }
    let other = world.get("/$explain-access?method=GET&path=/fhir/Patient").basic("app", SECRET).send().await;
    assert!(matches!(other.status.as_u16(), 401 | 403), "{other:?}");
    world.end().await;
}
