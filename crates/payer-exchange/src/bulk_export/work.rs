//! The work of an export: which types, whose resources, which elements.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use fhir_resource::ResourceType;
use fhir_resource::patient_compartment::{self, CompartmentMembership, patient_compartment_membership};
use fhir_search::{SearchParameterCatalog, SearchParseContext};
use fhir_store::access_filter::{
    AccessFilter, AccessFilterBranch, AccessFilterCriterion, GranularScopeSearch, GroupOwnershipFilter,
    UnsupportedCriterionError,
};
use serde::{Deserialize, Serialize};

use crate::consent::ExportConsentRule;

/// Decoded search parameters, all of which must match.
pub type SearchParameterPairs = Vec<(String, String)>;

/// The work of an export job, as it is stored: types, subjects, times, consent and elements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportWork {
    /// The types to write, each once, in the order of their files.
    pub types: Vec<ExportedType>,
    /// The patients whose resources are exported.
    pub subjects: ExportSubjects,
    /// Only resources written later than this time, UNIX microseconds.
    pub since_us: Option<i64>,
    /// Only resources written earlier than this time, UNIX microseconds.
    pub until_us: Option<i64>,
    /// The rule of consent, which is checked before any resource of a member is written; `None` when no consent is
    /// required.
    pub consent: Option<ExportConsentRule>,
    /// The elements that are written of a resource.
    pub shape: ElementSelection,
}

/// A resource type in an export, with its queries and elements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedType {
    /// The name of the type; stored jobs have it as `kind`.
    #[serde(rename = "kind")]
    pub resource_type: String,
    /// Lists of queries, from scopes and from `_typeFilter`; a resource must meet one query of each list.
    pub within: Vec<Vec<SearchParameterPairs>>,
    /// The elements that are written of a resource beside the mandatory ones; all of them when empty.
    #[serde(default)]
    pub elements: Vec<String>,
    /// For Groups, the filter of those that are written; `None` for all of them, for the administrator.
    #[serde(default)]
    pub ownership: Option<GroupOwnershipFilter>,
}

/// The base URL and the time that the queries of an export are parsed with.
#[derive(Clone, Copy, Debug)]
pub struct ExportQueryContext<'a> {
    /// `{base_url}/fhir`, without a slash at the end.
    pub base_url: &'a str,
    /// The current time in UNIX microseconds, which `ap` of a date is relative to.
    pub now_us: i64,
}

/// The patients whose resources an export holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExportSubjects {
    /// All resources, also those that are about no patient.
    Everything,
    /// The resources in the compartment of any patient.
    Patients,
    /// The resources in the compartments of these patients, by their ids.
    These(BTreeSet<String>),
}

/// The elements of a resource that an export keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ElementSelection {
    /// The whole resource.
    Whole,
    /// Without amounts of money, and without prior authorizations of drugs and claims that were served before
    /// `claims_since_us`.
    DaVinci {
        /// UNIX microseconds; `None` for claims of any time.
        claims_since_us: Option<i64>,
    },
}

/// Returns whether resources of this type can be exported at this level.
///
/// Not specified. Types that may hold data of any patient without saying of whom (a Bundle), and types of the platform
/// (a Client), are not exported. Groups name members, so they are exported with the whole system alone.
#[must_use]
pub fn is_type_exportable(resource_type: &ResourceType, subjects: &ExportSubjects) -> bool {
    match patient_compartment_membership(resource_type) {
        CompartmentMembership::Itself | CompartmentMembership::Reference(_) => true,
        CompartmentMembership::Shared => matches!(subjects, ExportSubjects::Everything),
        CompartmentMembership::Closed => {
            resource_type.as_str() == "Group" && matches!(subjects, ExportSubjects::Everything)
        }
    }
}

impl ExportSubjects {
    /// Returns the types that an export without `_type` has.
    #[must_use]
    pub fn default_types(&self) -> Vec<&'static str> {
        let mut types: Vec<&'static str> =
            std::iter::once("Patient").chain(patient_compartment::patient_compartment_types()).collect();
        if matches!(self, Self::Everything) {
            types.extend(patient_compartment::patient_independent_types().chain(["Group"]));
        }
        types
    }
}

/// Compiles search queries into an access filter of the resources that match any of them.
///
/// # Errors
/// [`UnsupportedCriterionError`] for a query with a parameter that is not supported.
pub fn access_filter_of_queries(
    resource_type: &ResourceType,
    any: &[SearchParameterPairs],
    terms: ExportQueryContext<'_>,
) -> Result<AccessFilter, UnsupportedCriterionError> {
    let catalog = LazyCell::new(SearchParameterCatalog::with_r4_only);
    let request = SearchParseContext::strict(resource_type, terms.base_url, terms.now_us);
    let criterion = |(name, value): &(String, String)| {
        AccessFilterCriterion::parse(resource_type, name, value).or_else(|_| {
            GranularScopeSearch::parse(&catalog, &request, (name, value)).map(AccessFilterCriterion::Search)
        })
    };
    let region = |query: &SearchParameterPairs| {
        let criteria = query.iter().map(criterion);
        Ok(AccessFilterBranch {
            compartment: None,
            criteria: criteria.collect::<Result<_, UnsupportedCriterionError>>()?,
        })
    };
    Ok(AccessFilter::union_of_branches(any.iter().map(region).collect::<Result<_, _>>()?))
}
