//! The health of the server: whether its database accepts writes.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Mutex;

/// Longest time in which a healthy database answers: balancers give up about then.
const ANSWER_MAX: Duration = Duration::from_secs(1);

/// How long the result of a probe is used, in microseconds: anyone may ask, and each probe costs the database a write.
const FRESH_US: i64 = 1_000_000;

/// Reports whether the server can do its work.
#[async_trait]
pub trait HealthProbe: Send + Sync {
    /// Returns whether the server can do its work now. [`CachedHealth`] calls it once a second at most; it should take
    /// milliseconds.
    async fn is_healthy(&self) -> bool;

    /// Returns when the database has not answered for some seconds, and at once while that lasts, so that requests that
    /// wait for it can be refused. Polled beside every request. By default it never returns.
    async fn stalled(&self) {
        std::future::pending::<()>().await;
    }
}

/// The last result of a probe.
pub struct CachedHealth {
    probe: Arc<dyn HealthProbe>,
    last: Mutex<Option<(i64, bool)>>,
}

impl CachedHealth {
    /// Creates a cache without a result.
    #[must_use]
    pub fn new(probe: Arc<dyn HealthProbe>) -> Self {
        Self { probe, last: Mutex::new(None) }
    }

    /// Returns when the database does not answer ([`HealthProbe::stalled`]).
    pub async fn stalled(&self) {
        self.probe.stalled().await;
    }

    /// Returns whether the server could do its work at one second before `now_us` or later. Concurrent callers wait for
    /// the same probe.
    pub async fn at(&self, now_us: i64) -> bool {
        let mut last = self.last.lock().await;
        if let Some((probed_us, healthy)) = *last
            && (0..FRESH_US).contains(&now_us.saturating_sub(probed_us))
        {
            return healthy;
        }
        let healthy = self.probe.is_healthy().await;
        *last = Some((now_us, healthy));
        healthy
    }
}

/// A probe that makes the database write at every call.
pub struct DatabaseHealth<F>(F);

impl<F, W, E> DatabaseHealth<F>
where
    F: Fn() -> W + Send + Sync,
    W: Future<Output = Result<(), E>> + Send + 'static,
    E: Display + Send + 'static,
{
    /// Creates a probe that calls `write`, which writes one row and commits it.
    pub fn new(write: F) -> Self {
        Self(write)
    }
}

#[async_trait]
impl<F, W, E> HealthProbe for DatabaseHealth<F>
where
    F: Fn() -> W + Send + Sync,
    W: Future<Output = Result<(), E>> + Send + 'static,
    E: Display + Send + 'static,
{
    async fn is_healthy(&self) -> bool {
        match tokio::time::timeout(ANSWER_MAX, (self.0)()).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::error!(%error, "the database takes no writes");
                false
            }
            Err(_) => {
                tracing::error!("the database did not answer in a second");
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_database_that_fails_or_does_not_answer_is_not_healthy() {
        assert!(DatabaseHealth::new(|| ready(Ok::<(), String>(()))).is_healthy().await);
        assert!(!DatabaseHealth::new(|| ready(Err("full"))).is_healthy().await);
        assert!(!DatabaseHealth::new(pending::<Result<(), String>>).is_healthy().await);
    }
}
