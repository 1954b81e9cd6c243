//! `/auth/patient`: whose record it is about.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use oauth_core::authorize::{self, PatientPage, PatientSearch, Search, Step};

use crate::error::Fault;
use crate::page::view::{Alert, Candidate, Found, Patient};
use crate::page::{self, FormFault, LOGOUT, PATIENT, PageForm, Visitor, next, words};
use crate::state::App;

/// Returns the page, where there is a choice to make.
pub(crate) async fn get(
    State(app): State<App>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> Result<Response, Fault> {
    let query = query.unwrap_or_default();
    let transaction = page::parameter(&query, "transaction").unwrap_or_default();
    let text = page::parameter(&query, "search");
    let number = page::parameter(&query, "page").and_then(|page| page.parse().ok()).unwrap_or(1);
    let search = text.as_deref().map(|text| Search { text, page: number });
    match authorize::find(&app.env(), &app.authority, &transaction, search, visitor.as_browser()).await {
        Ok(Step::PickPatient(asked)) => page::show(&patient(&app, &visitor, &asked)),
        other => next::go(&app, other),
    }
}

/// Chooses.
pub(crate) async fn post(State(app): State<App>, form: PageForm) -> Result<Response, Fault> {
    let transaction = form.get("transaction").unwrap_or_default();
    let browser = form.visitor.as_browser();
    let Some(chosen) = form.get("patient") else {
        return again(&app, &form, transaction).await;
    };
    next::go(&app, authorize::pick(&app.env(), &app.authority, transaction, chosen, browser).await)
}

/// Returns the page again, for who chose nothing.
async fn again(app: &App, form: &PageForm, transaction: &str) -> Result<Response, Fault> {
    let visitor = &form.visitor;
    match authorize::resume(&app.env(), &app.authority, transaction, visitor.as_browser()).await {
        Ok(Step::PickPatient(asked)) => {
            let mut page = patient(app, visitor, &asked);
            page.alert = Some(Alert { heading: "No record is chosen", text: "Choose one to go on.".to_owned() });
            page::show_again(&page, &FormFault::Incomplete.into(), &app.settings.base_url)
        }
        other => next::go(app, other),
    }
}

/// Returns what a search found, in words, and where its other pages are.
fn found(transaction: &str, search: &PatientSearch, shown: usize) -> Found {
    let at = |page: usize| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("transaction", transaction).append_pair("search", &search.text);
        format!("{PATIENT}?{}", query.append_pair("page", &page.to_string()).finish())
    };
    Found {
        text: search.text.clone(),
        count: words::found(search, shown),
        previous: (search.page > 1).then(|| at(search.page - 1)),
        next: (search.page < search.pages).then(|| at(search.page + 1)),
    }
}

fn patient<'a>(app: &'a App, visitor: &Visitor, asked: &'a PatientPage) -> Patient<'a> {
    let candidates = asked.candidates.iter().map(|candidate| Candidate {
        id: candidate.id.clone(),
        name: candidate.name.clone(),
        details: words::details(candidate),
    });
    Patient {
        frame: app.pages.frame(),
        form: page::form(app, visitor, PATIENT),
        logout: page::form(app, visitor, LOGOUT),
        transaction: &asked.transaction,
        app: words::app(&asked.app),
        person: &asked.person,
        search: asked.search.as_ref().map(|search| found(&asked.transaction, search, asked.candidates.len())),
        candidates: candidates.collect(),
        alert: None,
    }
}
