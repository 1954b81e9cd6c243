//! The first page of an empty installation: it makes the organization and its owner.
//!
//! It is protected by a code that the server logs when it starts, so opening the address first does not make a visitor
//! the owner. Once there is an organization the page is gone, and the code with it.

use askama::Template;
use axum::response::Response;
use chat_core::event_log::realm_commit::CommitOutcome;
use chat_core::model::user::{check_password_strength, parse_email, parse_full_name};
use chat_core::organization::founding::{self, NewRealm, found_realm};
use chat_core::permission::account_administration::AccountChangeError;
use http::HeaderMap;
use serde::Deserialize;

use super::form_page::{PASSWORD_MAX_BYTES, SubmittedForm, form_page, redirect, refused};
use super::join::rendered;
use crate::browser;
use crate::error::{ApiError, BrowserRequestError, InternalError};
use crate::params::ParamError;
use crate::state::{App, OrganizationSetupCode};

/// What the organization is called before it has a name.
const REALM: &str = "Chat";

#[derive(Template)]
#[template(path = "setup.html")]
struct SetupPage<'a> {
    realm: &'a str,
    fields: &'a SetupForm,
    csrf_token: &'a str,
    alert: Option<&'a str>,
}

/// The fields of the form.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct SetupForm {
    code: String,
    realm_name: String,
    full_name: String,
    email: String,
    password: String,
    csrfmiddlewaretoken: String,
}

/// Returns the code, when there is no organization yet.
pub(super) fn code(app: &App) -> Option<&OrganizationSetupCode> {
    app.browser.setup_code.as_ref().filter(|_| app.realm().realm().is_none())
}

/// Shows the form.
pub(super) fn show(app: &App, headers: &HeaderMap) -> Response {
    form_page(app, headers, |token| setup_form(&SetupForm::default(), token, None))
}

fn setup_form(fields: &SetupForm, csrf_token: &str, alert: Option<&str>) -> Result<String, ApiError> {
    rendered(&SetupPage { realm: REALM, fields, csrf_token, alert })
}

/// Makes the organization, and signs its owner in.
pub(super) async fn submit(app: &App, form: SubmittedForm<SetupForm>) -> Response {
    match founded(app, &form).await {
        Ok(Some(cookies)) => redirect(app, "/", cookies),
        Ok(None) => redirect(app, "/login/", HeaderMap::new()),
        Err(error) => refused(app, &form.headers, error, |token, alert| setup_form(&form.fields, token, Some(alert))),
    }
}

/// Returns the cookies of the owner's session; `None` when there is an organization already.
async fn founded(app: &App, form: &SubmittedForm<SetupForm>) -> Result<Option<HeaderMap>, ApiError> {
    let SubmittedForm { fields, headers, .. } = form;
    form.check(app, &fields.csrfmiddlewaretoken)?;
    app.realm.refresh_realm().await?;
    let Some(code) = code(app) else { return Ok(None) };
    if !code.matches(&fields.code) {
        return Err(BrowserRequestError::SetupCode.into());
    }
    let founding = checked(app, fields).await?;
    let owner = founding.email.clone();
    match app.realm.commit(found_realm(&app.realm(), founding)).await? {
        CommitOutcome::Done { .. } => tracing::info!("the organization was created on its first page"),
        CommitOutcome::Stale(_) => return Ok(None),
    }
    let owner = app.realm().user_by_email(&owner).map(|user| user.id);
    let owner = owner.ok_or_else(|| InternalError::without_cause("the owner that was made is not there"))?;
    let mut cookies = HeaderMap::new();
    browser::sign_in(app, owner, (headers, &mut cookies), |_| Ok(())).await?;
    Ok(Some(cookies))
}

/// What can be refused is refused before the password costs a hash.
async fn checked(app: &App, fields: &SetupForm) -> Result<NewRealm, ApiError> {
    let realm_name = founding::parse_realm_name(&fields.realm_name)?;
    let (full_name, email) = (parse_full_name(&fields.full_name)?, parse_email(&fields.email)?);
    check_password_strength(&fields.password).map_err(AccountChangeError::from)?;
    if fields.password.len() > PASSWORD_MAX_BYTES {
        return Err(ParamError::TooLong { path: "The password".to_owned(), limit: PASSWORD_MAX_BYTES }.into());
    }
    Ok(NewRealm {
        realm_name: realm_name.to_owned(),
        email: email.to_owned(),
        full_name: full_name.to_owned(),
        password_hash: Some(app.passwords.hash(fields.password.clone()).await?),
        api_key: app.fresh_key()?,
        now_s: app.now_s(),
    })
}
