//! Limits of attempts: which addresses count as one, and how often a secret may be tried.
//!
//! **Decision:** this is a separate crate because core crates apply these rules, and a core crate must not depend on
//! the accept loop of `server-kit`. It reads no clock and draws no random bytes: its callers pass both.

pub mod address_networks;
pub mod password_attempt_limits;

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
