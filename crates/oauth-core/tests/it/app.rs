//! An app that a person lets in, up to the code: what the token endpoint begins with.

use oauth_core::client::GrantType;
use oauth_core::end_user::EndUser;
use oauth_core::granted_authorization::{GrantedAuthorization, LaunchContext};
use oauth_core::jose::sha256;
use oauth_core::ports::{
    AuthorizationCodeRecord, AuthorizationCodeStore as _, ConsentGrant, ConsentGrantDecision, ConsentGrantStore as _,
};
use oauth_core::token_endpoint::{TokenError, TokenResponse};
use serde_json::{Value, json};

use crate::world::{BASE, NOW_S, World};

/// RFC 7636, appendix B.
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
pub(crate) const CALLBACK: &str = "https://app.example/cb";
pub(crate) const SCOPE: &str = "launch/patient openid fhirUser offline_access patient/*.rs";

/// A public app.
pub(crate) fn public_app() -> Value {
    json!({
        "type": "smart-app", "grant_types": ["code"],
        "auth": { "authorization_code": {
            "redirect_uri": CALLBACK, "token_format": "jwt", "pkce": true, "refresh_token": true,
        }},
    })
}

/// The member.
pub(crate) fn ada() -> Value {
    json!({
        "userName": "ada", "email": "ada@example.org", "password": "$argon2id$first",
        "name": {"givenName": "Ada", "familyName": "Lovelace"}, "fhirUser": {"reference": "Patient/p-1"},
        "roles": [{"value": "member"}],
    })
}

/// A deployment with the public app `app` and the member `ada`.
pub(crate) async fn with_app() -> World {
    let world = World::new().await;
    world.memory.put_resource("Client", "app", public_app());
    world.memory.put_resource("User", "ada", ada());
    world
}

/// What ada authorized, at the moment of `world`.
pub(crate) fn authorization(world: &World) -> GrantedAuthorization {
    let stored = world.memory.get_resource("User", "ada").unwrap();
    GrantedAuthorization {
        grant: GrantType::AuthorizationCode,
        client_id: "app".to_owned(),
        user_id: "ada".to_owned(),
        credential: EndUser::from_stored("ada", &stored, BASE).credential,
        redirect_uri: Some(CALLBACK.to_owned()),
        code_challenge: Some(CHALLENGE.to_owned()),
        scope: SCOPE.to_owned(),
        nonce: Some("n-1".to_owned()),
        auth_time_s: NOW_S - 5,
        fhir_user: Some("Patient/p-1".to_owned()),
        vouched: false,
        context: LaunchContext {
            patient: Some("p-1".to_owned()),
            need_patient_banner: Some(true),
            ..LaunchContext::default()
        },
    }
}

/// Issues a code for `authorization` under the grant `g-1`, as the authorization endpoint does.
pub(crate) async fn issue(world: &World, authorization: &GrantedAuthorization) -> String {
    let text = format!("code-{}", world.env().random_identifier());
    let grant = ConsentGrant {
        id: "g-1".to_owned(),
        user_id: authorization.user_id.clone(),
        client_id: authorization.client_id.clone(),
        patient_id: authorization.context.patient.clone(),
        requested: authorization.scope.clone(),
        granted: authorization.scope.clone(),
        refused: String::new(),
        created_s: world.now_s,
        used_s: None,
    };
    let code = AuthorizationCodeRecord {
        hash: sha256(text.as_bytes()),
        client_id: authorization.client_id.clone(),
        family_id: world.env().random_identifier(),
        grant_id: "g-1".to_owned(),
        authorization: authorization.to_stored().unwrap(),
        expires_s: world.now_s + 60,
    };
    let held = world.memory.active_grants_of_user(&grant.user_id).await.unwrap();
    let held = held.into_iter().find(|held| held.id == grant.id && held.patient_id == grant.patient_id);
    world.memory.issue_code(code, Some(ConsentGrantDecision { grant, replaces: held }), None).await.unwrap();
    text
}

/// A code with everything that [`authorization`] says.
pub(crate) async fn code(world: &World) -> String {
    issue(world, &authorization(world)).await
}

/// The form that redeems `code` for the public app.
pub(crate) fn redemption(code: &str) -> Vec<(&'static str, &str)> {
    vec![
        ("grant_type", "authorization_code"),
        ("client_id", "app"),
        ("code", code),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ]
}

/// The form with one parameter another, or gone when it is empty.
pub(crate) fn but<'a>(form: &[(&'a str, &'a str)], name: &'a str, value: &'a str) -> Vec<(&'a str, &'a str)> {
    let others = form.iter().filter(|(key, _)| *key != name).copied();
    others.chain([(name, value)]).collect()
}

/// Tokens of a fresh code.
pub(crate) async fn tokens(world: &World) -> TokenResponse {
    let code = code(world).await;
    world.token(&redemption(&code)).await.unwrap()
}

/// Uses a refresh token of the public app.
pub(crate) async fn refresh(world: &World, token: &str) -> Result<TokenResponse, TokenError> {
    let form = [("grant_type", "refresh_token"), ("client_id", "app"), ("refresh_token", token)];
    world.token(&form).await
}

/// Everything token requests store, as far as a test can count it.
pub(crate) fn rows(world: &World) -> (usize, usize, usize, usize) {
    let members = world.memory.lock_rows();
    let used = members.codes.values().filter(|row| row.used).count();
    let rotated = members.refresh_tokens.values().filter(|row| row.used_s.is_some()).count();
    (members.families.len(), members.refresh_tokens.len(), used, rotated)
}
