//! The query of a request, or of an entry of a Bundle, as policies see it.

use fhir_store::query_parsing;
use serde_json::Value;

/// The query string and condition of a request, not decoded.
#[derive(Debug, Clone, Default)]
pub struct RequestQuery {
    /// The query of the address, with the parameters of a form behind it.
    text: Option<String>,
    /// The condition beside the address: `If-None-Exist` or `ifNoneExist`.
    condition: Option<String>,
    /// What an entry's address has below the resource: `/_history/7`.
    beneath: Option<String>,
}

impl RequestQuery {
    /// The query of a request without query string and condition.
    pub const EMPTY: Self = Self { text: None, condition: None, beneath: None };

    /// Returns the queries of the entries of a Bundle, in their order. The query of the Bundle's own request is not
    /// among them.
    #[must_use]
    pub fn of_bundle_entries(bundle: &Value) -> Vec<Self> {
        let entries = bundle.get("entry").and_then(Value::as_array);
        entries.into_iter().flatten().map(Self::by_entry).collect()
    }

    fn by_entry(entry: &Value) -> Self {
        let member = |name: &str| entry.get("request")?.get(name)?.as_str();
        let text = member("url").and_then(|url| Some(url.split_once('?')?.1.to_owned()));
        let path = member("url").map(|url| url.split_once('?').map_or(url, |(path, _)| path));
        let beneath = path.and_then(|path| Some(format!("/_history{}", path.split_once("/_history")?.1)));
        Self { text, condition: member("ifNoneExist").map(str::to_owned), beneath }
    }

    /// Creates the query of a request from its query string and its condition.
    #[must_use]
    pub const fn new(text: Option<String>, condition: Option<String>) -> Self {
        Self { text, condition, beneath: None }
    }

    /// Returns the query string of the address, if there is one.
    #[must_use]
    pub fn query_string(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Returns whether there is a query or a condition.
    pub(crate) const fn asks(&self) -> bool {
        self.text.is_some() || self.condition.is_some()
    }

    /// Returns what an entry's address has below the resource; nothing for a separate request.
    pub(crate) fn beneath(&self) -> &str {
        self.beneath.as_deref().unwrap_or_default()
    }

    /// Returns the query of the list of everything that meets the condition of a write.
    pub(crate) fn as_list(&self) -> Self {
        let text = self.condition.as_deref().or(self.text.as_deref());
        Self { text: text.map(|text| query_parsing::strip_condition_prefix(text).to_owned()), ..Self::EMPTY }
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
        let queries = RequestQuery::of_bundle_entries(&bundle);
        let texts: Vec<_> = queries.iter().map(RequestQuery::query_string).collect();
        assert_eq!(texts, [Some("a=b?c"), None, None, None]);
        let lists: Vec<_> = queries.iter().map(|query| query.as_list().text).collect();
        assert_eq!(lists, [Some("a=b?c".to_owned()), Some("_id=x".to_owned()), None, None]);
    }
}
