//! FHIR search without a database: search parameters, the index rows of a resource, queries, matching.
//!
//! **Owns** four steps, each usable alone:
//!
//! 1. A [`SearchParameterCatalog`] has the [`CompiledSearchParameter`]s of each type: R4's own, and those of installed
//!    `SearchParameter` resources. Their expressions are compiled once.
//! 2. [`SearchParameterCatalog::index_entries_of`] evaluates them on a resource: pairs of a parameter's number and an
//!    [`IndexEntry`], which an engine stores as rows beside the resource.
//! 3. [`parse_search`] reads a query string into a [`SearchRequest`]: [`SearchClause`]s that must all hold, each about
//!    the entries of one parameter; chains, `_has`, the order, `_include` and `_revinclude`.
//! 4. [`SearchRequest::matches`] decides in memory. An engine compiles the same clauses into a statement over the rows;
//!    both obey [`IndexEntryPredicate::matches_entry`], which is written without anything SQL could not express.
//!
//! [`search_capability`] lists what can be searched for, for a `CapabilityStatement`.
//!
//! **Refuses** storage, HTTP and access rules. It reads no clock: the time is an argument.
//!
//! **Key decision:** a comparison is made when the resource is written as far as it can be: dates are ranges of
//! microseconds, numbers ranges of doubles, names folded. What is left for the query is equality, beginnings and order,
//! which every index answers. **Road not taken:** evaluating expressions at the search: there would be no rows to
//! store, and every search would read every resource.
//!
//! The crate is below `fhir-store`, because the condition of a write is a search ([`ConditionalWriteSearch`]) and so is
//! the query of a granular scope.
//!
//! # Example
//! ```
//! use fhir_search::{IndexedDocument, SearchParseContext, SearchParameterCatalog};
//! use serde_json::json;
//!
//! let catalog = SearchParameterCatalog::with_r4_only();
//! let resource_type = "Patient".parse()?;
//! let request = SearchParseContext::strict(&resource_type, "https://payer.example/fhir", 0);
//! let (search, _) = fhir_search::parse_search(&catalog, &request, [("family", "Müll"), ("birthdate", "lt2000")])?;
//!
//! let body = json!({"name": [{"family": "MULLER"}], "birthDate": "1999-12-31"});
//! let base_url = request.base_url;
//! let document = IndexedDocument { resource_type: &resource_type, id: "1", updated_us: 0, body: &body, base_url };
//! assert_eq!(search.matches(&document, None), Ok(true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Source
//! FHIR R4 (4.0.1), Search.

mod catalog;
mod clause;
mod condition;
mod date;
mod decimal;
mod entry;
mod error;
mod expression;
mod fold;
mod implied;
pub mod limits;
mod matching;
mod parameter;
mod parse;
mod range;
pub mod search_capability;
pub mod search_value_escaping;
mod target;

pub use catalog::{
    FIRST_INSTALLED_PARAMETER_NUMBER, SearchParameterCatalog, SearchParameterDefinitionError, UnusableSearchParameter,
};
pub use clause::{
    ChainedClause, CodeSystemMatch, IncludeClause, IncludeReferences, IndexEntryPredicate, QuantityUnitMatch,
    ReverseChainedClause, SearchClause, SearchRequest, SortCriterion, StringMatchMode, SummaryMode, TotalMode,
    UriMatchMode,
};
pub use condition::ConditionalWriteSearch;
pub use entry::{IndexEntry, IndexedDocument};
pub use error::{IgnoredSearchParameter, SearchError};
pub use expression::ExpressionCompileError;
pub use fold::fold_case_and_accents;
pub use matching::{ReferenceResolver, UndecidableConditionError, ValueSetCoding};
pub use parameter::{
    COMPARTMENT_PARAMETER_NUMBER, CompiledSearchParameter, CompositeComponent, ResourceColumn, SearchParameterSummary,
    SearchParameterType,
};
pub use parse::{
    SearchParseContext, UnknownParameterHandling, is_search_result_parameter, parse_search, parse_summary_and_elements,
};
pub use range::{ComparisonPrefix, RangeComparison};

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
