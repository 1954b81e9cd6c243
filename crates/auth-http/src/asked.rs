//! What the address of a request, or of an entry of a Bundle, asks with: what policies see of it.

use fhir_store::query;
use serde_json::Value;

/// A query and a condition, as sent and not decoded.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestQuery {
    /// The query of the address.
    pub(crate) query: Option<String>,
    /// What stands beside the address as a condition: `If-None-Exist` or `ifNoneExist`.
    pub(crate) condition: Option<String>,
    /// What an entry's address has below the resource: `/_history/7`.
    beneath: Option<String>,
}

impl RequestQuery {
    /// The address of a resource or a type, and nothing more.
    pub(crate) const NOTHING: Self = Self { query: None, condition: None, beneath: None };

    /// Of every entry of a Bundle, in their order: each has an address of its own, and nothing of that
    /// of the Bundle is its.
    pub(crate) fn by_entries(bundle: &Value) -> Vec<Self> {
        let entries = bundle.get("entry").and_then(Value::as_array);
        entries.into_iter().flatten().map(Self::by_entry).collect()
    }

    fn by_entry(entry: &Value) -> Self {
        let text = |name: &str| entry.get("request")?.get(name)?.as_str();
        let query = text("url").and_then(|url| Some(url.split_once('?')?.1.to_owned()));
        let path = text("url").map(|url| url.split_once('?').map_or(url, |(path, _)| path));
        let beneath = path.and_then(|path| Some(format!("/_history{}", path.split_once("/_history")?.1)));
        Self { query, condition: text("ifNoneExist").map(str::to_owned), beneath }
    }

    /// Of the address of a request.
    pub(crate) const fn new(query: Option<String>, condition: Option<String>) -> Self {
        Self { query, condition, beneath: None }
    }

    /// Returns what an entry's address has below the resource; nothing for a request of its own.
    pub(crate) fn beneath(&self) -> &str {
        self.beneath.as_deref().unwrap_or_default()
    }

    /// Returns what the list of everything that meets the condition of a write would be asked with.
    pub(crate) fn as_list(&self) -> Self {
        let text = self.condition.as_deref().or(self.query.as_deref());
        Self { query: text.map(|text| query::criteria(text).to_owned()), ..Self::NOTHING }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_asks_with_its_own_address_and_condition() {
        let bundle = json!({"entry": [
            {"request": {"url": "Patient?a=b?c"}},
            {"request": {"url": "/Patient", "ifNoneExist": "Patient?_id=x"}},
            {"request": {"url": 1}},
            null,
        ]});
        let asked = RequestQuery::by_entries(&bundle);
        let queries: Vec<_> = asked.iter().map(|asked| asked.query.as_deref()).collect();
        assert_eq!(queries, [Some("a=b?c"), None, None, None]);
        let lists: Vec<_> = asked.iter().map(|asked| asked.as_list().query).collect();
        assert_eq!(lists, [Some("a=b?c".to_owned()), Some("_id=x".to_owned()), None, None]);
    }
}
