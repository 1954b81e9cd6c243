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

/// A health check of the server.
#[async_trait]
pub trait HealthProbe: Send + Sync {
    /// Returns whether the server can do its work now. [`CachedHealthProbe`] calls it once a second at most; it should
    /// take milliseconds.
    async fn is_healthy(&self) -> bool;

    /// Waits until the database has not answered for some seconds; returns at once while that lasts, and never by
    /// default. Polled beside every request.
    async fn wait_until_stalled(&self) {
        std::future::pending::<()>().await;
    }
}

/// A health probe whose last result is cached for one second.
pub struct CachedHealthProbe {
    probe: Arc<dyn HealthProbe>,
    last: Mutex<Option<(i64, bool)>>,
}

impl CachedHealthProbe {
    /// Creates a cache without a result.
    #[must_use]
    pub fn new(probe: Arc<dyn HealthProbe>) -> Self {
        Self { probe, last: Mutex::new(None) }
    }

    /// Waits until the database has not answered for some seconds, as [`HealthProbe::wait_until_stalled`] does.
    pub async fn wait_until_stalled(&self) {
        self.probe.wait_until_stalled().await;
    }

    /// Returns whether the server was healthy within the second before `now_us`; concurrent callers share one probe.
    pub async fn is_healthy_at(&self, now_us: i64) -> bool {
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

/// A health probe that writes to the database at every call; unhealthy when the write fails or takes longer than a
/// second.
pub struct DatabaseWriteProbe<F>(F);

impl<F, W, E> DatabaseWriteProbe<F>
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
impl<F, W, E> HealthProbe for DatabaseWriteProbe<F>
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
        assert!(DatabaseWriteProbe::new(|| ready(Ok::<(), String>(()))).is_healthy().await);
        assert!(!DatabaseWriteProbe::new(|| ready(Err("full"))).is_healthy().await);
        assert!(!DatabaseWriteProbe::new(pending::<Result<(), String>>).is_healthy().await);
    }
}
