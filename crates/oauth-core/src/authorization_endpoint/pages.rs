//! What the pages of an authorization show: plain strings, nothing to decide.

use super::target::ClientRedirect;
use crate::client::Client;
#[cfg(doc)]
use crate::ports::PATIENT_SEARCH_RESULTS_MAX;
use crate::ports::PatientSummary;

/// The user agent that sent a request: its session cookie and address.
#[derive(Debug, Clone, Copy, Default)]
pub struct BrowserSessionContext<'a> {
    /// The value of the session cookie.
    pub session: Option<&'a str>,
    /// The address it comes from, for the audit.
    pub address: Option<&'a str>,
}

/// The page that the browser shows next, or its redirect to the app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextPageOrRedirect {
    /// It goes to the app.
    Leave(ClientRedirect),
    /// It shows the sign-in page.
    SignIn(SignInPage),
    /// It shows the page where a patient is chosen.
    PickPatient(PatientSelectionPage),
    /// It shows the page where the person allows or denies.
    Consent(ConsentPage),
}

/// The sign-in page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInPage {
    /// What to come back with.
    pub transaction: String,
    /// The app that asks.
    pub app_name: String,
    /// What the username field holds at first.
    pub login_hint: Option<String>,
}

/// The page where a patient is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatientSelectionPage {
    /// What to come back with.
    pub transaction: String,
    /// The app that asks.
    pub app: AppSummary,
    /// Who is signed in.
    pub person: String,
    /// Whom the person may choose.
    pub candidates: Vec<PatientSummary>,
    /// What was searched; `Some` for a person who searches (a practitioner), also when the text is empty.
    pub search: Option<PatientSearchPagination>,
}

/// A text to find patients by, and the page of what it finds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PatientSearchQuery<'a> {
    /// Beginnings of words of a name, of an identifier or of an id.
    pub text: &'a str,
    /// From 1.
    pub page: usize,
}

/// The text of a patient search, the number of its matches, and the page of them that is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatientSearchPagination {
    /// The text.
    pub text: String,
    /// How many patients were found that the person may see.
    pub total: usize,
    /// Whether there may be more than were looked at ([`PATIENT_SEARCH_RESULTS_MAX`]).
    pub is_cut: bool,
    /// The page that is shown, from 1.
    pub page: usize,
    /// How many pages there are, 1 at least.
    pub pages: usize,
    /// The place of the first patient of the page, from 0.
    pub first: usize,
}

/// The page where the person allows or denies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsentPage {
    /// What to come back with.
    pub transaction: String,
    /// The app that asks.
    pub app: AppSummary,
    /// Who is signed in.
    pub person: String,
    /// Whose record it is about.
    pub patient: Option<PatientSummary>,
    /// Whether that is the person's own.
    pub is_own: bool,
    /// What is asked for, in the order to show it; each group stands together.
    pub items: Vec<ConsentCheckbox>,
}

/// The description of an app that pages show. Its logo is not part of it: a picture at the app's host would tell that
/// host who looks at the page, before the person has allowed anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppSummary {
    /// The `client_id`.
    pub client_id: String,
    /// Its name, else its id.
    pub name: String,
    /// In its own words.
    pub description: Option<String>,
    /// What it does with the data; an http or https address.
    pub policy_uri: Option<String>,
    /// Its terms; an http or https address.
    pub terms_uri: Option<String>,
}

/// One check box of the consent page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsentCheckbox {
    /// The value of the form field `scope`; unique on the page.
    pub scope: String,
    /// In plain words.
    pub title: String,
    /// One sentence more.
    pub detail: Option<String>,
    /// What it stands with.
    pub group: ConsentCheckboxGroup,
    /// Whether it is ticked at first.
    pub ticked: bool,
    /// Whether the person refused it, or a part of it, when this app asked before.
    pub declined: bool,
    /// Whether it cannot be unticked: the app does not work without, and it shows nothing of the record.
    pub required: bool,
}

/// The groups of [`ConsentCheckbox`]s, in the order of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConsentCheckboxGroup {
    /// Who the person is.
    Identity,
    /// The patient's record.
    Record,
    /// Names and addresses behind the record: doctors, organizations, places.
    Directory,
    /// What the person may see as a user, whoever the patient is.
    User,
    /// How long the app keeps its access.
    Duration,
    /// Everything else: contexts of the launch, scopes of the payer's own.
    Other,
}

/// The decision that a person sends from the consent page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConsentDecision {
    /// These values of the form field `scope` were ticked.
    Allow {
        /// In any order; what was not offered is ignored.
        scopes: Vec<String>,
    },
    /// Nothing.
    Deny,
}

impl AppSummary {
    pub(crate) fn of(client: &Client) -> Self {
        Self {
            client_id: client.id.clone(),
            name: client.display_name().to_owned(),
            description: client.app.description.clone(),
            policy_uri: client.app.policy_uri.clone(),
            terms_uri: client.app.terms_uri.clone(),
        }
    }

    /// An app whose registration is gone.
    pub(crate) fn gone(client_id: &str) -> Self {
        let (client_id, name) = (client_id.to_owned(), client_id.to_owned());
        Self { client_id, name, description: None, policy_uri: None, terms_uri: None }
    }
}
