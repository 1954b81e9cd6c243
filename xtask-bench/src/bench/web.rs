//! The browser client of chat-server in headless Chromium. The script `fixtures/web/bench.mjs` drives it and prints a
//! line of JSON for each figure.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::{Bench, Row, Target, Unit};

/// A row for each figure of the script.
///
/// # Errors
/// When the script cannot run, or an error was logged in the client's console.
pub(super) fn run(bench: &Bench<'_>) -> Result<Vec<Row>> {
    let modules = bench.workspace.target.join("blackbox");
    ensure!(modules.join("node_modules").is_dir(), "Playwright is not installed: `cargo xtask test-all` installs it");
    let mut script = Command::new("node");
    script
        .arg(bench.workspace.root.join("fixtures/web/bench.mjs"))
        .arg("--server")
        .arg(bench.binaries().join("chat-server"))
        .arg("--modules")
        .arg(modules)
        .arg("--shots")
        .arg(bench.workspace.target.join("screens/bench"))
        .env_remove("DATABASE_URL")
        .stderr(Stdio::inherit());
    // The browser and the server share the machine, as they do not at a person's desk.
    bench.take_both_cores()?;
    let ended = script.output().context("cannot start node")?;
    let rows = String::from_utf8_lossy(&ended.stdout).lines().map(row).collect();
    if ended.status.success() { rows } else { bail!("the script ended with {}", ended.status) }
}

/// Reads one line of the script.
fn row(line: &str) -> Result<Row> {
    let told: Value = serde_json::from_str(line).with_context(|| format!("no figure: {line}"))?;
    let work = told.get("work").and_then(Value::as_str).with_context(|| format!("no work: {line}"))?;
    let unit = match told.get("unit").and_then(Value::as_str) {
        Some("ms") => Unit::Millis,
        Some("KiB") => Unit::Kib,
        Some("MiB") => Unit::Mib,
        _ => bail!("no unit: {line}"),
    };
    let ours = told.get("ours").and_then(Value::as_f64);
    ensure!(ours.is_some(), "no number: {line}");
    let target = told.get("target").and_then(Value::as_f64).map(Target::alone);
    Ok(Row { unit, engine: "SQLite", ours, target, ..Row::cpu(work) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_script_is_a_row() {
        let read = row(r#"{"work": "the client's style", "unit": "KiB", "ours": 6.5, "target": 30}"#).unwrap();
        assert_eq!((read.work.as_str(), read.unit, read.ours), ("the client's style", Unit::Kib, Some(6.5)));
        assert_eq!(read.verdict(), "met");
        assert_eq!(row(r#"{"work": "x", "unit": "ms", "ours": 1}"#).unwrap().verdict(), "no target");
    }

    #[test]
    fn a_line_without_a_figure_is_refused() {
        for line in ["", "x", r#"{"work": "x", "unit": "ms"}"#, r#"{"work": "x", "unit": "lines", "ours": 1}"#] {
            assert!(row(line).is_err(), "{line}");
        }
    }
}
