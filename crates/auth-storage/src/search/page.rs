//! A page of a search: the statement as a whole, its order, and where the next page begins.

use fhir_store::search::{Clause, Column, Kind, Parameter, Sort};
use fhir_store::{
    Counting, Matches, ResourceId, ResourceKey, ResourceType, SearchQuery, SearchRefused, Selection, Stored, StoredText,
};
use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, ColumnIndex, Decode, FromRow, SqlSafeStr as _, Type};

use super::index::Index;
use super::row::{Place, uri_number};
use super::statement::{Bound, RANK_OF_IDS, Statement, Unanswerable, is_kept_prepared, rank};
use crate::db::Db;
use crate::dialect::{Dialect, hex};
use crate::document::DocumentText;
use crate::engine::{Tx, run};
use crate::resources::Table;

/// A row of the statement: the total, the revision of the index, the keys of the order, then the resource.
type Row = (Option<i64>, i64, Option<String>, Option<String>, Option<i64>, Option<i64>, Option<DocumentText>);

/// What became of a statement.
pub(super) enum Ran {
    /// It found this.
    Found(Matches),
    /// The index is another one than the statement was made for.
    Outdated,
    /// It could not be made.
    Refused(Unanswerable),
    /// The cursor is none of this search.
    Cursor,
}

/// Where a page begins: behind the row with these keys and this id.
struct Behind {
    keys: Vec<Option<Bound>>,
    id: String,
}

pub(super) async fn search(db: &Db, index: &Index, table: &Table, query: &SearchQuery) -> Result<Ran, sqlx::Error> {
    let (sql, bound) = match prepare(db, index, table, query) {
        Ok(prepared) => prepared,
        Err(ran) => return Ok(ran),
    };
    let rows: Vec<Row> = fetch(db, &sql, bound).await?;
    if rows.first().is_none_or(|(_, revision, ..)| *revision != index.revision) {
        return Ok(Ran::Outdated);
    }
    matches(query, rows).map(Ran::Found)
}

/// How the engine would go about it, a line for each step; nothing where no statement is made.
pub(super) async fn plan(
    db: &Db,
    index: &Index,
    table: &Table,
    query: &SearchQuery,
) -> Result<Vec<String>, sqlx::Error> {
    let Ok((sql, bound)) = prepare(db, index, table, query) else { return Ok(Vec::new()) };
    let steps: Vec<Step> = fetch(db, &format!("{{explain}} {sql}"), bound).await?;
    Ok(steps.into_iter().map(|Step(told)| told).collect())
}

/// A step of a plan: the last column, whatever stands before it.
struct Step(String);

impl<'r, R> FromRow<'r, R> for Step
where
    R: sqlx::Row,
    usize: ColumnIndex<R>,
    String: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
        row.try_get(row.len().saturating_sub(1)).map(Self)
    }
}

async fn fetch<T>(db: &Db, sql: &str, bound: Vec<Bound>) -> Result<Vec<T>, sqlx::Error>
where
    T: for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin,
{
    let sql = db.dialect().render(sql);
    let is_kept = is_kept_prepared(&sql);
    let sql = AssertSqlSafe(sql).into_sql_str();
    run!(db.searcher(), fetch_all: {
        bound.into_iter().fold(sqlx::query_as(sql).persistent(is_kept), |asked, value| match value {
            Bound::Text(text) => asked.bind(text),
            Bound::Integer(number) => asked.bind(number),
        })
    })
}

/// The statement and its values, or what becomes of a search for which there is none.
fn prepare(db: &Db, index: &Index, table: &Table, query: &SearchQuery) -> Result<(String, Vec<Bound>), Ran> {
    let behind = match query.search.cursor.as_deref().map(|cursor| read_cursor(cursor, &query.search.sort)) {
        Some(None) => return Err(Ran::Cursor),
        Some(read) => read,
        None => None,
    };
    let mut statement = Statement::new(db, index, &query.reaches);
    match write(&mut statement, table, query, behind.as_ref()) {
        Ok(Some(sql)) => Ok((sql, statement.bound)),
        Ok(None) => Err(Ran::Found(Matches { total: Some(0), ..Matches::default() })),
        Err(unanswerable) => Err(Ran::Refused(unanswerable)),
    }
}

/// The keys of what a search finds, as many as a page of it has, within a transaction.
pub(super) async fn keys(
    tx: &mut Tx,
    (db, index): (&Db, &Index),
    table: &Table,
    query: &SearchQuery,
) -> Result<Result<Vec<ResourceKey>, SearchRefused>, sqlx::Error> {
    let mut statement = Statement::new(db, index, &query.reaches);
    let matching = match matching(&mut statement, table, query) {
        Ok(Some(matching)) => matching,
        Ok(None) => return Ok(Ok(Vec::new())),
        Err(unanswerable) => return Ok(Err(unanswerable.into())),
    };
    let limit = statement.bind_limit(i64::from(query.count));
    let sql = format!("{matching} ORDER BY w.id LIMIT {limit}");
    let bound = statement.bound;
    let sql = db.dialect().render(&sql);
    let is_kept = is_kept_prepared(&sql);
    let sql = AssertSqlSafe(sql).into_sql_str();
    let ids: Vec<String> = run!(tx.on(), fetch_all: {
        bound.into_iter().fold(sqlx::query_scalar(sql).persistent(is_kept), |asked, value| match value {
            Bound::Text(text) => asked.bind(text),
            Bound::Integer(number) => asked.bind(number),
        })
    })?;
    let kind = &query.search.kind;
    ids.iter().map(|id| key_of(kind, id)).collect::<Result<_, _>>().map(Ok)
}

/// The statement; `None` when nothing can meet what is asked.
fn write(
    statement: &mut Statement<'_>,
    table: &Table,
    query: &SearchQuery,
    behind: Option<&Behind>,
) -> Result<Option<String>, Unanswerable> {
    let Some(matching) = matching(statement, table, query)? else { return Ok(None) };
    let total = total(statement, query, &matching);
    let order = order(statement, table, query)?;
    let limit = statement.bind_limit(i64::from(query.count) + i64::from(query.count > 0));
    let after = behind.map(|behind| order.after(statement, behind));
    let keys = order.keys_column(statement.dialect());
    let quoted = table.quoted();
    let page = order.page(&matching, after.as_deref(), &limit);
    // Resources are joined to the page last: joined to it in parentheses, SQLite copies them all into a table first.
    Ok(Some(format!(
        "WITH page AS ({page})
SELECT CAST({total} AS BIGINT), (SELECT revision FROM search_state), {keys}, t.id, t.txid, {{us:t.ts}}, CAST(t.resource AS TEXT)
FROM (SELECT 1 AS one) AS always LEFT JOIN page ON TRUE LEFT JOIN {quoted} t ON t.id = page.id
ORDER BY {by}",
        by = order.by("page."),
    )))
}

/// How many match. Where the first page shows all there are they are counted there ([`matches`]).
fn total(statement: &mut Statement<'_>, query: &SearchQuery, matching: &str) -> String {
    let counted = match query.counting {
        Counting::No => return "NULL".to_owned(),
        Counting::UpTo(most) => {
            let most = statement.bind_limit(i64::from(most) + 1);
            format!("(SELECT count(*) FROM ({matching} LIMIT {most}) AS m)")
        }
        Counting::All => format!("(SELECT count(*) FROM ({matching}) AS m)"),
    };
    if query.search.cursor.is_some() || query.count == 0 {
        return counted;
    }
    let shown = statement.bind(i64::from(query.count));
    format!("CASE WHEN (SELECT count(*) FROM page) > CAST({shown} AS BIGINT) THEN {counted} END")
}

/// The ids that meet everything, each once.
fn matching(statement: &mut Statement<'_>, table: &Table, query: &SearchQuery) -> Result<Option<String>, Unanswerable> {
    let (kind, clauses) = (&query.search.kind, &query.search.clauses);
    let first = first(clauses);
    let mut walked = None;
    let confined = query.within.is_confined();
    let is_by_ids = first.is_some_and(|(rank, _)| rank == RANK_OF_IDS);
    // What a token for one patient may see is little, whatever the query says.
    if confined && !is_by_ids {
        walked = statement.compartment(kind, &query.within)?;
    }
    statement.few = walked.is_some() || is_by_ids;
    let mut walked_clause = None;
    let within_is_walked = walked.is_some() && has_no_criteria(&query.within);
    let distinct = walked.is_some() || first.is_some();
    let set = match (walked, first) {
        (Some(set), _) => set,
        (None, Some((_, at))) => {
            walked_clause = Some(at);
            match clauses.get(at) {
                Some(clause) => statement.set(kind, clause)?,
                None => return Ok(None),
            }
        }
        (None, None) => format!("SELECT t.id FROM {} t", table.quoted()),
    };
    let mut tests = vec!["TRUE".to_owned()];
    for (_, clause) in clauses.iter().enumerate().filter(|(at, _)| Some(*at) != walked_clause) {
        tests.push(statement.test(kind, clause, "w.id")?);
    }
    if confined && !within_is_walked {
        tests.push(statement.within(kind, &query.within, "w.id")?);
    }
    if !query.filters.is_empty() {
        match statement.filtered(kind, &query.filters, "w.id") {
            Some(test) => tests.push(test),
            None => return Ok(None),
        }
    }
    statement.few = false;
    let once = if distinct { "DISTINCT " } else { "" };
    Ok(Some(format!("SELECT {once}w.id FROM ({set}) AS w WHERE {}", tests.join(" AND "))))
}

/// The clause that leaves the fewest, and its rank.
fn first(clauses: &[Clause]) -> Option<(u8, usize)> {
    clauses.iter().enumerate().filter_map(|(at, clause)| Some((rank(clause)?, at))).min()
}

fn has_no_criteria(within: &Selection) -> bool {
    match within {
        Selection::Everything => true,
        Selection::Within(regions) => regions.iter().all(|region| region.criteria.is_empty()),
    }
}

/// A key of the order.
struct Key {
    sql: String,
    descending: bool,
}

impl Key {
    const fn direction(&self) -> &'static str {
        if self.descending { "DESC NULLS LAST" } else { "ASC NULLS LAST" }
    }
}

/// The order of a page: keys, then the id.
struct Order {
    keys: Vec<Key>,
    joins: String,
}

fn order(statement: &mut Statement<'_>, table: &Table, query: &SearchQuery) -> Result<Order, Unanswerable> {
    let mut order = Order { keys: Vec::new(), joins: String::new() };
    for (at, sort) in query.search.sort.iter().enumerate() {
        let sql = match sort.parameter.column() {
            Some(Column::Id) => "d.id".to_owned(),
            Some(Column::LastUpdated) => {
                let join = format!(" JOIN {} s{at} ON s{at}.id = d.id", table.quoted());
                order.joins.push_str(&join);
                format!("{{us:s{at}.ts}}")
            }
            None => {
                let numbers = statement.numbers(&query.search.kind, &sort.parameter)?;
                key(statement, (at, sort), &numbers, &mut order.joins)
            }
        };
        order.keys.push(Key { sql, descending: sort.descending });
    }
    Ok(order)
}

/// The value that decides where a resource stands: of several the least, when descending the greatest.
fn key(statement: &mut Statement<'_>, (at, sort): (usize, &Sort), numbers: &[i64], joins: &mut String) -> String {
    let sorted = numbers.iter().map(|number| sorted_by(&sort.parameter, *number, sort.descending));
    let sorted: Option<Vec<(Place, i64, &'static str)>> = sorted.collect();
    let Some((sorted, (place, _, column))) = sorted.and_then(|sorted| sorted.first().copied().map(|one| (sorted, one)))
    else {
        return "NULL".to_owned();
    };
    let numbers: Vec<String> = sorted.into_iter().map(|(_, number, _)| statement.bind(number)).collect();
    let of_these = match numbers.as_slice() {
        [only] => format!("s.parameter = {only}"),
        several => format!("s.parameter IN ({})", several.join(", ")),
    };
    let best = if sort.descending { "max" } else { "min" };
    let table = place.table();
    match place {
        Place::Range | Place::Quantity => {
            // The sign keeps SQLite from walking the index by this column, from its best value to that of the resource.
            format!("(SELECT {best}(+s.{column}) FROM {table} s WHERE {of_these} AND s.id = d.id)")
        }
        Place::Token | Place::Reference | Place::Text => {
            let bests = format!("SELECT s.id, {best}(s.{column}) AS best FROM {table} s WHERE {of_these}");
            let join = format!(" LEFT JOIN ({bests} GROUP BY s.id) AS s{at} ON s{at}.id = d.id");
            joins.push_str(&join);
            format!("s{at}.best")
        }
    }
}

fn sorted_by(parameter: &Parameter, number: i64, descending: bool) -> Option<(Place, i64, &'static str)> {
    let end = if descending { "high" } else { "low" };
    match parameter.kind {
        Kind::Token => Some((Place::Token, number, "code")),
        Kind::Reference => Some((Place::Reference, number, "target")),
        Kind::String => Some((Place::Text, number, "folded")),
        Kind::Uri => Some((Place::Token, uri_number(number), "code")),
        Kind::Date | Kind::Number => Some((Place::Range, number, end)),
        Kind::Quantity => Some((Place::Quantity, number, end)),
        Kind::Composite => None,
    }
}

impl Order {
    fn by(&self, alias: &str) -> String {
        let keys = self.keys.iter().enumerate().map(|(at, key)| format!("{alias}k{at} {}", key.direction()));
        let by: Vec<String> = keys.chain([format!("{alias}id")]).collect();
        by.join(", ")
    }

    /// The ids of a page and the keys they have. In the order of the ids alone the index is walked no
    /// further than the page reaches.
    fn page(&self, matching: &str, after: Option<&str>, limit: &str) -> String {
        if self.keys.is_empty() {
            let after = after.map(|after| format!(" AND {}", after.replace("p.id", "w.id"))).unwrap_or_default();
            return format!("{matching}{after} ORDER BY w.id LIMIT {limit}");
        }
        let columns: Vec<String> =
            self.keys.iter().enumerate().map(|(at, key)| format!("{} AS k{at}", key.sql)).collect();
        let columns = columns.join(", ");
        let (joins, by, after) = (&self.joins, self.by("p."), after.unwrap_or("TRUE"));
        format!(
            "SELECT * FROM (SELECT d.id, {columns} FROM ({matching}) AS d{joins}) AS p
WHERE {after} ORDER BY {by} LIMIT {limit}"
        )
    }

    /// The keys of a row as an array of JSON.
    fn keys_column(&self, dialect: Dialect) -> String {
        if self.keys.is_empty() {
            return "CAST(NULL AS TEXT)".to_owned();
        }
        let keys: Vec<String> = (0..self.keys.len()).map(|at| format!("page.k{at}")).collect();
        let keys = keys.join(", ");
        match dialect {
            Dialect::Postgres => format!("jsonb_build_array({keys})::TEXT"),
            Dialect::Sqlite => format!("json_array({keys})"),
        }
    }

    /// Whether a row of the page `p` stands behind another one. Those without a value come last.
    fn after(&self, statement: &mut Statement<'_>, behind: &Behind) -> String {
        let id = statement.bind(behind.id.as_str());
        let mut after = format!("p.id > {id}");
        for (at, (key, value)) in self.keys.iter().zip(&behind.keys).enumerate().rev() {
            let column = format!("p.k{at}");
            after = match value {
                None => format!("({column} IS NULL AND {after})"),
                Some(value) => {
                    let value = statement.bind(value.clone());
                    let beyond = if key.descending { "<" } else { ">" };
                    format!("({column} {beyond} {value} OR {column} IS NULL OR ({column} = {value} AND {after}))")
                }
            };
        }
        after
    }
}

fn matches(query: &SearchQuery, rows: Vec<Row>) -> Result<Matches, sqlx::Error> {
    let wanted = usize::try_from(query.count).unwrap_or(usize::MAX);
    let kind = &query.search.kind;
    let mut found =
        Matches { total: rows.first().and_then(|(total, ..)| u64::try_from((*total)?).ok()), ..Matches::default() };
    let more = rows.len() > wanted && wanted > 0;
    let mut last = None;
    for (_, _, keys, id, version, updated_us, document) in rows.into_iter().take(wanted) {
        let (Some(id), Some(version), Some(updated_us), Some(document)) = (id, version, updated_us, document) else {
            continue;
        };
        if let Some(body) = document.0 {
            found.entries.push(StoredText { key: key_of(kind, &id)?, version, updated_us, body });
        } else {
            tracing::error!(%kind, id, "a stored resource cannot be read and is passed over");
        }
        last = Some((keys, id));
    }
    found.next = last.filter(|_| more).map(|(keys, id)| cursor(keys.as_deref(), &id));
    if query.search.cursor.is_none() && !more && wanted > 0 {
        found.total = u64::try_from(found.entries.len()).ok();
    }
    Ok(found)
}

/// A resource as it was read.
pub(super) fn stored(
    kind: &ResourceType,
    (id, version, updated_us): (&str, i64, i64),
    resource: Value,
) -> Result<Stored, sqlx::Error> {
    Ok(Stored { key: key_of(kind, id)?, version, updated_us, resource })
}

fn key_of(kind: &ResourceType, id: &str) -> Result<ResourceKey, sqlx::Error> {
    let id = id.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
    Ok(ResourceKey { kind: kind.clone(), id })
}

/// A place between two rows, for a link: what it says is compared with, and opens nothing.
fn cursor(keys: Option<&str>, id: &str) -> String {
    let mut keys: Vec<Value> = keys.and_then(|keys| serde_json::from_str(keys).ok()).unwrap_or_default();
    keys.push(id.into());
    hex(Value::Array(keys).to_string().as_bytes())
}

/// Reads a place; `None` for what is none of this order.
fn read_cursor(text: &str, sort: &[Sort]) -> Option<Behind> {
    let bytes: Option<Vec<u8>> = (0..text.len())
        .step_by(2)
        .map(|at| text.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok()))
        .collect();
    let Ok(Value::Array(mut values)) = serde_json::from_slice(&bytes?) else { return None };
    let id: ResourceId = values.pop()?.as_str()?.parse().ok()?;
    if values.len() != sort.len() {
        return None;
    }
    let keys: Result<Vec<Option<Bound>>, NotAKey> =
        values.iter().zip(sort).map(|(value, sort)| read_key(value, sort)).collect();
    Some(Behind { keys: keys.ok()?, id: id.to_string() })
}

/// Reads one key; a resource without a value has none.
fn read_key(value: &Value, sort: &Sort) -> Result<Option<Bound>, NotAKey> {
    let is_number = match sort.parameter.column() {
        Some(Column::Id) => false,
        Some(Column::LastUpdated) => true,
        None => matches!(sort.parameter.kind, Kind::Date | Kind::Number | Kind::Quantity),
    };
    match value {
        Value::Null => Ok(None),
        Value::Number(number) if is_number => Ok(Some(number.as_i64().ok_or(NotAKey)?.into())),
        // No text of a row has the character NUL, and Postgres refuses it even as a parameter.
        Value::String(text) if !is_number && !text.contains('\0') => Ok(Some(text.as_str().into())),
        _ => Err(NotAKey),
    }
}

/// A value that is no key of the order.
struct NotAKey;
