//! `cargo xtask tidy`: the rules of this workspace that no compiler checks.
//!
//! One module per rule. A rule is a pure function from what it reads to findings, so that each has unit
//! tests that show it refusing; reading the disk happens here and in the rules about files. Every finding is an error:
//! a warning that requires no action is not read.

mod checklist;
mod citations;
mod edges;
mod language;
mod layers;
mod links;
mod manifests;
mod operations;
mod published;
mod schema;
mod signatures;
mod sources;

use anyhow::{Result, bail};

pub(crate) use published::names as published;

use xtask::workspace::Workspace;

/// What a rule says about one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// A file, a crate, or the name of a table.
    place: String,
    /// What is wrong and what is wanted.
    text: String,
}

impl Finding {
    fn error(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { place: place.into(), text: text.into() }
    }
}

/// Applies every rule and prints what they find.
///
/// # Errors
/// When a file cannot be read, or there is a finding.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut findings = edges::check(&workspace.packages);
    findings.extend(manifests::check(workspace)?);
    findings.extend(sources::check(workspace)?);
    findings.extend(citations::check(workspace)?);
    findings.extend(language::check(workspace)?);
    findings.extend(layers::check(workspace)?);
    findings.extend(links::check(workspace)?);
    findings.extend(signatures::check(workspace)?);
    findings.extend(published::check(workspace)?);
    findings.extend(operations::check(workspace)?);
    findings.extend(checklist::check(&workspace.root)?);
    findings.extend(schema::check(&workspace.root.join("migrations"))?);

    for finding in &findings {
        eprintln!("tidy error: {}: {}", finding.place, finding.text);
    }
    if !findings.is_empty() {
        bail!("tidy: {} errors", findings.len());
    }
    println!("tidy: {} crates, no errors", workspace.packages.len());
    Ok(())
}
