//! What a transaction reads of the resources it writes, and the versions it makes of them: many in one
//! statement.
//!
//! The states of what is written are read ahead. New versions wait until there are many, until the
//! transaction ends, or until somebody has to see them. Every version goes into the history, and with its document
//! into the table of its type; the end of a resource has its document in the history. Postgres does both in one
//! statement; SQLite is handed the values one by one, because it would take them apart from JSON first.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use fhir_resource::{ResourceKey, ResourceType};
use serde_json::{Value, json};
use sql_engines::{PerEngine, SqlDialect, run};
use sqlx::error::BoxDynError;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments as _, PgConnection, SqliteConnection};

use super::table::Table;
use crate::dialect::Sql;
use crate::document::Document;
use crate::engine::Tx;

/// Resources of one statement.
pub(super) const AT_ONCE: usize = 256;
/// Bytes of documents from which they are written, however few there are.
const BYTES_MAX: usize = 2 * 1024 * 1024;

/// `$1` is `[[id], …]`.
const STATES: &str = "SELECT t.id, t.txid, {us:t.ts}, t.resource
FROM {elements:$1} JOIN {table} t ON t.id = e.value ->> 0 {for_update}";
/// `$1` is `[[id], …]`. A resource whose history alone is there was deleted.
const LAST_WRITES: &str = "SELECT e.value ->> 0, (SELECT max(h.txid) FROM {history} h WHERE h.id = e.value ->> 0)
FROM {elements:$1}";
static NUMBERS: Sql = Sql::new("{next_versions:$1}");
/// On Postgres: ids, versions, operations and documents, each an array, then the time.
const WRITE: &str = "WITH recorded AS (
    INSERT INTO {history} (id, txid, ts, resource, op)
    SELECT v.id, v.txid, {from_us:$5}, CASE v.op WHEN 'delete' THEN {from_text:v.document} ELSE {in_table} END, v.op
    FROM unnest($1::TEXT[], $2::BIGINT[], $3::TEXT[], $4::TEXT[]) AS v (id, txid, op, document)
)
INSERT INTO {table} (id, txid, ts, resource)
SELECT v.id, v.txid, {from_us:$5}, {from_text:v.document}
FROM unnest($1::TEXT[], $2::BIGINT[], $3::TEXT[], $4::TEXT[]) AS v (id, txid, op, document) WHERE v.op <> 'delete'
ON CONFLICT (id) DO UPDATE
SET txid = excluded.txid, ts = excluded.ts, resource = excluded.resource";
/// On SQLite: `{rows}` is a list of places, one for each value.
const RECORD: &str = "INSERT INTO {history} (id, txid, ts, resource, op) VALUES {rows}";
/// The same.
const PUT: &str = "INSERT INTO {table} (id, txid, ts, resource) VALUES {rows}
ON CONFLICT (id) DO UPDATE SET txid = excluded.txid, ts = excluded.ts, resource = excluded.resource";
/// What a history holds in place of a document that stands in the table of its type, as a value.
const IN_TABLE: &str = "null";
/// Most rows of a statement that has a place for each value. There are statements for this many, for half of it and
/// so on, so that they stay prepared.
const BOUND_MAX: usize = 32;
/// `$1` is `[[id], …]`.
const DELETE: &str = "DELETE FROM {table} WHERE id IN (SELECT e.value ->> 0 FROM {elements:$1})";

/// A resource as it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum State {
    /// It is there, also when its document cannot be read.
    There { version: i64, updated_us: i64, document: Document },
    /// It was deleted by the write of this number.
    Deleted { version: i64 },
    /// It never was.
    Missing,
}

/// Reads how resources of one type stand.
pub(super) async fn states<'i>(
    tx: &mut Tx,
    table: &Table,
    ids: &HashSet<&'i str>,
) -> Result<HashMap<String, State>, sqlx::Error> {
    let sql = table.sql(tx.dialect(), STATES);
    let asked = keys(ids.iter().copied());
    let there: Vec<(String, i64, i64, Document)> = run!(tx.on(), fetch_all: sqlx::query_as(sql).bind(asked))?;
    let there = there.into_iter().map(|(id, version, updated_us, document)| {
        let state = State::There { version, updated_us, document };
        (id, state)
    });
    let mut states: HashMap<String, State> = there.collect();
    let absent: Vec<&'i str> = ids.iter().copied().filter(|id| !states.contains_key(*id)).collect();
    if absent.is_empty() {
        return Ok(states);
    }
    let sql = table.sql(tx.dialect(), LAST_WRITES);
    let asked = keys(absent.into_iter());
    let last: Vec<(String, Option<i64>)> = run!(tx.on(), fetch_all: sqlx::query_as(sql).bind(asked))?;
    states.extend(last.into_iter().map(|(id, version)| {
        let state = version.map_or(State::Missing, |version| State::Deleted { version });
        (id, state)
    }));
    Ok(states)
}

fn keys<'i>(ids: impl Iterator<Item = &'i str>) -> String {
    Value::Array(ids.map(|id| json!([id])).collect()).to_string()
}

/// Takes the numbers of so many writes, the first one last.
pub(super) async fn numbers(
    on: PerEngine<&mut PgConnection, &mut SqliteConnection>,
    count: usize,
) -> Result<Vec<i64>, sqlx::Error> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let mut told: Vec<i64> = match on {
        PerEngine::Postgres(connection) => {
            sqlx::query_scalar(NUMBERS.text_for_dialect(SqlDialect::Postgres)).bind(count).fetch_all(connection).await?
        }
        PerEngine::Sqlite(connection) => {
            sqlx::query_scalar(NUMBERS.text_for_dialect(SqlDialect::Sqlite)).bind(count).fetch_all(connection).await?
        }
    };
    // An engine tells each of them, or the last of a row without gaps.
    if let ([last], true) = (told.as_slice(), count > 1) {
        told = (last - count + 1..=*last).collect();
    }
    told.reverse();
    Ok(told)
}

/// New versions that are not in the tables yet, one of a resource at most.
#[derive(Debug, Default)]
pub(super) struct Unwritten {
    keys: HashSet<ResourceKey>,
    of_kinds: BTreeMap<ResourceType, OfKind>,
}

/// The ones of one type.
#[derive(Debug, Default)]
struct OfKind {
    versions: Vec<Version>,
    size_bytes: usize,
}

/// A version that waits.
#[derive(Debug)]
struct Version {
    id: Arc<str>,
    number: i64,
    operation: &'static str,
    document: Arc<str>,
}

impl Version {
    /// What the history calls the end of a resource.
    const DELETE: &'static str = "delete";

    fn is_end(&self) -> bool {
        self.operation == Self::DELETE
    }
}

impl Unwritten {
    /// Returns whether a version of this resource waits.
    pub(super) fn holds(&self, key: &ResourceKey) -> bool {
        self.keys.contains(key)
    }

    /// Returns whether it is time to write them.
    pub(super) fn is_full(&self) -> bool {
        let bytes: usize = self.of_kinds.values().map(|of_kind| of_kind.size_bytes).sum();
        self.keys.len() >= AT_ONCE || bytes >= BYTES_MAX
    }

    /// Adds a version; `operation` is the word of the history for what made it.
    pub(super) fn push(&mut self, key: &ResourceKey, number: i64, operation: &'static str, resource: &Value) {
        let document: Arc<str> = resource.to_string().into();
        let of_kind = self.of_kinds.entry(key.resource_type.clone()).or_default();
        of_kind.size_bytes += document.len();
        of_kind.versions.push(Version { id: key.id.as_str().into(), number, operation, document });
        self.keys.insert(key.clone());
    }

    /// Writes them; none waits then.
    pub(super) async fn write(
        &mut self,
        tx: &mut Tx,
        tables: &HashMap<ResourceType, Option<Table>>,
        now_us: i64,
    ) -> Result<(), sqlx::Error> {
        self.keys.clear();
        for (kind, OfKind { versions, .. }) in std::mem::take(&mut self.of_kinds) {
            let Some(Some(table)) = tables.get(&kind) else { continue };
            match tx.on() {
                PerEngine::Postgres(connection) => write_arrays(connection, table, &versions, now_us).await?,
                PerEngine::Sqlite(connection) => write_bound(connection, table, &versions, now_us).await?,
            }
            let ended = versions.iter().filter(|version| version.is_end()).map(|version| &*version.id);
            let ended: Vec<&str> = ended.collect();
            if !ended.is_empty() {
                let sql = table.sql(tx.dialect(), DELETE);
                run!(tx.on(), execute: sqlx::query(sql).bind(keys(ended.into_iter())))?;
            }
        }
        Ok(())
    }
}

async fn write_arrays(
    connection: &mut PgConnection,
    table: &Table,
    versions: &[Version],
    now_us: i64,
) -> Result<(), sqlx::Error> {
    let ids: Vec<&str> = versions.iter().map(|version| &*version.id).collect();
    let numbers: Vec<i64> = versions.iter().map(|version| version.number).collect();
    let operations: Vec<&str> = versions.iter().map(|version| version.operation).collect();
    let documents: Vec<&str> = versions.iter().map(|version| &*version.document).collect();
    let query = sqlx::query(table.sql(SqlDialect::Postgres, WRITE)).bind(ids).bind(numbers).bind(operations);
    query.bind(documents).bind(now_us).execute(connection).await?;
    Ok(())
}

async fn write_bound(
    connection: &mut SqliteConnection,
    table: &Table,
    versions: &[Version],
    now_us: i64,
) -> Result<(), sqlx::Error> {
    let all: Vec<&Version> = versions.iter().collect();
    let put: Vec<&Version> = versions.iter().filter(|version| !version.is_end()).collect();
    let in_table: Arc<str> = IN_TABLE.into();
    for (template, columns, versions) in [(RECORD, 5, all), (PUT, 4, put)] {
        let mut left = versions.as_slice();
        while !left.is_empty() {
            let (some, rest) = left.split_at_checked(bound_at_once(left.len())).unwrap_or((left, &[]));
            let mut arguments = SqliteArguments::default();
            for version in some {
                let recorded = columns == 5;
                let document = if recorded && !version.is_end() { &in_table } else { &version.document };
                bind(version, (document, recorded), now_us, &mut arguments).map_err(sqlx::Error::Encode)?;
            }
            let sql = table.sql(SqlDialect::Sqlite, &template.replace("{rows}", &places(some.len(), columns)));
            sqlx::query_with(sql, arguments).execute(&mut *connection).await?;
            left = rest;
        }
    }
    Ok(())
}

/// Of so many rows that are left, how many the next statement writes.
pub(super) fn bound_at_once(left: usize) -> usize {
    if left >= BOUND_MAX { BOUND_MAX } else { 1 << left.max(1).ilog2() }
}

/// Adds the values of one row, in the order of its columns.
fn bind(
    version: &Version,
    (document, named): (&Arc<str>, bool),
    now_us: i64,
    arguments: &mut SqliteArguments,
) -> Result<(), BoxDynError> {
    arguments.add(Arc::clone(&version.id))?;
    arguments.add(version.number)?;
    arguments.add(now_us)?;
    arguments.add(Arc::clone(document))?;
    if named { arguments.add(version.operation) } else { Ok(()) }
}

/// `(?, …), …`: places for so many rows of so many columns.
pub(super) fn places(rows: usize, columns: usize) -> String {
    let row = format!("({})", vec!["?"; columns].join(", "));
    vec![row; rows].join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_of_rows_is_made_of_few_kinds_of_statements() {
        for count in 1..200 {
            let (mut left, mut statements) = (count, Vec::new());
            while left > 0 {
                statements.push(bound_at_once(left));
                left -= bound_at_once(left);
            }
            assert_eq!(statements.iter().sum::<usize>(), count);
            assert!(statements.iter().all(|rows| rows.is_power_of_two() && *rows <= BOUND_MAX));
        }
        assert_eq!(places(2, 3), "(?, ?, ?), (?, ?, ?)");
    }
}
