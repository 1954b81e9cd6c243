//! The `authorization_code` grant: the code a person's consent gave, for tokens.

use subtle::ConstantTimeEq as _;

use super::app::{app_for, claim};
use super::member::{MemberTokenRequest, begin};
use super::scope::still_registered;
use super::{ATTEMPTS, InvalidGrantError, TokenError, TokenResponse, TokenService, damaged};
use crate::audit::RevocationAudit;
use crate::authorization_endpoint::hash_of_code;
use crate::client::GrantType;
use crate::client_authentication::{AuthenticatedClient, ClientAuthenticationMethod, PresentedCredentials};
use crate::form_fields::FormFields;
use crate::granted_authorization::GrantedAuthorization;
use crate::jose::{encode_base64url, sha256};
use crate::ports::{AuthorizationCodeState, CodeRedemptionOutcome};
use crate::time_and_randomness::TimeAndRandomness;

/// Lengths of a code verifier (RFC 7636, section 4.1).
const VERIFIER_CHARS: std::ops::RangeInclusive<usize> = 43..=128;
/// The parameter.
const VERIFIER: &str = "code_verifier";
const MALFORMED_VERIFIER: TokenError =
    TokenError::Parameter { name: VERIFIER, expected: "must be 43 to 128 letters, digits, -, ., _ or ~" };

/// What a token request says of its code.
#[derive(Clone, Copy)]
struct Presented<'a> {
    code: &'a str,
    redirect_uri: &'a str,
    verifier: Option<&'a str>,
}

/// Redeems a code.
///
/// A failed attempt leaves everything as it is: whoever learns a code must not be able to spend it, or to
/// end what it gave. A second use that would have been good as the first ends what the first gave (RFC
/// 6749, section 4.1.2), also when the first one's answer was lost.
///
/// # Source
/// RFC 6749, section 4.1.3; RFC 7636, section 4.6; RFC 9700, sections 2.1.1 and 4.8. Specification, OAuth errors: a
/// verifier that is missing or malformed is an `invalid_request`, which RFC 7636 leaves open; one that does not answer
/// the challenge is an `invalid_grant`.
pub(super) async fn grant(
    env: &TimeAndRandomness<'_>,
    service: &TokenService,
    credentials: &PresentedCredentials<'_>,
    form: &FormFields,
) -> Result<TokenResponse, TokenError> {
    for _ in 0..ATTEMPTS {
        let who = app_for(env, service, credentials, &[GrantType::AuthorizationCode]).await?;
        let presented = Presented {
            code: form.get("code").ok_or(TokenError::Missing("code"))?,
            redirect_uri: form.get("redirect_uri").ok_or(TokenError::Missing("redirect_uri"))?,
            verifier: form.get(VERIFIER),
        };
        let hash = hash_of_code(presented.code);
        let found = service.codes.find_code(&hash).await?.ok_or(InvalidGrantError::UnknownCode)?;
        if found.code.client_id != who.client.id {
            return Err(InvalidGrantError::OtherClient.into());
        }
        if found.client_version != Some(who.client.version) {
            service.directory.load_current_client(&who.client.id).await?;
            continue;
        }
        let authorization = GrantedAuthorization::from_stored(&found.code.authorization).map_err(damaged)?;
        check(&presented, &authorization, who.method)?;
        let scope = still_registered(&who.client, &authorization.scope)?;
        let authorization = GrantedAuthorization { scope, ..authorization };
        return redeem(env, service, (credentials, &who), (&authorization, found)).await;
    }
    Err(TokenError::Unsettled)
}

/// Everything the code is bound to.
fn check(
    presented: &Presented<'_>,
    authorization: &GrantedAuthorization,
    method: ClientAuthenticationMethod,
) -> Result<(), TokenError> {
    if authorization.redirect_uri.as_deref() != Some(presented.redirect_uri) {
        return Err(InvalidGrantError::RedirectUri.into());
    }
    match (authorization.code_challenge.as_deref(), presented.verifier) {
        (Some(_), None) => Err(TokenError::Missing(VERIFIER)),
        (Some(_), Some(verifier)) if !is_well_formed(verifier) => Err(MALFORMED_VERIFIER),
        (Some(challenge), Some(verifier)) if is_answer(challenge, verifier) => Ok(()),
        (Some(_), Some(_)) => Err(InvalidGrantError::Verifier.into()),
        // An attacker who could strip the challenge from the authorization request must not gain by it.
        (None, Some(_)) => Err(InvalidGrantError::NoChallenge.into()),
        (None, None) if method == ClientAuthenticationMethod::Public => Err(InvalidGrantError::NoChallenge.into()),
        (None, None) => Ok(()),
    }
}

/// Returns whether `verifier` could be one (RFC 7636, section 4.1).
fn is_well_formed(verifier: &str) -> bool {
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    VERIFIER_CHARS.contains(&verifier.len()) && verifier.bytes().all(is_unreserved)
}

/// Returns whether `challenge` is the S256 of `verifier` (RFC 7636, section 4.2).
fn is_answer(challenge: &str, verifier: &str) -> bool {
    let answer = encode_base64url(&sha256(verifier.as_bytes()));
    bool::from(answer.as_bytes().ct_eq(challenge.as_bytes()))
}

async fn redeem(
    env: &TimeAndRandomness<'_>,
    service: &TokenService,
    (credentials, who): (&PresentedCredentials<'_>, &AuthenticatedClient),
    (authorization, found): (&GrantedAuthorization, AuthorizationCodeState),
) -> Result<TokenResponse, TokenError> {
    let code = found.code;
    let grant_id = Some(code.grant_id.as_str());
    let user_id = authorization.user_id.as_str();
    let revoked = RevocationAudit { client_id: &who.client.id, user_id, grant_id, asked_by: None, address: None };
    let used_before = |ended: bool| {
        if ended {
            service.audit.revocation(env, &revoked);
        }
        Err(InvalidGrantError::UsedCode.into())
    };
    if found.used {
        return used_before(service.families.revoke_family(&code.family_id, env.now_s()).await?);
    }
    if code.expires_s <= env.now_s() {
        return Err(InvalidGrantError::ExpiredCode.into());
    }
    let version = found.user_version.ok_or(InvalidGrantError::Withdrawn)?;
    let person = service.directory.end_user_at_version(user_id, version).await?;
    let member = MemberTokenRequest::of(&who.client, person.as_deref(), authorization, &authorization.credential)?;
    let (response, tokens) = begin(env, service, &member, code.family_id, grant_id.map(str::to_owned)).await?;
    claim(env, service, credentials, who).await?;
    match service.codes.redeem_code(&code.hash, env.now_s(), tokens).await? {
        CodeRedemptionOutcome::Granted => Ok(response),
        CodeRedemptionOutcome::AlreadyUsed { ended } => used_before(ended),
        CodeRedemptionOutcome::Expired => Err(InvalidGrantError::ExpiredCode.into()),
        CodeRedemptionOutcome::Withdrawn => Err(InvalidGrantError::Withdrawn.into()),
        CodeRedemptionOutcome::Unknown => Err(InvalidGrantError::UnknownCode.into()),
    }
}
