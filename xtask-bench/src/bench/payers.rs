//! Exporting 100,000 patients beside `COPY … TO STDOUT`, and matching 1,000 members in less than a query for each.
//!
//! What is held is the number of statements, because that is what a match of members one by one costs a database on
//! another machine. Its time is told beside that of a bare query for each member, without a target: those find members
//! and keep nothing, a match stores a Consent for each and the Groups, with their history and the rows of their
//! searches.
//!
//! The limits are taken inside the database's own crate (`crates/auth-storage/benches/payers.rs`), because this
//! program speaks to no database.

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use super::{Bench, Row, Target, Unit};
use xtask::postgres::{Binaries, Postgres};

/// How many times `COPY … TO STDOUT` an export may take.
const EXPORT_TIMES_MAX: f64 = 2.0;
/// Statements of a match for each member.
const STATEMENTS_MAX: f64 = 1.0;

/// Both on both engines.
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
    let lines = cmd!(shell, "cargo bench --quiet --package auth-storage --bench payers").quiet().read()?;
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
    let (what, unit, times_max) = match words.next() {
        Some("export") => ("export 100,000 patients", Unit::Millis, Some(EXPORT_TIMES_MAX)),
        Some("match") => ("match 1,000 members with 100,000 patients", Unit::Millis, None),
        Some("statements") => ("statements of that match", Unit::Count, Some(STATEMENTS_MAX)),
        _ => anyhow::bail!(wrong()),
    };
    let mut number = || -> Result<f64> { words.next().and_then(|word| word.parse().ok()).with_context(wrong) };
    let (limit, ours) = (number()?, number()?);
    Ok(Row {
        engine,
        unit,
        limit: Some(limit),
        ours: Some(ours),
        target: times_max.map(|times_max| Target { value: limit * times_max, limit: Some(limit) }),
        ..Row::cpu(what)
    })
}
