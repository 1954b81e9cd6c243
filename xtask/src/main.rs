//! The workspace's own commands, run as `cargo xtask <command>`.
//!
//! Owns: what a developer and the continuous integration run (`demo`, `test-all`, `conformance`,
//! `check`, `tidy`, `bench`, `pg`). Refuses: any dependency on a crate of this workspace, so that it still builds and
//! judges when one of them does not; it meets the servers as strangers do, over HTTP.
//!
//! Decision: one Rust program instead of shell scripts, because it runs wherever the workspace builds and its rules
//! have unit tests. The road not taken is a task runner, one more thing to install before the first command works.
//! Benchmarks and the demo are another program, `xtask-bench`, so that the commands of every day need no cryptography
//! to be compiled first.
//!
//! ```sh
//! cargo xtask check      # before a commit
//! cargo xtask test-all   # what the continuous integration runs
//! ```

mod bench;
mod check;
mod definitions;
mod emoji;
mod test_all;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use test_all::Servers;
use xtask::{postgres, workspace::Workspace};

/// The commands of this workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Formatting, lints and the tidy rules: what to run before a commit.
    Check,
    /// The rules no compiler checks: dependency edges, file lengths, schema folders, forbidden text.
    Tidy,
    /// Everything: checks, tests on both engines, third-party clients; ends with a table.
    TestAll {
        /// Build the servers as they are shipped too, and let the clients meet and time those.
        #[arg(long)]
        release: bool,
    },
    /// What certification kits ask of the authorization server, compared with docs/conformance.md.
    Conformance {
        /// Write the table instead of comparing with it.
        #[arg(long)]
        write: bool,
    },
    /// Make the committed data about FHIR again, from a folder with HL7's definitions of R4 (4.0.1) in JSON.
    Definitions {
        /// Where profiles-resources.json and its neighbours are.
        folder: PathBuf,
    },
    /// Make the table of Unicode emoji again, from `emoji.json` of the npm package `emoji-datasource` (15.1.2).
    Emoji {
        /// Where `emoji.json` is.
        data: PathBuf,
    },
    /// Start both servers with demonstration data and run their main job before your eyes.
    #[command(disable_help_flag = true)]
    Demo(bench::Arguments),
    /// The benchmarks, as ratios against a limit measured in the same run.
    #[command(disable_help_flag = true)]
    Bench(bench::Arguments),
    /// A private Postgres in the foreground, for development; prints its URL and ends with Ctrl-C.
    Pg,
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // The causes without a backtrace: they name a file or a program, not a place in this one.
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<()> {
    let workspace = Workspace::load()?;
    match cli.command {
        Command::Check => check::run(&workspace),
        Command::Tidy => tidy::run(&workspace),
        Command::TestAll { release: false } => test_all::run(&workspace, Servers::Tested),
        Command::TestAll { release: true } => test_all::run(&workspace, Servers::Released),
        Command::Conformance { write } => test_all::conformance(&workspace, write),
        Command::Definitions { folder } => definitions::run(&workspace, &folder),
        Command::Emoji { data } => emoji::run(&workspace, &data),
        Command::Demo(arguments) => Err(bench::exec(&workspace, "demo", &arguments)),
        Command::Bench(arguments) => Err(bench::exec(&workspace, "bench", &arguments)),
        Command::Pg => postgres::serve(&workspace),
    }
}
