//! Where a browser goes next: to a page of ours, or to the app.

use axum::response::Response;
use oauth_core::authorize::{AuthorizeFault, Departure, Step};

use super::{GRANT, LOGIN, PATIENT, see};
use crate::error::Fault;
use crate::state::App;
use crate::told;

/// Sends the browser to what comes next.
///
/// # Errors
/// When it is told on a page of ours why nothing does.
pub(crate) fn go(app: &App, next: Result<Step, AuthorizeFault>) -> Result<Response, Fault> {
    let link = |path, transaction: &str| see(&app.pages.link_with(path, transaction));
    match next {
        Ok(Step::Leave(departure)) => leave(&departure),
        Ok(Step::SignIn(page)) => link(LOGIN, &page.transaction),
        Ok(Step::PickPatient(page)) => link(PATIENT, &page.transaction),
        Ok(Step::Consent(page)) => link(GRANT, &page.transaction),
        Err(fault) => refuse(fault),
    }
}

/// Sends the browser to the app.
///
/// # Errors
/// When its address is none, which registration rules out.
pub(crate) fn leave(departure: &Departure) -> Result<Response, Fault> {
    see(&departure.location)
}

/// Tells the app, or the person where the app cannot be told.
///
/// # Errors
/// When the person is told.
pub(crate) fn refuse(fault: AuthorizeFault) -> Result<Response, Fault> {
    match fault {
        AuthorizeFault::Redirect { departure, cause } => {
            told::not_authorized(&cause);
            leave(&departure)
        }
        AuthorizeFault::Page(cause) => Err(Fault::Authorize(cause)),
        AuthorizeFault::Store(cause) => Err(Fault::Parties(cause)),
    }
}
