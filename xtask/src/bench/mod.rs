//! `cargo xtask bench`: what our work costs, as a ratio to a limit measured in the same run.
//!
//! The figure is CPU time (user and system, of the whole process tree), not wall clock: it holds on a busy
//! machine. A bench returns [`Row`]s; the table, the core and the clock are shared here.

mod cpu;
mod limits;
mod pin;

use anyhow::{Context, Result, bail};
use clap::Args;
use xshell::{Shell, cmd};

use crate::{table::Table, workspace::Workspace};

/// Which benches to run.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Their names; all of them when none is given.
    names: Vec<String>,
    /// Say which benches exist, and stop.
    #[arg(long)]
    list: bool,
}

/// One kind of work, costs in microseconds of CPU per operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// What is done, and how often it was.
    pub(crate) work: String,
    /// What it costs us; absent where the bench measures a limit alone.
    pub(crate) ours_us: Option<f64>,
    /// What nobody can go below on this machine, measured in the same run.
    pub(crate) limit_us: f64,
    /// What we hold ourselves to.
    pub(crate) target_us: Option<f64>,
}

struct Bench {
    name: &'static str,
    what: &'static str,
    run: fn() -> Result<Vec<Row>>,
}

/// Every bench there is; another one is a module here and a line in this list.
const BENCHES: &[Bench] = &[Bench {
    name: "limits",
    what: "the bare cryptography of a token request, which no server goes below",
    run: limits::run,
}];

/// Runs the chosen benches and prints one table.
///
/// # Errors
/// When a name is unknown, or a bench cannot run.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    if let Some(unknown) = options.names.iter().find(|name| BENCHES.iter().all(|bench| bench.name != **name)) {
        bail!("there is no bench {unknown}; there are: {}", names());
    }
    if options.list {
        for bench in BENCHES {
            println!("{}: {}", bench.name, bench.what);
        }
        return Ok(());
    }
    if cfg!(debug_assertions) {
        return run_optimised(workspace, &options.names);
    }
    match pin::pin()? {
        Some(core) => println!("Pinned to core {core}."),
        None => println!("Not pinned to a core: taskset is not installed."),
    }
    let mut rows = Vec::new();
    for bench in BENCHES {
        if options.names.is_empty() || options.names.iter().any(|name| name == bench.name) {
            println!("{}: {} …", bench.name, bench.what);
            rows.extend((bench.run)()?);
        }
    }
    println!("\nCPU, µs per operation\n{}", table(&rows));
    println!("\nBenches that exist: {}. The rest of the table of targets is not measured yet.", names());
    Ok(())
}

/// Starts the same command again, built as the servers are: an unoptimised limit would flatter us.
fn run_optimised(workspace: &Workspace, names: &[String]) -> Result<()> {
    println!("Building the benches in the release profile …");
    let shell = Shell::new()?;
    shell.change_dir(&workspace.root);
    cmd!(shell, "cargo run --quiet --release --package xtask -- bench {names...}")
        .quiet()
        .run()
        .context("the benches in the release profile")
}

fn names() -> String {
    let names: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
    names.join(", ")
}

fn table(rows: &[Row]) -> String {
    let mut table = Table::new(["work", "ours", "limit", "ratio", "target", "verdict"]);
    for row in rows {
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
        table.push([
            row.work.clone(),
            number(row.ours_us),
            number(Some(row.limit_us)),
            row.ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
            number(row.target_us),
            row.verdict().to_owned(),
        ]);
    }
    table.render()
}

impl Row {
    /// How many times the limit it costs.
    fn ratio(&self) -> Option<f64> {
        self.ours_us.map(|ours| ours / self.limit_us)
    }

    fn verdict(&self) -> &'static str {
        match (self.ours_us, self.target_us) {
            (None, _) => "limit only",
            (Some(_), None) => "no target",
            (Some(ours), Some(target)) if ours <= target => "met",
            (Some(_), Some(_)) => "MISSED",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours_us: Option<f64>, target_us: Option<f64>) -> Row {
        Row { work: "work".into(), ours_us, limit_us: 100.0, target_us }
    }

    #[test]
    fn a_target_is_met_up_to_its_value() {
        assert_eq!(row(Some(200.0), Some(200.0)).verdict(), "met");
        assert_eq!(row(Some(200.1), Some(200.0)).verdict(), "MISSED");
        assert_eq!(row(None, Some(200.0)).verdict(), "limit only");
    }

    #[test]
    fn the_table_shows_the_ratio_to_the_limit() {
        let text = table(&[row(Some(150.0), Some(200.0))]);
        let last = text.lines().last().unwrap();
        let cells: Vec<&str> = last.split('|').map(str::trim).collect();
        assert_eq!(cells, ["work", "150.0", "100.0", "1.50", "200.0", "met"]);
    }

    #[test]
    fn an_unknown_bench_is_refused_by_name() {
        let options = Options { names: vec!["nothing".into()], list: false };
        let workspace = Workspace::parse(r#"{"workspace_root":"/","target_directory":"/","packages":[]}"#).unwrap();
        let error = run(&workspace, &options).unwrap_err();
        assert!(error.to_string().contains("no bench nothing"), "{error}");
    }
}
