//! The Postgres database of one deployment.

use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// A database of one deployment on the server of `TEST_DATABASE_URL`.
pub(super) struct Postgres {
    server: String,
    name: String,
    pub(super) url: String,
}

impl Postgres {
    #[expect(clippy::disallowed_methods, reason = "the one place where these tests are configured")]
    pub(super) async fn create() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let server = std::env::var("TEST_DATABASE_URL").ok()?;
        let name = format!("auth_http_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut url = url::Url::parse(&server).unwrap();
        url.set_path(&name);
        let postgres = Self { server, url: url.into(), name };
        postgres.run(format!("CREATE DATABASE {} TEMPLATE template0", postgres.name)).await;
        Some(postgres)
    }

    pub(super) async fn drop_database(self) {
        self.run(format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
    }

    async fn run(&self, sql: String) {
        let mut session = PgConnection::connect(&self.server).await.unwrap();
        sqlx::query(AssertSqlSafe(sql)).execute(&mut session).await.unwrap();
    }
}
