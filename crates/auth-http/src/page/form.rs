//! A form of one of the pages, sent by the page itself.

use axum::extract::{FromRequest, FromRequestParts as _, Request};
use http::HeaderMap;
use http::header::{HOST, ORIGIN};
use oauth_core::limits::FORM_MAX_BYTES;

use super::browser_context::BrowserContext;
use crate::error::{ApiError, CsrfError};
use crate::page_frame::Pages;
use crate::state::App;
use crate::{body, media};

/// A form that was checked to come from a page this server gave this browser.
pub(crate) struct PageForm {
    /// Who sent it.
    pub(crate) visitor: BrowserContext,
    fields: Vec<(String, String)>,
}

impl FromRequest<App> for PageForm {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        if is_cross_site(&parts.headers, &app.pages) {
            return Err(CsrfError::CrossSite.into());
        }
        let visitor = BrowserContext::from_request_parts(&mut parts, app).await?;
        let fields = fields(app, &parts.headers, body).await?;
        let form = Self { visitor, fields };
        let path = parts.uri.path();
        let token = form.get("csrf");
        if token.is_some_and(|token| app.oauth.forms.verifies_form_token(form.visitor.anchor(path), path, token)) {
            return Ok(form);
        }
        Err(CsrfError::Invalid.into())
    }
}

impl PageForm {
    /// Returns the first field of this name; one without a value counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// Every value of a field.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        self.fields.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone()).collect()
    }
}

/// Returns the fields of a form, decoded, in the order sent.
pub(crate) async fn fields(
    app: &App,
    headers: &HeaderMap,
    body: axum::body::Body,
) -> Result<Vec<(String, String)>, ApiError> {
    if !media::is_form(headers) {
        return Err(ApiError::NotAForm);
    }
    let limit_bytes = app.max_body_bytes.min(FORM_MAX_BYTES);
    let body = body::read(headers, body, limit_bytes).await?;
    Ok(form_urlencoded::parse(&body).into_owned().collect())
}

/// Returns whether the browser reports that a page of another origin sent this: the second line behind the CSRF token.
///
/// An `Origin` of `null` says nothing here. Our own pages send it, because of their
/// `Referrer-Policy`.
pub(crate) fn is_cross_site(headers: &HeaderMap, pages: &Pages) -> bool {
    let text = |value: Option<&http::HeaderValue>| value.and_then(|value| value.to_str().ok()).map(str::to_owned);
    if let Some(site) = text(headers.get("sec-fetch-site")) {
        return !matches!(site.as_str(), "same-origin" | "none");
    }
    let Some(origin) = text(headers.get(ORIGIN)).filter(|origin| origin != "null") else { return false };
    let host = text(headers.get(HOST)).unwrap_or_default();
    let called = origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(&host));
    !called && !origin.eq_ignore_ascii_case(pages.origin())
}
