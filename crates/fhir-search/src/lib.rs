//! FHIR search without a database: search parameters, the index rows of a resource, queries, matching.
//!
//! **Owns** four steps, each usable alone:
//!
//! 1. A [`SearchParameterCatalog`] has the [`SearchParameter`]s of each type: R4's own, and those of installed
//!    `SearchParameter` resources. Their expressions are compiled once.
//! 2. [`SearchParameterCatalog::entries`] evaluates them on a resource: pairs of a parameter's number and an
//!    [`IndexEntry`], which an engine stores as rows beside the resource.
//! 3. [`parse`] reads a query string into a [`SearchRequest`]: [`SearchClause`]s that must all hold, each about the
//!    entries of one parameter; chains, `_has`, the order, `_include` and `_revinclude`.
//! 4. [`SearchRequest::matches`] decides in memory. An engine compiles the same clauses into a statement over
//!    the rows; both obey [`Predicate::holds`], which is written without anything SQL could not express.
//!
//! [`capability`] lists what can be searched for, for a `CapabilityStatement`.
//!
//! **Refuses** storage, HTTP and access rules. It reads no clock: the time is an argument.
//!
//! **Key decision:** a comparison is made when the resource is written as far as it can be: dates are ranges of
//! microseconds, numbers ranges of doubles, names folded. What is left for the query is equality,
//! beginnings and order, which every index answers. **Road not taken:** evaluating expressions at the search: there would
//! be no rows to store, and every search would read every resource.
//!
//! The crate is below `fhir-store`, because the condition of a write is a search ([`SearchCondition`]) and so is the query
//! of a granular scope.
//!
//! # Example
//! ```
//! use fhir_search::{IndexedDocument, SearchContext, SearchParameterCatalog};
//! use serde_json::json;
//!
//! let catalog = SearchParameterCatalog::base();
//! let resource_type = "Patient".parse()?;
//! let request = SearchContext::strict(&resource_type, "https://payer.example/fhir", 0);
//! let (search, _) = fhir_search::parse(&catalog, &request, [("family", "Müll"), ("birthdate", "lt2000")])?;
//!
//! let body = json!({"name": [{"family": "MULLER"}], "birthDate": "1999-12-31"});
//! let document = IndexedDocument { resource_type: &resource_type, id: "1", updated_us: 0, body: &body, base_url: request.base_url };
//! assert_eq!(search.matches(&document, None), Ok(true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Source
//! FHIR R4 (4.0.1), Search.

pub mod capability;
mod catalog;
mod clause;
mod condition;
mod date;
mod decimal;
mod entry;
mod error;
pub mod escape;
mod expression;
mod fold;
mod implied;
pub mod limits;
mod matching;
mod parameter;
mod parse;
mod range;
mod target;

pub use catalog::{FIRST_INSTALLED, SearchParameterCatalog, SearchParameterError, UnusableSearchParameter};
pub use clause::{
    ChainedClause, Include, IncludeTarget, Predicate, ReverseChain, SearchClause, SearchRequest, SortCriterion,
    SummaryMode, SystemMatch, TextMatch, TotalMode, UnitMatch, UriMatch,
};
pub use condition::SearchCondition;
pub use entry::{IndexEntry, IndexedDocument};
pub use error::{IgnoredParameter, SearchError};
pub use expression::ExpressionError;
pub use fold::folded;
pub use matching::{ReferenceResolver, UnresolvedConditionError, ValueSetCoding};
pub use parameter::{COMPARTMENT, CompositeComponent, IndexColumn, ParameterSummary, ParameterType, SearchParameter};
pub use parse::{SearchContext, UnknownParameterHandling, is_about_the_answer, parse, view};
pub use range::{ComparisonPrefix, RangeComparison};

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
