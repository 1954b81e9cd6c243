//! New resources that nobody else can know of yet, many in one statement.
//!
//! Their ids are made here, so there is nothing to look up, lock or compare: a batch costs what one
//! write costs elsewhere.

use std::time::Duration;

use fhir_resource::ResourceType;
use serde_json::{Value, json};
use sql_engines::{PerEngine, run};
use uuid::{NoContext, Timestamp, Uuid};

use super::put::{Text, put};
use super::table::{self, Table};
use crate::db::AuthDatabase;
use crate::engine::Tx;
use crate::search::Pending;

/// The first write of a type has it to itself. The others share it, so that rows of the index are not made for a new
/// number of the type without them.
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
const SHARE: &str = "SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))";
/// `$1` is `[[id], …]`.
const RECORD: &str = "INSERT INTO {history} (id, txid, ts, resource, op)
SELECT t.id, t.txid, t.ts, {in_table}, 'create' FROM {elements:$1} JOIN {table} t ON t.id = e.value ->> 0";

/// Stores `resources` as new ones of type `kind`, all or none, with the rows by which searches find them.
pub(crate) async fn append(
    db: &AuthDatabase,
    kind: &ResourceType,
    resources: &[Value],
    now_us: i64,
) -> Result<(), sqlx::Error> {
    let text = |resource: &Value| Text { id: new_id(now_us).to_string().into(), document: resource.to_string().into() };
    let texts: Vec<Text> = resources.iter().map(text).collect();
    let ids: Vec<[&str; 1]> = texts.iter().map(|text| [&*text.id]).collect();
    let mut tx = db.begin().await?;
    let table = table_for(db, &mut tx, kind).await?;
    let mut search = Pending::new(db);
    if let Some(finder) = search.finder(&mut tx, kind).await? {
        let found = texts.iter().zip(resources);
        let found = found.map(|(text, resource)| (text.id.to_string(), finder.findings(&text.id, resource)));
        search.note_new(&finder, found);
    }
    put(&mut tx, &table, &texts, now_us).await?;
    let sql = table.sql(db.dialect(), RECORD);
    run!(tx.on(), execute: sqlx::query(sql).bind(json!(ids).to_string()))?;
    search.write(&mut tx).await?;
    tx.commit().await?;
    db.remember_tables([table]);
    if let Some(index) = search.known() {
        db.remember_index(&index);
    }
    Ok(())
}

/// Returns the id of a resource that is made at this moment, which is within the id. Rows in the order of their ids
/// share the pages of every index, where at random each would have pages of its own written.
pub(super) fn new_id(now_us: i64) -> Uuid {
    let now = Duration::from_micros(u64::try_from(now_us).unwrap_or_default());
    Uuid::new_v7(Timestamp::from_unix(NoContext, now.as_secs(), now.subsec_nanos()))
}

/// Returns the table of a type, made if there is none, under the lock of the type.
async fn table_for(db: &AuthDatabase, tx: &mut Tx, kind: &ResourceType) -> Result<Table, sqlx::Error> {
    let known = db.known_table(kind.as_str());
    if let PerEngine::Postgres(connection) = tx.on() {
        let lock = if known.is_some() { SHARE } else { LOCK };
        sqlx::query(lock).bind(table::lock_name(kind)).execute(connection).await?;
    }
    match known {
        Some(known) => Ok(known),
        None => Table::find_or_create(tx, kind).await,
    }
}
