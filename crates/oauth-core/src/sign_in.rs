//! A person gives a name and a password.

use secrecy::SecretString;

use crate::ports::StoreError;

/// One attempt to sign in.
pub struct Attempt<'a> {
    /// `userName` or e-mail address, as typed.
    pub login: &'a str,
    /// As typed.
    pub password: &'a SecretString,
    /// The cookie value of the session that the new one replaces.
    pub session: Option<&'a str>,
    /// Where the browser is, as far as the wire knows.
    pub address: Option<&'a str>,
}

/// Somebody signed in.
#[derive(Debug)]
pub struct SignedIn {
    /// The value of the session cookie; only its hash is stored.
    pub cookie: SecretString,
    /// `Max-Age` of the cookie, in seconds.
    pub lifetime_s: i64,
    /// The id of the User.
    pub user_id: String,
}

/// Nobody signed in.
#[derive(Debug, thiserror::Error)]
pub enum SignInFault {
    /// No such person, another password, or an inactive User: nobody but the log is told which.
    #[error("the name or the password is wrong")]
    Wrong,
    /// Too many attempts for this account or from this address.
    #[error("too many attempts; try again in {retry_after_s} s")]
    TooMany {
        /// Seconds.
        retry_after_s: u64,
    },
    /// More people sign in at this moment than the server can check.
    #[error("too many people sign in at this moment; try again in {retry_after_s} s")]
    Crowded {
        /// Seconds.
        retry_after_s: u64,
    },
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl std::fmt::Debug for Attempt<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attempt").finish_non_exhaustive()
    }
}
