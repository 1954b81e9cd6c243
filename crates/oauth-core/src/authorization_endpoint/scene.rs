//! One request at one moment: who asks, who sits at the browser, and what comes next.

use std::sync::Arc;

use smart_scopes::{Context, Scope, ScopeSet};

use super::fault::{AuthorizationPageError, AuthorizationRedirectError, AuthorizationRequestError};
use super::pages::{
    AppSummary, BrowserSessionContext, ConsentDecision, ConsentPage, NextPageOrRedirect, PatientSearchPagination,
    PatientSearchQuery, PatientSelectionPage, SignInPage,
};
use super::patient::PatientChoice;
use super::pending::PendingAuthorization;
use super::request::{self, AuthorizationRequest};
use super::{AuthorizationPageService, code, consent, declined};
use crate::audit::AuditActor;
use crate::browser_session::{cookie_hash, visitor};
use crate::client::Client;
use crate::end_user::EndUser;
use crate::launch::{self, Launch};
use crate::limits::CLIENT_ID_MAX_BYTES;
use crate::ports::{
    AuthorizationState, AuthorizationStateQuery, BrowserSession, ConsentGrant, PatientSummary, StoreError,
};
use crate::time_and_randomness::TimeAndRandomness;

/// How often a step is decided again because a grant changed meanwhile.
const ATTEMPTS: usize = 4;

/// A request with everything it is decided by.
pub(super) struct AuthorizationFlow<'a> {
    pub(super) env: &'a TimeAndRandomness<'a>,
    pub(super) service: &'a AuthorizationPageService,
    pub(super) browser: BrowserSessionContext<'a>,
    pub(super) client: Arc<Client>,
    pub(super) request: AuthorizationRequest,
    pub(super) launch: Option<Launch>,
    pub(super) pending: PendingAuthorization,
    pub(super) visit: AuthorizationState,
}

/// What the person wants at this step.
pub(super) enum UserAction<'a> {
    /// To go on.
    GoOn,
    /// To find a patient.
    Search(PatientSearchQuery<'a>),
    /// This patient.
    Pick(&'a str),
    /// To allow or deny.
    Decide(ConsentDecision),
}

/// What the person lets the app do.
pub(super) enum ConsentOutcome {
    /// Of what the person is asked for now, the stored grant gives this.
    Held(ScopeSet),
    /// The person decided so now, or is not asked because the app is the payer's own.
    Given {
        /// What the app gets.
        allowed: ScopeSet,
        /// The lines of the page that stayed without a tick.
        unticked: ScopeSet,
    },
}

impl ConsentOutcome {
    pub(super) const fn allowed(&self) -> &ScopeSet {
        match self {
            Self::Held(allowed) | Self::Given { allowed, .. } => allowed,
        }
    }
}

/// The reason why there is no next step.
pub(super) enum FlowError {
    Page(AuthorizationPageError),
    Refusal(AuthorizationRedirectError),
    /// What the step was decided by is not so any more: look again.
    Stale,
}

impl From<AuthorizationPageError> for FlowError {
    fn from(fault: AuthorizationPageError) -> Self {
        Self::Page(fault)
    }
}

impl From<AuthorizationRedirectError> for FlowError {
    fn from(cause: AuthorizationRedirectError) -> Self {
        Self::Refusal(cause)
    }
}

impl From<StoreError> for FlowError {
    fn from(error: StoreError) -> Self {
        Self::Refusal(error.into())
    }
}

impl<'a> AuthorizationFlow<'a> {
    /// Reads the app and the browser's session in one statement and checks the request against them.
    pub(super) async fn open(
        env: &'a TimeAndRandomness<'a>,
        service: &'a AuthorizationPageService,
        pending: PendingAuthorization,
        browser: BrowserSessionContext<'a>,
    ) -> Result<Self, AuthorizationRequestError> {
        let client_id = pending.parameters.get("client_id").filter(|id| id.len() <= CLIENT_ID_MAX_BYTES);
        let client_id = client_id.ok_or(AuthorizationPageError::UnknownApp)?;
        let cookie = cookie_hash(browser.session);
        let query = AuthorizationStateQuery { session: cookie.as_ref(), client_id, now_s: env.now_s() };
        let visit = service.sessions.load_authorization_state(&query).await?;
        let version = visit.client_version.ok_or(AuthorizationPageError::UnknownApp)?;
        let client =
            service.directory.client_at_version(client_id, version).await?.ok_or(AuthorizationPageError::UnknownApp)?;
        let request = request::check(&service.issuer, &client, &pending.parameters)?;
        // A launch that was good when the request came stays good while the person signs in.
        let launch = match &request.launch {
            None => None,
            Some(jwt) => match launch::read(env, &service.issuer, (jwt, client_id), pending.issued_s).await {
                Ok(launch) => Some(launch),
                Err(fault) => return Err(request.target.refuse(AuthorizationRedirectError::Launch(fault))),
            },
        };
        Ok(Self { env, service, browser, client, request, launch, pending, visit })
    }

    /// Notes what the request finds: who is signed in, and whether that is too long ago.
    pub(super) fn began(&mut self) {
        let session = self.visit.session.as_ref();
        let is_old = |session: &BrowserSession| {
            self.request.max_age_s.is_some_and(|max_s| self.env.now_s() - session.signed_in_s > max_s)
        };
        self.pending.anew = self.request.prompt.login || session.is_some_and(is_old);
        self.pending.began_with = session.map(|session| session.hash);
    }

    /// Returns the next step, or where the request ends.
    pub(super) async fn step(
        mut self,
        intent: UserAction<'_>,
    ) -> Result<NextPageOrRedirect, AuthorizationRequestError> {
        for _ in 0..ATTEMPTS {
            let fault = match self.next(&intent).await {
                Ok(step) => return Ok(step),
                Err(FlowError::Page(fault)) => fault.into(),
                Err(FlowError::Refusal(cause)) => self.request.target.refuse(cause),
                Err(FlowError::Stale) => {
                    self = Self::open(self.env, self.service, self.pending, self.browser).await?;
                    continue;
                }
            };
            let user_id = self.visit.session.as_ref().map(|session| session.user_id.as_str());
            let asking = AuditActor { client_id: Some(&self.client.id), user_id, address: self.browser.address };
            self.service.audit.not_authorized(self.env, asking, &fault);
            return Err(fault);
        }
        Err(self.request.target.refuse(AuthorizationRedirectError::Unsettled))
    }

    async fn next(&self, intent: &UserAction<'_>) -> Result<NextPageOrRedirect, FlowError> {
        let person = visitor(&self.service.directory, &self.visit).await?;
        if matches!(intent, UserAction::Decide(ConsentDecision::Deny)) {
            self.keep_denial(person.clone()).await?;
            self.record_denial(person.as_deref());
            return Err(AuthorizationRedirectError::Denied.into());
        }
        let Some((person, session)) = self.signed_in(person)? else { return self.ask_to_sign_in() };
        // Nobody chooses or decides on a page that another person has seen.
        let intent = if self.was_shown_to(&person) { intent } else { &UserAction::GoOn };
        let (patient, shown) = match self.patient(&person, intent).await? {
            PatientChoice::NotNeeded => (None, None),
            PatientChoice::Chosen(id, shown) => (Some(id), shown),
            PatientChoice::Choice(candidates) => return self.ask_for_patient(&person, candidates, None),
            PatientChoice::Search(found, search) => return self.ask_for_patient(&person, found, Some(search)),
        };
        let requested = self.requested(patient.as_deref());
        if !consent::is_of_use(&self.request.scope, &requested) {
            return Err(AuthorizationRedirectError::NoScope.into());
        }
        let before = self.before(patient.as_deref());
        if let Some(ticked) = self.allows_nothing(intent, &requested) {
            self.keep_nothing_allowed(&person, patient, &requested, ticked).await?;
            return Err(AuthorizationRedirectError::NothingAllowed.into());
        }
        let Some(consent) = self.consent(intent, &requested, before)? else {
            return self.ask_for_consent(&person, (patient, shown), &requested).await;
        };
        let decided = code::DecidedAuthorization { person: &person, session, patient, requested, consent, before };
        code::leave(self, &decided).await.map(NextPageOrRedirect::Leave)
    }

    /// Returns whether the page that the browser comes from was shown to this person.
    pub(super) fn was_shown_to(&self, person: &EndUser) -> bool {
        self.pending.shown_to.as_deref() == Some(person.id.as_str())
    }

    /// Returns the patient that this person chose on a page.
    pub(super) fn chosen_by(&self, person: &EndUser) -> Option<&str> {
        self.pending.patient.as_deref().filter(|_| self.was_shown_to(person))
    }

    /// Returns who is signed in, when this request may go on with that.
    pub(super) fn signed_in(
        &self,
        person: Option<Arc<EndUser>>,
    ) -> Result<Option<(Arc<EndUser>, &BrowserSession)>, FlowError> {
        let session = self.visit.session.as_ref();
        // Signed in since the request came: another session than it found, and not an earlier one.
        let is_fresh = session.is_some_and(|session| {
            Some(session.hash) != self.pending.began_with && session.signed_in_s >= self.pending.issued_s
        });
        let launched_for = self.launch.as_ref().map(|launch| launch.user.as_str());
        let is_other = |person: &EndUser| launched_for.is_some_and(|user| user != person.id);
        let usable = match person {
            Some(person) if is_other(&person) && is_fresh => return Err(AuthorizationRedirectError::OtherUser.into()),
            Some(person) if is_other(&person) || (self.pending.anew && !is_fresh) => None,
            other => other,
        };
        if usable.is_none() && self.request.prompt.none {
            return Err(AuthorizationRedirectError::LoginRequired.into());
        }
        Ok(usable.zip(session))
    }

    /// Returns whether the app asks for something that is about one patient.
    pub(super) fn needs_patient(&self) -> bool {
        let scope = &self.request.scope;
        scope.has_context(Context::Patient)
            || scope.iter().any(|scope| matches!(scope, Scope::LaunchContext(context) if context.is_patient()))
    }

    /// Returns what is asked for, without contexts that this request does not have.
    pub(super) fn requested(&self, patient: Option<&str>) -> ScopeSet {
        let has_encounter = self.launch.as_ref().is_some_and(|launch| launch.encounter.is_some());
        let exists = |scope: &&Scope| match scope {
            Scope::LaunchContext(context) if context.is_patient() => patient.is_some(),
            Scope::LaunchContext(context) if context.is_encounter() => has_encounter,
            Scope::LaunchContext(_) => false,
            _ => true,
        };
        self.request.scope.iter().filter(exists).cloned().collect()
    }

    /// Returns what the person decided about this app and patient before.
    pub(super) fn before(&self, patient: Option<&str>) -> Option<&ConsentGrant> {
        self.visit.grants.iter().find(|grant| grant.patient_id.as_deref() == patient)
    }

    /// Returns the ticks of a person who allows, and leaves nothing that is of use to the app.
    fn allows_nothing<'i>(&self, intent: &'i UserAction<'_>, requested: &ScopeSet) -> Option<&'i [String]> {
        let UserAction::Decide(ConsentDecision::Allow { scopes }) = intent else { return None };
        let is_something =
            self.client.first_party || consent::is_of_use(requested, &consent::allowed(requested, scopes));
        (!is_something).then_some(scopes)
    }

    /// Returns what the person allows or has allowed, or `None` when the person must be asked.
    fn consent(
        &self,
        intent: &UserAction<'_>,
        requested: &ScopeSet,
        before: Option<&ConsentGrant>,
    ) -> Result<Option<ConsentOutcome>, FlowError> {
        let held = before.and_then(|before| consent::remembered(before, requested));
        if self.client.first_party {
            let allowed = requested.clone();
            let is_whole = held.as_ref() == Some(requested);
            let given = |allowed| ConsentOutcome::Given { allowed, unticked: ScopeSet::default() };
            return Ok(Some(if is_whole { ConsentOutcome::Held(allowed) } else { given(allowed) }));
        }
        if let UserAction::Decide(ConsentDecision::Allow { scopes }) = intent {
            let allowed = consent::allowed(requested, scopes);
            return Ok(Some(ConsentOutcome::Given { allowed, unticked: declined::unticked(requested, scopes) }));
        }
        let held = held.filter(|_| !self.request.prompt.consent && !self.may_be_an_imitation());
        if held.is_none() && self.request.prompt.none {
            return Err(AuthorizationRedirectError::ConsentRequired.into());
        }
        Ok(held.map(ConsentOutcome::Held))
    }

    /// Returns whether another program on the person's device could be asking in the app's name: a public app proves
    /// nothing, and any program can take a loopback port or the scheme of an address. So such an app gets nothing
    /// without the person (RFC 8252, section 8.6); what the payer itself owns is let in all the same.
    fn may_be_an_imitation(&self) -> bool {
        self.client.is_public(&self.client.authorization_code) && !self.request.target.is_held_by_a_host()
    }

    /// Returns the page does not say for whom an app was launched: whoever has the address would learn that person's
    /// name.
    fn ask_to_sign_in(&self) -> Result<NextPageOrRedirect, FlowError> {
        Ok(NextPageOrRedirect::SignIn(SignInPage {
            transaction: self.transaction(self.pending.shown_to.clone(), self.pending.patient.clone())?,
            app_name: self.client.display_name().to_owned(),
            login_hint: self.request.login_hint.clone(),
        }))
    }

    fn ask_for_patient(
        &self,
        person: &EndUser,
        candidates: Vec<PatientSummary>,
        search: Option<PatientSearchPagination>,
    ) -> Result<NextPageOrRedirect, FlowError> {
        if self.request.prompt.none {
            return Err(AuthorizationRedirectError::InteractionRequired.into());
        }
        Ok(NextPageOrRedirect::PickPatient(PatientSelectionPage {
            transaction: self.transaction(Some(person.id.clone()), None)?,
            app: AppSummary::of(&self.client),
            person: person.display_name.clone(),
            candidates,
            search,
        }))
    }

    async fn ask_for_consent(
        &self,
        person: &EndUser,
        (patient, shown): (Option<String>, Option<PatientSummary>),
        requested: &ScopeSet,
    ) -> Result<NextPageOrRedirect, FlowError> {
        let shown = match (shown, &patient) {
            (None, Some(id)) => {
                let unnamed = || PatientSummary { id: id.clone(), name: id.clone(), ..PatientSummary::default() };
                Some(self.service.patients.patient_by_id(id).await?.unwrap_or_else(unnamed))
            }
            (shown, _) => shown,
        };
        let items = consent::items(requested, &self.client.authorization_code, self.before(patient.as_deref()));
        Ok(NextPageOrRedirect::Consent(ConsentPage {
            transaction: self.transaction(Some(person.id.clone()), patient)?,
            app: AppSummary::of(&self.client),
            person: person.display_name.clone(),
            is_own: shown.as_ref().is_some_and(|shown| person.own_patient_id() == Some(shown.id.as_str())),
            patient: shown,
            items,
        }))
    }

    fn transaction(&self, shown_to: Option<String>, patient: Option<String>) -> Result<String, FlowError> {
        let pending = PendingAuthorization { shown_to, patient, ..self.pending.clone() };
        let sealed = self.service.pending.seal(self.env, &pending);
        sealed.ok_or_else(|| AuthorizationRedirectError::Sign(crate::jose::SigningError::Sign).into())
    }
}
