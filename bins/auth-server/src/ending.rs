//! The last seconds: what ends one after the other when the server stops, within one time limit.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

/// Of the time limit, what requests are left to finish in, in fifths; the rest is for what is written after them.
const DRAIN_FIFTHS: u32 = 4;

/// The end of the server.
#[derive(Debug)]
pub(crate) struct Ending {
    until: Instant,
    cut: Vec<String>,
}

/// The part of the time limit in which running requests may finish.
pub(crate) fn drain(limit: Duration) -> Duration {
    limit * DRAIN_FIFTHS / 5
}

impl Ending {
    /// An end that was to begin at `begun` and is over `limit` later, whatever has finished by then.
    pub(crate) fn new(begun: Instant, limit: Duration) -> Self {
        Self { until: begun + limit, cut: Vec::new() }
    }

    /// Notes so many connections that were cut off.
    pub(crate) fn connections_cut(&mut self, count: usize) {
        if count > 0 {
            self.cut.push(format!("{count} connections"));
        }
    }

    /// Lets a part of the server end, for as long as there is time.
    pub(crate) async fn end(&mut self, name: &str, part: impl Future<Output = ()>) {
        if timeout_at(self.until, part).await.is_err() {
            self.cut.push(name.to_owned());
        }
    }

    /// Logs that the server has stopped, and what was cut off.
    pub(crate) fn report(self) {
        if self.cut.is_empty() {
            tracing::info!("stopped");
        } else {
            tracing::warn!(cut_off = self.cut.join(", "), "stopped: not everything finished in time");
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
        let mut ending = Ending::new(begun, Duration::from_secs(10));
        ending.connections_cut(0);
        ending.end("jobs", ready(())).await;
        ending.end("audit events", pending()).await;
        ending.end("database", pending()).await;
        ending.connections_cut(3);
        assert_eq!(begun.elapsed(), Duration::from_secs(10));
        assert_eq!(ending.cut, ["audit events", "database", "3 connections"]);
    }
}
