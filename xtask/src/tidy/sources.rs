//! Text of the checkout: lengths, crate docs, words that must not reach a commit.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use xtask::workspace::Workspace;

use super::Finding;

/// Most lines of a Rust file, its unit tests not counted. There is no lower bound from which a file is only listed:
/// what was listed stayed as it was, because a long table reads well, and the length of functions is clippy's.
const TOO_LONG: usize = 600;

/// Text that is refused in every file. Written in two parts, this file being one of them.
const FORBIDDEN: &[(&str, &str)] = &[
    (concat!("to", "do!"), "unfinished code"),
    (concat!("un", "implemented!"), "unfinished code"),
    (concat!("db", "g!("), "left over from debugging"),
    (concat!("/ro", "ot/"), "a path of one machine"),
    (concat!("/wo", "rk/"), "a path of one machine"),
];

/// Reads every text file a commit can contain.
///
/// # Errors
/// When git cannot list the files, or one cannot be read.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in workspace.files()? {
        let Some(text) = read(&path)? else {
            continue;
        };
        let place = workspace.shown(&path).to_string();
        findings.extend(forbidden(&place, &text));
        if path.extension().is_some_and(|extension| extension == "rs") {
            findings.extend(trailing_space(&place, &text));
            findings.extend(length(&place, &text));
        }
    }
    for root in workspace.packages.iter().flat_map(|package| &package.roots) {
        findings.extend(crate_docs(workspace, root)?);
    }
    Ok(findings)
}

/// `None` for what is not text (images, archives) and for a file an editor is replacing just now.
fn read(path: &Path) -> Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn forbidden(place: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for (word, why) in FORBIDDEN.iter().filter(|(word, _)| line.contains(word)) {
            findings.push(Finding::error(format!("{place}:{number}"), format!("{word} is {why}")));
        }
    }
    findings
}

fn trailing_space(place: &str, text: &str) -> Option<Finding> {
    let number = text.lines().position(|line| line.ends_with([' ', '\t']))? + 1;
    Some(Finding::error(format!("{place}:{number}"), "trailing whitespace"))
}

fn length(place: &str, text: &str) -> Option<Finding> {
    let lines = lines_without_tests(text);
    (lines > TOO_LONG).then(|| Finding::error(place, format!("{lines} lines, {TOO_LONG} at most: split it")))
}

/// Lines above the unit tests that end a file.
fn lines_without_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    lines
        .windows(2)
        .position(|pair| matches!(pair, ["#[cfg(test)]", module] if module.starts_with("mod tests {")))
        .unwrap_or(lines.len())
}

fn crate_docs(workspace: &Workspace, root: &PathBuf) -> Result<Option<Finding>> {
    let text = fs::read_to_string(root).with_context(|| format!("cannot read {}", root.display()))?;
    Ok(lacks_crate_docs(&text).then(|| {
        let place = workspace.shown(Path::new(root)).to_string();
        Finding::error(place, "begins without crate docs (//!)")
    }))
}

fn lacks_crate_docs(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty());
    let doc = first.and_then(|line| line.strip_prefix("//!"));
    doc.is_none_or(|doc| doc.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_code_is_found_with_its_line() {
        let text = format!("fn a() {{\n    {}()\n}}\n", FORBIDDEN[0].0);
        let found = forbidden("a.rs", &text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place, "a.rs:2");
        assert!(forbidden("a.rs", "fn a() {}\n").is_empty());
    }

    #[test]
    fn trailing_whitespace_is_found_with_its_line() {
        assert_eq!(trailing_space("a.rs", "a\nb \n").unwrap().place, "a.rs:2");
        assert!(trailing_space("a.rs", "a\nb\n").is_none());
    }

    #[test]
    fn unit_tests_at_the_end_do_not_count_as_lines() {
        let text = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
        assert_eq!(lines_without_tests(text), 2);
    }

    #[test]
    fn a_test_module_in_another_file_ends_nothing() {
        assert_eq!(lines_without_tests("#[cfg(test)]\nmod tests;\nfn a() {}\n"), 3);
    }

    #[test]
    fn a_file_is_as_long_as_it_may_be_or_refused_and_nothing_between() {
        assert_eq!(length("a.rs", &"x\n".repeat(600)), None);
        let found = length("a.rs", &"x\n".repeat(601)).unwrap();
        assert_eq!(found.text, "601 lines, 600 at most: split it");
    }

    #[test]
    fn an_empty_crate_doc_is_no_crate_doc() {
        assert!(!lacks_crate_docs("//! What it owns.\n"));
        assert!(!lacks_crate_docs("\n//! What it owns.\n"));
        assert!(lacks_crate_docs("//!\nfn a() {}\n"));
        assert!(lacks_crate_docs("fn a() {}\n"));
        assert!(lacks_crate_docs(""));
    }
}
