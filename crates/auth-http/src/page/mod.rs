//! The pages people see: their frame, their looks, their forms.
//!
//! A page is a struct of plain strings ([`view`]) and a template beside it. Every page works without
//! script and loads nothing but the stylesheet and pictures; the headers that hold browsers to that
//! are set in one place ([`shielded`]).

mod cookie;
mod form;
mod look;
pub(crate) mod next;
mod style;
pub(crate) mod view;
mod visitor;
pub(crate) mod words;

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
use crate::state::App;

pub use look::{AccentColors, Color, LOGO_MAX_BYTES, LogoFormat, PageLogo, PageTheme, PageThemeError, PageTitle};

pub(crate) use cookie::{CookieKind, RequestCookies};
pub(crate) use form::{CsrfError, PageForm, fields, is_foreign};
pub(crate) use style::{StaticAsset, StaticAssets};
pub(crate) use visitor::BrowserContext;

use view::{FormView, PageFrame};

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

/// What browsers hold these pages to. No `form-action`: browsers apply it to the redirect that answers
/// a form, and that one leads to the app.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; \
                      frame-ancestors 'none'";

/// The same for pages with the organization's logo, which may be at a host of its own.
fn policy(look: &PageTheme) -> HeaderValue {
    let host = match &look.logo {
        Some(PageLogo::Url(address)) => {
            url::Url::parse(address).ok().map(|address| address.origin().ascii_serialization())
        }
        Some(PageLogo::File { .. }) | None => None,
    };
    let of_host = |host: String| POLICY.replace("img-src 'self'", &format!("img-src 'self' {host}"));
    let policy = host.and_then(|host| HeaderValue::try_from(of_host(host)).ok());
    policy.unwrap_or(HeaderValue::from_static(POLICY))
}

/// Everything the pages of a deployment have in common.
pub(crate) struct Pages {
    frame: PageFrame,
    assets: StaticAssets,
    cookies: RequestCookies,
    origin: String,
    root: String,
    policy: HeaderValue,
}

impl Pages {
    pub(crate) fn new(base_url: &str, look: &PageTheme) -> Self {
        let parsed = url::Url::parse(base_url).ok();
        let root = parsed.as_ref().map_or("", |url| url.path().trim_end_matches('/')).to_owned();
        let assets = StaticAssets::new(look);
        Self {
            frame: PageFrame::new(look, &assets, &root),
            assets,
            cookies: RequestCookies::new(base_url),
            origin: parsed.map_or_else(String::new, |url| url.origin().ascii_serialization()),
            root,
            policy: policy(look),
        }
    }

    /// Returns what every page begins with.
    pub(crate) const fn frame(&self) -> &PageFrame {
        &self.frame
    }

    /// Returns the file of this name.
    pub(crate) fn asset(&self, name: &str) -> Option<&StaticAsset> {
        self.assets.find(name)
    }

    pub(crate) const fn cookies(&self) -> RequestCookies {
        self.cookies
    }

    /// Returns the origin browsers know this server by.
    fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the address of a page of ours, as links on pages name it.
    pub(crate) fn link(&self, path: &str) -> String {
        format!("{}{path}", self.root)
    }

    /// Returns the address of the page at `path` for a pending authorization.
    pub(crate) fn link_with(&self, path: &str, transaction: &str) -> String {
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("transaction", transaction).finish();
        format!("{}{path}?{query}", self.root)
    }
}

/// Returns the form at `path`, marked for this visitor.
pub(crate) fn form(app: &App, visitor: &BrowserContext, path: &str) -> FormView {
    let csrf = app.authority.forms().token(visitor.anchor(path), path);
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
pub(crate) async fn shield(State(app): State<App>, request: Request, next: Next) -> Response {
    shielded(&app, next.run(request).await)
}

/// `response` with the headers of a page.
pub(crate) fn shielded(app: &App, mut response: Response) -> Response {
    harden(response.headers_mut());
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, app.pages.policy.clone());
    response
}

/// The headers that hold a browser to what pages need.
pub(crate) fn harden(headers: &mut HeaderMap) {
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
