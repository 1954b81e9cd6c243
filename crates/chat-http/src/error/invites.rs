//! The part of the table for invitations: as the API answers, and as the page says it.

use chat_core::people::email_change::EmailChangeError;
use chat_core::people::invitation::{InvitationError, InvitationsNotSent, InvitationsNotSentReason, JoinError};
use http::StatusCode;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use super::{ApiError, BAD_REQUEST, BrowserRequestError, ErrorResponse, bad_request, chain};
use crate::authentication::PasswordLoginError;
use crate::params::ParamError;

/// Invitations that are not given.
///
/// # Source
/// Specification, `POST /invites`: `BAD_REQUEST` for all but addresses that have accounts, which are
/// `INVITATION_FAILED`.
pub(super) fn invite(error: &InvitationError) -> ErrorResponse {
    match error {
        InvitationError::Unsent(unsent) => failed(unsent),
        InvitationError::Group(error) => super::groups::group(error),
        InvitationError::NotAllowed(_)
        | InvitationError::NoAddress
        | InvitationError::NoSuchChannel(_)
        | InvitationError::MayNotSubscribeOthers
        | InvitationError::NoSuchInvitation
        | InvitationError::AlreadyRevoked => bad_request(BAD_REQUEST, error),
    }
}

fn failed(unsent: &InvitationsNotSent) -> ErrorResponse {
    let errors = unsent.skipped.iter().map(|skipped| {
        let is_deactivated = skipped.because == chat_core::people::invitation::InviteeSkipReason::Deactivated;
        json!([skipped.address, skipped.because.to_string(), is_deactivated])
    });
    bad_request("INVITATION_FAILED", unsent)
        .with("errors", errors.collect::<Vec<Value>>())
        .with("sent_invitations", unsent.because == InvitationsNotSentReason::SomeSkipped)
        .with("license_limit_reached", false)
        .with("daily_limit_reached", unsent.because == InvitationsNotSentReason::DailyLimit)
}

/// Invitations that are not accepted.
pub(super) fn join(error: &JoinError) -> ErrorResponse {
    match error {
        JoinError::Unknown | JoinError::OtherKind => ErrorResponse::new(StatusCode::NOT_FOUND, BAD_REQUEST, error),
        JoinError::Revoked | JoinError::Used | JoinError::Expired => {
            ErrorResponse::new(StatusCode::GONE, BAD_REQUEST, error)
        }
        JoinError::RealmClosed => ErrorResponse::new(StatusCode::FORBIDDEN, BAD_REQUEST, error),
        JoinError::DailyLimit => ErrorResponse::new(StatusCode::TOO_MANY_REQUESTS, BAD_REQUEST, error),
        JoinError::Account(error) => super::account(error),
    }
}

/// Addresses that are not replaced.
pub(super) fn address(error: &EmailChangeError) -> ErrorResponse {
    match error {
        EmailChangeError::Account(error) => super::account(error),
        EmailChangeError::Disposable | EmailChangeError::TooManyLetters => bad_request(BAD_REQUEST, error),
        EmailChangeError::Unknown => ErrorResponse::new(StatusCode::NOT_FOUND, BAD_REQUEST, error),
        EmailChangeError::Expired => ErrorResponse::new(StatusCode::GONE, BAD_REQUEST, error),
    }
}

/// An error as a page shows it.
pub(crate) struct ErrorPage {
    pub(crate) status: StatusCode,
    pub(crate) heading: &'static str,
    pub(crate) text: String,
    retry_after: Option<HeaderValue>,
}

impl ErrorPage {
    /// Returns the page for an error. An internal error is logged, and its text is not shown.
    pub(crate) fn of(error: &ApiError) -> Self {
        let status = error.error_response().status;
        if status.is_server_error() {
            tracing::error!(error = chain(error), "a page failed");
        }
        let mut headers = HeaderMap::new();
        error.add_headers(status, &mut headers);
        let retry_after = headers.remove(RETRY_AFTER);
        let (heading, text) = page_text(error);
        Self { status, heading, text, retry_after }
    }

    /// Returns whether another form would do: then the form is shown again.
    pub(crate) fn concerns_form(error: &ApiError) -> bool {
        matches!(
            error,
            ApiError::Parameter(_)
                | ApiError::Account(_)
                | ApiError::Join(JoinError::Account(_))
                | ApiError::Login(_)
                | ApiError::Email(_)
                | ApiError::FullName(_)
                | ApiError::Setting(_)
                | ApiError::Browser(BrowserRequestError::Csrf | BrowserRequestError::SetupCode)
        )
    }

    /// Puts what belongs there into the head of the page.
    pub(crate) fn add_headers(&mut self, headers: &mut HeaderMap) {
        if let Some(seconds) = self.retry_after.take() {
            headers.insert(RETRY_AFTER, seconds);
        }
    }
}

fn page_text(error: &ApiError) -> (&'static str, String) {
    let (heading, text) = match error {
        ApiError::Join(JoinError::Account(error))
        | ApiError::Address(EmailChangeError::Account(error))
        | ApiError::Account(error) => {
            return ("That did not work", error.to_string());
        }
        ApiError::Address(error @ EmailChangeError::Disposable) => return ("That did not work", error.to_string()),
        ApiError::Parameter(ParamError::Missing { .. }) => ("That did not work", "Please fill in the whole form."),
        ApiError::Parameter(error) => return ("That did not work", error.to_string()),
        ApiError::Join(JoinError::Unknown | JoinError::OtherKind) => {
            ("There is no such invitation", "The link may be incomplete: copy the whole of it out of the letter.")
        }
        ApiError::Join(JoinError::Revoked) => {
            ("This invitation was taken back", "Ask who invited you for another one.")
        }
        ApiError::Join(JoinError::Used) => {
            ("This invitation was used before", "If it was you, log in with your app. If not, ask for another one.")
        }
        ApiError::Join(JoinError::Expired) => ("This invitation has expired", "Ask who invited you for another one."),
        ApiError::Join(JoinError::RealmClosed) => ("This organization is closed", "Nobody can join it."),
        ApiError::Join(JoinError::DailyLimit) => {
            ("Too many letters were sent today", "Please come back tomorrow, and open the link again.")
        }
        ApiError::Address(EmailChangeError::Unknown) => {
            ("There is nothing to confirm", "The link may be incomplete, or used before, or there is a newer letter.")
        }
        ApiError::Address(EmailChangeError::Expired) => {
            ("This link has expired", "Change your address in your app again, to get another letter.")
        }
        ApiError::Login(PasswordLoginError::WrongPassword) => {
            ("That did not work", "The e-mail address or the password is not right.")
        }
        ApiError::Login(PasswordLoginError::RealmDeactivated) => {
            ("This organization is closed", "You cannot sign in to it.")
        }
        ApiError::Login(PasswordLoginError::AccountDeactivated) => {
            ("Your account is closed", "Ask an administrator to open it again.")
        }
        ApiError::Email(_) => ("That did not work", "Please type an e-mail address."),
        ApiError::FullName(error) => return ("That did not work", error.to_string()),
        ApiError::Setting(error) => return ("That did not work", error.to_string()),
        ApiError::Browser(error) => super::browser::on_page(error),
        ApiError::Throttled(_) => ("That was too fast", "Please wait a few minutes, and try again."),
        _ => ("Something went wrong here", "Please try again in a while."),
    };
    (heading, text.to_owned())
}
