//! The `client_credentials` grant, by assertion or by secret.

use std::sync::Arc;

use b2b_claim::ClientB2bExtension;
use smart_scopes::{Context, Scope, ScopeSet, restrict};

use super::access_token_claims::{AccessTokenClaims, AccessTokenExtensions};
use super::issue::{b2b_of, mint};
use super::{ATTEMPTS, TokenError, TokenResponse, TokenService};
use crate::client::{AccessTokenFormat, Client, GrantType};
use crate::client_assertion::{AssertionLogDetails, ClientAssertionError};
use crate::client_authentication::{
    AuthenticatedClient, ClientAuthenticationError, ClientAuthenticationMethod, PresentedCredentials,
};
use crate::granted_authorization::LaunchContext;
use crate::limits::{BACKEND_TOKEN_DEFAULT_LIFETIME_S, SECRET_CLIENT_TOKEN_LIFETIME_S};
use crate::ports::{JtiClaim, JtiClaimOutcome as NonceClaim, JtiClaimResult};
use crate::registration_cache::VersionedOrganization;
use crate::time_and_randomness::TimeAndRandomness;

/// Authenticates, decides the scopes, admits, issues.
///
/// Everything that can refuse comes before admission, so that a refusal claims no nonce; admission
/// returns the current versions, and when they are not those the decision was made on, the decision
/// is made again. Storing an opaque token compares the version by itself.
pub(super) async fn grant(
    env: &TimeAndRandomness<'_>,
    service: &TokenService,
    credentials: &PresentedCredentials<'_>,
    scope: Option<&str>,
) -> Result<TokenResponse, TokenError> {
    let requested = scope.map(ScopeSet::parse).transpose();
    let requested = requested.map_err(|fault| TokenError::MalformedScope(fault.to_string()))?;
    let mut nonce_claimed = false;
    for _ in 0..ATTEMPTS {
        let mut authenticated = service.authenticator.authenticate(env, credentials).await?;
        if nonce_claimed {
            authenticated.nonce = None;
        }
        let client = &authenticated.client;
        let granted = match decide(&authenticated, requested.as_ref()) {
            Ok(granted) => granted,
            Err(refusal) => {
                // A refusal is never made from an old copy.
                let stored = service.directory.load_current_client(&client.id).await?;
                if stored.is_some_and(|stored| stored.version != client.version) {
                    continue;
                }
                return Err(refusal);
            }
        };
        let mut organization = None;
        if needs_admission(&authenticated) {
            let admitted = admit(env, service, &authenticated).await?;
            if admitted.claim == NonceClaim::Replayed {
                return Err(replayed(credentials));
            }
            nonce_claimed |= admitted.claim == NonceClaim::Fresh;
            if admitted.client_version != Some(client.version) {
                service.directory.load_current_client(&client.id).await?;
                continue;
            }
            organization = organization_of(service, client, &admitted).await?;
        }
        if let Some(response) = issue(env, service, &authenticated, granted, organization).await? {
            return Ok(response);
        }
        service.directory.load_current_client(&client.id).await?;
    }
    Err(TokenError::Unsettled)
}

/// Returns whether admission has anything to say: an opaque token names no Organization and is stored only while its
/// Client is at the version it was decided on.
fn needs_admission(who: &AuthenticatedClient) -> bool {
    who.nonce.is_some() || who.client.client_credentials.format == AccessTokenFormat::Jwt
}

async fn admit(
    env: &TimeAndRandomness<'_>,
    service: &TokenService,
    who: &AuthenticatedClient,
) -> Result<JtiClaimResult, TokenError> {
    let organization_id = who.client.b2b.as_ref().ok().map(organization_id);
    let admission = JtiClaim {
        client_id: Arc::from(who.client.id.as_str()),
        organization_id: organization_id.map(Arc::from),
        nonce: who.nonce.clone(),
        now_s: env.now_s(),
    };
    Ok(service.replays.claim_jti(admission).await?)
}

fn organization_id(registration: &ClientB2bExtension) -> &str {
    registration.organization.id.as_str()
}

async fn organization_of(
    service: &TokenService,
    client: &Client,
    admitted: &JtiClaimResult,
) -> Result<Option<Arc<VersionedOrganization>>, TokenError> {
    match &client.b2b {
        Ok(registration) => {
            let id = organization_id(registration);
            Ok(service.directory.organization_at_version(id, admitted.organization_version).await?)
        }
        Err(_) => Ok(None),
    }
}

fn replayed(credentials: &PresentedCredentials<'_>) -> TokenError {
    let seen = match credentials {
        PresentedCredentials::Assertion(assertion) => assertion.log_details(),
        _ => AssertionLogDetails::default(),
    };
    TokenError::Client(ClientAuthenticationError::Assertion {
        fault: ClientAssertionError::Replayed,
        seen: Box::new(seen),
    })
}

fn decide(who: &AuthenticatedClient, requested: Option<&ScopeSet>) -> Result<Option<ScopeSet>, TokenError> {
    let client = &who.client;
    if !client.may_use_grant(GrantType::ClientCredentials) {
        return Err(TokenError::UnauthorizedClient);
    }
    who.check_method(&client.client_credentials)?;
    decide_scopes(client, requested)
}

/// Requested ∩ registered; `None` only for a Client that is registered without scopes and asks for
/// none. A token without scopes is bound by policies alone, so a Client that has a registration never
/// gets one: what comes out empty is refused.
///
/// A scope broader than the registration is narrowed; one that is disjoint from it refuses the request
/// (`docs/decisions.md`, "Scopes"). Without `scope` the Client gets all it is registered for that exists in this grant:
/// SMART Backend Services requires the parameter, but clients of the UDAP family send none.
fn decide_scopes(client: &Client, requested: Option<&ScopeSet>) -> Result<Option<ScopeSet>, TokenError> {
    let granted = match (&client.scope, requested) {
        (None, None) => return Ok(None),
        (Some(registered), None) => registered.iter().filter(|scope| !needs_user(scope)).cloned().collect(),
        (registered, Some(requested)) => restricted(requested, registered.as_ref().unwrap_or(&ScopeSet::default()))?,
    };
    if granted.is_empty() { Err(TokenError::NoScope) } else { Ok(Some(granted)) }
}

fn restricted(requested: &ScopeSet, registered: &ScopeSet) -> Result<ScopeSet, TokenError> {
    if let Some(scope) = requested.iter().find(|scope| needs_user(scope)) {
        return Err(TokenError::ScopeNeedsUser(scope.to_string()));
    }
    let restriction = restrict(requested, registered);
    match restriction.refused.first() {
        Some(scope) => Err(TokenError::ScopeNotAllowed(scope.to_string())),
        None => Ok(restriction.granted),
    }
}

fn needs_user(scope: &Scope) -> bool {
    match scope {
        Scope::Clinical(clinical) => clinical.context() != Context::System,
        Scope::Custom(_) => false,
        _ => true,
    }
}

/// `None` when the Client has changed since the decision.
async fn issue(
    env: &TimeAndRandomness<'_>,
    service: &TokenService,
    who: &AuthenticatedClient,
    granted: Option<ScopeSet>,
    organization: Option<Arc<VersionedOrganization>>,
) -> Result<Option<TokenResponse>, TokenError> {
    let client = &who.client;
    let profile = client.client_credentials;
    let default_lifetime_s = match who.method {
        ClientAuthenticationMethod::Assertion => BACKEND_TOKEN_DEFAULT_LIFETIME_S,
        // The id of a public app alone proves nothing here and is refused by `authenticate`.
        ClientAuthenticationMethod::Secret | ClientAuthenticationMethod::Public => SECRET_CLIENT_TOKEN_LIFETIME_S,
    };
    let expires_in = profile.lifetime_s.unwrap_or(default_lifetime_s);
    let scope = granted.map(|granted| granted.to_string());
    let b2b = b2b_of(client, organization.as_deref());
    let claims = AccessTokenClaims {
        iss: service.issuer.settings.base_url.clone(),
        sub: client.id.clone(),
        aud: service.issuer.documents.fhir_base_url().to_owned(),
        iat: env.now_s(),
        exp: env.now_s() + expires_in,
        jti: env.random_identifier(),
        client_id: client.id.clone(),
        sid: None,
        scope: scope.clone(),
        atv: client.is_smart_app().then_some(2),
        context: None,
        extensions: b2b.as_ref().ok().map(|claim| AccessTokenExtensions { hl7_b2b: claim.clone() }),
    };
    let minted = mint(env, &service.issuer, profile, &claims)?;
    if let Some(row) = minted.row
        && !service.tokens.store_opaque_token(row, client.version).await?
    {
        return Ok(None);
    }
    let need_patient_banner = (who.method == ClientAuthenticationMethod::Secret).then_some(true);
    Ok(Some(TokenResponse {
        access_token: minted.text,
        token_type: "Bearer",
        expires_in,
        scope,
        id_token: None,
        refresh_token: None,
        issued_token_type: None,
        context: LaunchContext { need_patient_banner, ..LaunchContext::default() },
        b2b: b2b.map(drop),
        client_id: client.id.clone(),
        user_id: None,
        grant_id: None,
    }))
}
