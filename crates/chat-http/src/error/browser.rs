//! The part of the table for browsers: what their pages and their client are refused.

use chat_core::people::password_reset::PasswordResetError;
use chat_core::people::sign_in_link::SignInLinkError;
use http::StatusCode;

use super::{ApiError, BAD_REQUEST, ErrorResponse, bad_request};

/// The reason why a request of a browser is refused.
#[derive(Debug, thiserror::Error)]
pub enum BrowserRequestError {
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
pub(super) fn error_response(error: &BrowserRequestError) -> ErrorResponse {
    match error {
        BrowserRequestError::Csrf => ErrorResponse::new(StatusCode::FORBIDDEN, "CSRF_FAILED", error),
        BrowserRequestError::SetupCode => ErrorResponse::new(StatusCode::FORBIDDEN, BAD_REQUEST, error),
        BrowserRequestError::NoSession => bad_request(BAD_REQUEST, error),
        BrowserRequestError::PasswordReset(PasswordResetError::Unknown) => {
            ErrorResponse::new(StatusCode::NOT_FOUND, BAD_REQUEST, error)
        }
        BrowserRequestError::PasswordReset(PasswordResetError::Expired) => {
            ErrorResponse::new(StatusCode::GONE, BAD_REQUEST, error)
        }
        BrowserRequestError::SignInLink(_) => ErrorResponse::new(StatusCode::NOT_FOUND, BAD_REQUEST, error),
    }
}

/// Returns heading and text of the refusal, as a page says it.
pub(super) fn on_page(error: &BrowserRequestError) -> (&'static str, &'static str) {
    match error {
        BrowserRequestError::Csrf => ("That did not work", "This page was open for too long. Please try again."),
        BrowserRequestError::SetupCode => ("That did not work", "This is not the code in the log of the server."),
        BrowserRequestError::NoSession => ("That did not work", "This browser is signed out already."),
        BrowserRequestError::PasswordReset(PasswordResetError::Unknown) => (
            "This link does not work",
            "The link may be incomplete, or used before, or there is a newer letter. Ask for another letter.",
        ),
        BrowserRequestError::PasswordReset(PasswordResetError::Expired) => {
            ("This link has expired", "Ask for another letter, and open its link within an hour.")
        }
        BrowserRequestError::SignInLink(_) => {
            ("This link does not work", "It works once, and for a quarter of an hour. Ask for another one.")
        }
    }
}

impl From<PasswordResetError> for ApiError {
    fn from(error: PasswordResetError) -> Self {
        BrowserRequestError::from(error).into()
    }
}

impl From<SignInLinkError> for ApiError {
    fn from(error: SignInLinkError) -> Self {
        BrowserRequestError::from(error).into()
    }
}
