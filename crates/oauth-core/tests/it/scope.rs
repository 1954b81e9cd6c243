//! Scopes granted: requested ∩ registered.

use serde_json::json;

use crate::world::{GENERATED, World, basic, with_service};

async fn granted(world: &World, scope: &str) -> Result<Option<String>, &'static str> {
    let form = [("grant_type", "client_credentials"), ("scope", scope)];
    let response = world.token_with(Some(&basic("service", GENERATED)), &form).await;
    response.map(|response| response.scope).map_err(|error| error.error_code())
}

#[tokio::test]
async fn a_scope_broader_than_the_registration_is_narrowed() {
    let world = with_service().await;
    assert_eq!(granted(&world, "system/Patient.cruds").await, Ok(Some("system/Patient.rs".to_owned())));
    assert_eq!(
        granted(&world, "system/*.read").await,
        Ok(Some("system/Patient.read system/Observation.read".to_owned()))
    );
}

#[tokio::test]
async fn a_requested_scope_not_allowed_for_the_client_is_an_invalid_scope() {
    let world = with_service().await;
    for scope in [
        "system/Claim.r",
        "system/Patient.c",
        "patient/Patient.rs",
        "user/Patient.rs",
        "openid",
        "offline_access",
        "launch/patient",
        "fhirUser",
        "other",
        "system/Patient.rs system/Claim.r",
        "system/Patient.sr",
        "system/.rs",
        "system/Patient.rs?_include=x",
        "a\"b",
    ] {
        assert_eq!(granted(&world, scope).await, Err("invalid_scope"), "{scope}");
    }
    assert_eq!(granted(&world, "custom system/Patient.r").await, Ok(Some("custom system/Patient.r".to_owned())));
}

#[tokio::test]
async fn a_client_without_registered_scopes_gets_a_token_without_scope() {
    let world = with_service().await;
    let hash = world.sealed_secret(GENERATED);
    world.memory.put_resource("Client", "service", json!({ "grant_types": ["client_credentials"], "secret": hash }));
    let form = [("grant_type", "client_credentials")];
    let response = world.token_with(Some(&basic("service", GENERATED)), &form).await.unwrap();
    assert_eq!(response.scope, None);
    assert_eq!(granted(&world, "system/Patient.rs").await, Err("invalid_scope"));
}

#[tokio::test]
async fn a_client_with_a_registration_never_gets_a_token_without_scope() {
    let world = with_service().await;
    for scope in [" ", "  ", "+"] {
        assert_eq!(granted(&world, scope).await, Err("invalid_scope"), "{scope:?}");
    }
    for registered in
        [json!([]), json!(["openid", "patient/*.read"]), json!(["not a scope \""]), json!("x"), json!(null)]
    {
        let hash = world.sealed_secret(GENERATED);
        let client = json!({ "grant_types": ["client_credentials"], "secret": hash, "scope": registered });
        world.memory.put_resource("Client", "service", client);
        let form = [("grant_type", "client_credentials")];
        let response = world.token_with(Some(&basic("service", GENERATED)), &form).await;
        assert_eq!(response.map(|response| response.scope).map_err(|error| error.error_code()), Err("invalid_scope"));
    }
}
