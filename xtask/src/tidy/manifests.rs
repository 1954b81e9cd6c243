//! Manifests: every dependency has a reason, every crate inherits the lints.

use std::fs;

use anyhow::{Context, Result};

use xtask::workspace::Workspace;

use super::Finding;

/// Reads the root manifest and the members' own.
///
/// # Errors
/// When a manifest cannot be read.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let root = workspace.root.join("Cargo.toml");
    let text = fs::read_to_string(&root).with_context(|| format!("cannot read {}", root.display()))?;
    let mut findings = reasons(&text);
    for package in &workspace.packages {
        let manifest = &package.manifest;
        let text = fs::read_to_string(manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
        if !inherits_lints(&text) {
            findings.push(Finding::error(workspace.shown(manifest).to_string(), "lacks [lints] workspace = true"));
        }
    }
    Ok(findings)
}

/// Dependencies of the workspace table that stand there without saying why; our own need no reason.
fn reasons(root_manifest: &str) -> Vec<Finding> {
    section(root_manifest, "[workspace.dependencies]")
        .filter(|line| !line.trim_start().starts_with('#'))
        .filter_map(|line| line.split_once('=').map(|(name, value)| (name.trim(), value)))
        .filter(|(_, value)| !value.contains("path = ") && reason(value).is_empty())
        .map(|(name, _)| {
            let text = format!("{name} needs a comment on its line that says why it is here");
            Finding::error("Cargo.toml", text)
        })
        .collect()
}

/// The comment at the end of an entry; a `#` inside quotes is part of a value.
fn reason(value: &str) -> &str {
    let mut quoted = false;
    let start = value.find(|character| {
        quoted ^= character == '"';
        character == '#' && !quoted
    });
    start.and_then(|at| value.get(at + 1..)).unwrap_or_default().trim()
}

fn inherits_lints(manifest: &str) -> bool {
    section(manifest, "[lints]").any(|line| line.replace(' ', "") == "workspace=true")
}

/// The lines between a table's heading and the next one.
fn section<'t>(manifest: &'t str, heading: &'t str) -> impl Iterator<Item = &'t str> {
    manifest.lines().skip_while(move |line| line.trim() != heading).skip(1).take_while(|line| !line.starts_with('['))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_without_a_reason_is_named() {
        let found = reasons(
            "[workspace.dependencies]\n# ours\nours = { path = \"crates/ours\" }\n\
             good = \"1\" # parses dates\nbare = \"1\"\nempty = \"1\" #\n\
             odd = { version = \"1\", features = [\"a#b\"] }\n\n[profile.dev]\ndebug = 1\n",
        );
        let named: Vec<&str> = found.iter().filter_map(|finding| finding.text.split(' ').next()).collect();
        assert_eq!(named, ["bare", "empty", "odd"]);
    }

    #[test]
    fn only_the_lints_table_counts_as_inheriting_lints() {
        assert!(inherits_lints("[package]\nname = \"a\"\n\n[lints]\nworkspace = true\n"));
        assert!(!inherits_lints("[lints]\n\n[dependencies]\nworkspace = true\n"));
        assert!(!inherits_lints("[package]\n"));
    }
}
