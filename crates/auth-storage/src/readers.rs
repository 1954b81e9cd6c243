//! Connections that read a SQLite database, beside its one writer.
//!
//! The pool of the driver asks a connection how it is whenever it comes back, in a task of its own: for every
//! statement one exchange more with the thread that owns the connection. A file that this process holds open does
//! not go away, and a statement that nobody waits for any more ends by itself, so here a connection comes back
//! unasked; one that failed, and not for what it was asked, is closed. A semaphore and a list are all there is to
//! it, so no crate is taken for them.
//!
//! Searches have connections of their own kind, whose statements end after a time and as soon as they are given up:
//! what a caller can make expensive must not hold up what everything else waits for.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Sqlite, SqliteConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::engine::executes_at_once;
use crate::pools::search_patience;
use crate::stopwatch::Stopwatch;

/// The connections, opened when they are needed; a clone is another handle on the same ones.
#[derive(Clone)]
pub(crate) struct Readers(Arc<Inner>);

struct Inner {
    options: SqliteConnectOptions,
    most: u32,
    patience: Duration,
    /// How long a statement may run, where that is limited.
    limit: Option<Duration>,
    permits: Arc<Semaphore>,
    /// Those that nobody uses; the last one back is the next one out, because its pages are in memory. One whose
    /// statement was given up is the last one out, because it may still be at it.
    idle: Mutex<Vec<Idle>>,
}

/// A connection that nobody uses.
struct Idle {
    connection: SqliteConnection,
    /// There where the time of statements is limited.
    watch: Option<Stopwatch>,
    /// Whether its statement was given up.
    is_at_it: bool,
}

impl Inner {
    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn open(&self) -> Result<Idle, sqlx::Error> {
        let mut connection = self.options.connect().await?;
        let watch = self.limit.map(|_| Stopwatch::new());
        if let Some(watch) = &watch {
            watch.watch(&mut connection).await?;
        }
        Ok(Idle { connection, watch, is_at_it: false })
    }
}

impl fmt::Debug for Readers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readers").field("most", &self.0.most).finish_non_exhaustive()
    }
}

impl Readers {
    /// At most `most` connections. The first is opened now; whoever finds none free waits as long as `patience`.
    pub(crate) async fn open(
        options: SqliteConnectOptions,
        most: u32,
        patience: Duration,
    ) -> Result<Self, sqlx::Error> {
        let readers = Self::of(options, most, (patience, None));
        let first = readers.0.open().await?;
        readers.0.idle().push(first);
        Ok(readers)
    }

    /// At most `most` connections, opened when they are needed, whose statements run for as long as `limit` and no
    /// longer.
    pub(crate) fn limited(options: SqliteConnectOptions, most: u32, limit: Duration) -> Self {
        Self::of(options, most, (search_patience(limit), Some(limit)))
    }

    fn of(options: SqliteConnectOptions, most: u32, (patience, limit): (Duration, Option<Duration>)) -> Self {
        let permits = Arc::new(Semaphore::new(usize::try_from(most).unwrap_or(Semaphore::MAX_PERMITS)));
        Self(Arc::new(Inner { options, most, patience, limit, permits, idle: Mutex::default() }))
    }

    /// Returns how each connection is opened.
    pub(crate) fn options(&self) -> &SqliteConnectOptions {
        &self.0.options
    }

    /// A connection until it is dropped.
    ///
    /// # Errors
    /// [`sqlx::Error::PoolTimedOut`] when none was free in time, [`sqlx::Error::PoolClosed`] after
    /// [`Readers::close`].
    pub(crate) async fn acquire(&self) -> Result<Reader, sqlx::Error> {
        let permit = tokio::time::timeout(self.0.patience, Arc::clone(&self.0.permits).acquire_owned());
        let permit = permit.await.map_err(|_| sqlx::Error::PoolTimedOut)?.map_err(|_| sqlx::Error::PoolClosed)?;
        let idle = self.0.idle().pop();
        let Idle { mut connection, watch, is_at_it } = match idle {
            Some(idle) => idle,
            None => self.0.open().await?,
        };
        if let (Some(watch), Some(limit)) = (&watch, self.0.limit) {
            if is_at_it {
                // The statement before was told to end, and has ended when this is answered.
                connection.ping().await?;
            }
            watch.allow(limit);
        }
        let readers = Arc::clone(&self.0);
        Ok(Reader { connection: Some(connection), watch, is_at_it: false, readers, _permit: permit })
    }

    /// Closes every connection, after what runs on it is done.
    pub(crate) async fn close(&self) {
        // It fails when they were closed before.
        let all = self.0.permits.acquire_many(self.0.most).await;
        self.0.permits.close();
        drop(all);
        let idle = std::mem::take(&mut *self.0.idle());
        for Idle { connection, .. } in idle {
            if let Err(error) = connection.close().await {
                tracing::warn!(%error, "a connection was not closed properly");
            }
        }
    }
}

/// A connection that comes back when it is dropped.
pub(crate) struct Reader {
    /// There until it is dropped, or has failed.
    connection: Option<SqliteConnection>,
    watch: Option<Stopwatch>,
    /// Whether its statement may not have ended.
    is_at_it: bool,
    readers: Arc<Inner>,
    /// Dropped behind the connection, so that whoever is let in finds it.
    _permit: OwnedSemaphorePermit,
}

impl Reader {
    /// Where statements run.
    ///
    /// # Errors
    /// When the connection has failed before.
    pub(crate) fn connection(&mut self) -> Result<&mut SqliteConnection, sqlx::Error> {
        self.is_at_it = true;
        self.connection.as_mut().ok_or(sqlx::Error::WorkerCrashed)
    }

    /// A statement has ended; unless it was itself at fault, a failure keeps the connection from coming back.
    fn judge<T>(&mut self, outcome: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        self.is_at_it = false;
        outcome.inspect_err(|error| {
            if error.as_database_error().is_none() {
                self.connection = None;
            }
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let (watch, is_at_it) = (self.watch.take(), self.is_at_it);
        if let Some(watch) = watch.as_ref().filter(|_| is_at_it) {
            watch.cut_short();
        }
        // One that failed is closed, after its statement.
        let Some(connection) = self.connection.take() else { return };
        let mut idle = self.readers.idle();
        let place = if is_at_it { 0 } else { idle.len() };
        idle.insert(place, Idle { connection, watch, is_at_it });
    }
}

executes_at_once!(Readers, Sqlite, sqlx::sqlite::{SqliteQueryResult, SqliteRow, SqliteStatement, SqliteTypeInfo});

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt as _;

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(20);

    async fn readers(most: u32) -> Readers {
        Readers::open(SqliteConnectOptions::new(), most, PATIENCE).await.unwrap()
    }

    #[tokio::test]
    async fn a_connection_comes_back_and_is_the_next_one_out() {
        let readers = readers(2).await;
        for _ in 0..3 {
            let one: i64 = sqlx::query_scalar("SELECT 1").fetch_one(&readers).await.unwrap();
            assert_eq!((one, readers.0.idle().len()), (1, 1));
        }
        let held = (readers.acquire().await.unwrap(), readers.acquire().await.unwrap());
        assert!(matches!(readers.acquire().await, Err(sqlx::Error::PoolTimedOut)));
        drop(held);
        assert_eq!((readers.0.idle().len(), readers.0.permits.available_permits()), (2, 2));
    }

    #[tokio::test]
    async fn what_a_statement_did_wrong_costs_no_connection() {
        let readers = readers(1).await;
        assert!(sqlx::query("SELECT nonsense").fetch_all(&readers).await.is_err());
        assert_eq!(readers.0.idle().len(), 1);
        let mut reader = readers.acquire().await.unwrap();
        assert!(reader.judge::<()>(Err(sqlx::Error::WorkerCrashed)).is_err());
        assert!(reader.connection().is_err());
        drop(reader);
        assert_eq!(readers.0.idle().len(), 0);
        sqlx::query("SELECT 1").fetch_one(&readers).await.unwrap();
    }

    #[tokio::test]
    async fn rows_that_nobody_waits_for_do_not_reach_the_next_statement() {
        let readers = readers(1).await;
        let endless = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) SELECT n FROM n";
        let mut reader = readers.acquire().await.unwrap();
        let mut rows = sqlx::query_scalar::<_, i64>(endless).fetch(reader.connection().unwrap());
        assert_eq!(rows.try_next().await.unwrap(), Some(1));
        drop(rows);
        drop(reader);
        let seven: i64 = sqlx::query_scalar("SELECT 7").fetch_one(&readers).await.unwrap();
        assert_eq!(seven, 7);
    }

    #[tokio::test]
    async fn nobody_waits_for_a_statement_that_was_given_up_while_another_connection_is_free() {
        let readers = readers(2).await;
        let (mut given_up, other) = (readers.acquire().await.unwrap(), readers.acquire().await.unwrap());
        // Each has a database of its own in memory.
        sqlx::query("CREATE TABLE mark (n)").execute(given_up.connection().unwrap()).await.unwrap();
        drop(other);
        drop(given_up);
        let marks: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_master").fetch_one(&readers).await.unwrap();
        assert_eq!(marks, 0);
    }

    #[tokio::test]
    async fn a_limited_statement_that_is_given_up_ends_before_the_next_one_begins() {
        let limit = Duration::from_mins(10);
        let readers = Readers::limited(SqliteConnectOptions::new(), 1, limit);
        let endless = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) SELECT count(*) FROM n";
        let asked = sqlx::query_scalar::<_, i64>(endless).fetch_one(&readers);
        assert!(tokio::time::timeout(PATIENCE, asked).await.is_err());
        let seven: i64 = sqlx::query_scalar("SELECT 7").fetch_one(&readers).await.unwrap();
        assert_eq!((seven, readers.0.idle().len()), (7, 1));
    }

    #[tokio::test]
    async fn nothing_is_read_after_the_end() {
        let readers = readers(2).await;
        readers.close().await;
        readers.close().await;
        assert!(matches!(readers.acquire().await, Err(sqlx::Error::PoolClosed)));
        assert_eq!(readers.0.idle().len(), 0);
    }
}
