//! Tuples in signatures: a struct says by its field names what a tuple says by positions.
//!
//! A method of a public trait may have none, any other function one. A crate that still has more is allowed as many
//! functions as [`ALLOWED`] says, and the number only goes down.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Result;

use xtask::workspace::Workspace;

use super::Finding;

/// How many functions of a crate may still have too many tuples; a crate that is not listed here may have none. Lower a
/// number when it is too high; never raise one.
const ALLOWED: &[(&str, usize)] = &[
    ("bins/chat-server", 1),
    ("crates/auth-storage", 9),
    ("crates/chat-core", 33),
    ("crates/chat-http", 9),
    ("crates/chat-storage", 11),
    ("crates/fhir-search", 5),
    ("crates/fhir-service", 15),
    ("crates/fhir-validation", 1),
    ("crates/oauth-core", 7),
    ("crates/payer-exchange", 4),
    ("crates/server-kit", 1),
];

/// Reads the signatures of every crate and program, those of tests not counted.
///
/// # Errors
/// When git cannot list the files.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let mut found: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
    for path in workspace.files()? {
        let shown = workspace.shown(&path).to_string();
        let parts: Vec<&str> = shown.split('/').collect();
        let [top @ ("crates" | "bins"), name, "src", inner @ ..] = parts.as_slice() else { continue };
        let is_test = inner.iter().any(|part| matches!(*part, "tests" | "tests.rs"));
        if is_test || path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let places = found.entry(format!("{top}/{name}")).or_default();
        let finding = |(function, text): (String, &str)| Finding::error(format!("{shown}: {function}"), text);
        places.extend(functions_with_tuples(&code_of(&text)).into_iter().map(finding));
    }
    Ok(judge(found, ALLOWED))
}

/// The text without comments and without the unit tests that end it.
fn code_of(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The functions whose signatures have more tuples than they may, by name, with what is wrong.
fn functions_with_tuples(code: &str) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    let mut is_public_trait = false;
    let mut rest = code;
    while let Some(at) = rest.find("fn ") {
        let (before, from) = rest.split_at(at);
        // An item begins and ends at the beginning of a line.
        is_public_trait = before.lines().fold(is_public_trait, |inside, line| match line {
            line if line.starts_with("pub trait ") => true,
            line if line.starts_with('}') => false,
            _ => inside,
        });
        let is_word = !before.ends_with(|before: char| before.is_alphanumeric() || before == '_');
        let signature = from.get(3..).unwrap_or_default();
        rest = signature;
        if !is_word {
            continue;
        }
        let name: String = signature.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        match (tuples(signature), is_public_trait) {
            (1.., true) => found.push((name, "a method of a public trait has a tuple: make it a struct")),
            (2.., false) => found.push((name, "the signature has several tuples: make them structs")),
            _ => {}
        }
    }
    found
}

/// An open bracket of a signature.
struct Bracket {
    is_of_type: bool,
    has_comma: bool,
    /// How many tuples came before it.
    count: usize,
}

/// Counts the tuples among the types of a signature, which begins with the name of the function.
fn tuples(signature: &str) -> usize {
    let mut count = 0;
    let mut open: Vec<Bracket> = Vec::new();
    for (at, character) in signature.char_indices() {
        let (before, after) = signature.split_at(at);
        match character {
            '{' | ';' if open.is_empty() => break,
            '(' => open.push(Bracket { is_of_type: begins_type(before), has_comma: false, count }),
            '[' | '<' => open.push(Bracket { is_of_type: false, has_comma: false, count }),
            ',' => open.iter_mut().rev().take(1).for_each(|bracket| bracket.has_comma = true),
            '>' if before.ends_with(['-', '=']) => {}
            ')' | ']' | '>' => match open.pop() {
                // What a parameter is taken apart into is no type.
                Some(bracket) if after.starts_with("):") && !after.starts_with(")::") => count = bracket.count,
                Some(bracket) => count += usize::from(bracket.is_of_type && bracket.has_comma),
                None => {}
            },
            _ => {}
        }
    }
    count
}

/// Whether a bracket after this text begins a type: not the parameters of a function, a closure or a trait like `Fn`.
fn begins_type(before: &str) -> bool {
    let before = before.trim_end();
    let word = before.rsplit(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\'')).next().unwrap_or_default();
    let is_generic_list = before.ends_with('>') && !before.ends_with("->");
    !is_generic_list && (word.is_empty() || word == "mut" || word.starts_with('\''))
}

fn judge(found: BTreeMap<String, Vec<Finding>>, allowed: &[(&str, usize)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (area, places) in found {
        let most = allowed.iter().find(|(name, _)| *name == area).map_or(0, |(_, most)| *most);
        match places.len() {
            count if count > most => {
                let text = format!("has {count} functions with tuples in signatures, {most} are allowed");
                findings.extend(places);
                findings.push(Finding::error(area, text));
            }
            count if count < most => {
                let text = format!("is allowed {most} functions with tuples and has {count}: lower the number");
                findings.push(Finding::error(area, text));
            }
            _ => {}
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: &str) -> Vec<String> {
        functions_with_tuples(&code_of(code)).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn a_function_may_have_one_tuple_and_no_second() {
        assert_eq!(found("fn one((a, b): (&str, &[u8; 2])) -> u8 {"), Vec::<String>::new());
        assert_eq!(found("fn one(A((a, b)): A<(u8, u8)>) -> u8 {"), Vec::<String>::new());
        assert_eq!(found("fn two(a: (u8, u8)) -> (u8, u8) {"), ["two"]);
        assert_eq!(found("fn two<'a>(\n    a: &'a (u8, u8),\n    b: &mut (u8, u8),\n) {"), ["two"]);
        assert_eq!(found("fn nested() -> Option<(u8, Vec<(u8, u8)>)> {"), ["nested"]);
    }

    #[test]
    fn a_method_of_a_public_trait_may_have_none() {
        let code = "pub trait A {\n    fn one(&self) -> (u8, u8);\n    fn none(&self);\n}\nfn one() -> (u8, u8) {";
        assert_eq!(found(code), ["one"]);
        assert_eq!(found("trait A {\n    fn one(&self) -> (u8, u8);\n}"), Vec::<String>::new());
    }

    #[test]
    fn parameters_of_closures_units_and_groups_are_no_tuples() {
        let code = "fn none(a: impl Fn(u8, u8) -> u8, b: fn(u8, u8), c: &(dyn Fn() + Send), d: ()) -> Result<(), u8> {";
        assert_eq!(found(code), Vec::<String>::new());
        assert_eq!(found("// fn two(a: (u8, u8)) -> (u8, u8) {"), Vec::<String>::new());
        assert_eq!(found("#[cfg(test)]\nmod tests {\nfn two(a: (u8, u8)) -> (u8, u8) {"), Vec::<String>::new());
    }

    #[test]
    fn a_crate_has_as_many_as_it_is_allowed() {
        let places = |count: usize| BTreeMap::from([("a".to_owned(), vec![Finding::error("x", "y"); count])]);
        assert_eq!(judge(places(2), &[("a", 2)]), []);
        assert_eq!(judge(places(1), &[("a", 2)]).len(), 1, "the number is lowered with each that goes");
        assert_eq!(judge(places(1), &[]).len(), 2, "the place and the sum");
    }
}
