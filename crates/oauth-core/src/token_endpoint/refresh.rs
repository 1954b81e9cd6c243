//! The `refresh_token` grant: new tokens without the person.
//!
//! Every use replaces the refresh token. The successor is derived from the token it follows, so a request
//! that is repeated, because its answer was lost or two tabs asked at once, is answered with the same
//! successor and not with a second chain, and the server keeps no secret to answer it with. After the
//! grace time, or once the successor was used, a repeated token means that two parties hold it, and the whole
//! family ends.
//!
//! The road not taken is a stored copy of the last answer: it would keep tokens in the database that are
//! good to whoever reads it.

use aws_lc_rs::hmac;
use smart_scopes::ScopeSet;

use super::app::{app_for, check, claim};
use super::member::{GrantLimits, IssuedTokens, MemberTokenRequest, issue};
use super::scope::still_registered;
use super::{ATTEMPTS, InvalidGrantError, TokenError, TokenResponse, TokenService, damaged};
use crate::audit::RevocationAudit;
use crate::client::{Client, GrantType};
use crate::client_authentication::{AuthenticatedClient, PresentedCredentials};
use crate::end_user::{EndUser, FhirUser};
use crate::form_fields::FormFields;
use crate::granted_authorization::GrantedAuthorization;
use crate::jose::{encode_base64url, sha256};
use crate::limits::REFRESH_TOKEN_REUSE_GRACE_S;
use crate::ports::{RefreshTokenRecord, RefreshTokenRotation, RefreshTokenRotationOutcome, RefreshTokenState};
use crate::time_and_randomness::TimeAndRandomness;

/// The grants that may give a refresh token.
const REFRESHABLE: [GrantType; 3] = [GrantType::AuthorizationCode, GrantType::Password, GrantType::TokenExchange];

/// The key successors are derived with: one per deployment, so that any node derives the same.
pub(crate) struct SuccessorKey(hmac::Key);

impl SuccessorKey {
    /// A key of these bytes.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// Returns what follows `token` in this family. Without the key nobody makes one from the other.
    fn successor(&self, token: &str, family_id: &str) -> String {
        encode_base64url(hmac::sign(&self.0, format!("{token}\n{family_id}").as_bytes()).as_ref())
    }
}

impl std::fmt::Debug for SuccessorKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SuccessorKey(…)")
    }
}

/// Uses a refresh token.
///
/// An app without a secret may leave out `client_id`, as the SMART library for browsers does by default and
/// RFC 6749, section 6, permits: the token says whose it is. A confidential app is refused without its proof.
///
/// # Source
/// RFC 6749, section 6; RFC 9700, section 4.14; SMART App Launch 2.2.0, "Use a refresh token".
pub(super) async fn grant(
    env: &TimeAndRandomness<'_>,
    service: &TokenService,
    credentials: &PresentedCredentials<'_>,
    form: &FormFields,
) -> Result<TokenResponse, TokenError> {
    let requested = form.get("scope").map(ScopeSet::parse).transpose();
    let requested = requested.map_err(|fault| TokenError::MalformedScope(fault.to_string()))?;
    let token = form.get("refresh_token");
    let owner = match (credentials, token) {
        (PresentedCredentials::None, Some(token)) => Some(owner(service, token).await?),
        _ => None,
    };
    let named = owner.as_deref().map(PresentedCredentials::Public);
    let credentials = named.as_ref().unwrap_or(credentials);
    for _ in 0..ATTEMPTS {
        let who = app_for(env, service, credentials, &REFRESHABLE).await?;
        let token = token.ok_or(TokenError::Missing("refresh_token"))?;
        let found = service.families.find_refresh_token(&sha256(token.as_bytes())).await?;
        let found = found.ok_or(InvalidGrantError::UnknownRefreshToken)?;
        if found.family.client_id != who.client.id {
            return Err(InvalidGrantError::OtherClient.into());
        }
        if found.client_version != Some(who.client.version) {
            service.directory.load_current_client(&who.client.id).await?;
            continue;
        }
        let authorization = GrantedAuthorization::from_stored(&found.family.authorization).map_err(damaged)?;
        check(&who, authorization.grant)?;
        let scope = scope_now(&who.client, &authorization.scope, requested.as_ref())?;
        return rotate(env, service, (credentials, &who, token), (&authorization, &scope, found)).await;
    }
    Err(TokenError::Unsettled)
}

/// The app a refresh token was given to.
async fn owner(service: &TokenService, token: &str) -> Result<String, TokenError> {
    let found = service.families.find_refresh_token(&sha256(token.as_bytes())).await?;
    Ok(found.ok_or(InvalidGrantError::UnknownRefreshToken)?.family.client_id)
}

/// Returns what was asked for, if it was granted; all of it when nothing was asked for; of either, what the app is
/// registered for now. The refresh token keeps what was granted first, so that a narrow request does not narrow the
/// next.
fn scope_now(client: &Client, granted: &str, requested: Option<&ScopeSet>) -> Result<String, TokenError> {
    let left = still_registered(client, granted)?;
    let Some(requested) = requested.filter(|requested| !requested.is_empty()) else { return Ok(left) };
    let granted = ScopeSet::parse(granted).unwrap_or_default();
    if let Some(scope) = requested.iter().find(|scope| !granted.covers(scope)) {
        return Err(TokenError::ScopeNotGranted(scope.to_string()));
    }
    let left = client.limit_to_registered_scopes(requested);
    if left.is_empty() { Err(TokenError::NoScope) } else { Ok(left.to_string()) }
}

async fn rotate(
    env: &TimeAndRandomness<'_>,
    service: &TokenService,
    (credentials, who, token): (&PresentedCredentials<'_>, &AuthenticatedClient, &str),
    (authorization, scope, found): (&GrantedAuthorization, &str, RefreshTokenState),
) -> Result<TokenResponse, TokenError> {
    let (now_s, family) = (env.now_s(), &found.family);
    if found.revoked || family.expires_s <= now_s || found.token.expires_s <= now_s {
        return Err(InvalidGrantError::Ended.into());
    }
    let person = match found.user_version {
        Some(version) => service.directory.end_user_at_version(&family.user_id, version).await?,
        None => None,
    };
    let member = match member(env, service, (who, person.as_deref(), authorization), &found).await {
        Err(TokenError::Grant(fault)) if fault.is_final() => {
            if service.families.revoke_family(&family.id, now_s).await? {
                service.audit.revocation(env, &RevocationAudit::family(family));
            }
            return Err(fault.into());
        }
        member => member?,
    };
    if !member.settings.refresh_token {
        return Err(TokenError::UnauthorizedClient);
    }
    let within = GrantLimits { family_id: &family.id, ends_s: family.expires_s, scope };
    let IssuedTokens { mut response, access } = issue(env, service, &member, within).await?;
    let successor = service.successors.successor(token, &family.id);
    let row = RefreshTokenRecord {
        hash: sha256(successor.as_bytes()),
        family_id: family.id.clone(),
        issued_s: now_s,
        expires_s: member.refresh_expires_s(now_s, family.expires_s),
    };
    response.refresh_token = Some(successor);
    response.grant_id.clone_from(&family.grant_id);
    claim(env, service, credentials, who).await?;
    let rotation = RefreshTokenRotation {
        hash: found.token.hash,
        now_s,
        grace_s: REFRESH_TOKEN_REUSE_GRACE_S,
        successor: row,
        access,
    };
    match service.families.rotate_refresh_token(rotation).await? {
        RefreshTokenRotationOutcome::Rotated | RefreshTokenRotationOutcome::Repeated => Ok(response),
        RefreshTokenRotationOutcome::Reused => {
            service.audit.revocation(env, &RevocationAudit::family(family));
            Err(InvalidGrantError::Reused.into())
        }
        RefreshTokenRotationOutcome::Ended => Err(InvalidGrantError::Ended.into()),
        RefreshTokenRotationOutcome::Unknown => Err(InvalidGrantError::UnknownRefreshToken.into()),
    }
}

/// Returns whom the tokens would be for, if that person may still authorize them: all that is asked when an app is let
/// in, but for the consent, is asked again. What the family was found with answers it; only a relative's relation is
/// read.
async fn member<'a>(
    env: &TimeAndRandomness<'_>,
    service: &TokenService,
    (who, person, authorization): (&'a AuthenticatedClient, Option<&'a EndUser>, &'a GrantedAuthorization),
    found: &RefreshTokenState,
) -> Result<MemberTokenRequest<'a>, TokenError> {
    let member = MemberTokenRequest::of(&who.client, person, authorization, &found.family.credential)?;
    let own = member.person.fhir_user.as_ref().map(FhirUser::reference);
    if authorization.fhir_user.is_some() && authorization.fhir_user != own {
        return Err(InvalidGrantError::OtherPerson.into());
    }
    if !service.patient_access.may_still_act(env, (member.person, authorization), found.policy_revision).await? {
        return Err(InvalidGrantError::NoLongerActing.into());
    }
    Ok(member)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_successor_follows_from_key_token_and_family_together() {
        let successor = |key: u8, token: &str, family: &str| SuccessorKey::new(&[key; 32]).successor(token, family);
        let first = successor(1, "token", "family");
        assert_eq!(first, successor(1, "token", "family"));
        assert_eq!(first.len(), 43);
        for other in [successor(2, "token", "family"), successor(1, "tokem", "family"), successor(1, "token", "f")] {
            assert_ne!(first, other);
        }
    }
}
