//! `cargo xtask check`: what to run before a commit.

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use crate::tidy;
use xtask::workspace::Workspace;

/// Formatting, then the tidy rules, then clippy: the cheap answers first.
///
/// There is no `cargo check` beside clippy: both would analyse every dependency, once each.
///
/// # Errors
/// The first of the three that fails; each has printed its findings.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let shell = Shell::new()?;
    shell.change_dir(&workspace.root);
    cmd!(shell, "cargo fmt --all --check").run().context("formatting differs: run cargo fmt --all")?;
    tidy::run(workspace)?;
    cmd!(shell, "cargo clippy --workspace --all-targets -- -D warnings").run().context("clippy")
}
