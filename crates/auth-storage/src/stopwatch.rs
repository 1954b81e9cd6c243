//! Ends statements of SQLite that run for too long, and those that are no longer waited for.
//!
//! SQLite has no limit of time. It calls a progress handler between the steps of a statement, and ends the statement
//! with `SQLITE_INTERRUPT` when the handler says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sqlx::SqliteConnection;

/// Steps of SQLite between two looks at the clock: some tens of microseconds.
const STEPS: i32 = 4096;
/// No statement of the connection has to end.
const NEVER: u64 = u64::MAX;

/// The time at which the statement of a connection has to end; a clone is about the same connection.
#[derive(Debug, Clone)]
pub(crate) struct Stopwatch {
    since: Instant,
    /// In microseconds since `since`.
    end_us: Arc<AtomicU64>,
}

impl Stopwatch {
    /// A stopwatch that ends nothing yet.
    pub(crate) fn new() -> Self {
        Self { since: Instant::now(), end_us: Arc::new(AtomicU64::new(NEVER)) }
    }

    /// Watches the statements of a connection from now on.
    pub(crate) async fn watch(&self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        let watch = self.clone();
        connection.lock_handle().await?.set_progress_handler(STEPS, move || watch.goes_on());
        Ok(())
    }

    /// Lets statements run for this time from now on.
    pub(crate) fn allow(&self, time: Duration) {
        let end = self.since.elapsed().saturating_add(time);
        self.end_us.store(u64::try_from(end.as_micros()).unwrap_or(NEVER - 1), Ordering::Relaxed);
    }

    /// Ends the statement that runs, if one does.
    pub(crate) fn cut_short(&self) {
        self.end_us.store(0, Ordering::Relaxed);
    }

    /// Lets statements run for as long as they like.
    pub(crate) fn release(&self) {
        self.end_us.store(NEVER, Ordering::Relaxed);
    }

    /// Returns whether the statement goes on. One statement is ended, not those after it: a transaction has to be
    /// rolled back.
    fn goes_on(&self) -> bool {
        let end_us = self.end_us.load(Ordering::Relaxed);
        let is_over = end_us != NEVER && self.since.elapsed() >= Duration::from_micros(end_us);
        if is_over {
            self.release();
        }
        !is_over
    }
}

#[cfg(test)]
mod tests {
    use sqlx::ConnectOptions as _;
    use sqlx::sqlite::SqliteConnectOptions;

    use super::*;

    const ENDLESS: &str = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) SELECT count(*) FROM n";

    #[tokio::test]
    async fn a_statement_ends_when_its_time_is_over_and_the_next_one_runs() {
        let mut connection = SqliteConnectOptions::new().connect().await.unwrap();
        let watch = Stopwatch::new();
        watch.watch(&mut connection).await.unwrap();
        for round in 0..2 {
            watch.allow(Duration::from_millis(20));
            let ended = sqlx::query_scalar::<_, i64>(ENDLESS).fetch_one(&mut connection).await.unwrap_err();
            let code = ended.as_database_error().and_then(|error| error.code().map(String::from));
            assert_eq!(code.as_deref(), Some("9"), "{round}");
            let one: i64 = sqlx::query_scalar("SELECT 1").fetch_one(&mut connection).await.unwrap();
            assert_eq!(one, 1);
        }
    }
}
