//! Lists, and what the condition of a write finds.

use fhir_resource::{ResourceKey, ResourceType, StoredResource};
use fhir_store::transaction_plan::ConditionalWriteLookup;
use fhir_store::{ListPage, ListQuery};
use sql_engines::run;

use super::conditions::Conditions;
use crate::db::AuthDatabase;
use crate::document::Document;
use crate::engine::Tx;
use crate::resources::Table;

/// The total and one page, in one statement and so of one moment. The row without an id stands
/// for an empty page.
const LIST: &str = "WITH matching AS (SELECT t.id FROM {table} t WHERE {conditions}),
page AS (SELECT id FROM matching ORDER BY id LIMIT CAST($1 AS BIGINT) OFFSET $2)
SELECT (SELECT count(*) FROM matching), t.id, t.txid, {us:t.ts}, t.resource
FROM (SELECT 1 AS one) AS always
LEFT JOIN ({table} t JOIN page ON page.id = t.id) ON TRUE
ORDER BY t.id";

/// Two matches are enough to know that there are several.
const MATCHES: &str = "SELECT t.id FROM {table} t WHERE {conditions} ORDER BY t.id LIMIT CAST($1 AS BIGINT) OFFSET $2";

/// A row of [`LIST`].
type ListRow = (i64, Option<String>, Option<i64>, Option<i64>, Option<Document>);

/// One page of a list. A resource that cannot be read counts in the total and is left out.
pub(super) async fn list(db: &AuthDatabase, query: &ListQuery) -> Result<ListPage, sqlx::Error> {
    let empty = ListPage { total: 0, entries: Vec::new() };
    let Some(table) = Table::find(db, &query.resource_type).await? else {
        return Ok(empty);
    };
    let Some(conditions) = Conditions::of(db.dialect(), &query.resource_type, (&query.filters, &query.within)) else {
        return Ok(empty);
    };
    let sql = table.sql(db.dialect(), &LIST.replace("{conditions}", &conditions.sql));
    let offset = i64::try_from(query.offset()).unwrap_or(i64::MAX);
    let rows: Vec<ListRow> = run!(db.searcher(), fetch_all: {
        let asked = sqlx::query_as(sql).bind(i64::from(query.count)).bind(offset);
        conditions.bound.into_iter().fold(asked, sqlx::query::QueryAs::bind)
    })?;
    page(query, rows)
}

/// Returns the keys of the resources that meet a condition on their elements, two at most.
pub(super) async fn matches(
    tx: &mut Tx,
    table: &Table,
    kind: &ResourceType,
    asked: ConditionalWriteLookup<'_>,
) -> Result<Vec<ResourceKey>, sqlx::Error> {
    let asked = (asked.criteria.filters.as_slice(), &asked.reach.search);
    let Some(conditions) = Conditions::of(tx.dialect(), kind, asked) else {
        return Ok(Vec::new());
    };
    let sql = table.sql(tx.dialect(), &MATCHES.replace("{conditions}", &conditions.sql));
    let ids: Vec<String> = run!(tx.on(), fetch_all: {
        let asked = sqlx::query_scalar(sql).bind(2_i64).bind(0_i64);
        conditions.bound.into_iter().fold(asked, sqlx::query::QueryScalar::bind)
    })?;
    ids.into_iter().map(|id| Ok(ResourceKey { resource_type: kind.clone(), id: parse_id(&id)? })).collect()
}

fn page(query: &ListQuery, rows: Vec<ListRow>) -> Result<ListPage, sqlx::Error> {
    let total = rows.first().map_or(0, |(total, ..)| *total);
    let mut entries = Vec::with_capacity(rows.len());
    for row in rows {
        if let (_, Some(id), Some(version), Some(updated_us), Some(document)) = row
            && let Some(resource) = document.read(query.resource_type.as_str(), &id)
        {
            let key = ResourceKey { resource_type: query.resource_type.clone(), id: parse_id(&id)? };
            entries.push(StoredResource { key, version, updated_us, resource });
        }
    }
    Ok(ListPage { total: u64::try_from(total).unwrap_or(0), entries })
}

fn parse_id(id: &str) -> Result<fhir_resource::ResourceId, sqlx::Error> {
    id.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))
}
