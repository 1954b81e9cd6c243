//! Who may call a resource endpoint.

use oauth_core::access::{AccessError, GrantedAccess, ResourceAccessRequest, authorize, may_admit_anonymous};
use oauth_core::resource_caller::CallerAuthenticationError;
use oauth_core::scope_access::{ScopeAccess, SingleScopeFilter};
use oauth_core::signing_keys::SigningAlg;
use serde_json::{Value, json};
use smart_scopes::Interaction;

use crate::world::{GENERATED, NOW_US, World, basic, with_service};

/// What is asked for in a test.
#[derive(Clone, Copy)]
struct Ask {
    target: Option<(&'static str, Interaction)>,
    explicit: bool,
}

const fn read(resource_type: &'static str) -> Ask {
    Ask { target: Some((resource_type, Interaction::Read)), explicit: false }
}

async fn call(world: &World, authorization: Option<&str>, ask: Ask) -> Result<GrantedAccess, AccessError> {
    let caller = world.server.callers.authenticate_without_address(&world.env(), authorization).await.unwrap();
    let kind = ask.target.map_or("none", |(kind, _)| kind);
    let request = || json!({ "uri": format!("/fhir/{kind}/1"), "request-method": "get" });
    let access =
        ResourceAccessRequest { target: ask.target, operation: "FhirRead", explicit: ask.explicit, request: &request };
    authorize(&world.server.directory, &caller, access).await
}

fn allow(client: &str) -> Value {
    json!({ "engine": "allow", "link": [{ "reference": format!("Client/{client}") }] })
}

async fn bearer(world: &World) -> String {
    let header = basic("service", GENERATED);
    let response = world.token_with(Some(&header), &[("grant_type", "client_credentials")]).await.unwrap();
    format!("Bearer {}", response.access_token)
}

#[tokio::test]
async fn everything_is_denied_by_default() {
    let world = with_service().await;
    assert!(matches!(call(&world, None, read("Patient")).await, Err(AccessError::Unauthenticated)));
    let header = basic("service", GENERATED);
    assert!(matches!(call(&world, Some(&header), read("Patient")).await, Err(AccessError::Forbidden)));
    let header = bearer(&world).await;
    assert!(matches!(call(&world, Some(&header), read("Patient")).await, Err(AccessError::Forbidden)));
    let root = call(&world, Some(&basic("root", "bootstrap")), read("Patient")).await.unwrap();
    assert!(root.administrator);
}

#[tokio::test]
async fn scopes_bind_every_token_whatever_a_policy_allows() {
    let world = with_service().await;
    world.memory.put_policy("all", allow("service"));
    let header = bearer(&world).await;
    assert!(call(&world, Some(&header), read("Patient")).await.is_ok());
    let missing = call(&world, Some(&header), read("Claim")).await.unwrap_err();
    assert!(matches!(missing, AccessError::InsufficientScope { needed } if needed == "system/Claim.r"));
    let mut operation = read("Patient");
    operation.target = None;
    assert!(matches!(call(&world, Some(&header), operation).await, Err(AccessError::InsufficientScope { .. })));
    // The same Client without a token is bound by policies alone.
    let allowed = call(&world, Some(&basic("service", GENERATED)), read("Claim")).await.unwrap();
    assert!(!allowed.administrator, "a policy makes nobody an administrator");
}

#[tokio::test]
async fn a_granular_scope_leaves_open_what_its_query_selects() {
    let world = with_service().await;
    world.memory.put_policy("all", allow("service"));
    let hash = world.sealed_secret(GENERATED);
    world.memory.put_resource(
        "Client",
        "service",
        json!({
            "grant_types": ["client_credentials"], "secret": hash, "scope": ["system/Observation.rs?status=final"],
        }),
    );
    let header = bearer(&world).await;
    let allowed = call(&world, Some(&header), read("Observation")).await.unwrap();
    let part = SingleScopeFilter { patient: None, query: Some("status=final".parse().unwrap()) };
    assert_eq!(allowed.reach, ScopeAccess::Parts(vec![part]));
    let missing = call(&world, Some(&header), read("Patient")).await.unwrap_err();
    assert!(matches!(missing, AccessError::InsufficientScope { needed } if needed == "system/Patient.r"));
}

#[tokio::test]
async fn a_token_for_a_patient_reaches_that_patient_and_a_policy_widens_nothing() {
    let world = with_service().await;
    world.memory.put_policy("all", allow("service"));
    world.memory.put_resource("User", "ada", json!({ "userName": "ada" }));
    let claims = |scope: &str, context: Value| {
        json!({
            "iss": world.server.issuer.settings.base_url, "aud": world.server.issuer.documents.fhir_base_url(),
            "sub": "service", "client_id": "service", "iat": world.now_s, "exp": world.now_s + 300, "jti": "j",
            "scope": scope, "context": context,
        })
    };
    let ask = async |claims: Value| {
        let token = world.server.issuer.sign_jwt(&world.env(), SigningAlg::RS256, &claims).unwrap();
        call(&world, Some(&format!("Bearer {token}")), read("Observation")).await
    };
    let of_patient = ask(claims("patient/*.read", json!({ "patient": "p" }))).await.unwrap();
    let part = SingleScopeFilter { patient: Some("p".to_owned()), query: None };
    assert_eq!(of_patient.reach, ScopeAccess::Parts(vec![part]));
    let union = ask(claims("patient/*.read system/*.read", json!({ "patient": "p" }))).await.unwrap();
    assert_eq!(union.reach, ScopeAccess::Everything);
    for (scope, context) in [
        ("patient/*.read", json!({})),
        ("patient/*.read", json!({ "encounter": "e" })),
        ("user/*.read", json!({ "patient": "p" })),
        ("patient/*.write", json!({ "patient": "p" })),
    ] {
        let refused = ask(claims(scope, context.clone())).await.unwrap_err();
        assert!(matches!(refused, AccessError::InsufficientScope { .. }), "{scope} {context}");
    }
}

#[tokio::test]
async fn policies_see_the_client_without_its_secret_and_the_claims() {
    let world = with_service().await;
    world.memory.put_policy("token", json!({ "engine": "matcho", "matcho": {
        "client": { "id": "service", "secret": "nil?" }, "jwt": { "client_id": ".client.id" }, "request-method": "get",
        "session": { "id": ".jwt.jti", "client": { "id": "service" }, "user": "nil?", "patient": "nil?" },
    }}));
    let header = bearer(&world).await;
    let allowed = call(&world, Some(&header), read("Patient")).await.unwrap();
    assert_eq!(
        allowed,
        GrantedAccess { administrator: false, policy_id: Some("token".to_owned()), reach: ScopeAccess::Everything }
    );
    assert!(matches!(
        call(&world, Some(&basic("service", GENERATED)), read("Patient")).await,
        Err(AccessError::Forbidden)
    ));
}

#[tokio::test]
async fn credentials_that_are_wrong_never_count_as_absent() {
    let world = with_service().await;
    world.memory.put_policy("world", json!({ "engine": "allow" }));
    assert!(call(&world, None, read("Patient")).await.is_ok());
    for header in ["Bearer x", "Bearer a.b.c", "Basic %%", "Digest x", "nonsense", &basic("service", "wrong")] {
        assert!(
            world.server.callers.authenticate_without_address(&world.env(), Some(header)).await.is_err(),
            "{header}"
        );
    }
}

#[tokio::test]
async fn a_revoked_or_expired_token_and_one_of_an_inactive_client_are_refused() {
    let mut world = with_service().await;
    let header = bearer(&world).await;
    let refused = |error: CallerAuthenticationError| matches!(error, CallerAuthenticationError::Token(_));
    let jti = world.claims(header.strip_prefix("Bearer ").unwrap())["jti"].as_str().unwrap().to_owned();
    world.memory.lock_rows().revoked_tokens.insert(jti.clone(), i64::MAX);
    assert!(refused(world.server.callers.authenticate_without_address(&world.env(), Some(&header)).await.unwrap_err()));
    world.memory.lock_rows().revoked_tokens.remove(&jti);
    world.now_s += 900;
    assert!(refused(world.server.callers.authenticate_without_address(&world.env(), Some(&header)).await.unwrap_err()));
    world.now_s -= 900;
    assert!(world.server.callers.authenticate_without_address(&world.env(), Some(&header)).await.is_ok());
    let hash = world.sealed_secret(GENERATED);
    world.memory.put_resource(
        "Client",
        "service",
        json!({ "active": false, "grant_types": ["basic"], "secret": hash }),
    );
    assert!(refused(world.server.callers.authenticate_without_address(&world.env(), Some(&header)).await.unwrap_err()));
    world.memory.delete_resource("Client", "service", NOW_US);
    let hash = world.sealed_secret(GENERATED);
    world.memory.put_resource("Client", "service", json!({ "grant_types": ["basic"], "secret": hash }));
    assert!(
        refused(world.server.callers.authenticate_without_address(&world.env(), Some(&header)).await.unwrap_err()),
        "id used again"
    );
    world.memory.delete_resource("Client", "service", NOW_US);
    assert!(refused(world.server.callers.authenticate_without_address(&world.env(), Some(&header)).await.unwrap_err()));
}

#[tokio::test]
async fn basic_needs_the_grant_basic_and_the_current_secret() {
    let world = with_service().await;
    let header = basic("service", GENERATED);
    assert!(world.server.callers.authenticate_without_address(&world.env(), Some(&header)).await.is_ok());
    let hash = world.sealed_secret(GENERATED);
    world.memory.put_resource("Client", "service", json!({ "grant_types": ["client_credentials"], "secret": hash }));
    assert!(matches!(
        world.server.callers.authenticate_without_address(&world.env(), Some(&header)).await,
        Err(CallerAuthenticationError::Basic(_))
    ));
    let successor = "Zk3vX1mT0yR7bW5nJ2cF9dL4hG6sPaUeIoKxNvBtYq8";
    let hash = world.sealed_secret(successor);
    world.memory.put_resource("Client", "service", json!({ "grant_types": ["basic"], "secret": hash }));
    assert!(matches!(
        world.server.callers.authenticate_without_address(&world.env(), Some(&header)).await,
        Err(CallerAuthenticationError::Basic(_))
    ));
    assert!(
        world
            .server
            .callers
            .authenticate_without_address(&world.env(), Some(&basic("service", successor)))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn an_allow_policy_does_not_open_the_registration() {
    let world = with_service().await;
    let header = basic("service", GENERATED);
    let register = Ask { target: Some(("Client", Interaction::Update)), explicit: true };
    world.memory.put_policy("all", allow("service"));
    assert!(matches!(call(&world, Some(&header), register).await, Err(AccessError::Forbidden)));
    world.memory.put_policy("open", json!({ "engine": "allow" }));
    assert!(matches!(call(&world, Some(&header), register).await, Err(AccessError::Forbidden)));
    assert!(matches!(call(&world, None, register).await, Err(AccessError::Unauthenticated)));
    let spelled_out = json!({ "uri": "/fhir/Client/1" });
    let link = json!([{ "reference": "Client/service" }]);
    world.memory.put_policy("portal", json!({ "engine": "matcho", "matcho": spelled_out, "link": link }));
    assert!(call(&world, Some(&header), register).await.is_ok());
    assert!(call(&world, Some(&basic("root", "bootstrap")), register).await.is_ok());
}

#[tokio::test]
async fn a_stranger_is_worth_reading_only_when_a_policy_is_open_to_everyone() {
    let world = with_service().await;
    let anonymous = async || {
        let caller = world.server.callers.authenticate_without_address(&world.env(), None).await.unwrap();
        may_admit_anonymous(&world.server.directory, &caller).await.unwrap()
    };
    assert!(!anonymous().await);
    world.memory.put_policy("all", allow("service"));
    assert!(!anonymous().await);
    world.memory.put_policy("open", json!({ "engine": "matcho", "matcho": { "uri": "/x" } }));
    assert!(anonymous().await);
}
