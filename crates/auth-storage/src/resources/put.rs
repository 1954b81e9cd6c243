//! Documents put into the table of their type as they are.

use std::sync::Arc;

use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments as _, PgConnection, SqliteConnection};

use super::table::Table;
use super::versions::{bound_at_once, numbers, places};
use crate::dialect::Dialect;
use crate::engine::{On, Tx};

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
/// Values of a row.
const COLUMNS: usize = 4;

/// A resource as text, which the engine takes as it comes.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) id: Arc<str>,
    pub(crate) document: Arc<str>,
}

/// Puts documents into the table of their type, each a version of its own. The history is for the caller to write.
pub(crate) async fn put(tx: &mut Tx, table: &Table, texts: &[Text], now_us: i64) -> Result<(), sqlx::Error> {
    if let On::Postgres(connection) = tx.on() {
        return put_arrays(connection, table, texts, now_us).await;
    }
    let mut versions = numbers(tx, texts.len()).await?;
    match tx.on() {
        On::Postgres(_) => Ok(()),
        On::Sqlite(connection) => put_bound(connection, table, (texts, &mut versions), now_us).await,
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
    let query = sqlx::query(table.sql(Dialect::Postgres, PUT_ARRAYS)).bind(ids).bind(documents).bind(now_us);
    query.execute(connection).await?;
    Ok(())
}

async fn put_bound(
    connection: &mut SqliteConnection,
    table: &Table,
    (texts, versions): (&[Text], &mut Vec<i64>),
    now_us: i64,
) -> Result<(), sqlx::Error> {
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
        let sql = table.sql(Dialect::Sqlite, &PUT_BOUND.replace("{rows}", &places(some.len(), COLUMNS)));
        sqlx::query_with(sql, arguments).execute(&mut *connection).await?;
        left = rest;
    }
    Ok(())
}
