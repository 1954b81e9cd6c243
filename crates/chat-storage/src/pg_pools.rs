//! The connections to Postgres: one pool per kind of work, and the watch over whether Postgres answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use sql_engines::{
    CHECK_CONNECTION_AFTER_IDLE, CONNECTION_ACQUIRE_TIMEOUT, DatabaseOpenError, await_postgres_connect_options,
};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};
use tokio::time::{sleep, timeout};

use crate::db::{PREPARED_STATEMENTS, WORDS_CONNECTIONS};
use crate::engine::PooledPg;
use crate::outage::Outage;
use crate::search_connections::SearchConnection;

/// How long a connection that was idle has to answer before it is replaced.
const CHECK_MAX: Duration = Duration::from_secs(1);
/// One to send messages, one for other writes, one to read what others wrote, one to hear of it, one to tell of it, one
/// to confirm that all of it was heard of.
const MIN_CONNECTIONS: u32 = 6;
/// Every statement here wants few rows in the order of an index. Where Postgres guesses that a range is small, it
/// would rather read all of it and sort; where a statement names a thousand rows, it would rather read the whole table
/// into a hash than look up each. And a statement that waited for a lock has to see what it waited for, whatever level
/// the database is set to.
pub(crate) const SETTINGS: &str = "SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
SET default_transaction_isolation = 'read committed'";
/// An index of words has no order, so it is read as a whole or not at all, and which of the two is right depends on
/// how common the words are. The parts of a search run one after the other, and a later one only where it is needed.
pub(crate) const WORDS_SETTINGS: &str =
    "SET plan_cache_mode = force_custom_plan; SET max_parallel_workers_per_gather = 0;
SET default_transaction_isolation = 'read committed'";
/// How often Postgres is asked for a sign of life.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// Postgres is out of reach when it has given none for so long: also a restart takes a moment.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long to wait after a failed attempt before the next.
const PAUSE: Duration = Duration::from_millis(100);
/// Codes of a Postgres that cannot work: it starts, ends, or was told to end the session.
const CLASS_OPERATOR: &str = "57P";

/// The connections to one Postgres database.
#[derive(Debug)]
pub(crate) struct PgPools {
    open: ArcSwap<OpenPools>,
    options: PgConnectOptions,
    connections: u32,
    /// How long a search by words may take, in milliseconds.
    search_time: Arc<AtomicU64>,
    outage: Outage,
}

#[derive(Debug)]
struct OpenPools {
    all: PgPool,
    /// For the index of words alone, which is read in the way that [`SETTINGS`] forbids.
    words: PgPool,
}

impl PgPools {
    /// Connects, with at most `connections` connections, and six at least, and two more for searches by words.
    ///
    /// # Errors
    /// See [`DatabaseOpenError`].
    pub(crate) async fn connect(
        url: &str,
        (connections, search_time): (u32, Arc<AtomicU64>),
    ) -> Result<Self, DatabaseOpenError> {
        let options = await_postgres_connect_options(url).await?.statement_cache_capacity(PREPARED_STATEMENTS);
        let connections = connections.max(MIN_CONNECTIONS);
        let open = ArcSwap::from_pointee(OpenPools::new(&options, connections, &search_time));
        let pools = Self { open, options, connections, search_time, outage: Outage::default() };
        // What a pool does to each connection is known to work now.
        pools.all().acquire().await.map_err(DatabaseOpenError::Connect)?;
        Ok(pools)
    }

    /// Connections for everything but the index of words.
    pub(crate) fn all(&self) -> PgPool {
        self.open.load().all.clone()
    }

    /// Returns the connections for a statement outside of a transaction.
    pub(crate) fn pooled(&self) -> PooledPg<'_> {
        PooledPg { pool: self.all(), outage: &self.outage }
    }

    /// A connection that reads the index of words, for the time of a search.
    ///
    /// # Errors
    /// When none is free in time.
    pub(crate) async fn searcher(&self) -> Result<SearchConnection, sqlx::Error> {
        let words = self.open.load().words.clone();
        let connection = self.outage.bound(words.acquire()).await?;
        Ok(SearchConnection::postgres(connection, self.outage.clone()))
    }

    pub(crate) fn outage(&self) -> &Outage {
        &self.outage
    }

    /// Asks Postgres for a sign of life again and again, on a separate connection, and notes when it gives none.
    ///
    /// After an outage all connections are new: the old ones may be those of a machine that is gone.
    pub(crate) async fn watch(&self) {
        let mut session = None;
        loop {
            let is_out = timeout(PATIENCE, answered(&self.options, &mut session)).await.is_err();
            if !is_out && self.outage.is_on() {
                self.open_again().await;
            }
            if self.outage.note(is_out) {
                if is_out {
                    tracing::error!("Postgres does not answer: requests are refused until it does");
                } else {
                    tracing::info!("Postgres answers again");
                }
            }
            sleep(ASK_EVERY).await;
        }
    }

    async fn open_again(&self) {
        let old = self.open.swap(Arc::new(OpenPools::new(&self.options, self.connections, &self.search_time)));
        // What does not end by then ends when the operating system gives it up.
        if timeout(CHECK_MAX, old.close()).await.is_err() {
            tracing::debug!("old connections to Postgres did not end in time");
        }
    }

    /// Closes every connection, after what runs on it is done.
    pub(crate) async fn close(&self) {
        self.open.load_full().close().await;
    }
}

impl OpenPools {
    fn new(options: &PgConnectOptions, connections: u32, search_time: &Arc<AtomicU64>) -> Self {
        let all = pool(connections, SETTINGS).connect_lazy_with(options.clone());
        let words = words_pool(search_time).connect_lazy_with(options.clone());
        Self { all, words }
    }

    async fn close(&self) {
        self.words.close().await;
        self.all.close().await;
    }
}

/// A pool whose connections begin with these settings.
fn pool(connections: u32, settings: &'static str) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(CONNECTION_ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
        .after_connect(move |connection, _| {
            Box::pin(async move {
                sqlx::raw_sql(settings).execute(connection).await?;
                Ok(())
            })
        })
        .before_acquire(|connection, seen| {
            Box::pin(async move {
                if seen.idle_for > CHECK_CONNECTION_AFTER_IDLE {
                    timeout(CHECK_MAX, connection.ping()).await.map_err(|_| sqlx::Error::PoolTimedOut)??;
                }
                Ok(true)
            })
        })
}

/// Returns the connections for searches by words. Each begins with the time that a search may take.
fn words_pool(search_time: &Arc<AtomicU64>) -> PgPoolOptions {
    let search_time = Arc::clone(search_time);
    pool(WORDS_CONNECTIONS, WORDS_SETTINGS).after_connect(move |connection, _| {
        let time_ms = search_time.load(Ordering::Relaxed);
        Box::pin(async move {
            let settings = AssertSqlSafe(format!("{WORDS_SETTINGS}; SET statement_timeout = {time_ms}"));
            sqlx::raw_sql(settings).execute(connection).await?;
            Ok(())
        })
    })
}

/// Waits until Postgres has answered.
async fn answered(options: &PgConnectOptions, session: &mut Option<PgConnection>) {
    while let Err(error) = ask(options, session).await {
        if is_answer(&error) {
            return;
        }
        sleep(PAUSE).await;
    }
}

/// One exchange. The session is given back when it succeeds.
async fn ask(options: &PgConnectOptions, session: &mut Option<PgConnection>) -> Result<(), sqlx::Error> {
    let mut asked = match session.take() {
        Some(open) => open,
        None => options.connect().await?,
    };
    asked.ping().await?;
    *session = Some(asked);
    Ok(())
}

/// Returns whether an error comes from a Postgres that works: it has no room for one more connection, or other
/// passwords.
fn is_answer(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| !code.starts_with(CLASS_OPERATOR))
}
