//! What the tokens of a person are worth: at the resource endpoints, at introspection, at userinfo, and
//! after revocation.

use oauth_core::access::ResourceAccessRequest;
use oauth_core::access_token_verification::InvalidBearerTokenError;
use oauth_core::form_fields::FormFields;
use oauth_core::granted_authorization::{GrantedAuthorization, LaunchContext};
use oauth_core::resource_caller::{CallerAuthenticationError, ResourceCaller};
use oauth_core::token_endpoint::{TokenRequest, TokenResponse};
use oauth_core::userinfo::{UserInfoError, userinfo_response};
use serde_json::{Value, json};
use smart_scopes::Interaction;

use crate::app::{SCOPE, ada, authorization, issue, public_app, redemption, refresh, rows, tokens, with_app};
use crate::world::{BASE, GENERATED, NOW_S, World, basic};

async fn caller(world: &World, token: &str) -> Result<ResourceCaller, CallerAuthenticationError> {
    world.server.callers.authenticate_without_address(&world.env(), Some(&format!("Bearer {token}"))).await
}

async fn fault(world: &World, token: &str) -> InvalidBearerTokenError {
    let CallerAuthenticationError::Token(fault) = caller(world, token).await.unwrap_err() else {
        unreachable!("a token was sent")
    };
    fault
}

/// Asks as the administrator.
async fn introspected(world: &World, token: &str) -> Value {
    let form = FormFields::new([("token".to_owned(), token.to_owned())]).unwrap();
    let root = basic("root", "bootstrap");
    let request = TokenRequest { authorization: Some(&root), form: &form, address: None };
    let describe = || json!({ "uri": "/auth/introspect", "request-method": "post" });
    let access = ResourceAccessRequest { target: None, operation: "Introspect", explicit: false, request: &describe };
    world.server.introspection.introspect(&world.env(), &request, access).await.unwrap()
}

/// Revokes as the public app that gives its id.
async fn revoked_by(world: &World, client_id: &str, token: &str) {
    let pairs = [("client_id", client_id), ("token", token)].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let form = FormFields::new(pairs).unwrap();
    world
        .server
        .introspection
        .revoke_token(&world.env(), &TokenRequest { authorization: None, form: &form, address: None })
        .await
        .unwrap();
}

async fn with_scope(world: &World, scope: &str) -> TokenResponse {
    let code = issue(world, &GrantedAuthorization { scope: scope.to_owned(), ..authorization(world) }).await;
    world.token(&redemption(&code)).await.unwrap()
}

#[tokio::test]
async fn the_bearer_is_the_person_behind_the_app() {
    let world = with_app().await;
    let response = tokens(&world).await;
    let caller = caller(&world, &response.access_token).await.unwrap();
    assert_eq!((caller.client_id(), caller.represented_end_user().unwrap().id.as_str()), (Some("app"), "ada"));
}

#[tokio::test]
async fn policies_see_the_user_without_the_password_and_the_names_of_its_roles() {
    let world = with_app().await;
    let mut policy = json!({"engine": "matcho", "matcho": {"user": {"id": "ada"}, "role": {"$contains": "member"}}});
    world.memory.put_policy("ada", policy.clone());
    let describe = || json!({ "uri": "/x" });
    let target = Some(("Patient", Interaction::Read));
    let access = ResourceAccessRequest { target, operation: "X", explicit: false, request: &describe };
    let response = with_scope(&world, "patient/Patient.rs").await;
    let caller = caller(&world, &response.access_token).await.unwrap();
    assert!(oauth_core::access::authorize(&world.server.directory, &caller, access).await.is_ok());
    policy["matcho"]["user"]["password"] = json!("present?");
    world.memory.put_policy("ada", policy);
    let caller = self::caller(&world, &response.access_token).await.unwrap();
    assert!(oauth_core::access::authorize(&world.server.directory, &caller, access).await.is_err());
}

#[tokio::test]
async fn a_member_token_dies_with_what_it_stands_on() {
    let (mut inactive, mut changed) = (ada(), ada());
    inactive["active"] = json!(false);
    changed["password"] = json!("$argon2id$second");
    for user in [inactive, changed] {
        let world = with_app().await;
        let token = tokens(&world).await.access_token;
        world.memory.put_resource("User", "ada", user);
        assert!(matches!(fault(&world, &token).await, InvalidBearerTokenError::PersonGone));
        assert_eq!(introspected(&world, &token).await, json!({"active": false}));
        world.memory.put_resource("User", "ada", ada());
        assert!(caller(&world, &token).await.is_ok(), "the copy in memory is not believed either way");
    }

    let world = with_app().await;
    let token = tokens(&world).await.access_token;
    world.memory.lock_rows().families.clear();
    assert!(matches!(fault(&world, &token).await, InvalidBearerTokenError::Revoked));

    let world = with_app().await;
    let token = tokens(&world).await.access_token;
    let mut app = public_app();
    app["active"] = json!(false);
    world.memory.put_resource("Client", "app", app);
    assert!(matches!(fault(&world, &token).await, InvalidBearerTokenError::ClientGone));
}

#[tokio::test]
async fn an_access_token_is_introspected_with_the_context_of_its_launch() {
    let world = with_app().await;
    let context = LaunchContext {
        patient: Some("p-1".to_owned()),
        encounter: Some("e-1".to_owned()),
        need_patient_banner: Some(true),
        fhir_context: vec![json!({"reference": "ImagingStudy/1"})],
        ..LaunchContext::default()
    };
    let code = issue(&world, &GrantedAuthorization { context, ..authorization(&world) }).await;
    let response = world.token(&redemption(&code)).await.unwrap();
    let told = introspected(&world, &response.access_token).await;
    let answer = json!(response);
    for name in ["patient", "encounter", "need_patient_banner", "fhirContext", "scope", "smart_style_url"] {
        assert_eq!(told[name], answer[name], "{name}");
    }
    assert_eq!((&told["active"], &told["token_type"]), (&json!(true), &json!("Bearer")));
    assert_eq!((&told["iss"], &told["sub"]), (&json!(BASE), &json!("ada")));
    assert_eq!(told["fhirUser"], format!("{BASE}/fhir/Patient/p-1"));
    assert_eq!((&told["username"], &told["client_id"]), (&json!("ada"), &json!("app")));
    assert_eq!((&told["exp"], &told["aud"]), (&json!(NOW_S + 3600), &json!(format!("{BASE}/fhir"))));
}

#[tokio::test]
async fn a_refresh_token_is_introspected_until_it_is_used() {
    let mut world = with_app().await;
    let token = tokens(&world).await.refresh_token.unwrap();
    let told = introspected(&world, &token).await;
    assert_eq!((&told["active"], &told["client_id"]), (&json!(true), &json!("app")));
    assert_eq!((&told["sub"], &told["scope"], &told["patient"]), (&json!("ada"), &json!(SCOPE), &json!("p-1")));
    assert_eq!(told["exp"], NOW_S + 90 * 86_400);
    let successor = refresh(&world, &token).await.unwrap().refresh_token.unwrap();
    assert_eq!(introspected(&world, &token).await, json!({"active": false}));
    assert_eq!(introspected(&world, &successor).await["active"], true);
    world.now_s += 90 * 86_400;
    assert_eq!(introspected(&world, &successor).await, json!({"active": false}));
}

#[tokio::test]
async fn a_stranger_is_not_told_of_a_refresh_token() {
    let world = with_app().await;
    let token = tokens(&world).await.refresh_token.unwrap();
    let secret = world.sealed_secret(GENERATED);
    world.memory.put_resource("Client", "gateway", json!({"grant_types": ["basic"], "secret": secret}));
    let form = FormFields::new([("token".to_owned(), token)]).unwrap();
    let header = basic("gateway", GENERATED);
    let request = TokenRequest { authorization: Some(&header), form: &form, address: None };
    let describe = || json!({ "uri": "/auth/introspect" });
    let access = ResourceAccessRequest { target: None, operation: "Introspect", explicit: false, request: &describe };
    let told = world.server.introspection.introspect(&world.env(), &request, access).await.unwrap();
    assert_eq!(told, json!({"active": false}));
}

#[tokio::test]
async fn revoking_an_access_token_ends_that_token_alone() {
    let world = with_app().await;
    let response = tokens(&world).await;
    revoked_by(&world, "app", &response.access_token).await;
    assert!(matches!(fault(&world, &response.access_token).await, InvalidBearerTokenError::Revoked));
    assert!(refresh(&world, response.refresh_token.as_deref().unwrap()).await.is_ok());
}

#[tokio::test]
async fn revoking_a_refresh_token_ends_every_token_of_its_family() {
    let world = with_app().await;
    let first = tokens(&world).await;
    let second = refresh(&world, first.refresh_token.as_deref().unwrap()).await.unwrap();
    let other = tokens(&world).await;
    revoked_by(&world, "app", second.refresh_token.as_deref().unwrap()).await;
    for dead in [&first, &second] {
        assert!(matches!(fault(&world, &dead.access_token).await, InvalidBearerTokenError::Revoked));
        let error = refresh(&world, dead.refresh_token.as_deref().unwrap()).await.unwrap_err();
        assert_eq!(error.error_code(), "invalid_grant");
    }
    assert!(caller(&world, &other.access_token).await.is_ok());
    let records = world.memory.lock_rows().audit.clone();
    assert!(records.iter().any(|record| record.action == oauth_core::ports::AuditAction::Revocation));
}

#[tokio::test]
async fn another_apps_tokens_are_left_alone_in_silence() {
    let world = with_app().await;
    world.memory.put_resource("Client", "other", public_app());
    let response = tokens(&world).await;
    let before = rows(&world);
    revoked_by(&world, "other", &response.access_token).await;
    revoked_by(&world, "other", response.refresh_token.as_deref().unwrap()).await;
    assert_eq!(rows(&world), before);
    assert!(caller(&world, &response.access_token).await.is_ok());
    assert!(refresh(&world, response.refresh_token.as_deref().unwrap()).await.is_ok());
}

#[tokio::test]
async fn a_confidential_app_revokes_with_its_secret_only() {
    let world = with_app().await;
    let response = tokens(&world).await;
    let mut app = public_app();
    app["secret"] = json!(world.sealed_secret(GENERATED));
    world.memory.put_resource("Client", "app", app);
    let pairs = [("client_id", "app"), ("token", &response.access_token)];
    let form = FormFields::new(pairs.map(|(name, value)| (name.to_owned(), value.to_owned()))).unwrap();
    let request = TokenRequest { authorization: None, form: &form, address: None };
    let error = world.server.introspection.revoke_token(&world.env(), &request).await.unwrap_err();
    assert_eq!(error.error_code(), "invalid_client");
    assert!(caller(&world, &response.access_token).await.is_ok());
}

#[tokio::test]
async fn userinfo_tells_what_the_scopes_open() {
    let world = with_app().await;
    let told = async |scope: &str| {
        let response = with_scope(&world, scope).await;
        let caller = caller(&world, &response.access_token).await.unwrap();
        userinfo_response(&world.server.issuer.documents, &caller).map(|told| json!(told))
    };
    assert_eq!(told("openid").await, Ok(json!({"sub": "ada"})));
    assert_eq!(
        told("openid fhirUser email").await,
        Ok(json!({"sub": "ada", "email": "ada@example.org", "fhirUser": format!("{BASE}/fhir/Patient/p-1")}))
    );
    assert_eq!(told("fhirUser patient/*.rs").await, Err(UserInfoError::NotOpenId));
}

#[tokio::test]
async fn userinfo_is_for_tokens_of_people() {
    let world = crate::world::with_service().await;
    let header = basic("service", GENERATED);
    let own = world.token_with(Some(&header), &[("grant_type", "client_credentials")]).await.unwrap();
    let client = caller(&world, &own.access_token).await.unwrap();
    assert_eq!(userinfo_response(&world.server.issuer.documents, &client), Err(UserInfoError::NotOpenId));
    let nobody = world.server.callers.authenticate_without_address(&world.env(), None).await.unwrap();
    assert_eq!(userinfo_response(&world.server.issuer.documents, &nobody), Err(UserInfoError::NoToken));
    let basic = world.server.callers.authenticate_without_address(&world.env(), Some(&header)).await.unwrap();
    assert_eq!(userinfo_response(&world.server.issuer.documents, &basic), Err(UserInfoError::NoToken));
}

#[tokio::test]
async fn a_persons_token_without_scopes_opens_nothing() {
    let world = with_app().await;
    world.memory.put_policy("all", json!({"engine": "allow"}));
    let describe = || json!({ "uri": "/x" });
    let caller = caller(&world, &with_scope(&world, "").await.access_token).await.unwrap();
    for target in [None, Some(("Patient", Interaction::Read)), Some(("Organization", Interaction::Search))] {
        let access = ResourceAccessRequest { target, operation: "X", explicit: false, request: &describe };
        let denied = oauth_core::access::authorize(&world.server.directory, &caller, access).await.unwrap_err();
        assert!(matches!(denied, oauth_core::access::AccessError::InsufficientScope { .. }), "{denied}");
    }
}

#[tokio::test]
async fn what_goes_beyond_one_record_takes_a_policy_for_the_person_and_not_only_for_the_app() {
    let world = with_app().await;
    world.memory.put_resource("User", "ada", json!({"userName": "ada", "fhirUser": {"reference": "Practitioner/ada"}}));
    world.memory.put_policy("app", json!({"engine": "allow", "link": [{"reference": "Client/app"}]}));
    let describe = || json!({ "uri": "/x" });
    let target = Some(("Patient", Interaction::Read));
    let access = ResourceAccessRequest { target, operation: "FhirRead", explicit: false, request: &describe };
    let token = with_scope(&world, "user/*.rs").await.access_token;
    let before = caller(&world, &token).await.unwrap();
    assert!(oauth_core::access::authorize(&world.server.directory, &before, access).await.is_err());
    world.memory.put_policy("ada", json!({"engine": "allow", "link": [{"reference": "User/ada"}]}));
    let after = caller(&world, &token).await.unwrap();
    assert!(oauth_core::access::authorize(&world.server.directory, &after, access).await.is_ok());
}
