//! `/auth/patient`: whose record it is about.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use oauth_core::authorization_endpoint::{
    NextPageOrRedirect, PatientSearchPagination, PatientSearchQuery, PatientSelectionPage,
};

use crate::error::{ApiError, CsrfError};
use crate::page::view::{AlertView, PatientCandidateView, PatientPageView, PatientResultsView};
use crate::page::{self, BrowserContext, LOGOUT, PATIENT, PageForm, next, texts};
use crate::state::App;

/// Returns the page, where there is a choice to make.
pub(crate) async fn get(
    State(app): State<App>,
    visitor: BrowserContext,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.unwrap_or_default();
    let transaction = page::parameter(&query, "transaction").unwrap_or_default();
    let text = page::parameter(&query, "search");
    let number = page::parameter(&query, "page").and_then(|page| page.parse().ok()).unwrap_or(1);
    let search = text.as_deref().map(|text| PatientSearchQuery { text, page: number });
    match app.oauth.authorize.search_patients(&app.env(), &transaction, search, visitor.as_browser()).await {
        Ok(NextPageOrRedirect::PickPatient(asked)) => page::show(&patient(&app, &visitor, &asked)),
        other => next::go(&app, other),
    }
}

/// Chooses.
pub(crate) async fn post(State(app): State<App>, form: PageForm) -> Result<Response, ApiError> {
    let transaction = form.get("transaction").unwrap_or_default();
    let browser = form.visitor.as_browser();
    let Some(chosen) = form.get("patient") else {
        return again(&app, &form, transaction).await;
    };
    next::go(&app, app.oauth.authorize.choose_patient(&app.env(), transaction, chosen, browser).await)
}

/// Returns the page again, for who chose nothing.
async fn again(app: &App, form: &PageForm, transaction: &str) -> Result<Response, ApiError> {
    let visitor = &form.visitor;
    match app.oauth.authorize.resume_authorization(&app.env(), transaction, visitor.as_browser()).await {
        Ok(NextPageOrRedirect::PickPatient(asked)) => {
            let mut page = patient(app, visitor, &asked);
            page.alert = Some(AlertView { heading: "No record is chosen", text: "Choose one to go on.".to_owned() });
            page::show_again(&page, &CsrfError::Incomplete.into(), app.base_url())
        }
        other => next::go(app, other),
    }
}

/// Returns what a search found, in words, and where its other pages are.
fn found(transaction: &str, search: &PatientSearchPagination, shown: usize) -> PatientResultsView {
    let at = |page: usize| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("transaction", transaction).append_pair("search", &search.text);
        format!("{PATIENT}?{}", query.append_pair("page", &page.to_string()).finish())
    };
    PatientResultsView {
        text: search.text.clone(),
        count: texts::found(search, shown),
        previous: (search.page > 1).then(|| at(search.page - 1)),
        next: (search.page < search.pages).then(|| at(search.page + 1)),
    }
}

fn patient<'a>(app: &'a App, visitor: &BrowserContext, asked: &'a PatientSelectionPage) -> PatientPageView<'a> {
    let candidates = asked.candidates.iter().map(|candidate| PatientCandidateView {
        id: candidate.id.clone(),
        name: candidate.name.clone(),
        details: texts::details(candidate),
    });
    PatientPageView {
        frame: app.pages.frame(),
        form: page::form(app, visitor, PATIENT),
        logout: page::form(app, visitor, LOGOUT),
        transaction: &asked.transaction,
        app: texts::app(&asked.app),
        person: &asked.person,
        search: asked.search.as_ref().map(|search| found(&asked.transaction, search, asked.candidates.len())),
        candidates: candidates.collect(),
        alert: None,
    }
}
