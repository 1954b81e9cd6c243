//! `/Session`: what somebody is in the middle of.
//!
//! Sessions are no resources here: who is signed in and what apps hold is known by rows of its own, and shown on the
//! page of connected apps. The one thing the platform does at this address is done: whoever comes is let go.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode};
use oauth_core::access::AccessError;
use oauth_core::resource_caller::CallerIdentity;

use crate::error::{ApiError, CsrfError};
use crate::form;
use crate::page::{self, BrowserContext};
use crate::page_frame::CookieKind;
use crate::state::App;

/// Ends the session of the token in the header, that is everything its authorization gave; without a header the one of
/// the browser's cookie.
///
/// # Source
/// `docs/decisions.md`, "Callers".
pub(crate) async fn delete(
    State(app): State<App>,
    headers: HeaderMap,
    visitor: BrowserContext,
) -> Result<Response, ApiError> {
    let Some(authorization) = form::authorization(&headers)? else { return sign_out(&app, &headers, &visitor).await };
    let address = visitor.address.as_deref();
    let caller = app.oauth.callers.authenticate_header_from_address(&app.env(), Some(authorization), address).await?;
    let CallerIdentity::Token(bearer) = &caller.identity else { return Err(AccessError::Unauthenticated.into()) };
    app.oauth.sessions.revoke_token_or_family(&app.env(), (&bearer.token, visitor.address.as_deref())).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn sign_out(app: &App, headers: &HeaderMap, visitor: &BrowserContext) -> Result<Response, ApiError> {
    if page::is_cross_site(headers, &app.pages) {
        return Err(CsrfError::CrossSite.into());
    }
    if !app.oauth.sessions.end_browser_session(&app.env(), visitor.as_browser()).await? {
        return Err(AccessError::Unauthenticated.into());
    }
    Ok(page::with_cookie(StatusCode::NO_CONTENT.into_response(), app.pages.cookies().forget(CookieKind::Session)))
}
