//! The codes of the value sets that a search names.

use std::collections::BTreeMap;

use fhir_search::{SearchError, SearchRequest, ValueSetCoding};
use serde_json::Value;

use crate::error::ServiceError;
use crate::service_state::FhirService;

/// Type of the resources that have them.
const VALUE_SET: &str = "ValueSet";

/// Puts the codes of installed value sets in the place of their URLs.
///
/// # Errors
/// [`SearchError::UnknownValueSet`] for one that is not installed or does not list its codes.
pub(crate) async fn expand(service: &FhirService, search: &mut SearchRequest) -> Result<(), ServiceError> {
    let named = search.value_set_urls();
    if named.is_empty() {
        return Ok(());
    }
    let kind = VALUE_SET.parse().map_err(|_| SearchError::UnknownValueSet(VALUE_SET.to_owned()))?;
    let mut codes = BTreeMap::new();
    for url in named {
        let (bare, version) = url.split_once('|').map_or((url.as_str(), None), |(url, version)| (url, Some(version)));
        let installed = service.packages.store().find_canonical(&kind, bare, version).await?;
        let listed = installed.and_then(|stored| listed(&stored.resource));
        let listed = listed.ok_or_else(|| SearchError::UnknownValueSet(url.clone()))?;
        codes.insert(url, listed);
    }
    Ok(search.expand_value_sets(&codes)?)
}

/// Returns the codes of a value set that says each of them; `None` for one that is a rule.
fn listed(value_set: &Value) -> Option<Vec<ValueSetCoding>> {
    let mut codes = Vec::new();
    if let Some(contains) = value_set.pointer("/expansion/contains").and_then(Value::as_array) {
        contained(contains, &mut codes);
        return Some(codes);
    }
    let compose = value_set.get("compose")?;
    if compose.get("exclude").is_some() {
        return None;
    }
    for include in compose.get("include")?.as_array()? {
        if include.get("valueSet").is_some() {
            return None;
        }
        let system = include.get("system").and_then(Value::as_str).map(str::to_owned);
        for concept in include.get("concept")?.as_array()? {
            codes.push((system.clone(), concept.get("code")?.as_str()?.to_owned()));
        }
    }
    Some(codes)
}

fn contained(contains: &[Value], codes: &mut Vec<ValueSetCoding>) {
    for coding in contains {
        let system = coding.get("system").and_then(Value::as_str).map(str::to_owned);
        if let Some(code) = coding.get("code").and_then(Value::as_str) {
            codes.push((system, code.to_owned()));
        }
        if let Some(inner) = coding.get("contains").and_then(Value::as_array) {
            contained(inner, codes);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_set_that_is_a_rule_lists_nothing() {
        let concepts = json!({"compose": {"include": [{"system": "s", "concept": [{"code": "a"}, {"code": "b"}]}]}});
        let expected = vec![(Some("s".to_owned()), "a".to_owned()), (Some("s".to_owned()), "b".to_owned())];
        assert_eq!(listed(&concepts), Some(expected.clone()));
        let expanded = json!({"expansion": {"contains": [
            {"system": "s", "code": "a", "contains": [{"system": "s", "code": "b"}]},
        ]}});
        assert_eq!(listed(&expanded), Some(expected));
        for rule in [
            json!({"compose": {"include": [{"system": "s"}]}}),
            json!({"compose": {"include": [{"valueSet": ["v"]}]}}),
            json!({"compose": {"include": [{"system": "s", "concept": []}], "exclude": [{"system": "s"}]}}),
            json!({}),
        ] {
            assert_eq!(listed(&rule), None, "{rule}");
        }
    }
}
