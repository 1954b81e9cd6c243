//! Search: the rows that writes leave, and the statements that read them.
//!
//! What a parameter finds in a resource is evaluated when the resource is written and kept as narrow rows
//! (`migrations/auth`, 0016). A search is one statement over them, with what the caller reaches inside it; where the
//! rows of several parameters decide which one is walked, a statement before it counts them as far as that takes.
//! Rows are numbered by type and parameter; a type whose definitions change gets another number, so the
//! old rows answer until the new ones are complete, and nothing is ever half replaced.

mod access;
mod chain;
mod compare;
mod composite;
mod cursor;
mod driver;
mod finder;
mod index;
mod number;
mod order;
mod page;
mod patients;
mod rebuild;
mod row;
mod rows;
mod statement;
mod walk;
mod write;
mod writer;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use fhir_resource::patient_compartment::{CompartmentMembership, patient_compartment_membership};
use fhir_resource::{ResourceId, ResourceType, StoredResource};
use fhir_search::{COMPARTMENT_PARAMETER_NUMBER, SearchClause, SearchParameterCatalog, SearchParameterType};
use fhir_store::{
    AccessFilter, RevincludeQuery, SearchExecutionError, SearchMatches, SearchQuery, SearchStore, StoreError,
};
use serde_json::json;
use sql_engines::{SqlDialect, retry_on_contention, run};

use self::page::Ran;
use self::statement::{Bound, Statement, Unanswerable};
use crate::db::AuthDatabase;
use crate::dialect::Sql;
use crate::document::Document;
use crate::fault::fhir;
use crate::resources::{self, Table};

pub(crate) use driver::FEW;
pub(crate) use finder::{Finder, Findings};
pub(crate) use index::Index;
pub(crate) use patients::{Begins, patients};
pub(crate) use write::Pending;

/// How often a search is made again because the index changed meanwhile.
const ATTEMPTS: usize = 3;
const REVISION: &str = "SELECT revision FROM search_state";
const ANY: &str = "SELECT t.txid FROM {table} t LIMIT 1";
/// The numbers of `$1`, `[[number], …]`, under which something is in the compartment of the patient `$2`.
static ABOUT: Sql = Sql::new(
    "SELECT CAST(e.value ->> 0 AS BIGINT) FROM {elements:$1} WHERE EXISTS (
    SELECT 1 FROM search_reference i
    WHERE i.parameter = CAST(e.value ->> 0 AS BIGINT) AND i.target = $2 AND i.kind = 'Patient'
)",
);

/// A row of a statement that finds resources.
type Row = (String, i64, i64, Document);

#[async_trait]
impl SearchStore for AuthDatabase {
    async fn current_search_parameter_catalog(&self) -> Result<Arc<SearchParameterCatalog>, StoreError> {
        Ok(Arc::clone(&current(self).await.map_err(fhir)?.catalog))
    }

    async fn cached_search_parameter_catalog(&self) -> Result<Arc<SearchParameterCatalog>, StoreError> {
        Ok(Arc::clone(&known(self).await.map_err(fhir)?.catalog))
    }

    fn is_type_indexed(&self, catalog: &SearchParameterCatalog, kind: &ResourceType) -> bool {
        index::covers(catalog, kind)
    }

    async fn search(&self, query: &SearchQuery) -> Result<Result<SearchMatches, SearchExecutionError>, StoreError> {
        search(self, query).await.map_err(fhir)
    }

    async fn types_in_patient_compartment(
        &self,
        patient: &ResourceId,
    ) -> Result<Result<Vec<ResourceType>, SearchExecutionError>, StoreError> {
        kinds_about(self, patient).await.map_err(fhir)
    }

    async fn read_by_ids(
        &self,
        kind: &ResourceType,
        ids: &[ResourceId],
        within: &AccessFilter,
    ) -> Result<Result<Vec<StoredResource>, SearchExecutionError>, StoreError> {
        among(self, (kind, ids), within).await.map_err(fhir)
    }

    async fn read_referring_resources(
        &self,
        referring: RevincludeQuery<'_>,
        within: &AccessFilter,
        limit: u32,
    ) -> Result<Result<Vec<StoredResource>, SearchExecutionError>, StoreError> {
        refer(self, referring, within, limit).await.map_err(fhir)
    }
}

impl AuthDatabase {
    /// Sets the base URL under which absolute references are references to resources of this server. Every node of a
    /// deployment sets the same one. When it has changed, the types with such references to the old or the new URL are
    /// registered for a new index, which [`rebuild_search_index`](Self::rebuild_search_index) builds.
    ///
    /// # Errors
    /// When the engine fails; nothing is changed then.
    pub async fn set_fhir_base_url(&self, own: &str) -> Result<(), sqlx::Error> {
        retry_on_contention(|| async {
            let mut tx = self.begin().await?;
            number::set_own(&mut tx, own).await?;
            tx.commit().await
        })
        .await
    }

    /// Returns the engine's query plan for a search, one step per line; empty when the search is refused or cannot find
    /// anything.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn explain_search_plan(&self, query: &SearchQuery) -> Result<Vec<String>, sqlx::Error> {
        match find_tables(self, query).await? {
            Some(table) => page::plan(self, &*current(self).await?, &table, query).await,
            None => Ok(Vec::new()),
        }
    }

    /// Returns the engine's query plan for reading the resources that refer to given ones, one step per line.
    ///
    /// # Errors
    /// When the engine fails.
    #[doc(hidden)]
    pub async fn explain_revinclude_plan(
        &self,
        referring: RevincludeQuery<'_>,
        within: &AccessFilter,
    ) -> Result<Vec<String>, sqlx::Error> {
        let Some(table) = Table::find(self, referring.resource_type).await? else { return Ok(Vec::new()) };
        let (index, reaches) = (current(self).await?, BTreeMap::new());
        let mut statement = Statement::new(self, &index, &reaches);
        match write_referring(&mut statement, &table, (referring, within), 1_000) {
            Ok(Some(sql)) => page::steps(self, &sql, statement.bound).await,
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the engine's query plan for reading resources by ids, one step per line.
    ///
    /// # Errors
    /// When the engine fails.
    #[doc(hidden)]
    pub async fn explain_read_by_ids_plan(
        &self,
        (kind, ids): (&ResourceType, &[ResourceId]),
        within: &AccessFilter,
    ) -> Result<Vec<String>, sqlx::Error> {
        let Some(table) = Table::find(self, kind).await? else { return Ok(Vec::new()) };
        let (index, reaches) = (current(self).await?, BTreeMap::new());
        let mut statement = Statement::new(self, &index, &reaches);
        match write_among(&mut statement, (&table, kind), ids, within) {
            Ok(sql) => page::steps(self, &sql, statement.bound).await,
            Err(_) => Ok(Vec::new()),
        }
    }

    /// Has all rows made again, after somebody wrote past the rules.
    pub(crate) async fn renew_index(&self) -> Result<(), sqlx::Error> {
        retry_on_contention(|| async {
            let mut tx = self.begin().await?;
            number::renew_all(&mut tx).await?;
            tx.commit().await
        })
        .await
    }
}

impl From<Unanswerable> for SearchExecutionError {
    fn from(unanswerable: Unanswerable) -> Self {
        match unanswerable {
            Unanswerable::Indexing(parameter) => Self::Indexing { parameter },
            Unanswerable::Closed => Self::Closed,
        }
    }
}

/// Returns what is known of the index, compared with the database.
async fn current(db: &AuthDatabase) -> Result<Arc<Index>, sqlx::Error> {
    if let Some(known) = db.known_index() {
        let revision: i64 = run!(db.reader(), fetch_one: sqlx::query_scalar(REVISION))?;
        if revision == known.revision {
            return Ok(known);
        }
    }
    reloaded(db).await
}

/// Returns what is known of the index, compared by the statement that uses it.
async fn known(db: &AuthDatabase) -> Result<Arc<Index>, sqlx::Error> {
    match db.known_index() {
        Some(known) => Ok(known),
        None => reloaded(db).await,
    }
}

async fn reloaded(db: &AuthDatabase) -> Result<Arc<Index>, sqlx::Error> {
    let mut tx = db.begin().await?;
    let index = Arc::new(Index::read(&mut tx).await?);
    tx.roll_back().await?;
    db.remember_index(&index);
    Ok(index)
}

/// Returns the table of what is searched for; those that chains look at are known from then on.
async fn find_tables(db: &AuthDatabase, query: &SearchQuery) -> Result<Option<Table>, sqlx::Error> {
    let Some(table) = Table::find(db, &query.search.resource_type).await? else { return Ok(None) };
    for kind in query.search.clauses.iter().flat_map(SearchClause::chained_resource_types) {
        Table::find(db, kind).await?;
    }
    Ok(Some(table))
}

async fn search(
    db: &AuthDatabase,
    query: &SearchQuery,
) -> Result<Result<SearchMatches, SearchExecutionError>, sqlx::Error> {
    let Some(table) = find_tables(db, query).await? else {
        return Ok(Ok(SearchMatches { total: Some(0), ..SearchMatches::default() }));
    };
    let mut index = known(db).await?;
    for _ in 0..ATTEMPTS {
        match page::search(db, &index, &table, query).await? {
            Ran::Found(found) => return Ok(Ok(found)),
            Ran::Cursor => return Ok(Err(SearchExecutionError::Cursor)),
            // What is refused by a copy of before may be answered by now.
            Ran::Refused(unanswerable) => {
                let before = index.revision;
                index = current(db).await?;
                if index.revision == before {
                    return Ok(Err(unanswerable.into()));
                }
            }
            Ran::Outdated => index = reloaded(db).await?,
        }
    }
    Ok(Err(SearchExecutionError::Indexing { parameter: query.search.resource_type.to_string() }))
}

async fn kinds_about(
    db: &AuthDatabase,
    patient: &ResourceId,
) -> Result<Result<Vec<ResourceType>, SearchExecutionError>, sqlx::Error> {
    let index = current(db).await?;
    let mut kinds = Vec::new();
    let mut asked = BTreeMap::new();
    for kind in resources::kinds(db).await? {
        match (patient_compartment_membership(&kind), index.number(&kind, COMPARTMENT_PARAMETER_NUMBER)) {
            (CompartmentMembership::Reference(_), Some(number)) => drop(asked.insert(number, kind)),
            (CompartmentMembership::Reference(_), None) if !index.covers(&kind) => kinds.push(kind),
            // Of a type that nothing was written to there are no rows to make.
            (CompartmentMembership::Reference(_), None) if has_any(db, &kind).await? => {
                return Ok(Err(SearchExecutionError::Indexing { parameter: format!("{kind}.patient") }));
            }
            _ => {}
        }
    }
    let numbers: Vec<serde_json::Value> = asked.keys().map(|number| json!([number])).collect();
    let sql = ABOUT.text_for_dialect(db.dialect());
    let found: Vec<i64> = run!(db.searcher(), fetch_all: {
        sqlx::query_scalar(sql).bind(serde_json::Value::Array(numbers).to_string()).bind(patient.as_str())
    })?;
    kinds.extend(found.iter().filter_map(|number| asked.remove(number)));
    Ok(Ok(kinds))
}

async fn has_any(db: &AuthDatabase, kind: &ResourceType) -> Result<bool, sqlx::Error> {
    let Some(table) = Table::find(db, kind).await? else { return Ok(false) };
    let sql = table.sql(db.dialect(), ANY);
    let any: Option<i64> = run!(db.reader(), fetch_optional: sqlx::query_scalar(sql))?;
    Ok(any.is_some())
}

async fn among(
    db: &AuthDatabase,
    (kind, ids): (&ResourceType, &[ResourceId]),
    within: &AccessFilter,
) -> Result<Result<Vec<StoredResource>, SearchExecutionError>, sqlx::Error> {
    let Some(table) = Table::find(db, kind).await? else { return Ok(Ok(Vec::new())) };
    let index = current(db).await?;
    let reaches = BTreeMap::new();
    let mut statement = Statement::new(db, &index, &reaches);
    match write_among(&mut statement, (&table, kind), ids, within) {
        Ok(sql) => fetch(db, kind, sql, statement.bound).await.map(Ok),
        Err(unanswerable) => Ok(Err(unanswerable.into())),
    }
}

fn write_among(
    statement: &mut Statement<'_>,
    (table, kind): (&Table, &ResourceType),
    ids: &[ResourceId],
    within: &AccessFilter,
) -> Result<String, Unanswerable> {
    let ids = statement.bind(elements(ids));
    let test = statement.within(kind, within, "o.id")?;
    Ok(format!(
        "SELECT o.id, o.txid, {{us:o.ts}}, o.resource FROM {{elements:{ids}}} JOIN {} o ON o.id = e.value ->> 0 WHERE {test} ORDER BY o.id",
        table.quoted()
    ))
}

async fn refer(
    db: &AuthDatabase,
    referring: RevincludeQuery<'_>,
    within: &AccessFilter,
    limit: u32,
) -> Result<Result<Vec<StoredResource>, SearchExecutionError>, sqlx::Error> {
    let kind = referring.resource_type;
    let Some(table) = Table::find(db, kind).await? else { return Ok(Ok(Vec::new())) };
    let index = current(db).await?;
    let reaches = BTreeMap::new();
    let mut statement = Statement::new(db, &index, &reaches);
    match write_referring(&mut statement, &table, (referring, within), limit) {
        Ok(Some(sql)) => fetch(db, kind, sql, statement.bound).await.map(Ok),
        Ok(None) => Ok(Ok(Vec::new())),
        Err(unanswerable) => Ok(Err(unanswerable.into())),
    }
}

fn write_referring(
    statement: &mut Statement<'_>,
    table: &Table,
    (referring, within): (RevincludeQuery<'_>, &AccessFilter),
    limit: u32,
) -> Result<Option<String>, Unanswerable> {
    let kind = referring.resource_type;
    let numbers: Vec<i64> = if let Some(parameter) = referring.by {
        vec![statement.number(kind, parameter)?]
    } else {
        let index = statement.index;
        let references = index
            .catalog
            .parameters_of_type(kind)
            .filter(|parameter| parameter.parameter_type == SearchParameterType::Reference);
        references.filter_map(|parameter| statement.number(kind, parameter).ok()).collect()
    };
    if numbers.is_empty() {
        return Ok(None);
    }
    let numbers: Vec<String> = numbers.into_iter().map(|number| statement.bind(number)).collect();
    let to = statement.bind(referring.to.as_str());
    let ids = statement.bind(elements(referring.ids));
    let test = statement.within(kind, within, "o.id")?;
    let condition = format!("r.parameter IN ({}) AND r.kind = {to} AND r.target = e.value ->> 0", numbers.join(", "));
    // What is referred to leads to the references, one after the other, and those to the resources.
    let references = match statement.dialect() {
        SqlDialect::Postgres => format!(
            "{{elements:{ids}}} CROSS JOIN LATERAL (SELECT r.id FROM search_reference r WHERE {condition} OFFSET 0) AS i"
        ),
        SqlDialect::Sqlite => {
            format!("(SELECT r.id FROM {{elements:{ids}}} CROSS JOIN search_reference r WHERE {condition}) AS i")
        }
    };
    let quoted = table.quoted();
    Ok(Some(format!(
        "WITH found AS MATERIALIZED (SELECT DISTINCT i.id FROM {references})
SELECT o.id, o.txid, {{us:o.ts}}, o.resource FROM found CROSS JOIN {quoted} o
WHERE o.id = found.id AND {test} ORDER BY o.id LIMIT {limit}"
    )))
}

fn elements(ids: &[ResourceId]) -> String {
    let ids: Vec<serde_json::Value> = ids.iter().map(|id| json!([id.as_str()])).collect();
    serde_json::Value::Array(ids).to_string()
}

async fn fetch(
    db: &AuthDatabase,
    kind: &ResourceType,
    sql: String,
    bound: Vec<Bound>,
) -> Result<Vec<StoredResource>, sqlx::Error> {
    let sql = Sql::render_to_sql_str(db.dialect(), &sql);
    let is_kept = statement::is_kept_prepared(sql.as_str());
    let rows: Vec<Row> = run!(db.searcher(), fetch_all: {
        bound.into_iter().fold(sqlx::query_as(sql).persistent(is_kept), |asked, value| match value {
            Bound::Text(text) => asked.bind(text),
            Bound::Integer(number) => asked.bind(number),
        })
    })?;
    let readable = rows.into_iter().filter_map(|(id, version, updated_us, document)| {
        let resource = document.read(kind.as_str(), &id)?;
        Some(page::stored(kind, (&id, version, updated_us), resource))
    });
    readable.collect()
}
