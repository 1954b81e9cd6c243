//! The pages people see, and their forms.
//!
//! A page is a struct of plain strings ([`view`]) and a template beside it. Every page works without
//! script and loads nothing but the stylesheet and pictures; the headers that hold browsers to that
//! are set in one place ([`shielded`]).

mod browser_context;
pub(crate) mod error_page;
mod form;
pub(crate) mod next;
pub(crate) mod texts;
pub(crate) mod view;

use askama::Template;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::error::ApiError;
use crate::media;
use crate::page_frame::POLICY;
use crate::state::App;

pub(crate) use browser_context::BrowserContext;
pub(crate) use form::{PageForm, fields, is_cross_site};

use view::FormView;

/// Where one signs in.
pub(crate) const LOGIN: &str = "/auth/login";
/// Where one picks a patient.
pub(crate) const PATIENT: &str = "/auth/patient";
/// Where one lets an app in.
pub(crate) const GRANT: &str = "/auth/grant";
/// Where one sees the apps one let in.
pub(crate) const APPS: &str = "/auth/apps";
/// Where one takes that back.
pub(crate) const REVOKE: &str = "/auth/apps/revoke";
/// Where one signs out.
pub(crate) const LOGOUT: &str = "/auth/logout";
/// Where an app sends a browser to.
pub(crate) const AUTHORIZE: &str = "/auth/authorize";

/// Returns the form at `path`, with a CSRF token for this visitor.
pub(crate) fn form(app: &App, visitor: &BrowserContext, path: &str) -> FormView {
    let csrf = app.oauth.forms.form_token(visitor.anchor(path), path);
    FormView { action: app.pages.link(path), csrf }
}

/// A page.
///
/// # Errors
/// When the template cannot be written, which is a bug.
pub(crate) fn show(page: &impl Template) -> Result<Response, ApiError> {
    let mut response = Response::new(Body::from(page.render().map_err(ApiError::Unrendered)?));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media::HTML));
    Ok(response)
}

/// A page that is shown again, because of `fault`, with the fault's status and headers.
///
/// # Errors
/// When the template cannot be written, which is a bug.
pub(crate) fn show_again(page: &impl Template, fault: &ApiError, realm: &str) -> Result<Response, ApiError> {
    let mut response = show(page)?;
    let verdict = fault.verdict();
    *response.status_mut() = verdict.status;
    verdict.add_headers(response.headers_mut(), realm);
    Ok(response)
}

/// Sends the browser on, with GET whatever it came with.
pub(crate) fn see(location: &str) -> Result<Response, ApiError> {
    let location = HeaderValue::try_from(location).map_err(|_| ApiError::Location)?;
    Ok((StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response())
}

/// `response` with one more cookie.
pub(crate) fn with_cookie(mut response: Response, cookie: Option<HeaderValue>) -> Response {
    if let Some(cookie) = cookie {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// Returns the value of a parameter in a query; one without a value counts as absent.
pub(crate) fn parameter(query: &str, name: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(query.as_bytes()).filter(|(key, value)| key == name && !value.is_empty());
    pairs.next().map(|(_, value)| value.into_owned())
}

/// Gives every answer to a browser its headers: pages, redirects and refusals alike.
pub(crate) async fn security_headers(State(app): State<App>, request: Request, next: Next) -> Response {
    shielded(&app, next.run(request).await)
}

/// `response` with the headers of a page.
pub(crate) fn shielded(app: &App, mut response: Response) -> Response {
    add_security_headers(response.headers_mut());
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, app.pages.policy());
    response
}

/// The headers that hold a browser to what pages need.
pub(crate) fn add_security_headers(headers: &mut HeaderMap) {
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
