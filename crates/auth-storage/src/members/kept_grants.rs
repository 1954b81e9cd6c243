//! Codes under grants that are there already, of all who come back at one moment.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use oauth_core::ports::{CodeIssue, IssuedCode};
use serde_json::{Value, json};
use sqlx::{PgConnection, PgPool, Postgres, SqliteConnection};
use tokio::sync::Mutex;

use crate::batches::{Answers, Kept};
use crate::dialect::{Dialect, Sql, hex};
use crate::engine::{On, Tx, run};
use crate::fault::retried;
use crate::shared::{SharedCommits, Work};

/// `$1` is `[[hash in hex, app, family, grant, authorization, expiry], …]`; returned are the hashes of those
/// that were stored. Nothing is written of a grant, nor is it locked: a code that is stored while its grant goes
/// away finds none.
static INSERT: Sql = Sql::new(
    "INSERT INTO authorization_code (hash, client_id, family_id, grant_id, authorization_json, expires_s)
SELECT {from_hex:e.value ->> 0}, e.value ->> 1, e.value ->> 2, g.id, e.value ->> 4, CAST(e.value ->> 5 AS BIGINT)
FROM {elements:$1} JOIN member_grant g ON g.id = e.value ->> 3
RETURNING hash",
);

/// Stores codes, on SQLite in a commit that others may share.
pub(crate) struct Codes(On<Kept<Postgres>, Arc<SharedCommits>>);

impl Codes {
    pub(crate) const fn on_postgres(pool: PgPool) -> Self {
        Self(On::Postgres(Kept::new(pool)))
    }

    pub(crate) const fn on_sqlite(shared: Arc<SharedCommits>) -> Self {
        Self(On::Sqlite(shared))
    }
}

#[async_trait]
impl Answers for Codes {
    type Asked = IssuedCode;
    type Answer = CodeIssue;

    async fn answer(&mut self, asked: &[IssuedCode]) -> Result<Vec<CodeIssue>, Arc<sqlx::Error>> {
        let batch = Batch(parameter(asked));
        let stored = match &mut self.0 {
            On::Postgres(kept) => {
                // Never contended: it lets one attempt after the other have the connection.
                let kept = Mutex::new(kept);
                let stored = retried(|| async {
                    let mut kept = kept.lock().await;
                    let stored = batch.store(On::Postgres(kept.connection().await?)).await;
                    stored.inspect_err(|_| kept.rest())
                });
                stored.await.map_err(Arc::new)
            }
            On::Sqlite(shared) => shared.run_for_many(batch).await,
        }?;
        let told = |code: &IssuedCode| {
            if stored.contains(code.hash.as_slice()) { CodeIssue::Issued } else { CodeIssue::GrantChanged }
        };
        Ok(asked.iter().map(told).collect())
    }

    fn rest(&mut self) {
        if let On::Postgres(kept) = &mut self.0 {
            kept.rest();
        }
    }
}

/// The parameter of [`INSERT`].
struct Batch(String);

impl Batch {
    async fn store(&self, on: On<&mut PgConnection, &mut SqliteConnection>) -> Result<HashSet<Vec<u8>>, sqlx::Error> {
        let dialect = match &on {
            On::Postgres(_) => Dialect::Postgres,
            On::Sqlite(_) => Dialect::Sqlite,
        };
        let stored: Vec<Vec<u8>> = run!(on, fetch_all: sqlx::query_scalar(INSERT.on(dialect)).bind(&self.0))?;
        Ok(stored.into_iter().collect())
    }
}

#[async_trait]
impl Work for Batch {
    type Outcome = HashSet<Vec<u8>>;

    async fn run(&self, tx: &mut Tx) -> Result<HashSet<Vec<u8>>, sqlx::Error> {
        self.store(tx.on()).await
    }
}

/// The authorization travels as text within the text, so no character of it is one that Postgres refuses.
fn parameter(asked: &[IssuedCode]) -> String {
    let element = |code: &IssuedCode| {
        let authorization = code.authorization.to_string();
        json!([hex(&code.hash), code.client_id, code.family_id, code.grant_id, authorization, code.expires_s])
    };
    Value::Array(asked.iter().map(element).collect()).to_string()
}
