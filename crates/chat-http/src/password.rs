//! Whether a password is somebody's, within the limits of guessing.

use std::net::IpAddr;

use chat_core::attempts::Outcome;
use chat_core::id::UserId;
use chat_core::ports::Credentials;

use crate::error::Fault;
use crate::state::Site;

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
    let now_us = app.frame.outside.now_us();
    let admitted = app.attempts.admit(now_us, claim.account, claim.from).map_err(|held| app.exceeded(held))?;
    let compared = compared(app, claim.user_id, password).await;
    admitted.settle(match &compared {
        Ok(Some(_)) => Outcome::Right,
        Ok(None) => Outcome::Wrong,
        Err(_) => Outcome::Unchecked,
    });
    compared
}

async fn compared(app: &Site, user_id: Option<UserId>, password: String) -> Result<Option<Credentials>, Fault> {
    let credentials = app.realm.credentials(user_id.unwrap_or(UserId(0))).await?;
    let hash = credentials.as_ref().and_then(|found| found.password_hash.clone());
    let is_right = app.passwords.matches(password, hash).await?;
    Ok(credentials.filter(|_| is_right && user_id.is_some()))
}
