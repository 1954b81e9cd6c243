//! Documents put into the table of their type as they are.

use std::sync::Arc;

use sql_engines::{PerEngine, SqlDialect, run};
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments as _, PgConnection, SqliteConnection};

use super::table::Table;
use super::versions::{bound_at_once, numbers, places};
use crate::engine::Tx;

/// A document that is there in the same words keeps its version. On Postgres: ids and documents, each an array, then
/// the time.
const PUT_ARRAYS: &str = "INSERT INTO {table} AS t (id, txid, ts, resource)
SELECT v.id, nextval('transaction_id_seq'), {from_us:$3}, {from_text:v.document}
FROM unnest($1::TEXT[], $2::TEXT[]) AS v (id, document)
ON CONFLICT (id) DO UPDATE SET txid = excluded.txid, ts = excluded.ts, resource = excluded.resource
WHERE t.resource IS DISTINCT FROM excluded.resource";
/// The same on SQLite, where `{rows}` is a list of places, one for each value.
const PUT_BOUND: &str = "INSERT INTO {table} AS t (id, txid, ts, resource) VALUES {rows}
ON CONFLICT (id) DO UPDATE SET txid = excluded.txid, ts = excluded.ts, resource = excluded.resource
WHERE t.resource IS DISTINCT FROM excluded.resource";
/// What was written is a version the history does not have. `$1` is `[[id, …], …]`.
const RECORD: &str = "INSERT INTO {history} (id, txid, ts, resource, op)
SELECT t.id, t.txid, t.ts, {in_table}, coalesce((
    SELECT CASE h.op WHEN 'delete' THEN 'create' ELSE 'update' END FROM {history} h
    WHERE h.id = t.id ORDER BY h.txid DESC LIMIT 1
), 'create')
FROM {elements:$1} JOIN {table} t ON t.id = e.value ->> 0 WHERE TRUE
ON CONFLICT (id, txid) DO NOTHING";
/// Values of a row.
const COLUMNS: usize = 4;

/// A resource as text, which the engine takes as it comes.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) id: Arc<str>,
    pub(crate) document: Arc<str>,
}

/// Puts documents under their ids, with the history of what is not there in the same words. `keys` is an array of JSON
/// whose elements are arrays that begin with an id, those of `texts`.
pub(crate) async fn put_recorded(
    tx: &mut Tx,
    table: &Table,
    (texts, keys): (&[Text], &str),
    now_us: i64,
) -> Result<(), sqlx::Error> {
    put(tx, table, texts, now_us).await?;
    let sql = table.sql(tx.dialect(), RECORD);
    run!(tx.on(), execute: sqlx::query(sql).bind(keys))?;
    Ok(())
}

/// Puts documents into the table of their type, each a version of its own. The history is for the caller to write.
pub(super) async fn put(tx: &mut Tx, table: &Table, texts: &[Text], now_us: i64) -> Result<(), sqlx::Error> {
    match tx.on() {
        PerEngine::Postgres(connection) => put_arrays(connection, table, texts, now_us).await,
        PerEngine::Sqlite(connection) => put_bound(connection, table, texts, now_us).await,
    }
}

async fn put_arrays(
    connection: &mut PgConnection,
    table: &Table,
    texts: &[Text],
    now_us: i64,
) -> Result<(), sqlx::Error> {
    let ids: Vec<&str> = texts.iter().map(|text| &*text.id).collect();
    let documents: Vec<&str> = texts.iter().map(|text| &*text.document).collect();
    let query = sqlx::query(table.sql(SqlDialect::Postgres, PUT_ARRAYS)).bind(ids).bind(documents).bind(now_us);
    query.execute(connection).await?;
    Ok(())
}

async fn put_bound(
    connection: &mut SqliteConnection,
    table: &Table,
    texts: &[Text],
    now_us: i64,
) -> Result<(), sqlx::Error> {
    let mut versions = numbers(PerEngine::Sqlite(&mut *connection), texts.len()).await?;
    let mut left = texts;
    while !left.is_empty() {
        let (some, rest) = left.split_at_checked(bound_at_once(left.len())).unwrap_or((left, &[]));
        let mut arguments = SqliteArguments::default();
        for text in some {
            let version = versions.pop().ok_or(sqlx::Error::RowNotFound)?;
            let bound = arguments
                .add(Arc::clone(&text.id))
                .and_then(|()| arguments.add(version))
                .and_then(|()| arguments.add(now_us))
                .and_then(|()| arguments.add(Arc::clone(&text.document)));
            bound.map_err(sqlx::Error::Encode)?;
        }
        let sql = table.sql(SqlDialect::Sqlite, &PUT_BOUND.replace("{rows}", &places(some.len(), COLUMNS)));
        sqlx::query_with(sql, arguments).execute(&mut *connection).await?;
        left = rest;
    }
    Ok(())
}
