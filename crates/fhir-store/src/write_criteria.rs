//! The condition of a write: the search criteria of `ifNoneExist`, and of an address without an id.
//!
//! A condition decides what is written over and removed, so nothing of it is passed over: a parameter that is not
//! known, has no value or is about the answer refuses the whole condition by name.
//!
//! # Source
//! FHIR R4, `RESTful` API, conditional create, update, patch and delete.

use std::collections::BTreeSet;

use fhir_resource::{ResourceType, StoredResource};
use fhir_search::{
    ConditionalWriteSearch, ReferenceResolver, SearchError, SearchParameterCatalog, SearchParseContext,
    UnknownParameterHandling,
};

use crate::element_filter::ElementEqualityFilter;
use crate::query_parsing::{self, QueryError};

/// The criteria of a conditional write; a resource has to match all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionalWriteCriteria {
    /// Filters on elements.
    pub filters: Vec<ElementEqualityFilter>,
    /// The search by search parameters, which an engine answers from its index.
    pub search: Option<Box<ConditionalWriteSearch>>,
}

/// The reason why criteria cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CriteriaParseError {
    /// A condition on an element, or one that says nothing.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A condition by a search parameter.
    #[error(transparent)]
    Search(#[from] SearchError),
}

impl From<Vec<ElementEqualityFilter>> for ConditionalWriteCriteria {
    fn from(filters: Vec<ElementEqualityFilter>) -> Self {
        Self { filters, search: None }
    }
}

impl FromIterator<ElementEqualityFilter> for ConditionalWriteCriteria {
    fn from_iter<T: IntoIterator<Item = ElementEqualityFilter>>(filters: T) -> Self {
        filters.into_iter().collect::<Vec<_>>().into()
    }
}

impl ConditionalWriteCriteria {
    /// Parses criteria whose names are elements and that are all equalities.
    ///
    /// # Errors
    /// See [`query_parsing::parse_condition_filters`].
    pub fn parse_element_criteria(text: &str) -> Result<Self, CriteriaParseError> {
        Ok(query_parsing::parse_condition_filters(text)?.into())
    }

    /// Parses criteria whose names are search parameters or element paths (`.name.family`).
    ///
    /// # Errors
    /// [`CriteriaParseError`], also for a parameter that selects no resources, such as `_count`, `_sort` or `_include`.
    pub fn parse_search_criteria(
        catalog: &SearchParameterCatalog,
        request: &SearchParseContext<'_>,
        text: &str,
    ) -> Result<Self, CriteriaParseError> {
        let pairs: Vec<_> = form_urlencoded::parse(query_parsing::strip_condition_prefix(text).as_bytes()).collect();
        if let Some((name, _)) = pairs.iter().find(|(name, _)| fhir_search::is_search_result_parameter(name)) {
            return Err(SearchError::Unsupported(name.to_string()).into());
        }
        let (paths, named): (Vec<_>, Vec<_>) = pairs.iter().partition(|(name, _)| name.starts_with('.'));
        let paths = paths.iter().map(|(name, value)| (name.as_ref(), value.as_ref()));
        let filters = query_parsing::parse_list_query(request.resource_type.clone(), paths)?.filters;
        let named = named.iter().map(|(name, value)| match name.as_ref() {
            "id" => ("_id", value.as_ref()),
            name => (name, value.as_ref()),
        });
        let request = SearchParseContext { handling: UnknownParameterHandling::Strict, ..*request };
        let (search, _) = fhir_search::parse_search(catalog, &request, named)?;
        if search.clauses.is_empty() && filters.is_empty() {
            return Err(QueryError::Empty.into());
        }
        let search = (!search.clauses.is_empty())
            .then(|| Box::new(ConditionalWriteSearch { search, base_url: request.base_url.to_owned() }));
        Ok(Self { filters, search })
    }

    /// Returns the resource types that the chains of the criteria lead to.
    #[must_use]
    pub fn chained_resource_types(&self) -> BTreeSet<&ResourceType> {
        self.search.iter().flat_map(|condition| condition.chained_resource_types()).collect()
    }

    /// Returns whether a resource matches the criteria. Criteria on other resources need a `resolver`.
    #[must_use]
    pub fn matches_resource(&self, stored: &StoredResource, resolver: Option<&dyn ReferenceResolver>) -> bool {
        let found = self.search.as_ref().is_none_or(|condition| condition.matches_resource(stored, resolver));
        found && self.filters.iter().all(|filter| filter.matches_resource(stored))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<ConditionalWriteCriteria, CriteriaParseError> {
        let resource_type = "Patient".parse().unwrap();
        ConditionalWriteCriteria::parse_search_criteria(
            &SearchParameterCatalog::with_r4_only(),
            &SearchParseContext::strict(&resource_type, "https://payer.example/fhir", 0),
            text,
        )
    }

    fn is_met(text: &str) -> bool {
        let body = json!({"name": [{"family": "Muster"}], "identifier": [{"system": "http://s", "value": "1"}]});
        let stored = StoredResource { key: "Patient/p".parse().unwrap(), version: 1, updated_us: 5, resource: body };
        read(text).unwrap().matches_resource(&stored, None)
    }

    #[test]
    fn parameters_and_paths_have_to_be_met_together() {
        for text in [
            "identifier=http://s|1",
            "Patient?identifier=http%3A%2F%2Fs%7C1&family=must",
            "?_id=p",
            "id=p",
            ".name.family=Muster&identifier=1",
            ".name.family=Muster",
            "identifier=1&_format=json",
        ] {
            assert!(is_met(text), "{text}");
        }
        for text in ["identifier=http://t|1", "identifier=1&family=other", "identifier=1&.name.family=Other", "id=q"] {
            assert!(!is_met(text), "{text}");
        }
    }

    #[test]
    fn nothing_of_a_condition_is_passed_over() {
        for text in [
            "identifier=1&unheard=of",
            "identifier=1&family=",
            "identifier=1&_count=1",
            "identifier=1&_sort=family",
            "identifier=1&_include=Patient:organization",
            "identifier=1&_revinclude:iterate=Observation:patient",
            "identifier=1&_summary=count",
            "identifier=1&_elements=id",
            "identifier=1&_total=none",
            "identifier=1&_cursor=x",
            "identifier=1&_text=x",
            "birthdate=soon",
        ] {
            assert!(matches!(read(text), Err(CriteriaParseError::Search(_))), "{text}");
        }
    }

    #[test]
    fn a_condition_that_selects_nothing_is_none() {
        for text in ["", "?", "Patient?", "_format=json", "&"] {
            assert_eq!(read(text), Err(QueryError::Empty.into()), "{text}");
        }
    }

    #[test]
    fn a_question_mark_in_a_value_takes_nothing_away_from_the_condition() {
        assert!(!is_met("identifier=x?_id=p"), "it is one value, and no condition on the id");
        assert_eq!(
            ConditionalWriteCriteria::parse_element_criteria("a=b?id=p").unwrap(),
            vec![ElementEqualityFilter::new(["a"], "b?id=p")].into()
        );
    }

    #[test]
    fn without_others_a_chain_is_met_by_no_resource() {
        assert!(!is_met("general-practitioner.name=x"));
        assert_eq!(read("general-practitioner:Practitioner.name=x").unwrap().chained_resource_types().len(), 1);
    }
}
