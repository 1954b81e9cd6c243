//! Tests of what belongs to a slice.

use fhir_resource::type_definitions;
use serde_json::Value;

use super::{Rule, contains};

/// A condition on the values that belong to a slice.
#[derive(Debug)]
pub(crate) enum SliceTest {
    /// Some value at the path is exactly this.
    Fixed(Vec<String>, Value),
    /// Some value at the path has all of this.
    Pattern(Vec<String>, Value),
    /// It is of one of these types, in the form that names of members have them.
    Types(Vec<String>),
}

impl SliceTest {
    /// Returns whether it holds of a value, which is a choice of the type `element_type` where it is a choice.
    pub(crate) fn holds(&self, element_type: &str, value: &Value) -> bool {
        match self {
            Self::Fixed(path, wanted) => any(value, path, &|found| found == wanted),
            Self::Pattern(path, wanted) => any(value, path, &|found| contains(found, wanted)),
            Self::Types(types) => types.iter().any(|of| of == element_type),
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

/// Returns the tests of what belongs to a slice, one for each discriminator of its owner; `None` when one is not known.
pub(crate) fn tests(rules: &[Rule], owner: &Rule, slice: usize) -> Option<Vec<SliceTest>> {
    let slice = rules.get(slice)?;
    if owner.discriminators.is_empty() {
        return None;
    }
    owner.discriminators.iter().map(|(kind, path)| test(rules, slice, (kind, path))).collect()
}

fn test(rules: &[Rule], slice: &Rule, (kind, path): (&str, &str)) -> Option<SliceTest> {
    match (kind, path) {
        ("type", "$this") if slice.is_choice => Some(SliceTest::Types(
            slice.types.iter().map(|element_type| type_definitions::choice_member_name("", element_type)).collect(),
        )),
        ("value" | "pattern", _) => {
            let path = if path == "$this" { Vec::new() } else { path.split('.').map(str::to_owned).collect() };
            let decisive = path.iter().try_fold(slice, |rule, name| inner(rules, rule, name));
            match decisive.map(|rule| (&rule.fixed, &rule.pattern)) {
                Some((Some(fixed), _)) => Some(SliceTest::Fixed(path, fixed.clone())),
                Some((None, Some(pattern))) => Some(SliceTest::Pattern(path, pattern.clone())),
                // The definition of an extension says its url, and the profile names the definition.
                _ if path == ["url"] => Some(SliceTest::Fixed(path, slice.extension.clone()?.into())),
                _ => None,
            }
        }
        _ => None,
    }
}

fn inner<'r>(rules: &'r [Rule], of: &Rule, name: &str) -> Option<&'r Rule> {
    of.inner.iter().filter_map(|at| rules.get(*at)).find(|rule| rule.name == name)
}
