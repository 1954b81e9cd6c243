//! Equality on a path into a resource: what lists and conditional writes ask for.

use std::fmt;

use fhir_resource::StoredResource;
use serde_json::{Number, Value};

use crate::body_validation;

/// A filter that requires a value at `path` of a resource to equal `value`.
///
/// An array on the way, or at the end, is entered: the condition holds when it holds for any of
/// its elements. That is what SQL/JSON calls a lax path, so a database may evaluate the same
/// condition with `jsonb_path_query`. Several filters of one query all have to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementEqualityFilter {
    /// Keys from the root of the resource, each at least one character. The single segment `id`
    /// names the resource's id, which is no part of the stored body.
    pub path: Vec<String>,
    /// The value that is required there.
    pub value: FilterValue,
}

/// The value of a filter, as the text in the request.
///
/// A query string has no types, so the text equals a JSON string that reads the same, and also
/// the boolean or the number it spells. Strings are compared case-sensitively.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterValue(String);

impl FilterValue {
    /// Creates a filter value from text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text as it stands in the request.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the JSON scalars that the text equals: the string, and the boolean or the number that it also reads as.
    ///
    /// For engines that compare typed values instead of calling [`FilterValue::matches_scalar`].
    #[must_use]
    pub fn equal_json_scalars(&self) -> Vec<Value> {
        let mut candidates = vec![Value::String(self.0.clone())];
        candidates.extend(self.scalar());
        candidates
    }

    /// Returns whether a scalar equals this value; objects, arrays and null never do.
    #[must_use]
    pub fn matches_scalar(&self, scalar: &Value) -> bool {
        match scalar {
            Value::String(text) => *text == self.0,
            Value::Bool(flag) => self.0 == if *flag { "true" } else { "false" },
            Value::Number(number) => self.equals_number(number),
            Value::Null | Value::Array(_) | Value::Object(_) => false,
        }
    }

    /// Returns whether the text is a number outside the range that resources can store.
    #[must_use]
    pub fn is_unstorable_number(&self) -> bool {
        matches!(self.spelled(), Some(Value::Number(number)) if !body_validation::is_number_storable(&number))
    }

    /// Returns the boolean or number the text spells, exactly and without blanks around it, if it is one that a
    /// resource can hold.
    fn scalar(&self) -> Option<Value> {
        self.spelled().filter(|value| match value {
            Value::Number(number) => body_validation::is_number_storable(number),
            other => other.is_boolean(),
        })
    }

    fn spelled(&self) -> Option<Value> {
        if self.0.trim().len() != self.0.len() {
            return None;
        }
        serde_json::from_str(&self.0).ok()
    }

    /// Numbers are equal as SQL has it: `1` equals `1.0`.
    fn equals_number(&self, number: &Number) -> bool {
        match self.scalar() {
            Some(Value::Number(asked)) if asked.is_f64() || number.is_f64() => asked.as_f64() == number.as_f64(),
            Some(Value::Number(asked)) => asked == *number,
            _ => false,
        }
    }
}

impl fmt::Display for FilterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl ElementEqualityFilter {
    /// Creates a filter that requires the value at `path` to equal `value`.
    #[must_use]
    pub fn new<P: Into<String>>(path: impl IntoIterator<Item = P>, value: &str) -> Self {
        Self { path: path.into_iter().map(Into::into).collect(), value: FilterValue::new(value) }
    }

    /// Creates a filter by resource id.
    #[must_use]
    pub fn by_id(value: &str) -> Self {
        Self::new(["id"], value)
    }

    /// Returns the required id when this is a filter by resource id.
    #[must_use]
    pub fn required_id(&self) -> Option<&str> {
        match self.path.as_slice() {
            [only] if only == "id" => Some(self.value.as_str()),
            _ => None,
        }
    }

    /// Returns whether a resource meets the filter.
    #[must_use]
    pub fn matches_resource(&self, stored: &StoredResource) -> bool {
        match self.required_id() {
            Some(id) => stored.key.id.as_str() == id,
            None => self.holds_at(&self.path, &stored.resource),
        }
    }

    fn holds_at(&self, path: &[String], value: &Value) -> bool {
        if let Value::Array(elements) = value {
            return elements.iter().any(|element| self.holds_at(path, element));
        }
        match path.split_first() {
            None => self.value.matches_scalar(value),
            Some((key, rest)) => value.get(key).is_some_and(|inner| self.holds_at(rest, inner)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use fhir_resource::property_testing;

    fn client(resource: Value) -> StoredResource {
        StoredResource { key: "Client/c1".parse().unwrap(), version: 1, updated_us: 0, resource }
    }

    fn holds(path: &[&str], value: &str) -> bool {
        let stored = client(json!({
            "name": "Payer", "active": true, "count": 3, "ratio": 1.5, "none": null,
            "auth": {"client_credentials": {"token_format": "jwt"}},
            "grant_types": ["basic", "client_credentials"],
            "identifier": [{"system": "a", "value": "1"}, {"system": "b", "value": "2"}],
            "nested": [[{"x": [1, "deep"]}]],
        }));
        ElementEqualityFilter::new(path.iter().copied(), value).matches_resource(&stored)
    }

    #[test]
    fn the_value_at_the_path_is_compared_case_sensitively() {
        assert!(holds(&["name"], "Payer"));
        assert!(!holds(&["name"], "payer"));
        assert!(!holds(&["nam"], "Payer"));
        assert!(holds(&["auth", "client_credentials", "token_format"], "jwt"));
        assert!(!holds(&["auth", "client_credentials"], "jwt"));
        assert!(!holds(&["name", "x"], "Payer"));
    }

    #[test]
    fn any_element_of_an_array_will_do() {
        assert!(holds(&["grant_types"], "client_credentials"));
        assert!(!holds(&["grant_types"], "code"));
        assert!(holds(&["identifier", "value"], "2"));
        assert!(holds(&["nested", "x"], "deep"));
    }

    #[test]
    fn text_equals_the_boolean_or_number_it_spells() {
        assert!(holds(&["active"], "true"));
        assert!(!holds(&["active"], "false"));
        assert!(!holds(&["active"], "1"));
        assert!(holds(&["count"], "3"));
        assert!(holds(&["count"], "3.0"));
        assert!(!holds(&["count"], " 3"));
        assert!(!holds(&["count"], "3x"));
        assert!(holds(&["ratio"], "1.5"));
        assert!(!holds(&["none"], "null"));
    }

    #[test]
    fn the_id_is_compared_with_the_key() {
        assert!(holds(&["id"], "c1"));
        assert!(!holds(&["id"], "c2"));
        assert_eq!(ElementEqualityFilter::by_id("c1").required_id(), Some("c1"));
        assert_eq!(ElementEqualityFilter::new(["a", "id"], "c1").required_id(), None);
    }

    #[test]
    fn candidates_are_the_string_and_what_it_spells() {
        let candidates = |text: &str| FilterValue::new(text).equal_json_scalars();
        assert_eq!(candidates("x"), [json!("x")]);
        assert_eq!(candidates("true"), [json!("true"), json!(true)]);
        assert_eq!(candidates("3"), [json!("3"), json!(3)]);
        assert_eq!(candidates("null"), [json!("null")]);
        assert_eq!(candidates("[1]"), [json!("[1]")]);
    }

    #[test]
    fn a_number_no_resource_can_hold_is_asked_for_as_a_string_alone() {
        for text in ["1e200000", "-1e-200000", "1e99999999999999999999"] {
            let value = FilterValue::new(text);
            assert_eq!(value.equal_json_scalars(), [json!(text)]);
            assert!(value.is_unstorable_number() && value.matches_scalar(&json!(text)), "{text}");
        }
        assert!(!FilterValue::new("1e3").is_unstorable_number());
        assert!(!FilterValue::new("x").is_unstorable_number());
    }

    proptest! {
        #![proptest_config(property_testing::seeded_proptest_config(500))]

        #[test]
        fn any_filter_on_any_resource_has_an_answer_and_agrees_with_its_candidates(
            resource in property_testing::any_json(),
            path in proptest::collection::vec("(id|url|type|.{0,3})", 0..4),
            text in "(true|1|-?[0-9]{1,3}(\\.[0-9])?|.{0,6})",
            scalar in property_testing::any_json(),
        ) {
            let filter = ElementEqualityFilter::new(path, &text);
            let _ = filter.matches_resource(&client(resource));
            if filter.value.equal_json_scalars().contains(&scalar) {
                prop_assert!(filter.value.matches_scalar(&scalar));
            }
            for candidate in filter.value.equal_json_scalars() {
                prop_assert!(filter.value.matches_scalar(&candidate));
            }
        }

        #[test]
        fn any_query_string_is_read_or_refused(
            text in ".{0,40}",
            pairs in proptest::collection::vec(("[_.a-z:]{0,8}|.{0,5}", ".{0,8}"), 0..4),
        ) {
            if let Ok(filters) = crate::query_parsing::parse_condition_filters(&text) {
                prop_assert!(!filters.is_empty());
            }
            let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            if let Ok(query) = crate::query_parsing::parse_list_query("Client".parse().unwrap(), pairs) {
                prop_assert!(query.page >= 1 && query.count <= fhir_search::limits::MAX_PAGE_SIZE);
                let paths = query.filters.iter().flat_map(|filter| &filter.path);
                prop_assert!(paths.into_iter().all(|segment| segment.is_ascii()));
            }
        }
    }
}
