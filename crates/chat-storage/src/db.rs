//! The database: opening it, one connection pool per kind of work, transactions, closing.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chat_core::StoreError;
use sql_engines::{
    BEGIN_WRITE_POSTGRES, BEGIN_WRITE_SQLITE, DatabaseOpenError, PerEngine, SqlDialect, SqliteDataDir, WriteProbe,
    sqlite_pool_options,
};
use sqlx::sqlite::SqlitePool;

use crate::engine::{PgTx, PooledPg, Tx, run};
use crate::fault::failed;
use crate::pg_pools::PgPools;
use crate::schema;
use crate::search_connections::SearchConnection;

/// Connections that read a SQLite database beside its one writer. Each costs a thread.
const SQLITE_READERS: u32 = 4;
/// Searches by words at the same time; others wait. Each is a connection, opened when it is needed.
pub(crate) const WORDS_CONNECTIONS: u32 = 2;
/// How long a search may take unless the caller sets another time.
const SEARCH_TIME_MS: u64 = 5_000;
/// Rows a statement on SQLite may be ahead of who reads them.
const ROWS_BUFFERED: usize = 512;
const NOW_POSTGRES: &str = "SELECT CAST(extract(epoch FROM clock_timestamp()) AS BIGINT)";
/// Statements kept prepared per connection.
pub(crate) const PREPARED_STATEMENTS: usize = 256;

/// The failure of a command that needs a database where there is none.
const ABSENT: DatabaseOpenError = DatabaseOpenError::Absent { server: "chat-server" };

/// Returns the files of the server in a data directory.
fn files(data_dir: &Path) -> SqliteDataDir {
    SqliteDataDir::new(data_dir, "chat")
}

/// The chat database. A clone is another handle to the same one and cheap.
#[derive(Debug, Clone)]
pub struct ChatDatabase(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    pools: PerEngine<PgPools, SqlitePools>,
    probe: WriteProbe,
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

impl ChatDatabase {
    /// The default maximum number of connections to Postgres, which suits a node with a few cores.
    pub const DEFAULT_MAX_CONNECTIONS: u32 = 16;

    /// Opens the database and brings its schema up to date, under a lock, so that any number of nodes may do it at
    /// once.
    ///
    /// With a `postgres://` URL, opens at most `connections` connections to that database, but at least six, and two
    /// more while a user searches by words; without one, the SQLite file `chat.db` in `data_dir`, which is created when
    /// it does not exist, readable by its owner alone.
    ///
    /// # Errors
    /// See [`DatabaseOpenError`]. Nothing is left open then.
    pub async fn open_and_migrate(
        url: Option<&str>,
        data_dir: &Path,
        connections: u32,
    ) -> Result<Self, DatabaseOpenError> {
        let db = if let Some(url) = url {
            Self::connect(url, connections).await?
        } else {
            Self::open_file(data_dir).await?
        };
        db.prepared().await
    }

    /// Opens a database that [`ChatDatabase::open_and_migrate`] created before, for commands that make no sense on an
    /// empty one.
    ///
    /// # Errors
    /// See [`DatabaseOpenError`]; [`DatabaseOpenError::Absent`] when there is none. Nothing is created then.
    pub async fn open_existing_and_migrate(
        url: Option<&str>,
        data_dir: &Path,
        connections: u32,
    ) -> Result<Self, DatabaseOpenError> {
        let db = if let Some(url) = url {
            Self::connect(url, connections).await?
        } else {
            if !files(data_dir).has_database() {
                return Err(ABSENT);
            }
            Self::open_file(data_dir).await?
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

    async fn connect(url: &str, connections: u32) -> Result<Self, DatabaseOpenError> {
        let search_time = Arc::new(AtomicU64::new(SEARCH_TIME_MS));
        let pools = PgPools::connect(url, (connections, Arc::clone(&search_time))).await?;
        Ok(Self::new(PerEngine::Postgres(pools), search_time))
    }

    async fn open_file(data_dir: &Path) -> Result<Self, DatabaseOpenError> {
        let files = files(data_dir);
        let _locked = files.create_and_lock().await?;
        let options = files
            .connect_options()
            // Between the thread of a connection and who waits for its rows: with fewer the two wait for each other.
            .row_buffer_size(ROWS_BUFFERED)
            .statement_cache_capacity(PREPARED_STATEMENTS);
        let writer = sqlite_pool_options(1).connect_with(options.clone()).await.map_err(DatabaseOpenError::Connect)?;
        let reading = options.pragma("query_only", "ON");
        let words = sqlite_pool_options(WORDS_CONNECTIONS).connect_lazy_with(reading.clone());
        let readers =
            sqlite_pool_options(SQLITE_READERS).connect_with(reading).await.map_err(DatabaseOpenError::Connect)?;
        let search_time = Arc::new(AtomicU64::new(SEARCH_TIME_MS));
        Ok(Self::new(PerEngine::Sqlite(SqlitePools { writer, readers, words }), search_time))
    }

    fn new(pools: PerEngine<PgPools, SqlitePools>, search_time: Arc<AtomicU64>) -> Self {
        Self(Arc::new(Inner { pools, probe: WriteProbe::default(), search_time }))
    }

    /// Sets the longest time of a search; the default is five seconds. On Postgres it applies to connections that are
    /// opened later, so the caller sets it before the first search.
    pub fn set_search_timeout(&self, time: Duration) {
        let time_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
        self.0.search_time.store(time_ms, Ordering::Relaxed);
    }

    /// Returns the time limit of a search.
    pub(crate) fn search_time(&self) -> Duration {
        Duration::from_millis(self.0.search_time.load(Ordering::Relaxed))
    }

    /// Returns the name of the database engine, for logs and messages: `Postgres` or `SQLite`.
    #[must_use]
    pub fn engine_name(&self) -> &'static str {
        self.dialect().engine_name()
    }

    /// Checks that the database answers.
    ///
    /// # Errors
    /// When it does not, after ten seconds at most.
    pub async fn ping(&self) -> Result<(), sqlx::Error> {
        let (_one,): (i64,) = run!(self.reader(), fetch_one: sqlx::query_as(WriteProbe::READ_STATEMENT))?;
        Ok(())
    }

    /// Checks that the database is writable: writes one row and commits it.
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

    /// Returns the time of the database server in unix seconds; `None` on SQLite, which has no other clock than ours.
    pub(crate) async fn now_s(&self) -> Result<Option<i64>, StoreError> {
        match &self.0.pools {
            PerEngine::Postgres(_) => {
                run!(self.reader(), fetch_one: sqlx::query_scalar(NOW_POSTGRES)).map(Some).map_err(failed)
            }
            PerEngine::Sqlite(_) => Ok(None),
        }
    }

    /// Closes every connection, after running statements have ended.
    pub async fn close(&self) {
        match &self.0.pools {
            PerEngine::Postgres(pools) => pools.close().await,
            PerEngine::Sqlite(pools) => {
                pools.words.close().await;
                pools.readers.close().await;
                pools.writer.close().await;
            }
        }
    }

    /// Notes whether Postgres is in reach, for as long as it is polled: statements fail while it is not.
    pub(crate) async fn watch(self) {
        match &self.0.pools {
            PerEngine::Postgres(pools) => pools.watch().await,
            PerEngine::Sqlite(_) => {}
        }
    }

    pub(crate) fn dialect(&self) -> SqlDialect {
        self.0.pools.dialect()
    }

    /// Returns the connections for a single statement that only reads.
    pub(crate) fn reader(&self) -> PerEngine<PooledPg<'_>, &SqlitePool> {
        match &self.0.pools {
            PerEngine::Postgres(pools) => PerEngine::Postgres(pools.pooled()),
            PerEngine::Sqlite(pools) => PerEngine::Sqlite(&pools.readers),
        }
    }

    /// A connection that reads the index of words, for the time of a search.
    pub(crate) async fn searcher(&self) -> Result<SearchConnection, sqlx::Error> {
        match &self.0.pools {
            PerEngine::Postgres(pools) => pools.searcher().await,
            PerEngine::Sqlite(pools) => {
                SearchConnection::sqlite(pools.words.acquire().await?, self.search_time()).await
            }
        }
    }

    /// Returns the connections for a single statement that writes, which is a transaction by itself.
    pub(crate) fn writer(&self) -> PerEngine<PooledPg<'_>, &SqlitePool> {
        match &self.0.pools {
            PerEngine::Postgres(pools) => PerEngine::Postgres(pools.pooled()),
            PerEngine::Sqlite(pools) => PerEngine::Sqlite(&pools.writer),
        }
    }

    /// Begins a transaction that may write. Each statement sees what was committed before it.
    pub(crate) async fn begin(&self) -> Result<Tx, sqlx::Error> {
        Ok(Tx(match self.writer() {
            PerEngine::Postgres(on) => PerEngine::Postgres(begin_postgres(on, BEGIN_WRITE_POSTGRES).await?),
            PerEngine::Sqlite(pool) => PerEngine::Sqlite(pool.begin_with(BEGIN_WRITE_SQLITE).await?),
        }))
    }

    /// Begins a transaction that only reads. All its statements see the same state.
    pub(crate) async fn begin_reading(&self) -> Result<Tx, sqlx::Error> {
        Ok(Tx(match self.reader() {
            PerEngine::Postgres(on) => {
                PerEngine::Postgres(begin_postgres(on, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?)
            }
            PerEngine::Sqlite(pool) => PerEngine::Sqlite(pool.begin().await?),
        }))
    }

    /// Returns the connections to Postgres, for what it alone can do.
    pub(crate) fn postgres(&self) -> Option<&PgPools> {
        match &self.0.pools {
            PerEngine::Postgres(pools) => Some(pools),
            PerEngine::Sqlite(_) => None,
        }
    }
}

async fn begin_postgres(PooledPg { pool, outage }: PooledPg<'_>, begin: &'static str) -> Result<PgTx, sqlx::Error> {
    let tx = outage.bound(pool.begin_with(begin)).await?;
    Ok(PgTx { tx, outage: outage.clone() })
}
