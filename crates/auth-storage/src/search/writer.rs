//! The statement of a page, for each way to go about it ([`super::driver`]).

use fhir_resource::ResourceType;
use fhir_search::{SearchClause, SortCriterion};
use fhir_store::{AccessFilter, MatchCountMode};

use sql_engines::SqlDialect;

use super::cursor::Behind;
use super::driver::{self, Source, Way};
use super::order::{Key, Order, is_number};
use super::page::Page;
use super::statement::{Statement, Unanswerable};
use super::walk::{self, Walk};

/// What of the matches a part of the statement is to have.
pub(super) enum Shape {
    /// The ids in their order, from a condition on `w.id` on.
    Ids { after: Option<String>, limit: Option<u32> },
    /// The ids in any order.
    Set { limit: Option<u32> },
}

/// A statement of a page under way.
pub(super) struct Writer<'s, 'a> {
    pub(super) page: Page<'a>,
    pub(super) statement: &'s mut Statement<'a>,
}

/// Parts of a statement: the table expressions before it, of which the last is `page`, and the total.
struct Parts {
    with: String,
    total: String,
}

impl Writer<'_, '_> {
    /// The statement of a page; `None` when nothing can meet what is asked.
    pub(super) fn write(&mut self, way: Way) -> Result<Option<String>, Unanswerable> {
        let query = self.page.query;
        let (order, parts) = match way {
            Way::ByValue(at) => match self.by_value(at)? {
                Some(written) => written,
                None => return Ok(None),
            },
            way => {
                let order = Order::of(self.statement, self.page.table, query)?;
                let parts = match way {
                    Way::ById(_) => self.by_id(way, &order)?,
                    Way::Few(_) => self.few(way, &order)?,
                    Way::InOrder | Way::ByValue(_) => self.in_order(&order)?,
                };
                match parts {
                    Some(parts) => (order, parts),
                    None => return Ok(None),
                }
            }
        };
        let Parts { with, total } = parts;
        let keys = order.keys_column(self.statement.dialect());
        let quoted = self.page.table.quoted();
        // Resources are joined to the page last, each by its id: joined to it in parentheses, SQLite copies them all
        // into a table first.
        let joined = match self.statement.dialect() {
            SqlDialect::Postgres => {
                format!("LEFT JOIN LATERAL (SELECT x.* FROM {quoted} x WHERE x.id = page.id OFFSET 0) t ON TRUE")
            }
            SqlDialect::Sqlite => format!("LEFT JOIN {quoted} t ON t.id = page.id"),
        };
        Ok(Some(format!(
            "WITH {with}
SELECT CAST({total} AS BIGINT), (SELECT revision FROM search_state), {keys}, t.id, t.txid, {{us:t.ts}}, CAST(t.resource AS TEXT)
FROM (SELECT 1 AS one) AS always LEFT JOIN page ON TRUE {joined}
ORDER BY {by}",
            by = order.by("page."),
        )))
    }

    /// Rows of a page, and the one by which it is known that there is another page.
    fn limit(&self) -> u32 {
        let count = self.page.query.count;
        count + u32::from(count > 0)
    }

    /// In the order of the ids the source is walked no further than the page reaches.
    fn by_id(&mut self, way: Way, order: &Order) -> Result<Option<Parts>, Unanswerable> {
        let limit = self.limit();
        let after = self.page.behind.map(|behind| order.after(self.statement, behind, (0, "w.id"), |_| String::new()));
        let shape = Shape::Ids { after, limit: Some(limit) };
        let Some(page) = self.matching(way, shape)? else { return Ok(None) };
        let total = self.total(way)?;
        Ok(Some(Parts { with: format!("page AS ({page})"), total }))
    }

    /// Returns the parts of a statement over a source that leaves few resources. All of them are read, so all of them
    /// are counted as well.
    fn few(&mut self, way: Way, order: &Order) -> Result<Option<Parts>, Unanswerable> {
        let Some(matching) = self.matching(way, Shape::Set { limit: None })? else { return Ok(None) };
        let limit = self.limit();
        let after = self.page.behind.map_or_else(
            || "TRUE".to_owned(),
            |behind| order.after(self.statement, behind, (0, "p.id"), |at| format!("p.k{at}")),
        );
        let with = format!(
            "few AS MATERIALIZED ({matching}),
page AS (SELECT * FROM (SELECT d.id{columns} FROM few AS d{joins}) AS p WHERE {after} ORDER BY {by} LIMIT {limit})",
            columns = order.columns_from(0),
            joins = order.joins,
            by = order.by("p."),
        );
        let counted = "(SELECT count(*) FROM few)".to_owned();
        let total = match self.page.query.counting {
            MatchCountMode::No => "NULL".to_owned(),
            MatchCountMode::UpTo(most) => format!("(SELECT CASE WHEN count(*) <= {most} THEN count(*) END FROM few)"),
            MatchCountMode::All => counted,
        };
        Ok(Some(Parts { with, total }))
    }

    /// The index of the first key is walked until the page is full. Resources without a value come last.
    fn in_order(&mut self, order: &Order) -> Result<Option<Parts>, Unanswerable> {
        let Page { table, query, behind, .. } = self.page;
        let (kind, clauses) = (&query.search.resource_type, &query.search.clauses);
        let Some(sort) = query.search.sort.first() else { return Ok(None) };
        let Some(walk) = walk::of_sort(self.statement, (table, kind), sort, clauses)? else { return Ok(None) };
        let is_past_values = behind.is_some_and(|behind| behind.keys.first().is_some_and(Option::is_none));
        let any = driver::any_order(self.statement, query)?;
        let total = self.total(any)?;
        let mut with = String::new();
        let mut rows = Vec::new();
        if !is_past_values {
            let Some(valued) = self.walked((&walk, order), None)? else { return Ok(None) };
            with = format!("valued AS MATERIALIZED ({valued}),\n");
            rows.push("SELECT * FROM valued");
        }
        if walk.leaves_out {
            let Some(missing) = self.without_value((sort, order), any, is_past_values)? else { return Ok(None) };
            with = format!("{with}missing AS ({missing}),\n");
            rows.push("SELECT * FROM missing");
        }
        let with = format!(
            "{with}page AS (SELECT * FROM ({}) AS p ORDER BY {} LIMIT {})",
            rows.join(" UNION ALL "),
            order.by("p."),
            self.limit()
        );
        Ok(Some(Parts { with, total }))
    }

    /// Returns the values that meet a clause are walked until the page is full.
    fn by_value(&mut self, at: usize) -> Result<Option<(Order, Parts)>, Unanswerable> {
        let Page { table, query, .. } = self.page;
        let Some(clause) = query.search.clauses.get(at) else { return Ok(None) };
        let Some(walk) = walk::of_clause(self.statement, (table, &query.search.resource_type), clause)? else {
            return Ok(None);
        };
        let key = Key {
            sql: walk.key.replace('@', walk.column),
            descending: walk.descending,
            is_number: is_number(clause.search_parameter()),
        };
        let order = Order { keys: vec![key], joins: String::new() };
        let Some(page) = self.walked((&walk, &order), Some(at))? else { return Ok(None) };
        let total = self.total(Way::ByValue(at))?;
        Ok(Some((order, Parts { with: format!("page AS ({page})"), total })))
    }

    /// A page of a walk, by the first key of the order.
    fn walked(&mut self, (walk, order): (&Walk, &Order), by: Option<usize>) -> Result<Option<String>, Unanswerable> {
        let Some(mut tests) = self.tests(by, "d.id", true)? else { return Ok(None) };
        if let Some(behind) = self.page.behind {
            tests.extend(self.walked_on(walk, order, behind));
        }
        let mut all = walk.conditions.clone();
        all.append(&mut tests);
        let direction = if walk.descending { "DESC" } else { "ASC" };
        let key = walk.key.replace('@', walk.column);
        Ok(Some(format!(
            "SELECT d.id AS id, {key} AS k0{columns} FROM {from}{joins} WHERE {all}
ORDER BY {column} {direction}, {by}d.id {direction} LIMIT {limit}",
            columns = order.columns_from(1),
            from = walk.from,
            joins = order.joins,
            all = if all.is_empty() { "TRUE".to_owned() } else { all.join(" AND ") },
            column = walk.column,
            by = order.calculated_from(1),
            limit = self.limit()
        )))
    }

    /// Returns where a walk goes on behind a position: from its key, and from its id among those of the same key.
    fn walked_on(&mut self, walk: &Walk, order: &Order, behind: &Behind) -> Vec<String> {
        let Some(Some(first)) = behind.keys.first() else { return Vec::new() };
        let column = walk.column;
        let first = walk.value.replace('@', &self.statement.bind(first.clone()));
        let beyond = if walk.descending { "<" } else { ">" };
        let keys: Vec<String> = order.keys.iter().map(|key| key.sql.clone()).collect();
        let rest = order.after(self.statement, behind, (1, "d.id"), |at| keys.get(at).cloned().unwrap_or_default());
        vec![format!("{column} {beyond}= {first}"), format!("({column} {beyond} {first} OR {rest})")]
    }

    /// Returns the matches that the walk of the order has no row of: as many as the page has room for.
    fn without_value(
        &mut self,
        (sort, order): (&SortCriterion, &Order),
        any: Way,
        is_past_values: bool,
    ) -> Result<Option<String>, Unanswerable> {
        let kind = &self.page.query.search.resource_type;
        let way = match any {
            Way::ById(source) => Way::ById(source),
            _ => Way::ById(Source::Table),
        };
        let Some(matching) = self.matching(way, Shape::Set { limit: None })? else { return Ok(None) };
        let limit = self.limit();
        let room = if is_past_values { limit.to_string() } else { format!("{limit} - (SELECT count(*) FROM valued)") };
        let mut tests = vec![walk::has_no_value(self.statement, kind, sort)?];
        if let Some(behind) = self.page.behind.filter(|_| is_past_values) {
            let keys: Vec<String> = order.keys.iter().map(|key| key.sql.clone()).collect();
            let column = |at: usize| keys.get(at).cloned().unwrap_or_default();
            tests.push(order.after(self.statement, behind, (1, "d.id"), column));
        }
        let none = order.keys.first().map_or("NULL", Key::none);
        Ok(Some(format!(
            "SELECT d.id AS id, {none} AS k0{columns} FROM ({matching}) AS d{joins} WHERE {tests}
ORDER BY {by}d.id {direction} LIMIT {room}",
            columns = order.columns_from(1),
            joins = order.joins,
            tests = tests.join(" AND "),
            by = order.calculated_from(1),
            direction = order.id_direction(),
        )))
    }

    /// How many match. Where the first page shows all there are they are counted there ([`matches`]).
    fn total(&mut self, way: Way) -> Result<String, Unanswerable> {
        let query = self.page.query;
        let limit = match query.counting {
            MatchCountMode::No => return Ok("NULL".to_owned()),
            MatchCountMode::UpTo(most) => Some(most + 1),
            MatchCountMode::All => None,
        };
        let Some(matching) = self.matching(way, Shape::Set { limit })? else { return Ok("0".to_owned()) };
        let counted = format!("(SELECT count(*) FROM ({matching}) AS m)");
        // More than that are not counted, and what is not counted is left out.
        let counted = limit.map_or_else(|| counted.clone(), |limit| format!("nullif({counted}, {limit})"));
        if query.search.cursor.is_some() || query.count == 0 {
            return Ok(counted);
        }
        Ok(format!("CASE WHEN (SELECT count(*) FROM page) > {} THEN {counted} END", query.count))
    }

    /// Returns the ids that meet everything, each once; `None` when none can.
    pub(super) fn matching(&mut self, way: Way, shape: Shape) -> Result<Option<String>, Unanswerable> {
        if let Way::ByValue(at) = way {
            return self.matching_values(at, &shape);
        }
        let (source, is_by_id) = match way {
            Way::ById(source) => (source, true),
            Way::Few(source) => (source, false),
            Way::InOrder | Way::ByValue(_) => (Source::Table, true),
        };
        let walked = match source {
            Source::Clause(at) => Some(at),
            Source::Table | Source::Compartment => None,
        };
        let Some(sets) = self.sets(source, is_by_id)? else { return Ok(None) };
        let is_within = source == Source::Compartment && has_no_criteria(&self.page.query.within);
        let Some(mut tests) = self.tests(walked, "w.id", !is_within)? else { return Ok(None) };
        let (after, limit, ordered) = match shape {
            Shape::Ids { after, limit } => (after, limit, true),
            Shape::Set { limit } => (None, limit, false),
        };
        tests.extend(after);
        let tests = if tests.is_empty() { "TRUE".to_owned() } else { tests.join(" AND ") };
        let limit = limit.map(|limit| format!(" LIMIT {limit}")).unwrap_or_default();
        let merges = sets.len() > 1 && self.statement.dialect() == SqlDialect::Sqlite;
        if merges {
            // SQLite merges walks that are ordered alike, and gives each id once.
            let walks: Vec<String> =
                sets.iter().map(|set| format!("SELECT w.id AS id FROM ({set}) AS w WHERE {tests}")).collect();
            return Ok(Some(format!("{} ORDER BY id{limit}", walks.join(" UNION "))));
        }
        let once = if source == Source::Table { "" } else { "DISTINCT " };
        let by = if ordered || (is_by_id && !limit.is_empty()) { " ORDER BY w.id" } else { "" };
        let set = sets.join(" UNION ALL ");
        Ok(Some(format!("SELECT {once}w.id AS id FROM ({set}) AS w WHERE {tests}{by}{limit}")))
    }

    fn matching_values(&mut self, at: usize, shape: &Shape) -> Result<Option<String>, Unanswerable> {
        let Page { table, query, .. } = self.page;
        let limit = match shape {
            Shape::Ids { limit, .. } | Shape::Set { limit } => *limit,
        };
        let Some(clause) = query.search.clauses.get(at) else { return Ok(None) };
        let Some(walk) = walk::of_clause(self.statement, (table, &query.search.resource_type), clause)? else {
            return Ok(None);
        };
        let Some(tests) = self.tests(Some(at), "d.id", true)? else { return Ok(None) };
        let all: Vec<String> = walk.conditions.into_iter().chain(tests).collect();
        let limit = limit.map(|limit| format!(" LIMIT {limit}")).unwrap_or_default();
        Ok(Some(format!("SELECT d.id AS id FROM {} WHERE {}{limit}", walk.from, all.join(" AND "))))
    }

    /// Returns the walks of a source.
    fn sets(&mut self, source: Source, is_by_id: bool) -> Result<Option<Vec<String>>, Unanswerable> {
        let Page { table, query, .. } = self.page;
        let kind = &query.search.resource_type;
        Ok(match source {
            Source::Table => Some(vec![format!("SELECT t.id FROM {} t", table.quoted())]),
            Source::Compartment => self.statement.compartment(kind, &query.within)?.map(|set| vec![set]),
            Source::Clause(at) => match query.search.clauses.get(at) {
                Some(clause) => Some(self.clause(kind, clause, is_by_id)?),
                None => None,
            },
        })
    }

    fn clause(
        &mut self,
        kind: &ResourceType,
        clause: &SearchClause,
        is_by_id: bool,
    ) -> Result<Vec<String>, Unanswerable> {
        if is_by_id && let Some(walks) = self.statement.keyed(kind, clause)? {
            return Ok(self.statement.walks_by_id(&walks));
        }
        Ok(vec![self.statement.set(kind, clause)?])
    }

    /// Returns what everything but the clause that is walked says of the resource with this id; `None` when nothing can
    /// meet it.
    fn tests(
        &mut self,
        walked: Option<usize>,
        id: &str,
        tests_within: bool,
    ) -> Result<Option<Vec<String>>, Unanswerable> {
        let query = self.page.query;
        let kind = &query.search.resource_type;
        let mut tests = Vec::new();
        for (_, clause) in query.search.clauses.iter().enumerate().filter(|(at, _)| Some(*at) != walked) {
            tests.push(self.statement.test(kind, clause, id)?);
        }
        if tests_within && query.within.is_restricted() {
            tests.push(self.statement.within(kind, &query.within, id)?);
        }
        if !query.filters.is_empty() {
            match self.statement.filtered(kind, &query.filters, id) {
                Some(test) => tests.push(test),
                None => return Ok(None),
            }
        }
        Ok(Some(tests))
    }
}

fn has_no_criteria(within: &AccessFilter) -> bool {
    match within {
        AccessFilter::Everything => true,
        AccessFilter::Within(regions) => regions.iter().all(|region| region.criteria.is_empty()),
    }
}
