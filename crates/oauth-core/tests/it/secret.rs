//! The symmetric variant of client credentials.

use oauth_core::token_endpoint::TokenError;
use serde_json::json;

use crate::world::{GENERATED, NOW_S, NOW_US, Partner, assertion_form, basic, with_partner, with_service};

const GRANT: (&str, &str) = ("grant_type", "client_credentials");

#[tokio::test]
async fn the_secret_travels_in_the_body_or_the_basic_header() {
    let world = with_service().await;
    let in_body = world.token(&[GRANT, ("client_id", "service"), ("client_secret", GENERATED)]).await.unwrap();
    let in_header = world.token_with(Some(&basic("service", GENERATED)), &[GRANT]).await.unwrap();
    for response in [in_body, in_header] {
        assert_eq!(response.context.need_patient_banner, Some(true));
        assert_eq!(response.expires_in, 900);
        assert_eq!(response.scope.as_deref(), Some("system/Patient.rs system/Observation.cruds custom"));
        assert_eq!(world.claims(&response.access_token)["exp"], NOW_S + 900);
    }
}

#[tokio::test]
async fn a_percent_encoded_basic_pair_is_accepted_too() {
    let world = with_service().await;
    let secret = "p%3A/ +ä-q8Zk3vX1mT0yR7bW5nJ2cF9dL4hG6s";
    let hash = world.sealed_secret(secret);
    world.memory.put_resource("Client", "svc", json!({ "grant_types": ["client_credentials"], "secret": hash }));
    world.token_with(Some(&basic("svc", secret)), &[GRANT]).await.unwrap();
    let encoded = "p%253A%2F+%2B%C3%A4-q8Zk3vX1mT0yR7bW5nJ2cF9dL4hG6s";
    world.token_with(Some(&basic("svc", encoded)), &[GRANT]).await.unwrap();
}

#[tokio::test]
async fn unknown_client_wrong_secret_and_inactive_client_get_the_same_answer() {
    let world = with_service().await;
    let wrong = world.token(&[GRANT, ("client_id", "service"), ("client_secret", "wrong")]).await.unwrap_err();
    let unknown = world.token(&[GRANT, ("client_id", "nobody"), ("client_secret", GENERATED)]).await.unwrap_err();
    let hash = world.sealed_secret(GENERATED);
    let inactive = json!({ "active": false, "grant_types": ["client_credentials"], "secret": hash });
    world.memory.put_resource("Client", "service", inactive);
    let inactive = world.token_with(Some(&basic("service", GENERATED)), &[GRANT]).await.unwrap_err();
    for error in [&wrong, &unknown, &inactive] {
        assert_eq!(error.error_code(), "invalid_client");
        assert_eq!(error.to_string(), wrong.to_string());
    }
}

#[tokio::test]
async fn a_client_registered_for_assertions_never_falls_back_to_a_weaker_method() {
    let (world, partner) = with_partner().await;
    let hash = world.sealed_secret(GENERATED);
    let mut with_secret = partner.client();
    with_secret["secret"] = json!(hash);
    let mut only_types = with_secret.clone();
    only_types.as_object_mut().unwrap().remove("jwks");
    let mut only_uri = only_types.clone();
    only_uri["auth"] = json!({});
    only_uri["jwks_uri"] = json!("https://partner.example/jwks");
    let mut one_key = only_types.clone();
    one_key["auth"] = json!({});
    one_key["jwks"] = partner.ec_jwk.clone();
    let mut text = only_types.clone();
    text["auth"]["client_credentials"]["client_assertion_types"] = json!("urn:x");
    for client in [with_secret, only_types, only_uri, one_key, text] {
        world.memory.put_resource("Client", "partner", client);
        for form in
            [vec![GRANT, ("client_id", "partner"), ("client_secret", GENERATED)], vec![GRANT, ("client_id", "partner")]]
        {
            assert_eq!(world.token(&form).await.unwrap_err().error_code(), "invalid_client");
        }
        let error = world.token_with(Some(&basic("partner", GENERATED)), &[GRANT]).await.unwrap_err();
        assert_eq!(error.error_code(), "invalid_client");
    }
}

#[tokio::test]
async fn more_than_one_method_is_an_invalid_request() {
    let (world, partner) = with_partner().await;
    let assertion = partner.assertion("two");
    let mut form = assertion_form(&assertion);
    form.push(("client_secret", GENERATED));
    assert_eq!(world.token(&form).await.unwrap_err().error_code(), "invalid_request");
    form.pop();
    let error = world.token_with(Some(&basic("partner", GENERATED)), &form).await.unwrap_err();
    assert_eq!(error.error_code(), "invalid_request");
    world.assert(&assertion).await.unwrap();
    let service = with_service().await;
    let other_id = [GRANT, ("client_id", "other")];
    let error = service.token_with(Some(&basic("service", GENERATED)), &other_id).await.unwrap_err();
    assert_eq!(error.error_code(), "invalid_request");
    let same_id = [GRANT, ("client_id", "service")];
    service.token_with(Some(&basic("service", GENERATED)), &same_id).await.unwrap();
}

#[tokio::test]
async fn missing_or_malformed_parameters_are_an_invalid_request() {
    let (world, partner) = with_partner().await;
    let assertion = partner.assertion("shape");
    let typed = ("client_assertion_type", "urn:other");
    for form in [
        vec![],
        vec![("scope", "system/Patient.rs")],
        vec![("grant_type", "")],
        vec![GRANT, GRANT],
        vec![GRANT, ("client_assertion", &assertion)],
        vec![GRANT, typed],
        vec![GRANT, typed, ("client_assertion", &assertion)],
        vec![GRANT, ("client_secret", GENERATED)],
    ] {
        let error = world.token(&form).await.unwrap_err();
        assert_eq!(error.error_code(), "invalid_request", "{form:?}: {error}");
    }
    for header in ["Basic", "Basic %%%", "Digest x", "Basic bm9jb2xvbg=="] {
        let error = world.token_with(Some(header), &[GRANT]).await.unwrap_err();
        assert_eq!(error.error_code(), "invalid_request", "{header}");
    }
}

#[tokio::test]
async fn an_unknown_grant_type_is_unsupported() {
    let world = with_service().await;
    for grant in ["not_a_grant_type", "code", "basic", "implicit"] {
        let error = world.token_with(Some(&basic("service", GENERATED)), &[("grant_type", grant)]).await.unwrap_err();
        assert!(matches!(error, TokenError::UnsupportedGrant(_)));
        assert_eq!(error.error_code(), "unsupported_grant_type");
    }
}

#[tokio::test]
async fn a_grant_the_client_is_not_registered_for_is_unauthorized() {
    let world = with_service().await;
    let exchange = "urn:ietf:params:oauth:grant-type:token-exchange";
    for grant in ["authorization_code", "refresh_token", "password", exchange] {
        let header = basic("service", GENERATED);
        let error = world.token_with(Some(&header), &[("grant_type", grant)]).await.unwrap_err();
        assert_eq!(error.error_code(), "unauthorized_client", "{grant}");
        let error = world.token_with(Some(&basic("service", "wrong")), &[("grant_type", grant)]).await.unwrap_err();
        assert_eq!(error.error_code(), "invalid_client", "{grant}");
    }
}

#[tokio::test]
async fn no_credentials_are_an_invalid_client() {
    let world = with_service().await;
    assert_eq!(world.token(&[GRANT]).await.unwrap_err().error_code(), "invalid_client");
}

#[tokio::test]
async fn a_new_secret_works_at_once_and_the_old_one_no_longer() {
    let world = with_service().await;
    world.token_with(Some(&basic("service", GENERATED)), &[GRANT]).await.unwrap();
    let successor = "Zk3vX1mT0yR7bW5nJ2cF9dL4hG6sPaUeIoKxNvBtYq8";
    let hash = world.sealed_secret(successor);
    world.memory.put_resource("Client", "service", json!({ "grant_types": ["client_credentials"], "secret": hash }));
    world.token_with(Some(&basic("service", successor)), &[GRANT]).await.unwrap();
    let error = world.token_with(Some(&basic("service", GENERATED)), &[GRANT]).await.unwrap_err();
    assert_eq!(error.error_code(), "invalid_client");
}

#[tokio::test]
async fn a_short_secret_works_through_the_slow_hash() {
    let world = with_service().await;
    let hash = world.sealed_secret("sandbox");
    assert!(hash.starts_with("$argon2id$"));
    world.memory.put_resource("Client", "svc", json!({ "grant_types": ["client_credentials"], "secret": hash }));
    world.token_with(Some(&basic("svc", "sandbox")), &[GRANT]).await.unwrap();
    assert_eq!(
        world.token_with(Some(&basic("svc", "Sandbox")), &[GRANT]).await.unwrap_err().error_code(),
        "invalid_client"
    );
}

#[tokio::test]
async fn a_weak_secret_that_was_verified_ends_with_its_version_of_the_client() {
    let world = with_service().await;
    let client = |secret: &str| {
        let hash = world.sealed_secret(secret);
        json!({ "grant_types": ["client_credentials"], "secret": hash })
    };
    world.memory.put_resource("Client", "svc", client("s3cr3t"));
    for _ in 0..2 {
        world.token_with(Some(&basic("svc", "s3cr3t")), &[GRANT]).await.unwrap();
    }
    world.memory.put_resource("Client", "svc", client("n3w"));
    let old = world.token_with(Some(&basic("svc", "s3cr3t")), &[GRANT]).await.unwrap_err();
    assert_eq!(old.error_code(), "invalid_client");
    world.token_with(Some(&basic("svc", "n3w")), &[GRANT]).await.unwrap();
}

#[tokio::test]
async fn an_opaque_token_is_decided_on_the_client_as_it_is_stored_now() {
    let world = with_service().await;
    let hash = world.sealed_secret(GENERATED);
    let client = |active: bool, scope: &str| json!({ "active": active, "grant_types": ["client_credentials"], "secret": hash, "scope": [scope] });
    let ask = async || world.token_with(Some(&basic("svc", GENERATED)), &[GRANT]).await;
    world.memory.put_resource("Client", "svc", client(true, "system/Patient.rs"));
    assert_eq!(ask().await.unwrap().scope.as_deref(), Some("system/Patient.rs"));
    world.memory.put_resource("Client", "svc", client(true, "system/Coverage.rs"));
    assert_eq!(ask().await.unwrap().scope.as_deref(), Some("system/Coverage.rs"));
    world.memory.put_resource("Client", "svc", client(false, "system/Coverage.rs"));
    assert_eq!(ask().await.unwrap_err().error_code(), "invalid_client");
    world.memory.delete_resource("Client", "svc", NOW_US);
    assert_eq!(ask().await.unwrap_err().error_code(), "invalid_client");
}

#[tokio::test]
async fn any_other_token_format_yields_an_opaque_token_that_carries_no_claims() {
    let (world, partner) = with_partner().await;
    let mut client = partner.client();
    client["auth"]["client_credentials"]["token_format"] = json!("opaque");
    world.memory.put_resource("Client", "partner", client);
    let response = world.assert(&Partner::assertion(&partner, "opaque")).await.unwrap();
    assert!(!response.access_token.contains('.'));
    assert_eq!(response.access_token.len(), 43, "256 bits of base64url");
    assert_eq!(response.b2b.unwrap_err().metric_label(), "not_jwt");
}
