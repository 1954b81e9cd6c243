//! Introspection and revocation.

use oauth_core::access::ResourceAccessRequest;
use oauth_core::form_fields::FormFields;
use oauth_core::introspection::IntrospectionError;
use oauth_core::token_endpoint::TokenRequest;
use serde_json::{Value, json};

use crate::world::{BASE, GENERATED, NOW_S, World, basic, with_service};

async fn ask(world: &World, authorization: Option<&str>, form: &[(&str, &str)]) -> Result<Value, IntrospectionError> {
    let form = FormFields::new(form.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))).unwrap();
    let request = TokenRequest { authorization, form: &form, address: None };
    let describe = || json!({ "uri": "/auth/introspect", "request-method": "post" });
    let access = ResourceAccessRequest { target: None, operation: "Introspect", explicit: false, request: &describe };
    world.server.introspection.introspect(&world.env(), &request, access).await
}

async fn token(world: &World) -> String {
    let header = basic("service", GENERATED);
    world.token_with(Some(&header), &[("grant_type", "client_credentials")]).await.unwrap().access_token
}

#[tokio::test]
async fn an_active_token_shows_what_it_says() {
    let world = with_service().await;
    let token = token(&world).await;
    let answer = ask(&world, Some(&basic("service", GENERATED)), &[("token", &token)]).await.unwrap();
    assert_eq!(answer["active"], true);
    assert_eq!(answer["client_id"], "service");
    assert_eq!(answer["iss"], BASE);
    assert_eq!(answer["exp"], NOW_S + 900);
    assert_eq!(answer["scope"], "system/Patient.rs system/Observation.cruds custom");
    assert_eq!(answer["token_type"], "Bearer");
    let with_bearer = ask(&world, Some(&format!("Bearer {token}")), &[("token", &token)]).await.unwrap();
    assert_eq!(with_bearer, answer);
    let root = ask(&world, Some(&basic("root", "bootstrap")), &[("token", &token)]).await.unwrap();
    assert_eq!(root, answer);
}

#[tokio::test]
async fn every_other_token_is_inactive_and_nothing_else_is_said() {
    let mut world = with_service().await;
    let good = token(&world).await;
    let header = basic("service", GENERATED);
    let (head, signature) = good.rsplit_once('.').unwrap();
    let flipped = format!("{head}.{}", signature.chars().rev().collect::<String>());
    for bad in ["invalid", "a.b.c", "..", &flipped, &"x".repeat(9000)] {
        assert_eq!(ask(&world, Some(&header), &[("token", bad)]).await.unwrap(), json!({ "active": false }));
    }
    world.now_s += 900;
    assert_eq!(ask(&world, Some(&header), &[("token", &good)]).await.unwrap(), json!({ "active": false }));
}

#[tokio::test]
async fn the_caller_authenticates() {
    let world = with_service().await;
    let token = token(&world).await;
    for header in [None, Some("Bearer nothing"), Some("Bearer a.b.c")] {
        let error = ask(&world, header, &[("token", &token)]).await.unwrap_err();
        assert!(matches!(error, IntrospectionError::Unauthenticated), "{error}");
    }
    let error = ask(&world, Some(&basic("service", "wrong")), &[("token", &token)]).await.unwrap_err();
    assert!(matches!(error, IntrospectionError::Request(error) if error.error_code() == "invalid_client"));
    let error = ask(&world, Some(&basic("service", GENERATED)), &[]).await.unwrap_err();
    assert!(matches!(error, IntrospectionError::Request(error) if error.error_code() == "invalid_request"));
}

#[tokio::test]
async fn a_foreign_token_is_shown_only_to_whom_a_policy_lets_introspect() {
    let world = with_service().await;
    let token = token(&world).await;
    let hash = world.sealed_secret("2cF9dL4hG6sPaUeIoKxNvBtYq8Zk3vX1mT0yR7bW5nJ");
    world.memory.put_resource("Client", "gateway", json!({ "grant_types": ["basic"], "secret": hash }));
    let gateway = basic("gateway", "2cF9dL4hG6sPaUeIoKxNvBtYq8Zk3vX1mT0yR7bW5nJ");
    let hidden = ask(&world, Some(&gateway), &[("token", &token)]).await.unwrap();
    assert_eq!(hidden, json!({ "active": false }));
    world.memory.put_policy(
        "gateway",
        json!({
            "engine": "matcho", "matcho": { "uri": "/auth/introspect" },
            "link": [{ "reference": "Client/gateway" }],
        }),
    );
    assert_eq!(ask(&world, Some(&gateway), &[("token", &token)]).await.unwrap()["active"], true);
}

#[tokio::test]
async fn a_revoked_token_is_inactive_and_a_foreign_one_is_left_alone() {
    let world = with_service().await;
    let (first, second) = (token(&world).await, token(&world).await);
    let header = basic("service", GENERATED);
    let hash = world.sealed_secret("2cF9dL4hG6sPaUeIoKxNvBtYq8Zk3vX1mT0yR7bW5nJ");
    world.memory.put_resource("Client", "other", json!({ "grant_types": ["basic"], "secret": hash }));
    let other = basic("other", "2cF9dL4hG6sPaUeIoKxNvBtYq8Zk3vX1mT0yR7bW5nJ");
    for (header, token) in [(&other, &second), (&header, &first), (&header, &first)] {
        let form = FormFields::new([("token".to_owned(), token.clone())]).unwrap();
        let request = TokenRequest { authorization: Some(header), form: &form, address: None };
        world.server.introspection.revoke_token(&world.env(), &request).await.unwrap();
    }
    assert_eq!(ask(&world, Some(&header), &[("token", &first)]).await.unwrap(), json!({ "active": false }));
    assert_eq!(ask(&world, Some(&header), &[("token", &second)]).await.unwrap()["active"], true);
    let form = FormFields::new([("token".to_owned(), "unknown".to_owned())]).unwrap();
    world
        .server
        .introspection
        .revoke_token(&world.env(), &TokenRequest { authorization: Some(&header), form: &form, address: None })
        .await
        .unwrap();
    let error = world
        .server
        .introspection
        .revoke_token(&world.env(), &TokenRequest { authorization: None, form: &form, address: None })
        .await;
    assert_eq!(error.unwrap_err().error_code(), "invalid_client");
}

#[tokio::test]
async fn an_opaque_token_is_introspected_and_revoked_like_a_jwt() {
    let world = with_service().await;
    let hash = world.sealed_secret(GENERATED);
    world.memory.put_resource("Client", "service", json!({ "grant_types": ["client_credentials"], "secret": hash }));
    let (token, header) = (token(&world).await, basic("service", GENERATED));
    assert_eq!(ask(&world, Some(&header), &[("token", &token)]).await.unwrap()["sub"], "service");
    let form = FormFields::new([("token".to_owned(), token.clone())]).unwrap();
    world
        .server
        .introspection
        .revoke_token(&world.env(), &TokenRequest { authorization: Some(&header), form: &form, address: None })
        .await
        .unwrap();
    assert_eq!(ask(&world, Some(&header), &[("token", &token)]).await.unwrap(), json!({ "active": false }));
}

#[tokio::test]
async fn a_token_revoked_while_its_client_is_inactive_stays_revoked() {
    let world = with_service().await;
    let token = token(&world).await;
    let hash = world.sealed_secret(GENERATED);
    let client = |active| json!({ "active": active, "grant_types": ["basic"], "secret": hash });
    world.memory.put_resource("Client", "service", client(false));
    let form = FormFields::new([("token".to_owned(), token.clone())]).unwrap();
    let root = basic("root", "bootstrap");
    world
        .server
        .introspection
        .revoke_token(&world.env(), &TokenRequest { authorization: Some(&root), form: &form, address: None })
        .await
        .unwrap();
    world.memory.put_resource("Client", "service", client(true));
    assert_eq!(ask(&world, Some(&root), &[("token", &token)]).await.unwrap(), json!({ "active": false }));
}

#[tokio::test]
async fn a_secret_changed_since_the_copy_was_read_no_longer_introspects() {
    let world = with_service().await;
    let token = token(&world).await;
    let other = "2cF9dL4hG6sPaUeIoKxNvBtYq8Zk3vX1mT0yR7bW5nJ";
    let hash = world.sealed_secret(other);
    world.memory.put_resource("Client", "service", json!({ "grant_types": ["client_credentials"], "secret": hash }));
    let error = ask(&world, Some(&basic("service", GENERATED)), &[("token", &token)]).await.unwrap_err();
    assert!(matches!(error, IntrospectionError::Request(error) if error.error_code() == "invalid_client"));
    assert_eq!(ask(&world, Some(&basic("service", other)), &[("token", &token)]).await.unwrap()["active"], true);
}

#[tokio::test]
async fn an_opaque_token_whose_client_was_deactivated_since_the_copy_was_read_is_inactive() {
    let world = with_service().await;
    let hash = world.sealed_secret(GENERATED);
    let client = |active| json!({ "active": active, "grant_types": ["client_credentials"], "secret": hash });
    world.memory.put_resource("Client", "service", client(true));
    let token = token(&world).await;
    let root = basic("root", "bootstrap");
    assert_eq!(ask(&world, Some(&root), &[("token", &token)]).await.unwrap()["active"], true);
    world.memory.put_resource("Client", "service", client(false));
    assert_eq!(ask(&world, Some(&root), &[("token", &token)]).await.unwrap(), json!({ "active": false }));
}
