//! Whether a database answers and takes writes, for the health of a server.

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::dialect::SqlDialect;

/// How long the probe of a write waits for the connection and the commit.
const PROBE_MAX: Duration = Duration::from_millis(700);
/// For how long the one writer of SQLite may be busy with a transaction before that counts as a failure.
const WRITER_BUSY_MAX: Duration = Duration::from_secs(30);

/// A check that one database accepts writes, with the time of the last successful write.
#[derive(Debug)]
pub struct WriteProbe {
    succeeded: Mutex<Instant>,
}

impl Default for WriteProbe {
    /// Begins now, as if a probe had succeeded.
    fn default() -> Self {
        Self { succeeded: Mutex::new(Instant::now()) }
    }
}

impl WriteProbe {
    /// The statement for `read` of [`WriteProbe::check_writable`]: one row of one number.
    pub const READ_STATEMENT: &'static str = "SELECT CAST(1 AS BIGINT)";
    /// The statement for `write` of [`WriteProbe::check_writable`]. The schema of each server has the table.
    pub const WRITE_STATEMENT: &'static str = "UPDATE server_health SET probes = probes + 1 WHERE one = 1";

    /// Returns an error unless the database accepts writes.
    ///
    /// A SQLite database whose writer is busy with a longer transaction accepts writes, so for up to 30 seconds after
    /// the last successful write it is enough that `read` succeeds.
    ///
    /// # Errors
    /// The error of `write`, or [`sqlx::Error::PoolTimedOut`] when it did not end within 700 ms; on a busy SQLite
    /// database the error of `read`.
    pub async fn check_writable(
        &self,
        dialect: SqlDialect,
        write: impl Future<Output = Result<u64, sqlx::Error>>,
        read: impl Future<Output = Result<(), sqlx::Error>>,
    ) -> Result<(), sqlx::Error> {
        let Ok(written) = timeout(PROBE_MAX, write).await else {
            let busy = self.succeeded.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
            let may_be_busy = dialect == SqlDialect::Sqlite && busy < WRITER_BUSY_MAX;
            return if may_be_busy { read.await } else { Err(sqlx::Error::PoolTimedOut) };
        };
        written?;
        *self.succeeded.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_busy_writer_of_sqlite_counts_as_well_for_half_a_minute() {
        let probe = WriteProbe::default();
        let busy = |dialect| probe.check_writable(dialect, pending(), ready(Ok(())));
        assert!(busy(SqlDialect::Postgres).await.is_err());
        assert!(busy(SqlDialect::Sqlite).await.is_ok());
        tokio::time::sleep(WRITER_BUSY_MAX).await;
        assert!(busy(SqlDialect::Sqlite).await.is_err());
        probe.check_writable(SqlDialect::Sqlite, ready(Ok(1)), pending()).await.unwrap();
        assert!(busy(SqlDialect::Sqlite).await.is_ok());
    }

    #[tokio::test]
    async fn a_refused_write_is_a_failure() {
        let probe = WriteProbe::default();
        assert!(
            probe.check_writable(SqlDialect::Sqlite, ready(Err(sqlx::Error::PoolClosed)), pending()).await.is_err()
        );
    }
}
