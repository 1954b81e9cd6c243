//! How long audit events are kept.

use fhir_resource::ResourceType;
use oauth_core::ports::StoreError;
use serde_json::json;

use sql_engines::{retry_on_contention, run};

use super::event;
use crate::db::AuthDatabase;
use crate::dialect::Sql;
use crate::fault::oauth;
use crate::resources::{Found, Table};
use crate::search::Pending;
use crate::tokens::forget;

/// What was recorded before `$1`, at most `$2` rows: the history first, so that no document is taken over into it.
static FORGET_HISTORY: Sql = Sql::new(
    "DELETE FROM auditevent_history WHERE (id, txid) IN (
    SELECT id, txid FROM auditevent_history WHERE ts < {from_us:$1} ORDER BY ts LIMIT $2 {skip_locked}
)",
);
/// Events recorded before `$1`, at most `$2`.
static OLDEST: Sql = Sql::new("SELECT id FROM auditevent WHERE ts < {from_us:$1} ORDER BY ts LIMIT $2 {skip_locked}");
/// `$1` is `[[id], …]`.
static FORGET: Sql = Sql::new("DELETE FROM auditevent WHERE id IN (SELECT e.value ->> 0 FROM {elements:$1})");
/// Events that one transaction deletes with the rows of their index.
const CHUNK: i64 = 500;

impl AuthDatabase {
    /// Deletes the audit events that were written before `before_us`, UNIX microseconds, with their history, and
    /// returns the number of deleted rows.
    ///
    /// # Errors
    /// [`StoreError`]; rows that are deleted by then stay deleted.
    pub async fn delete_audit_events_before(&self, before_us: i64) -> Result<u64, StoreError> {
        let mut forgotten = forget(self, &FORGET_HISTORY, before_us).await.map_err(oauth)?;
        loop {
            let events = retry_on_contention(|| forget_events(self, before_us)).await.map_err(oauth)?;
            forgotten = forgotten.saturating_add(events);
            if events == 0 {
                return Ok(forgotten);
            }
        }
    }
}

/// Deletes the oldest of the events, and what finds them. Returns how many.
async fn forget_events(db: &AuthDatabase, before_us: i64) -> Result<u64, sqlx::Error> {
    let kind: ResourceType = event::TYPE.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
    let mut tx = db.begin().await?;
    let Found::Table(table) = Table::find_in(&mut tx, &kind).await? else { return Ok(0) };
    let (oldest, forget) = (OLDEST.text_for_dialect(tx.dialect()), FORGET.text_for_dialect(tx.dialect()));
    let ids: Vec<String> = run!(tx.on(), fetch_all: sqlx::query_scalar(oldest).bind(before_us).bind(CHUNK))?;
    if ids.is_empty() {
        tx.roll_back().await?;
        return Ok(0);
    }
    let keys: Vec<[&str; 1]> = ids.iter().map(|id| [id.as_str()]).collect();
    let keys = json!(keys).to_string();
    let mut search = Pending::new(db);
    search.note_gone(&mut tx, (&table, &kind), &keys).await?;
    let forgotten = run!(tx.on(), execute: sqlx::query(forget).bind(&keys))?;
    search.write(&mut tx).await?;
    tx.commit().await?;
    Ok(forgotten)
}
