//! `cargo xtask test-all`: everything, in an order where the cheap answers come first, ending with a table.
//!
//! A step that fails does not stop the others: one run says all that is wrong. A step that cannot run fails and says
//! what it needs; what a step leaves out stands in its row.
//!
//! Decision: everything is compiled once. The compiler of the step `build` is clippy's, which judges a crate and
//! compiles it in one go, and the tests and the servers that third-party clients meet are of that build. A machine of
//! two cores took more than twice as long for a build that clippy judges, one that is tested and one that is released.
//! What is given up: the optimised servers meet the clients with `--release` alone, and only then are their times
//! judged.

mod client;
mod count;
mod deny;
mod judged;
mod step;
mod tools;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};

use crate::tidy;
use count::Count;
use step::{Outcome, Report, Timed};
use xtask::{
    interrupt,
    postgres::{Binaries, Place, Postgres},
    process,
    workspace::Workspace,
};

/// The longest each kind of step may take; a hanging test must not take the table with it.
const SHORT: Duration = Duration::from_mins(3);
const LONG: Duration = Duration::from_mins(25);
/// Of what compiles everything.
const BUILD: Duration = Duration::from_mins(40);

/// How many tests of a program run at once: more than a small machine has cores, because half of their time is
/// waiting for a database.
const TEST_THREADS: &str = "4";

/// Has pytest run the groups of checks side by side, because most of what is checked waits. `auto` is what the
/// `conftest.py` of the checks says.
const SIDE_BY_SIDE: &[&str] = &["--numprocesses", "auto", "--dist", "loadgroup", "--no-loadscope-reorder"];

/// Which servers the third-party clients meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Servers {
    /// Those of the build that is tested.
    Tested,
    /// Those that are shipped, which takes another build.
    Released,
}

/// What the steps share.
struct Run<'w> {
    workspace: &'w Workspace,
    /// `target/test-all`: one log per step.
    logs: PathBuf,
    interrupted: interrupt::Flag,
}

/// What later steps need from earlier ones; `None` where the earlier step failed.
#[derive(Default)]
struct Found {
    postgres: Option<Postgres>,
    clients: bool,
    built: bool,
    servers: Option<Servers>,
}

/// Runs every step and prints the table.
///
/// # Errors
/// When the log folder cannot be written, or a step failed.
pub(crate) fn run(workspace: &Workspace, servers: Servers) -> Result<()> {
    let run = Run { workspace, logs: workspace.target.join("test-all"), interrupted: interrupt::Flag::install()? };
    step::clear(&run.logs)?;
    let mut report = Report::new(run.logs.clone());
    let mut found = Found::default();

    report.step("format", || run.format());
    report.step("tidy", || tidy::run(workspace).map(|()| Outcome::passed("edges, files, schema")));
    let built = thread::scope(|scope| {
        // What is fetched waits for the network, what is built for the cores.
        let building = scope.spawn(|| Timed::of(|| run.build()));
        report.step("tools", || run.tools(&mut found));
        println!("build …");
        building.join().unwrap_or_else(|_| Timed::of(|| bail!("the build was not waited for")))
    });
    found.built = built.is_passed();
    found.servers = found.built.then_some(Servers::Tested);
    report.ended("build", built);
    report.step("client", || run.client());
    report.step("tests", || run.tests(&found));
    if servers == Servers::Released {
        report.step("towns", || run.towns(&found));
    }
    report.step("deny", || deny::run(&run));
    report.step("package", || run.package());
    if servers == Servers::Released {
        run.released(&mut report, &mut found);
    }
    report.step("black-box", || run.black_box(&found, SIDE_BY_SIDE));

    // Stopped before the table, so that the table is the end of the output.
    drop(found);
    report.finish()
}

/// `cargo xtask conformance`: the checks of certification kits against the release binary, compared with
/// the table in `docs/conformance.md`, or written into it.
///
/// # Errors
/// When a check fails, or the table says otherwise than what was found.
pub(crate) fn conformance(workspace: &Workspace, write: bool) -> Result<()> {
    let run = Run { workspace, logs: workspace.target.join("conformance"), interrupted: interrupt::Flag::install()? };
    step::clear(&run.logs)?;
    let mut report = Report::new(run.logs.clone());
    let mut found = Found::default();
    report.step("tools", || run.tools(&mut found));
    run.released(&mut report, &mut found);
    let mut arguments = vec!["checks/people/test_conformance.py", "--engine", "sqlite"];
    arguments.extend(write.then_some("--write-conformance"));
    report.step("black-box", || run.black_box(&found, &arguments));
    drop(found);
    report.finish()
}

impl Run<'_> {
    fn tools(&self, found: &mut Found) -> Result<Outcome> {
        let mut wrong = Vec::new();
        match Binaries::find_or_install()
            .and_then(|binaries| Postgres::start_in(Place::Memory, self.workspace, binaries))
        {
            Ok(postgres) => found.postgres = Some(postgres),
            Err(error) => wrong.push(format!("Postgres: {error:#}")),
        }
        match tools::install_clients(self) {
            Ok(()) => found.clients = true,
            Err(error) => wrong.push(format!("black-box clients: {error:#}")),
        }
        if wrong.is_empty() {
            return Ok(Outcome::passed("Postgres, Python and npm clients, Chromium"));
        }
        bail!("{}", wrong.join("\n"))
    }

    fn format(&self) -> Result<Outcome> {
        self.cargo("format", &["fmt", "--all", "--check"], SHORT)?;
        self.cargo("format", &["fmt", "--all", "--check", "--manifest-path", "examples/Cargo.toml"], SHORT)?;
        Ok(Outcome::passed("cargo fmt --all --check, also of examples/"))
    }

    fn build(&self) -> Result<Outcome> {
        let mut command = self.command("cargo", &["build", "--workspace", "--all-targets", "--keep-going"]);
        judged::by_clippy(&mut command);
        process::run_logged(&mut command, &self.log("build"), BUILD, &self.interrupted)?;
        // Into the same folder, so that what both need is compiled once and the checks find the programs.
        let mut command = self.command("cargo", &["build", "--locked", "--manifest-path", "examples/Cargo.toml"]);
        command.arg("--target-dir").arg(&self.workspace.target);
        process::run_logged(&mut command, &self.log("examples"), BUILD, &self.interrupted)?;
        Ok(Outcome::passed("clippy and compiler in one, all targets, warnings denied; examples/"))
    }

    fn tests(&self, found: &Found) -> Result<Outcome> {
        let command = self.command("cargo", &["test", "--workspace", "--no-fail-fast"]);
        self.cargo_test(found, ("tests", "unit and integration tests on SQLite and Postgres"), command)
    }

    /// What a registry would get of the crates that are published.
    fn package(&self) -> Result<Outcome> {
        let published = tidy::published(self.workspace)?;
        let mut arguments = vec!["package", "--no-verify", "--allow-dirty"];
        arguments.extend(published.iter().flat_map(|name| ["-p", name]));
        self.cargo("package", &arguments, SHORT)?;
        Ok(Outcome::passed(&published.join(", ")))
    }

    /// The tests of the chat API once more, on Postgres.
    fn towns(&self, found: &Found) -> Result<Outcome> {
        let mut command = self.command("cargo", &["test", "-p", "chat-http", "--test", "it", "--no-fail-fast"]);
        command.env("TOWNS_ON_POSTGRES", "1");
        self.cargo_test(found, ("towns", "tests of the chat API on Postgres"), command)
    }

    fn cargo_test(&self, found: &Found, (log, what): (&str, &str), mut command: Command) -> Result<Outcome> {
        let Some(postgres) = found.postgres.as_ref().filter(|_| found.built) else {
            bail!("not run: the tests need Postgres and the build, see their steps");
        };
        judged::by_clippy(&mut command);
        command.env("TEST_DATABASE_URL", postgres.url()).env("RUST_TEST_THREADS", TEST_THREADS);
        let ended = process::run_logged(&mut command, &self.log(log), LONG, &self.interrupted);
        let counted = Count::of_cargo_test(&step::read(&self.log(log)));
        Ok(Outcome::counted(what, counted, ended))
    }

    /// Builds the servers as they are shipped; from here on the clients meet those, or none.
    fn released(&self, report: &mut Report, found: &mut Found) {
        let released = Timed::of(|| {
            self.cargo("release", &["build", "--release", "-p", "auth-server", "-p", "chat-server"], BUILD)?;
            Ok(Outcome::passed("auth-server, chat-server"))
        });
        found.servers = released.is_passed().then_some(Servers::Released);
        report.ended("release", released);
    }

    /// Runs pytest with these arguments beside those that say where everything is.
    fn black_box(&self, found: &Found, arguments: &[&str]) -> Result<Outcome> {
        let (Some(postgres), Some(servers), true) = (&found.postgres, found.servers, found.clients) else {
            bail!("not run: it needs Postgres, the clients and the servers, see their steps");
        };
        let (folder, judging, what): (_, &[&str], _) = match servers {
            Servers::Tested => ("debug", &[], "checks of the tested build by third-party clients"),
            Servers::Released => ("release", &["--judge-times"], "checks of the released build by third-party clients"),
        };
        let url = postgres.create_database("black_box")?;
        let folder = self.workspace.target.join(folder);
        let report = self.logs.join("black-box.xml");
        let mut command = self.command(tools::python(self.workspace), &["-m", "pytest", "--verbose", "--durations=30"]);
        command
            .current_dir(tools::fixtures(self.workspace))
            .arg(given("--junitxml", &report))
            .arg(given("--auth-server", &folder.join("auth-server")))
            .arg(given("--chat-server", &folder.join("chat-server")))
            .arg(given("--node-modules", &tools::node_folder(self.workspace).join("node_modules")))
            .arg(given("--screens", &self.workspace.target.join("screens")))
            .arg(format!("--postgres-url={url}"))
            .args(judging)
            .args(arguments);
        let ended = process::run_logged(&mut command, &self.log("black-box"), LONG, &self.interrupted);
        let counted = Count::of_junit(&step::read(&report))
            .with_context(|| format!("{} has no counts", self.workspace.shown(&report)));
        match (counted, ended) {
            (Ok(counted), ended) => Ok(Outcome::counted(what, counted, ended)),
            (Err(uncounted), ended) => Err(ended.err().unwrap_or(uncounted)),
        }
    }

    fn cargo(&self, step: &str, arguments: &[&str], limit: Duration) -> Result<()> {
        let mut command = self.command("cargo", arguments);
        process::run_logged(&mut command, &self.log(step), limit, &self.interrupted)
    }

    fn command(&self, program: impl AsRef<Path>, arguments: &[&str]) -> Command {
        let mut command = Command::new(program.as_ref());
        command.args(arguments).current_dir(&self.workspace.root);
        command
    }

    fn log(&self, step: &str) -> PathBuf {
        step::log(&self.logs, step)
    }
}

/// An option with its path as one argument: pytest takes a path that stands alone for a place with tests, before it
/// knows the options of the checks.
fn given(option: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(option);
    argument.push("=");
    argument.push(path);
    argument
}
