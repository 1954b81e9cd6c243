//! `docs/operations.md`: each metric and each message of level WARN and ERROR stands there, and nothing else does.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use xtask::workspace::Workspace;

use super::Finding;

const PAGE: &str = "docs/operations.md";
/// The macros that name a metric first.
const METRICS: [&str; 3] = ["counter!(", "gauge!(", "histogram!("];
/// The macros whose last text is a message.
const MESSAGES: [&str; 2] = ["warn!(", "error!("];
/// The name of each section of the page, and what its tables list in their first column.
const SECTIONS: [(&str, &str); 2] = [("## Metrics", "metric"), ("## Log lines", "message")];

/// Compares the page with the product code.
///
/// # Errors
/// When a file cannot be read.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let page = fs::read_to_string(workspace.root.join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    let (mut metrics, mut messages) = (BTreeSet::new(), BTreeSet::new());
    for path in workspace.files()? {
        let shown = workspace.shown(&path).to_string();
        if !is_product(&shown) {
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        metrics.extend(calls(code, &METRICS).filter_map(|call| texts(call).into_iter().next()));
        messages.extend(calls(code, &MESSAGES).filter_map(|call| texts(call).pop()).filter(|text| has_words(text)));
    }
    let [(metrics_heading, metric), (messages_heading, message)] = SECTIONS;
    let mut findings = differences(metric, &metrics, &listed(&page, metrics_heading));
    findings.extend(differences(message, &messages, &listed(&page, messages_heading)));
    Ok(findings)
}

/// Whether a file of that path is part of a crate or a program, and not of its tests.
fn is_product(shown: &str) -> bool {
    let path = Path::new(shown);
    let is_rust = path.extension().is_some_and(|extension| extension == "rs");
    let in_source = path.components().nth(2).is_some_and(|part| part.as_os_str() == "src");
    let is_ours = shown.starts_with("crates/") || shown.starts_with("bins/");
    is_rust && in_source && is_ours && !shown.ends_with("tests.rs") && !shown.contains("/tests/")
}

/// What is between the parentheses of each call of one of these macros.
fn calls<'t>(code: &'t str, names: &'t [&'t str]) -> impl Iterator<Item = &'t str> {
    names.iter().flat_map(move |name| {
        code.match_indices(name).filter_map(move |(at, found)| {
            let before = code.get(..at)?.chars().next_back();
            let is_longer_name = before.is_some_and(|before| before.is_alphanumeric() || before == '_');
            let rest = code.get(at + found.len()..)?;
            (!is_longer_name).then(|| rest.get(..end_of_call(rest)))?
        })
    })
}

/// Where the parenthesis closes that was open before `rest`.
fn end_of_call(rest: &str) -> usize {
    let (mut depth, mut is_text, mut is_escaped) = (1, false, false);
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'(' if !is_text => depth += 1,
            b')' if !is_text => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// The texts in quotes of a call, with `…` for each placeholder and without the breaks of long lines.
fn texts(call: &str) -> Vec<String> {
    let (mut texts, mut rest) = (Vec::new(), call);
    while let Some((_, begun)) = rest.split_once('"') {
        let mut is_escaped = false;
        let end = begun.find(|character| {
            let is_end = character == '"' && !is_escaped;
            is_escaped = character == '\\' && !is_escaped;
            is_end
        });
        let Some(end) = end else { break };
        texts.push(plain(begun.get(..end).unwrap_or_default()));
        rest = begun.get(end + 1..).unwrap_or_default();
    }
    texts
}

fn plain(literal: &str) -> String {
    let joined: Vec<&str> =
        literal.split("\\\n").enumerate().map(|(n, part)| if n == 0 { part } else { part.trim_start() }).collect();
    let mut text = String::new();
    for (n, part) in joined.concat().split('{').enumerate() {
        match part.split_once('}') {
            Some((_, after)) if n > 0 => text.extend(["…", after]),
            _ => text.push_str(part),
        }
    }
    text.replace("\\\"", "\"")
}

/// A message that is made of placeholders alone is not listed.
fn has_words(text: &str) -> bool {
    text.chars().any(char::is_alphabetic)
}

/// The first column of the tables below a heading, up to the next heading of its level.
fn listed(page: &str, heading: &str) -> BTreeSet<String> {
    page.lines()
        .skip_while(|line| *line != heading)
        .skip(1)
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"))
        .map(|(first, _)| first.to_owned())
        .collect()
}

fn differences(what: &str, code: &BTreeSet<String>, page: &BTreeSet<String>) -> Vec<Finding> {
    let missing = code.difference(page).map(|name| format!("lacks the {what} `{name}`, which the code has"));
    let stale = page.difference(code).map(|name| format!("lists the {what} `{name}`, which the code has not"));
    missing.chain(stale).map(|text| Finding::error(PAGE, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(code: &str) -> Vec<String> {
        calls(code, &MESSAGES).filter_map(|call| texts(call).pop()).collect()
    }

    #[test]
    fn a_message_is_the_last_text_of_its_call() {
        assert_eq!(messages(r#"tracing::warn!(error = format!("{error:#}"), "not sent");"#), ["not sent"]);
        assert_eq!(messages(r#"error!("stopping: {}", reason(&error))"#), ["stopping: …"]);
        assert_eq!(messages("warn!(\n    \"one, \\\n     two\"\n)"), ["one, two"]);
        assert_eq!(messages(r#"compile_error!("no")"#), Vec::<String>::new());
    }

    #[test]
    fn a_metric_is_the_first_text_of_its_call() {
        let code = r#"counter!("a_total", "cause" => "b").increment(1)"#;
        let names: Vec<_> = calls(code, &METRICS).filter_map(|call| texts(call).into_iter().next()).collect();
        assert_eq!(names, ["a_total"]);
    }

    #[test]
    fn a_page_is_read_by_section() {
        let page =
            "## Metrics\n| Metric | Unit |\n|---|---|\n| `a_total` | one |\n## Log lines\n| `b `c` d` | WARN |\n";
        assert_eq!(listed(page, "## Metrics"), BTreeSet::from(["a_total".to_owned()]));
        assert_eq!(listed(page, "## Log lines"), BTreeSet::from(["b `c` d".to_owned()]));
    }

    #[test]
    fn what_only_one_side_has_is_named() {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
        let found = differences("metric", &set(&["new", "both"]), &set(&["both", "old"]));
        let texts: Vec<&str> = found.iter().map(|finding| finding.text.as_str()).collect();
        assert_eq!(
            texts,
            ["lacks the metric `new`, which the code has", "lists the metric `old`, which the code has not"]
        );
    }

    #[test]
    fn tests_are_no_product() {
        assert!(is_product("crates/a/src/b.rs"));
        assert!(!is_product("crates/a/tests/it/main.rs"));
        assert!(!is_product("bins/a/src/config/tests.rs"));
        assert!(!is_product("xtask/src/main.rs"));
    }
}
