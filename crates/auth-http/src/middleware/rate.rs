//! So many requests a minute, for each address and the client it says to be.
//!
//! The two together, because each alone fails someone: behind a proxy all callers share one
//! address, and a client id alone would let anybody use up the allowance of another by naming it.
//! The name is not verified here; checking it is the work the limit is there to bound.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::ops::Add;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use governor::clock::{self, Clock as _, Reference};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use http::{Extensions, HeaderMap};

use crate::credentials;
use crate::error::Fault;
use crate::state::{App, Clock};

/// After this many checks, callers that have their whole allowance back are forgotten.
const SWEEP_EVERY: u32 = 4096;

/// The requests a minute of everyone who calls.
pub(crate) struct Limiter {
    inner: Option<Inner>,
}

type Inner = (RateLimiter<Key, DashMapStateStore<Key>, Ticks, NoOpMiddleware<Instant>>, AtomicU32);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    /// `None` where the listener names no peer.
    address: Option<IpAddr>,
    claimed: Option<Box<str>>,
}

impl Limiter {
    /// A limit of `per_minute` requests, all of which may come at once; 0 is no limit.
    pub(crate) fn new(per_minute: u32, clock: Arc<dyn Clock>) -> Self {
        let inner = NonZeroU32::new(per_minute).map(|allowed| {
            let quota = Quota::per_minute(allowed);
            let limiter = RateLimiter::dashmap_with_clock(quota, Ticks(clock));
            (limiter, AtomicU32::new(0))
        });
        Self { inner }
    }

    /// Counts one request of the caller at the other end that claims to be `claimed`.
    pub(crate) fn check(&self, of: &Extensions, claimed: Option<&str>) -> Result<(), Fault> {
        let Some((limiter, checks)) = &self.inner else {
            return Ok(());
        };
        if checks.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY - 1 {
            limiter.retain_recent();
        }
        let key = Key {
            address: of.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip().to_canonical()),
            claimed: claimed.map(Into::into),
        };
        limiter.check_key(&key).map_err(|refused| Fault::Throttled {
            retry_after_s: whole_seconds(refused.wait_time_from(limiter.clock().now())),
        })
    }
}

/// Rounded up: whoever waits as long as told is let in.
fn whole_seconds(wait: Duration) -> u64 {
    let rest = u64::from(wait.subsec_nanos() > 0);
    wait.as_secs().saturating_add(rest).max(1)
}

/// Counts every request whose client is named in its headers or not at all. A form names its
/// client in the body, so forms are counted where they are read ([`crate::form`]).
pub(crate) async fn limit(State(app): State<App>, request: Request, next: Next) -> Result<Response, Fault> {
    let claimed = claimed(request.headers());
    app.limiter.check(request.extensions(), claimed.as_deref())?;
    Ok(next.run(request).await)
}

fn claimed(headers: &HeaderMap) -> Option<String> {
    credentials::claimed_client(headers.get(http::header::AUTHORIZATION)?.to_str().ok()?)
}

/// The server's clock as the limiter reads it.
struct Ticks(Arc<dyn Clock>);

impl clock::Clock for Ticks {
    type Instant = Instant;

    fn now(&self) -> Instant {
        let now_us = u64::try_from(self.0.now_us()).unwrap_or(0);
        Instant(now_us.saturating_mul(1000))
    }
}

impl Clone for Ticks {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Nanoseconds since the UNIX epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Instant(u64);

impl Add<Nanos> for Instant {
    type Output = Self;

    fn add(self, later: Nanos) -> Self {
        Self(self.0.saturating_add(later.as_u64()))
    }
}

impl Reference for Instant {
    fn duration_since(&self, earlier: Self) -> Nanos {
        Nanos::new(self.0.saturating_sub(earlier.0))
    }

    fn saturating_sub(&self, duration: Nanos) -> Self {
        Self(self.0.saturating_sub(duration.as_u64()))
    }
}
