//! The app that asks for a person's tokens: authenticated, and registered for the grant.

use super::{ATTEMPTS, TokenError, TokenService};
use crate::client::GrantType;
use crate::client_authentication::{
    AuthenticatedClient, ClientAuthenticationError, ClientAuthenticationMethod, ClientRejectionReason,
    PresentedCredentials,
};
use crate::form_fields::sanitize_for_error_description;
use crate::time_and_randomness::TimeAndRandomness;

/// The app behind `credentials`, if it may use one of `grants`. A refusal is never made from an old copy.
pub(super) async fn app_for(
    env: &TimeAndRandomness<'_>,
    service: &TokenService,
    credentials: &PresentedCredentials<'_>,
    grants: &[GrantType],
) -> Result<AuthenticatedClient, TokenError> {
    for _ in 0..ATTEMPTS {
        let who = service.authenticator.authenticate_allowing_public(env, credentials).await?;
        let Err(refusal) = check_any(&who, grants) else { return Ok(who) };
        let stored = service.directory.load_current_client(&who.client.id).await?;
        if stored.is_none_or(|stored| stored.version == who.client.version) {
            return Err(refusal);
        }
    }
    Err(TokenError::Unsettled)
}

/// Like [`app_for`], for grants that no statement with the Client's version precedes: what is accepted is
/// not accepted from an old copy either.
pub(super) async fn current_app_for(
    env: &TimeAndRandomness<'_>,
    service: &TokenService,
    credentials: &PresentedCredentials<'_>,
    grants: &[GrantType],
) -> Result<AuthenticatedClient, TokenError> {
    for _ in 0..ATTEMPTS {
        let who = app_for(env, service, credentials, grants).await?;
        if service.directory.current_client_version(&who.client.id).await? == Some(who.client.version) {
            return Ok(who);
        }
        service.directory.load_current_client(&who.client.id).await?;
    }
    Err(TokenError::Unsettled)
}

fn check_any(who: &AuthenticatedClient, grants: &[GrantType]) -> Result<(), TokenError> {
    let mut outcome = Err(TokenError::UnauthorizedClient);
    for grant in grants {
        match check(who, *grant) {
            Err(TokenError::UnauthorizedClient) => {}
            checked => outcome = checked,
        }
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

/// Whether `who` may use `grant`, and proved itself as the registration demands there.
pub(super) fn check(who: &AuthenticatedClient, grant: GrantType) -> Result<(), TokenError> {
    let client = &who.client;
    let settings = client.end_user_grant_settings(grant).filter(|_| client.may_use_grant(grant));
    let settings = settings.ok_or(TokenError::UnauthorizedClient)?;
    who.check_method(&settings.profile)?;
    // Who exchanges a token has no other proof that it is its own to use, neither a code challenge nor a
    // password; not specified for public apps, the platform knows Basic there.
    let demanded = grant == GrantType::TokenExchange || !client.is_public(settings);
    if who.method == ClientAuthenticationMethod::Public && demanded {
        let client_id = sanitize_for_error_description(&client.id);
        return Err(
            ClientAuthenticationError::Rejected { client_id, rejection: ClientRejectionReason::NotPublic }.into()
        );
    }
    Ok(())
}

/// Claims the nonce of the app's assertion, if it sent one: after everything that can refuse, so that a
/// refusal claims none, and before anything is stored.
pub(super) async fn claim(
    env: &TimeAndRandomness<'_>,
    service: &TokenService,
    credentials: &PresentedCredentials<'_>,
    who: &AuthenticatedClient,
) -> Result<(), TokenError> {
    if who.nonce.is_some() {
        service.authenticator.claim_nonce(env, credentials, who).await?;
    }
    Ok(())
}
