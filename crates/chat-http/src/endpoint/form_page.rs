//! What the pages with a form share: the field that proves where the form came from, refusals above the form, and the
//! way to the next page.

use std::convert::Infallible;

use axum::extract::{Form, FromRequest, Request};
use axum::response::Response;
use http::header::LOCATION;
use http::{Extensions, HeaderMap, HeaderValue, StatusCode};
use serde::de::DeserializeOwned;

use super::join::finish;
use crate::browser::{self, FormToken};
use crate::error::{ApiError, ErrorPage, InternalError};
use crate::rate::address;
use crate::state::{App, AppState};

/// The largest form of these pages, in bytes.
pub(super) const FORM_MAX_BYTES: usize = 16 * 1024;
/// The longest password, in bytes, as on the page of an invitation.
pub(super) const PASSWORD_MAX_BYTES: usize = 1024;

/// A form that a browser sent, with the head of its request. A form that cannot be read is an empty one, so that the
/// page says what is missing.
pub(super) struct SubmittedForm<F> {
    pub(super) fields: F,
    pub(super) headers: HeaderMap,
    pub(super) extensions: Extensions,
}

impl<F> SubmittedForm<F> {
    /// Checks that the form came from a page of this server, which `token` proves. Sending forms counts by address, as
    /// everything does that needs no account.
    pub(super) fn check(&self, app: &AppState, token: &str) -> Result<(), ApiError> {
        app.server.by_address.check(&address(&self.extensions))?;
        browser::check_form(app, &self.headers, token)
    }
}

impl<F: DeserializeOwned + Default> FromRequest<App> for SubmittedForm<F> {
    type Rejection = Infallible;

    async fn from_request(request: Request, app: &App) -> Result<Self, Infallible> {
        let (headers, extensions) = (request.headers().clone(), request.extensions().clone());
        let Form(fields) = Form::from_request(request, app).await.unwrap_or_default();
        Ok(Self { fields, headers, extensions })
    }
}

/// Returns a page with a form, and gives its token to the browser. `make` writes the page with that token.
pub(super) fn form_page(
    app: &AppState,
    headers: &HeaderMap,
    make: impl FnOnce(&str) -> Result<String, ApiError>,
) -> Response {
    let token = match FormToken::of(app, headers) {
        Ok(token) => token,
        Err(error) => return finish(app, Err(error)),
    };
    let mut response = finish(app, make(&token.value));
    token.add_cookie(app, response.headers_mut());
    response
}

/// Returns the form again with what is wrong above it, where another form would do; else a page that says what is
/// wrong.
pub(super) fn refused(
    app: &AppState,
    headers: &HeaderMap,
    error: ApiError,
    make: impl FnOnce(&str, &str) -> Result<String, ApiError>,
) -> Response {
    if !ErrorPage::concerns_form(&error) {
        return finish(app, Err(error));
    }
    let mut said = ErrorPage::of(&error);
    let mut response = form_page(app, headers, |token| make(token, &said.text));
    *response.status_mut() = said.status;
    said.add_headers(response.headers_mut());
    response
}

/// Sends the browser to a path of this server, with these headers besides.
pub(super) fn redirect(app: &AppState, path: &str, more: HeaderMap) -> Response {
    let base_url = app.settings.base_url.as_str();
    let host = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
    let before = host.find('/').and_then(|at| host.get(at..)).unwrap_or_default();
    let Ok(location) = HeaderValue::try_from(format!("{before}{path}")) else {
        return finish(app, Err(InternalError::without_cause("a path does not fit into a header").into()));
    };
    let mut response = finish(app, Ok(String::new()));
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().extend(more);
    response.headers_mut().insert(LOCATION, location);
    response
}
