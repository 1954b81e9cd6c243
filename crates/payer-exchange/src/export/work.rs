//! The work of an export: which types, whose resources, which elements.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use fhir_resource::ResourceType;
use fhir_resource::compartment::{self, CompartmentMembership, membership};
use fhir_search::{SearchContext, SearchParameterCatalog};
use fhir_store::selection::{
    AccessFilter, FilterBranch, FilterCriterion, GroupOwnership, ScopeSearch, UnsupportedCriterionError,
};
use serde::{Deserialize, Serialize};

use crate::consent::ConsentRule;

/// Parameters of a search that all have to hold, decoded.
pub type SearchParameters = Vec<(String, String)>;

/// The work of an export job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportWork {
    /// The types to write, each once, in the order of their files.
    pub types: Vec<TypeExport>,
    /// Whose resources.
    pub subjects: ExportSubjects,
    /// Only what was written after this, unix microseconds.
    pub since_us: Option<i64>,
    /// Only what was written before this, unix microseconds.
    pub until_us: Option<i64>,
    /// Which members' consent is asked before anything of theirs is written.
    pub consent: Option<ConsentRule>,
    /// What is left of a resource.
    pub shape: ElementSelection,
}

/// A type of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeExport {
    /// The name of the type; stored jobs have it as `kind`.
    #[serde(rename = "kind")]
    pub resource_type: String,
    /// Of each of these a resource has to meet one query: what scopes leave open, what `_typeFilter` asks for.
    pub within: Vec<Vec<SearchParameters>>,
    /// The elements that are left of a resource beside what names it; all where it is empty.
    #[serde(default)]
    pub elements: Vec<String>,
    /// Of Groups, those that are written; all of them for the administrator.
    #[serde(default)]
    pub ownership: Option<GroupOwnership>,
}

/// The context in which export queries are parsed.
#[derive(Clone, Copy, Debug)]
pub struct QueryTerms<'a> {
    /// `{base_url}/fhir`, without a slash at the end.
    pub base_url: &'a str,
    /// The time in unix microseconds: what `ap` of a date is measured from.
    pub now_us: i64,
}

/// The patients whose resources an export holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExportSubjects {
    /// Everything, also what is about no patient.
    Everything,
    /// What is in the compartment of any patient.
    Patients,
    /// What is in the compartments of these patients, by their ids.
    These(BTreeSet<String>),
}

/// The elements of a resource that an export keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ElementSelection {
    /// All of it.
    Whole,
    /// No prior authorizations of drugs, no amounts of money; of claims only those served since `claims_since_us`, unix microseconds,
    /// where it says when.
    DaVinci {
        /// `None` for claims of any time.
        claims_since_us: Option<i64>,
    },
}

/// Returns whether resources of this type are exported at all, at the level of the system or of patients.
///
/// Not specified; a type that may hold data of any patient without saying of whom (a Bundle), or that is the
/// platform's own (a Client), is not. Groups name members and are exported with the system alone.
#[must_use]
pub fn exportable(resource_type: &ResourceType, subjects: &ExportSubjects) -> bool {
    match membership(resource_type) {
        CompartmentMembership::Itself | CompartmentMembership::Reference(_) => true,
        CompartmentMembership::Shared => matches!(subjects, ExportSubjects::Everything),
        CompartmentMembership::Closed => {
            resource_type.as_str() == "Group" && matches!(subjects, ExportSubjects::Everything)
        }
    }
}

impl ExportSubjects {
    /// Returns the types an export without `_type` asks for.
    #[must_use]
    pub fn default_types(&self) -> Vec<&'static str> {
        let mut types: Vec<&'static str> = std::iter::once("Patient").chain(compartment::types()).collect();
        if matches!(self, Self::Everything) {
            types.extend(compartment::shared_types().chain(["Group"]));
        }
        types
    }
}

/// Returns what of a type meets any of the queries: by R4's search parameters, as far as a resource alone decides.
///
/// # Errors
/// When one of them is of a parameter that is not applied.
pub fn selection(
    resource_type: &ResourceType,
    any: &[SearchParameters],
    terms: QueryTerms<'_>,
) -> Result<AccessFilter, UnsupportedCriterionError> {
    let catalog = LazyCell::new(SearchParameterCatalog::base);
    let request = SearchContext::strict(resource_type, terms.base_url, terms.now_us);
    let criterion = |(name, value): &(String, String)| {
        FilterCriterion::read(resource_type, name, value)
            .or_else(|_| ScopeSearch::read(&catalog, &request, (name, value)).map(FilterCriterion::Search))
    };
    let region = |query: &SearchParameters| {
        let criteria = query.iter().map(criterion);
        Ok(FilterBranch { compartment: None, criteria: criteria.collect::<Result<_, UnsupportedCriterionError>>()? })
    };
    Ok(AccessFilter::union(any.iter().map(region).collect::<Result<_, _>>()?))
}
