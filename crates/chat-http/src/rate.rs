//! So many requests a minute: per account, and per address for whoever shows no account.
//!
//! The road not taken is to count addresses for everybody: behind one office or one proxy sit many people, and
//! their allowances would be one.

use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use attempt_limits::attempts::Held;
use attempt_limits::network::subscriber;
use axum::extract::ConnectInfo;
use governor::clock::Clock as _;
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use http::{Extensions, HeaderMap, HeaderName};
use server_kit::rate_clock::RateClock;

use crate::state::Outside;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// After this many checks, callers that have their whole allowance back are forgotten.
const SWEEP_EVERY: u32 = 4096;

/// The requests a minute of every `K`.
pub(crate) struct Limiter<K: Hash + Eq + Clone> {
    inner: Option<Inner<K>>,
    outside: Arc<dyn Outside>,
}

struct Inner<K: Hash + Eq + Clone> {
    limiter: RateLimiter<K, DashMapStateStore<K>, RateClock, StateInformationMiddleware>,
    per_minute: u32,
    checks: AtomicU32,
}

/// How much of an allowance is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    limit: u32,
    remaining: u32,
    reset_unix_s: i64,
}

/// An allowance is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{} requests are used up", .standing.limit)]
pub struct Exceeded {
    /// After this time one more request is let in.
    pub(crate) retry_after: Duration,
    pub(crate) standing: Standing,
}

impl<K: Hash + Eq + Clone> Limiter<K> {
    /// A limit of `per_minute` requests, all of which may come at once; 0 is no limit.
    pub(crate) fn new(per_minute: u32, outside: Arc<dyn Outside>) -> Self {
        let inner = NonZeroU32::new(per_minute).map(|allowed| Inner {
            limiter: RateLimiter::dashmap_with_clock(Quota::per_minute(allowed), rate_clock(Arc::clone(&outside)))
                .with_middleware(),
            per_minute,
            checks: AtomicU32::new(0),
        });
        Self { inner, outside }
    }

    /// Counts one request of `key`. Without a limit there is no standing to tell of.
    pub(crate) fn check(&self, key: &K) -> Result<Option<Standing>, Exceeded> {
        let Some(Inner { limiter, per_minute, checks }) = &self.inner else {
            return Ok(None);
        };
        if checks.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY - 1 {
            limiter.retain_recent();
        }
        match limiter.check_key(key) {
            Ok(state) => Ok(Some(self.standing(*per_minute, state.remaining_burst_capacity()))),
            Err(refused) => Err(Exceeded {
                retry_after: refused.wait_time_from(limiter.clock().now()),
                standing: self.standing(*per_minute, 0),
            }),
        }
    }

    /// The allowance is whole again after a minute's share for each request used.
    fn standing(&self, limit: u32, remaining: u32) -> Standing {
        let used = i64::from(limit.saturating_sub(remaining));
        let refill_us = used.saturating_mul(60_000_000) / i64::from(limit.max(1));
        let reset_us = self.outside.now_us().saturating_add(refill_us);
        Standing { limit, remaining, reset_unix_s: reset_us.saturating_add(999_999).div_euclid(1_000_000) }
    }
}

impl Standing {
    /// Tells clients how they stand.
    pub(crate) fn add_headers(self, headers: &mut HeaderMap) {
        headers.insert(LIMIT, self.limit.into());
        headers.insert(REMAINING, self.remaining.into());
        headers.insert(RESET, self.reset_unix_s.into());
    }
}

impl Exceeded {
    /// Too many passwords were tried.
    pub(crate) fn of_attempts(held: Held, now_us: i64) -> Self {
        let whole_us = now_us.saturating_add(i64::try_from(held.whole_us).unwrap_or(i64::MAX));
        let reset_unix_s = whole_us.saturating_add(999_999).div_euclid(1_000_000);
        let standing = Standing { limit: held.at_once, remaining: 0, reset_unix_s };
        Self { retry_after: Duration::from_micros(held.wait_us), standing }
    }

    /// Whole seconds, rounded up: whoever waits as long as told is let in.
    pub(crate) fn retry_after_s(&self) -> u64 {
        let rest = u64::from(self.retry_after.subsec_nanos() > 0);
        self.retry_after.as_secs().saturating_add(rest).max(1)
    }
}

/// Returns the network that a request comes from; `None` where the listener names no peer.
pub(crate) fn address(of: &Extensions) -> Option<IpAddr> {
    Some(subscriber(of.get::<ConnectInfo<SocketAddr>>()?.0.ip()))
}

/// Returns the server's clock as the limiter reads it.
fn rate_clock(clock: Arc<dyn Outside>) -> RateClock {
    RateClock::new(move || clock.now_us())
}
