//! Authorization of requests to the resource endpoints: scopes first, then access policies, denied by default.
//!
//! Scopes bind every token that carries them, at the native endpoint too and whatever a policy
//! allows (`docs/decisions.md`, "Scopes"); a scope never widens what policies allow. What a scope permits may be a part
//! of a type: then the answer says which ([`GrantedAccess::reach`]), and the resource server applies it.

use serde_json::Value;
use smart_scopes::Interaction;

use crate::access_policies::{CombinedPolicyDecision, PolicyEvaluationSubject};
use crate::ports::StoreError;
use crate::registration_cache::RegistrationCache;
use crate::resource_caller::{CallerIdentity, ResourceCaller};
use crate::scope_access::ScopeAccess;

/// A request to the resource endpoints, as access rules see it.
#[derive(Clone, Copy)]
pub struct ResourceAccessRequest<'a> {
    /// The resource type and the interaction a scope must permit; `None` for what no SMART scope
    /// speaks about, which then is for callers without scopes.
    pub target: Option<(&'a str, Interaction)>,
    /// The operation's name, for policies linked to an Operation.
    pub operation: &'a str,
    /// Whether only a policy that spells out what it allows counts, not one of engine `allow`.
    ///
    /// Not specified; we ask for it where a caller could make itself more than it is: writing Clients,
    /// Users, access policies, search parameters, the Organizations that B2B claims are made of and the
    /// `TokenIntrospector`s that say whose word for a User is taken, and looking into another's registration.
    /// Partners are often registered with a policy of engine `allow`, and such a partner must not be able to call
    /// itself another organization. See [`write_is_security_sensitive`].
    pub explicit: bool,
    /// Makes the request object policies are matched against, as far as the wire knows it. Called only
    /// when a policy that looks at it applies.
    pub request: &'a (dyn Fn() -> Value + Send + Sync),
}

/// Returns whether writing resources of this type is security-sensitive: it changes access rights, identities, or what
/// every search finds and every write costs (`SearchParameter`).
#[must_use]
pub fn write_is_security_sensitive(resource_type: &str) -> bool {
    matches!(
        resource_type,
        "Client"
            | "User"
            | "AccessPolicy"
            | "Organization"
            | "TokenIntrospector"
            | "RelatedPerson"
            | "Person"
            | "AuditEvent"
            | "SearchParameter"
    )
}

/// Returns whether resources of this type define who may do what. Reading them needs what writing them needs: who lists
/// the partners of a payer with their policies knows whom to impersonate and what it gains.
#[must_use]
pub fn read_is_security_sensitive(resource_type: &str) -> bool {
    matches!(resource_type, "Client" | "User" | "AccessPolicy" | "TokenIntrospector")
}

/// Returns whether only an administrator may write this resource: an access policy of engine `sql`, which may query
/// anything in the database.
#[must_use]
pub fn is_admin_only_write(resource_type: &str, resource: &Value) -> bool {
    fn asks_database(policy: &Value) -> bool {
        match policy {
            Value::Object(members) => {
                members.get("engine").is_some_and(|engine| engine == "sql") || members.values().any(asks_database)
            }
            Value::Array(elements) => elements.iter().any(asks_database),
            _ => false,
        }
    }
    resource_type == "AccessPolicy" && asks_database(resource)
}

/// The permission to carry out a [`ResourceAccessRequest`], with the limits that scopes put on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedAccess {
    /// Whether the caller is an administrator, which is the bootstrap client alone. Not specified who
    /// else is one; a policy makes nobody one, because partners are often registered with a policy
    /// of engine `allow`, and such a partner must still carry its B2B claim.
    pub administrator: bool,
    /// The policy that decided; `None` for the bootstrap client.
    pub policy_id: Option<String>,
    /// What scopes leave open of the type asked for. Whoever touches resources has to apply it.
    pub reach: ScopeAccess,
}

/// The reason why a caller may not carry out a [`ResourceAccessRequest`].
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// Nobody called, and no policy is open to everyone: 401.
    #[error("authentication is required")]
    Unauthenticated,
    /// The token lacks a scope: 403 `insufficient_scope`.
    #[error("the access token lacks a scope that permits this: {needed}")]
    InsufficientScope {
        /// A scope that would do.
        needed: String,
    },
    /// The token's scopes for this are all limited by a search that cannot be applied: 403
    /// `insufficient_scope`.
    #[error("the access token's scopes for this are limited by a query this server does not apply: {cause}")]
    UnappliedQuery {
        /// A scope that would do.
        needed: String,
        /// Which parameter, in words fit for the caller.
        cause: String,
    },
    /// No policy allows it: 403.
    #[error("no access policy allows this request")]
    Forbidden,
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Decides whether `caller` may carry out `access`: scopes first, then access policies, denied by default. Returns the
/// limits that scopes put on the access.
///
/// # Errors
/// [`AccessError`].
pub async fn authorize(
    directory: &RegistrationCache,
    caller: &ResourceCaller,
    access: ResourceAccessRequest<'_>,
) -> Result<GrantedAccess, AccessError> {
    let mut reach = scope_access(caller, access.target)?;
    if matches!(caller.identity, CallerIdentity::Root) {
        return Ok(GrantedAccess { administrator: true, policy_id: None, reach });
    }
    let book = directory.policies_at_revision(caller.policy_revision).await?;
    let subject = PolicyEvaluationSubject {
        client_id: caller.client_id(),
        user_id: caller.user_id(),
        roles: caller.represented_end_user().map_or(&[], |person| &person.roles),
        operation: Some(access.operation),
        explicit: access.explicit,
    };
    let request = || {
        let mut request = (access.request)();
        caller.describe(&mut request, access.operation);
        request
    };
    // What goes beyond single patients has to be the person's own right, and not that of the app, which a policy
    // may let do everything. Without it, what is left are the patients the token is for: a wider scope takes nothing
    // away from a narrower one beside it.
    let own = PolicyEvaluationSubject { client_id: None, ..subject };
    let directory = &directory;
    if caller.user_id().is_some()
        && reach.is_wide()
        && !matches!(directory.judge(&book, &own, &request).await, CombinedPolicyDecision::Allowed { .. })
    {
        reach = reach_of_patients(caller, access.target).ok_or(AccessError::Forbidden)?;
    }
    match directory.judge(&book, &subject, &request).await {
        CombinedPolicyDecision::Allowed { policy_id } => {
            Ok(GrantedAccess { administrator: false, policy_id: Some(policy_id), reach })
        }
        CombinedPolicyDecision::Denied { .. } if matches!(caller.identity, CallerIdentity::Anonymous) => {
            Err(AccessError::Unauthenticated)
        }
        CombinedPolicyDecision::Denied { .. } => Err(AccessError::Forbidden),
    }
}

/// Returns whether some access policy applies to callers without credentials; otherwise their requests are refused
/// whatever they contain.
///
/// # Errors
/// [`StoreError`].
pub async fn may_admit_anonymous(directory: &RegistrationCache, caller: &ResourceCaller) -> Result<bool, StoreError> {
    Ok(directory.policies_at_revision(caller.policy_revision).await?.applies_to_anonymous())
}

/// Returns what the caller's scopes leave open of a target, without what goes beyond single patients.
fn reach_of_patients(caller: &ResourceCaller, target: Option<(&str, Interaction)>) -> Option<ScopeAccess> {
    let (bearer, scopes) = caller.scopes()?;
    let (resource_type, interaction) = target?;
    bearer.reach_of_patients(scopes, resource_type, interaction)
}

/// Returns which part of `target` the caller's scopes open; access policies are not evaluated.
///
/// # Errors
/// [`AccessError::InsufficientScope`] when they permit nothing of it.
pub fn scope_access(caller: &ResourceCaller, target: Option<(&str, Interaction)>) -> Result<ScopeAccess, AccessError> {
    let Some((bearer, scopes)) = caller.scopes() else {
        return Ok(ScopeAccess::Everything);
    };
    let insufficient = |needed| Err(AccessError::InsufficientScope { needed });
    let Some((resource_type, interaction)) = target else {
        return insufficient("none: this operation is not open to tokens with scopes".to_owned());
    };
    match bearer.reach(scopes, resource_type, interaction) {
        Some(reach) => Ok(reach),
        None => insufficient(bearer.needed(resource_type, interaction)),
    }
}
