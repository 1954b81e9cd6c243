//! Which codes a value set has, where they can be listed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;
use serde_json::Value;

use super::{items, text};

/// Value sets may include others; no published chain is longer.
const MAX_INCLUDES: usize = 8;

/// Codes by their system.
pub(super) type Codes = BTreeMap<String, BTreeSet<String>>;

/// The value sets and code systems of some Bundles, by url.
pub(super) struct Terminology<'a> {
    value_sets: HashMap<&'a str, &'a Value>,
    code_systems: HashMap<&'a str, &'a Value>,
}

impl<'a> Terminology<'a> {
    pub(super) fn of(resources: impl Iterator<Item = &'a Value>) -> Self {
        let mut terminology = Self { value_sets: HashMap::new(), code_systems: HashMap::new() };
        for resource in resources {
            let Some(url) = text(resource, "url") else { continue };
            match text(resource, "resourceType") {
                Some("ValueSet") => terminology.value_sets.insert(url, resource),
                Some("CodeSystem") => terminology.code_systems.insert(url, resource),
                _ => None,
            };
        }
        terminology
    }

    /// The id of a value set.
    pub(super) fn id(&self, url: &str) -> Result<&'a str> {
        let id = self.value_sets.get(url).and_then(|set| text(set, "id"));
        id.ok_or_else(|| anyhow::anyhow!("there is no value set {url}"))
    }

    /// Every code of a value set; `None` where it is open: a code system that is not published whole, or a
    /// rule instead of a list.
    pub(super) fn codes(&self, url: &str) -> Option<Codes> {
        self.expanded(url, MAX_INCLUDES)
    }

    fn expanded(&self, url: &str, left: usize) -> Option<Codes> {
        let url = url.split_once('|').map_or(url, |(url, _)| url);
        let compose = self.value_sets.get(url)?.get("compose")?;
        let mut codes = Codes::new();
        for include in items(compose, "include") {
            for (system, included) in self.included(include, left)? {
                codes.entry(system).or_default().extend(included);
            }
        }
        for exclude in items(compose, "exclude") {
            for (system, excluded) in self.included(exclude, left)? {
                codes.entry(system).or_default().retain(|code| !excluded.contains(code));
            }
        }
        codes.retain(|_, of_system| !of_system.is_empty());
        (!codes.is_empty()).then_some(codes)
    }

    fn included(&self, include: &Value, left: usize) -> Option<Codes> {
        let mut sets = items(include, "valueSet").filter_map(Value::as_str);
        let Some(system) = text(include, "system") else {
            let (Some(only), None) = (sets.next(), sets.next()) else { return None };
            return self.expanded(only, left.checked_sub(1)?);
        };
        if sets.next().is_some() {
            return None;
        }
        let listed: BTreeSet<String> = items(include, "concept").filter_map(code).collect();
        let codes = match (listed.is_empty(), include.get("filter")) {
            (false, None) => listed,
            (true, None) => self.whole(system, None)?,
            (true, Some(_)) => self.whole(system, Some(ancestor(include)?))?,
            (false, Some(_)) => return None,
        };
        Some(Codes::from([(system.to_owned(), codes)]))
    }

    /// Every code of a code system, or those at and below one of them.
    fn whole(&self, system: &str, below: Option<&str>) -> Option<BTreeSet<String>> {
        let system = self.code_systems.get(system)?;
        if text(system, "content") != Some("complete") {
            return None;
        }
        let mut codes = BTreeSet::new();
        collect(system, below, &mut codes);
        (!codes.is_empty()).then_some(codes)
    }
}

fn code(concept: &Value) -> Option<String> {
    text(concept, "code").map(str::to_owned)
}

/// The code that the one filter of an include names by `is-a`.
fn ancestor(include: &Value) -> Option<&str> {
    let mut filters = items(include, "filter");
    let (Some(filter), None) = (filters.next(), filters.next()) else { return None };
    let is_a = text(filter, "property") == Some("concept") && text(filter, "op") == Some("is-a");
    text(filter, "value").filter(|_| is_a)
}

fn collect(parent: &Value, below: Option<&str>, codes: &mut BTreeSet<String>) {
    for concept in items(parent, "concept") {
        let below = below.filter(|ancestor| text(concept, "code") != Some(ancestor));
        if below.is_none() {
            codes.extend(code(concept));
        }
        collect(concept, below, codes);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn codes(compose: &Value) -> Option<Codes> {
        let tree = json!([{"code": "a", "concept": [{"code": "b", "concept": [{"code": "c"}]}]}, {"code": "d"}]);
        let resources = [
            json!({"resourceType": "CodeSystem", "url": "s", "content": "complete", "concept": tree}),
            json!({"resourceType": "CodeSystem", "url": "part", "content": "fragment", "concept": tree}),
            json!({"resourceType": "ValueSet", "id": "v", "url": "v", "compose": compose}),
        ];
        Terminology::of(resources.iter()).codes("v|4.0.1")
    }

    fn of_s(codes: &[&str]) -> Codes {
        Codes::from([("s".to_owned(), codes.iter().map(|code| (*code).to_owned()).collect())])
    }

    #[test]
    fn lists_whole_systems_and_branches_are_closed() {
        assert_eq!(codes(&json!({"include": [{"system": "s"}]})), Some(of_s(&["a", "b", "c", "d"])));
        assert_eq!(codes(&json!({"include": [{"system": "s", "concept": [{"code": "b"}]}]})), Some(of_s(&["b"])));
        let below = json!([{"property": "concept", "op": "is-a", "value": "b"}]);
        assert_eq!(codes(&json!({"include": [{"system": "s", "filter": below}]})), Some(of_s(&["b", "c"])));
        let exclude = json!([{"system": "s", "concept": [{"code": "a"}]}]);
        assert_eq!(codes(&json!({"include": [{"system": "s"}], "exclude": exclude})), Some(of_s(&["b", "c", "d"])));
    }

    #[test]
    fn parts_of_systems_other_rules_and_circles_are_open() {
        for include in [
            json!({"system": "part"}),
            json!({"system": "unknown"}),
            json!({"system": "s", "filter": [{"property": "x", "op": "=", "value": "y"}]}),
            json!({"valueSet": ["v"]}),
            json!({"valueSet": ["v", "w"]}),
        ] {
            assert_eq!(codes(&json!({"include": [include]})), None);
        }
    }
}
