//! New resources that nobody else can know of yet, many in one statement.
//!
//! Their ids are made here, so there is nothing to look up, lock or compare: a batch costs what one
//! write costs elsewhere.

use std::time::Duration;

use fhir_store::ResourceType;
use serde_json::{Value, json};
use uuid::{NoContext, Timestamp, Uuid};

use super::put::{Text, put};
use super::table::{self, Table};
use crate::db::Db;
use crate::engine::{On, Tx, run};

const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
/// `$1` is `[[id], …]`.
const RECORD: &str = "INSERT INTO {history} (id, txid, ts, resource, op)
SELECT t.id, t.txid, t.ts, {in_table}, 'create' FROM {elements:$1} JOIN {table} t ON t.id = e.value ->> 0";

/// Stores `resources` as new ones of type `kind`, all or none.
pub(crate) async fn append(db: &Db, kind: &ResourceType, resources: &[Value], now_us: i64) -> Result<(), sqlx::Error> {
    let text = |resource: &Value| Text { id: new_id(now_us).to_string().into(), document: resource.to_string().into() };
    let texts: Vec<Text> = resources.iter().map(text).collect();
    let ids: Vec<[&str; 1]> = texts.iter().map(|text| [&*text.id]).collect();
    let mut tx = db.begin().await?;
    let table = table_for(db, &mut tx, kind).await?;
    put(&mut tx, &table, &texts, now_us).await?;
    let sql = table.sql(db.dialect(), RECORD);
    run!(tx.on(), execute: sqlx::query(sql).bind(json!(ids).to_string()))?;
    tx.commit().await?;
    db.remember_tables([table]);
    Ok(())
}

/// The id of a resource that is made at this moment, which is within the id. Rows in the order of their ids share the
/// pages of every index, where at random each would have pages of its own written.
pub(super) fn new_id(now_us: i64) -> Uuid {
    let now = Duration::from_micros(u64::try_from(now_us).unwrap_or_default());
    Uuid::new_v7(Timestamp::from_unix(NoContext, now.as_secs(), now.subsec_nanos()))
}

/// The table of a type, made if there is none, under the lock that every first write of it takes.
async fn table_for(db: &Db, tx: &mut Tx, kind: &ResourceType) -> Result<Table, sqlx::Error> {
    if let Some(known) = db.known_table(kind.as_str()) {
        return Ok(known);
    }
    if let On::Postgres(connection) = tx.on() {
        sqlx::query(LOCK).bind(table::lock_name(kind)).execute(connection).await?;
    }
    Table::find_or_create(tx, kind).await
}
