//! Public documents.

use serde_json::json;

use crate::world::{BASE, World};

const DOCUMENTS: [&str; 6] = [
    "/.well-known/smart-configuration",
    "/fhir/.well-known/smart-configuration",
    "/.well-known/openid-configuration",
    "/.well-known/oauth-authorization-server",
    "/.well-known/jwks.json",
    "/fhir/metadata",
];

#[tokio::test]
async fn a_public_document_is_answered_to_anybody_from_anywhere() {
    let world = World::new().await;
    for path in DOCUMENTS {
        let answer = world.get(path).header("origin", "https://app.example").send().await;
        assert_eq!(answer.status, 200, "{path}");
        let media_type = if path == "/fhir/metadata" { "application/fhir+json" } else { "application/json" };
        assert_eq!(answer.header("content-type"), media_type, "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), "*", "{path}");
        assert_eq!(answer.header("access-control-allow-credentials"), "", "{path}");
        assert_eq!(answer.header("cache-control"), "public, max-age=300", "{path}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_document_the_caller_holds_is_not_sent_again() {
    let world = World::new().await;
    for path in DOCUMENTS {
        let first = world.get(path).send().await;
        let etag = first.header("etag").to_owned();
        assert!(etag.starts_with('"'), "{path}: {etag}");
        let again = world.get(path).header("if-none-match", &etag).send().await;
        assert_eq!((again.status.as_u16(), again.length), (304, 0), "{path}");
        assert_eq!(again.header("etag"), etag, "{path}");
        let other = world.get(path).header("if-none-match", "\"other\"").send().await;
        assert_eq!(other.status, 200, "{path}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_document_answers_head_with_its_headers_alone() {
    let world = World::new().await;
    for path in DOCUMENTS {
        let answer = world.call("HEAD", path).send().await;
        assert_eq!((answer.status.as_u16(), answer.length), (200, 0), "{path}");
        assert_ne!(answer.header("etag"), "", "{path}");
    }
    world.end().await;
}

#[tokio::test]
async fn discovery_names_the_endpoints_under_the_base_url() {
    let world = World::new().await;
    let smart = world.get("/.well-known/smart-configuration").send().await.body;
    assert_eq!(smart["token_endpoint"], format!("{BASE}/auth/token"));
    assert_eq!(smart["introspection_endpoint"], format!("{BASE}/auth/introspect"));
    assert_eq!(smart["jwks_uri"], format!("{BASE}/.well-known/jwks.json"));
    assert_eq!(smart["token_endpoint_auth_signing_alg_values_supported"], json!(["RS384", "ES384"]));
    let under_fhir = world.get("/fhir/.well-known/smart-configuration").send().await.body;
    assert_eq!(under_fhir, smart);
    let openid = world.get("/.well-known/openid-configuration").send().await.body;
    assert_eq!(openid["issuer"], BASE);
    world.end().await;
}

#[tokio::test]
async fn the_key_set_holds_public_keys_only() {
    let world = World::new().await;
    let jwks = world.get("/.well-known/jwks.json").send().await.body;
    let keys = jwks["keys"].as_array().unwrap();
    assert!(!keys.is_empty());
    for key in keys {
        assert!(key["kid"].is_string(), "{key}");
        for private in ["d", "p", "q", "dp", "dq", "qi", "k"] {
            assert_eq!(key.get(private), None, "{key}");
        }
    }
    world.end().await;
}

#[tokio::test]
async fn the_capability_statement_says_how_to_authorize() {
    let world = World::new().await;
    let statement = world.get("/fhir/metadata").send().await.body;
    assert_eq!(statement["resourceType"], "CapabilityStatement");
    assert_eq!(statement["kind"], "instance");
    assert_eq!(statement["fhirVersion"], "4.0.1");
    assert_eq!(statement["format"], json!(["json"]));
    let security = &statement["rest"][0]["security"];
    assert_eq!(security["service"][0]["coding"][0]["code"], "SMART-on-FHIR");
    let token = json!({"url": "token", "valueUri": format!("{BASE}/auth/token")});
    let addresses = security["extension"][0]["extension"].as_array().unwrap();
    assert!(addresses.contains(&token));
    for (name, path) in [("authorize", "/auth/authorize"), ("manage", "/auth/apps")] {
        assert!(addresses.contains(&json!({"url": name, "valueUri": format!("{BASE}{path}")})), "{addresses:?}");
    }
    world.end().await;
}

#[tokio::test]
async fn health_is_ok_until_the_database_is_gone() {
    let world = World::new().await;
    let answer = world.get("/health").send().await;
    assert_eq!((answer.status.as_u16(), &answer.body["status"]), (200, &json!("ok")));
    assert_eq!(answer.body["version"], "1.2.3");
    world.health.set(false);
    world.wait_s(1);
    let answer = world.get("/health").send().await;
    assert_eq!(answer.outcome(), (503, "transient"));
    world.end().await;
}

#[tokio::test]
async fn the_style_that_apps_take_on_is_public() {
    let world = World::new().await;
    let answer = world.get("/fhir/smart-style.json?v=1").header("origin", "https://app.example").send().await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/json"));
    assert_eq!(answer.header("access-control-allow-origin"), "*");
    assert!(answer.body["color_background"].is_string() && answer.body["font_family_body"].is_string());
    world.end().await;
}
