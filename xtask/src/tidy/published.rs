//! Library crates: what a stranger who finds one on a registry needs, and why one is not there.

use std::fs;

use anyhow::{Context, Result};

use xtask::workspace::Workspace;

use super::Finding;

/// What a manifest of a library has, each at the beginning of a line.
const FIELDS: [&str; 5] =
    ["description = ", "keywords = ", "categories = ", "readme = \"README.md\"", "[package.metadata.docs.rs]"];
/// How a library makes tests of the examples in its README.
const EXAMPLES: &str = "include_str!(\"../README.md\")";

/// Reads manifest, README and root of every library below `crates/`.
///
/// # Errors
/// When a manifest cannot be read.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let crates = workspace.root.join("crates");
    for package in workspace.packages.iter().filter(|package| package.manifest.starts_with(&crates)) {
        let manifest = &package.manifest;
        let folder = manifest.parent().unwrap_or(&crates);
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let text = fs::read_to_string(manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
        let place = workspace.shown(manifest).to_string();
        findings.extend(wrong(&text, &read("README.md"), &read("src/lib.rs")).map(|text| Finding::error(&place, text)));
    }
    let root = fs::read_to_string(workspace.root.join("Cargo.toml")).context("cannot read Cargo.toml")?;
    findings.extend(unversioned(&root).map(|text| Finding::error("Cargo.toml", text)));
    Ok(findings)
}

/// The packages that are published, by name.
///
/// # Errors
/// When a manifest cannot be read.
pub(crate) fn names(workspace: &Workspace) -> Result<Vec<&str>> {
    let mut names = Vec::new();
    for package in &workspace.packages {
        let manifest = &package.manifest;
        let text = fs::read_to_string(manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
        if text.lines().any(|line| line == "publish = true") {
            names.push(package.name.as_str());
        }
    }
    Ok(names)
}

fn wrong(manifest: &str, readme: &str, root: &str) -> impl Iterator<Item = String> {
    let lacks = |field: &&str| !manifest.lines().any(|line| line.starts_with(field));
    let fields: Vec<String> = FIELDS.into_iter().filter(lacks).map(|field| format!("lacks {field}")).collect();
    let publish = manifest.lines().find_map(|line| line.strip_prefix("publish = "));
    let reason =
        match publish.map(|value| value.split_once('#').map_or((value, ""), |(value, why)| (value, why.trim()))) {
            Some((value, "")) if value.trim() == "false" => Some("is not published and does not say why on that line"),
            Some(_) => None,
            None => Some("does not say whether it is published"),
        };
    let example = (!readme.contains("```rust")).then_some("has no README.md with an example in ```rust");
    let tested = (!root.contains(EXAMPLES)).then_some("does not test the examples of its README.md (src/lib.rs)");
    let others = [reason, example, tested].into_iter().flatten().map(str::to_owned);
    fields.into_iter().chain(others)
}

/// Our own dependencies without a version, which a registry refuses.
fn unversioned(root: &str) -> impl Iterator<Item = String> {
    let ours = root.lines().filter(|line| line.contains("path = \"crates/") && !line.contains("version = "));
    ours.map(|line| format!("lacks a version: {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[package]\ndescription = \"a\"\nkeywords = [\"a\"]\ncategories = [\"a\"]\nreadme = \"README.md\"\n\
                        publish = true\n\n[package.metadata.docs.rs]\nall-features = true\n";

    fn found(manifest: &str) -> Vec<String> {
        wrong(manifest, "```rust\n```", "#[doc = include_str!(\"../README.md\")]").collect()
    }

    #[test]
    fn a_library_has_all_that_a_registry_shows() {
        assert_eq!(found(GOOD), Vec::<String>::new());
        assert_eq!(found(&GOOD.replace("keywords", "words")), ["lacks keywords = "]);
        assert_eq!(wrong(GOOD, "", "").count(), 2, "the example and its test");
    }

    #[test]
    fn a_library_that_is_not_published_says_why() {
        let unpublished = |line: &str| found(&GOOD.replace("publish = true", line));
        assert_eq!(unpublished("publish = false # the name is taken"), Vec::<String>::new());
        assert_eq!(unpublished("publish = false").len(), 1);
        assert_eq!(unpublished("publish.workspace = true").len(), 1);
    }

    #[test]
    fn an_edge_of_ours_has_a_version() {
        assert_eq!(unversioned("a = { path = \"crates/a\", version = \"0.1.0\" }\n").count(), 0);
        assert_eq!(unversioned("a = { path = \"crates/a\" }\n").count(), 1);
    }
}
