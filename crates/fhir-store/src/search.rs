//! FHIR search without a database: which parameters there are, what a resource puts into the index,
//! what a query asks for, and whether a resource is what it asks for.
//!
//! Four steps, each usable alone:
//!
//! 1. A [`SearchParameterCatalog`] says which [`SearchParameter`]s each type has: R4's own, and those of installed
//!    `SearchParameter` resources. Their expressions are compiled once.
//! 2. [`SearchParameterCatalog::entries`] evaluates them on a resource: pairs of a parameter's number and an [`IndexEntry`],
//!    which an engine keeps as rows beside the resource.
//! 3. [`parse`] reads a query string into a [`SearchRequest`]: [`SearchClause`]s that all have to hold, each about the
//!    entries of one parameter.
//! 4. [`SearchRequest::matches`] decides in memory. An engine compiles the same clauses into a statement over
//!    the rows; both obey [`Predicate::holds`], which is written without anything SQL could not say.
//!
//! # The key decision
//! A comparison is made when the resource is written as far as it can be: dates are ranges of
//! microseconds, numbers ranges of doubles, names folded. What is left for the query is equality,
//! beginnings and order, which every index answers. The road not taken evaluates expressions when
//! searching: no rows to keep, and every search reads every resource.
//!
//! # Example
//! ```
//! use fhir_store::search::{self, SearchParameterCatalog, IndexedDocument, SearchContext};
//! use serde_json::json;
//!
//! let catalog = SearchParameterCatalog::base();
//! let kind = "Patient".parse()?;
//! let request = SearchContext::strict(&kind, "https://payer.example/fhir", 0);
//! let (search, _) = search::parse(&catalog, &request, [("family", "Müll"), ("birthdate", "lt2000")])?;
//!
//! let body = json!({"name": [{"family": "MULLER"}], "birthDate": "1999-12-31"});
//! let document = IndexedDocument { kind: &kind, id: "1", updated_us: 0, body: &body, own: request.own };
//! assert_eq!(search.matches(&document, None), Ok(true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Source
//! FHIR R4 (4.0.1), Search.

mod catalog;
mod clause;
mod entry;
pub(crate) mod escape;
mod expression;
mod fault;
mod fold;
mod implied;
mod matching;
mod parameter;
mod parse;
mod range;
mod target;

pub use catalog::{
    COMPARTMENT, FIRST_INSTALLED, SearchParameterCatalog, SearchParameterError, UnusableSearchParameter,
};
pub use clause::{
    ChainedClause, Include, IncludeTarget, Predicate, ReverseChain, SearchClause, SearchRequest, SortCriterion,
    SummaryMode, SystemMatch, TextMatch, TotalMode, UnitMatch, UriMatch,
};
pub use entry::{IndexEntry, IndexedDocument};
pub use expression::ExpressionError;
pub use fault::{IgnoredParameter, SearchError};
pub use fold::folded;
pub use matching::{ReferenceResolver, UnresolvedCondition, ValueSetCoding};
pub use parameter::{CompositeComponent, IndexColumn, ParameterSummary, ParameterType, SearchParameter};
pub use parse::{SearchContext, UnknownParameterHandling, is_about_the_answer, parse, view};
pub use range::{ComparisonPrefix, RangeComparison};
