//! How often a password may be tried.
//!
//! The rule is [`attempt_limits::password_attempt_limits`]. An account is an e-mail address as
//! [`crate::model::user::fold_case`] returns it.
//!
//! The specification shows no limits. Servers of this family allow five wrong passwords in half an hour for a name;
//! this server applies that number to a name and a neighborhood together, because for the name alone a stranger who
//! knows it could lock its owner out for good. A right password gives all tries back, as theirs does.

use attempt_limits::password_attempt_limits::{AttemptRateLimit, FailuresAfterSuccess, ServerAttemptPolicy};

/// This server's limits on wrong passwords: five at once for an account from one network neighborhood, then one every
/// six minutes. A right password clears them.
pub const PASSWORD_ATTEMPT_POLICY: ServerAttemptPolicy = ServerAttemptPolicy {
    account_nearby: AttemptRateLimit { at_once: 5, pause_us: 360_000_000 },
    after_success: FailuresAfterSuccess::ForgetFailures,
};
