//! Resources: one table per type, and its history beside it.

mod append;
mod conditions;
mod history;
mod list;
mod table;
mod transact;
mod upsert;
mod versions;

use async_trait::async_trait;
use fhir_store::{
    HistoryPage, HistoryQuery, ListQuery, Lookup, Page, ResourceKey, ResourceStore, ResourceType, StoreError, Stored,
    StoredText, Version, Write, WriteRefusal, Written,
};

use crate::db::Db;
use crate::engine::run;
use crate::fault::{fhir, retried};

pub(crate) use append::append;
pub(crate) use conditions::Conditions;
pub(crate) use history::kinds;
pub(crate) use table::{Found, Table, lock_name};
pub(crate) use transact::{Effects, Halt, attempt, attempt_with, rehearse};
pub(crate) use upsert::upsert;

/// The state of one resource or, where there is none, the number of the last write of its history, in one statement:
/// a history without the resource means it was deleted.
const READ: &str = "SELECT t.txid, {us:t.ts}, CAST(t.resource AS TEXT),
    CASE WHEN t.id IS NULL THEN (SELECT max(h.txid) FROM {history} h WHERE h.id = $1) END
FROM (SELECT 1 AS one) AS always LEFT JOIN {table} t ON t.id = $1";

/// A row of [`READ`].
type ReadRow = (Option<i64>, Option<i64>, Option<String>, Option<i64>);

#[async_trait]
impl ResourceStore for Db {
    async fn read(&self, key: &ResourceKey) -> Result<Lookup, StoreError> {
        read(self, key).await.map_err(fhir)
    }

    async fn read_text(&self, key: &ResourceKey) -> Result<Lookup<StoredText>, StoreError> {
        read_text(self, key).await.map_err(fhir)
    }

    async fn list(&self, query: &ListQuery) -> Result<Page, StoreError> {
        list::list(self, query).await.map_err(fhir)
    }

    async fn version(&self, key: &ResourceKey, version: i64) -> Result<Option<Version>, StoreError> {
        history::version(self, key, version).await.map_err(fhir)
    }

    async fn history(&self, query: &HistoryQuery) -> Result<HistoryPage, StoreError> {
        history::history(self, query).await.map_err(fhir)
    }

    async fn kinds(&self) -> Result<Vec<ResourceType>, StoreError> {
        kinds(self).await.map_err(fhir)
    }

    async fn transact(
        &self,
        writes: Vec<Write>,
        now_us: i64,
    ) -> Result<Result<Vec<Written>, WriteRefusal>, StoreError> {
        let effects = Effects::new();
        match retried(|| attempt(self, &writes, &effects, now_us)).await {
            Ok(written) => Ok(Ok(written)),
            Err(Halt::Refused(refusal)) => Ok(Err(refusal)),
            Err(Halt::Failed(error)) => Err(fhir(error)),
            // There is no effect to refuse.
            Err(Halt::Effect(_, _, refused)) => Err(StoreError::Unavailable(Box::new(refused))),
        }
    }
}

async fn read(db: &Db, key: &ResourceKey) -> Result<Lookup, sqlx::Error> {
    Ok(match read_text(db, key).await? {
        Lookup::Found(found) => {
            let resource = serde_json::from_str(&found.body).map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
            Lookup::Found(Stored { key: found.key, version: found.version, updated_us: found.updated_us, resource })
        }
        Lookup::Deleted { version } => Lookup::Deleted { version },
        Lookup::Missing => Lookup::Missing,
    })
}

async fn read_text(db: &Db, key: &ResourceKey) -> Result<Lookup<StoredText>, sqlx::Error> {
    let Some(table) = Table::find(db, &key.kind).await? else {
        return Ok(Lookup::Missing);
    };
    let sql = table.sql(db.dialect(), READ);
    let row: ReadRow = run!(db.reader(), fetch_one: sqlx::query_as(sql).bind(key.id.as_str()))?;
    Ok(match row {
        (Some(version), Some(updated_us), Some(body), _) => {
            Lookup::Found(StoredText { key: key.clone(), version, updated_us, body })
        }
        (.., Some(version)) => Lookup::Deleted { version },
        _ => Lookup::Missing,
    })
}
