//! The database: opening it, one connection pool per kind of work, transactions, closing.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chat_core::ports::StoreError;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection as _, SqliteConnection};
use tokio::time::{Instant, timeout};

use crate::dialect::Dialect;
use crate::engine::{On, PgTx, PooledPg, Tx, run};
use crate::fault::{OpenError, failed};
use crate::pg_pools::PgPools;
use crate::schema;
use crate::searcher::Searcher;

/// Name of the SQLite database in the data directory.
const DATABASE_FILE: &str = "chat.db";
/// Name of the file that processes sharing a data directory lock.
const LOCK_FILE: &str = "chat.lock";
/// Connections that read a SQLite database beside its one writer. Each costs a thread.
const SQLITE_READERS: u32 = 4;
/// How long a SQLite statement waits for another process to finish its write.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a caller waits for a free connection before its request fails.
pub(crate) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// Searches by words at the same time; others wait. Each is a connection, opened when it is needed.
pub(crate) const WORDS_CONNECTIONS: u32 = 2;
/// How long a search may take unless the caller sets another time.
const SEARCH_TIME_MS: u64 = 5_000;
/// Rows a statement on SQLite may be ahead of who reads them.
const ROWS_BUFFERED: usize = 512;
/// How long the probe of a write waits for the connection and the commit.
const PROBE_MAX: Duration = Duration::from_millis(700);
/// For how long the one writer of SQLite may be busy with a transaction before that counts as a failure.
const WRITER_BUSY_MAX: Duration = Duration::from_secs(30);
const PROBE: &str = "UPDATE server_health SET probes = probes + 1 WHERE one = 1";
const NOW_POSTGRES: &str = "SELECT CAST(extract(epoch FROM clock_timestamp()) AS BIGINT)";
/// Statements kept prepared per connection.
pub(crate) const PREPARED_STATEMENTS: usize = 256;

/// The chat database. Cloning it is cheap and gives another handle on the same one.
#[derive(Debug, Clone)]
pub struct Db(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    pools: On<PgPools, SqlitePools>,
    /// When a probe was last written, or the database opened.
    probed: Mutex<Instant>,
    /// How long a search may take, in milliseconds.
    search_time: Arc<AtomicU64>,
}

#[derive(Debug)]
struct SqlitePools {
    /// One connection: SQLite has one writer at a time, and waiting here costs less than there.
    writer: SqlitePool,
    readers: SqlitePool,
    /// For searches by words alone: what else is read never waits for them.
    words: SqlitePool,
}

impl Db {
    /// Connections to Postgres that suit a node with a few cores.
    pub const DEFAULT_CONNECTIONS: u32 = 16;

    /// Opens the database and brings its schema up to date, under a lock, so that any number of
    /// nodes may do it at once.
    ///
    /// With a `postgres://` URL, at most `connections` connections to that database,
    /// and six at least, and two more while somebody searches by words; without one,
    /// the SQLite file `chat.db` in `data_dir`, which is created, readable by its owner alone,
    /// when it does not exist.
    ///
    /// # Errors
    /// See [`OpenError`]. Nothing is left open then.
    pub async fn open(url: Option<&str>, data_dir: &Path, connections: u32) -> Result<Self, OpenError> {
        let db = if let Some(url) = url {
            Self::connect(url, connections).await?
        } else {
            Self::open_file(data_dir).await?
        };
        db.prepared().await
    }

    /// Opens a database that [`Db::open`] made before, for commands that have nothing to do in an empty one.
    ///
    /// # Errors
    /// See [`OpenError`]; [`OpenError::Absent`] when there is none. Nothing is created then.
    pub async fn open_existing(url: Option<&str>, data_dir: &Path, connections: u32) -> Result<Self, OpenError> {
        let db = if let Some(url) = url {
            Self::connect(url, connections).await?
        } else {
            let file = data_dir.join(DATABASE_FILE);
            // An empty file is what an interrupted first start leaves behind.
            if file.metadata().map_or(0, |file| file.len()) == 0 {
                return Err(OpenError::Absent);
            }
            Self::open_file(data_dir).await?
        };
        match schema::is_there(&db).await {
            Ok(true) => db.prepared().await,
            absent => {
                db.close().await;
                Err(absent.map_or_else(OpenError::Connect, |_| OpenError::Absent))
            }
        }
    }

    /// The database with its schema up to date.
    async fn prepared(self) -> Result<Self, OpenError> {
        let db = self;
        if let Err(error) = schema::apply(&db).await {
            db.close().await;
            return Err(error);
        }
        Ok(db)
    }

    async fn connect(url: &str, connections: u32) -> Result<Self, OpenError> {
        let search_time = Arc::new(AtomicU64::new(SEARCH_TIME_MS));
        let pools = PgPools::connect(url, (connections, Arc::clone(&search_time))).await?;
        Ok(Self::new(On::Postgres(pools), search_time))
    }

    async fn open_file(data_dir: &Path) -> Result<Self, OpenError> {
        let lock_file = create_files(data_dir)?;
        // Two processes that turn a new file into a write-ahead log at once get in each other's
        // way, whatever the busy timeout.
        let _locked =
            lock(lock_file.clone()).await.map_err(|source| OpenError::DataDir { path: lock_file.clone(), source })?;
        let options = SqliteConnectOptions::new()
            .filename(data_dir.join(DATABASE_FILE))
            .journal_mode(SqliteJournalMode::Wal)
            // With FULL every commit is on the disk before it is answered.
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT)
            // Between the thread of a connection and who waits for its rows: with fewer the two wait for each other.
            .row_buffer_size(ROWS_BUFFERED)
            .statement_cache_capacity(PREPARED_STATEMENTS);
        let pool = |connections| {
            SqlitePoolOptions::new()
                .max_connections(connections)
                .acquire_timeout(ACQUIRE_TIMEOUT)
                .test_before_acquire(false)
                .idle_timeout(None)
                .max_lifetime(None)
                // A transaction that SQLite ended by itself, as it may when the disk is full, is one that the driver
                // cannot end; on such a connection nothing can begin any more.
                .before_acquire(|connection, _| Box::pin(async move { Ok(is_between_transactions(connection)) }))
        };
        let writer = pool(1).connect_with(options.clone()).await.map_err(OpenError::Connect)?;
        let reading = options.pragma("query_only", "ON");
        let words = pool(WORDS_CONNECTIONS).connect_lazy_with(reading.clone());
        let readers = pool(SQLITE_READERS).connect_with(reading).await.map_err(OpenError::Connect)?;
        let search_time = Arc::new(AtomicU64::new(SEARCH_TIME_MS));
        Ok(Self::new(On::Sqlite(SqlitePools { writer, readers, words }), search_time))
    }

    fn new(pools: On<PgPools, SqlitePools>, search_time: Arc<AtomicU64>) -> Self {
        Self(Arc::new(Inner { pools, probed: Mutex::new(Instant::now()), search_time }))
    }

    /// Sets how long a search may take, five seconds before. On Postgres it holds for connections that are opened later,
    /// so the caller sets it before the first search.
    pub fn limit_searches(&self, time: Duration) {
        let time_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
        self.0.search_time.store(time_ms, Ordering::Relaxed);
    }

    /// Returns how long a search may take.
    pub(crate) fn search_time(&self) -> Duration {
        Duration::from_millis(self.0.search_time.load(Ordering::Relaxed))
    }

    /// The engine in use, for logs and messages: `Postgres` or `SQLite`.
    #[must_use]
    pub fn engine_name(&self) -> &'static str {
        self.dialect().engine_name()
    }

    /// Whether the database answers.
    ///
    /// # Errors
    /// When it does not, after ten seconds at most.
    pub async fn ping(&self) -> Result<(), sqlx::Error> {
        let (_one,): (i64,) = run!(self.reader(), fetch_one: sqlx::query_as("SELECT CAST(1 AS BIGINT)"))?;
        Ok(())
    }

    /// Whether the database takes writes: writes one row and commits it.
    ///
    /// A SQLite database whose writer is busy with a longer transaction takes writes, so while that lasts, for half a
    /// minute at most, it is enough that the database answers.
    ///
    /// # Errors
    /// When it does not, after a second at most.
    pub async fn probe(&self) -> Result<(), sqlx::Error> {
        let write = async { run!(self.writer(), execute: sqlx::query(PROBE)) };
        let Ok(written) = timeout(PROBE_MAX, write).await else {
            let busy = self.0.probed.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
            let may_be_busy = matches!(self.dialect(), Dialect::Sqlite) && busy < WRITER_BUSY_MAX;
            return if may_be_busy { self.ping().await } else { Err(sqlx::Error::PoolTimedOut) };
        };
        written?;
        *self.0.probed.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Ok(())
    }

    /// Returns the time of the database server in unix seconds; `None` on SQLite, which has no other clock than ours.
    pub(crate) async fn now_s(&self) -> Result<Option<i64>, StoreError> {
        match &self.0.pools {
            On::Postgres(_) => {
                run!(self.reader(), fetch_one: sqlx::query_scalar(NOW_POSTGRES)).map(Some).map_err(failed)
            }
            On::Sqlite(_) => Ok(None),
        }
    }

    /// Closes every connection, after what runs on it is done.
    pub async fn close(&self) {
        match &self.0.pools {
            On::Postgres(pools) => pools.close().await,
            On::Sqlite(pools) => {
                pools.words.close().await;
                pools.readers.close().await;
                pools.writer.close().await;
            }
        }
    }

    /// Notes whether Postgres is in reach, for as long as it is polled: statements fail while it is not.
    pub(crate) async fn watch(self) {
        match &self.0.pools {
            On::Postgres(pools) => pools.watch().await,
            On::Sqlite(_) => {}
        }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        match &self.0.pools {
            On::Postgres(_) => Dialect::Postgres,
            On::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// Returns where a single statement that only reads runs.
    pub(crate) fn reader(&self) -> On<PooledPg<'_>, &SqlitePool> {
        match &self.0.pools {
            On::Postgres(pools) => On::Postgres(pools.pooled()),
            On::Sqlite(pools) => On::Sqlite(&pools.readers),
        }
    }

    /// A connection that reads the index of words, for the time of a search.
    pub(crate) async fn searcher(&self) -> Result<Searcher, sqlx::Error> {
        match &self.0.pools {
            On::Postgres(pools) => pools.searcher().await,
            On::Sqlite(pools) => Searcher::sqlite(pools.words.acquire().await?, self.search_time()).await,
        }
    }

    /// Returns where a single statement that writes runs, a transaction by itself.
    pub(crate) fn writer(&self) -> On<PooledPg<'_>, &SqlitePool> {
        match &self.0.pools {
            On::Postgres(pools) => On::Postgres(pools.pooled()),
            On::Sqlite(pools) => On::Sqlite(&pools.writer),
        }
    }

    /// Begins a transaction that may write. Each statement sees what was committed before it.
    pub(crate) async fn begin(&self) -> Result<Tx, sqlx::Error> {
        Ok(Tx(match self.writer() {
            // Named because a database may be set to another level, and a snapshot taken before a lock was granted would
            // not show what the lock waited for.
            On::Postgres(on) => On::Postgres(begin_postgres(on, "BEGIN ISOLATION LEVEL READ COMMITTED").await?),
            // IMMEDIATE: a read that turns into a write later fails at once when another process wrote in between,
            // whatever the busy timeout.
            On::Sqlite(pool) => On::Sqlite(pool.begin_with("BEGIN IMMEDIATE").await?),
        }))
    }

    /// Begins a transaction that only reads. All its statements see the same state.
    pub(crate) async fn begin_reading(&self) -> Result<Tx, sqlx::Error> {
        Ok(Tx(match self.reader() {
            On::Postgres(on) => {
                On::Postgres(begin_postgres(on, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?)
            }
            On::Sqlite(pool) => On::Sqlite(pool.begin().await?),
        }))
    }

    /// Returns the connections to Postgres, for what it alone can do.
    pub(crate) fn postgres(&self) -> Option<&PgPools> {
        match &self.0.pools {
            On::Postgres(pools) => Some(pools),
            On::Sqlite(_) => None,
        }
    }
}

async fn begin_postgres(PooledPg { pool, outage }: PooledPg<'_>, begin: &'static str) -> Result<PgTx, sqlx::Error> {
    let tx = outage.bound(pool.begin_with(begin)).await?;
    Ok(PgTx { tx, outage: outage.clone() })
}

/// Returns whether a connection of SQLite can begin a transaction.
fn is_between_transactions(connection: &SqliteConnection) -> bool {
    let is_fit = !connection.is_in_transaction();
    if !is_fit {
        tracing::warn!("a connection was replaced: its last transaction could not be ended");
    }
    is_fit
}

/// Creates the data directory and its files, for the owner alone: credentials are kept there.
/// Returns the path of the lock file.
fn create_files(data_dir: &Path) -> Result<PathBuf, OpenError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| OpenError::DataDir { path, source }
    };
    let mut directory = std::fs::DirBuilder::new();
    let mut file = std::fs::OpenOptions::new();
    directory.recursive(true);
    file.create(true).append(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        directory.mode(0o700);
        file.mode(0o600);
    }
    directory.create(data_dir).map_err(failed(data_dir))?;
    let lock_file = data_dir.join(LOCK_FILE);
    for path in [&data_dir.join(DATABASE_FILE), &lock_file] {
        file.open(path).map_err(failed(path))?;
    }
    Ok(lock_file)
}

/// Waits for the lock on a file; it is given back when the returned file is dropped.
async fn lock(path: PathBuf) -> std::io::Result<std::fs::File> {
    tokio::task::spawn_blocking(move || {
        let file = std::fs::File::options().append(true).open(path)?;
        file.lock()?;
        Ok(file)
    })
    .await
    .map_err(std::io::Error::other)?
}
