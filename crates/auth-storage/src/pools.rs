//! The pools of connections: how many there are, what is kept for what, and how long a caller waits.
//!
//! Searches have connections of their own, whose statements end after a time. Health, the standing of callers and
//! sign-in use the others, so they find one however much is searched.

use std::sync::Arc;
use std::time::Duration;

use sql_engines::{
    CHECK_CONNECTION_AFTER_IDLE, CONNECTION_ACQUIRE_TIMEOUT, can_begin_transaction, sqlite_pool_options,
};
use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::sqlite::SqlitePoolOptions;

use crate::attendant::{Attendant, Times};
use crate::pg_searchers::PgSearchers;
use crate::stopwatch::Stopwatch;

/// One of so many connections to Postgres searches and does nothing else.
const SEARCHERS_SHARE: u32 = 4;
/// Connections to Postgres beside the pools, of the [`Attendant`].
const ATTENDANTS: u32 = 1;

/// The least time a search waits for a free connection, however little it may run.
const SEARCH_PATIENCE_MIN: Duration = Duration::from_secs(1);

/// Returns the time for which a search waits for a free connection: as long as those before it may run.
pub(crate) fn search_patience(search_time: Duration) -> Duration {
    search_time.max(SEARCH_PATIENCE_MIN)
}

/// How Postgres plans searches: the statement says what is walked, through an index that has the order it needs, and
/// the plan is stored. Whatever reads a table or a parameter as a whole to join or sort it would be chosen where
/// statistics are old or absent. Plans of which nothing else is possible have a cost that would have them compiled.
const SEARCH_PLANS: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
    SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";

/// The connections to Postgres.
#[derive(Debug)]
pub(crate) struct PgPools {
    /// For everything but searches.
    pub(crate) all: PgPool,
    /// For searches: statements end after the time of a search.
    pub(crate) searchers: PgSearchers,
    /// Cancels statements whose callers went away, and notices a database that answers nothing.
    pub(crate) attendant: Attendant,
}

/// Connects to Postgres, with at most so many connections in all (but never less than one of each kind).
///
/// **Why** the limit belongs to the connection: it is set once, where a limit of each transaction would cost every
/// search two more round trips.
pub(crate) async fn connect(
    options: PgConnectOptions,
    (connections, search_time): (u32, Duration),
) -> Result<PgPools, sqlx::Error> {
    let searchers = (connections / SEARCHERS_SHARE).max(1);
    let others = connections.saturating_sub(searchers + ATTENDANTS).max(1);
    let all = pool_options(others).connect_with(options.clone()).await?;
    let limit: Arc<str> = format!("SET statement_timeout = {}; {SEARCH_PLANS}", search_time.as_millis().max(1)).into();
    let attendant = Attendant::start(options.clone(), Times::default());
    let searchers = PgSearchers::new(options, (searchers, search_time, limit), attendant.canceller());
    Ok(PgPools { all, searchers, attendant })
}

/// Returns the options of a pool of at most `most` connections to Postgres.
fn pool_options(most: u32) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(most)
        .acquire_timeout(CONNECTION_ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
        .before_acquire(|connection, seen| {
            Box::pin(async move {
                if seen.idle_for > CHECK_CONNECTION_AFTER_IDLE {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
}

/// Returns the options of the pool of the one connection that writes a SQLite database.
pub(crate) fn writer_options(watch: &Stopwatch) -> SqlitePoolOptions {
    let (watching, released) = (watch.clone(), watch.clone());
    sqlite_pool_options(1)
        .after_connect(move |connection, _| {
            let watching = watching.clone();
            Box::pin(async move { watching.watch(connection).await })
        })
        .before_acquire(move |connection, _| {
            // What was told to end has ended: the connection is back.
            released.release();
            let is_fit = can_begin_transaction(connection);
            Box::pin(async move { Ok(is_fit) })
        })
}
