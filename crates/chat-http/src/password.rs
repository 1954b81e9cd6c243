//! Checks passwords, within the limits of guessing.

use std::net::IpAddr;

use attempt_limits::password_attempt_limits::{
    AdmitAttemptError, AdmittedAttempt, AttemptCounterKind, AttemptLimitExceeded, AttemptLimiter, AttemptOrigin,
    AttemptOutcome,
};
use chat_core::event_log::store::Credentials;
use chat_core::id::UserId;

use crate::error::ApiError;
use crate::state::AppState;

/// The refusal where [`WAITING_MAX`](attempt_limits::attempts::WAITING_MAX) attempts wait.
const CROWDED: AttemptLimitExceeded =
    AttemptLimitExceeded { by: AttemptCounterKind::Account, at_once: 256, wait_us: 1_000_000, whole_us: 1_000_000 };

/// Whose password it is said to be, and where that is said.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PasswordAttempt<'a> {
    /// The e-mail address, folded; one that nobody has is counted as any other.
    pub(crate) account: &'a str,
    /// `None` where no account has the address: a password is compared nevertheless, so that the time reveals nothing.
    pub(crate) user_id: Option<UserId>,
    /// Where the request comes from.
    pub(crate) from: Option<IpAddr>,
}

/// Compares a password, unless too many wrong ones came before. The credentials are those of the user, where it is
/// theirs; `None` is a wrong password.
pub(crate) async fn check(
    app: &AppState,
    claim: PasswordAttempt<'_>,
    password: String,
) -> Result<Option<Credentials>, ApiError> {
    let attempt = admitted(app, &app.attempts, claim).await?;
    let compared = compared(app, claim.user_id, password).await;
    attempt.record_outcome(match &compared {
        Ok(Some(_)) => AttemptOutcome::Right,
        Ok(None) => AttemptOutcome::Wrong,
        Err(_) => AttemptOutcome::Unchecked,
    });
    compared
}

/// Admits an attempt, once those before it are settled where they take all the room there is.
///
/// # Errors
/// When too many came before.
pub(crate) async fn admitted<'a>(
    app: &AppState,
    attempts: &'a AttemptLimiter,
    claim: PasswordAttempt<'_>,
) -> Result<AdmittedAttempt<'a>, ApiError> {
    let origin = claim.from.map_or(AttemptOrigin::Unknown, AttemptOrigin::Device);
    let admitted = attempts.admit_attempt(|| app.server.runtime.now_us(), claim.account, origin).await;
    admitted.map_err(|error| {
        let held = match error {
            AdmitAttemptError::Held(held) => held,
            AdmitAttemptError::Crowded => CROWDED,
        };
        app.exceeded(held).into()
    })
}

async fn compared(app: &AppState, user_id: Option<UserId>, password: String) -> Result<Option<Credentials>, ApiError> {
    let credentials = app.realm.load_credentials(user_id.unwrap_or(UserId(0))).await?;
    let hash = credentials.as_ref().and_then(|found| found.password_hash.clone());
    let is_right = app.passwords.verify_password(password, hash).await?;
    Ok(credentials.filter(|_| is_right && user_id.is_some()))
}
