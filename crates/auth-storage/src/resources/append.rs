//! New resources that nobody else can know of yet, many in one statement.
//!
//! Their ids are made here, so there is nothing to look up, lock or compare: a batch costs what one
//! write costs elsewhere.

use std::time::Duration;

use fhir_store::ResourceType;
use serde_json::{Value, json};
use uuid::{NoContext, Timestamp, Uuid};

use super::table::{self, Table};
use crate::db::Db;
use crate::dialect::Sql;
use crate::engine::{On, Tx, run};

const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
/// `$1` is `[[id], …]` here and in [`RECORD`].
static RESERVE: Sql = Sql::new("{reserve_versions:$1}");
/// `$1` is `["id⏎resource", …]`: the resource as text, which the engine need not take apart and print again.
const INSERT: &str = "INSERT INTO {table} (id, txid, ts, resource)
SELECT {first_line:e.value}, {reserved_version:$1}, {from_us:$2}, {second_line_document:e.value} FROM {elements:$1}";
const RECORD: &str = "INSERT INTO {history} (id, txid, ts, resource, op)
SELECT t.id, t.txid, t.ts, t.resource, 'create' FROM {elements:$1} JOIN {table} t ON t.id = e.value ->> 0";

/// Stores `resources` as new ones of type `kind`, all or none.
pub(crate) async fn append(db: &Db, kind: &ResourceType, resources: &[Value], now_us: i64) -> Result<(), sqlx::Error> {
    let ids: Vec<[String; 1]> = resources.iter().map(|_| [new_id(now_us).to_string()]).collect();
    let row = |([id], resource): (&[String; 1], &Value)| Value::from(format!("{id}\n{resource}"));
    let rows = Value::Array(ids.iter().zip(resources).map(row).collect()).to_string();
    let ids = json!(ids).to_string();
    let mut tx = db.begin().await?;
    let table = table_for(db, &mut tx, kind).await?;
    let dialect = db.dialect();
    run!(tx.on(), execute: sqlx::query(RESERVE.on(dialect)).bind(&ids))?;
    run!(tx.on(), execute: sqlx::query(table.sql(dialect, INSERT)).bind(&rows).bind(now_us))?;
    run!(tx.on(), execute: sqlx::query(table.sql(dialect, RECORD)).bind(&ids))?;
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
