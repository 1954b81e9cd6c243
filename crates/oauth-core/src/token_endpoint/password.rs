//! The `password` grant: an app that is given the person's password.
//!
//! Only for Clients that list it: the app learns what it should never see (RFC 9700, section 2.4 forbids new
//! uses). Attempts count against the same limits as those on the sign-in page.

use secrecy::SecretString;

use super::app::{claim, current_app_for};
use super::member::{MemberTokenRequest, begin};
use super::scope::{granted, patient_of};
use super::{InvalidGrantError, TokenError, TokenResponse, TokenService};
use crate::client::{Client, GrantType};
use crate::client_authentication::{ClientAuthenticationMethod, PresentedCredentials};
use crate::end_user::EndUser;
use crate::form_fields::FormFields;
use crate::granted_authorization::{GrantedAuthorization, LaunchContext};
use crate::sign_in::{SignInAttempt, SignInError};
use crate::time_and_randomness::TimeAndRandomness;

/// Checks the password and issues.
///
/// # Source
/// RFC 6749, section 4.3; the platform takes `email` where there is no `username`.
pub(super) async fn grant(
    env: &TimeAndRandomness<'_>,
    service: &TokenService,
    credentials: &PresentedCredentials<'_>,
    form: &FormFields,
    address: Option<&str>,
) -> Result<TokenResponse, TokenError> {
    let who = current_app_for(env, service, credentials, &[GrantType::Password]).await?;
    let login = form.get("username").or_else(|| form.get("email")).ok_or(TokenError::Missing("username"))?;
    let password = SecretString::from(form.get("password").ok_or(TokenError::Missing("password"))?.to_owned());
    // A public app asks from the person's device, one that proves itself from its own server.
    let app = (who.method != ClientAuthenticationMethod::Public).then_some(who.client.id.as_str());
    let attempt = SignInAttempt { login, password: &password, session: None, address, app };
    let person = service.sign_in.check_password(env, &attempt).await?;
    let authorization =
        for_person(env, (&who.client, &person), GrantType::Password, granted(&who.client, &person, form.get("scope"))?);
    let member = MemberTokenRequest::of(&who.client, Some(&person), &authorization, &person.credential)?;
    let (response, tokens) = begin(env, service, &member, env.random_identifier(), None).await?;
    claim(env, service, credentials, &who).await?;
    service.families.store_grantless_family(tokens).await?;
    Ok(response)
}

/// Returns what a person authorizes by giving proof of itself at this moment, without a page.
pub(super) fn for_person(
    env: &TimeAndRandomness<'_>,
    (client, person): (&Client, &EndUser),
    grant: GrantType,
    scope: String,
) -> GrantedAuthorization {
    let patient = patient_of(person).map(str::to_owned);
    GrantedAuthorization {
        grant,
        client_id: client.id.clone(),
        user_id: person.id.clone(),
        credential: person.credential,
        redirect_uri: None,
        code_challenge: None,
        scope,
        nonce: None,
        auth_time_s: env.now_s(),
        fhir_user: person.fhir_user.as_ref().map(crate::end_user::FhirUser::reference),
        vouched: false,
        context: LaunchContext {
            need_patient_banner: patient.is_some().then_some(true),
            patient,
            ..LaunchContext::default()
        },
    }
}

impl From<SignInError> for TokenError {
    fn from(fault: SignInError) -> Self {
        match fault {
            SignInError::Wrong => InvalidGrantError::Password.into(),
            SignInError::Inactive => InvalidGrantError::PersonInactive.into(),
            SignInError::SecondFactor => InvalidGrantError::SecondFactor.into(),
            SignInError::TooMany { retry_after_s } | SignInError::Crowded { retry_after_s } => {
                Self::TooManyAttempts { retry_after_s }
            }
            SignInError::Store(error) => Self::Store(error),
        }
    }
}
