//! Whether a password is somebody's, within the limits of guessing.

use std::net::IpAddr;

use chat_core::attempts::{AdmitError, Admitted, Held, Outcome};
use chat_core::id::UserId;
use chat_core::ports::Credentials;
use tokio::sync::Notify;

use crate::error::Fault;
use crate::state::Site;

/// Attempts that wait for others to be settled, on all accounts together.
pub(crate) const WAITING_MAX: usize = 256;
/// The refusal where more than [`WAITING_MAX`] wait.
const CROWDED: Held = Held { at_once: 256, wait_us: 1_000_000, whole_us: 1_000_000 };

/// Whose password it is said to be, and where that is said.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim<'a> {
    /// The e-mail address, folded; one that nobody has is counted as any other.
    pub(crate) account: &'a str,
    /// `None` for nobody: a password is compared nevertheless, so that time tells nothing.
    pub(crate) user_id: Option<UserId>,
    /// Where the request comes from.
    pub(crate) from: Option<IpAddr>,
}

/// Compares a password, unless too many wrong ones came before. The credentials are those of the user, where it is
/// theirs; `None` is a wrong password.
pub(crate) async fn check(app: &Site, claim: Claim<'_>, password: String) -> Result<Option<Credentials>, Fault> {
    let attempt = admitted(app, claim).await?;
    let compared = compared(app, claim.user_id, password).await;
    attempt.settle(match &compared {
        Ok(Some(_)) => Outcome::Right,
        Ok(None) => Outcome::Wrong,
        Err(_) => Outcome::Unchecked,
    });
    compared
}

/// An attempt that is let through; its end wakes those that wait for its room.
struct Attempt<'a> {
    admitted: Option<Admitted<'a>>,
    ended: &'a Notify,
}

impl Attempt<'_> {
    fn settle(mut self, outcome: Outcome) {
        if let Some(admitted) = self.admitted.take() {
            admitted.settle(outcome);
        }
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        drop(self.admitted.take());
        self.ended.notify_waiters();
    }
}

/// Lets an attempt through, once those before it are settled where they take all the room there is.
async fn admitted<'a>(app: &'a Site, claim: Claim<'_>) -> Result<Attempt<'a>, Fault> {
    let mut waiting = None;
    loop {
        // Before it is tried, so that no end is missed.
        let ended = app.attempt_ended.notified();
        match app.attempts.admit(app.frame.outside.now_us(), claim.account, claim.from) {
            Ok(admitted) => return Ok(Attempt { admitted: Some(admitted), ended: &app.attempt_ended }),
            Err(AdmitError::Held(held)) => return Err(app.exceeded(held).into()),
            Err(AdmitError::Busy) if waiting.is_none() => {
                let place = app.attempts_waiting.try_acquire();
                waiting = Some(place.map_err(|_| app.exceeded(CROWDED))?);
            }
            Err(AdmitError::Busy) => {}
        }
        ended.await;
    }
}

async fn compared(app: &Site, user_id: Option<UserId>, password: String) -> Result<Option<Credentials>, Fault> {
    let credentials = app.realm.credentials(user_id.unwrap_or(UserId(0))).await?;
    let hash = credentials.as_ref().and_then(|found| found.password_hash.clone());
    let is_right = app.passwords.matches(password, hash).await?;
    Ok(credentials.filter(|_| is_right && user_id.is_some()))
}
