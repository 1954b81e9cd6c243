//! Adding and removing rows of the index, many in one statement.
//!
//! They travel as JSON. SQLite takes as long to take new rows apart from JSON as half of storing them, and it is
//! asked by a call and not over a connection; so there they are bound one value after the other, up to
//! [`BOUND_MAX`] rows in a statement.

use std::collections::BTreeMap;
use std::iter;

use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqliteConnection};

use super::row::{Place, Row};
use crate::dialect::Sql;
use crate::elements::Elements;
use crate::engine::{On, Tx, run};

/// Fewest and most rows of a statement that has a place for each value: five lengths, so that they stay prepared.
const BOUND_MIN: usize = 4;
const BOUND_MAX: usize = 64;

/// `$1` is `[[parameter, …], …]` in the order of the table's key, here and below.
static INSERT: [(Place, Sql); 5] = [
    (
        Place::Token,
        Sql::new(
            "INSERT INTO search_token (parameter, code, id, system)
SELECT CAST(e.value ->> 0 AS BIGINT), e.value ->> 1, e.value ->> 2, CAST(e.value ->> 3 AS BIGINT)
FROM {elements:$1} WHERE TRUE ON CONFLICT DO NOTHING",
        ),
    ),
    (
        Place::Reference,
        Sql::new(
            "INSERT INTO search_reference (parameter, target, id, kind)
SELECT CAST(e.value ->> 0 AS BIGINT), e.value ->> 1, e.value ->> 2, e.value ->> 3
FROM {elements:$1} WHERE TRUE ON CONFLICT DO NOTHING",
        ),
    ),
    (
        Place::Text,
        Sql::new(
            "INSERT INTO search_string (parameter, folded, id, exact)
SELECT CAST(e.value ->> 0 AS BIGINT), e.value ->> 1, e.value ->> 2, CAST(e.value ->> 3 AS BIGINT)
FROM {elements:$1} WHERE TRUE ON CONFLICT DO NOTHING",
        ),
    ),
    (
        Place::Range,
        Sql::new(
            "INSERT INTO search_range (parameter, id, low, high)
SELECT CAST(e.value ->> 0 AS BIGINT), e.value ->> 1, CAST(e.value ->> 2 AS BIGINT), CAST(e.value ->> 3 AS BIGINT)
FROM {elements:$1} WHERE TRUE ON CONFLICT DO NOTHING",
        ),
    ),
    (
        Place::Quantity,
        Sql::new(
            "INSERT INTO search_quantity (parameter, id, low, high, code, system)
SELECT CAST(e.value ->> 0 AS BIGINT), e.value ->> 1, CAST(e.value ->> 2 AS BIGINT), CAST(e.value ->> 3 AS BIGINT),
    e.value ->> 4, CAST(e.value ->> 5 AS BIGINT)
FROM {elements:$1} WHERE TRUE ON CONFLICT DO NOTHING",
        ),
    ),
];
static DELETE: [(Place, Sql); 5] = [
    (
        Place::Token,
        Sql::new(
            "DELETE FROM search_token WHERE (parameter, code, id, system) IN (
    SELECT CAST(e.value ->> 0 AS BIGINT), e.value ->> 1, e.value ->> 2, CAST(e.value ->> 3 AS BIGINT)
    FROM {elements:$1})",
        ),
    ),
    (
        Place::Reference,
        Sql::new(
            "DELETE FROM search_reference WHERE (parameter, target, id, kind) IN (
    SELECT CAST(e.value ->> 0 AS BIGINT), e.value ->> 1, e.value ->> 2, e.value ->> 3 FROM {elements:$1})",
        ),
    ),
    (
        Place::Text,
        Sql::new(
            "DELETE FROM search_string WHERE (parameter, folded, id, exact) IN (
    SELECT CAST(e.value ->> 0 AS BIGINT), e.value ->> 1, e.value ->> 2, CAST(e.value ->> 3 AS BIGINT)
    FROM {elements:$1})",
        ),
    ),
    (
        Place::Range,
        Sql::new(
            "DELETE FROM search_range WHERE (parameter, id, low, high) IN (
    SELECT CAST(e.value ->> 0 AS BIGINT), e.value ->> 1, CAST(e.value ->> 2 AS BIGINT), CAST(e.value ->> 3 AS BIGINT)
    FROM {elements:$1})",
        ),
    ),
    (
        Place::Quantity,
        Sql::new(
            "DELETE FROM search_quantity WHERE (parameter, id, low, high, code, system) IN (
    SELECT CAST(e.value ->> 0 AS BIGINT), e.value ->> 1, CAST(e.value ->> 2 AS BIGINT), CAST(e.value ->> 3 AS BIGINT),
        e.value ->> 4, CAST(e.value ->> 5 AS BIGINT) FROM {elements:$1})",
        ),
    ),
];
/// Rows by their tables, each with the id of its resource.
#[derive(Debug, Default)]
pub(super) struct Placed<'a>(BTreeMap<Place, Vec<(&'a Row, &'a str)>>);

impl<'a> Placed<'a> {
    /// Adds rows of one resource.
    pub(super) fn extend(&mut self, rows: impl Iterator<Item = &'a Row>, id: &'a str) {
        for row in rows {
            self.0.entry(row.cells.place()).or_default().push((row, id));
        }
    }
}

/// Adds rows that may be there already.
pub(super) async fn add(tx: &mut Tx, rows: Placed<'_>) -> Result<(), sqlx::Error> {
    for (place, mut rows) in rows.0 {
        // Neighbours of the key share a page.
        rows.sort_unstable();
        match tx.on() {
            On::Postgres(_) => put(tx, &INSERT, (place, &rows)).await?,
            On::Sqlite(connection) => {
                for some in rows.chunks(BOUND_MAX) {
                    add_bound(connection, place, some).await?;
                }
            }
        }
    }
    Ok(())
}

/// Removes rows.
pub(super) async fn remove(tx: &mut Tx, rows: Placed<'_>) -> Result<(), sqlx::Error> {
    for (place, rows) in &rows.0 {
        put(tx, &DELETE, (*place, rows)).await?;
    }
    Ok(())
}

async fn put(
    tx: &mut Tx,
    statements: &[(Place, Sql)],
    (place, rows): (Place, &[(&Row, &str)]),
) -> Result<(), sqlx::Error> {
    let Some((_, sql)) = statements.iter().find(|(of, _)| *of == place) else { return Ok(()) };
    let mut elements = Elements::default();
    for (row, id) in rows {
        row.push_to(&mut elements, id)?;
    }
    let (sql, elements) = (sql.on(tx.dialect()), elements.closed()?);
    run!(tx.on(), execute: sqlx::query(sql).bind(elements))?;
    Ok(())
}

async fn add_bound(connection: &mut SqliteConnection, place: Place, rows: &[(&Row, &str)]) -> Result<(), sqlx::Error> {
    let Some(last) = rows.last() else { return Ok(()) };
    let count = rows.len().next_power_of_two().clamp(BOUND_MIN, BOUND_MAX);
    let mut arguments = SqliteArguments::default();
    // A row that is there already changes nothing: the last one fills the places that are left.
    for (row, id) in rows.iter().chain(iter::repeat_n(last, count - rows.len())) {
        row.bind_to(&mut arguments, id).map_err(sqlx::Error::Encode)?;
    }
    let sql = AssertSqlSafe(bound(place, count)).into_sql_str();
    sqlx::query_with(sql, arguments).execute(connection).await?;
    Ok(())
}

/// The statement that adds so many rows.
fn bound(place: Place, count: usize) -> String {
    let columns = place.columns();
    let row = format!("({})", vec!["?"; columns.split(',').count()].join(", "));
    format!(
        "INSERT INTO {} ({columns}) VALUES {} ON CONFLICT DO NOTHING",
        place.table(),
        vec![row.as_str(); count].join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_has_a_place_for_each_value_of_each_row() {
        let expected = "INSERT INTO search_range (parameter, id, low, high) VALUES (?, ?, ?, ?), (?, ?, ?, ?) ON CONFLICT DO NOTHING";
        assert_eq!(bound(Place::Range, 2), expected);
        for place in Place::ALL {
            assert_eq!(bound(place, BOUND_MAX).matches('?').count(), BOUND_MAX * place.columns().split(',').count());
        }
    }
}
