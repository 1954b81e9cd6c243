//! Limits of requests per minute: for an account, and for the address of a request without one.
//!
//! The road not taken is to count addresses for everybody: behind one office or one proxy sit many people, and
//! their allowances would be one.

use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use attempt_limits::address_networks::subscriber_network;
use attempt_limits::password_attempt_limits::AttemptLimitExceeded;
use axum::extract::ConnectInfo;
use governor::clock::Clock as _;
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use http::{Extensions, HeaderMap, HeaderName};
use server_kit::rate_limit_clock::RateLimitClock;

use crate::state::ClockAndRandomness;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// After this many checks, callers that have their whole allowance back are forgotten.
const SWEEP_EVERY: u32 = 4096;

/// A limit of requests per minute for each `K`.
pub(crate) struct RequestLimiter<K: Hash + Eq + Clone> {
    inner: Option<ActiveLimit<K>>,
    runtime: Arc<dyn ClockAndRandomness>,
}

struct ActiveLimit<K: Hash + Eq + Clone> {
    limiter: RateLimiter<K, DashMapStateStore<K>, RateLimitClock, StateInformationMiddleware>,
    per_minute: u32,
    checks: AtomicU32,
}

/// What is left of a rate limit: the limit, the remaining requests and the reset time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemainingRateLimit {
    limit: u32,
    remaining: u32,
    reset_unix_s: i64,
}

/// The error of a request that exceeds its rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{} requests are used up", .status.limit)]
pub struct RateLimitExceededError {
    /// After this time one more request is let in.
    pub(crate) retry_after: Duration,
    pub(crate) status: RemainingRateLimit,
}

impl<K: Hash + Eq + Clone> RequestLimiter<K> {
    /// A limit of `per_minute` requests, all of which may come at once; 0 is no limit.
    pub(crate) fn new(per_minute: u32, runtime: Arc<dyn ClockAndRandomness>) -> Self {
        let inner = NonZeroU32::new(per_minute).map(|allowed| ActiveLimit {
            limiter: RateLimiter::dashmap_with_clock(Quota::per_minute(allowed), rate_clock(Arc::clone(&runtime)))
                .with_middleware(),
            per_minute,
            checks: AtomicU32::new(0),
        });
        Self { inner, runtime }
    }

    /// Counts one request of `key`. Without a limit there is no standing to tell of.
    pub(crate) fn check(&self, key: &K) -> Result<Option<RemainingRateLimit>, RateLimitExceededError> {
        let Some(ActiveLimit { limiter, per_minute, checks }) = &self.inner else {
            return Ok(None);
        };
        if checks.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY - 1 {
            limiter.retain_recent();
        }
        match limiter.check_key(key) {
            Ok(state) => Ok(Some(self.status(*per_minute, state.remaining_burst_capacity()))),
            Err(refused) => Err(RateLimitExceededError {
                retry_after: refused.wait_time_from(limiter.clock().now()),
                status: self.status(*per_minute, 0),
            }),
        }
    }

    /// The allowance is whole again after a minute's share for each request used.
    fn status(&self, limit: u32, remaining: u32) -> RemainingRateLimit {
        let used = i64::from(limit.saturating_sub(remaining));
        let refill_us = used.saturating_mul(60_000_000) / i64::from(limit.max(1));
        let reset_us = self.runtime.now_us().saturating_add(refill_us);
        RemainingRateLimit { limit, remaining, reset_unix_s: reset_us.saturating_add(999_999).div_euclid(1_000_000) }
    }
}

impl RemainingRateLimit {
    /// Adds the headers that report the allowance to the client.
    pub(crate) fn add_headers(self, headers: &mut HeaderMap) {
        headers.insert(LIMIT, self.limit.into());
        headers.insert(REMAINING, self.remaining.into());
        headers.insert(RESET, self.reset_unix_s.into());
    }
}

impl RateLimitExceededError {
    /// Too many passwords were tried.
    pub(crate) fn of_attempts(held: AttemptLimitExceeded, now_us: i64) -> Self {
        let whole_us = now_us.saturating_add(i64::try_from(held.whole_us).unwrap_or(i64::MAX));
        let reset_unix_s = whole_us.saturating_add(999_999).div_euclid(1_000_000);
        let status = RemainingRateLimit { limit: held.at_once, remaining: 0, reset_unix_s };
        Self { retry_after: Duration::from_micros(held.wait_us), status }
    }

    /// Returns whole seconds, rounded up: a client that waits as long is let in.
    pub(crate) fn retry_after_s(&self) -> u64 {
        let rest = u64::from(self.retry_after.subsec_nanos() > 0);
        self.retry_after.as_secs().saturating_add(rest).max(1)
    }
}

/// Returns the network that a request comes from; `None` where the listener names no peer.
pub(crate) fn address(of: &Extensions) -> Option<IpAddr> {
    Some(subscriber_network(of.get::<ConnectInfo<SocketAddr>>()?.0.ip()))
}

/// Returns the server's clock as the limiter reads it.
fn rate_clock(clock: Arc<dyn ClockAndRandomness>) -> RateLimitClock {
    RateLimitClock::new(move || clock.now_us())
}
