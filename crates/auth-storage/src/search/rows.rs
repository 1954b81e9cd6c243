//! Adding and removing rows of the index, many in one statement.
//!
//! Those that go travel as JSON. Those that come are many more, and no engine is asked to take them apart: on
//! SQLite, which is asked by a call and not over a connection, they are bound one value after the other, up to
//! [`BOUND_MAX`] rows in a statement, and on Postgres a column is an array.

use std::collections::BTreeMap;
use std::iter;

use sql_engines::{PerEngine, run};
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments as _, AssertSqlSafe, PgConnection, SqlSafeStr as _, SqliteConnection};

use super::row::{Cell, Place, Row};
use crate::dialect::Sql;
use crate::elements::Elements;
use crate::engine::Tx;

/// Fewest and most rows of a statement that has a place for each value: five lengths, so that they stay prepared.
const BOUND_MIN: usize = 4;
const BOUND_MAX: usize = 64;

/// On Postgres: the columns of rows, each an array. A row that is there already is refused.
const INSERT: [(Place, &str); 5] = [
    (
        Place::Token,
        "INSERT INTO search_token (parameter, code, id, system)
SELECT * FROM unnest($1::BIGINT[], $2::TEXT[], $3::TEXT[], $4::BIGINT[])",
    ),
    (
        Place::Reference,
        "INSERT INTO search_reference (parameter, target, id, kind)
SELECT * FROM unnest($1::BIGINT[], $2::TEXT[], $3::TEXT[], $4::TEXT[])",
    ),
    (
        Place::Text,
        "INSERT INTO search_string (parameter, folded, id, exact)
SELECT * FROM unnest($1::BIGINT[], $2::TEXT[], $3::TEXT[], $4::BIGINT[])",
    ),
    (
        Place::Range,
        "INSERT INTO search_range (parameter, id, low, high)
SELECT * FROM unnest($1::BIGINT[], $2::TEXT[], $3::BIGINT[], $4::BIGINT[])",
    ),
    (
        Place::Quantity,
        "INSERT INTO search_quantity (parameter, id, low, high, code, system)
SELECT * FROM unnest($1::BIGINT[], $2::TEXT[], $3::BIGINT[], $4::BIGINT[], $5::TEXT[], $6::BIGINT[])",
    ),
];
/// The same, which passes over what is there already.
const INSERT_MISSING: [(Place, &str); 5] = [
    (
        Place::Token,
        "INSERT INTO search_token (parameter, code, id, system)
SELECT * FROM unnest($1::BIGINT[], $2::TEXT[], $3::TEXT[], $4::BIGINT[]) ON CONFLICT DO NOTHING",
    ),
    (
        Place::Reference,
        "INSERT INTO search_reference (parameter, target, id, kind)
SELECT * FROM unnest($1::BIGINT[], $2::TEXT[], $3::TEXT[], $4::TEXT[]) ON CONFLICT DO NOTHING",
    ),
    (
        Place::Text,
        "INSERT INTO search_string (parameter, folded, id, exact)
SELECT * FROM unnest($1::BIGINT[], $2::TEXT[], $3::TEXT[], $4::BIGINT[]) ON CONFLICT DO NOTHING",
    ),
    (
        Place::Range,
        "INSERT INTO search_range (parameter, id, low, high)
SELECT * FROM unnest($1::BIGINT[], $2::TEXT[], $3::BIGINT[], $4::BIGINT[]) ON CONFLICT DO NOTHING",
    ),
    (
        Place::Quantity,
        "INSERT INTO search_quantity (parameter, id, low, high, code, system)
SELECT * FROM unnest($1::BIGINT[], $2::TEXT[], $3::BIGINT[], $4::BIGINT[], $5::TEXT[], $6::BIGINT[])
ON CONFLICT DO NOTHING",
    ),
];
/// `$1` is `[[parameter, …], …]` in the order of the table's key.
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

/// Whether rows that are added may be there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Known {
    /// They may, and are passed over.
    #[default]
    Perhaps,
    /// By the rules they cannot; where somebody wrote past the rules, the transaction fails
    /// ([`crate::fault::is_strewn_row`]).
    No,
}

/// Adds rows.
pub(super) async fn add(tx: &mut Tx, rows: Placed<'_>, known: Known) -> Result<(), sqlx::Error> {
    for (place, mut rows) in rows.0 {
        // Neighbours of the key share a page.
        rows.sort_unstable();
        match tx.on() {
            PerEngine::Postgres(connection) => add_arrays(connection, place, (&rows, known)).await?,
            PerEngine::Sqlite(connection) => {
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
        let Some((_, sql)) = DELETE.iter().find(|(of, _)| of == place) else { continue };
        let mut elements = Elements::default();
        for (row, id) in rows {
            row.push_to(&mut elements, id)?;
        }
        let (sql, elements) = (sql.text_for_dialect(tx.dialect()), elements.closed()?);
        run!(tx.on(), execute: sqlx::query(sql).bind(elements))?;
    }
    Ok(())
}

/// A column of rows on their way to Postgres.
enum Column {
    Numbers(Vec<i64>),
    Texts(Vec<String>),
}

async fn add_arrays(
    connection: &mut PgConnection,
    place: Place,
    (rows, known): (&[(&Row, &str)], Known),
) -> Result<(), sqlx::Error> {
    let statements = match known {
        Known::Perhaps => &INSERT_MISSING,
        Known::No => &INSERT,
    };
    let Some((_, sql)) = statements.iter().find(|(of, _)| *of == place) else { return Ok(()) };
    let mut query = sqlx::query(*sql);
    for column in columns(rows) {
        query = match column {
            Column::Numbers(numbers) => query.bind(numbers),
            Column::Texts(texts) => query.bind(texts),
        };
    }
    query.execute(connection).await?;
    Ok(())
}

/// Returns the columns of rows of one table.
fn columns(rows: &[(&Row, &str)]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for (row, id) in rows {
        let mut at = 0;
        row.each_cell(id, |cell| {
            match (columns.get_mut(at), cell) {
                (Some(Column::Numbers(numbers)), Cell::Number(number)) => numbers.push(number),
                (Some(Column::Texts(texts)), Cell::Text(text)) => texts.push(text.to_owned()),
                (_, Cell::Number(number)) => columns.push(Column::Numbers(vec![number])),
                (_, Cell::Text(text)) => columns.push(Column::Texts(vec![text.to_owned()])),
            }
            at += 1;
            Ok::<(), std::convert::Infallible>(())
        })
        .unwrap_or_else(|never| match never {});
    }
    columns
}

async fn add_bound(connection: &mut SqliteConnection, place: Place, rows: &[(&Row, &str)]) -> Result<(), sqlx::Error> {
    let Some(last) = rows.last() else { return Ok(()) };
    let count = rows.len().next_power_of_two().clamp(BOUND_MIN, BOUND_MAX);
    let mut arguments = SqliteArguments::default();
    // A row that is there already changes nothing: the last one fills the places that are left.
    for (row, id) in rows.iter().chain(iter::repeat_n(last, count - rows.len())) {
        row.each_cell(id, |cell| match cell {
            Cell::Number(number) => arguments.add(number),
            Cell::Text(text) => arguments.add(text),
        })
        .map_err(sqlx::Error::Encode)?;
    }
    let sql = AssertSqlSafe(bound(place, count)).into_sql_str();
    sqlx::query_with(sql, arguments).execute(connection).await?;
    Ok(())
}

/// The statement that adds so many rows. `OR IGNORE` rather than `ON CONFLICT DO NOTHING`: then no row can end the
/// statement, and SQLite keeps no copies of the pages it changes for taking back half of it.
fn bound(place: Place, count: usize) -> String {
    let columns = place.columns();
    let row = format!("({})", vec!["?"; columns.split(',').count()].join(", "));
    format!("INSERT OR IGNORE INTO {} ({columns}) VALUES {}", place.table(), vec![row.as_str(); count].join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::row::Cells;
    use super::*;

    #[test]
    fn a_statement_has_a_place_for_each_value_of_each_row() {
        let expected =
            "INSERT OR IGNORE INTO search_range (parameter, id, low, high) VALUES (?, ?, ?, ?), (?, ?, ?, ?)";
        assert_eq!(bound(Place::Range, 2), expected);
        for place in Place::ALL {
            assert_eq!(bound(place, BOUND_MAX).matches('?').count(), BOUND_MAX * place.columns().split(',').count());
        }
    }

    #[test]
    fn the_columns_of_rows_are_those_of_their_table() {
        let row = |cells| Row { parameter: 8, cells, element: 0 };
        let of = |row: &Row| {
            let columns = columns(&[(row, "a"), (row, "b")]);
            let shown = columns.into_iter().map(|column| match column {
                Column::Numbers(numbers) => format!("{numbers:?}"),
                Column::Texts(texts) => format!("{texts:?}"),
            });
            shown.collect::<Vec<_>>().join(" ")
        };
        let token = row(Cells::Token { code: "x".to_owned(), system: 1 });
        assert_eq!(of(&token), r#"[8, 8] ["x", "x"] ["a", "b"] [1, 1]"#);
        let quantity = row(Cells::Quantity { low: 1, high: 2, code: "g".to_owned(), system: 3 });
        assert_eq!(of(&quantity), r#"[8, 8] ["a", "b"] [1, 1] [2, 2] ["g", "g"] [3, 3]"#);
    }
}
