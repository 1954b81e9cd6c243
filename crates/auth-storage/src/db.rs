//! The database: opening it, one connection pool per kind of work, transactions, closing.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use migrations::{SqlPosition, UserSqlError};
use oauth_core::ports::AuthorizationCodeRecord;
use sql_engines::{
    CONNECTION_ACQUIRE_TIMEOUT, DatabaseOpenError, EngineTransaction, PerEngine, SqlDialect, SqliteDataDir, WriteProbe,
    await_postgres_connect_options, run,
};
use sqlx::Connection as _;
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions};
use task_set::UnexpectedTaskEnd;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::batcher::Batcher;
use crate::caller_status::CallerStatuses;
use crate::engine::{Interrupt, Tx};
use crate::fault::StartupLockError;
use crate::group_commit::GroupCommit;
use crate::insert_batch::Inserts;
use crate::members::Visits;
use crate::pg_searchers::PgSearchers;
use crate::pools::{PgPools, connect, writer_options};
use crate::readers::Readers;
use crate::resources::{Reading, Table, watch_all};
use crate::schema;
use crate::script::{self, ScriptFault};
use crate::search::{FEW, Index};
use crate::shared_work::SharedWork;
use crate::stopwatch::Stopwatch;
use crate::tokens::IssuedOpaque;

/// Key of the advisory lock that nodes sharing a Postgres database take; any constant does.
const START_LOCK: i64 = 0x6175_7468_7374_6172;
const TRY_START_LOCK: &str = "SELECT pg_try_advisory_lock($1)";

/// Connections that read a SQLite database beside its one writer. Each costs a thread.
const SQLITE_READERS: u32 = 4;
/// Connections that search a SQLite database, beside those.
const SQLITE_SEARCHERS: u32 = 4;
/// Transactions that search before they write, at the same time. SQLite has one writer, and others wait for it as well.
const SQLITE_CONDITIONS: usize = 1;
/// Memory for pages of the connection that writes, in KiB with a minus before it as SQLite wants it; taken when it is
/// used.
const WRITER_CACHE: &str = "-16384";
/// Only what nobody uses now goes.
const RELEASE_PAGES: &str = "PRAGMA shrink_memory";
/// Pages of the log of SQLite, 4 KiB each, from which it is copied into the database. What is written meanwhile to one
/// page is copied once, and the rows of an index come back to the same pages: at 1,000, as is usual, every other
/// transaction of 32 resources had to copy nearly all it had written.
const LOG_PAGES: &str = "8192";
/// How often a node that waits for the start lock asks for it.
const START_LOCK_POLL: Duration = Duration::from_millis(25);
/// Statements kept prepared per connection; each resource type in use has about ten.
const PREPARED_STATEMENTS: usize = 512;

/// The failure of a command that needs a database where there is none.
const ABSENT: DatabaseOpenError = DatabaseOpenError::Absent { server: "auth-server" };

/// Returns the files of the server in a data directory.
fn files(data_dir: &Path) -> SqliteDataDir {
    SqliteDataDir::new(data_dir, "auth")
}

/// The authorization database. A clone is another handle to the same one and cheap.
#[derive(Debug, Clone)]
pub struct AuthDatabase(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    pools: PerEngine<PgPools, SqlitePools>,
    shared: SharedWork,
    /// The tables that are known to exist, by resource type.
    tables: RwLock<HashMap<String, Table>>,
    /// How long a search may run.
    search_time: Duration,
    /// As few resources as a search looks at one by one.
    few: AtomicI64,
    /// Turns of the transactions that search before they write.
    conditions: Semaphore,
    /// The index of searches as it was when it was last read.
    index: RwLock<Option<Arc<Index>>>,
    /// Whether the index was seen to have rows that it cannot have by the rules.
    strewn_rows: AtomicBool,
    probe: WriteProbe,
}

#[derive(Debug)]
struct SqlitePools {
    /// One connection: SQLite has one writer at a time, and waiting here costs less than there.
    writer: SqlitePool,
    /// Ends searches of the connection that writes.
    watch: Stopwatch,
    readers: Readers,
    searchers: Readers,
    shared: Arc<GroupCommit>,
    files: SqliteDataDir,
}

impl AuthDatabase {
    /// The default maximum number of connections to Postgres, which suits a node with a few cores.
    pub const DEFAULT_POSTGRES_CONNECTIONS: u32 = 16;

    /// The default time limit of one search.
    pub const DEFAULT_SEARCH_TIME_LIMIT: Duration = Duration::from_secs(5);

    /// Opens the database as [`AuthDatabase::open_with_search_limit`] does, with
    /// [`AuthDatabase::DEFAULT_SEARCH_TIME_LIMIT`].
    ///
    /// # Errors
    /// See [`DatabaseOpenError`]. Nothing is left open then.
    pub async fn open(url: Option<&str>, data_dir: &Path, connections: u32) -> Result<Self, DatabaseOpenError> {
        Self::open_with_search_limit(url, data_dir, (connections, Self::DEFAULT_SEARCH_TIME_LIMIT)).await
    }

    /// Opens the database with a time limit for searches, and updates its schema under a lock, so that several nodes
    /// may start at once.
    ///
    /// With a `postgres://` URL, opens at most `connections` connections to that database, of which a quarter and at
    /// least one run searches only; without one, the SQLite file `auth.db` in `data_dir`, which is created when it does
    /// not exist, readable by its owner alone. A statement of a search is ended after `search_time`.
    ///
    /// # Errors
    /// See [`DatabaseOpenError`]. Nothing is left open then.
    pub async fn open_with_search_limit(
        url: Option<&str>,
        data_dir: &Path,
        (connections, search_time): (u32, Duration),
    ) -> Result<Self, DatabaseOpenError> {
        let db = if let Some(url) = url {
            Self::connect(url, (connections, search_time)).await?
        } else {
            Self::open_file(data_dir, search_time).await?
        };
        db.prepared().await
    }

    /// Opens a database that already exists, for commands that need one with data.
    ///
    /// # Errors
    /// See [`DatabaseOpenError`]; [`DatabaseOpenError::Absent`] when there is none. Nothing is created then.
    pub async fn open_existing_and_migrate(
        url: Option<&str>,
        data_dir: &Path,
        connections: u32,
    ) -> Result<Self, DatabaseOpenError> {
        let db = if let Some(url) = url {
            Self::connect(url, (connections, Self::DEFAULT_SEARCH_TIME_LIMIT)).await?
        } else {
            if !files(data_dir).has_database() {
                return Err(ABSENT);
            }
            Self::open_file(data_dir, Self::DEFAULT_SEARCH_TIME_LIMIT).await?
        };
        match schema::is_there(&db).await {
            Ok(true) => db.prepared().await,
            absent => {
                db.close().await;
                Err(absent.map_or_else(DatabaseOpenError::Connect, |_| ABSENT))
            }
        }
    }

    /// The database with its schema up to date.
    async fn prepared(self) -> Result<Self, DatabaseOpenError> {
        let db = self;
        if let Err(error) = schema::apply(&db).await {
            db.close().await;
            return Err(error);
        }
        Ok(db)
    }

    async fn connect(url: &str, (connections, search_time): (u32, Duration)) -> Result<Self, DatabaseOpenError> {
        let options = await_postgres_connect_options(url).await?.statement_cache_capacity(PREPARED_STATEMENTS);
        let pools = connect(options, (connections, search_time)).await.map_err(DatabaseOpenError::Connect)?;
        Ok(Self::new(PerEngine::Postgres(pools), search_time))
    }

    async fn open_file(data_dir: &Path, search_time: Duration) -> Result<Self, DatabaseOpenError> {
        let files = files(data_dir);
        let _locked = files.create_and_lock().await?;
        let options = files.connect_options().statement_cache_capacity(PREPARED_STATEMENTS);
        let watch = Stopwatch::new();
        // A transaction that outgrows the memory for pages writes them before its end and reads them again.
        let writer = options
            .clone()
            .pragma("cache_size", WRITER_CACHE)
            .pragma("temp_store", "MEMORY")
            .pragma("wal_autocheckpoint", LOG_PAGES);
        let writer = writer_options(&watch).connect_with(writer).await.map_err(DatabaseOpenError::Connect)?;
        let reading = options.pragma("query_only", "ON");
        let readers = Readers::open(reading.clone(), SQLITE_READERS, CONNECTION_ACQUIRE_TIMEOUT).await;
        let readers = readers.map_err(DatabaseOpenError::Connect)?;
        let searchers = Readers::limited(reading, SQLITE_SEARCHERS, search_time);
        let shared = Arc::new(GroupCommit::start(writer.clone()));
        let pools = SqlitePools { writer, watch, readers, searchers, shared, files };
        Ok(Self::new(PerEngine::Sqlite(pools), search_time))
    }

    fn new(pools: PerEngine<PgPools, SqlitePools>, search_time: Duration) -> Self {
        let shared = match &pools {
            PerEngine::Postgres(pools) => SharedWork::start(PerEngine::Postgres(pools.all.clone())),
            PerEngine::Sqlite(pools) => {
                SharedWork::start(PerEngine::Sqlite((pools.readers.clone(), Arc::clone(&pools.shared))))
            }
        };
        let (tables, index, strewn_rows) = (RwLock::default(), RwLock::default(), AtomicBool::new(false));
        let conditions = Semaphore::new(match &pools {
            // Half of the connections stay free for what does not search.
            PerEngine::Postgres(pools) => {
                usize::try_from(pools.all.options().get_max_connections() / 2).unwrap_or(1).max(1)
            }
            PerEngine::Sqlite(_) => SQLITE_CONDITIONS,
        });
        let probe = WriteProbe::default();
        let few = AtomicI64::new(FEW);
        Self(Arc::new(Inner { pools, shared, tables, search_time, few, conditions, index, strewn_rows, probe }))
    }

    /// Returns the name of the engine for logs and messages: `Postgres` or `SQLite`.
    #[must_use]
    pub fn engine_name(&self) -> &'static str {
        self.dialect().engine_name()
    }

    /// Returns an error unless the database answers a query.
    ///
    /// # Errors
    /// When it does not, after ten seconds at most.
    pub async fn ping(&self) -> Result<(), sqlx::Error> {
        let (_one,): (i64,) = run!(self.reader(), fetch_one: sqlx::query_as(WriteProbe::READ_STATEMENT))?;
        Ok(())
    }

    /// Returns an error unless the database accepts writes, by committing one row.
    ///
    /// A SQLite database whose writer is busy with a longer transaction accepts writes, so for up to 30 seconds after
    /// the last successful write it is enough that it answers a query.
    ///
    /// # Errors
    /// When the write fails or does not end within 700 ms, and the query on a busy SQLite database fails too.
    pub async fn check_writable(&self) -> Result<(), sqlx::Error> {
        let write = async { run!(self.writer(), execute: sqlx::query(WriteProbe::WRITE_STATEMENT)) };
        self.0.probe.check_writable(self.dialect(), write, self.ping()).await
    }

    /// Waits until the database has not answered for some seconds; returns at once while that lasts, and never on
    /// SQLite, whose waits end by themselves.
    pub async fn wait_until_stalled(&self) {
        match &self.0.pools {
            PerEngine::Postgres(pools) => pools.attendant.stalled().await,
            PerEngine::Sqlite(_) => std::future::pending().await,
        }
    }

    /// Waits until a background task of the database has ended although the database was not closed.
    pub async fn wait_for_unexpected_task_end(&self) -> UnexpectedTaskEnd {
        poll_fn(|context| {
            let Inner { pools, shared, .. } = &*self.0;
            let of_pools = match pools {
                PerEngine::Postgres(pools) => pools.attendant.poll_ended(context),
                PerEngine::Sqlite(pools) => pools.shared.poll_ended(context),
            };
            if of_pools.is_ready() { of_pools } else { shared.poll_ended(context) }
        })
        .await
    }

    /// Runs `work` under the startup lock, which only one node of the deployment or one process on the data directory
    /// holds at a time.
    ///
    /// The lock belongs to a connection (on SQLite to an open file), so a node that dies releases it. `work` may use
    /// the database in any way, but must not take the lock again.
    ///
    /// # Errors
    /// [`StartupLockError`] when the lock cannot be acquired, and `work` was not run then; also when it cannot be
    /// released afterwards.
    pub async fn with_startup_lock<T>(&self, work: impl Future<Output = T>) -> Result<T, StartupLockError> {
        match &self.0.pools {
            PerEngine::Postgres(PgPools { all: pool, .. }) => {
                // Detached, so that dropping it closes the session and with it the lock, even
                // when `work` is cancelled half way.
                let mut session = pool.acquire().await?.detach();
                // Asked for again and again: a statement that waits holds a snapshot, and a migration
                // that builds an index concurrently waits for every older snapshot.
                while !sqlx::query_scalar::<_, bool>(TRY_START_LOCK).bind(START_LOCK).fetch_one(&mut session).await? {
                    tokio::time::sleep(START_LOCK_POLL).await;
                }
                let done = work.await;
                session.close().await?;
                Ok(done)
            }
            PerEngine::Sqlite(pools) => {
                let _locked = pools.files.wait_for_lock().await?;
                Ok(work.await)
            }
        }
    }

    /// Runs SQL that a user wrote, one or more statements in the dialect of the engine, in one transaction.
    ///
    /// The transaction has a dedicated session that ends with it: no other caller is affected by what the SQL sets, or
    /// by a transaction that it ends or leaves open.
    ///
    /// # Errors
    /// The outer error means that the engine failed, the inner one that it refused the SQL. In either case nothing is
    /// stored, unless the SQL itself ended the transaction.
    pub async fn run_user_sql(&self, sql: &str) -> Result<Result<(), UserSqlError>, sqlx::Error> {
        let session = self.session().await?;
        let mut tx = session.begin().await?;
        let ran = match script::run(tx.on(), sql).await {
            Ok(()) => {
                tx.commit().await.map_err(|error| script::fault(error, self.engine_name(), SqlPosition::WHOLE_TEXT))
            }
            Err(fault) => tx.roll_back().await.map_err(ScriptFault::Failed).and(Err(fault)),
        };
        session.close().await;
        self.after_users_sql().await?;
        match ran {
            Ok(()) => Ok(Ok(())),
            Err(ScriptFault::Refused(refused)) => Ok(Err(refused)),
            Err(ScriptFault::Failed(error)) => Err(error),
        }
    }

    /// Closes every connection after its current statement.
    pub async fn close(&self) {
        match &self.0.pools {
            PerEngine::Postgres(pools) => {
                pools.searchers.close().await;
                pools.attendant.end().await;
                pools.all.close().await;
            }
            PerEngine::Sqlite(pools) => {
                pools.searchers.close().await;
                pools.readers.close().await;
                pools.writer.close().await;
                pools.shared.end().await;
            }
        }
        self.0.shared.end().await;
    }

    pub(crate) fn dialect(&self) -> SqlDialect {
        self.0.pools.dialect()
    }

    /// Returns the connections for a single statement that only reads; its rows are returned all at once.
    pub(crate) fn reader(&self) -> PerEngine<&PgPool, &Readers> {
        match &self.0.pools {
            PerEngine::Postgres(pools) => PerEngine::Postgres(&pools.all),
            PerEngine::Sqlite(pools) => PerEngine::Sqlite(&pools.readers),
        }
    }

    /// Returns the connections of searches, whose statements are ended after [`AuthDatabase::search_time`]; rows are
    /// returned all at once.
    pub(crate) fn searcher(&self) -> PerEngine<&PgSearchers, &Readers> {
        match &self.0.pools {
            PerEngine::Postgres(pools) => PerEngine::Postgres(&pools.searchers),
            PerEngine::Sqlite(pools) => PerEngine::Sqlite(&pools.searchers),
        }
    }

    /// As few resources as a search looks at one by one, and sorts; of more it walks the order of the answer.
    pub(crate) fn few(&self) -> i64 {
        self.0.few.load(Ordering::Relaxed)
    }

    /// Sets the number of matching resources up to which a search reads and sorts all of them; for tests.
    #[doc(hidden)]
    pub fn set_small_result_threshold(&self, few: i64) {
        self.0.few.store(few, Ordering::Relaxed);
    }

    /// Returns the time limit of a statement of a search.
    pub(crate) fn search_time(&self) -> Duration {
        self.0.search_time
    }

    /// Returns the turn of a transaction that searches before it writes, until it is dropped. It holds what others wait
    /// for, so only a few do at the same time.
    pub(crate) async fn condition_turn(&self) -> Result<SemaphorePermit<'_>, sqlx::Error> {
        let turn = timeout(CONNECTION_ACQUIRE_TIMEOUT, self.0.conditions.acquire());
        turn.await.map_err(|_| sqlx::Error::PoolTimedOut)?.map_err(|_| sqlx::Error::PoolClosed)
    }

    /// Returns the connections for a single statement that writes, which is a transaction by itself.
    pub(crate) fn writer(&self) -> PerEngine<&PgPool, &SqlitePool> {
        match &self.0.pools {
            PerEngine::Postgres(pools) => PerEngine::Postgres(&pools.all),
            PerEngine::Sqlite(pools) => PerEngine::Sqlite(&pools.writer),
        }
    }

    /// Returns the connections on which one statement may insert inside a query (Postgres), or transactions share a
    /// commit (SQLite).
    pub(crate) fn fastest(&self) -> PerEngine<&PgPool, &GroupCommit> {
        match &self.0.pools {
            PerEngine::Postgres(pools) => PerEngine::Postgres(&pools.all),
            PerEngine::Sqlite(pools) => PerEngine::Sqlite(pools.shared.as_ref()),
        }
    }

    /// Returns the batcher that reads resources by id.
    pub(crate) fn reads(&self) -> &Reading {
        &self.0.shared.reads
    }

    /// Returns the batcher that reads the states of authorizations.
    pub(crate) fn visits(&self) -> &Batcher<Visits> {
        &self.0.shared.visits
    }

    /// Returns the batcher that inserts codes under existing grants.
    pub(crate) fn codes(&self) -> &Batcher<Inserts<AuthorizationCodeRecord>> {
        &self.0.shared.codes
    }

    /// Returns the batcher that inserts opaque tokens of Clients.
    pub(crate) fn opaque_tokens(&self) -> &Batcher<Inserts<IssuedOpaque>> {
        &self.0.shared.opaque_tokens
    }

    /// Returns the batcher that reads the status of callers.
    pub(crate) fn statuses(&self) -> &Batcher<CallerStatuses> {
        &self.0.shared.statuses
    }

    /// Gives back the memory for pages of the connection that writes a SQLite database.
    pub(crate) async fn release_pages(&self) -> Result<(), sqlx::Error> {
        if let PerEngine::Sqlite(pools) = &self.0.pools {
            sqlx::query(RELEASE_PAGES).execute(&pools.writer).await?;
        }
        Ok(())
    }

    /// Begins a transaction that may write. Each statement sees what was committed before it.
    pub(crate) async fn begin(&self) -> Result<Tx, sqlx::Error> {
        let interrupt = match &self.0.pools {
            PerEngine::Postgres(pools) => Interrupt::Postgres(pools.attendant.canceller()),
            PerEngine::Sqlite(pools) => Interrupt::Sqlite(pools.watch.clone()),
        };
        begin(self.writer(), Some(interrupt)).await
    }

    /// Opens a session beside the pools, for SQL that may leave traces in it.
    pub(crate) async fn session(&self) -> Result<Session, sqlx::Error> {
        Ok(Session(match &self.0.pools {
            PerEngine::Postgres(pools) => {
                // A migration may take hours; limits that suit requests are not for it.
                let limits = [("statement_timeout", "0"), ("idle_in_transaction_session_timeout", "0")];
                let options = pools.all.connect_options().as_ref().clone().options(limits);
                PerEngine::Postgres(PgPoolOptions::new().max_connections(1).connect_with(options).await?)
            }
            PerEngine::Sqlite(pools) => {
                let options = pools.writer.connect_options().as_ref().clone();
                PerEngine::Sqlite(SqlitePoolOptions::new().max_connections(1).connect_with(options).await?)
            }
        }))
    }

    /// Returns the table of a type, if it is known to exist.
    pub(crate) fn known_table(&self, kind: &str) -> Option<Table> {
        let tables = self.0.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.get(kind).cloned()
    }

    /// Remembers tables that exist and are committed.
    pub(crate) fn remember_tables(&self, found: impl IntoIterator<Item = Table>) {
        let mut tables = self.0.tables.write().unwrap_or_else(PoisonError::into_inner);
        tables.extend(found.into_iter().map(|table| (table.kind().to_owned(), table)));
    }

    /// Returns the index of searches as it is known; whoever uses it compares it with the database.
    pub(crate) fn known_index(&self) -> Option<Arc<Index>> {
        self.0.index.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers the index as it was committed, unless a newer one is known.
    pub(crate) fn remember_index(&self, index: &Arc<Index>) {
        let mut known = self.0.index.write().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|known| known.is_older_than(index)) {
            *known = Some(Arc::clone(index));
        }
    }

    /// Returns whether the index has rows that it cannot have by the rules, as far as is known here.
    pub(crate) fn has_strewn_rows(&self) -> bool {
        self.0.strewn_rows.load(Ordering::Relaxed)
    }

    /// Remembers that it has; from then on each row is compared with what is there.
    pub(crate) fn remember_strewn_rows(&self) {
        if !self.0.strewn_rows.swap(true, Ordering::Relaxed) {
            tracing::warn!("the index of searches has rows of resources that somebody wrote past the server");
        }
    }

    /// Looks again at what users' SQL may have changed when nobody watched its transaction.
    pub(crate) async fn after_users_sql(&self) -> Result<(), sqlx::Error> {
        self.forget_tables();
        let mut tx = self.begin().await?;
        watch_all(&mut tx).await?;
        tx.commit().await?;
        self.renew_index().await
    }

    /// Forgets which tables exist: users' SQL may have dropped some.
    pub(crate) fn forget_tables(&self) {
        let mut tables = self.0.tables.write().unwrap_or_else(PoisonError::into_inner);
        tables.clear();
    }
}

/// A connection of its own, closed after use.
pub(crate) struct Session(PerEngine<PgPool, SqlitePool>);

impl Session {
    /// Returns the one connection, on which statements run outside of any transaction.
    pub(crate) fn pool(&self) -> PerEngine<&PgPool, &SqlitePool> {
        match &self.0 {
            PerEngine::Postgres(pool) => PerEngine::Postgres(pool),
            PerEngine::Sqlite(pool) => PerEngine::Sqlite(pool),
        }
    }

    pub(crate) async fn begin(&self) -> Result<Tx, sqlx::Error> {
        begin(self.pool(), None).await
    }

    pub(crate) async fn close(&self) {
        match &self.0 {
            PerEngine::Postgres(pool) => pool.close().await,
            PerEngine::Sqlite(pool) => pool.close().await,
        }
    }
}

/// Begins a transaction that may write on a connection of this pool.
pub(crate) async fn begin(
    pool: PerEngine<&PgPool, &SqlitePool>,
    interrupt: Option<Interrupt>,
) -> Result<Tx, sqlx::Error> {
    Ok(Tx::new(EngineTransaction::begin(pool).await?, interrupt))
}
