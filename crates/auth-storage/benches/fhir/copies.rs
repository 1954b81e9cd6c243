//! The rows that the server wrote for resources, to be written again as those of new ones.
//!
//! They are what a written Observation is made of: its row in the table of its type, that in the history, and all
//! rows of the index. Whoever inserts them and does nothing else writes the same pages as the server.

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write as _;

use serde_json::Value;
use sqlx::Arguments as _;
use sqlx::error::BoxDynError;
use sqlx::postgres::PgArguments;
use sqlx::sqlite::SqliteArguments;
use uuid::Uuid;

/// Rows of one statement on SQLite, as the server has it at most.
const AT_ONCE: usize = 64;
/// The number of the first copy: greater than that of any write of the server.
const FIRST_NUMBER: i64 = 1 << 40;
/// 2026-11-23T00:00:00Z, in unix microseconds.
const NOW_US: i64 = 1_795_392_000_000_000;

/// A table of the index: its name, and its columns with the types that Postgres has for them.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [(&'static str, &'static str)],
}

/// The index of searches.
pub(crate) const TABLES: [Table; 5] = [
    Table {
        name: "search_token",
        columns: &[("parameter", "BIGINT"), ("code", "TEXT"), ("id", "TEXT"), ("system", "BIGINT")],
    },
    Table {
        name: "search_reference",
        columns: &[("parameter", "BIGINT"), ("target", "TEXT"), ("id", "TEXT"), ("kind", "TEXT")],
    },
    Table {
        name: "search_string",
        columns: &[("parameter", "BIGINT"), ("folded", "TEXT"), ("id", "TEXT"), ("exact", "BIGINT")],
    },
    Table {
        name: "search_range",
        columns: &[("parameter", "BIGINT"), ("id", "TEXT"), ("low", "BIGINT"), ("high", "BIGINT")],
    },
    Table {
        name: "search_quantity",
        columns: &[
            ("parameter", "BIGINT"),
            ("id", "TEXT"),
            ("low", "BIGINT"),
            ("high", "BIGINT"),
            ("code", "TEXT"),
            ("system", "BIGINT"),
        ],
    },
];

impl Table {
    fn place_of_id(&self) -> usize {
        self.columns.iter().position(|(name, _)| *name == "id").unwrap_or_default()
    }

    /// The names of its columns, with commas between.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }

    /// Its rows of the numbers from `$1` on and before `$2`, each an array of JSON; `array` makes one of its columns.
    pub(crate) fn select(&self, array: &str) -> String {
        format!(
            "SELECT CAST({array}({}) AS TEXT) FROM {} WHERE parameter >= $1 AND parameter < $2",
            self.names(),
            self.name
        )
    }
}

/// What the server wrote for some resources.
#[derive(Default)]
pub(crate) struct Copies {
    sources: Vec<Source>,
    by_id: HashMap<String, usize>,
    made: usize,
}

/// Rows of each table of the index, in the order of [`TABLES`].
type Index = [Vec<Vec<Value>>; TABLES.len()];

/// What the server wrote for one resource.
struct Source {
    document: String,
    index: Index,
}

/// A value of a statement.
enum Cell {
    Number(i64),
    Text(String),
}

/// Statements with their values.
pub(crate) type Statements<A> = Vec<(String, A)>;

impl Copies {
    /// Of these resources, ids and documents, without their rows.
    pub(crate) fn of(resources: Vec<(String, String)>) -> Self {
        let by_id = resources.iter().enumerate().map(|(at, (id, _))| (id.clone(), at)).collect();
        let source = |(_, document)| Source { document, index: Index::default() };
        Self { sources: resources.into_iter().map(source).collect(), by_id, made: 0 }
    }

    /// Takes a row of the index, if it is of one of the resources.
    pub(crate) fn take_row(&mut self, table: usize, row: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
        let cells: Vec<Value> = serde_json::from_str(row)?;
        let of = TABLES.get(table).ok_or("there is no such table")?;
        let source = cells.get(of.place_of_id()).and_then(Value::as_str).and_then(|id| self.by_id.get(id));
        if let Some(rows) = source.and_then(|source| self.sources.get_mut(*source)?.index.get_mut(table)) {
            rows.push(cells);
        }
        Ok(())
    }

    /// The rows of so many new resources: id, number and document of each, and those of each table in the order of its
    /// key.
    fn next(&mut self, count: usize) -> (Vec<[Cell; 3]>, Index) {
        let (mut versions, mut index) = (Vec::with_capacity(count), Index::default());
        for source in self.sources.iter().cycle().skip(self.made % self.sources.len().max(1)).take(count) {
            self.made += 1;
            let id = Uuid::now_v7().to_string();
            let number = FIRST_NUMBER + i64::try_from(self.made).unwrap_or_default();
            versions.push([Cell::Text(id.clone()), Cell::Number(number), Cell::Text(source.document.clone())]);
            for ((table, rows), all) in TABLES.iter().zip(&source.index).zip(&mut index) {
                all.extend(rows.iter().cloned().map(|mut row| {
                    if let Some(place) = row.get_mut(table.place_of_id()) {
                        *place = id.clone().into();
                    }
                    row
                }));
            }
        }
        for rows in &mut index {
            rows.sort_by_cached_key(|row| row.iter().map(sortable).collect::<Vec<_>>());
        }
        (versions, index)
    }

    /// The statements that insert so many new resources on SQLite, each value bound by itself.
    pub(crate) fn bound(&mut self, count: usize) -> Result<Statements<SqliteArguments>, BoxDynError> {
        let (versions, index) = self.next(count);
        let mut statements = Vec::new();
        let (mut history, mut table) = (SqliteArguments::default(), SqliteArguments::default());
        for version in versions {
            let [id, number, document] = version;
            for cell in [&id, &number] {
                add(&mut history, cell)?;
                add(&mut table, cell)?;
            }
            add(&mut table, &document)?;
        }
        statements.push((
            format!(
                "INSERT INTO observation_history (id, txid, ts, resource, op) VALUES {}",
                places(count, &format!("(?, ?, {NOW_US}, 'null', 'create')"))
            ),
            history,
        ));
        let row = format!("(?, ?, {NOW_US}, ?)");
        let sql = format!("INSERT INTO observation (id, txid, ts, resource) VALUES {}", places(count, &row));
        statements.push((sql, table));
        for (of, rows) in TABLES.iter().zip(index) {
            for some in rows.chunks(AT_ONCE) {
                let mut arguments = SqliteArguments::default();
                some.iter().flatten().map(cell).try_for_each(|cell| add(&mut arguments, &cell))?;
                let row = format!("({})", vec!["?"; of.columns.len()].join(", "));
                let values = places(some.len(), &row);
                let sql = format!("INSERT OR IGNORE INTO {} ({}) VALUES {values}", of.name, of.names());
                statements.push((sql, arguments));
            }
        }
        Ok(statements)
    }

    /// The same on Postgres, each column an array.
    pub(crate) fn in_arrays(&mut self, count: usize) -> Result<Statements<PgArguments>, BoxDynError> {
        let (versions, index) = self.next(count);
        let versions: Vec<Vec<Cell>> = versions.into_iter().map(Into::into).collect();
        let mut history = PgArguments::default();
        add_columns(&mut history, 3, &versions)?;
        let mut statements = vec![(
            "WITH recorded AS (
    INSERT INTO observation_history (id, txid, ts, resource, op)
    SELECT v.id, v.txid, now(), 'null'::JSONB, 'create'
    FROM unnest($1::TEXT[], $2::BIGINT[]) AS v (id, txid)
)
INSERT INTO observation (id, txid, ts, resource)
SELECT v.id, v.txid, now(), v.document::JSONB FROM unnest($1::TEXT[], $2::BIGINT[], $3::TEXT[]) AS v (id, txid, document)"
                .to_owned(),
            history,
        )];
        for (of, rows) in TABLES.iter().zip(index) {
            let rows: Vec<Vec<Cell>> = rows.iter().map(|row| row.iter().map(cell).collect()).collect();
            let mut arguments = PgArguments::default();
            add_columns(&mut arguments, of.columns.len(), &rows)?;
            let arrays = of.columns.iter().enumerate().map(|(at, (_, kind))| format!("${}::{kind}[]", at + 1));
            let arrays: Vec<String> = arrays.collect();
            let names = of.names();
            let sql = format!("INSERT INTO {} ({names}) SELECT * FROM unnest({})", of.name, arrays.join(", "));
            statements.push((sql, arguments));
        }
        Ok(statements)
    }
}

fn cell(value: &Value) -> Cell {
    match value.as_i64() {
        Some(number) => Cell::Number(number),
        None => Cell::Text(value.as_str().unwrap_or_default().to_owned()),
    }
}

/// A value in the order of its column.
fn sortable(value: &Value) -> (i64, String) {
    (value.as_i64().unwrap_or_default(), value.as_str().unwrap_or_default().to_owned())
}

fn places(rows: usize, row: &str) -> String {
    let mut places = row.to_owned();
    for _ in 1..rows {
        let _ = write!(places, ", {row}");
    }
    places
}

fn add(arguments: &mut SqliteArguments, cell: &Cell) -> Result<(), BoxDynError> {
    match cell {
        Cell::Number(number) => arguments.add(*number),
        Cell::Text(text) => arguments.add(text.clone()),
    }
}

fn add_columns(arguments: &mut PgArguments, columns: usize, rows: &[Vec<Cell>]) -> Result<(), BoxDynError> {
    for at in 0..columns {
        let (mut numbers, mut texts) = (Vec::new(), Vec::new());
        for cell in rows.iter().filter_map(|row| row.get(at)) {
            match cell {
                Cell::Number(number) => numbers.push(*number),
                Cell::Text(text) => texts.push(text.clone()),
            }
        }
        if texts.is_empty() { arguments.add(numbers)? } else { arguments.add(texts)? }
    }
    Ok(())
}
