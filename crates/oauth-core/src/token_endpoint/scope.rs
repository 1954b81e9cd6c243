//! Scopes of the grants in which nobody is asked on a page: `password` and token exchange.

use smart_scopes::{Context, Scope, ScopeSet, restrict};

use super::{InvalidGrantError, TokenError};
use crate::authorization_endpoint::is_of_use;
use crate::client::Client;
use crate::end_user::EndUser;

/// Returns what a person's token of `client` may be used for, space-separated; empty only for a Client that is
/// registered without scopes and asks for none, which policies alone bind.
///
/// Not specified for these grants; as at the authorization endpoint, what is disjoint from the registration
/// is left out, a Client without one is not limited by it, and nothing is left is a refusal. Scopes that
/// only a launch or a backend service can have are left out as well.
pub(super) fn granted(client: &Client, person: &EndUser, requested: Option<&str>) -> Result<String, TokenError> {
    let requested = requested.map(ScopeSet::parse).transpose();
    let requested = requested.map_err(|fault| TokenError::MalformedScope(fault.to_string()))?;
    let allowed = match (&client.scope, requested) {
        (None, None) => return Ok(String::new()),
        (Some(registered), None) => registered.clone(),
        (None, Some(requested)) => requested,
        (Some(registered), Some(requested)) => restrict(&requested, registered).granted,
    };
    let patient = patient_of(person).is_some();
    let granted: ScopeSet = allowed.iter().filter(|scope| exists(scope, patient)).cloned().collect();
    if granted.is_empty() { Err(TokenError::NoScope) } else { Ok(granted.to_string()) }
}

/// Returns what the registration of this moment leaves of the scopes that were granted: what was taken out of it since
/// is not given any more, what was put in is not given without the person.
pub(super) fn still_registered(client: &Client, granted: &str) -> Result<String, InvalidGrantError> {
    let scopes = ScopeSet::parse(granted).unwrap_or_default();
    let left = client.limit_to_registered_scopes(&scopes);
    if left == scopes {
        return Ok(granted.to_owned());
    }
    if is_of_use(&scopes, &left) { Ok(left.to_string()) } else { Err(InvalidGrantError::ScopesGone) }
}

/// Returns the patient a person is.
pub(super) fn patient_of(person: &EndUser) -> Option<&str> {
    let fhir_user = person.fhir_user.as_ref().filter(|fhir_user| fhir_user.resource_type == "Patient")?;
    Some(fhir_user.id.as_str())
}

fn exists(scope: &Scope, with_patient: bool) -> bool {
    match scope {
        Scope::Clinical(clinical) => match clinical.context() {
            Context::System => false,
            Context::Patient => with_patient,
            Context::User => true,
        },
        Scope::Launch => false,
        Scope::LaunchContext(launch) => launch.is_patient() && with_patient,
        _ => true,
    }
}
