//! A browser that somebody signed in with.

use secrecy::SecretString;

use crate::env::Env;
use crate::jose::base64url;

/// How long a session lasts, in seconds, and so `Max-Age` of its cookie: five days, as the platform does.
pub const SESSION_LIFETIME_S: i64 = 432_000;

/// A fresh cookie value: 256 random bits as base64url.
#[must_use]
pub fn fresh_cookie(env: &Env<'_>) -> SecretString {
    base64url(&env.bytes::<32>()).into()
}
