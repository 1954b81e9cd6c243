//! What belongs to a slice.

use serde_json::Value;

use super::{Rule, contains};
use crate::definitions;

/// What has to hold of a value that belongs to a slice.
#[derive(Debug)]
pub(super) enum Test {
    /// Some value at the path is exactly this.
    Fixed(Vec<String>, Value),
    /// Some value at the path has all of this.
    Pattern(Vec<String>, Value),
    /// It is of one of these types, as the names of members spell them.
    Types(Vec<String>),
}

impl Test {
    /// Returns whether it holds of a value, which is a choice of the type `kind` where it is a choice.
    pub(super) fn holds(&self, kind: &str, value: &Value) -> bool {
        match self {
            Self::Fixed(path, wanted) => any(value, path, &|found| found == wanted),
            Self::Pattern(path, wanted) => any(value, path, &|found| contains(found, wanted)),
            Self::Types(types) => types.iter().any(|of| of == kind),
        }
    }
}

/// Returns whether something holds of any value at a path; lists on the way are entered.
fn any(value: &Value, path: &[String], holds: &dyn Fn(&Value) -> bool) -> bool {
    match (value, path.split_first()) {
        (Value::Array(items), _) => items.iter().any(|item| any(item, path, holds)),
        (_, None) => holds(value),
        (_, Some((name, rest))) => value.get(name).is_some_and(|inner| any(inner, rest, holds)),
    }
}

/// Returns what tells a slice from the others: one test for each discriminator of its owner; `None` when one cannot be
/// told.
pub(super) fn tests(rules: &[Rule], owner: &Rule, slice: usize) -> Option<Vec<Test>> {
    let slice = rules.get(slice)?;
    if owner.discriminators.is_empty() {
        return None;
    }
    owner.discriminators.iter().map(|(kind, path)| test(rules, slice, (kind, path))).collect()
}

fn test(rules: &[Rule], slice: &Rule, (kind, path): (&str, &str)) -> Option<Test> {
    match (kind, path) {
        ("type", "$this") if slice.is_choice => {
            Some(Test::Types(slice.types.iter().map(|kind| definitions::choice("", kind)).collect()))
        }
        ("value" | "pattern", _) => {
            let path = if path == "$this" { Vec::new() } else { path.split('.').map(str::to_owned).collect() };
            let decisive = path.iter().try_fold(slice, |rule, name| inner(rules, rule, name));
            match decisive.map(|rule| (&rule.fixed, &rule.pattern)) {
                Some((Some(fixed), _)) => Some(Test::Fixed(path, fixed.clone())),
                Some((None, Some(pattern))) => Some(Test::Pattern(path, pattern.clone())),
                // The definition of an extension says its url, and the profile names the definition.
                _ if path == ["url"] => Some(Test::Fixed(path, slice.extension.clone()?.into())),
                _ => None,
            }
        }
        _ => None,
    }
}

fn inner<'r>(rules: &'r [Rule], of: &Rule, name: &str) -> Option<&'r Rule> {
    of.inner.iter().filter_map(|at| rules.get(*at)).find(|rule| rule.name == name)
}
