//! The part of the table for invitations: as the API answers, and as the page says it.

use chat_core::people::address::EmailChangeError;
use chat_core::people::invitation::{InvitationsNotSent, InviteError, JoinError, NotSentReason};
use http::StatusCode;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use super::{BAD_REQUEST, BrowserFault, Fault, Verdict, chain, refusal};
use crate::auth::LoginFault;
use crate::params::ParamFault;

/// Invitations that are not given.
///
/// # Source
/// Specification, `POST /invites`: `BAD_REQUEST` for all but addresses that have accounts, which are
/// `INVITATION_FAILED`.
pub(super) fn invite(refused: &InviteError) -> Verdict {
    match refused {
        InviteError::Unsent(unsent) => failed(unsent),
        InviteError::NotAllowed(_)
        | InviteError::NoAddress
        | InviteError::NoSuchChannel(_)
        | InviteError::MayNotSubscribeOthers
        | InviteError::NoSuchInvitation
        | InviteError::AlreadyRevoked => refusal(BAD_REQUEST, refused),
    }
}

fn failed(unsent: &InvitationsNotSent) -> Verdict {
    let errors = unsent.skipped.iter().map(|skipped| {
        let is_deactivated = skipped.because == chat_core::people::invitation::SkipReason::Deactivated;
        json!([skipped.address, skipped.because.to_string(), is_deactivated])
    });
    refusal("INVITATION_FAILED", unsent)
        .with("errors", errors.collect::<Vec<Value>>())
        .with("sent_invitations", unsent.because == NotSentReason::SomeSkipped)
        .with("license_limit_reached", false)
        .with("daily_limit_reached", unsent.because == NotSentReason::DailyLimit)
}

/// Invitations that are not accepted.
pub(super) fn join(refused: &JoinError) -> Verdict {
    match refused {
        JoinError::Unknown | JoinError::OtherKind => Verdict::new(StatusCode::NOT_FOUND, BAD_REQUEST, refused),
        JoinError::Revoked | JoinError::Used | JoinError::Expired => {
            Verdict::new(StatusCode::GONE, BAD_REQUEST, refused)
        }
        JoinError::RealmClosed => Verdict::new(StatusCode::FORBIDDEN, BAD_REQUEST, refused),
        JoinError::DailyLimit => Verdict::new(StatusCode::TOO_MANY_REQUESTS, BAD_REQUEST, refused),
        JoinError::Account(refused) => super::account(refused),
    }
}

/// Addresses that are not replaced.
pub(super) fn address(refused: &EmailChangeError) -> Verdict {
    match refused {
        EmailChangeError::Account(refused) => super::account(refused),
        EmailChangeError::Disposable | EmailChangeError::TooManyLetters => refusal(BAD_REQUEST, refused),
        EmailChangeError::Unknown => Verdict::new(StatusCode::NOT_FOUND, BAD_REQUEST, refused),
        EmailChangeError::Expired => Verdict::new(StatusCode::GONE, BAD_REQUEST, refused),
    }
}

/// A fault as a page says it.
pub(crate) struct OnPage {
    pub(crate) status: StatusCode,
    pub(crate) heading: &'static str,
    pub(crate) text: String,
    /// Whether another form would do: then the form is shown again.
    pub(crate) is_about_the_form: bool,
    retry_after: Option<HeaderValue>,
}

impl OnPage {
    /// Returns what there is to say. A failure of ours is logged, and not told.
    pub(crate) fn of(fault: &Fault) -> Self {
        let status = fault.verdict().status;
        if status.is_server_error() {
            tracing::error!(error = chain(fault), "a page failed");
        }
        let mut headers = HeaderMap::new();
        fault.add_headers(status, &mut headers);
        let retry_after = headers.remove(RETRY_AFTER);
        let (heading, text) = said(fault);
        let is_about_the_form = Self::concerns_form(fault);
        Self { status, heading, text, is_about_the_form, retry_after }
    }

    /// Returns whether another form would do.
    pub(crate) fn concerns_form(fault: &Fault) -> bool {
        matches!(
            fault,
            Fault::Parameter(_)
                | Fault::Account(_)
                | Fault::Join(JoinError::Account(_))
                | Fault::Login(_)
                | Fault::Email(_)
                | Fault::FullName(_)
                | Fault::Choice(_)
                | Fault::Browser(BrowserFault::Csrf | BrowserFault::SetupCode)
        )
    }

    /// Puts what belongs there into the head of the page.
    pub(crate) fn add_headers(&mut self, headers: &mut HeaderMap) {
        if let Some(seconds) = self.retry_after.take() {
            headers.insert(RETRY_AFTER, seconds);
        }
    }
}

fn said(fault: &Fault) -> (&'static str, String) {
    let (heading, text) = match fault {
        Fault::Join(JoinError::Account(refused))
        | Fault::Address(EmailChangeError::Account(refused))
        | Fault::Account(refused) => {
            return ("That did not work", refused.to_string());
        }
        Fault::Address(refused @ EmailChangeError::Disposable) => return ("That did not work", refused.to_string()),
        Fault::Parameter(ParamFault::Missing { .. }) => ("That did not work", "Please fill in the whole form."),
        Fault::Parameter(refused) => return ("That did not work", refused.to_string()),
        Fault::Join(JoinError::Unknown | JoinError::OtherKind) => {
            ("There is no such invitation", "The link may be incomplete: copy the whole of it out of the letter.")
        }
        Fault::Join(JoinError::Revoked) => ("This invitation was taken back", "Ask who invited you for another one."),
        Fault::Join(JoinError::Used) => {
            ("This invitation was used before", "If it was you, log in with your app. If not, ask for another one.")
        }
        Fault::Join(JoinError::Expired) => ("This invitation has expired", "Ask who invited you for another one."),
        Fault::Join(JoinError::RealmClosed) => ("This organization is closed", "Nobody can join it."),
        Fault::Join(JoinError::DailyLimit) => {
            ("Too many letters were sent today", "Please come back tomorrow, and open the link again.")
        }
        Fault::Address(EmailChangeError::Unknown) => {
            ("There is nothing to confirm", "The link may be incomplete, or used before, or there is a newer letter.")
        }
        Fault::Address(EmailChangeError::Expired) => {
            ("This link has expired", "Change your address in your app again, to get another letter.")
        }
        Fault::Login(LoginFault::WrongPassword) => {
            ("That did not work", "The e-mail address or the password is not right.")
        }
        Fault::Login(LoginFault::RealmDeactivated) => ("This organization is closed", "You cannot sign in to it."),
        Fault::Login(LoginFault::AccountDeactivated) => {
            ("Your account is closed", "Ask an administrator to open it again.")
        }
        Fault::Email(_) => ("That did not work", "Please type an e-mail address."),
        Fault::FullName(refused) => return ("That did not work", refused.to_string()),
        Fault::Choice(refused) => return ("That did not work", refused.to_string()),
        Fault::Browser(refused) => super::browser::on_page(refused),
        Fault::Throttled(_) => ("That was too fast", "Please wait a few minutes, and try again."),
        _ => ("Something went wrong here", "Please try again in a while."),
    };
    (heading, text.to_owned())
}
