//! Resources of one type put under their ids, many in a few statements.
//!
//! What a job makes is written with the job's progress, in one transaction: a node that is killed has done both or
//! neither, and whoever takes the job up does nothing twice.

use fhir_resource::ResourceType;
use serde_json::{Value, json};
use sql_engines::PerEngine;

use super::put::{Text, put_recorded};
use super::table::{self, Table};
use crate::db::AuthDatabase;
use crate::engine::Tx;
use crate::search::Pending;

const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";

/// Puts resources under their ids within a transaction, which has their type to itself from now on, and writes the
/// rows by which searches find them.
pub(crate) async fn upsert(
    db: &AuthDatabase,
    tx: &mut Tx,
    kind: &ResourceType,
    resources: &[(String, Value)],
    now_us: i64,
) -> Result<(), sqlx::Error> {
    if resources.is_empty() {
        return Ok(());
    }
    let keys = Value::Array(resources.iter().map(|(id, _)| json!([id])).collect()).to_string();
    if let PerEngine::Postgres(connection) = tx.on() {
        sqlx::query(LOCK).bind(table::lock_name(kind)).execute(connection).await?;
    }
    let table = Table::find_or_create(tx, kind).await?;
    let mut search = Pending::new(db);
    if let Some(finder) = search.finder(tx, kind).await? {
        let after = resources.iter().map(|(id, resource)| (id.clone(), finder.findings(id, resource)));
        search.note_batch(tx, (&table, &finder), &keys, after).await?;
    }
    let text =
        |(id, resource): &(String, Value)| Text { id: id.as_str().into(), document: resource.to_string().into() };
    let texts: Vec<Text> = resources.iter().map(text).collect();
    put_recorded(tx, &table, (&texts, &keys), now_us).await?;
    search.write(tx).await
}
