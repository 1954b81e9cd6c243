//! The order of a page: keys, then the id.
//!
//! Equal keys are ordered by their ids, in the direction of the first key: then it is the order of an index, whichever
//! way that is walked.

use fhir_search::{CompiledSearchParameter, ResourceColumn, SearchParameterType, SortCriterion};
use fhir_store::SearchQuery;

use sql_engines::SqlDialect;

use super::cursor::Behind;
use super::row::{Place, uri_number};
use super::statement::{Statement, Unanswerable};
use crate::resources::Table;

/// A key of the order, of the resource with the id `d.id`.
pub(super) struct Key {
    /// Its value.
    pub(super) sql: String,
    /// Whether the greatest comes first.
    pub(super) descending: bool,
    /// Whether it is a number.
    pub(super) is_number: bool,
}

impl Key {
    /// Returns the direction; resources without a value come last.
    pub(super) const fn direction(&self) -> &'static str {
        if self.descending { "DESC NULLS LAST" } else { "ASC NULLS LAST" }
    }

    /// No value.
    pub(super) const fn none(&self) -> &'static str {
        if self.is_number { "CAST(NULL AS BIGINT)" } else { "CAST(NULL AS TEXT)" }
    }
}

/// The order of a page.
pub(super) struct Order {
    /// The keys; none for an order by the ids alone.
    pub(super) keys: Vec<Key>,
    /// What the keys need beside `d`.
    pub(super) joins: String,
}

impl Order {
    /// Returns the order a search asks for.
    pub(super) fn of(statement: &mut Statement<'_>, table: &Table, query: &SearchQuery) -> Result<Self, Unanswerable> {
        let mut order = Self { keys: Vec::new(), joins: String::new() };
        for (at, sort) in query.search.sort.iter().enumerate() {
            let numbers = match sort.parameter.resource_column() {
                Some(_) => Vec::new(),
                None => statement.numbers(&query.search.resource_type, &sort.parameter)?,
            };
            let sql = match sort.parameter.resource_column() {
                Some(ResourceColumn::Id) => "d.id".to_owned(),
                Some(ResourceColumn::LastUpdated) => {
                    format!("(SELECT {{us:t.ts}} FROM {} t WHERE t.id = d.id)", table.quoted())
                }
                None => key(statement, (at, sort), &numbers, &mut order.joins),
            };
            let is_number = is_number(&sort.parameter);
            order.keys.push(Key { sql, descending: sort.descending, is_number });
        }
        Ok(order)
    }

    /// Returns the direction of the ids of equal keys.
    pub(super) fn id_direction(&self) -> &'static str {
        if self.keys.first().is_some_and(|key| key.descending) { "DESC" } else { "ASC" }
    }

    /// Returns the columns of the keys from one on, each with a comma before it.
    pub(super) fn columns_from(&self, first: usize) -> String {
        let keys = self.keys.iter().enumerate().skip(first);
        let columns: Vec<String> = keys.map(|(at, key)| format!(", {} AS k{at}", key.sql)).collect();
        columns.concat()
    }

    /// Returns the order by the keys from one on as they are calculated, each with a comma behind it.
    pub(super) fn calculated_from(&self, first: usize) -> String {
        let keys = self.keys.iter().skip(first);
        let by: Vec<String> = keys.map(|key| format!("{} {}, ", key.sql, key.direction())).collect();
        by.concat()
    }

    /// Returns the order of rows that have the keys as columns.
    pub(super) fn by(&self, alias: &str) -> String {
        let keys = self.keys.iter().enumerate().map(|(at, key)| format!("{alias}k{at} {}", key.direction()));
        let by: Vec<String> = keys.chain([format!("{alias}id {}", self.id_direction())]).collect();
        by.join(", ")
    }

    /// Returns the keys of a row as an array of JSON.
    pub(super) fn keys_column(&self, dialect: SqlDialect) -> String {
        if self.keys.is_empty() {
            return "CAST(NULL AS TEXT)".to_owned();
        }
        let keys: Vec<String> = (0..self.keys.len()).map(|at| format!("page.k{at}")).collect();
        let keys = keys.join(", ");
        match dialect {
            SqlDialect::Postgres => format!("jsonb_build_array({keys})::TEXT"),
            SqlDialect::Sqlite => format!("json_array({keys})"),
        }
    }

    /// Returns whether a row with these keys stands behind a position, from the key `from` on. Those without a value
    /// come last.
    pub(super) fn after(
        &self,
        statement: &mut Statement<'_>,
        behind: &Behind,
        (from, id): (usize, &str),
        column: impl Fn(usize) -> String,
    ) -> String {
        let beyond = |descending: bool| if descending { "<" } else { ">" };
        let first_descends = self.keys.first().is_some_and(|key| key.descending);
        let mut after = format!("{id} {} {}", beyond(first_descends), statement.bind(behind.id.as_str()));
        for (at, (key, value)) in self.keys.iter().zip(&behind.keys).enumerate().skip(from).rev() {
            let column = column(at);
            after = match value {
                None => format!("({column} IS NULL AND {after})"),
                Some(value) => {
                    let value = statement.bind(value.clone());
                    let beyond = beyond(key.descending);
                    format!("({column} {beyond} {value} OR {column} IS NULL OR ({column} = {value} AND {after}))")
                }
            };
        }
        after
    }
}

/// Returns whether the keys of an order by this parameter are numbers.
pub(super) fn is_number(parameter: &CompiledSearchParameter) -> bool {
    match parameter.resource_column() {
        Some(ResourceColumn::Id) => false,
        Some(ResourceColumn::LastUpdated) => true,
        None => {
            matches!(
                parameter.parameter_type,
                SearchParameterType::Date | SearchParameterType::Number | SearchParameterType::Quantity
            )
        }
    }
}

/// Returns the value that decides where a resource stands: of several the least, when descending the greatest.
fn key(
    statement: &mut Statement<'_>,
    (at, sort): (usize, &SortCriterion),
    numbers: &[i64],
    joins: &mut String,
) -> String {
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
    let (table, index) = (place.table(), place.by_id());
    match place {
        // The calculation keeps SQLite from walking the index by this column, from its best value to the resource's.
        Place::Range | Place::Quantity => {
            format!("(SELECT {best}(s.{column} + 0) FROM {table} s {index} WHERE {of_these} AND s.id = d.id)")
        }
        Place::Reference | Place::Text => {
            format!("(SELECT {best}(s.{column} || '') FROM {table} s {index} WHERE {of_these} AND s.id = d.id)")
        }
        Place::Token => {
            let bests = format!("SELECT s.id, {best}(s.{column}) AS best FROM {table} s WHERE {of_these}");
            let join = format!(" LEFT JOIN ({bests} GROUP BY s.id) AS s{at} ON s{at}.id = d.id");
            joins.push_str(&join);
            format!("s{at}.best")
        }
    }
}

fn sorted_by(parameter: &CompiledSearchParameter, number: i64, descending: bool) -> Option<(Place, i64, &'static str)> {
    let end = if descending { "high" } else { "low" };
    match parameter.parameter_type {
        SearchParameterType::Token => Some((Place::Token, number, "code")),
        SearchParameterType::Reference => Some((Place::Reference, number, "target")),
        SearchParameterType::String => Some((Place::Text, number, "folded")),
        SearchParameterType::Uri => Some((Place::Token, uri_number(number), "code")),
        SearchParameterType::Date | SearchParameterType::Number => Some((Place::Range, number, end)),
        SearchParameterType::Quantity => Some((Place::Quantity, number, end)),
        SearchParameterType::Composite => None,
    }
}
