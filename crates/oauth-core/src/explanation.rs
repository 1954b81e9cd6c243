//! Why a caller may do something, or may not: for administrators who ask on behalf of others.
//!
//! The decision itself is that of [`crate::access`], made for a caller who is only supposed; here is what it
//! was made from: which scopes speak and which one is missing, which policies apply and which one passes.

use std::sync::Arc;

use serde::Serialize;
use smart_scopes::{Scope, ScopeParseError, ScopeSet};

use crate::access::AccessRequest;
use crate::bearer::VerifiedToken;
use crate::caller::{Caller, CallerIdentity, TokenBearer};
use crate::directory::RegistrationCache;
use crate::env::Env;
use crate::policy::{PolicyDecision, PolicySubject};
use crate::ports::{CallerStatusQuery, StoreError};
use crate::token::claims::AccessTokenClaims;

/// The caller that an explanation assumes.
#[derive(Debug, Clone, Copy, Default)]
pub struct AssumedRequest<'a> {
    /// The Client.
    pub client: Option<&'a str>,
    /// The User who authorized the access token.
    pub user: Option<&'a str>,
    /// The patient in the token's context.
    pub patient: Option<&'a str>,
    /// The scopes of the token; without them and a User, the Client calls by HTTP Basic.
    pub scope: Option<&'a str>,
}

/// The reason why nobody can be supposed.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// A token belongs to a Client.
    #[error("a user, a patient or a scope needs a client")]
    NoClient,
    /// There is no such Client.
    #[error("there is no Client of this id")]
    UnknownClient,
    /// There is no such User.
    #[error("there is no User of this id")]
    UnknownUser,
    /// The scopes are none.
    #[error("the scope is not one: {0}")]
    Scope(#[from] ScopeParseError),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The facts from which an access decision was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AccessExplanation {
    /// Whether the caller has scopes that bind it.
    pub bound_by_scopes: bool,
    /// The scopes that permit the request, at least in part.
    pub permitting_scopes: Vec<String>,
    /// A scope that would permit it, where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_scope: Option<String>,
    /// Every policy that applies to the caller, cheap ones first; the first that passes decides.
    pub policies: Vec<PolicyDecision>,
    /// The policies that apply to the person alone, where the request goes beyond single patients: one of them
    /// has to pass as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policies_of_the_person: Option<Vec<PolicyDecision>>,
    /// Stored policies that do not compile and allow nothing.
    pub skipped_policies: Vec<String>,
}

/// The caller that is supposed.
///
/// # Errors
/// [`ExplainError`].
pub async fn caller(
    env: &Env<'_>,
    directory: &RegistrationCache,
    supposed: AssumedRequest<'_>,
) -> Result<Caller, ExplainError> {
    let has_token = supposed.user.is_some() || supposed.patient.is_some() || supposed.scope.is_some();
    let query =
        CallerStatusQuery { client_id: supposed.client, user_id: supposed.user, ..CallerStatusQuery::default() };
    let standing = directory.store().caller_status(&query).await?;
    let policy_revision = standing.policy_revision;
    let Some(client_id) = supposed.client else {
        let anonymous = Caller { identity: CallerIdentity::Anonymous, policy_revision };
        return if has_token { Err(ExplainError::NoClient) } else { Ok(anonymous) };
    };
    let client = directory.read_client(client_id).await?.ok_or(ExplainError::UnknownClient)?;
    if !has_token {
        return Ok(Caller { identity: CallerIdentity::Client(client), policy_revision });
    }
    let person = match (supposed.user, standing.user_version) {
        (None, _) => None,
        (Some(_), None) => return Err(ExplainError::UnknownUser),
        (Some(id), Some(version)) => Some(directory.person_at(id, version).await?.ok_or(ExplainError::UnknownUser)?),
    };
    let scopes = supposed.scope.map(ScopeSet::parse).transpose()?;
    let scopes = scopes.or_else(|| person.as_ref().map(|_| ScopeSet::default()));
    let claims = claims(env, directory, supposed);
    let token = VerifiedToken { claims, client: Arc::clone(&client), person, standing };
    Ok(Caller { identity: CallerIdentity::Token(Box::new(TokenBearer { token, scopes })), policy_revision })
}

/// Returns what the token would say.
fn claims(env: &Env<'_>, directory: &RegistrationCache, supposed: AssumedRequest<'_>) -> AccessTokenClaims {
    let base_url = directory.base_url();
    let now_s = env.now_us.div_euclid(1_000_000);
    let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
    AccessTokenClaims {
        iss: base_url.to_owned(),
        sub: text(supposed.user.or(supposed.client)),
        aud: format!("{base_url}/fhir"),
        iat: now_s,
        exp: now_s,
        jti: "supposed".to_owned(),
        client_id: text(supposed.client),
        sid: supposed.user.map(|_| "supposed".to_owned()),
        scope: supposed.scope.map(str::to_owned),
        atv: None,
        context: supposed.patient.map(|patient| serde_json::json!({ "patient": patient })),
        extensions: None,
    }
}

/// Returns what the decision about `access` is made from.
///
/// # Errors
/// [`StoreError`].
pub async fn explain(
    directory: &RegistrationCache,
    caller: &Caller,
    access: AccessRequest<'_>,
) -> Result<AccessExplanation, StoreError> {
    let book = directory.policies_at(caller.policy_revision).await?;
    let subject = PolicySubject {
        client_id: caller.client_id(),
        user_id: caller.user_id(),
        roles: caller.person().map_or(&[], |person| &person.roles),
        operation: Some(access.operation),
        explicit: access.explicit,
    };
    let mut request = (access.request)();
    caller.describe(&mut request, access.operation);
    let store = directory.store();
    let (permitting_scopes, missing_scope, is_wide) = scopes(caller, access.target);
    let policies_of_the_person = match caller.user_id() {
        Some(_) if is_wide => {
            Some(book.explain(&PolicySubject { client_id: None, ..subject }, (&request, store)).await)
        }
        _ => None,
    };
    Ok(AccessExplanation {
        bound_by_scopes: caller.scopes().is_some(),
        permitting_scopes,
        missing_scope,
        policies: book.explain(&subject, (&request, store)).await,
        policies_of_the_person,
        skipped_policies: book.skipped().iter().map(|skipped| skipped.policy_id.clone()).collect(),
    })
}

/// Returns the scopes that permit, one that would, and whether what is permitted goes beyond single patients.
fn scopes(caller: &Caller, target: Option<(&str, smart_scopes::Interaction)>) -> (Vec<String>, Option<String>, bool) {
    let (Some((bearer, scopes)), Some((resource_type, interaction))) = (caller.scopes(), target) else {
        return (Vec::new(), None, true);
    };
    let alone = |scope: &Scope| ScopeSet::from_iter([scope.clone()]);
    let permits = |scope: &&Scope| bearer.reach(&alone(scope), resource_type, interaction).is_some();
    let permitting: Vec<String> = scopes.iter().filter(permits).map(ToString::to_string).collect();
    let missing = permitting.is_empty().then(|| bearer.needed(resource_type, interaction));
    let is_wide = bearer.reach(scopes, resource_type, interaction).is_some_and(|reach| reach.is_wide());
    (permitting, missing, is_wide)
}
