//! The commands of `xtask-bench`: that program takes the place of this one.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Error, anyhow};
use clap::Args;
use xtask::workspace::Workspace;

/// The arguments that the other program reads.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Becomes `cargo run` of that program, so that an interrupt meets one process; returns only when it cannot.
pub(crate) fn exec(workspace: &Workspace, command: &str, arguments: &Arguments) -> Error {
    let mut cargo = Command::new("cargo");
    cargo.arg("run").arg("--manifest-path").arg(workspace.root.join("xtask-bench/Cargo.toml"));
    cargo.args(["--", command]).args(&arguments.arguments);
    anyhow!(cargo.exec()).context("cargo cannot be started")
}
