//! Writing the Bundle that answers a search.

use serde_json::{Map, Value, json};

use crate::key::ResourceKey;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_a_total_has_none() {
        let links = || SearchLinks { this: "http://h/Patient?".to_owned(), next: None };
        assert!(found(links(), None, Vec::new()).get("total").is_none());
        assert_eq!(found(links(), Some(0), Vec::new())["total"], 0);
    }
}
