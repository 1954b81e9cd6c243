//! Writing the Bundle that answers a search.

use serde_json::{Map, Value, json};

use crate::key::ResourceKey;
use crate::search::Summary;

/// Marks a resource of which elements were left out.
const SUBSETTED_SYSTEM: &str = "http://terminology.hl7.org/CodeSystem/v3-ObservationValue";
/// Elements that every answer keeps.
const KEPT: [&str; 3] = ["resourceType", "id", "meta"];

/// Why a resource stands in the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchMode {
    /// It is what was asked for.
    Match,
    /// A match refers to it, or it refers to a match.
    Include,
}

/// The addresses of a page and of the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchLinks {
    /// What was understood of the request.
    pub this: String,
    /// Where the search goes on, if it does.
    pub next: Option<String>,
}

/// The Bundle that answers a search.
#[must_use]
pub fn found(links: SearchLinks, total: Option<u64>, entries: Vec<Value>) -> Value {
    let mut link = vec![json!({"relation": "self", "url": links.this})];
    link.extend(links.next.map(|next| json!({"relation": "next", "url": next})));
    let mut bundle = Map::new();
    bundle.insert("resourceType".to_owned(), "Bundle".into());
    bundle.insert("type".to_owned(), "searchset".into());
    bundle.extend(total.map(|total| ("total".to_owned(), total.into())));
    bundle.insert("link".to_owned(), Value::Array(link));
    bundle.insert("entry".to_owned(), Value::Array(entries));
    Value::Object(bundle)
}

/// One resource of the answer; `base` is what ids are relative to, without a slash at its end.
#[must_use]
pub fn found_entry(base: &str, key: &ResourceKey, resource: Value, mode: SearchMode) -> Value {
    let mode = match mode {
        SearchMode::Match => "match",
        SearchMode::Include => "include",
    };
    let members =
        [("fullUrl", format!("{base}/{key}").into()), ("resource", resource), ("search", json!({"mode": mode}))];
    members.into_iter().collect()
}

/// What the answer has to say about the search itself.
#[must_use]
pub fn outcome_entry(outcome: Value) -> Value {
    [("resource", outcome), ("search", json!({"mode": "outcome"}))].into_iter().collect()
}

/// As much of a resource as was asked for, marked where something is missing.
///
/// Not specified; `_summary=true` and `_summary=text` are answered with the whole resource, which a
/// server may do: which elements belong to a summary depends on the profile.
#[must_use]
pub fn subset(document: Value, summary: Summary, elements: &[String]) -> Value {
    let Value::Object(mut members) = document else { return document };
    let before = members.len();
    if !elements.is_empty() {
        members.retain(|name, _| KEPT.contains(&name.as_str()) || elements.iter().any(|asked| is_of(name, asked)));
    }
    if summary == Summary::Data {
        members.remove("text");
    }
    if members.len() < before {
        mark(&mut members);
    }
    Value::Object(members)
}

/// Whether a member is the element of this name: of one with a choice of types, or the extensions of a
/// primitive one, the member has a longer name.
fn is_of(name: &str, element: &str) -> bool {
    let rest = name.strip_prefix('_').unwrap_or(name).strip_prefix(element);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(|first: char| first.is_ascii_uppercase()))
}

fn mark(members: &mut Map<String, Value>) {
    let meta = members.entry("meta").or_insert_with(|| json!({}));
    let Some(meta) = meta.as_object_mut() else { return };
    if let Some(tags) = meta.entry("tag").or_insert_with(|| json!([])).as_array_mut() {
        tags.push(json!({"system": SUBSETTED_SYSTEM, "code": "SUBSETTED"}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_marked_and_what_names_the_resource_stays() {
        let document = json!({"resourceType": "Observation", "id": "a", "status": "final", "valueQuantity": {"value": 1},
            "valued": 1, "_status": {"id": "x"}, "text": {"div": ""}});
        let asked = ["value".to_owned(), "status".to_owned()];
        let shown = subset(document.clone(), Summary::False, &asked);
        let expected = json!({"resourceType": "Observation", "id": "a", "status": "final", "valueQuantity": {"value": 1},
            "_status": {"id": "x"}, "meta": {"tag": [{"system": SUBSETTED_SYSTEM, "code": "SUBSETTED"}]}});
        assert_eq!(shown, expected);
        assert_eq!(subset(document.clone(), Summary::False, &[]), document);
        assert!(subset(document, Summary::Data, &[]).get("text").is_none());
    }

    #[test]
    fn a_page_without_a_total_has_none() {
        let links = || SearchLinks { this: "http://h/Patient?".to_owned(), next: None };
        assert!(found(links(), None, Vec::new()).get("total").is_none());
        assert_eq!(found(links(), Some(0), Vec::new())["total"], 0);
    }
}
