//! So many requests a minute, for each address and the client it says to be.
//!
//! The two together, because each alone fails someone: behind a proxy all callers share one
//! address, and a client id alone would let anybody use up the allowance of another by naming it.
//! The name is not verified here; checking it is the work the limit is there to bound. A caller that invents
//! names is held by a second limit on the address alone, ten times as large.

use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use attempt_limits::address_networks::subscriber_network;
use axum::extract::ConnectInfo;
use fhir_service::service_state::Clock;
use governor::clock::Clock as _;
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use http::Extensions;
use server_kit::rate_limit_clock::{RateLimitClock, UnixNanosInstant};

use crate::error::ApiError;

/// After this many checks, callers that have their whole allowance back are forgotten.
const SWEEP_EVERY: u32 = 4096;
/// Most callers, and most addresses, that are counted separately; it may be exceeded by [`SWEEP_EVERY`].
const TOLD_APART_MAX: usize = 100_000;
/// How many times the allowance of one caller an address has. Not specified; behind a proxy all callers
/// share one address, and one stranger should not have the work of a hundred.
const PER_ADDRESS: u32 = 10;

/// The requests a minute of everyone who calls.
pub(crate) struct RequestRateLimiter {
    inner: Option<Inner>,
}

type Counters<K> = RateLimiter<K, DashMapStateStore<K>, RateLimitClock, NoOpMiddleware<UnixNanosInstant>>;

struct Inner {
    callers: Counters<Caller>,
    /// `None` where the listener names no peer.
    addresses: Counters<Option<IpAddr>>,
    checks: AtomicU32,
    /// Whether there are as many callers as are counted separately: then only addresses are.
    crowded: AtomicBool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Caller {
    address: Option<IpAddr>,
    claimed: Option<Box<str>>,
}

impl RequestRateLimiter {
    /// A limit of `per_minute` requests, all of which may come at once; 0 is no limit.
    pub(crate) fn new(per_minute: u32, clock: Arc<dyn Clock>) -> Self {
        let inner = NonZeroU32::new(per_minute).map(|allowed| {
            let of_address = allowed.saturating_mul(NonZeroU32::new(PER_ADDRESS).unwrap_or(NonZeroU32::MIN));
            Inner {
                callers: RateLimiter::dashmap_with_clock(Quota::per_minute(allowed), rate_clock(Arc::clone(&clock))),
                addresses: RateLimiter::dashmap_with_clock(Quota::per_minute(of_address), rate_clock(clock)),
                checks: AtomicU32::new(0),
                crowded: AtomicBool::new(false),
            }
        });
        Self { inner }
    }

    /// Counts one request of the caller at the other end that claims to be `claimed`.
    pub(crate) fn check(&self, of: &Extensions, claimed: Option<&str>) -> Result<(), ApiError> {
        let peer = of.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
        self.inner.as_ref().map_or(Ok(()), |inner| inner.check(peer.map(subscriber_network), claimed))
    }
}

/// So many calls a minute under each key, from any caller: each node counts its own.
pub(crate) struct RateAllowance {
    counters: Counters<Box<str>>,
    checks: AtomicU32,
}

impl RateAllowance {
    /// At most `per_minute`, `at_once` of which may come together.
    pub(crate) fn new(per_minute: NonZeroU32, at_once: NonZeroU32, clock: Arc<dyn Clock>) -> Self {
        let quota = Quota::per_minute(per_minute).allow_burst(at_once);
        Self { counters: RateLimiter::dashmap_with_clock(quota, rate_clock(clock)), checks: AtomicU32::new(0) }
    }

    /// Counts one call. Keys are of those who were let in, so there are as many as there is work.
    ///
    /// # Errors
    /// After how many seconds the next one is let in.
    pub(crate) fn count(&self, key: &str) -> Result<(), u64> {
        if self.checks.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY - 1 {
            self.counters.retain_recent();
        }
        count(&self.counters, &key.into())
    }

    /// As [`RateAllowance::count`].
    ///
    /// # Errors
    /// [`ApiError::Throttled`].
    pub(crate) fn check(&self, key: &str) -> Result<(), ApiError> {
        self.count(key).map_err(throttled)
    }
}

impl Inner {
    fn check(&self, address: Option<IpAddr>, claimed: Option<&str>) -> Result<(), ApiError> {
        if self.checks.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY - 1 {
            self.sweep();
        }
        // The caller first: what it is refused costs its neighbours at the address nothing.
        if !self.crowded.load(Ordering::Relaxed) {
            count(&self.callers, &Caller { address, claimed: claimed.map(Into::into) }).map_err(throttled)?;
        }
        count(&self.addresses, &address).map_err(throttled)
    }

    fn sweep(&self) {
        self.callers.retain_recent();
        self.addresses.retain_recent();
        let crowded = self.callers.len() >= TOLD_APART_MAX || self.addresses.len() >= TOLD_APART_MAX;
        self.crowded.store(crowded, Ordering::Relaxed);
    }
}

/// Counts one request; the error is after how many seconds the next one is let in.
fn count<K: Clone + Eq + Hash>(counters: &Counters<K>, key: &K) -> Result<(), u64> {
    counters.check_key(key).map_err(|refused| whole_seconds(refused.wait_time_from(counters.clock().now())))
}

const fn throttled(retry_after_s: u64) -> ApiError {
    ApiError::Throttled { retry_after_s }
}

/// Returns the server's clock as the limiter reads it.
fn rate_clock(clock: Arc<dyn Clock>) -> RateLimitClock {
    RateLimitClock::new(move || clock.now_us())
}

/// Rounded up: a caller that waits that long is let in.
fn whole_seconds(wait: Duration) -> u64 {
    let rest = u64::from(wait.subsec_nanos() > 0);
    wait.as_secs().saturating_add(rest).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Stopped;

    impl Clock for Stopped {
        fn now_us(&self) -> i64 {
            1
        }
    }

    #[test]
    fn invented_names_and_addresses_fill_no_memory() {
        let limiter = RequestRateLimiter::new(1, Arc::new(Stopped));
        let inner = limiter.inner.unwrap();
        for number in 0..200_000_u32 {
            let address = IpAddr::from(number.to_be_bytes());
            let _ = inner.check(Some(address), Some(&format!("client-{number}")));
        }
        let bound = TOLD_APART_MAX + SWEEP_EVERY as usize;
        assert!(inner.callers.len() <= bound, "{}", inner.callers.len());
        assert!(inner.crowded.load(Ordering::Relaxed));
    }
}
