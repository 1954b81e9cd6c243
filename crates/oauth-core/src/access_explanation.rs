//! Explanations of access decisions: why a caller may do something or not, for administrators who ask on behalf of
//! others.
//!
//! The decision itself is that of [`crate::access`], made for a caller who is only supposed; here is what it
//! was made from: which scopes speak and which one is missing, which policies apply and which one passes.

use std::sync::Arc;

use serde::Serialize;
use smart_scopes::{Scope, ScopeParseError, ScopeSet};

use crate::access::ResourceAccessRequest;
use crate::access_policies::{PolicyEvaluationSubject, SinglePolicyDecision};
use crate::access_token_verification::VerifiedAccessToken;
use crate::ports::{CallerStatusQuery, StoreError};
use crate::registration_cache::RegistrationCache;
use crate::resource_caller::{AccessTokenCaller, CallerIdentity, ResourceCaller};
use crate::time_and_randomness::TimeAndRandomness;
use crate::token_endpoint::access_token_claims::AccessTokenClaims;

/// The caller that an access explanation assumes: client, user, patient and scope.
#[derive(Debug, Clone, Copy, Default)]
pub struct AssumedCaller<'a> {
    /// The Client.
    pub client: Option<&'a str>,
    /// The User who authorized the access token.
    pub user: Option<&'a str>,
    /// The patient in the token's context.
    pub patient: Option<&'a str>,
    /// The scopes of the token; without them and a User, the Client calls by HTTP Basic.
    pub scope: Option<&'a str>,
}

/// The reason why the caller of an explanation cannot be assumed.
#[derive(Debug, thiserror::Error)]
pub enum AssumedCallerError {
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
    pub policies: Vec<SinglePolicyDecision>,
    /// The policies that apply to the person alone, where the request goes beyond single patients: one of them
    /// has to pass as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policies_of_the_person: Option<Vec<SinglePolicyDecision>>,
    /// Stored policies that do not compile and allow nothing.
    pub skipped_policies: Vec<String>,
}

/// Returns the caller that an explanation assumes.
///
/// # Errors
/// [`AssumedCallerError`].
pub async fn assume_caller(
    env: &TimeAndRandomness<'_>,
    directory: &RegistrationCache,
    supposed: AssumedCaller<'_>,
) -> Result<ResourceCaller, AssumedCallerError> {
    let has_token = supposed.user.is_some() || supposed.patient.is_some() || supposed.scope.is_some();
    let query =
        CallerStatusQuery { client_id: supposed.client, user_id: supposed.user, ..CallerStatusQuery::default() };
    let standing = directory.store().caller_status(&query).await?;
    let policy_revision = standing.policy_revision;
    let Some(client_id) = supposed.client else {
        let anonymous = ResourceCaller { identity: CallerIdentity::Anonymous, policy_revision };
        return if has_token { Err(AssumedCallerError::NoClient) } else { Ok(anonymous) };
    };
    let client = directory.load_current_client(client_id).await?.ok_or(AssumedCallerError::UnknownClient)?;
    if !has_token {
        return Ok(ResourceCaller { identity: CallerIdentity::Client(client), policy_revision });
    }
    let person = match (supposed.user, standing.user_version) {
        (None, _) => None,
        (Some(_), None) => return Err(AssumedCallerError::UnknownUser),
        (Some(id), Some(version)) => {
            Some(directory.end_user_at_version(id, version).await?.ok_or(AssumedCallerError::UnknownUser)?)
        }
    };
    let scopes = supposed.scope.map(ScopeSet::parse).transpose()?;
    let scopes = scopes.or_else(|| person.as_ref().map(|_| ScopeSet::default()));
    let claims = claims(env, directory, supposed);
    let token = VerifiedAccessToken { claims, client: Arc::clone(&client), person, standing };
    Ok(ResourceCaller {
        identity: CallerIdentity::Token(Box::new(AccessTokenCaller { token, scopes })),
        policy_revision,
    })
}

/// Returns what the token would say.
fn claims(
    env: &TimeAndRandomness<'_>,
    directory: &RegistrationCache,
    supposed: AssumedCaller<'_>,
) -> AccessTokenClaims {
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

/// Returns the scopes and the decisions of the policies from which the decision about `access` is made.
///
/// # Errors
/// [`StoreError`].
pub async fn explain_access(
    directory: &RegistrationCache,
    caller: &ResourceCaller,
    access: ResourceAccessRequest<'_>,
) -> Result<AccessExplanation, StoreError> {
    let book = directory.policies_at_revision(caller.policy_revision).await?;
    let subject = PolicyEvaluationSubject {
        client_id: caller.client_id(),
        user_id: caller.user_id(),
        roles: caller.represented_end_user().map_or(&[], |person| &person.roles),
        operation: Some(access.operation),
        explicit: access.explicit,
    };
    let mut request = (access.request)();
    caller.describe(&mut request, access.operation);
    let store = directory.store();
    let (permitting_scopes, missing_scope, is_wide) = scopes(caller, access.target);
    let policies_of_the_person = match caller.user_id() {
        Some(_) if is_wide => Some(
            book.explain_each_decision(&PolicyEvaluationSubject { client_id: None, ..subject }, (&request, store))
                .await,
        ),
        _ => None,
    };
    Ok(AccessExplanation {
        bound_by_scopes: caller.scopes().is_some(),
        permitting_scopes,
        missing_scope,
        policies: book.explain_each_decision(&subject, (&request, store)).await,
        policies_of_the_person,
        skipped_policies: book.uncompilable_policies().iter().map(|skipped| skipped.policy_id.clone()).collect(),
    })
}

/// Returns the scopes that permit, one that would, and whether what is permitted goes beyond single patients.
fn scopes(
    caller: &ResourceCaller,
    target: Option<(&str, smart_scopes::Interaction)>,
) -> (Vec<String>, Option<String>, bool) {
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
