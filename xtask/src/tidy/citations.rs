//! Pages below `docs/` that a file names are there, with the heading that it names; so is each file that the map names.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Result;

use xtask::workspace::Workspace;

use super::Finding;

/// Files that tell how a document was once called.
const HISTORY: [&str; 1] = ["docs/performance-log.md"];

/// The map of the code, of which each path must be there.
const MAP: &str = "ARCHITECTURE.md";

/// Reads every text of the checkout for names of pages.
///
/// # Errors
/// When git cannot list the files.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let mut pages = BTreeMap::new();
    let mut texts = Vec::new();
    for path in workspace.files()? {
        let shown = workspace.shown(&path).to_string();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if shown.starts_with("docs/") && path.extension().is_some_and(|extension| extension == "md") {
            pages.insert(shown.clone(), headings(&text));
        }
        texts.push((shown, text));
    }
    let judged = texts.iter().filter(|(shown, _)| !HISTORY.contains(&shown.as_str()) && !shown.starts_with("xtask"));
    let mut findings: Vec<Finding> = judged.flat_map(|(shown, text)| wrong(shown, text, &pages)).collect();
    let map = texts.iter().find(|(shown, _)| shown == MAP).map(|(_, text)| text.as_str()).unwrap_or_default();
    findings.extend(gone(map, |path| workspace.root.join(path).exists()));
    Ok(findings)
}

/// Files and folders that the map names and the checkout has not.
fn gone(map: &str, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(map.lines()) {
        let names = line.split('`').skip(1).step_by(2).filter(|name| is_path(name) && !exists(name));
        findings.extend(names.map(|name| Finding::error(format!("{MAP}:{number}"), format!("{name} is not there"))));
    }
    findings
}

fn is_path(name: &str) -> bool {
    let is_ours =
        ["crates/", "bins/", "xtask/", "xtask-bench/", "migrations/", "docs/"].iter().any(|top| name.starts_with(top));
    is_ours && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte))
}

fn headings(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.starts_with('#'));
    lines.map(|line| line.trim_start_matches('#').trim().to_owned()).collect()
}

/// What is wrong with the citations of one file: `docs/page.md`, or `docs/page.md`, "Heading".
fn wrong(place: &str, text: &str, pages: &BTreeMap<String, Vec<String>>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for (at, _) in line.match_indices("docs/") {
            let Some((page, rest)) = cited(line.get(at..).unwrap_or_default()) else { continue };
            let Some(known) = pages.get(&page) else {
                findings.push(Finding::error(format!("{place}:{number}"), format!("{page} is not there")));
                continue;
            };
            let heading = rest.trim_start_matches('`').strip_prefix(", \"").and_then(|rest| rest.split_once('"'));
            if let Some((heading, _)) = heading.filter(|(heading, _)| !known.iter().any(|known| known == heading)) {
                let text = format!("{page} has no heading \"{heading}\"");
                findings.push(Finding::error(format!("{place}:{number}"), text));
            }
        }
    }
    findings
}

/// The page a text begins with, and what follows; `None` for a folder, an address or a pattern.
fn cited(text: &str) -> Option<(String, &str)> {
    let end = text.find(".md")? + ".md".len();
    let (page, rest) = text.split_at_checked(end)?;
    let is_name = page.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte));
    is_name.then(|| (page.to_owned(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Vec<String> {
        let pages = BTreeMap::from([("docs/a.md".to_owned(), headings("# A\n\n## One thing\n"))]);
        wrong("x.rs", line, &pages).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn a_citation_names_a_page_and_a_heading_that_are_there() {
        assert_eq!(found("//! `docs/a.md`, \"One thing\"."), Vec::<String>::new());
        assert_eq!(found("see docs/a.md for more"), Vec::<String>::new());
        assert_eq!(found("//! `docs/a.md`, \"Another\"."), ["docs/a.md has no heading \"Another\""]);
        assert_eq!(found("[b](docs/b.md)"), ["docs/b.md is not there"]);
    }

    #[test]
    fn a_file_that_the_map_names_is_there() {
        let map = "see `crates/a/src/lib.rs`, `crates/b/`, `*-http/src` and `Db`";
        let found = gone(map, |path| path == "crates/b/");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].text, "crates/a/src/lib.rs is not there");
    }
}
