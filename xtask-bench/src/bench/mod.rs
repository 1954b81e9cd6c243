//! `cargo xtask bench`: what our work costs, as a ratio to a limit measured between its own slices.
//!
//! The figure is CPU time (user and system, of the whole process tree), not wall clock: it holds on a busy
//! machine. A bench returns [`Row`]s; the table, the cores and the clock are shared here. A missed target is
//! told and is no failure; an answer that is not the right one is.

mod auth;
mod chat;
mod limits;

mod bare;
mod cores;
mod cpu;
mod crypto;
mod load;
mod memory;
mod packages;
mod payers;
mod polls;
mod slices;
mod statements;
mod web;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use xshell::{Shell, cmd};

use cores::Cores;
use xtask::{interrupt, table::Table, workspace::Workspace};

/// Which benches to run.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Their names; all of them when none is given.
    names: Vec<String>,
    /// Say which benches exist, and stop.
    #[arg(long)]
    list: bool,
    /// How many nonces the authorization server holds when its memory is read.
    #[arg(long, value_name = "COUNT", default_value_t = 50_000)]
    jtis: usize,
    /// How many messages are in the database of everyday work; 60,000 at least.
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000)]
    messages: usize,
    /// How many resources there are when the shapes of searches are measured: one size after another, in steps of
    /// 10,000.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_value = "10000,100000,1000000")]
    resources: Vec<usize>,
    /// Be a server that others are compared with.
    #[arg(long, value_name = "KIND:WHAT", hide = true)]
    bare_server: Option<bare::Kind>,
}

/// What a bench is given.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    workspace: &'a Workspace,
    cores: Option<Cores>,
    jtis: usize,
    messages: usize,
    resources: Vec<usize>,
    interrupted: interrupt::Flag,
}

/// One line of the table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// What is done, or what is held.
    work: String,
    /// What keeps it, where that makes a difference.
    engine: &'static str,
    unit: Unit,
    /// What nobody can go below on this machine, measured in the same run.
    limit: Option<f64>,
    /// What it costs us; absent where the bench measures a limit alone.
    ours: Option<f64>,
    /// What we hold ourselves to.
    target: Option<Target>,
}

/// A bound, and the limit it was set beside.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Target {
    value: f64,
    /// The limit as it was measured then; a slower machine is judged by the distance to its own.
    limit: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Microseconds of CPU per operation.
    Micros,
    /// Resident memory.
    Mib,
    /// Resident memory of a small thing, or the size of an answer.
    Kib,
    /// Milliseconds on the clock.
    Millis,
    /// Operations a second.
    PerSecond,
    /// How many.
    Count,
}

struct Listed {
    name: &'static str,
    what: &'static str,
    run: fn(&Bench<'_>) -> Result<Vec<Row>>,
}

/// Every bench there is; another one is a module here and a line in this list.
const BENCHES: &[Listed] = &[
    Listed {
        name: "limits",
        what: "the bare cryptography of a token request, which no server goes below",
        run: limits::run,
    },
    Listed {
        name: "auth",
        what: "tokens, members' apps, public documents and memory of auth-server on both engines",
        run: auth::run,
    },
    Listed {
        name: "fhir",
        what: "reads, searches and writes of the FHIR endpoint on 100,000 resources, and the shapes of searches, on both engines",
        run: auth::fhir::run,
    },
    Listed {
        name: "shapes",
        what: "the searches that clients send at 10,000, 100,000 and 1,000,000 resources, on both engines",
        run: auth::fhir::run_shapes,
    },
    Listed {
        name: "crowd",
        what: "the delay of token requests while 1,000 people wait for their password to be checked, on both engines",
        run: auth::crowd,
    },
    Listed { name: "packages", what: "installing a FHIR package on both engines", run: packages::run },
    Listed { name: "payers", what: "exports and member matches on both engines", run: payers::run },
    Listed {
        name: "chat",
        what: "messages, long polls, history and memory of chat-server on both engines",
        run: chat::run,
    },
    Listed {
        name: "everyday",
        what: "starting a client, flags, search, typing and rendering of chat-server on both engines",
        run: chat::everyday::run,
    },
    Listed {
        name: "web",
        what: "sizes, first message, memory, frames and a large organization of the browser client, in Chromium",
        run: web::run,
    },
];

/// A bench that is a part of another one, and runs alone when it is named.
const PART: &str = "shapes";

/// Runs the chosen benches and prints one table.
///
/// # Errors
/// When a name is unknown, or a bench cannot run or gets a wrong answer.
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
    if let Some(kind) = &options.bare_server {
        return bare::serve(kind);
    }
    if cfg!(debug_assertions) {
        return run_optimised(workspace, options);
    }
    let (jtis, messages) = (options.jtis, options.messages);
    let resources = options.resources.clone();
    let interrupted = interrupt::Flag::install()?;
    let bench = Bench { workspace, cores: Cores::choose()?, jtis, messages, resources, interrupted };
    println!(
        "{}",
        bench.cores.map_or("Nothing is pinned to a core: taskset is not installed.".into(), Cores::describe)
    );
    let mut rows = Vec::new();
    for listed in BENCHES {
        if (options.names.is_empty() && listed.name != PART) || options.names.iter().any(|name| name == listed.name) {
            println!("{}: {} …", listed.name, listed.what);
            rows.extend((listed.run)(&bench)?);
        }
    }
    println!("\n{}", table(&rows));
    println!(
        "\nµs: CPU per operation, user and system. MiB, KiB: resident memory, or the size of an answer. ms: on the clock."
    );
    println!("Targets: in parentheses how many times the limit they allow, as that was when they were set.");
    println!("Benches that exist: {}.", names());
    Ok(())
}

/// Builds the servers and this program as they are shipped, and starts the latter: an unoptimised limit would
/// flatter us.
fn run_optimised(workspace: &Workspace, options: &Options) -> Result<()> {
    println!("Building the servers and the benches in the release profile (minutes the first time) …");
    let shell = Shell::new()?;
    shell.change_dir(&workspace.root);
    let build =
        cmd!(shell, "cargo build --quiet --release --package auth-server --package chat-server --package xtask");
    build.quiet().run().context("the release build")?;
    let program = workspace.target.join("release").join("xtask");
    let (names, jtis, messages) = (&options.names, options.jtis.to_string(), options.messages.to_string());
    let sizes: Vec<String> = options.resources.iter().map(usize::to_string).collect();
    let sizes = sizes.join(",");
    let run = cmd!(shell, "{program} bench {names...} --jtis {jtis} --messages {messages} --resources {sizes}");
    run.quiet().run().context("the benches in the release profile")
}

fn names() -> String {
    let names: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
    names.join(", ")
}

fn table(rows: &[Row]) -> String {
    let mut table = Table::new(["work", "engine", "unit", "limit", "ours", "ours/limit", "target", "verdict"]);
    for row in rows {
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
        table.push([
            row.work.clone(),
            row.engine.to_owned(),
            row.unit.sign().to_owned(),
            number(row.limit),
            number(row.ours),
            row.ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
            row.target.map_or_else(|| "-".to_owned(), Target::describe),
            row.verdict().to_owned(),
        ]);
    }
    table.render()
}

impl Bench<'_> {
    /// What is started from now on is measured.
    fn take_measured_core(&self) -> Result<()> {
        self.cores.map_or(Ok(()), Cores::take_measured)
    }

    /// What is started from now on does not disturb what is measured, where there is a second core.
    fn take_other_core(&self) -> Result<()> {
        self.cores.map_or(Ok(()), Cores::take_beside)
    }

    /// What is started from now on, and this process, may use both cores.
    fn take_both_cores(&self) -> Result<()> {
        self.give_both_cores(std::process::id())
    }

    /// A server that runs may use both cores from now on.
    fn give_both_cores(&self, process: u32) -> Result<()> {
        self.cores.map_or(Ok(()), |cores| cores.give_both(process))
    }

    /// Where the servers are, built as they are shipped.
    fn binaries(&self) -> PathBuf {
        self.workspace.target.join("release")
    }
}

impl Unit {
    fn sign(self) -> &'static str {
        match self {
            Self::Micros => "µs",
            Self::Mib => "MiB",
            Self::Kib => "KiB",
            Self::Millis => "ms",
            Self::PerSecond => "1/s",
            Self::Count => "",
        }
    }
}

impl Row {
    /// CPU of one operation, nothing known of it yet.
    fn cpu(work: &str) -> Self {
        Self { work: work.to_owned(), engine: "-", unit: Unit::Micros, limit: None, ours: None, target: None }
    }

    /// Resident memory, nothing known of it yet.
    fn memory(work: &str) -> Self {
        Self { unit: Unit::Mib, ..Self::cpu(work) }
    }

    /// How many times the limit it costs.
    fn ratio(&self) -> Option<f64> {
        self.ours.zip(self.limit).map(|(ours, limit)| ours / limit)
    }

    fn verdict(&self) -> &'static str {
        let Some(ours) = self.ours else { return "limit only" };
        let Some(target) = self.target else { return "no target" };
        let is_met_by_ratio = || Some(self.ratio()? <= target.ratio()?);
        if ours <= target.value {
            "met"
        } else if is_met_by_ratio() == Some(true) {
            "met by ratio"
        } else {
            "MISSED"
        }
    }
}

impl Target {
    /// Nothing to be compared with.
    const fn alone(value: f64) -> Self {
        Self { value, limit: None }
    }

    /// Set where the limit was `limit`.
    const fn beside(limit: f64, value: f64) -> Self {
        Self { value, limit: Some(limit) }
    }

    /// The same work with something more to it.
    fn with(self, more: Self) -> Self {
        Self { value: self.value + more.value, ..self }
    }

    /// How many times the limit it allows.
    fn ratio(self) -> Option<f64> {
        self.limit.map(|limit| self.value / limit)
    }

    fn describe(self) -> String {
        // Some targets are made of what was measured.
        let value = (self.value * 10.0).round() / 10.0;
        match self.ratio() {
            Some(ratio) => format!("{value} ({ratio:.2})"),
            None => value.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(limit: f64, ours: Option<f64>, target: Option<Target>) -> Row {
        Row { limit: Some(limit), ours, target, ..Row::cpu("work") }
    }

    fn cells(row: Row) -> Vec<String> {
        let text = table(&[row]);
        text.lines().last().unwrap().split('|').map(|cell| cell.trim().to_owned()).collect()
    }

    #[test]
    fn a_target_is_told_with_one_decimal_at_most() {
        assert_eq!(Target::alone(6.903_712).describe(), "6.9");
        assert_eq!(Target::beside(75.0, 150.0).describe(), "150 (2.00)");
    }

    #[test]
    fn a_target_is_met_up_to_its_value() {
        let target = Some(Target::alone(200.0));
        assert_eq!(row(100.0, Some(200.0), target).verdict(), "met");
        assert_eq!(row(100.0, Some(200.1), target).verdict(), "MISSED");
        assert_eq!(row(100.0, Some(200.0), None).verdict(), "no target");
        assert_eq!(row(100.0, None, target).verdict(), "limit only");
    }

    #[test]
    fn a_slower_machine_is_judged_by_the_distance_to_the_limit() {
        let target = Some(Target::beside(100.0, 200.0));
        assert_eq!(row(150.0, Some(300.0), target).verdict(), "met by ratio");
        assert_eq!(row(150.0, Some(300.1), target).verdict(), "MISSED");
        assert_eq!(row(50.0, Some(200.0), target).verdict(), "met");
    }

    #[test]
    fn the_table_shows_the_ratio_to_the_limit() {
        let row = row(100.0, Some(150.0), Some(Target::beside(80.0, 200.0)));
        assert_eq!(cells(row), ["work", "-", "µs", "100.0", "150.0", "1.50", "200 (2.50)", "met"]);
    }

    #[test]
    fn memory_has_no_limit_to_compare_with() {
        let row = Row { ours: Some(12.0), target: Some(Target::alone(30.0)), ..Row::memory("at rest") };
        assert_eq!(cells(row), ["at rest", "-", "MiB", "-", "12.0", "-", "30", "met"]);
    }

    #[test]
    fn an_unknown_bench_is_refused_by_name() {
        let options = Options {
            names: vec!["nothing".into()],
            list: false,
            jtis: 0,
            messages: 0,
            resources: Vec::new(),
            bare_server: None,
        };
        let workspace = Workspace::parse(r#"{"workspace_root":"/","target_directory":"/","packages":[]}"#).unwrap();
        let error = run(&workspace, &options).unwrap_err();
        assert!(error.to_string().contains("no bench nothing"), "{error}");
    }
}
