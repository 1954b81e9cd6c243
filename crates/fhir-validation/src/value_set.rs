//! The codes of value sets that are installed, where they can be listed.
//!
//! A value set is closed when everything it includes is: codes that are listed, code systems that are installed
//! whole, what is at and below a code of one, other closed value sets. Any other rule leaves it open, unless it was
//! published with its expansion.
//!
//! # Source
//! FHIR R4, `ValueSet`, Value Set Expansion; `CodeSystem.content`.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use fhir_resource::type_definitions::{self, CodesBySystem};
use fhir_store::StoreError;

/// Value sets and code systems that one may be made of. Not specified; published ones name few.
const MAX_PARTS: usize = 64;
/// Most codes of a set that is listed. Not specified; sets of whole terminologies are larger, and not worth the memory.
const MAX_CODES: usize = 20_000;
/// Longest chain of value sets that include each other.
const MAX_INCLUDES: usize = 8;

/// A source of installed value sets and code systems.
#[async_trait]
pub trait CanonicalSource: Send + Sync {
    /// Returns the installed resource of a type with this canonical URL, in this version or the newest.
    ///
    /// # Errors
    /// Only when the store itself fails.
    async fn find_canonical(
        &self,
        resource_type: &str,
        url: &str,
        version: Option<&str>,
    ) -> Result<Option<Value>, StoreError>;
}

/// Returns the codes of a value set of R4 or of an installed package; `None` when it is not installed or its codes
/// cannot be listed. The URL may have a version behind `|`.
///
/// # Errors
/// Only when the store itself fails.
pub async fn value_set_codes_by_url(
    source: &dyn CanonicalSource,
    url: &str,
) -> Result<Option<Arc<CodesBySystem>>, StoreError> {
    if let Some(codes) = type_definitions::value_set_codes(url) {
        return Ok(Some(codes));
    }
    let mut parts = Parts::default();
    let mut asked = vec![("ValueSet", url.to_owned())];
    while let Some((resource_type, url)) = asked.pop() {
        if parts.found.contains_key(&url) || type_definitions::value_set_codes(&url).is_some() {
            continue;
        }
        if parts.found.len() >= MAX_PARTS {
            return Ok(None);
        }
        let (bare, version) = split(&url);
        let found = source.find_canonical(resource_type, bare, version).await?;
        asked.extend(found.iter().filter(|_| resource_type == "ValueSet").flat_map(needed));
        parts.found.insert(url, found);
    }
    Ok(parts.value_set(url, MAX_INCLUDES).map(Arc::new))
}

fn split(url: &str) -> (&str, Option<&str>) {
    url.split_once('|').map_or((url, None), |(url, version)| (url, Some(version)))
}

/// Returns what a value set is made of: value sets, and code systems of which it does not list the codes.
fn needed(value_set: &Value) -> Vec<(&'static str, String)> {
    let mut needed = Vec::new();
    for include in includes(value_set, "include").chain(includes(value_set, "exclude")) {
        needed.extend(items(include, "valueSet").filter_map(Value::as_str).map(|url| ("ValueSet", url.to_owned())));
        if include.get("concept").is_none() {
            needed.extend(text(include, "system").map(|url| ("CodeSystem", url.to_owned())));
        }
    }
    needed
}

fn includes<'a>(value_set: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value_set.get("compose").and_then(|compose| compose.get(name)).and_then(Value::as_array).into_iter().flatten()
}

fn items<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

/// Value sets and code systems by the urls they were asked for with.
#[derive(Default)]
struct Parts {
    found: HashMap<String, Option<Value>>,
}

impl Parts {
    fn value_set(&self, url: &str, left: usize) -> Option<CodesBySystem> {
        if let Some(codes) = type_definitions::value_set_codes(url) {
            return Some(CodesBySystem::clone(&codes));
        }
        let value_set = self.found.get(url)?.as_ref()?;
        self.composed(value_set, left).or_else(|| expanded(value_set))
    }

    /// Returns what the definition of a value set lists.
    fn composed(&self, value_set: &Value, left: usize) -> Option<CodesBySystem> {
        let mut codes = CodesBySystem::default();
        for include in includes(value_set, "include") {
            codes.extend(&self.included(include, left)?);
            if codes.len() > MAX_CODES {
                return None;
            }
        }
        for exclude in includes(value_set, "exclude") {
            let excluded = self.included(exclude, left)?;
            codes.retain(|system, code| !excluded.contains(system, code));
        }
        (!codes.is_empty()).then_some(codes)
    }

    /// Returns what one part includes: of several value sets, and of a system beside them, what is in all of them.
    fn included(&self, include: &Value, left: usize) -> Option<CodesBySystem> {
        let mut codes = match text(include, "system") {
            Some(system) => Some(self.of_system(include, system).ok()?),
            None => None,
        };
        for url in items(include, "valueSet").filter_map(Value::as_str) {
            let other = self.value_set(url, left.checked_sub(1)?)?;
            match &mut codes {
                Some(codes) => codes.retain(|system, code| other.contains(system, code)),
                None => codes = Some(other),
            }
        }
        codes
    }

    fn of_system(&self, include: &Value, system: &str) -> Result<CodesBySystem, Open> {
        let mut codes = CodesBySystem::default();
        if include.get("concept").is_some() {
            if include.get("filter").is_some() {
                return Err(Open);
            }
            items(include, "concept")
                .filter_map(|concept| text(concept, "code"))
                .for_each(|code| codes.insert(system, code));
            return Ok(codes);
        }
        let found = self.found.get(system).and_then(Option::as_ref);
        let whole = found.filter(|found| text(found, "content") == Some("complete")).ok_or(Open)?;
        let below = match include.get("filter") {
            Some(_) => Some(ancestor(include).ok_or(Open)?),
            None => None,
        };
        collect(whole, below, &mut |code| codes.insert(system, code));
        Ok(codes)
    }
}

/// Returns the codes of the expansion that was published with the value set, if it is complete.
fn expanded(value_set: &Value) -> Option<CodesBySystem> {
    let expansion = value_set.get("expansion")?;
    let mut codes = CodesBySystem::default();
    contained(expansion, &mut codes);
    let is_whole = expansion.get("total").and_then(Value::as_u64).is_none_or(|total| total <= codes.len() as u64);
    (is_whole && !codes.is_empty() && codes.len() <= MAX_CODES).then_some(codes)
}

fn contained(parent: &Value, codes: &mut CodesBySystem) {
    for one in items(parent, "contains") {
        let is_abstract = one.get("abstract").is_some_and(|is| *is == Value::Bool(true));
        if let (Some(system), Some(code), false) = (text(one, "system"), text(one, "code"), is_abstract) {
            codes.insert(system, code);
        }
        contained(one, codes);
    }
}

/// The codes cannot be listed.
struct Open;

/// Returns the code that the one filter of an include names by `is-a`.
fn ancestor(include: &Value) -> Option<&str> {
    let mut filters = items(include, "filter");
    let (Some(filter), None) = (filters.next(), filters.next()) else { return None };
    let is_a = text(filter, "property") == Some("concept") && text(filter, "op") == Some("is-a");
    text(filter, "value").filter(|_| is_a)
}

/// Every code of a tree, or those at and below one of them.
fn collect(parent: &Value, below: Option<&str>, add: &mut impl FnMut(&str)) {
    for concept in items(parent, "concept") {
        let code = text(concept, "code");
        let below = below.filter(|ancestor| code != Some(ancestor));
        if let (Some(code), None) = (code, below) {
            add(code);
        }
        collect(concept, below, add);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use serde_json::json;

    use super::*;

    struct TestSource(Vec<Value>);

    #[async_trait]
    impl CanonicalSource for TestSource {
        async fn find_canonical(
            &self,
            resource_type: &str,
            url: &str,
            version: Option<&str>,
        ) -> Result<Option<Value>, StoreError> {
            let fits = |found: &&Value| {
                found["resourceType"] == resource_type
                    && found["url"] == url
                    && version.is_none_or(|of| found["version"] == of)
            };
            Ok(self.0.iter().find(fits).cloned())
        }
    }

    fn codes(compose: &Value) -> Option<Vec<String>> {
        let tree = json!([{"code": "a", "concept": [{"code": "b", "concept": [{"code": "c"}]}]}, {"code": "d"}]);
        let source = TestSource(vec![
            json!({"resourceType": "CodeSystem", "url": "s", "content": "complete", "concept": tree}),
            json!({"resourceType": "CodeSystem", "url": "part", "content": "fragment", "concept": tree}),
            json!({"resourceType": "ValueSet", "url": "ab", "version": "1",
                "compose": {"include": [{"system": "s", "concept": [{"code": "a"}, {"code": "b"}]}]}}),
            json!({"resourceType": "ValueSet", "url": "told", "compose": {"include": [{"system": "unknown"}]},
                "expansion": {"total": 2, "contains": [{"system": "s", "code": "x", "contains": [{"system": "s", "code": "y"}]}]}}),
            json!({"resourceType": "ValueSet", "url": "cut", "compose": {"include": [{"system": "unknown"}]},
                "expansion": {"total": 2, "contains": [{"system": "s", "code": "x"}]}}),
            json!({"resourceType": "ValueSet", "url": "circle", "compose": {"include": [{"valueSet": ["circle"]}]}}),
            json!({"resourceType": "ValueSet", "url": "v", "compose": compose}),
        ]);
        // Nothing here waits, so one look is enough.
        let found = pin!(value_set_codes_by_url(&source, "v")).poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(found) = found else { panic!("the source never waits") };
        found.unwrap().map(|codes| codes.iter().map(|(system, code)| format!("{system}|{code}")).collect())
    }

    #[test]
    fn lists_systems_branches_and_other_sets_are_closed() {
        let b = json!([{"property": "concept", "op": "is-a", "value": "b"}]);
        for (include, expected) in [
            (json!({"system": "s", "concept": [{"code": "x"}]}), "s|x"),
            (json!({"system": "s"}), "s|a s|b s|c s|d"),
            (json!({"system": "s", "filter": b}), "s|b s|c"),
            (json!({"valueSet": ["ab|1"]}), "s|a s|b"),
            (json!({"valueSet": ["told"]}), "s|x s|y"),
            (json!({"system": "s", "filter": b, "valueSet": ["ab"]}), "s|b"),
        ] {
            let found = codes(&json!({"include": [include]})).unwrap_or_default();
            assert_eq!(found.join(" "), expected, "{include}");
        }
        let exclude = json!([{"valueSet": ["ab"]}]);
        assert_eq!(
            codes(&json!({"include": [{"system": "s"}], "exclude": exclude})).unwrap_or_default(),
            ["s|c", "s|d"]
        );
        let gender = json!({"valueSet": ["http://hl7.org/fhir/ValueSet/administrative-gender"]});
        assert_eq!(codes(&json!({"include": [gender]})).map(|codes| codes.len()), Some(4));
    }

    #[test]
    fn what_cannot_be_listed_is_open() {
        for include in [
            json!({"system": "part"}),
            json!({"system": "unknown"}),
            json!({"system": "s", "filter": [{"property": "x", "op": "=", "value": "y"}]}),
            json!({"valueSet": ["unknown"]}),
            json!({"valueSet": ["ab|2"]}),
            json!({"valueSet": ["cut"]}),
            json!({"valueSet": ["circle"]}),
            json!({}),
        ] {
            assert_eq!(codes(&json!({"include": [include]})), None, "{include}");
        }
    }
}
