//! Lists and conditions: equality on paths into a document.
//!
//! A condition is two bound values, a path and what may stand there; no value and no key ever
//! becomes part of a statement. Postgres walks the path as jsonpath, whose lax mode enters arrays.
//! SQLite has nothing like it, so there a recursive query takes one step per key and enters every
//! array it meets.

use fhir_store::{Filter, ListQuery, Page, ResourceKey, Stored};
use serde_json::Value;

use crate::db::Db;
use crate::dialect::Dialect;
use crate::document::Document;
use crate::engine::{Tx, run};
use crate::resources::Table;

/// The total and one page, in one statement and so of one moment. The row without an id stands
/// for an empty page.
const LIST: &str = "WITH matching AS (SELECT t.id FROM {table} t WHERE {conditions}),
page AS (SELECT id FROM matching ORDER BY id LIMIT $1 OFFSET $2)
SELECT (SELECT count(*) FROM matching), t.id, t.txid, {us:t.ts}, t.resource
FROM (SELECT 1 AS one) AS always
LEFT JOIN ({table} t JOIN page ON page.id = t.id) ON TRUE
ORDER BY t.id";

/// Two matches are enough to know that there are several.
const MATCHES: &str = "SELECT t.id FROM {table} t WHERE {conditions} ORDER BY t.id LIMIT $1 OFFSET $2";

/// Whether something at path `$p` of the document equals one of the scalars `$v`.
const HOLDS_POSTGRES: &str =
    "jsonb_path_exists(t.resource, $p::TEXT::JSONPATH, jsonb_build_object('v', $v::TEXT::JSONB))";
const HOLDS_SQLITE: &str = "EXISTS (
    WITH RECURSIVE walk (step, type, value) AS (
        SELECT 0, 'object', t.resource
        UNION ALL
        SELECT walk.step + (walk.type = 'object'), entry.type, entry.value
        FROM walk JOIN json_each(
            CASE WHEN walk.type IN ('object', 'array') THEN walk.value ELSE '[]' END
        ) AS entry
        WHERE walk.type = 'array' OR entry.key = json_extract($p, '$[' || walk.step || ']')
    )
    SELECT 1 FROM walk JOIN json_each($v) AS asked ON asked.value = walk.value
    WHERE walk.step = json_array_length($p) AND (
        asked.type = walk.type
        OR (asked.type IN ('integer', 'real') AND walk.type IN ('integer', 'real'))
    )
)";

/// A row of [`LIST`].
type ListRow = (i64, Option<String>, Option<i64>, Option<i64>, Option<Document>);

/// Conditions as SQL, and what is bound to it from `$3` on.
struct Conditions {
    sql: String,
    bound: Vec<String>,
}

/// One page of a list. A resource that cannot be read counts in the total and is left out.
pub(super) async fn list(db: &Db, query: &ListQuery) -> Result<Page, sqlx::Error> {
    let empty = Page { total: 0, entries: Vec::new() };
    let Some(table) = Table::find(db, &query.kind).await? else {
        return Ok(empty);
    };
    let Some(conditions) = Conditions::of(db.dialect(), &query.filters) else {
        return Ok(empty);
    };
    let sql = table.sql(db.dialect(), &LIST.replace("{conditions}", &conditions.sql));
    let offset = i64::try_from(query.offset()).unwrap_or(i64::MAX);
    let rows: Vec<ListRow> = run!(db.reader(), fetch_all: {
        let asked = sqlx::query_as(sql).bind(i64::from(query.count)).bind(offset);
        conditions.bound.into_iter().fold(asked, sqlx::query::QueryAs::bind)
    })?;
    page(query, rows)
}

/// The keys of the resources that meet every filter, two at most.
pub(super) async fn matches(
    tx: &mut Tx,
    table: &Table,
    kind: &fhir_store::ResourceType,
    filters: &[Filter],
) -> Result<Vec<ResourceKey>, sqlx::Error> {
    let Some(conditions) = Conditions::of(tx.dialect(), filters) else {
        return Ok(Vec::new());
    };
    let sql = table.sql(tx.dialect(), &MATCHES.replace("{conditions}", &conditions.sql));
    let ids: Vec<String> = run!(tx.on(), fetch_all: {
        let asked = sqlx::query_scalar(sql).bind(2_i64).bind(0_i64);
        conditions.bound.into_iter().fold(asked, sqlx::query::QueryScalar::bind)
    })?;
    ids.into_iter().map(|id| Ok(ResourceKey { kind: kind.clone(), id: parse_id(&id)? })).collect()
}

impl Conditions {
    /// `None` when nothing can meet the filters.
    fn of(dialect: Dialect, filters: &[Filter]) -> Option<Self> {
        let mut conditions = Self { sql: "TRUE".to_owned(), bound: Vec::new() };
        for filter in filters {
            conditions.add(dialect, filter)?;
        }
        Some(conditions)
    }

    fn add(&mut self, dialect: Dialect, filter: &Filter) -> Option<()> {
        let text = filter.value.as_str();
        // No document holds the character NUL, and Postgres refuses it even as a parameter.
        if text.contains('\0') || filter.path.iter().any(|key| key.contains('\0')) {
            return None;
        }
        if filter.as_id().is_some() {
            let place = self.bind(text.to_owned());
            self.sql.extend([" AND t.id = ", &place]);
            return Some(());
        }
        let (holds, path) = match dialect {
            Dialect::Postgres => (HOLDS_POSTGRES, jsonpath(&filter.path)),
            Dialect::Sqlite => (HOLDS_SQLITE, Value::from(filter.path.clone()).to_string()),
        };
        let path = self.bind(path);
        let values = self.bind(Value::from(filter.value.candidates()).to_string());
        let holds = holds.replace("$p", &path).replace("$v", &values);
        self.sql.extend([" AND ", &holds]);
        Some(())
    }

    /// Binds one more value and returns its place, `$3` for the first.
    fn bind(&mut self, value: String) -> String {
        self.bound.push(value);
        format!("${}", self.bound.len() + 2)
    }
}

/// The path, and after it the test for any of the scalars `$v`. A key is quoted as JSON quotes
/// strings, which is how jsonpath does.
fn jsonpath(path: &[String]) -> String {
    let mut text = "$".to_owned();
    for key in path {
        text.extend([".", &Value::from(key.as_str()).to_string()]);
    }
    text.push_str(" ? (@ == $v[*])");
    text
}

fn page(query: &ListQuery, rows: Vec<ListRow>) -> Result<Page, sqlx::Error> {
    let total = rows.first().map_or(0, |(total, ..)| *total);
    let mut entries = Vec::with_capacity(rows.len());
    for row in rows {
        if let (_, Some(id), Some(version), Some(updated_us), Some(document)) = row
            && let Some(resource) = document.read(query.kind.as_str(), &id)
        {
            let key = ResourceKey { kind: query.kind.clone(), id: parse_id(&id)? };
            entries.push(Stored { key, version, updated_us, resource });
        }
    }
    Ok(Page { total: u64::try_from(total).unwrap_or(0), entries })
}

fn parse_id(id: &str) -> Result<fhir_store::ResourceId, sqlx::Error> {
    id.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_cannot_leave_its_quotes_in_a_jsonpath() {
        let path = jsonpath(&["a".to_owned(), "b\" ? (1 == 1)".to_owned()]);
        assert_eq!(path, r#"$."a"."b\" ? (1 == 1)" ? (@ == $v[*])"#);
    }

    #[test]
    fn values_are_bound_after_the_page() {
        let filters = [Filter::new(["name"], "x"), Filter::id("y")];
        let conditions = Conditions::of(Dialect::Postgres, &filters).unwrap();
        assert!(conditions.sql.ends_with("AND t.id = $5"), "{}", conditions.sql);
        assert_eq!(conditions.bound, [r#"$."name" ? (@ == $v[*])"#, r#"["x"]"#, "y"]);
    }
}
