//! Which engine a test app is on: SQLite, and Postgres when `TOWNS_ON_POSTGRES` is set and `TEST_DATABASE_URL` names a
//! server. That takes some times as long, so `cargo xtask test-all` does it with `--release` alone.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, process, thread};

use chat_storage::{ChatDatabase, ChatStore};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::runtime;
use tokio::sync::OnceCell;
use url::Url;

/// A database on a server, which goes when this is dropped; also when the test fails.
pub(crate) struct Database {
    server: String,
    name: String,
    url: String,
}

impl Database {
    /// One that has the schema, where test apps are on Postgres.
    pub(crate) async fn with_schema() -> Option<Self> {
        static SCHEMA: OnceCell<String> = OnceCell::const_new();
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let server = server()?;
        let schema = SCHEMA.get_or_init(|| schema(&server)).await;
        let name = format!("chat_http_{}_{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        run(&server, format!("CREATE DATABASE {name} TEMPLATE {schema}")).await;
        Some(Self { url: url_of(&server, &name), server, name })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        // The runtime of the test may not wait here.
        let dropped = thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(run(&server, format!("DROP DATABASE {name} WITH (FORCE)")));
        });
        dropped.join().unwrap();
    }
}

/// Opens the store of a test app.
pub(crate) async fn open(database: Option<&Database>, folder: &Path) -> ChatStore {
    let url = database.map(|database| database.url.as_str());
    ChatStore::start_without_secret(ChatDatabase::open_and_migrate(url, folder, 4).await.unwrap()).await.unwrap()
}

/// A database with the schema and nobody in it. It stays: whoever runs these tests on Postgres has a server for them.
async fn schema(server: &str) -> String {
    let name = format!("chat_http_{}_schema", process::id());
    run(server, format!("CREATE DATABASE {name} TEMPLATE template0")).await;
    let folder = tempfile::tempdir().unwrap();
    ChatDatabase::open_and_migrate(Some(&url_of(server, &name)), folder.path(), 4).await.unwrap().close().await;
    name
}

fn url_of(server: &str, name: &str) -> String {
    let mut url = Url::parse(server).unwrap();
    url.set_path(name);
    url.into()
}

async fn run(server: &str, sql: String) {
    let mut session = PgConnection::connect(server).await.unwrap();
    sqlx::query(AssertSqlSafe(sql)).execute(&mut session).await.unwrap();
    session.close().await.unwrap();
}

#[expect(clippy::disallowed_methods, reason = "the one place where these tests are configured")]
fn server() -> Option<String> {
    env::var_os("TOWNS_ON_POSTGRES")?;
    Some(env::var("TEST_DATABASE_URL").expect("TEST_DATABASE_URL has to name a Postgres server"))
}
