//! The `password` grant: an app that is given the person's password.
//!
//! Only for Clients that list it: the app learns what it should never see (RFC 9700, section 2.4 forbids new
//! uses). Attempts count against the same limits as those on the sign-in page.

use secrecy::SecretString;

use super::app::{claim, current_app_for};
use super::member::{MemberTokenRequest, begin};
use super::scope::{granted, patient_of};
use super::{GrantError, TokenError, TokenResponse, TokenService};
use crate::authenticate::{AuthenticationMethod, Credentials};
use crate::authorization::{Authorization, LaunchContext};
use crate::client::{Client, GrantType};
use crate::env::Env;
use crate::form::FormFields;
use crate::person::Person;
use crate::sign_in::{SignInAttempt, SignInError};

/// Checks the password and issues.
///
/// # Source
/// RFC 6749, section 4.3; the platform takes `email` where there is no `username`.
pub(super) async fn grant(
    env: &Env<'_>,
    service: &TokenService,
    credentials: &Credentials<'_>,
    form: &FormFields,
    address: Option<&str>,
) -> Result<TokenResponse, TokenError> {
    let who = current_app_for(env, service, credentials, &[GrantType::Password]).await?;
    let login = form.get("username").or_else(|| form.get("email")).ok_or(TokenError::Missing("username"))?;
    let password = SecretString::from(form.get("password").ok_or(TokenError::Missing("password"))?.to_owned());
    // A public app asks from the person's device, one that proves itself from its own server.
    let app = (who.method != AuthenticationMethod::Public).then_some(who.client.id.as_str());
    let attempt = SignInAttempt { login, password: &password, session: None, address, app };
    let person = service.sign_in.check_password(env, &attempt).await?;
    let authorization =
        for_person(env, (&who.client, &person), GrantType::Password, granted(&who.client, &person, form.get("scope"))?);
    let member = MemberTokenRequest::of(&who.client, Some(&person), &authorization, &person.credential)?;
    let (response, tokens) = begin(env, service, &member, env.identifier(), None).await?;
    claim(env, service, credentials, &who).await?;
    service.families.begin_family(tokens).await?;
    Ok(response)
}

/// Returns what a person authorizes by giving proof of itself at this moment, without a page.
pub(super) fn for_person(
    env: &Env<'_>,
    (client, person): (&Client, &Person),
    grant: GrantType,
    scope: String,
) -> Authorization {
    let patient = patient_of(person).map(str::to_owned);
    Authorization {
        grant,
        client_id: client.id.clone(),
        user_id: person.id.clone(),
        credential: person.credential,
        redirect_uri: None,
        code_challenge: None,
        scope,
        nonce: None,
        auth_time_s: env.now_s(),
        fhir_user: person.fhir_user.as_ref().map(crate::person::FhirUser::reference),
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
            SignInError::Wrong => GrantError::Password.into(),
            SignInError::Inactive => GrantError::PersonInactive.into(),
            SignInError::SecondFactor => GrantError::SecondFactor.into(),
            SignInError::TooMany { retry_after_s } | SignInError::Crowded { retry_after_s } => {
                Self::TooManyAttempts { retry_after_s }
            }
            SignInError::Store(error) => Self::Store(error),
        }
    }
}
