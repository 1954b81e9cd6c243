//! Words that comments and pages do not use: a reader of plain technical English stumbles over them.
//!
//! An area that still has some is allowed as many as [`ALLOWED`] says, and the number only goes down.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Result;

use xtask::workspace::Workspace;

use super::Finding;

/// Each word in lower case, with what to write instead.
const BANNED: [(&str, &str); 14] = [
    ("anew", "is archaic: again, or new"),
    ("dear", "is archaic for a price: expensive"),
    ("dearer", "is archaic for a price: more expensive"),
    ("is another", "hides what changed: has changed, differs"),
    ("kept", "does not say where or how: stored, cached, retained"),
    ("meanwhile", "does not order events: concurrently, in the meantime"),
    ("nobody", "hides the actor: no caller, no client, no node"),
    ("of its own", "is ambiguous: separate, dedicated"),
    ("somebody", "hides the actor: a caller, a client, a user"),
    ("spelling", "is about letters: format, form"),
    ("tells", "hides the call: returns, reports, logs"),
    ("told", "hides the call: notified, reported, logged, written"),
    ("whoever", "hides the actor: the caller, the reader, a client that"),
    ("wish", "is no term: request, parameters"),
];

/// How many of the words an area may still have; what is not listed here may have none. Lower a number when it is
/// more than [`SLACK`] too high; never raise one.
const ALLOWED: &[(&str, usize)] = &[
    ("bins/auth-server", 25),
    ("bins/chat-server", 61),
    ("crates/auth-http", 57),
    ("crates/auth-storage", 215),
    ("crates/chat-core", 222),
    ("crates/chat-http", 114),
    ("crates/chat-storage", 142),
    ("crates/oauth-core", 158),
    ("docs/performance-log.md", 76),
    ("xtask", 22),
    ("xtask-bench", 40),
];
/// By how much a number may be too high, so that each removed word need not be counted at once.
const SLACK: usize = 25;

/// Counts the words of every area.
///
/// # Errors
/// When git cannot list the files.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let mut found: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
    for path in workspace.files()? {
        let shown = workspace.shown(&path).to_string();
        let is_page = path.extension().is_some_and(|extension| extension == "md");
        let is_code = path.extension().is_some_and(|extension| extension == "rs");
        // The rule itself names the words.
        if !(is_page || is_code) || shown.ends_with("tidy/language.rs") {
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let lines = (1..).zip(text.lines()).filter_map(|(number, line)| Some((number, prose(line, is_page)?)));
        let places = found.entry(area(&shown)).or_default();
        for (number, line) in lines {
            let name = |(word, why)| Finding::error(format!("{shown}:{number}"), format!("\"{word}\" {why}"));
            places.extend(words(&line).map(name));
        }
    }
    Ok(judged(found, ALLOWED))
}

/// The crate or program a file belongs to; a page is an area by itself.
fn area(shown: &str) -> String {
    let parts: Vec<&str> = shown.split('/').collect();
    match parts.as_slice() {
        [top @ ("crates" | "bins" | "examples"), name, _, ..] => format!("{top}/{name}"),
        [top @ ("xtask" | "xtask-bench" | "fuzz" | "fixtures"), ..] => (*top).to_owned(),
        _ => shown.to_owned(),
    }
}

/// What of a line is prose, without code in backticks; `None` for a line of code.
fn prose(line: &str, is_page: bool) -> Option<String> {
    let text = if is_page { line } else { line.trim_start().strip_prefix("//")? };
    Some(text.split('`').step_by(2).collect::<Vec<_>>().join("`").to_lowercase())
}

/// The banned words of a text in lower case.
fn words(text: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    BANNED.iter().copied().flat_map(move |(word, why)| {
        let count = text.match_indices(word).filter(|(at, _)| is_whole(text, *at, word.len())).count();
        std::iter::repeat_n((word, why), count)
    })
}

fn is_whole(text: &str, at: usize, length: usize) -> bool {
    let is_part = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    let after = text.get(at + length..).and_then(|after| after.chars().next());
    !is_part(before) && !is_part(after)
}

fn judged(found: BTreeMap<String, Vec<Finding>>, allowed: &[(&str, usize)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (area, places) in found {
        let most = allowed.iter().find(|(name, _)| *name == area).map_or(0, |(_, most)| *most);
        let count = places.len();
        if count > most {
            let text = format!("has {count} words of the list in xtask/src/tidy/language.rs, {most} are allowed");
            findings.extend(places.into_iter().take(if most == 0 { 10 } else { 0 }));
            findings.push(Finding::error(area, text));
        } else if most > count + SLACK {
            let text = format!("is allowed {most} words and has {count}: lower the number in tidy/language.rs");
            findings.push(Finding::error(area, text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Vec<&'static str> {
        prose(line, false).map(|text| words(&text).map(|(word, _)| word).collect()).unwrap_or_default()
    }

    #[test]
    fn a_word_of_a_comment_is_found_and_one_of_code_is_not() {
        assert_eq!(found("    /// Whoever asks is told."), ["told", "whoever"]);
        assert_eq!(found("let told = 1;"), Vec::<&str>::new());
        assert_eq!(found("// the module `told` untold nobody's"), ["nobody"]);
    }

    #[test]
    fn an_area_may_have_as_many_as_it_is_allowed_and_no_slack_beyond() {
        let places = |count: usize| {
            let places = vec![Finding::error("x", "y"); count];
            BTreeMap::from([("crates/a".to_owned(), places)])
        };
        assert_eq!(judged(places(30), &[("crates/a", 30)]), []);
        assert_eq!(judged(places(31), &[("crates/a", 30)]).len(), 1);
        assert_eq!(judged(places(4), &[("crates/a", 30)]).len(), 1);
        assert_eq!(judged(places(1), &[]).len(), 2, "the place and the sum");
    }

    #[test]
    fn an_area_is_a_crate_or_a_page() {
        assert_eq!(area("crates/a/src/b.rs"), "crates/a");
        assert_eq!(area("docs/a.md"), "docs/a.md");
        assert_eq!(area("README.md"), "README.md");
    }
}
