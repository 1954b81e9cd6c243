//! The browser at the other end.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::response::Response;
use http::header::SET_COOKIE;
use http::request::Parts;
use oauth_core::authorization_endpoint::BrowserSessionContext;
use oauth_core::browser_session;
use secrecy::ExposeSecret as _;

use crate::error::ApiError;
use crate::page_frame::CookieKind;
use crate::state::App;

/// A browser, known by its cookies.
pub(crate) struct BrowserContext {
    /// The value of its session cookie, whatever it is worth.
    pub(crate) session: Option<String>,
    /// The value of the cookie it has before anybody signs in; made now where it had none.
    pub(crate) browser: String,
    is_new: bool,
    /// Its address; `None` where the listener names no peer.
    pub(crate) address: Option<String>,
}

impl FromRequestParts<App> for BrowserContext {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let cookies = app.pages.cookies();
        let known = cookies.read(&parts.headers, CookieKind::Browser);
        let is_new = known.is_none();
        let made = || browser_session::generate_session_cookie(&app.env()).expose_secret().to_owned();
        Ok(Self {
            session: cookies.read(&parts.headers, CookieKind::Session),
            browser: known.unwrap_or_else(made),
            is_new,
            address: parts
                .extensions
                .get::<ConnectInfo<SocketAddr>>()
                .map(|peer| peer.0.ip().to_canonical().to_string()),
        })
    }
}

impl BrowserContext {
    /// As the rules know it.
    pub(crate) fn as_browser(&self) -> BrowserSessionContext<'_> {
        BrowserSessionContext { session: self.session.as_deref(), address: self.address.as_deref() }
    }

    /// Returns the value that the CSRF token of a form is made for: the browser before sign-in, afterwards the session,
    /// so that a form of another person's session is worth nothing.
    pub(super) fn anchor(&self, path: &str) -> &str {
        match &self.session {
            Some(session) if path != super::LOGIN => session,
            _ => &self.browser,
        }
    }

    /// Gives a new browser its cookie, with a page that has a form.
    pub(crate) fn remembered(&self, app: &App, mut response: Response) -> Response {
        if self.is_new
            && let Some(cookie) = app.pages.cookies().set(CookieKind::Browser, &self.browser, None)
        {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        response
    }
}
