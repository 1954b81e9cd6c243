//! How often somebody may try.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use governor::clock::{Clock, Reference as _};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};
use std::time::Duration;

use crate::env::Env;
use crate::jose::sha256;

/// Attempts for one account before it has to wait.
const ACCOUNT_BURST: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);
/// How long it waits for each further one: 2,880 guesses a day against passwords nobody should choose, and
/// no account is ever locked for its owner.
const ACCOUNT_PERIOD: Duration = Duration::from_secs(30);
/// Attempts from one address before it has to wait. Many people share one address.
const ADDRESS_BURST: NonZeroU32 = NonZeroU32::MIN.saturating_add(59);
/// How long it waits for each further one.
const ADDRESS_PERIOD: Duration = Duration::from_secs(1);

type Limiter = RateLimiter<u16, DefaultKeyedStateStore<u16>, RequestClock, NoOpMiddleware<Nanos>>;

/// The attempts of one node. Each account and each address is counted in one of 65,536 places, so that memory
/// is bounded whatever strangers send; two that share one share its limit, which a bystander notices at worst
/// as a minute of waiting.
pub(crate) struct AttemptLimits {
    clock: RequestClock,
    accounts: Limiter,
    addresses: Limiter,
}

/// The latest time any request has told; rules read no clock.
#[derive(Debug, Clone, Default)]
struct RequestClock(Arc<AtomicU64>);

impl Clock for RequestClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Nanos::from(self.0.load(Ordering::Relaxed))
    }
}

impl Default for AttemptLimits {
    fn default() -> Self {
        let clock = RequestClock::default();
        let quota = |period, burst| {
            Quota::with_period(period).map_or(Quota::per_second(burst), |quota| quota.allow_burst(burst))
        };
        let limiter = |quota| RateLimiter::new(quota, DefaultKeyedStateStore::default(), clock.clone());
        Self {
            accounts: limiter(quota(ACCOUNT_PERIOD, ACCOUNT_BURST)),
            addresses: limiter(quota(ADDRESS_PERIOD, ADDRESS_BURST)),
            clock,
        }
    }
}

impl AttemptLimits {
    /// Counts an attempt for this account; `Err` with the seconds to wait when it is one too many.
    pub(crate) fn count_account(&self, env: &Env<'_>, account: &str) -> Result<(), u64> {
        self.count(env, &self.accounts, account)
    }

    /// Counts an attempt from this address. Of an IPv6 address its network counts, because whoever has one
    /// address there has them all.
    pub(crate) fn count_address(&self, env: &Env<'_>, address: &str) -> Result<(), u64> {
        let network = match address.parse() {
            Ok(std::net::IpAddr::V6(address)) => format!("{:x?}", address.segments().first_chunk::<4>()),
            _ => address.to_owned(),
        };
        self.count(env, &self.addresses, &network)
    }

    fn count(&self, env: &Env<'_>, limiter: &Limiter, key: &str) -> Result<(), u64> {
        let now_ns = u64::try_from(env.now_us).unwrap_or_default().saturating_mul(1_000);
        self.clock.0.fetch_max(now_ns, Ordering::Relaxed);
        let [first, second, ..] = sha256(key.as_bytes());
        let refused = limiter.check_key(&u16::from_be_bytes([first, second])).err();
        let wait = refused.map(|refusal| refusal.earliest_possible().duration_since(self.clock.now()));
        wait.map_or(Ok(()), |wait| Err(wait.as_u64().div_ceil(1_000_000_000).max(1)))
    }
}

impl std::fmt::Debug for AttemptLimits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AttemptLimits")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Random;

    struct Nothing;

    impl Random for Nothing {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
        }
    }

    fn env(now_s: i64) -> Env<'static> {
        Env { now_us: (1_767_225_600 + now_s) * 1_000_000, random: &Nothing }
    }

    #[test]
    fn an_account_waits_after_ten_attempts_and_another_does_not() {
        let limits = AttemptLimits::default();
        for _ in 0..10 {
            assert_eq!(limits.count_account(&env(0), "ada"), Ok(()));
        }
        assert_eq!(limits.count_account(&env(0), "ada"), Err(30));
        assert_eq!(limits.count_account(&env(10), "ada"), Err(20));
        assert_eq!(limits.count_account(&env(10), "bob"), Ok(()));
        assert_eq!(limits.count_account(&env(30), "ada"), Ok(()));
        assert_eq!(limits.count_account(&env(30), "ada"), Err(30));
    }

    #[test]
    fn an_address_waits_after_sixty_attempts_and_a_network_is_one_address() {
        let limits = AttemptLimits::default();
        for host in 0..60 {
            assert_eq!(limits.count_address(&env(0), &format!("2001:db8::{host:x}")), Ok(()));
        }
        assert_eq!(limits.count_address(&env(0), "2001:db8::ffff:1"), Err(1));
        assert_eq!(limits.count_address(&env(0), "2001:db8:0:1::1"), Ok(()));
        assert_eq!(limits.count_address(&env(0), "192.0.2.1"), Ok(()));
    }

    #[test]
    fn a_request_that_tells_an_earlier_time_gains_nothing() {
        let limits = AttemptLimits::default();
        for _ in 0..10 {
            assert_eq!(limits.count_account(&env(100), "ada"), Ok(()));
        }
        assert_eq!(limits.count_account(&env(0), "ada"), Err(30));
    }
}
