//! The part of the table for browsers: what their pages and their client are refused.

use chat_core::people::password_reset::PasswordResetError;
use chat_core::people::sign_in_link::SignInLinkError;
use http::StatusCode;

use super::{BAD_REQUEST, Fault, Verdict, refusal};

/// The reason why a request of a browser is refused.
#[derive(Debug, thiserror::Error)]
pub enum BrowserFault {
    /// The request does not show the CSRF token of this browser.
    #[error("CSRF check failed: reload the page")]
    Csrf,
    /// The code does not make an organization.
    #[error("This is not the code in the log")]
    SetupCode,
    /// The session is not one of the caller's.
    #[error("No such session")]
    NoSession,
    /// A link does not set a password.
    #[error(transparent)]
    PasswordReset(#[from] PasswordResetError),
    /// A link signs no browser in.
    #[error(transparent)]
    SignInLink(#[from] SignInLinkError),
}

/// Not specified: existing servers answer a missing CSRF token with 403, and their clients load the page again.
pub(super) fn verdict(refused: &BrowserFault) -> Verdict {
    match refused {
        BrowserFault::Csrf => Verdict::new(StatusCode::FORBIDDEN, "CSRF_FAILED", refused),
        BrowserFault::SetupCode => Verdict::new(StatusCode::FORBIDDEN, BAD_REQUEST, refused),
        BrowserFault::NoSession => refusal(BAD_REQUEST, refused),
        BrowserFault::PasswordReset(PasswordResetError::Unknown) => {
            Verdict::new(StatusCode::NOT_FOUND, BAD_REQUEST, refused)
        }
        BrowserFault::PasswordReset(PasswordResetError::Expired) => {
            Verdict::new(StatusCode::GONE, BAD_REQUEST, refused)
        }
        BrowserFault::SignInLink(_) => Verdict::new(StatusCode::NOT_FOUND, BAD_REQUEST, refused),
    }
}

/// Returns heading and text of the refusal, as a page says it.
pub(super) fn on_page(refused: &BrowserFault) -> (&'static str, &'static str) {
    match refused {
        BrowserFault::Csrf => ("That did not work", "This page was open for too long. Please try again."),
        BrowserFault::SetupCode => ("That did not work", "This is not the code in the log of the server."),
        BrowserFault::NoSession => ("That did not work", "This browser is signed out already."),
        BrowserFault::PasswordReset(PasswordResetError::Unknown) => (
            "This link does not work",
            "The link may be incomplete, or used before, or there is a newer letter. Ask for another letter.",
        ),
        BrowserFault::PasswordReset(PasswordResetError::Expired) => {
            ("This link has expired", "Ask for another letter, and open its link within an hour.")
        }
        BrowserFault::SignInLink(_) => {
            ("This link does not work", "It works once, and for a quarter of an hour. Ask for another one.")
        }
    }
}

impl From<PasswordResetError> for Fault {
    fn from(refused: PasswordResetError) -> Self {
        BrowserFault::from(refused).into()
    }
}

impl From<SignInLinkError> for Fault {
    fn from(refused: SignInLinkError) -> Self {
        BrowserFault::from(refused).into()
    }
}
