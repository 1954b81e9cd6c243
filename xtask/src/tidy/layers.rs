//! The folders of a crate are layers: no two of them use each other, directly or through others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use xtask::workspace::Workspace;

use super::Finding;

/// Crates whose modules still form circles. A crate leaves the list when it has none; none is added.
const CIRCULAR: [&str; 5] = ["auth-storage", "chat-http", "chat-storage", "fhir-store", "oauth-core"];

/// Which top-level modules of a crate each of them uses, tests left out.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// Reads the sources of every crate.
///
/// # Errors
/// When git cannot list the files, or one cannot be read.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let files = workspace.files()?;
    let mut findings = Vec::new();
    for package in &workspace.packages {
        let Some(folder) = package.manifest.parent().map(|folder| folder.join("src")) else { continue };
        let mut sources = Vec::new();
        for path in files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
            let Ok(inside) = path.strip_prefix(&folder) else { continue };
            let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            sources.push((inside.to_owned(), text));
        }
        findings.extend(judge(&package.name, circle(&uses(&sources)).as_deref()));
    }
    Ok(findings)
}

fn judge(name: &str, circle: Option<&[String]>) -> Option<Finding> {
    match circle {
        Some(circle) if !CIRCULAR.contains(&name) => {
            let text = format!("its modules form a circle: {}; move what the lower one needs down", circle.join(" → "));
            Some(Finding::error(name, text))
        }
        None if CIRCULAR.contains(&name) => {
            Some(Finding::error(name, "has no circle any more: strike it off the list in xtask/src/tidy/layers.rs"))
        }
        _ => None,
    }
}

fn uses(sources: &[(impl AsRef<Path>, String)]) -> Uses {
    let modules: Vec<(String, &str)> =
        sources.iter().filter_map(|(path, text)| Some((module(path.as_ref())?, text.as_str()))).collect();
    let mut uses: Uses = modules.iter().map(|(name, _)| (name.clone(), BTreeSet::new())).collect();
    let names: BTreeSet<String> = uses.keys().cloned().collect();
    for (name, text) in modules {
        let others = named_in(text).into_iter().filter(|other| *other != name && names.contains(other));
        uses.entry(name.clone()).or_default().extend(others);
    }
    uses
}

/// Returns the top-level module of a file below `src`; `None` for the root of the crate, for programs and for tests.
fn module(path: &Path) -> Option<String> {
    let mut parts = path.iter().map(|part| part.to_string_lossy().trim_end_matches(".rs").to_owned());
    let first = parts.next()?;
    let is_test = |part: &str| matches!(part, "tests" | "testing");
    let is_left_out =
        matches!(first.as_str(), "lib" | "main" | "bin") || is_test(&first) || parts.any(|part| is_test(&part));
    (!is_left_out).then_some(first)
}

/// Returns the names that follow `crate::` in the code above a file's unit tests.
fn named_in(text: &str) -> BTreeSet<String> {
    let mut is_of_tests = false;
    let lines = text.lines().take_while(|line| {
        let ends = is_of_tests && line.starts_with("mod tests {");
        is_of_tests = *line == "#[cfg(test)]";
        !ends
    });
    let code: Vec<&str> = lines.map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let starts = code.match_indices("crate::").map(|(at, word)| code.get(at + word.len()..).unwrap_or_default());
    starts.flat_map(|rest| rest.strip_prefix('{').map_or_else(|| vec![word(rest)], first_words)).collect()
}

fn word(text: &str) -> String {
    text.chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect()
}

/// Returns the first name of each path in a group of imports, which is open already.
fn first_words(group: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let mut words = vec![word(group.trim_start())];
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => words.push(word(group.get(at + 1..).unwrap_or_default().trim_start())),
            _ => {}
        }
    }
    words
}

/// Returns a circle, if there is one: its modules in their order, the first once more at the end.
fn circle(uses: &Uses) -> Option<Vec<String>> {
    let mut done = BTreeSet::new();
    uses.keys().find_map(|start| circle_from(start, uses, &mut Vec::new(), &mut done))
}

fn circle_from(at: &str, uses: &Uses, above: &mut Vec<String>, done: &mut BTreeSet<String>) -> Option<Vec<String>> {
    if let Some(place) = above.iter().position(|module| module == at) {
        let mut circle = above.split_off(place);
        circle.push(at.to_owned());
        return Some(circle);
    }
    if done.contains(at) {
        return None;
    }
    above.push(at.to_owned());
    let found = uses.get(at)?.iter().find_map(|used| circle_from(used, uses, above, done));
    if found.is_none() {
        above.pop();
        done.insert(at.to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sources: &[(&str, &str)]) -> Option<Vec<String>> {
        let sources: Vec<(&str, String)> = sources.iter().map(|(path, text)| (*path, (*text).to_owned())).collect();
        circle(&uses(&sources))
    }

    #[test]
    fn folders_that_use_each_other_through_a_third_are_a_circle() {
        let sources = [
            ("low/a.rs", "use crate::middle::{B, C};"),
            ("middle.rs", "fn b() {\n    crate::high::c()\n}"),
            ("high/mod.rs", "use crate::{\n    low::a::{D, E}, \n    middle::F, \n};"),
        ];
        assert_eq!(found(&sources), Some(["high", "low", "middle", "high"].map(str::to_owned).to_vec()));
        assert_eq!(found(&sources[..2]), None);
    }

    #[test]
    fn tests_comments_and_the_root_of_the_crate_use_what_they_like() {
        let sources = [
            ("lib.rs", "pub use crate::low::A;"),
            (
                "low.rs",
                "/// As [`crate::high::B`].\nfn a() {}\n\n#[cfg(test)]\nmod tests {\n    use crate::high::B;\n}",
            ),
            ("low/tests.rs", "use crate::high::B;"),
            ("high.rs", "use crate::low::A;"),
        ];
        assert_eq!(found(&sources), None);
    }

    #[test]
    fn a_crate_without_a_circle_leaves_the_list_of_those_that_have_one() {
        let circle = ["a", "b", "a"].map(str::to_owned);
        assert!(judge("chat-core", Some(&circle)).is_some_and(|finding| finding.text.contains("a → b → a")));
        assert_eq!(judge("chat-core", None), None);
        assert_eq!(judge("oauth-core", Some(&circle)), None);
        assert!(judge("oauth-core", None).is_some());
    }
}
