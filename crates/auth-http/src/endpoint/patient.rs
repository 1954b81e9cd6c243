//! `/auth/patient`: whose record it is about.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use oauth_core::authorize::{self, PatientPage, Step};

use crate::error::Fault;
use crate::page::view::{Alert, Candidate, Patient};
use crate::page::{self, FormFault, LOGOUT, PATIENT, PageForm, Visitor, next, words};
use crate::state::App;

/// The page, where there is a choice to make.
pub(crate) async fn get(
    State(app): State<App>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> Result<Response, Fault> {
    let query = query.unwrap_or_default();
    let transaction = page::parameter(&query, "transaction").unwrap_or_default();
    let text = page::parameter(&query, "search");
    let (env, text) = (app.env(), text.as_deref());
    match authorize::find(&env, &app.authority, &transaction, text, visitor.as_browser()).await {
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

/// The page again, for who chose nothing.
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

fn patient<'a>(app: &'a App, visitor: &Visitor, asked: &'a PatientPage) -> Patient<'a> {
    let candidates = asked.candidates.iter().map(|candidate| Candidate {
        id: candidate.id.clone(),
        name: candidate.name.clone(),
        born: candidate.birth_date.as_deref().map(words::birth_date),
    });
    Patient {
        frame: app.pages.frame(),
        form: page::form(app, visitor, PATIENT),
        logout: page::form(app, visitor, LOGOUT),
        transaction: &asked.transaction,
        app: words::app(&asked.app),
        person: &asked.person,
        search: asked.search.as_deref(),
        candidates: candidates.collect(),
        alert: None,
    }
}
