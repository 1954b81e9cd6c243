//! Rows that are stored under a condition, of all who store one at one moment.

use std::collections::HashSet;
use std::marker::PhantomData;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use sql_engines::{PerEngine, SqlDialect, retry_on_contention, run};
use sqlx::{PgConnection, PgPool, Postgres, SqliteConnection};
use tokio::sync::Mutex;

use crate::batcher::{BatchHandler, Kept};
use crate::dialect::Sql;
use crate::engine::Tx;
use crate::group_commit::{GroupCommit, Work};

/// A row of which a table has one for each hash.
pub(crate) trait HashedRow: Send + Sync + 'static {
    /// The statement that stores rows: `$1` is an array of [`HashedRow::element`]s, and returned are the hashes of
    /// those whose condition held.
    fn insert() -> &'static Sql;

    /// Its hash.
    fn hash(&self) -> &[u8; 32];

    /// Returns the row as an element of the parameter. A document within it travels as text within the text, so no
    /// character of it is one that Postgres refuses.
    fn element(&self) -> Value;
}

/// Stores rows, on SQLite in a commit that others may share. A row is answered with whether it was stored.
pub(crate) struct Inserts<R> {
    on: PerEngine<Kept<Postgres>, Arc<GroupCommit>>,
    rows: PhantomData<fn(R)>,
}

impl<R> Inserts<R> {
    pub(crate) const fn on_postgres(pool: PgPool) -> Self {
        Self { on: PerEngine::Postgres(Kept::new(pool)), rows: PhantomData }
    }

    pub(crate) const fn on_sqlite(shared: Arc<GroupCommit>) -> Self {
        Self { on: PerEngine::Sqlite(shared), rows: PhantomData }
    }
}

#[async_trait]
impl<R: HashedRow> BatchHandler for Inserts<R> {
    type Request = R;
    type Answer = bool;

    const NAME: &'static str = "store codes and opaque tokens";

    async fn answer(&mut self, asked: &[R]) -> Result<Vec<bool>, Arc<sqlx::Error>> {
        // The statement answers with hashes, which would not say which of two rows of one hash was stored: each is then
        // stored alone.
        let hashes: HashSet<_> = asked.iter().map(R::hash).collect();
        if hashes.len() < asked.len() {
            return Err(Arc::new(sqlx::Error::Decode("two rows of one statement have the same hash".into())));
        }
        let parameter = Value::Array(asked.iter().map(R::element).collect()).to_string();
        let batch = Batch { insert: R::insert(), parameter };
        let stored = match &mut self.on {
            PerEngine::Postgres(kept) => {
                // Never contended: it lets one attempt after the other have the connection.
                let kept = Mutex::new(kept);
                let stored = retry_on_contention(|| async {
                    let mut kept = kept.lock().await;
                    let stored = batch.store(PerEngine::Postgres(kept.connection().await?)).await;
                    stored.inspect_err(|_| kept.idle())
                });
                stored.await.map_err(Arc::new)
            }
            PerEngine::Sqlite(shared) => shared.run_for_many(batch).await,
        }?;
        Ok(asked.iter().map(|row| stored.contains(row.hash().as_slice())).collect())
    }

    fn idle(&mut self) {
        if let PerEngine::Postgres(kept) = &mut self.on {
            kept.idle();
        }
    }

    fn may_linger(&self) -> bool {
        matches!(&self.on, PerEngine::Postgres(kept) if kept.may_linger())
    }
}

/// The statement and its parameter.
struct Batch {
    insert: &'static Sql,
    parameter: String,
}

impl Batch {
    async fn store(
        &self,
        on: PerEngine<&mut PgConnection, &mut SqliteConnection>,
    ) -> Result<HashSet<Vec<u8>>, sqlx::Error> {
        let dialect = match &on {
            PerEngine::Postgres(_) => SqlDialect::Postgres,
            PerEngine::Sqlite(_) => SqlDialect::Sqlite,
        };
        let insert = self.insert.text_for_dialect(dialect);
        let stored: Vec<Vec<u8>> = run!(on, fetch_all: sqlx::query_scalar(insert).bind(&self.parameter))?;
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
