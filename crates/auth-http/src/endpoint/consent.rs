//! `/auth/grant`: what an app may see and do.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use oauth_core::authorization_endpoint::{ConsentDecision, ConsentPage, NextPageOrRedirect};

use crate::error::{ApiError, CsrfError};
use crate::page::view::ConsentPageView;
use crate::page::{self, APPS, BrowserContext, GRANT, LOGOUT, PageForm, next, texts};
use crate::state::App;

/// Returns the page, where there is something to decide.
pub(crate) async fn get(
    State(app): State<App>,
    visitor: BrowserContext,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let transaction = page::parameter(&query.unwrap_or_default(), "transaction").unwrap_or_default();
    match app.oauth.authorize.resume_authorization(&app.env(), &transaction, visitor.as_browser()).await {
        Ok(NextPageOrRedirect::Consent(asked)) => page::show(&grant(&app, &visitor, &asked)),
        other => next::go(&app, other),
    }
}

/// Allows or denies.
pub(crate) async fn post(State(app): State<App>, form: PageForm) -> Result<Response, ApiError> {
    let decision = match form.get("decision") {
        Some("allow") => ConsentDecision::Allow { scopes: form.all("scope") },
        Some("deny") => ConsentDecision::Deny,
        _ => return Err(CsrfError::Incomplete.into()),
    };
    let transaction = form.get("transaction").unwrap_or_default();
    let browser = form.visitor.as_browser();
    next::go(&app, app.oauth.authorize.decide_consent(&app.env(), transaction, decision, browser).await)
}

fn grant<'a>(app: &'a App, visitor: &BrowserContext, asked: &'a ConsentPage) -> ConsentPageView<'a> {
    ConsentPageView {
        frame: app.pages.frame(),
        form: page::form(app, visitor, GRANT),
        logout: page::form(app, visitor, LOGOUT),
        apps_url: app.pages.link(APPS),
        transaction: &asked.transaction,
        app: texts::app(&asked.app),
        person: &asked.person,
        patient: asked.patient.as_ref().map(|patient| texts::subject(patient, asked)),
        notice: texts::earlier_refusal(&asked.items),
        groups: texts::groups(&asked.items),
    }
}
