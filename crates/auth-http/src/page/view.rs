//! What the templates are given: one struct of plain strings per page.

use askama::Template;

use crate::page_frame::PageFrame;

/// A form's address and its CSRF token.
#[derive(Debug, Clone)]
pub(crate) struct FormView {
    pub(crate) action: String,
    pub(crate) csrf: String,
}

/// What went wrong with what a form said, above the form.
#[derive(Debug, Clone)]
pub(crate) struct AlertView {
    pub(crate) heading: &'static str,
    pub(crate) text: String,
}

/// An app, as it introduces itself.
#[derive(Debug, Clone)]
pub(crate) struct AppView {
    pub(crate) name: String,
    /// Stands in place of a logo, which would be loaded from the app's own host.
    pub(crate) initial: String,
    pub(crate) description: Option<String>,
    pub(crate) policy: Option<String>,
    pub(crate) terms: Option<String>,
}

/// `/`
#[derive(Debug, Template)]
#[template(path = "home.html")]
pub(crate) struct HomePage<'a> {
    pub(crate) frame: &'a PageFrame,
    pub(crate) apps_url: String,
    pub(crate) fhir_base: &'a str,
    pub(crate) capability_statement: String,
    pub(crate) smart_configuration: String,
    pub(crate) openid_configuration: String,
    pub(crate) health: String,
}

/// `/auth/login`
#[derive(Debug, Template)]
#[template(path = "sign_in.html")]
pub(crate) struct SignInPageView<'a> {
    pub(crate) frame: &'a PageFrame,
    pub(crate) form: FormView,
    /// Empty when nobody waits for the answer but the person.
    pub(crate) transaction: &'a str,
    pub(crate) app_name: Option<&'a str>,
    pub(crate) username: &'a str,
    pub(crate) alert: Option<AlertView>,
    pub(crate) notice: Option<&'static str>,
}

/// `/auth/patient`
#[derive(Debug, Template)]
#[template(path = "patient.html")]
pub(crate) struct PatientPageView<'a> {
    pub(crate) frame: &'a PageFrame,
    pub(crate) form: FormView,
    pub(crate) logout: FormView,
    pub(crate) transaction: &'a str,
    pub(crate) app: AppView,
    pub(crate) person: &'a str,
    /// What was searched for; `None` for a person who chooses among few.
    pub(crate) search: Option<PatientResultsView>,
    pub(crate) candidates: Vec<PatientCandidateView>,
    pub(crate) alert: Option<AlertView>,
}

/// A search, what it found in words, and where its other pages are.
#[derive(Debug, Clone)]
pub(crate) struct PatientResultsView {
    pub(crate) text: String,
    pub(crate) count: String,
    pub(crate) previous: Option<String>,
    pub(crate) next: Option<String>,
}

/// A record one may choose.
#[derive(Debug, Clone)]
pub(crate) struct PatientCandidateView {
    pub(crate) id: String,
    pub(crate) name: String,
    /// What tells the record from others of the same name.
    pub(crate) details: Vec<String>,
}

/// `/auth/grant`
#[derive(Debug, Template)]
#[template(path = "grant.html")]
pub(crate) struct ConsentPageView<'a> {
    pub(crate) frame: &'a PageFrame,
    pub(crate) form: FormView,
    pub(crate) logout: FormView,
    pub(crate) apps_url: String,
    pub(crate) transaction: &'a str,
    pub(crate) app: AppView,
    pub(crate) person: &'a str,
    pub(crate) patient: Option<ConsentSubjectView>,
    /// What the page says to a person who refused something before.
    pub(crate) notice: Option<&'static str>,
    pub(crate) groups: Vec<ConsentGroupView>,
}

/// Whose record it is about.
#[derive(Debug, Clone)]
pub(crate) struct ConsentSubjectView {
    /// `your`, or the name with `’s`.
    pub(crate) whose: String,
    pub(crate) name: String,
    pub(crate) born: Option<String>,
}

/// Requests that belong together.
#[derive(Debug, Clone)]
pub(crate) struct ConsentGroupView {
    pub(crate) title: &'static str,
    pub(crate) detail: Option<&'static str>,
    pub(crate) items: Vec<ConsentItemView>,
}

/// One thing that is asked for.
#[derive(Debug, Clone)]
pub(crate) struct ConsentItemView {
    pub(crate) scope: String,
    pub(crate) title: String,
    pub(crate) detail: Option<String>,
    pub(crate) ticked: bool,
    /// Was refused before.
    pub(crate) declined: bool,
    /// Comes with the rest.
    pub(crate) required: bool,
}

/// `/auth/apps`
#[derive(Debug, Template)]
#[template(path = "apps.html")]
pub(crate) struct ConnectedAppsPage<'a> {
    pub(crate) frame: &'a PageFrame,
    pub(crate) revoke: FormView,
    pub(crate) logout: FormView,
    pub(crate) person: &'a str,
    pub(crate) connected: Vec<ConnectedAppView>,
    pub(crate) notice: Option<&'static str>,
}

/// An app that was let in.
#[derive(Debug, Clone)]
pub(crate) struct ConnectedAppView {
    /// The name and the value of the field that says what is taken back.
    pub(crate) held: (&'static str, String),
    /// How it was let in, where that was not on the page.
    pub(crate) by: Option<&'static str>,
    pub(crate) card: AppView,
    pub(crate) patient: Option<String>,
    pub(crate) since: String,
    pub(crate) last_used: String,
    /// In words.
    pub(crate) scopes: Vec<String>,
}

/// A refusal that ends the visit.
#[derive(Debug, Template)]
#[template(path = "trouble.html")]
pub(crate) struct ErrorPage<'a> {
    pub(crate) frame: &'a PageFrame,
    pub(crate) heading: &'static str,
    pub(crate) text: &'static str,
    pub(crate) advice: &'static str,
    /// The request's id, which the server's log has.
    pub(crate) reference: &'a str,
    pub(crate) status: u16,
    pub(crate) error: &'static str,
    pub(crate) cause: &'a str,
}
