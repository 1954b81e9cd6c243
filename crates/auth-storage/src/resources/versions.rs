//! What a transaction reads of the resources it writes, and the versions it makes of them: many in one
//! statement.
//!
//! The states of what is written are read ahead. New versions wait until there are many, until the
//! transaction ends, or until somebody has to see them. Every version goes into the history with its
//! document, and from there into the table of its type, so that the engine reads each document once.

use std::collections::{BTreeMap, HashMap, HashSet};

use fhir_store::{ResourceKey, ResourceType};
use serde_json::{Value, json};

use super::table::Table;
use crate::dialect::Sql;
use crate::document::Document;
use crate::elements::Elements;
use crate::engine::{Tx, run};

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
/// `$1` is `[[id, version, operation, document], …]`, the document as text.
const RECORD: &str = "INSERT INTO {history} (id, txid, ts, resource, op)
SELECT e.value ->> 0, CAST(e.value ->> 1 AS BIGINT), {from_us:$2}, {from_text:e.value ->> 3}, e.value ->> 2
FROM {elements:$1}";
/// `$1` is `[[id, version], …]`.
const PUT: &str = "INSERT INTO {table} (id, txid, ts, resource)
SELECT h.id, h.txid, h.ts, h.resource
FROM {elements:$1} JOIN {history} h ON h.id = e.value ->> 0 AND h.txid = CAST(e.value ->> 1 AS BIGINT)
WHERE TRUE ON CONFLICT (id) DO UPDATE
SET txid = excluded.txid, ts = excluded.ts, resource = excluded.resource";
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
pub(super) async fn numbers(tx: &mut Tx, count: usize) -> Result<Vec<i64>, sqlx::Error> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let sql = NUMBERS.on(tx.dialect());
    let mut told: Vec<i64> = run!(tx.on(), fetch_all: sqlx::query_scalar(sql).bind(count))?;
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
    records: Elements,
    put: Elements,
    deleted: Elements,
}

impl Unwritten {
    /// Whether a version of this resource waits.
    pub(super) fn holds(&self, key: &ResourceKey) -> bool {
        self.keys.contains(key)
    }

    /// Whether it is time to write them.
    pub(super) fn is_full(&self) -> bool {
        let bytes: usize = self.of_kinds.values().map(|of_kind| of_kind.records.size_bytes()).sum();
        self.keys.len() >= AT_ONCE || bytes >= BYTES_MAX
    }

    /// Adds a version; `operation` is the word of the history for what made it.
    pub(super) fn push(
        &mut self,
        key: &ResourceKey,
        version: i64,
        operation: &str,
        resource: &Value,
    ) -> Result<(), sqlx::Error> {
        let id = key.id.as_str();
        let of_kind = self.of_kinds.entry(key.kind.clone()).or_default();
        of_kind.records.push(&(id, version, operation, resource.to_string()))?;
        if operation == "delete" {
            of_kind.deleted.push(&[id])?;
        } else {
            of_kind.put.push(&(id, version))?;
        }
        self.keys.insert(key.clone());
        Ok(())
    }

    /// Writes them; none waits then.
    pub(super) async fn write(
        &mut self,
        tx: &mut Tx,
        tables: &HashMap<ResourceType, Option<Table>>,
        now_us: i64,
    ) -> Result<(), sqlx::Error> {
        self.keys.clear();
        for (kind, OfKind { records, put, deleted }) in std::mem::take(&mut self.of_kinds) {
            let Some(Some(table)) = tables.get(&kind) else { continue };
            let sql = table.sql(tx.dialect(), RECORD);
            run!(tx.on(), execute: sqlx::query(sql).bind(records.closed()?).bind(now_us))?;
            for (elements, template) in [(put, PUT), (deleted, DELETE)] {
                if !elements.is_empty() {
                    let (sql, elements) = (table.sql(tx.dialect(), template), elements.closed()?);
                    run!(tx.on(), execute: sqlx::query(sql).bind(elements))?;
                }
            }
        }
        Ok(())
    }
}
