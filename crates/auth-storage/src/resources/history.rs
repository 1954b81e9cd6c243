//! Histories: the versions of one resource, of types, of everything.
//!
//! A page is read in pieces, newest first and each from where the one before ended, until it is full.
//! What of it the caller reaches is judged here in memory ([`HistoryPageBuilder`]): the index of a search knows
//! current versions alone.
//!
//! Not specified; what users' SQL wrote past the history is in that of its resource and not in that of
//! its type, because looking for it would read the whole table.

use fhir_resource::{ResourceId, ResourceKey, ResourceType, StoredResource};
use fhir_store::history::{
    HistoryPage, HistoryPageBuilder, HistoryPosition, HistoryQuery, HistoryVersionDemand, ResourceVersion,
    VersionInteraction,
};
use sql_engines::run;

use super::table::Table;
use crate::db::AuthDatabase;
use crate::dialect::Sql;
use crate::document::Document;

/// Fewest versions read at once.
const PIECE_MIN: u32 = 100;
/// Most types in one statement: SQLite takes 500 parts.
const TYPES_MAX: usize = 200;
/// Before every time a version was made, unix microseconds.
const EARLIEST_US: i64 = 0;
/// After every time a version was made, unix microseconds: the end of the year 9999.
const LATEST_US: i64 = 253_402_300_799_000_000;

/// The versions of a resource, the current one as it stands in its table.
const OF_RESOURCE: &str =
    "SELECT CAST(0 AS BIGINT) AS kind, t.id, t.txid, t.ts, coalesce(h.op, 'update') AS op, t.resource
    FROM {table} t LEFT JOIN {history} h ON h.id = t.id AND h.txid = t.txid
    WHERE t.id = $1
UNION ALL
SELECT CAST(0 AS BIGINT) AS kind, h.id, h.txid, h.ts, h.op, h.resource
    FROM {history} h
    WHERE h.id = $1 AND NOT EXISTS (SELECT 1 FROM {table} t WHERE t.id = h.id AND t.txid = h.txid)";
const ONE: &str =
    "SELECT v.kind, v.id, v.txid, {us:v.ts}, v.op, v.resource FROM ({of_resource}) AS v WHERE v.txid = $2";
const PIECE_OF_RESOURCE: &str = "SELECT v.kind, v.id, v.txid, {us:v.ts}, v.op, v.resource FROM ({of_resource}) AS v
WHERE v.ts >= {from_us:$2} AND (v.ts, v.txid) < ({from_us:$3}, $4)
ORDER BY v.ts DESC, v.txid DESC LIMIT CAST($5 AS BIGINT)";
/// `{number}` is the place of the type among those asked for.
const OF_TYPE: &str = "SELECT * FROM (
    SELECT CAST({number} AS BIGINT) AS kind, h.id, h.txid, h.ts, h.op, coalesce(nullif(h.resource, {in_table}), (
        SELECT t.resource FROM {table} t WHERE t.id = h.id AND t.txid = h.txid
    ), h.resource) AS resource
    FROM {history} h
    WHERE h.ts >= {from_us:$1} AND (h.ts, h.txid) < ({from_us:$2}, $3)
    ORDER BY h.ts DESC, h.txid DESC LIMIT CAST($4 AS BIGINT)
) AS t{number}";
const PIECE_OF_TYPES: &str = "SELECT v.kind, v.id, v.txid, {us:v.ts}, v.op, v.resource FROM ({of_types}) AS v
ORDER BY v.ts DESC, v.txid DESC LIMIT CAST($4 AS BIGINT)";
const KINDS: &str = "SELECT name FROM resource_type";

/// The number of its type, id, version, time, what made it, the document.
type Row = (i64, String, i64, i64, String, Document);

/// One version of a resource.
pub(super) async fn version(
    db: &AuthDatabase,
    key: &ResourceKey,
    version: i64,
) -> Result<Option<ResourceVersion>, sqlx::Error> {
    let Some(table) = Table::find(db, &key.resource_type).await? else {
        return Ok(None);
    };
    let sql = table.sql(db.dialect(), &ONE.replace("{of_resource}", OF_RESOURCE));
    let row: Option<Row> = run!(db.reader(), fetch_optional: sqlx::query_as(sql).bind(key.id.as_str()).bind(version))?;
    row.map_or(Ok(None), |row| read(row, std::slice::from_ref(&key.resource_type)))
}

/// A page of a history.
pub(super) async fn history(db: &AuthDatabase, query: &HistoryQuery) -> Result<HistoryPage, sqlx::Error> {
    let mut tables = Vec::with_capacity(query.kinds.len());
    for (kind, _) in &query.kinds {
        tables.extend(Table::find(db, kind).await?.map(|table| (kind.clone(), table)));
    }
    let (kinds, tables): (Vec<ResourceType>, Vec<Table>) = tables.into_iter().unzip();
    let piece = query.window.count.saturating_add(1).max(PIECE_MIN);
    let mut pager = HistoryPageBuilder::new(query);
    let mut after = query.window.after.unwrap_or(HistoryPosition { updated_us: LATEST_US, version: i64::MAX });
    loop {
        let asked = Piece { since_us: query.window.since_us.unwrap_or(EARLIEST_US), after, limit: i64::from(piece) };
        let rows = match (&query.id, tables.first()) {
            (_, None) => Vec::new(),
            (Some(id), Some(table)) => of_resource(db, table, id, asked).await?,
            (None, Some(_)) => of_types(db, &tables, asked).await?,
        };
        let is_last = rows.len() < usize::try_from(piece).unwrap_or(usize::MAX);
        for row in rows {
            after = HistoryPosition { updated_us: row.3, version: row.2 };
            if let Some(version) = read(row, &kinds)?
                && pager.add_version(version) == HistoryVersionDemand::Nothing
            {
                return Ok(pager.finish());
            }
        }
        if is_last {
            return Ok(pager.finish());
        }
    }
}

/// Returns the types of which something was written.
pub(crate) async fn kinds(db: &AuthDatabase) -> Result<Vec<ResourceType>, sqlx::Error> {
    let names: Vec<String> = run!(db.reader(), fetch_all: sqlx::query_scalar(KINDS))?;
    names.iter().map(|name| name.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))).collect()
}

/// What one statement reads.
#[derive(Clone, Copy)]
struct Piece {
    since_us: i64,
    after: HistoryPosition,
    limit: i64,
}

async fn of_resource(db: &AuthDatabase, table: &Table, id: &ResourceId, asked: Piece) -> Result<Vec<Row>, sqlx::Error> {
    let sql = table.sql(db.dialect(), &PIECE_OF_RESOURCE.replace("{of_resource}", OF_RESOURCE));
    run!(db.reader(), fetch_all: sqlx::query_as(sql)
        .bind(id.as_str()).bind(asked.since_us)
        .bind(asked.after.updated_us).bind(asked.after.version).bind(asked.limit))
}

async fn of_types(db: &AuthDatabase, tables: &[Table], asked: Piece) -> Result<Vec<Row>, sqlx::Error> {
    let limit = usize::try_from(asked.limit).unwrap_or(usize::MAX);
    let mut rows: Vec<Row> = Vec::new();
    let numbered: Vec<(usize, &Table)> = tables.iter().enumerate().collect();
    for some in numbered.chunks(TYPES_MAX) {
        let parts = some.iter().map(|(number, table)| table.named(&OF_TYPE.replace("{number}", &number.to_string())));
        let parts: Vec<String> = parts.collect();
        let text = PIECE_OF_TYPES.replace("{of_types}", &parts.join("\nUNION ALL\n"));
        let sql = Sql::render_to_sql_str(db.dialect(), &text);
        let read: Vec<Row> = run!(db.reader(), fetch_all: sqlx::query_as(sql)
            .bind(asked.since_us).bind(asked.after.updated_us).bind(asked.after.version).bind(asked.limit))?;
        rows.extend(read);
    }
    if tables.len() > TYPES_MAX {
        rows.sort_by_key(|(_, _, version, updated_us, ..)| std::cmp::Reverse((*updated_us, *version)));
        rows.truncate(limit);
    }
    Ok(rows)
}

/// A row as a version; `None` for a document that cannot be read.
fn read(row: Row, kinds: &[ResourceType]) -> Result<Option<ResourceVersion>, sqlx::Error> {
    let (number, id, version, updated_us, op, document) = row;
    let unknown = || sqlx::Error::Decode("a version of no type that was asked for".into());
    let kind = usize::try_from(number).ok().and_then(|number| kinds.get(number)).ok_or_else(unknown)?.clone();
    let change = match op.as_str() {
        "create" => VersionInteraction::Created,
        "delete" => VersionInteraction::Deleted,
        _ => VersionInteraction::Updated,
    };
    let Some(resource) = document.read(kind.as_str(), &id) else {
        return Ok(None);
    };
    let id = id.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
    let stored = StoredResource { key: ResourceKey { resource_type: kind, id }, version, updated_us, resource };
    Ok(Some(ResourceVersion { change, stored }))
}
