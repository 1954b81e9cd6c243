//! Connections that search a Postgres database.
//!
//! Postgres runs a statement to its end although the request it was for is gone, and the pool of the driver waits for
//! that end. Here such a statement is cancelled: hanging up frees the database at once.
//!
//! **Invariant**: no more searches run in the database than there are connections here. The permit of a connection
//! whose search was given up is held until its statement has ended. **Cost**: that connection is closed, because what
//! it still has to read belongs to no caller.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sql_engines::CHECK_CONNECTION_AFTER_IDLE;
use sqlx::postgres::{PgConnectOptions, PgDatabaseError, PgSeverity};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::attendant::{Canceller, GivenUp};
use crate::engine::executes_at_once;
use crate::pools::search_patience;

/// Longest life of a connection, so that what a backend process gathers goes with it.
const LIFE_MAX: Duration = Duration::from_mins(30);
const PROCESS: &str = "SELECT pg_backend_pid()";

/// The connections, opened when they are needed; a clone is another handle on the same ones.
#[derive(Clone)]
pub(crate) struct PgSearchers(Arc<Inner>);

struct Inner {
    options: PgConnectOptions,
    most: u32,
    /// How long a statement may run.
    limit: Duration,
    /// SQL that every connection begins with.
    settings: Arc<str>,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Session>>,
    canceller: Canceller,
}

struct Session {
    connection: PgConnection,
    /// Its process in the database.
    pid: i32,
    opened: Instant,
    used: Instant,
}

impl Inner {
    fn idle(&self) -> MutexGuard<'_, Vec<Session>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn open(&self) -> Result<Session, sqlx::Error> {
        let mut connection = self.options.connect().await?;
        sqlx::raw_sql(AssertSqlSafe(Arc::clone(&self.settings))).execute(&mut connection).await?;
        let pid: i32 = sqlx::query_scalar(PROCESS).fetch_one(&mut connection).await?;
        let now = Instant::now();
        Ok(Session { connection, pid, opened: now, used: now })
    }

    /// A connection that is fit for use, the one used last if there is one.
    async fn session(&self) -> Result<Session, sqlx::Error> {
        let idle = self.idle().pop();
        let Some(mut session) = idle.filter(|session| session.opened.elapsed() < LIFE_MAX) else {
            return self.open().await;
        };
        // The server or a proxy may have closed it.
        if session.used.elapsed() > CHECK_CONNECTION_AFTER_IDLE && session.connection.ping().await.is_err() {
            return self.open().await;
        }
        Ok(session)
    }
}

impl fmt::Debug for PgSearchers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgSearchers").field("most", &self.0.most).finish_non_exhaustive()
    }
}

impl PgSearchers {
    /// At most `most` connections, each of which begins with `settings`; these limit its statements to `limit`.
    pub(crate) fn new(
        options: PgConnectOptions,
        (most, limit, settings): (u32, Duration, Arc<str>),
        canceller: Canceller,
    ) -> Self {
        let permits = Arc::new(Semaphore::new(usize::try_from(most).unwrap_or(Semaphore::MAX_PERMITS)));
        Self(Arc::new(Inner { options, most, limit, settings, permits, idle: Mutex::default(), canceller }))
    }

    /// A connection until it is dropped.
    ///
    /// # Errors
    /// [`sqlx::Error::PoolTimedOut`] when none was free in time, [`sqlx::Error::PoolClosed`] after
    /// [`PgSearchers::close`], and why Postgres cannot be reached.
    async fn acquire(&self) -> Result<PgSearcher, sqlx::Error> {
        let acquired = async {
            let permit = Arc::clone(&self.0.permits).acquire_owned().await.map_err(|_| sqlx::Error::PoolClosed)?;
            let session = Some(self.0.session().await?);
            Ok(PgSearcher { session, is_at_it: false, searchers: Arc::clone(&self.0), permit: Some(permit) })
        };
        timeout(search_patience(self.0.limit), acquired).await.map_err(|_| sqlx::Error::PoolTimedOut)?
    }

    /// Closes every connection, after what runs on it is done.
    pub(crate) async fn close(&self) {
        // It fails when they were closed before.
        let all = self.0.permits.acquire_many(self.0.most).await;
        self.0.permits.close();
        drop(all);
        let idle = std::mem::take(&mut *self.0.idle());
        for Session { connection, .. } in idle {
            if let Err(error) = connection.close().await {
                tracing::debug!(%error, "a connection was not closed properly");
            }
        }
    }
}

/// A connection that comes back when it is dropped.
struct PgSearcher {
    /// There until it is dropped, or has failed.
    session: Option<Session>,
    /// Whether its statement may not have ended.
    is_at_it: bool,
    searchers: Arc<Inner>,
    permit: Option<OwnedSemaphorePermit>,
}

impl PgSearcher {
    /// Where statements run.
    fn connection(&mut self) -> Result<&mut PgConnection, sqlx::Error> {
        self.is_at_it = true;
        self.session.as_mut().map(|session| &mut session.connection).ok_or(sqlx::Error::WorkerCrashed)
    }

    /// A statement has ended; a failure that was not its own keeps the connection from coming back.
    fn judge<T>(&mut self, outcome: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        self.is_at_it = false;
        outcome.inspect_err(|error| {
            if !leaves_the_connection(error) {
                self.session = None;
            }
        })
    }
}

/// Returns whether the connection on which a statement failed is fit for the next one.
fn leaves_the_connection(error: &sqlx::Error) -> bool {
    let refused = error.as_database_error().and_then(|error| error.try_downcast_ref::<PgDatabaseError>());
    refused.is_some_and(|refused| !matches!(refused.severity(), PgSeverity::Fatal | PgSeverity::Panic))
}

impl Drop for PgSearcher {
    fn drop(&mut self) {
        let (Some(mut session), Some(permit)) = (self.session.take(), self.permit.take()) else { return };
        if self.is_at_it {
            let Session { connection, pid, .. } = session;
            let (connection, limit) = (Box::new(connection), self.searchers.limit);
            self.searchers.canceller.cancel(GivenUp::Search { connection, pid, limit, permit });
        } else {
            session.used = Instant::now();
            // Before the permit is given back, so that the caller that gets it finds the connection.
            self.searchers.idle().push(session);
        }
    }
}

executes_at_once!(PgSearchers, sqlx::Postgres, sqlx::postgres::{PgQueryResult, PgRow, PgStatement, PgTypeInfo});
