//! The workspace's benchmarks and its demonstration, run as `cargo xtask bench` and `cargo xtask demo`.
//!
//! Owns: what meets the servers as a client and shows or measures what they do. Refuses: any dependency on a crate of
//! this workspace but `xtask`, which has the private Postgres and the other tools that its commands share.
//!
//! Decision: a program apart from `xtask`, because its clients need cryptography and HTTP, and `cargo xtask tidy` on a
//! new machine must not wait for those. Both commands are here because the benches use the demonstration's client.
//!
//! ```sh
//! cargo xtask bench --list
//! cargo xtask demo
//! ```

mod bench;
mod demo;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use xtask::workspace::Workspace;

/// Benchmarks and the demonstration.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start both servers with demonstration data and run their main job before your eyes.
    Demo(demo::Options),
    /// The benchmarks, as ratios against a limit measured in the same run.
    Bench(bench::Options),
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
        Command::Demo(options) => demo::run(&workspace, options),
        Command::Bench(options) => bench::run(&workspace, &options),
    }
}
