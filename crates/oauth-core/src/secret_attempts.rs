//! How often wrong secrets of Clients may be tried: at `/auth/*`, and by HTTP Basic at the resource endpoints, the
//! secret of the bootstrap administrator included.
//!
//! Failures alone are counted, for the client and where the attempt comes from, so that guesses elsewhere do
//! not lock a client out; for the client everywhere and for the address alone, so that neither many addresses nor many
//! names help. The last two do not hold a client where it has succeeded before.
//!
//! **Cost**: a right secret takes no lock. It reads two numbers, and four while something is held. Attempts that are
//! answered at the same moment may exceed a limit by their number, which is bounded by the connections.
//!
//! Each node counts its own, and a restart forgets the counts.

use std::sync::atomic::{AtomicU64, Ordering};

use attempt_limits::password_attempt_limits::AttemptOrigin;
use aws_lc_rs::hmac;

use crate::client_authentication::PresentedClientSecret;
use crate::time_and_randomness::TimeAndRandomness;

/// Places of each kind of counter; two clients that share one share its limit, which cannot be aimed at, because
/// the places depend on a key of the process.
const PLACES: usize = 1 << 16;
/// Wrong secrets of one client from one neighborhood of addresses that are answered at once, unless the operator
/// says otherwise.
pub(crate) const SECRET_ATTEMPTS: u32 = 10;

/// A kind of counter.
#[derive(Debug, Clone, Copy)]
enum Kind {
    ClientHere,
    Client,
    Address,
}

/// How many of one kind are allowed: so many times the setting at once, and one more after each pause.
#[derive(Debug, Clone, Copy)]
struct Budget {
    times: u64,
    pause_us: u64,
}

const HERE: Budget = Budget { times: 1, pause_us: 30_000_000 };
const CLIENT: Budget = Budget { times: 50, pause_us: 5_000_000 };
const ADDRESS: Budget = Budget { times: 6, pause_us: 1_000_000 };

/// The failures of one node.
pub(crate) struct SecretAttempts {
    key: hmac::Key,
    /// The setting; 0 is no limit.
    at_once: u64,
    here: Counter,
    client: Counter,
    address: Counter,
    /// Marks of clients and where they succeeded; a later one takes the place of an earlier one.
    regulars: Vec<AtomicU64>,
}

/// One attempt too many: its secret was not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AttemptPermit {
    /// Seconds to wait, rounded up.
    pub(crate) wait_s: u64,
}

/// What an attempt is counted under.
#[derive(Debug, Clone, Copy)]
struct Marks {
    here: u64,
    client: u64,
    address: Option<u64>,
}

impl SecretAttempts {
    /// Counts nothing yet; `at_once` 0 never will.
    pub(crate) fn new(env: &TimeAndRandomness<'_>, at_once: u32) -> Self {
        let empty = || std::iter::repeat_with(AtomicU64::default).take(if at_once == 0 { 0 } else { PLACES }).collect();
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, &env.random_bytes::<32>()),
            at_once: at_once.into(),
            here: Counter(empty()),
            client: Counter(empty()),
            address: Counter(empty()),
            regulars: empty(),
        }
    }

    /// Whether the secret may be looked at.
    ///
    /// # Errors
    /// [`AttemptPermit`]; nothing is counted for it.
    pub(crate) fn check(
        &self,
        env: &TimeAndRandomness<'_>,
        secret: &PresentedClientSecret,
    ) -> Result<(), AttemptPermit> {
        if self.at_once == 0 {
            return Ok(());
        }
        let (marks, now_us) = (self.marks(secret), now_us(env));
        let here = self.here.wait_us(marks.here, self.limit(HERE), now_us);
        let elsewhere = if self.is_regular(marks.here) {
            0
        } else {
            let address = marks.address.map(|mark| self.address.wait_us(mark, self.limit(ADDRESS), now_us));
            self.client.wait_us(marks.client, self.limit(CLIENT), now_us).max(address.unwrap_or_default())
        };
        match here.max(elsewhere) {
            0 => Ok(()),
            wait_us => Err(AttemptPermit { wait_s: wait_us.div_ceil(1_000_000) }),
        }
    }

    /// Counts a secret that was wrong.
    pub(crate) fn failed(&self, env: &TimeAndRandomness<'_>, secret: &PresentedClientSecret) {
        if self.at_once == 0 {
            return;
        }
        let (marks, now_us) = (self.marks(secret), now_us(env));
        self.here.take(marks.here, self.limit(HERE), now_us);
        if !self.is_regular(marks.here) {
            self.client.take(marks.client, self.limit(CLIENT), now_us);
        }
        if let Some(address) = marks.address {
            self.address.take(address, self.limit(ADDRESS), now_us);
        }
    }

    /// Remembers that a secret was right, and from where it came.
    pub(crate) fn succeeded(&self, secret: &PresentedClientSecret) {
        if self.at_once == 0 || secret.origin() == AttemptOrigin::Unknown {
            return;
        }
        let mark = self.marks(secret).here;
        let Some(kept) = self.regulars.get(place(mark)) else { return };
        // Written once, not by every request: the line of the cache stays shared by all cores.
        if kept.load(Ordering::Relaxed) != mark {
            kept.store(mark, Ordering::Relaxed);
        }
    }

    fn is_regular(&self, mark: u64) -> bool {
        self.regulars.get(place(mark)).is_some_and(|kept| kept.load(Ordering::Relaxed) == mark)
    }

    fn limit(&self, budget: Budget) -> Limit {
        let whole_us = self.at_once.saturating_mul(budget.times).saturating_mul(budget.pause_us);
        Limit { whole_us, pause_us: budget.pause_us }
    }

    /// A client is counted by its id as it is looked up, so that no encoding of it has a limit for itself.
    fn marks(&self, secret: &PresentedClientSecret) -> Marks {
        let id = secret.id_secret_candidates().last().map(|(id, _)| id).unwrap_or_default();
        let origin = secret.origin();
        let (family, neighborhood) = origin.neighborhood_with_kind();
        Marks {
            here: self.mark(Kind::ClientHere, &[id.as_bytes(), family, &neighborhood]),
            client: self.mark(Kind::Client, &[id.as_bytes()]),
            address: origin.subscriber_network().map(|network| self.mark(Kind::Address, &[&network])),
        }
    }

    /// A number for what is counted, which only this process can compute.
    fn mark(&self, kind: Kind, parts: &[&[u8]]) -> u64 {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(&[kind as u8]);
        for part in parts {
            // The length in front keeps two lists of parts from meaning one.
            context.update(&part.len().to_be_bytes());
            context.update(part);
        }
        context.sign().as_ref().first_chunk().copied().map_or(0, u64::from_be_bytes)
    }
}

/// A [`Budget`] under the setting, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Limit {
    /// How long it takes until the whole budget is there again.
    whole_us: u64,
    /// What one failure takes of it.
    pause_us: u64,
}

/// When each place has its whole budget back, in microseconds since the UNIX epoch.
struct Counter(Vec<AtomicU64>);

impl Counter {
    /// Returns how long to wait for one more; 0 is not at all.
    fn wait_us(&self, mark: u64, limit: Limit, now_us: u64) -> u64 {
        let Some(whole_at_us) = self.0.get(place(mark)) else { return 0 };
        let used_us = used_us(whole_at_us.load(Ordering::Relaxed), limit, now_us);
        used_us.saturating_add(limit.pause_us).saturating_sub(limit.whole_us)
    }

    fn take(&self, mark: u64, limit: Limit, now_us: u64) {
        let Some(whole_at_us) = self.0.get(place(mark)) else { return };
        let later = |at_us| Some(now_us.saturating_add(used_us(at_us, limit, now_us)).saturating_add(limit.pause_us));
        // The closure always returns a value, so this never fails.
        let _previous = whole_at_us.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
    }
}

/// Returns how much of a budget is used. More than twice the whole is what a clock that was set back leaves behind, and
/// counts as nothing.
fn used_us(whole_at_us: u64, limit: Limit, now_us: u64) -> u64 {
    match whole_at_us.saturating_sub(now_us) {
        used_us if used_us > limit.whole_us.saturating_mul(2) => 0,
        used_us => used_us,
    }
}

fn place(mark: u64) -> usize {
    let [first, second, ..] = mark.to_be_bytes();
    usize::from(u16::from_be_bytes([first, second]))
}

fn now_us(env: &TimeAndRandomness<'_>) -> u64 {
    u64::try_from(env.now_us).unwrap_or_default()
}

impl std::fmt::Debug for SecretAttempts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretAttempts").field("at_once", &self.at_once).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::time_and_randomness::RandomSource;

    struct Fixed;

    impl RandomSource for Fixed {
        fn fill_bytes(&self, bytes: &mut [u8]) {
            bytes.fill(7);
        }
    }

    fn env(now_s: i64) -> TimeAndRandomness<'static> {
        TimeAndRandomness { now_us: (1_767_225_600 + now_s) * 1_000_000, random: &Fixed }
    }

    fn from(id: &str, address: &str) -> PresentedClientSecret {
        let header = format!("Basic {}", STANDARD.encode(format!("{id}:guess")));
        PresentedClientSecret::from_basic_header(&header, None).unwrap().with_source_address(Some(address))
    }

    fn attempts() -> SecretAttempts {
        SecretAttempts::new(&env(0), SECRET_ATTEMPTS)
    }

    /// A wrong secret; the seconds to wait when it is not looked at.
    fn wrong(attempts: &SecretAttempts, now_s: i64, id: &str, address: &str) -> Result<(), u64> {
        let secret = from(id, address);
        attempts.check(&env(now_s), &secret).map_err(|held| held.wait_s)?;
        attempts.failed(&env(now_s), &secret);
        Ok(())
    }

    #[test]
    fn a_client_is_held_after_ten_wrong_secrets_where_they_came_from_and_nowhere_else() {
        let attempts = attempts();
        for host in 0..10 {
            assert_eq!(wrong(&attempts, 0, "payer", &format!("192.0.2.{host}")), Ok(()));
        }
        assert_eq!(wrong(&attempts, 0, "payer", "192.0.2.77"), Err(30));
        assert_eq!(wrong(&attempts, 0, "pay%65r", "192.0.2.77"), Err(30), "in every encoding of its id");
        assert_eq!(wrong(&attempts, 10, "payer", "192.0.2.77"), Err(20));
        assert!(attempts.check(&env(10), &from("payer", "198.51.100.1")).is_ok(), "the owner, elsewhere");
        assert!(attempts.check(&env(10), &from("other", "192.0.2.77")).is_ok());
        assert_eq!(wrong(&attempts, 30, "payer", "192.0.2.77"), Ok(()));
        assert_eq!(wrong(&attempts, 30, "payer", "192.0.2.77"), Err(30));
    }

    #[test]
    fn a_thousand_right_secrets_at_once_are_never_held() {
        let attempts = attempts();
        for _ in 0..1_000 {
            attempts.check(&env(0), &from("payer", "192.0.2.1")).unwrap();
        }
        attempts.succeeded(&from("payer", "192.0.2.1"));
        attempts.check(&env(0), &from("payer", "192.0.2.1")).unwrap();
    }

    #[test]
    fn an_address_that_invents_names_is_held_and_clients_known_there_are_not() {
        let attempts = attempts();
        attempts.succeeded(&from("payer", "192.0.2.1"));
        for number in 0..60 {
            assert_eq!(wrong(&attempts, 0, &format!("name-{number}"), "192.0.2.1"), Ok(()));
        }
        assert_eq!(wrong(&attempts, 0, "another", "192.0.2.1"), Err(1));
        assert!(attempts.check(&env(0), &from("payer", "192.0.2.1")).is_ok());
        assert_eq!(wrong(&attempts, 0, "another", "203.0.113.1"), Ok(()));
    }

    #[test]
    fn many_addresses_do_not_help_and_do_not_hold_the_client_where_it_is_known() {
        let attempts = attempts();
        attempts.succeeded(&from("payer", "192.0.2.1"));
        for number in 0..500 {
            assert_eq!(wrong(&attempts, 0, "payer", &format!("10.{}.{}.1", number / 250, number % 250)), Ok(()));
        }
        assert_eq!(wrong(&attempts, 0, "payer", "203.0.113.1"), Err(5));
        assert!(attempts.check(&env(0), &from("payer", "192.0.2.9")).is_ok());
    }

    #[test]
    fn no_limit_counts_nothing() {
        let attempts = SecretAttempts::new(&env(0), 0);
        for _ in 0..1_000 {
            assert_eq!(wrong(&attempts, 0, "payer", "192.0.2.1"), Ok(()));
        }
        attempts.succeeded(&from("payer", "192.0.2.1"));
    }

    #[test]
    fn a_clock_set_back_by_a_day_does_not_hold_a_client_for_a_day() {
        let attempts = attempts();
        for _ in 0..10 {
            assert_eq!(wrong(&attempts, 86_400, "payer", "192.0.2.1"), Ok(()));
        }
        assert_eq!(wrong(&attempts, 0, "payer", "192.0.2.1"), Ok(()));
    }
}
