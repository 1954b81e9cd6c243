//! Resources: one table per type, and its history beside it.

mod append;
mod conditions;
mod dropped;
mod history;
mod history_triggers;
mod list;
mod logins;
mod put;
mod reads;
mod table;
mod transact;
mod upsert;
mod versions;

use async_trait::async_trait;
use fhir_resource::{ResourceKey, ResourceType, StoredResource, StoredResourceText};
use fhir_store::{
    HistoryPage, HistoryQuery, ListPage, ListQuery, ResourceLookup, ResourceStore, ResourceVersion, ResourceWrite,
    StoreError, TransactionError, WriteOutcome,
};
use sql_engines::retry_on_contention;

use self::reads::Standing;
use crate::db::AuthDatabase;
use crate::fault::fhir;

pub(crate) use append::append;
pub(crate) use conditions::Conditions;
pub(crate) use dropped::needed;
pub(crate) use history::kinds;
pub(crate) use history_triggers::watch_all;
pub(crate) use put::{Text, put_recorded};
pub(crate) use reads::{Reading, Reads};
pub(crate) use table::{Found, Table, lock_name};
pub(crate) use transact::{Effects, Halt, attempt, attempt_with, rehearse};
pub(crate) use upsert::upsert;

#[async_trait]
impl ResourceStore for AuthDatabase {
    async fn read(&self, key: &ResourceKey) -> Result<ResourceLookup, StoreError> {
        read(self, key).await
    }

    async fn read_as_text(&self, key: &ResourceKey) -> Result<ResourceLookup<StoredResourceText>, StoreError> {
        read_text(self, key).await
    }

    async fn list(&self, query: &ListQuery) -> Result<ListPage, StoreError> {
        list::list(self, query).await.map_err(fhir)
    }

    async fn read_version(&self, key: &ResourceKey, version: i64) -> Result<Option<ResourceVersion>, StoreError> {
        history::version(self, key, version).await.map_err(fhir)
    }

    async fn read_history(&self, query: &HistoryQuery) -> Result<HistoryPage, StoreError> {
        history::history(self, query).await.map_err(fhir)
    }

    async fn types_ever_written(&self) -> Result<Vec<ResourceType>, StoreError> {
        kinds(self).await.map_err(fhir)
    }

    async fn transact_writes(
        &self,
        writes: Vec<ResourceWrite>,
        now_us: i64,
    ) -> Result<Result<Vec<WriteOutcome>, TransactionError>, StoreError> {
        let effects = Effects::new();
        match retry_on_contention(|| attempt(self, &writes, &effects, now_us)).await {
            Ok(written) => Ok(Ok(written)),
            Err(Halt::Refused(refusal)) => Ok(Err(refusal)),
            Err(Halt::Failed(error)) => Err(fhir(error)),
            // There is no effect to refuse.
            Err(Halt::Effect(_, _, refused)) => Err(StoreError::Failed(Box::new(refused))),
        }
    }
}

async fn read(db: &AuthDatabase, key: &ResourceKey) -> Result<ResourceLookup, StoreError> {
    Ok(match read_text(db, key).await? {
        ResourceLookup::Found(found) => {
            let resource = serde_json::from_str(&found.body).map_err(|error| StoreError::Corrupt(Box::new(error)))?;
            ResourceLookup::Found(StoredResource {
                key: found.key,
                version: found.version,
                updated_us: found.updated_us,
                resource,
            })
        }
        ResourceLookup::Deleted { version } => ResourceLookup::Deleted { version },
        ResourceLookup::Missing => ResourceLookup::Missing,
    })
}

async fn read_text(db: &AuthDatabase, key: &ResourceKey) -> Result<ResourceLookup<StoredResourceText>, StoreError> {
    let Some(table) = Table::find(db, &key.resource_type).await.map_err(fhir)? else {
        return Ok(ResourceLookup::Missing);
    };
    let Standing { found, last_write } = db.reads().read(db, table, key.id.clone()).await?;
    Ok(match (found, last_write) {
        (Some((version, updated_us, document)), _) => {
            let body = document.0.ok_or_else(|| StoreError::Corrupt(Box::new(NoText)))?;
            ResourceLookup::Found(StoredResourceText { key: key.clone(), version, updated_us, body })
        }
        (None, Some(version)) => ResourceLookup::Deleted { version },
        (None, None) => ResourceLookup::Missing,
    })
}

/// What is stored is no text: somebody wrote it past the rules.
#[derive(Debug, thiserror::Error)]
#[error("a stored resource is no text")]
struct NoText;
