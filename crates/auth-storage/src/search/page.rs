//! A page of a search: the statement as a whole, and what it found.

use std::collections::BTreeMap;

use fhir_resource::{ResourceKey, ResourceType, StoredResource, StoredResourceText};
use fhir_store::{SearchExecutionError, SearchMatches, SearchQuery};
use serde_json::Value;
use sql_engines::{SqlDialect, run};
use sqlx::FromRow;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;

use super::cursor::{self, Behind, cursor};
use super::driver::{self, Choice, Way};
use super::index::Index;
use super::statement::{Bound, Statement, Unanswerable, is_kept_prepared};
use super::walk;
use super::writer::{Shape, Writer};
use crate::db::AuthDatabase;
use crate::dialect::Sql;
use crate::document::DocumentText;
use crate::engine::Tx;
use crate::resources::Table;

/// A row of the statement: the total, the revision of the index, the keys of the order, then the resource.
type Row = (Option<i64>, i64, Option<String>, Option<String>, Option<i64>, Option<i64>, Option<DocumentText>);

/// What became of a statement.
pub(super) enum Ran {
    /// It found this.
    Found(SearchMatches),
    /// The statement was made for an earlier index.
    Outdated,
    /// It could not be made.
    Refused(Unanswerable),
    /// The cursor is none of this search.
    Cursor,
}

/// What a statement is written from.
#[derive(Clone, Copy)]
pub(super) struct Page<'a> {
    pub(super) db: &'a AuthDatabase,
    pub(super) index: &'a Index,
    pub(super) table: &'a Table,
    pub(super) query: &'a SearchQuery,
    pub(super) behind: Option<&'a Behind>,
}

/// A statement and its values.
type Prepared = (String, Vec<Bound>);

pub(super) async fn search(
    db: &AuthDatabase,
    index: &Index,
    table: &Table,
    query: &SearchQuery,
) -> Result<Ran, sqlx::Error> {
    let Ok(behind) = behind(query) else { return Ok(Ran::Cursor) };
    let page = Page { db, index, table, query, behind: behind.as_ref() };
    let way = match page.choose() {
        Ok(Choice::Made(way)) => way,
        Ok(Choice::Count(contest)) => {
            let (sql, bound) = match page.counts(&contest) {
                Ok(prepared) => prepared,
                Err(unanswerable) => return Ok(Ran::Refused(unanswerable)),
            };
            let counts: Vec<(i64, i64)> = fetch(db, &sql, bound).await?;
            contest.decide(&counts)
        }
        Err(unanswerable) => return Ok(Ran::Refused(unanswerable)),
    };
    let (sql, bound) = match page.prepare(way) {
        Ok(Some(prepared)) => prepared,
        Ok(None) => return Ok(Ran::Found(SearchMatches { total: Some(0), ..SearchMatches::default() })),
        Err(unanswerable) => return Ok(Ran::Refused(unanswerable)),
    };
    let rows: Vec<Row> = fetch(db, &sql, bound).await?;
    if rows.first().is_none_or(|(_, revision, ..)| *revision != index.revision) {
        return Ok(Ran::Outdated);
    }
    matches(query, rows).map(Ran::Found)
}

/// Returns how the engine would go about a search, a line for each step, that of counting rows included; nothing where
/// no statement is made.
pub(super) async fn plan(
    db: &AuthDatabase,
    index: &Index,
    table: &Table,
    query: &SearchQuery,
) -> Result<Vec<String>, sqlx::Error> {
    let Ok(behind) = behind(query) else { return Ok(Vec::new()) };
    let page = Page { db, index, table, query, behind: behind.as_ref() };
    let mut lines = Vec::new();
    let way = match page.choose() {
        Ok(Choice::Made(way)) => way,
        Ok(Choice::Count(contest)) => {
            let Ok((sql, bound)) = page.counts(&contest) else { return Ok(Vec::new()) };
            lines.push("Counting rows".to_owned());
            lines.extend(steps(db, &sql, bound.clone()).await?);
            lines.push("Page".to_owned());
            contest.decide(&fetch::<(i64, i64)>(db, &sql, bound).await?)
        }
        Err(_) => return Ok(Vec::new()),
    };
    let Ok(Some((sql, bound))) = page.prepare(way) else { return Ok(Vec::new()) };
    lines.extend(steps(db, &sql, bound).await?);
    Ok(lines)
}

/// A step of a plan of SQLite: its number, that of the step it is a part of, and what is done.
type Step = (i64, i64, i64, String);

/// Returns the steps of the plan of a statement. Those within another are indented, on both engines.
pub(super) async fn steps(db: &AuthDatabase, sql: &str, bound: Vec<Bound>) -> Result<Vec<String>, sqlx::Error> {
    let sql = format!("{{explain}} {sql}");
    if db.dialect() == SqlDialect::Postgres {
        let steps: Vec<(String,)> = fetch(db, &sql, bound).await?;
        return Ok(steps.into_iter().map(|(step,)| step).collect());
    }
    let steps: Vec<Step> = fetch(db, &sql, bound).await?;
    let mut depths: BTreeMap<i64, usize> = BTreeMap::new();
    let lines = steps.into_iter().map(|(number, within, _, step)| {
        let depth = depths.get(&within).map_or(0, |depth| depth + 1);
        depths.insert(number, depth);
        format!("{}{step}", "  ".repeat(depth))
    });
    Ok(lines.collect())
}

async fn fetch<T>(db: &AuthDatabase, sql: &str, bound: Vec<Bound>) -> Result<Vec<T>, sqlx::Error>
where
    T: for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin,
{
    let sql = Sql::render_to_sql_str(db.dialect(), sql);
    let is_kept = is_kept_prepared(sql.as_str());
    run!(db.searcher(), fetch_all: {
        bound.into_iter().fold(sqlx::query_as(sql).persistent(is_kept), |query, value| match value {
            Bound::Text(text) => query.bind(text),
            Bound::Integer(number) => query.bind(number),
        })
    })
}

/// A cursor that is not of the search it came with.
struct NotThere;

/// Where the page begins.
fn behind(query: &SearchQuery) -> Result<Option<Behind>, NotThere> {
    let search = &query.search;
    let Some(text) = search.cursor.as_deref() else { return Ok(None) };
    cursor::read(text, &search.sort, &search.clauses).map(Some).ok_or(NotThere)
}

/// Returns the keys of what a search finds, as many as a page of it has, within a transaction.
pub(super) async fn keys(
    tx: &mut Tx,
    (db, index): (&AuthDatabase, &Index),
    table: &Table,
    query: &SearchQuery,
) -> Result<Result<Vec<ResourceKey>, SearchExecutionError>, sqlx::Error> {
    let page = Page { db, index, table, query, behind: None };
    let prepared = driver::guess(&mut page.statement(), query).and_then(|way| page.prepare_ids(way));
    let (sql, bound) = match prepared {
        Ok(Some(prepared)) => prepared,
        Ok(None) => return Ok(Ok(Vec::new())),
        Err(unanswerable) => return Ok(Err(unanswerable.into())),
    };
    let sql = Sql::render_to_sql_str(db.dialect(), &sql);
    let is_kept = is_kept_prepared(sql.as_str());
    let ids: Vec<String> = run!(tx.on(), fetch_all: {
        bound.into_iter().fold(sqlx::query_scalar(sql).persistent(is_kept), |query, value| match value {
            Bound::Text(text) => query.bind(text),
            Bound::Integer(number) => query.bind(number),
        })
    })?;
    let kind = &query.search.resource_type;
    ids.iter().map(|id| key_of(kind, id)).collect::<Result<_, _>>().map(Ok)
}

impl<'a> Page<'a> {
    const fn statement(&self) -> Statement<'a> {
        Statement::new(self.db, self.index, &self.query.reaches)
    }

    fn choose(&self) -> Result<Choice, Unanswerable> {
        let walks_order = self.query.search.sort.first().is_some_and(walk::has_order);
        driver::choose(
            &mut self.statement(),
            self.query,
            (cursor::begun(self.behind, &self.query.search.sort), walks_order),
        )
    }

    fn counts(&self, contest: &driver::Contest) -> Result<Prepared, Unanswerable> {
        let mut statement = self.statement();
        let sql = contest.count(&mut statement, self.query)?;
        Ok((sql, statement.bound))
    }

    /// The statement of a page; `None` when nothing can meet what is asked.
    fn prepare(&self, way: Way) -> Result<Option<Prepared>, Unanswerable> {
        let mut statement = self.statement();
        let Some(sql) = Writer { page: *self, statement: &mut statement }.write(way)? else { return Ok(None) };
        Ok(Some((sql, statement.bound)))
    }

    /// The statement of the first ids alone.
    fn prepare_ids(&self, way: Way) -> Result<Option<Prepared>, Unanswerable> {
        let mut statement = self.statement();
        let (limit, mut writer) = (self.query.count, Writer { page: *self, statement: &mut statement });
        let Some(matching) = writer.matching(way, Shape::Ids { after: None, limit: Some(limit) })? else {
            return Ok(None);
        };
        Ok(Some((matching, statement.bound)))
    }
}

fn matches(query: &SearchQuery, rows: Vec<Row>) -> Result<SearchMatches, sqlx::Error> {
    let wanted = usize::try_from(query.count).unwrap_or(usize::MAX);
    let kind = &query.search.resource_type;
    let mut found = SearchMatches {
        total: rows.first().and_then(|(total, ..)| u64::try_from((*total)?).ok()),
        ..SearchMatches::default()
    };
    let more = rows.len() > wanted && wanted > 0;
    let mut last = None;
    for (_, _, keys, id, version, updated_us, document) in rows.into_iter().take(wanted) {
        let (Some(id), Some(version), Some(updated_us), Some(document)) = (id, version, updated_us, document) else {
            continue;
        };
        if let Some(body) = document.0 {
            found.entries.push(StoredResourceText { key: key_of(kind, &id)?, version, updated_us, body });
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
) -> Result<StoredResource, sqlx::Error> {
    Ok(StoredResource { key: key_of(kind, id)?, version, updated_us, resource })
}

fn key_of(kind: &ResourceType, id: &str) -> Result<ResourceKey, sqlx::Error> {
    let id = id.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
    Ok(ResourceKey { resource_type: kind.clone(), id })
}
