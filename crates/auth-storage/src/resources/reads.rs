//! Reads by id, for all who read at one moment.
//!
//! Half of what a lone read costs is the exchange with the engine; those who read in a crowd share it. What of a
//! batch is of one type is one statement. Whoever reads while nearly nobody else does has a statement of its own,
//! because handing it to the task that owns the batches would cost more than is shared.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use fhir_resource::ResourceId;
use fhir_store::StoreError;
use sql_engines::{PerEngine, SqlDialect, run};
use sqlx::{PgPool, Postgres};

use super::table::Table;
use crate::batcher::{BatchHandler, Batcher, Kept};
use crate::db::AuthDatabase;
use crate::document::DocumentText;
use crate::fault;
use crate::readers::Readers;

/// How each of these resources stands, or the number of the last write of its history where there is none: a history
/// without the resource means it was deleted.
macro_rules! read {
    ($asked:literal) => {
        concat!(
            "SELECT {place}, t.txid, {us:t.ts}, CAST(t.resource AS TEXT),
    CASE WHEN t.id IS NULL THEN (SELECT max(h.txid) FROM {history} h WHERE h.id = e.value) END
FROM ",
            $asked,
            " LEFT JOIN {table} t ON t.id = e.value"
        )
    };
}

/// What a lone reader asks for, and what a crowd does.
const READ_ONE: &str = read!("(SELECT CAST($1 AS TEXT) AS value, CAST(0 AS BIGINT) AS key) AS e");
const READ_MANY: &str = read!("{texts:$1}");

/// Most that read at one moment without sharing a statement: of three, a batch takes less than their own.
const ALONE_MAX: usize = 2;
/// How many still share one when a crowd was there a moment ago: those who come first of the next would each wake a
/// connection of their own, which takes more than all that the crowd reads.
const AFTER_A_CROWD: usize = 2 * ALONE_MAX;

/// What [`READ_ONE`] and [`READ_MANY`] find: whose answer it is, then the answer.
type Row = (i64, Option<i64>, Option<i64>, Option<DocumentText>, Option<i64>);

/// What a read finds: version, time and document, or the number of the last write.
#[derive(Debug)]
pub(crate) struct Standing {
    pub(super) found: Option<(i64, i64, DocumentText)>,
    pub(super) last_write: Option<i64>,
}

impl Standing {
    fn of((_, version, updated_us, document, last_write): Row) -> Self {
        let found = version.zip(updated_us).zip(document);
        Self { found: found.map(|((version, updated_us), document)| (version, updated_us, document)), last_write }
    }
}

/// The way to read.
#[derive(Debug)]
pub(crate) struct Reading {
    crowd: Batcher<Reads>,
    under_way: AtomicUsize,
    crowding: Crowding,
}

impl Reading {
    /// Starts on the current runtime.
    pub(crate) fn start(reads: Reads) -> Self {
        Self { crowd: Batcher::start(reads), under_way: AtomicUsize::new(0), crowding: Crowding::default() }
    }

    /// Returns the task that reads for many.
    pub(crate) fn crowd(&self) -> &Batcher<Reads> {
        &self.crowd
    }

    /// How a resource stands.
    pub(super) async fn read(&self, db: &AuthDatabase, table: Table, id: ResourceId) -> Result<Standing, StoreError> {
        let (_counted, others) = UnderWay::count(&self.under_way);
        if self.crowding.is_shared(others) {
            return self.crowd.ask((table, id)).await.map_err(fault::of_batch);
        }
        let sql = table.sql(db.dialect(), READ_ONE);
        let row: Row = run!(db.reader(), fetch_one: sqlx::query_as(sql).bind(id.as_str())).map_err(fault::fhir)?;
        Ok(Standing::of(row))
    }
}

/// How many of the next share a statement though nearly nobody else reads.
#[derive(Debug, Default)]
struct Crowding(AtomicUsize);

impl Crowding {
    /// Returns whether who reads now shares a statement, when so many others read.
    fn is_shared(&self, others: usize) -> bool {
        if others >= ALONE_MAX {
            self.0.store(AFTER_A_CROWD, Ordering::Relaxed);
            return true;
        }
        let less = |left: usize| left.checked_sub(1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

/// One who reads, until it is dropped.
struct UnderWay<'a>(&'a AtomicUsize);

impl<'a> UnderWay<'a> {
    /// Says also how many others there are.
    fn count(under_way: &'a AtomicUsize) -> (Self, usize) {
        let others = under_way.fetch_add(1, Ordering::Relaxed);
        (Self(under_way), others)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads for a crowd, on Postgres on a connection of its own.
pub(crate) struct Reads(PerEngine<Kept<Postgres>, Readers>);

impl Reads {
    pub(crate) const fn on_postgres(pool: PgPool) -> Self {
        Self(PerEngine::Postgres(Kept::new(pool)))
    }

    pub(crate) const fn on_sqlite(readers: Readers) -> Self {
        Self(PerEngine::Sqlite(readers))
    }

    async fn rows(&mut self, table: &Table, ids: &[&str]) -> Result<Vec<Row>, sqlx::Error> {
        match &mut self.0 {
            PerEngine::Postgres(kept) => {
                let asked = sqlx::query_as(table.sql(SqlDialect::Postgres, READ_MANY)).bind(ids);
                asked.fetch_all(kept.connection().await?).await
            }
            PerEngine::Sqlite(readers) => {
                let ids = serde_json::to_string(ids).map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
                sqlx::query_as(table.sql(SqlDialect::Sqlite, READ_MANY)).bind(ids).fetch_all(&*readers).await
            }
        }
    }

    /// One answer for each, in their order.
    async fn read(&mut self, asked: &[(Table, ResourceId)]) -> Result<Vec<Standing>, sqlx::Error> {
        let mut of_tables: HashMap<&str, (&Table, Vec<usize>, Vec<&str>)> = HashMap::new();
        for (place, (table, id)) in asked.iter().enumerate() {
            let (_, places, ids) = of_tables.entry(table.kind()).or_insert_with(|| (table, Vec::new(), Vec::new()));
            places.push(place);
            ids.push(id.as_str());
        }
        let mut read: Vec<Option<Standing>> = asked.iter().map(|_| None).collect();
        for (table, places, ids) in of_tables.into_values() {
            for row in self.rows(table, &ids).await? {
                let place = usize::try_from(row.0).ok().and_then(|place| places.get(place));
                if let Some(standing) = place.and_then(|place| read.get_mut(*place)) {
                    *standing = Some(Standing::of(row));
                }
            }
        }
        read.into_iter().collect::<Option<_>>().ok_or(sqlx::Error::RowNotFound)
    }
}

#[async_trait]
impl BatchHandler for Reads {
    type Request = (Table, ResourceId);
    type Answer = Standing;

    const NAME: &'static str = "read resources";

    /// Few, because what is answered together is in memory together.
    const BATCH_SIZE_MAX: usize = 32;

    async fn answer(&mut self, asked: &[Self::Request]) -> Result<Vec<Standing>, Arc<sqlx::Error>> {
        let read = self.read(asked).await;
        read.inspect_err(|_| self.idle()).map_err(Arc::new)
    }

    fn idle(&mut self) {
        if let PerEngine::Postgres(kept) = &mut self.0 {
            kept.idle();
        }
    }

    fn may_linger(&self) -> bool {
        matches!(&self.0, PerEngine::Postgres(kept) if kept.may_linger())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_after_a_crowd_share_a_statement_and_a_lone_reader_soon_has_its_own() {
        let crowding = Crowding::default();
        assert!(!crowding.is_shared(0) && !crowding.is_shared(ALONE_MAX - 1));
        assert!(crowding.is_shared(ALONE_MAX));
        for _ in 0..AFTER_A_CROWD {
            assert!(crowding.is_shared(0));
        }
        assert!(!crowding.is_shared(0) && !crowding.is_shared(ALONE_MAX - 1));
    }
}
