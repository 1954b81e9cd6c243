//! Token exchange: an app that holds a token of another issuer about a person who is a User here.
//!
//! Only for Clients that list the grant and the issuer. The claims of the token presented say who the person
//! is and nothing else: what the new token carries comes from what is registered here.

use super::app::{claim, current_app_for};
use super::member::{MemberTokenRequest, begin};
use super::password::for_person;
use super::scope::granted;
use super::subject::{SubjectTokenError, TokenSubject};
use super::{TokenError, TokenResponse, TokenService};
use crate::client::GrantType;
use crate::client_authentication::PresentedCredentials;
use crate::end_user::EndUser;
use crate::form_fields::FormFields;
use crate::time_and_randomness::TimeAndRandomness;

/// What is presented (RFC 8693, section 3).
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
/// What is given for it.
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// Verifies the token presented and issues.
///
/// # Source
/// RFC 8693, section 2; `docs/decisions.md`, "Token exchange".
pub(super) async fn grant(
    env: &TimeAndRandomness<'_>,
    service: &TokenService,
    credentials: &PresentedCredentials<'_>,
    form: &FormFields,
) -> Result<TokenResponse, TokenError> {
    let who = current_app_for(env, service, credentials, &[GrantType::TokenExchange]).await?;
    let subject = TokenSubject::read(subject_token(service.issuer.documents.fhir_base_url(), form)?)?;
    let user_id = subject.verified(env, service, &who.client).await?;
    let stored = service.directory.store().user(user_id).await?;
    let base_url = &service.issuer.settings.base_url;
    let person = stored.map(|stored| EndUser::from_stored(user_id, &stored, base_url)).filter(|person| person.active);
    let person = person.ok_or(SubjectTokenError::User)?;
    let scope = granted(&who.client, &person, form.get("scope"))?;
    let authorization = for_person(env, (&who.client, &person), GrantType::TokenExchange, scope);
    let member = MemberTokenRequest::of(&who.client, Some(&person), &authorization, &person.credential)?;
    let (mut response, tokens) = begin(env, service, &member, env.random_identifier(), None).await?;
    response.issued_token_type = Some(ACCESS_TOKEN);
    claim(env, service, credentials, &who).await?;
    service.families.store_grantless_family(tokens).await?;
    Ok(response)
}

/// Returns the token presented, once the other parameters ask for nothing this server does not do. One trailing slash
/// of the target is forgiven, as at the authorization endpoint.
fn subject_token<'f>(expected: &str, form: &'f FormFields) -> Result<&'f str, TokenError> {
    let token = form.get("subject_token").ok_or(TokenError::Missing("subject_token"))?;
    let kind = form.get("subject_token_type").ok_or(TokenError::Missing("subject_token_type"))?;
    let refused = |name, expected| Err(TokenError::Parameter { name, expected });
    if kind != JWT {
        return refused("subject_token_type", "must be urn:ietf:params:oauth:token-type:jwt");
    }
    if form.get("requested_token_type").is_some_and(|kind| kind != ACCESS_TOKEN) {
        return refused("requested_token_type", "must be urn:ietf:params:oauth:token-type:access_token");
    }
    for name in ["actor_token", "actor_token_type"] {
        if form.get(name).is_some() {
            return refused(name, "is not supported: nobody acts for another with these tokens");
        }
    }
    let is_ours = |target: &str| target == expected || target.strip_suffix('/') == Some(expected);
    for name in ["audience", "resource"] {
        if form.get(name).is_some_and(|target| !is_ours(target)) {
            return Err(TokenError::Target { name, expected: expected.to_owned() });
        }
    }
    Ok(token)
}
