//! `cargo xtask test-all`: everything, in an order where the cheap answers come first, ending with a table.
//!
//! A step that fails does not stop the others: one run says all that is wrong. A step that cannot run says
//! so in its row. Nothing is skipped silently. The release build runs beside the steps before it and gives way to
//! them: it takes the cores where they link, or wait for a database.

mod count;
mod step;
mod tools;

use std::{
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};

use crate::{
    interrupt,
    postgres::{Binaries, Postgres},
    process, tidy,
    workspace::Workspace,
};
use count::Count;
use step::{Outcome, Report, Timed};

/// The longest each kind of step may take; a hanging test must not take the table with it.
const SHORT: Duration = Duration::from_mins(3);
const LONG: Duration = Duration::from_mins(25);
/// Of what gives way to steps that may be long themselves.
const BESIDE_OTHERS: Duration = Duration::from_mins(50);

/// How far the release build gives way to what runs beside it, from 0 to 19.
const GIVES_WAY: &str = "10";

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
    released: bool,
    clients: bool,
}

/// Runs every step and prints the table.
///
/// # Errors
/// When the log folder cannot be written, or a step failed.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let run = Run { workspace, logs: workspace.target.join("test-all"), interrupted: interrupt::Flag::install()? };
    step::clear(&run.logs)?;
    let mut report = Report::new(run.logs.clone());
    let mut found = Found::default();

    report.step("tools", || run.tools(&mut found));
    report.step("format", || run.format());
    report.step("tidy", || tidy::run(workspace).map(|()| Outcome::passed("edges, files, schema")));
    let released = thread::scope(|scope| {
        let building = scope.spawn(|| Timed::of(|| run.release()));
        report.step("clippy", || run.clippy());
        report.step("tests", || run.tests(found.postgres.as_ref()));
        report.step("deny", || run.deny());
        building.join().unwrap_or_else(|_| Timed::of(|| bail!("the build was not waited for")))
    });
    found.released = released.is_passed();
    report.ended("release", released);
    report.step("black-box", || run.black_box(&found, &[]));

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
    let released = Timed::of(|| run.release());
    found.released = released.is_passed();
    report.ended("release", released);
    let mut flags = vec!["--engine", "sqlite", "--only", "conformance"];
    flags.extend(write.then_some("--write-conformance"));
    report.step("black-box", || run.black_box(&found, &flags));
    drop(found);
    report.finish()
}

impl Run<'_> {
    fn tools(&self, found: &mut Found) -> Result<Outcome> {
        let mut wrong = Vec::new();
        match Binaries::find_or_install().and_then(|binaries| Postgres::start(self.workspace, binaries)) {
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
        Ok(Outcome::passed("cargo fmt --all --check"))
    }

    fn clippy(&self) -> Result<Outcome> {
        let arguments = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
        self.cargo("clippy", &arguments, LONG)?;
        Ok(Outcome::passed("all targets, warnings denied"))
    }

    fn tests(&self, postgres: Option<&Postgres>) -> Result<Outcome> {
        let Some(postgres) = postgres else {
            bail!("not run: the tests need Postgres, see the step tools");
        };
        let mut command = self.command("cargo", &["test", "--workspace", "--no-fail-fast"]);
        command.env("TEST_DATABASE_URL", postgres.url());
        let ended = process::run_logged(&mut command, &self.log("tests"), LONG, &self.interrupted);
        let counted = Count::of_cargo_test(&step::read(&self.log("tests")));
        Ok(Outcome::counted("unit and integration tests on SQLite and Postgres", counted, ended))
    }

    fn deny(&self) -> Result<Outcome> {
        if !process::exists("cargo-deny") {
            return Ok(Outcome::not_run("cargo-deny is not installed: cargo install --locked cargo-deny"));
        }
        self.cargo("deny", &["deny", "--workspace", "check"], SHORT)?;
        Ok(Outcome::passed("advisories, bans, licences, sources"))
    }

    fn release(&self) -> Result<Outcome> {
        let build = ["cargo", "build", "--release", "-p", "auth-server", "-p", "chat-server"];
        let mut command = self.command("nice", &[["-n", GIVES_WAY].as_slice(), &build].concat());
        process::run_logged(&mut command, &self.log("release"), BESIDE_OTHERS, &self.interrupted)?;
        Ok(Outcome::passed("auth-server, chat-server"))
    }

    fn black_box(&self, found: &Found, flags: &[&str]) -> Result<Outcome> {
        let Some(postgres) = found.postgres.as_ref().filter(|_| found.released && found.clients) else {
            bail!("not run: it needs Postgres, the clients and the release build, see their steps");
        };
        let runner = tools::fixtures(self.workspace).join("run.py");
        if !runner.is_file() {
            bail!("{} is missing", self.workspace.shown(&runner));
        }
        let url = postgres.create_database("black_box")?;
        let release = self.workspace.target.join("release");
        let mut command = self.command(tools::python(self.workspace), &[]);
        command
            .arg(runner)
            .arg("--auth-server")
            .arg(release.join("auth-server"))
            .arg("--chat-server")
            .arg(release.join("chat-server"))
            .arg("--node-modules")
            .arg(tools::node_folder(self.workspace).join("node_modules"))
            .arg("--screens")
            .arg(self.workspace.target.join("screens"))
            .args(["--postgres-url", &url])
            .args(flags);
        let ended = process::run_logged(&mut command, &self.log("black-box"), LONG, &self.interrupted);
        let counted = Count::of_last_line(&step::read(&self.log("black-box"))).with_context(|| {
            format!("{} printed no `N passed, N failed`", self.workspace.shown(&self.log("black-box")))
        });
        match (counted, ended) {
            (Ok(counted), ended) => {
                Ok(Outcome::counted("release binaries against third-party clients", counted, ended))
            }
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
