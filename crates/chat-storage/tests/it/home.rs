//! A place for a database of one test: a folder, and on Postgres a database of its own.

use std::future::Future;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use chat_storage::{ChatDatabase, ChatStore, DatabaseOpenError, StoredSecretsError};
use secrecy::SecretString;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;
use tokio::task::JoinSet;
use url::Url;

/// Now, in unix seconds.
pub(crate) const NOW_S: i64 = 1_800_000_000;

/// Where the databases of one test live. Opened several times, it is several nodes on one
/// database.
#[derive(Clone)]
pub(crate) struct Home {
    folder: Arc<TempDir>,
    url: Option<String>,
}

impl Home {
    /// One more place beside that of the test, on SQLite.
    pub(crate) fn embedded() -> Self {
        Self { folder: Arc::new(tempfile::tempdir().unwrap()), url: None }
    }

    /// Where a SQLite database is.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// A node on the database.
    pub(crate) async fn open(&self) -> ChatStore {
        ChatStore::start_without_secret(self.try_open().await.unwrap()).await.unwrap()
    }

    /// A node whose operator set a secret.
    pub(crate) async fn open_with(&self, secret: &SecretString) -> Result<ChatStore, StoredSecretsError> {
        ChatStore::start_with_secret(self.try_open().await.unwrap(), Some(secret)).await
    }

    pub(crate) async fn try_open(&self) -> Result<ChatDatabase, DatabaseOpenError> {
        ChatDatabase::open_and_migrate(self.url.as_deref(), self.folder.path(), 8).await
    }

    /// What a second way into the database says to a statement: one text a row.
    pub(crate) async fn ask(&self, sql: &'static str) -> Vec<String> {
        if let Some(url) = &self.url {
            let mut session = PgConnection::connect(url).await.unwrap();
            sqlx::query_scalar(sql).fetch_all(&mut session).await.unwrap()
        } else {
            let options = sqlx::sqlite::SqliteConnectOptions::new().filename(self.folder.path().join("chat.db"));
            let mut session = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
            sqlx::query_scalar(sql).fetch_all(&mut session).await.unwrap()
        }
    }

    /// Runs statements by a second way into the database.
    pub(crate) async fn execute(&self, sql: String) {
        let sql = AssertSqlSafe(sql);
        if let Some(url) = &self.url {
            let mut session = PgConnection::connect(url).await.unwrap();
            sqlx::raw_sql(sql).execute(&mut session).await.unwrap();
        } else {
            let options = sqlx::sqlite::SqliteConnectOptions::new().filename(self.folder.path().join("chat.db"));
            let mut session = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
            sqlx::raw_sql(sql).execute(&mut session).await.unwrap();
            session.close().await.unwrap();
        }
    }

    /// Every row of every table; on SQLite every byte of the database's files.
    pub(crate) async fn dump(&self) -> String {
        let mut dump = String::new();
        if let Some(url) = &self.url {
            let mut session = PgConnection::connect(url).await.unwrap();
            let tables = "SELECT tablename::TEXT FROM pg_tables WHERE schemaname = 'public'";
            let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut session).await.unwrap();
            for table in tables {
                let rows = AssertSqlSafe(format!("SELECT t::TEXT FROM {table} AS t"));
                let rows: Vec<String> = sqlx::query_scalar(rows).fetch_all(&mut session).await.unwrap();
                dump.extend(rows);
            }
        } else {
            for file in ["chat.db", "chat.db-wal"] {
                let bytes = std::fs::read(self.folder.path().join(file)).unwrap_or_default();
                dump += &String::from_utf8_lossy(&bytes);
            }
        }
        dump
    }

    /// Keeps every write to queues waiting until the result is dropped.
    pub(crate) async fn hold_queues(&self) -> Held {
        if let Some(url) = &self.url {
            let mut session = PgConnection::connect(url).await.unwrap();
            sqlx::raw_sql("BEGIN; LOCK TABLE queue IN EXCLUSIVE MODE").execute(&mut session).await.unwrap();
            Held::Postgres { _session: session }
        } else {
            let options = sqlx::sqlite::SqliteConnectOptions::new().filename(self.folder.path().join("chat.db"));
            let mut session = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
            sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut session).await.unwrap();
            Held::Sqlite { _session: session }
        }
    }

    /// The address of another database on the same Postgres; none on SQLite.
    pub(crate) fn url_of(&self, database: &str) -> Option<String> {
        let mut url: Url = self.url.as_deref()?.parse().unwrap();
        url.set_path(database);
        Some(url.into())
    }

    pub(crate) fn is_postgres(&self) -> bool {
        self.url.is_some()
    }
}

/// A session with a lock; it goes with it.
pub(crate) enum Held {
    Postgres { _session: PgConnection },
    Sqlite { _session: sqlx::SqliteConnection },
}

/// Tells a story on SQLite, and on Postgres when `TEST_DATABASE_URL` names a server.
pub(crate) async fn on_every_engine<F>(story: impl Fn(Home) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    story(Home { folder: Arc::new(tempfile::tempdir().unwrap()), url: None }).await;
    if let Some(server) = server() {
        on_postgres(&server, story).await;
    }
}

async fn on_postgres<F>(server: &str, story: impl Fn(Home) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("chat_storage_{}_{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let mut session = PgConnection::connect(server).await.unwrap();
    run(&mut session, format!("CREATE DATABASE {name} TEMPLATE template0")).await;
    let mut url = Url::parse(server).unwrap();
    url.set_path(&name);
    let home = Home { folder: Arc::new(tempfile::tempdir().unwrap()), url: Some(url.into()) };
    // In a task of its own, so that the database goes away also when the story fails.
    let mut running = JoinSet::new();
    running.spawn(story(home));
    let ended = running.join_next().await.unwrap();
    run(&mut session, format!("DROP DATABASE {name} WITH (FORCE)")).await;
    if let Err(failed) = ended {
        std::panic::resume_unwind(failed.into_panic());
    }
}

async fn run(session: &mut PgConnection, sql: String) {
    sqlx::query(AssertSqlSafe(sql)).execute(session).await.unwrap();
}

#[expect(clippy::disallowed_methods, reason = "the one place where these tests are configured")]
fn server() -> Option<String> {
    let server = std::env::var("TEST_DATABASE_URL").ok();
    if server.is_none() {
        let demanded = ["CI", "XTASK_TEST_ALL"].iter().any(|name| std::env::var_os(name).is_some());
        assert!(!demanded, "TEST_DATABASE_URL has to name a Postgres server here");
        println!("TEST_DATABASE_URL is not set: this ran on SQLite alone, not on Postgres");
    }
    server
}

/// A test that is told on every engine.
macro_rules! on_each_engine {
    ($(async fn $name:ident($home:ident) $story:block)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        async fn $name() {
            $crate::home::on_every_engine(|$home: $crate::home::Home| async move $story).await;
        }
    )*};
}
pub(crate) use on_each_engine;
