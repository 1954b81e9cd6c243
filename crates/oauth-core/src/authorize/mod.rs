//! `/auth/authorize`: an app asks, a person decides.
//!
//! A request is checked, and then put before whoever sits at the browser: sign in, choose a patient, allow
//! or deny. Between those pages nothing is stored; the request travels sealed with the browser, as the
//! `transaction`, and every step checks it again against the registration of that moment. What is stored at
//! the end is one code, with the grant it was given under, in one statement.
//!
//! Until the redirect address is known to be the registered one every fault is a page of ours
//! ([`PageError`]); from then on it is a redirect with an `error` ([`AuthorizationError`]).
//!
//! # Source
//! Specification, GET /auth/authorize; SMART App Launch 2.2.0; RFC 6749, section 4.1; RFC 9700; RFC 9207.

mod code;
mod consent;
mod decision;
mod declined;
mod fault;
pub mod limits;
mod pages;
mod parameters;
mod patient;
mod pending;
mod request;
mod scene;
mod target;
mod titles;

pub use fault::{AuthorizationError, AuthorizeError, PageError};
pub use pages::{
    AppCard, ConsentDecision, ConsentItem, ConsentItemGroup, ConsentPage, NextPage, PatientPage, PatientQuery,
    PatientSearchResults, SignInPage, UserAgent,
};
pub use parameters::AuthorizationParameters;
pub use pending::PendingAuthorizationKey;
pub use target::ClientRedirect;

pub(crate) use code::hash_of as hash_of_code;
pub(crate) use consent::{in_words, is_of_use};
pub(crate) use request::is_context;
pub(crate) use target::{encoded, query_separator};

use crate::audit::{self, AuditActor};
use crate::authority::AuthorizationServer;
use crate::env::Env;
use pending::PendingAuthorization;
use scene::{AuthorizationFlow, UserAction};

/// An authorization request arrives.
///
/// # Errors
/// [`AuthorizeError`]; nothing is stored then. All five functions fail like this one.
///
/// # Source
/// Specification, GET /auth/authorize query parameters; SMART App Launch 2.2.0, "Obtain authorization code".
pub async fn begin(
    env: &Env<'_>,
    authority: &AuthorizationServer,
    parameters: &AuthorizationParameters,
    browser: UserAgent<'_>,
) -> Result<NextPage, AuthorizeError> {
    let pending = PendingAuthorization {
        parameters: parameters.clone(),
        issued_s: env.now_s(),
        began_with: None,
        anew: false,
        shown_to: None,
        patient: None,
    };
    let mut scene = opened(env, authority, pending, browser).await?;
    scene.began();
    scene.step(UserAction::GoOn).await
}

/// A request goes on where it was: after somebody signed in, or when a page is loaded.
///
/// # Errors
/// [`AuthorizeError`].
pub async fn resume(
    env: &Env<'_>,
    authority: &AuthorizationServer,
    transaction: &str,
    browser: UserAgent<'_>,
) -> Result<NextPage, AuthorizeError> {
    go_on(env, authority, (transaction, UserAction::GoOn), browser).await
}

/// The person looks for a patient by name, id or identifier; without a search it is [`resume`].
///
/// # Errors
/// [`AuthorizeError`].
pub async fn find(
    env: &Env<'_>,
    authority: &AuthorizationServer,
    transaction: &str,
    search: Option<PatientQuery<'_>>,
    browser: UserAgent<'_>,
) -> Result<NextPage, AuthorizeError> {
    let intent = search.map_or(UserAction::GoOn, UserAction::Search);
    go_on(env, authority, (transaction, intent), browser).await
}

/// Returns the person chooses a patient, by id.
///
/// # Errors
/// [`AuthorizeError`]; [`PageError::Patient`] for one the person may not act for.
pub async fn pick(
    env: &Env<'_>,
    authority: &AuthorizationServer,
    transaction: &str,
    patient: &str,
    browser: UserAgent<'_>,
) -> Result<NextPage, AuthorizeError> {
    go_on(env, authority, (transaction, UserAction::Pick(patient)), browser).await
}

/// The person allows or denies. Whether it was this person who was asked, the form token has shown.
///
/// # Errors
/// [`AuthorizeError`]; a denial is one, [`AuthorizationError::Denied`].
pub async fn decide(
    env: &Env<'_>,
    authority: &AuthorizationServer,
    transaction: &str,
    decision: ConsentDecision,
    browser: UserAgent<'_>,
) -> Result<NextPage, AuthorizeError> {
    go_on(env, authority, (transaction, UserAction::Decide(decision)), browser).await
}

async fn go_on(
    env: &Env<'_>,
    authority: &AuthorizationServer,
    (transaction, intent): (&str, UserAction<'_>),
    browser: UserAgent<'_>,
) -> Result<NextPage, AuthorizeError> {
    let pending = authority.pending.open(env, transaction).map_err(AuthorizeError::Page).inspect_err(|fault| {
        let asking = AuditActor { address: browser.address, ..AuditActor::default() };
        audit::not_authorized(env, authority, asking, fault);
    })?;
    opened(env, authority, pending, browser).await?.step(intent).await
}

/// Returns the scene of a request; why there is none, the audit is told.
async fn opened<'a>(
    env: &'a Env<'a>,
    authority: &'a AuthorizationServer,
    pending: PendingAuthorization,
    browser: UserAgent<'a>,
) -> Result<AuthorizationFlow<'a>, AuthorizeError> {
    let client_id = pending.parameters.get("client_id").map(str::to_owned);
    AuthorizationFlow::open(env, authority, pending, browser).await.inspect_err(|fault| {
        let asking = AuditActor { client_id: client_id.as_deref(), user_id: None, address: browser.address };
        audit::not_authorized(env, authority, asking, fault);
    })
}
