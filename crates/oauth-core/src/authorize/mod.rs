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

use std::sync::Arc;

use crate::acting::PatientAccessRules;
use crate::audit::{AuditActor, AuditTrail};
use crate::directory::RegistrationCache;
use crate::env::Env;
use crate::issuer::Issuer;
use crate::ports::{AuthorizationCodeStore, PatientStore, SessionStore};
use crate::token::TokenService;
use pending::PendingAuthorization;
use scene::{AuthorizationFlow, UserAction};

/// Leads people through the pages on which they let apps in.
pub struct AuthorizeService {
    pub(crate) issuer: Arc<Issuer>,
    pub(crate) directory: Arc<RegistrationCache>,
    pub(crate) tokens: Arc<TokenService>,
    pub(crate) patient_access: Arc<PatientAccessRules>,
    pub(crate) sessions: Arc<dyn SessionStore>,
    pub(crate) codes: Arc<dyn AuthorizationCodeStore>,
    pub(crate) patients: Arc<dyn PatientStore>,
    pub(crate) pending: PendingAuthorizationKey,
    pub(crate) audit: AuditTrail,
}

impl AuthorizeService {
    /// An authorization request arrives.
    ///
    /// # Errors
    /// [`AuthorizeError`]; nothing is stored then. All five functions fail like this one.
    ///
    /// # Source
    /// Specification, GET /auth/authorize query parameters; SMART App Launch 2.2.0, "Obtain authorization code".
    pub async fn begin(
        &self,
        env: &Env<'_>,
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
        let mut scene = self.opened(env, pending, browser).await?;
        scene.began();
        scene.step(UserAction::GoOn).await
    }

    /// Continues a request where it was: after a sign-in, or when a page is loaded.
    ///
    /// # Errors
    /// [`AuthorizeError`].
    pub async fn resume(
        &self,
        env: &Env<'_>,
        transaction: &str,
        browser: UserAgent<'_>,
    ) -> Result<NextPage, AuthorizeError> {
        self.go_on(env, (transaction, UserAction::GoOn), browser).await
    }

    /// The person looks for a patient by name, id or identifier; without a search it is [`Self::resume`].
    ///
    /// # Errors
    /// [`AuthorizeError`].
    pub async fn find(
        &self,
        env: &Env<'_>,
        transaction: &str,
        search: Option<PatientQuery<'_>>,
        browser: UserAgent<'_>,
    ) -> Result<NextPage, AuthorizeError> {
        let intent = search.map_or(UserAction::GoOn, UserAction::Search);
        self.go_on(env, (transaction, intent), browser).await
    }

    /// The person chooses a patient, by id.
    ///
    /// # Errors
    /// [`AuthorizeError`]; [`PageError::Patient`] for one the person may not act for.
    pub async fn pick(
        &self,
        env: &Env<'_>,
        transaction: &str,
        patient: &str,
        browser: UserAgent<'_>,
    ) -> Result<NextPage, AuthorizeError> {
        self.go_on(env, (transaction, UserAction::Pick(patient)), browser).await
    }

    /// The person allows or denies. Whether it was this person who was asked, the form token has shown.
    ///
    /// # Errors
    /// [`AuthorizeError`]; a denial is one, [`AuthorizationError::Denied`].
    pub async fn decide(
        &self,
        env: &Env<'_>,
        transaction: &str,
        decision: ConsentDecision,
        browser: UserAgent<'_>,
    ) -> Result<NextPage, AuthorizeError> {
        self.go_on(env, (transaction, UserAction::Decide(decision)), browser).await
    }

    async fn go_on(
        &self,
        env: &Env<'_>,
        (transaction, intent): (&str, UserAction<'_>),
        browser: UserAgent<'_>,
    ) -> Result<NextPage, AuthorizeError> {
        let pending = self.pending.open(env, transaction).map_err(AuthorizeError::Page).inspect_err(|fault| {
            let asking = AuditActor { address: browser.address, ..AuditActor::default() };
            self.audit.not_authorized(env, asking, fault);
        })?;
        self.opened(env, pending, browser).await?.step(intent).await
    }

    /// Returns the scene of a request. Where there is none, the reason is recorded in the audit.
    async fn opened<'a>(
        &'a self,
        env: &'a Env<'a>,
        pending: PendingAuthorization,
        browser: UserAgent<'a>,
    ) -> Result<AuthorizationFlow<'a>, AuthorizeError> {
        let client_id = pending.parameters.get("client_id").map(str::to_owned);
        AuthorizationFlow::open(env, self, pending, browser).await.inspect_err(|fault| {
            let asking = AuditActor { client_id: client_id.as_deref(), user_id: None, address: browser.address };
            self.audit.not_authorized(env, asking, fault);
        })
    }
}
