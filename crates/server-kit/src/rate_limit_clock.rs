//! The server's clock as rate limits read it.

use std::fmt;
use std::ops::Add;
use std::sync::Arc;

use governor::clock::{Clock, Reference};
use governor::nanos::Nanos;

/// A clock for the `governor` rate limiters that reads the server's time, so that tests can set it.
#[derive(Clone)]
pub struct RateLimitClock(Arc<dyn Fn() -> i64 + Send + Sync>);

impl RateLimitClock {
    /// Creates a clock over `now_us`, which returns microseconds since the UNIX epoch.
    pub fn new(now_us: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now_us))
    }
}

impl Clock for RateLimitClock {
    type Instant = UnixNanosInstant;

    fn now(&self) -> UnixNanosInstant {
        let now_us = u64::try_from((self.0)()).unwrap_or(0);
        UnixNanosInstant(now_us.saturating_mul(1000))
    }
}

impl fmt::Debug for RateLimitClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RateClock")
    }
}

/// Nanoseconds since the UNIX epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnixNanosInstant(u64);

impl Add<Nanos> for UnixNanosInstant {
    type Output = Self;

    fn add(self, later: Nanos) -> Self {
        Self(self.0.saturating_add(later.as_u64()))
    }
}

impl Reference for UnixNanosInstant {
    fn duration_since(&self, earlier: Self) -> Nanos {
        Nanos::new(self.0.saturating_sub(earlier.0))
    }

    fn saturating_sub(&self, duration: Nanos) -> Self {
        Self(self.0.saturating_sub(duration.as_u64()))
    }
}
