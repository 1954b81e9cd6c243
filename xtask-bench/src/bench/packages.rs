//! Installing a FHIR package, beside inflating it and inserting its rows with one statement.
//!
//! The limit is taken inside the database's own crate (`crates/auth-storage/benches/packages.rs`), because this
//! program speaks to no database.

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use super::{Bench, Row, Target, Unit};
use xtask::postgres::{Binaries, Postgres};

/// How many times the limit an installation may take.
const TIMES_MAX: f64 = 3.0;

/// A package of 2,000 canonicals, on both engines.
///
/// # Errors
/// When the bench does not build or run, or prints what is none of its lines.
pub(super) fn run(bench: &Bench<'_>) -> Result<Vec<Row>> {
    let postgres = Postgres::start(bench.workspace, Binaries::find_or_install()?)?;
    let shell = Shell::new()?;
    shell.change_dir(&bench.workspace.root);
    // In the build folder, because what is for temporary files may be memory, where a sync costs nothing.
    shell.set_var("TMPDIR", &bench.workspace.target);
    shell.set_var("TEST_DATABASE_URL", postgres.url());
    let lines = cmd!(shell, "cargo bench --quiet --package auth-storage --bench packages").quiet().read()?;
    lines.lines().map(row).collect()
}

fn row(line: &str) -> Result<Row> {
    let wrong = || format!("no line of the bench: {line}");
    let mut words = line.split_whitespace();
    let engine = match words.next() {
        Some("SQLite") => "SQLite",
        Some("Postgres") => "Postgres",
        _ => anyhow::bail!(wrong()),
    };
    let mut number = || -> Result<f64> { words.next().and_then(|word| word.parse().ok()).with_context(wrong) };
    let (limit, ours) = (number()?, number()?);
    Ok(Row {
        engine,
        unit: Unit::Millis,
        limit: Some(limit),
        ours: Some(ours),
        target: Some(Target { value: limit * TIMES_MAX, limit: Some(limit) }),
        ..Row::cpu("install a package of 2,000 canonicals")
    })
}
