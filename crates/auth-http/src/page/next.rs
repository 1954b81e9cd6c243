//! Where a browser goes next: to a page of ours, or to the app.

use axum::response::Response;
use oauth_core::authorization_endpoint::{AuthorizationRequestError, ClientRedirect, NextPageOrRedirect};

use super::{GRANT, LOGIN, PATIENT, see};
use crate::error::ApiError;
use crate::state::App;
use crate::token_log;

/// Sends the browser to what comes next.
///
/// # Errors
/// When it is told on a page of ours why nothing does.
pub(crate) fn go(app: &App, next: Result<NextPageOrRedirect, AuthorizationRequestError>) -> Result<Response, ApiError> {
    let link = |path, transaction: &str| see(&app.pages.link_with(path, transaction));
    match next {
        Ok(NextPageOrRedirect::Leave(departure)) => leave(&departure),
        Ok(NextPageOrRedirect::SignIn(page)) => link(LOGIN, &page.transaction),
        Ok(NextPageOrRedirect::PickPatient(page)) => link(PATIENT, &page.transaction),
        Ok(NextPageOrRedirect::Consent(page)) => link(GRANT, &page.transaction),
        Err(fault) => refuse(fault),
    }
}

/// Sends the browser to the app.
///
/// # Errors
/// When its address is none, which registration rules out.
pub(crate) fn leave(departure: &ClientRedirect) -> Result<Response, ApiError> {
    see(&departure.location)
}

/// Tells the app, or the person where the app cannot be told.
///
/// # Errors
/// When the person is told.
pub(crate) fn refuse(fault: AuthorizationRequestError) -> Result<Response, ApiError> {
    match fault {
        AuthorizationRequestError::Redirect { departure, cause } => {
            token_log::not_authorized(&cause);
            leave(&departure)
        }
        AuthorizationRequestError::Page(cause) => Err(ApiError::Authorize(cause)),
        AuthorizationRequestError::Store(cause) => Err(cause.into()),
    }
}
