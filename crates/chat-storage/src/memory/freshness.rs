//! How old a node's knowledge of the log can be.
//!
//! A node that uses the realm in memory has to know that it is not older than [`LEASE`]; otherwise it asks for the head
//! of the log first. So a node that has revoked a key answers one lease after its commit, and from that answer on no
//! node takes the key: every one of them has heard of the commit, or asks before it lets anyone in. A task asks for the
//! head several times a lease ([`crate::log_follower::confirm`]), so requests do not.
//!
//! The road not taken is a statement per request, which costs each of them an exchange with the database.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// For how long a node may use what it knows without asking whether there is more.
pub(crate) const LEASE: Duration = Duration::from_millis(500);

/// When everything was last known to be in memory.
pub(crate) struct Freshness {
    started: Instant,
    /// Microseconds after `started`.
    at_us: AtomicU64,
}

impl Default for Freshness {
    fn default() -> Self {
        Self { started: Instant::now(), at_us: AtomicU64::new(0) }
    }
}

impl Freshness {
    /// Notes that everything is in memory that was committed before that moment.
    pub(crate) fn note(&self, at: Instant) {
        self.at_us.fetch_max(self.micros(at), Ordering::Release);
    }

    /// Returns whether that was less than [`LEASE`] ago.
    pub(crate) fn is_current(&self) -> bool {
        self.is_current_at(Instant::now())
    }

    fn is_current_at(&self, now: Instant) -> bool {
        let age_us = self.micros(now).saturating_sub(self.at_us.load(Ordering::Acquire));
        u128::from(age_us) < LEASE.as_micros()
    }

    fn micros(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.started).as_micros()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_confirmed_holds_for_a_lease_from_when_it_was_asked() {
        let confirmed = Freshness::default();
        let asked_at = confirmed.started + 4 * LEASE;
        assert!(!confirmed.is_current_at(asked_at));
        confirmed.note(asked_at);
        confirmed.note(confirmed.started);
        assert!(confirmed.is_current_at(asked_at + LEASE / 2));
        assert!(!confirmed.is_current_at(asked_at + LEASE));
    }
}
