//! The end of the server: signals cancel a token, then its parts end one after the other within one time limit.

use std::io;
use std::time::Duration;

use task_set::TaskSet;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, timeout_at};
pub use tokio_util::sync::CancellationToken;

/// The part of the time limit, in fifths, in which requests may finish; the rest is for what is written after them.
const DRAIN_FIFTHS: u32 = 4;

/// Returns a token that SIGTERM or SIGINT cancels, by a task in `background`.
///
/// # Errors
/// The process may not install signal handlers.
pub fn termination_token(background: &mut TaskSet) -> io::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let token = CancellationToken::new();
    let cancelled = token.clone();
    background.spawn_finite("wait for signals", async move {
        let name = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        tracing::info!(signal = name, "stopping: no new connections");
        cancelled.cancel();
    });
    Ok(token)
}

/// A shutdown with a time limit that records which parts did not end in time.
#[derive(Debug)]
pub struct BoundedShutdown {
    deadline: Instant,
    cut_off: Vec<String>,
}

/// Returns the part of the shutdown time limit in which running requests may finish: four fifths of it.
#[must_use]
pub fn request_drain_timeout(limit: Duration) -> Duration {
    limit * DRAIN_FIFTHS / 5
}

impl BoundedShutdown {
    /// Creates a shutdown that began at `begun` and ends `limit` later, whatever has finished by then.
    #[must_use]
    pub fn new(begun: Instant, limit: Duration) -> Self {
        Self { deadline: begun + limit, cut_off: Vec::new() }
    }

    /// Records how many connections were closed before their requests were answered.
    pub fn record_cut_connections(&mut self, count: usize) {
        if count > 0 {
            self.cut_off.push(format!("{count} connections"));
        }
    }

    /// Waits until a named part of the server has ended or the time limit is over.
    pub async fn wait_for_part(&mut self, name: &str, part: impl Future<Output = ()>) {
        if timeout_at(self.deadline, part).await.is_err() {
            self.cut_off.push(name.to_owned());
        }
    }

    /// Logs that the server has stopped, and what was cut off.
    pub fn log_result(self) {
        if self.cut_off.is_empty() {
            tracing::info!("stopped");
        } else {
            tracing::warn!(cut_off = self.cut_off.join(", "), "stopped: not everything finished in time");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_never_ends_is_cut_off_at_the_time_limit_and_named() {
        let begun = Instant::now();
        let mut shutdown = BoundedShutdown::new(begun, Duration::from_secs(10));
        shutdown.record_cut_connections(0);
        shutdown.wait_for_part("jobs", ready(())).await;
        shutdown.wait_for_part("audit events", pending()).await;
        shutdown.wait_for_part("database", pending()).await;
        shutdown.record_cut_connections(3);
        assert_eq!(begun.elapsed(), Duration::from_secs(10));
        assert_eq!(shutdown.cut_off, ["audit events", "database", "3 connections"]);
    }

    #[test]
    fn requests_leave_a_fifth_of_the_time_to_what_is_written_after_them() {
        assert_eq!(request_drain_timeout(Duration::from_secs(10)), Duration::from_secs(8));
    }
}
