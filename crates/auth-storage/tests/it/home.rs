//! A place for a database of one test: a folder, and on Postgres a database of its own.

use std::future::Future;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use auth_storage::{AuthDatabase, DatabaseOpenError};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;
use tokio::task::JoinSet;
use url::Url;

use crate::late_statements::LateStatements;

/// The time most tests take for now, in unix seconds: early in a window of an hour.
pub(crate) const NOW_S: i64 = 500_000 * 3600 + 60;
/// The same in microseconds.
pub(crate) const NOW_US: i64 = NOW_S * 1_000_000;

/// Where the databases of one test live. Opened several times, it is several nodes on one
/// database.
#[derive(Clone)]
pub(crate) struct Home {
    folder: Arc<TempDir>,
    url: Option<String>,
}

impl Home {
    pub(crate) async fn open(&self) -> AuthDatabase {
        self.try_open().await.unwrap()
    }

    /// With this time for a statement of a search.
    pub(crate) async fn open_limited(&self, search_time: Duration) -> AuthDatabase {
        AuthDatabase::open_with_search_limit(self.url.as_deref(), self.folder.path(), (8, search_time)).await.unwrap()
    }

    /// As [`Home::open_limited`], over a network on which statements arrive late; nothing on SQLite.
    pub(crate) async fn open_with_late_statements(
        &self,
        search_time: Duration,
    ) -> Option<(AuthDatabase, LateStatements)> {
        let network = LateStatements::to(self.url.as_deref()?).await;
        let db = AuthDatabase::open_with_search_limit(Some(&network.url), self.folder.path(), (8, search_time))
            .await
            .unwrap();
        Some((db, network))
    }

    pub(crate) async fn try_open(&self) -> Result<AuthDatabase, DatabaseOpenError> {
        AuthDatabase::open(self.url.as_deref(), self.folder.path(), 8).await
    }

    pub(crate) async fn open_existing_and_migrate(&self) -> Result<AuthDatabase, DatabaseOpenError> {
        AuthDatabase::open_existing_and_migrate(self.url.as_deref(), self.folder.path(), 8).await
    }

    /// What a second way into the database says to a statement: one text a row.
    pub(crate) async fn ask(&self, sql: &'static str) -> Vec<String> {
        if let Some(url) = &self.url {
            let mut session = PgConnection::connect(url).await.unwrap();
            sqlx::query_scalar(sql).fetch_all(&mut session).await.unwrap()
        } else {
            let options = sqlx::sqlite::SqliteConnectOptions::new().filename(self.folder.path().join("auth.db"));
            let mut session = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
            sqlx::query_scalar(sql).fetch_all(&mut session).await.unwrap()
        }
    }

    /// Locks a table of a Postgres database until the returned session is dropped: every statement that reads it hangs.
    pub(crate) async fn lock(&self, table: &'static str) -> Option<PgConnection> {
        let mut session = PgConnection::connect(self.url.as_deref()?).await.unwrap();
        run(&mut session, "BEGIN".to_owned()).await;
        run(&mut session, format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")).await;
        Some(session)
    }

    pub(crate) fn is_postgres(&self) -> bool {
        self.url.is_some()
    }
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
    let name = format!("auth_storage_{}_{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let mut session = PgConnection::connect(server).await.unwrap();
    run(&mut session, format!("CREATE DATABASE {name} TEMPLATE template0")).await;
    let mut url = Url::parse(server).unwrap();
    url.set_path(&name);
    let home = Home { folder: Arc::new(tempfile::tempdir().unwrap()), url: Some(url.into()) };
    // In a task of its own, so that the database goes away also when the story fails.
    let mut told = JoinSet::new();
    told.spawn(story(home));
    let ended = told.join_next().await.unwrap();
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
macro_rules! told {
    ($(async fn $name:ident($home:ident) $story:block)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        async fn $name() {
            $crate::home::on_every_engine(|$home: $crate::home::Home| async move $story).await;
        }
    )*};
}
pub(crate) use told;
