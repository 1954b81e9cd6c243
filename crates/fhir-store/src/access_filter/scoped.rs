//! Any search parameter as a condition on a resource: the query of a granular scope.
//!
//! What decides on access has to be decidable wherever a resource is touched: of a version that is read, of
//! what a write makes, of rows a search walks. So what looks at other resources (a chain, `_has`), at a
//! value set or at the time of a version is refused, and so is what is no condition at all (`_sort`).

use std::sync::Arc;

use fhir_resource::{ResourceKey, ResourceType};
use fhir_search::{IndexedDocument, SearchClause, SearchParameterCatalog, SearchParseContext, SearchRequest};
use serde_json::Value;

use super::criterion::UnsupportedCriterionError;

/// One parameter of a granular scope's query, which a resource must match.
#[derive(Clone, Debug)]
pub struct GranularScopeSearch(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    name: String,
    value: String,
    base_url: String,
    search: SearchRequest,
}

impl PartialEq for GranularScopeSearch {
    /// Read from the same words, about the same type.
    fn eq(&self, other: &Self) -> bool {
        let words = |scoped: &Self| {
            let Inner { name, value, base_url, search } = scoped.0.as_ref();
            (name.clone(), value.clone(), base_url.clone(), search.resource_type.clone())
        };
        words(self) == words(other)
    }
}

impl Eq for GranularScopeSearch {}

impl GranularScopeSearch {
    /// Parses one decoded parameter of a scope query.
    ///
    /// # Errors
    /// [`UnsupportedCriterionError`] for a parameter that cannot be decided from the resource alone, or selects no
    /// resources.
    pub fn parse(
        catalog: &SearchParameterCatalog,
        request: &SearchParseContext<'_>,
        (name, value): (&str, &str),
    ) -> Result<Self, UnsupportedCriterionError> {
        let unsupported =
            || UnsupportedCriterionError { resource_type: request.resource_type.clone(), name: name.to_owned() };
        let request = SearchParseContext { handling: fhir_search::UnknownParameterHandling::Strict, ..*request };
        let (search, _) = fhir_search::parse_search(catalog, &request, [(name, value)]).map_err(|_| unsupported())?;
        // A parameter about the answer leaves no clause.
        let decidable = !search.clauses.is_empty() && search.clauses.iter().all(is_of_the_resource_alone);
        if !decidable || !search.value_set_urls().is_empty() {
            return Err(unsupported());
        }
        let (name, value, base_url) = (name.to_owned(), value.to_owned(), request.base_url.to_owned());
        Ok(Self(Arc::new(Inner { name, value, base_url, search })))
    }

    /// Returns the clauses, all of which must be met.
    #[must_use]
    pub fn clauses(&self) -> &[SearchClause] {
        &self.0.search.clauses
    }

    /// Returns the resource type of the scope.
    #[must_use]
    pub fn resource_type(&self) -> &ResourceType {
        &self.0.search.resource_type
    }

    /// Returns whether a resource of its type matches the query; false for any other type.
    #[must_use]
    pub fn matches_resource(&self, key: &ResourceKey, resource: &Value) -> bool {
        let Inner { base_url, search, .. } = self.0.as_ref();
        let document = IndexedDocument {
            resource_type: &key.resource_type,
            id: key.id.as_str(),
            updated_us: 0,
            body: resource,
            base_url,
        };
        key.resource_type == search.resource_type && search.matches(&document, None) == Ok(true)
    }
}

fn is_of_the_resource_alone(clause: &SearchClause) -> bool {
    match clause {
        SearchClause::Any { parameter, .. }
        | SearchClause::None { parameter, .. }
        | SearchClause::Missing { parameter, .. } => parameter.resource_column().is_none(),
        SearchClause::Chain(_) | SearchClause::Has(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const OWN: &str = "https://payer.example/fhir";

    fn read(name: &str, value: &str) -> Result<GranularScopeSearch, UnsupportedCriterionError> {
        let resource_type = "Observation".parse().unwrap();
        GranularScopeSearch::parse(
            &SearchParameterCatalog::with_r4_only(),
            &SearchParseContext::strict(&resource_type, OWN, 0),
            (name, value),
        )
    }

    fn holds(name: &str, value: &str) -> bool {
        let resource = json!({
            "status": "final",
            "code": {"coding": [{"system": "http://loinc.org", "code": "718-7"}]},
            "subject": {"reference": "Patient/p"},
            "effectiveDateTime": "2026-03-04",
            "valueQuantity": {"value": 14.2, "code": "g/dL"},
        });
        read(name, value).unwrap().matches_resource(&"Observation/o".parse().unwrap(), &resource)
    }

    #[test]
    fn every_kind_of_parameter_selects() {
        for (name, value) in [
            ("code", "http://loinc.org|718-7"),
            ("code", "x,718-7"),
            ("status:not", "entered-in-error"),
            ("date", "ge2026-01-01"),
            ("subject", "Patient/p"),
            ("subject", "https://payer.example/fhir/Patient/p"),
            ("value-quantity", "gt14"),
            ("method:missing", "true"),
        ] {
            assert!(holds(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("code", "http://snomed.info/sct|718-7"),
            ("status", "preliminary"),
            ("date", "lt2026"),
            ("subject", "Patient/q"),
            ("value-quantity", "15"),
            ("code:missing", "true"),
        ] {
            assert!(!holds(name, value), "{name}={value}");
        }
        let other_type = read("status:missing", "true").unwrap();
        assert!(!other_type.matches_resource(&"Condition/c".parse().unwrap(), &json!({})));
    }

    #[test]
    fn what_cannot_be_decided_of_a_resource_alone_is_refused() {
        for (name, value) in [
            ("subject:Patient.name", "x"),
            ("subject.name", "x"),
            ("code:in", "http://example.org/vs"),
            ("_has:Provenance:target:agent", "x"),
            ("_lastUpdated", "ge2026"),
            ("_sort", "date"),
            ("_count", "1"),
            ("_include", "Observation:subject"),
            ("no-such", "x"),
            ("date", "soon"),
        ] {
            assert!(read(name, value).is_err(), "{name}={value}");
        }
    }

    #[test]
    fn two_are_the_same_when_their_words_are() {
        assert_eq!(read("code", "a"), read("code", "a"));
        assert_ne!(read("code", "a"), read("code", "b"));
        assert_ne!(read("code", "a"), read("status", "a"));
    }
}
