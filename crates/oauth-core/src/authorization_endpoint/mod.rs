//! The authorization endpoint, `/auth/authorize`: an app asks, an end user decides.
//!
//! A request is checked, and then put before whoever sits at the browser: sign in, choose a patient, allow
//! or deny. Between those pages nothing is stored; the request travels sealed with the browser, as the
//! `transaction`, and every step checks it again against the registration of that moment. What is stored at
//! the end is one code, with the grant it was given under, in one statement.
//!
//! Until the redirect address is known to be the registered one every fault is a page of ours
//! ([`AuthorizationPageError`]); from then on it is a redirect with an `error` ([`AuthorizationRedirectError`]).
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

pub use fault::{AuthorizationPageError, AuthorizationRedirectError, AuthorizationRequestError};
pub use pages::{
    AppSummary, BrowserSessionContext, ConsentCheckbox, ConsentCheckboxGroup, ConsentDecision, ConsentPage,
    NextPageOrRedirect, PatientSearchPagination, PatientSearchQuery, PatientSelectionPage, SignInPage,
};
pub use parameters::AuthorizationParameters;
pub use pending::PendingAuthorizationEncryptionKey;
pub use target::ClientRedirect;

pub(crate) use code::hash_of as hash_of_code;
pub(crate) use consent::{in_words, is_of_use};
pub(crate) use request::is_context;
pub(crate) use target::{encoded, query_separator};

use std::sync::Arc;

use crate::acting::PatientAccessRules;
use crate::audit::{AuditActor, AuditTrail};
use crate::ports::{AuthorizationCodeStore, PatientStore, SessionStore};
use crate::registration_cache::RegistrationCache;
use crate::time_and_randomness::TimeAndRandomness;
use crate::token_endpoint::TokenService;
use crate::token_issuer::TokenIssuer;
use pending::PendingAuthorization;
use scene::{AuthorizationFlow, UserAction};

/// The service of the authorization endpoint: leads end users through the pages on which they authorize apps.
pub struct AuthorizationPageService {
    pub(crate) issuer: Arc<TokenIssuer>,
    pub(crate) directory: Arc<RegistrationCache>,
    pub(crate) tokens: Arc<TokenService>,
    pub(crate) patient_access: Arc<PatientAccessRules>,
    pub(crate) sessions: Arc<dyn SessionStore>,
    pub(crate) codes: Arc<dyn AuthorizationCodeStore>,
    pub(crate) patients: Arc<dyn PatientStore>,
    pub(crate) pending: PendingAuthorizationEncryptionKey,
    pub(crate) audit: AuditTrail,
}

impl AuthorizationPageService {
    /// Handles a new authorization request and returns its first page or its redirect.
    ///
    /// # Errors
    /// [`AuthorizationRequestError`]; nothing is stored then. All five functions fail like this one.
    ///
    /// # Source
    /// Specification, GET /auth/authorize query parameters; SMART App Launch 2.2.0, "Obtain authorization code".
    pub async fn begin_authorization(
        &self,
        env: &TimeAndRandomness<'_>,
        parameters: &AuthorizationParameters,
        browser: BrowserSessionContext<'_>,
    ) -> Result<NextPageOrRedirect, AuthorizationRequestError> {
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

    /// Resumes a pending authorization where it was, after a sign-in or when a page is loaded.
    ///
    /// # Errors
    /// [`AuthorizationRequestError`].
    pub async fn resume_authorization(
        &self,
        env: &TimeAndRandomness<'_>,
        transaction: &str,
        browser: BrowserSessionContext<'_>,
    ) -> Result<NextPageOrRedirect, AuthorizationRequestError> {
        self.go_on(env, (transaction, UserAction::GoOn), browser).await
    }

    /// Searches for patients by name, id or identifier for the user; without a search it is
    /// [`Self::resume_authorization`].
    ///
    /// # Errors
    /// [`AuthorizationRequestError`].
    pub async fn search_patients(
        &self,
        env: &TimeAndRandomness<'_>,
        transaction: &str,
        search: Option<PatientSearchQuery<'_>>,
        browser: BrowserSessionContext<'_>,
    ) -> Result<NextPageOrRedirect, AuthorizationRequestError> {
        let intent = search.map_or(UserAction::GoOn, UserAction::Search);
        self.go_on(env, (transaction, intent), browser).await
    }

    /// Continues with the patient that the user chose, by id.
    ///
    /// # Errors
    /// [`AuthorizationRequestError`]; [`AuthorizationPageError::Patient`] for one the person may not act for.
    pub async fn choose_patient(
        &self,
        env: &TimeAndRandomness<'_>,
        transaction: &str,
        patient: &str,
        browser: BrowserSessionContext<'_>,
    ) -> Result<NextPageOrRedirect, AuthorizationRequestError> {
        self.go_on(env, (transaction, UserAction::Pick(patient)), browser).await
    }

    /// Applies the user's decision to allow or deny. The form token has shown that it was this person who was asked.
    ///
    /// # Errors
    /// [`AuthorizationRequestError`]; a denial is one, [`AuthorizationRedirectError::Denied`].
    pub async fn decide_consent(
        &self,
        env: &TimeAndRandomness<'_>,
        transaction: &str,
        decision: ConsentDecision,
        browser: BrowserSessionContext<'_>,
    ) -> Result<NextPageOrRedirect, AuthorizationRequestError> {
        self.go_on(env, (transaction, UserAction::Decide(decision)), browser).await
    }

    async fn go_on(
        &self,
        env: &TimeAndRandomness<'_>,
        (transaction, intent): (&str, UserAction<'_>),
        browser: BrowserSessionContext<'_>,
    ) -> Result<NextPageOrRedirect, AuthorizationRequestError> {
        let pending =
            self.pending.open(env, transaction).map_err(AuthorizationRequestError::Page).inspect_err(|fault| {
                let asking = AuditActor { address: browser.address, ..AuditActor::default() };
                self.audit.not_authorized(env, asking, fault);
            })?;
        self.opened(env, pending, browser).await?.step(intent).await
    }

    /// Returns the scene of a request. Where there is none, the reason is recorded in the audit.
    async fn opened<'a>(
        &'a self,
        env: &'a TimeAndRandomness<'a>,
        pending: PendingAuthorization,
        browser: BrowserSessionContext<'a>,
    ) -> Result<AuthorizationFlow<'a>, AuthorizationRequestError> {
        let client_id = pending.parameters.get("client_id").map(str::to_owned);
        AuthorizationFlow::open(env, self, pending, browser).await.inspect_err(|fault| {
            let asking = AuditActor { client_id: client_id.as_deref(), user_id: None, address: browser.address };
            self.audit.not_authorized(env, asking, fault);
        })
    }
}
