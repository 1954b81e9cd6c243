//! Writing the Bundle that answers a search.

use serde_json::{Value, json};

use fhir_resource::ResourceKey;

/// The `search.mode` of a result entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEntryMode {
    /// The resource matches the search.
    Match,
    /// The resource is included, because a match refers to it or it refers to a match.
    Include,
}

/// The addresses of a page of search results and of the next page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPageLinks {
    /// The address of this page, with the parameters that the server applied.
    pub this: String,
    /// The address of the next page, if there is one.
    pub next: Option<String>,
}

/// Writes the `searchset` Bundle of a search as text, entry by entry.
#[derive(Debug)]
pub struct SearchBundleWriter {
    out: Vec<u8>,
    /// What ids are relative to, without a slash at its end.
    base: String,
    has_entries: bool,
}

impl SearchBundleWriter {
    /// Starts a Bundle without entries; `base` is the base URL of `fullUrl`s without a slash at its end, `room` the
    /// expected size in bytes.
    #[must_use]
    pub fn begin(base: String, links: &SearchPageLinks, total: Option<u64>, room: usize) -> Self {
        let mut link = vec![json!({"relation": "self", "url": links.this})];
        link.extend(links.next.as_ref().map(|next| json!({"relation": "next", "url": next})));
        let total = total.map(|total| format!(r#","total":{total}"#)).unwrap_or_default();
        let link = Value::Array(link);
        let mut found = Self { out: Vec::with_capacity(room), base, has_entries: false };
        found.push(&format!(r#"{{"resourceType":"Bundle","type":"searchset"{total},"link":{link},"entry":["#));
        found
    }

    /// Adds the entry of a resource whose JSON `write` appends.
    ///
    /// # Errors
    /// That of `write`; there is no entry then.
    pub fn add_resource_with<E>(
        &mut self,
        key: &ResourceKey,
        mode: SearchEntryMode,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let before = self.out.len();
        let mode = match mode {
            SearchEntryMode::Match => "match",
            SearchEntryMode::Include => "include",
        };
        let full_url = Value::from(format!("{}/{key}", self.base));
        self.separate();
        self.push(&format!(r#"{{"fullUrl":{full_url},"resource":"#));
        let written = write(&mut self.out);
        match &written {
            Ok(()) => {
                self.push(&format!(r#","search":{{"mode":"{mode}"}}}}"#));
                self.has_entries = true;
            }
            Err(_) => self.out.truncate(before),
        }
        written
    }

    /// Adds the entry of a resource that is given as a JSON document.
    pub fn add_document(&mut self, key: &ResourceKey, mode: SearchEntryMode, document: &Value) {
        let Ok(()) = self.add_resource_with(key, mode, |out| {
            out.extend_from_slice(document.to_string().as_bytes());
            Ok::<(), std::convert::Infallible>(())
        });
    }

    /// Adds an `OperationOutcome` entry about the search itself.
    pub fn add_outcome(&mut self, outcome: &Value) {
        self.separate();
        self.push(&format!(r#"{{"resource":{outcome},"search":{{"mode":"outcome"}}}}"#));
        self.has_entries = true;
    }

    /// Returns the Bundle as JSON text.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.push("]}");
        self.out
    }

    fn separate(&mut self) {
        if self.has_entries {
            self.push(",");
        }
    }

    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(next: Option<&str>) -> SearchPageLinks {
        SearchPageLinks { this: "http://h/Patient?a=\"".to_owned(), next: next.map(str::to_owned) }
    }

    fn begin(next: Option<&str>, total: Option<u64>) -> SearchBundleWriter {
        SearchBundleWriter::begin("http://h".to_owned(), &links(next), total, 0)
    }

    fn read(found: SearchBundleWriter) -> Value {
        serde_json::from_slice(&found.finish()).unwrap()
    }

    #[test]
    fn a_page_without_a_total_has_none() {
        assert!(read(begin(None, None)).get("total").is_none());
        assert_eq!(read(begin(None, Some(0)))["total"], 0);
    }

    #[test]
    fn entries_stand_in_their_order_and_one_that_fails_leaves_nothing() {
        let key = |id: &str| format!("Patient/{id}").parse().unwrap();
        let mut found = begin(Some("n"), Some(2));
        let write = |text: &'static str| {
            move |out: &mut Vec<u8>| {
                out.extend_from_slice(text.as_bytes());
                Ok::<(), ()>(())
            }
        };
        let fail = |out: &mut Vec<u8>| {
            out.extend_from_slice(b"{\"half");
            Err(())
        };
        assert_eq!(found.add_resource_with(&key("f"), SearchEntryMode::Match, fail), Err(()));
        found.add_resource_with(&key("a"), SearchEntryMode::Match, write(r#"{"id":"a"}"#)).unwrap();
        assert_eq!(found.add_resource_with(&key("f"), SearchEntryMode::Match, fail), Err(()));
        found.add_resource_with(&key("b"), SearchEntryMode::Include, write(r#"{"id":"b"}"#)).unwrap();
        found.add_outcome(&json!({"resourceType": "OperationOutcome"}));
        let expected = json!({
            "resourceType": "Bundle", "type": "searchset", "total": 2,
            "link": [{"relation": "self", "url": "http://h/Patient?a=\""}, {"relation": "next", "url": "n"}],
            "entry": [
                {"fullUrl": "http://h/Patient/a", "resource": {"id": "a"}, "search": {"mode": "match"}},
                {"fullUrl": "http://h/Patient/b", "resource": {"id": "b"}, "search": {"mode": "include"}},
                {"resource": {"resourceType": "OperationOutcome"}, "search": {"mode": "outcome"}},
            ],
        });
        assert_eq!(read(found).to_string(), expected.to_string());
    }
}
