//! Transactions on FHIR resources: what a write means given what is stored, Bundles, conditions, histories, outcomes.
//!
//! **Owns** the ports of a store ([`ports`]), the rules of a transaction ([`transaction_plan`]), Bundles ([`bundle`]),
//! list queries ([`query_parsing`]), the criteria of conditional writes ([`mod@write_criteria`]) and references by
//! criteria ([`conditional_reference`]), histories ([`history`]), what of a type a caller reaches ([`access_filter`]),
//! the form that every body must have ([`mod@body_validation`]), patches ([`mod@patch`]), writes in FHIR's format
//! ([`write_conversion`]), the elements that a reader asked for ([`mod@resource_subset`]), and `OperationOutcome`
//! ([`operation_outcome`]).
//!
//! **Refuses** OAuth, HTTP and SQL: it has no status codes but those a Bundle carries in its entries, opens nothing,
//! reads no clock (the time is an argument in unix microseconds) and makes no random id (the engine brings it). It has
//! no rules of types: a check of what a patch makes is given to it with the write.
//!
//! **Key decision:** deciding is apart from doing. [`transaction_plan`] says as pure functions what a write
//! means given what is stored; an engine runs two passes of it inside one transaction. So the
//! rules are tested once, without a database, and every engine obeys the same ones.
//! [`memory_store::MemoryStore`] is the shortest engine, for tests and for programs that need no durable store.
//!
//! # Example
//! A transaction Bundle whose Client refers to an Organization of the same Bundle:
//!
//! ```
//! use fhir_resource::ResourceKey;
//! use fhir_store::{ResourceLookup, ConditionalWriteCriteria, bundle, transaction_plan};
//! use serde_json::json;
//!
//! let body = json!({
//!     "resourceType": "Bundle", "type": "transaction",
//!     "entry": [
//!         {"fullUrl": "urn:uuid:a", "request": {"method": "PUT", "url": "Organization/payer-1"},
//!          "resource": {"name": "Payer"}},
//!         {"request": {"method": "POST", "url": "Client", "ifNoneExist": "id=c1"},
//!          "resource": {"id": "c1", "organization": {"reference": "urn:uuid:a"}}},
//!     ],
//! });
//! let parse_criteria = |_: &_, text: &str| ConditionalWriteCriteria::parse_element_criteria(text);
//! let entries = bundle::parse_request_bundle(body, &parse_criteria)?.into_entries_by_action();
//! let writes: Vec<_> = entries.writes.into_iter().map(|(_, write)| write).collect();
//!
//! // First pass: the condition of the Client found nothing.
//! let fresh = uuid::Uuid::from_u128(1).into();
//! let targets = writes.iter().map(|write| transaction_plan::resolve_write_target(write, &[], &fresh));
//! let targets = targets.collect::<Result<Vec<_>, _>>()?;
//! let urls = transaction_plan::collect_full_urls(&writes, &targets);
//!
//! // Second pass, for the Client.
//! let client = writes.into_iter().nth(1).ok_or("no client")?;
//! match transaction_plan::decide_write(client, &targets[1], ResourceLookup::Missing, &urls)? {
//!     transaction_plan::WriteDecision::Insert { key, resource } => {
//!         assert_eq!(key, "Client/c1".parse::<ResourceKey>()?);
//!         assert_eq!(resource, json!({"organization": {"reference": "Organization/payer-1"}}));
//!     }
//!     other => panic!("{other:?}"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod access_filter;
pub mod body_validation;
pub mod bundle;
pub mod conditional_reference;
pub mod element_filter;
pub mod history;
pub mod limits;
pub mod member_match_group;
pub mod memory_store;
pub mod operation_outcome;
pub mod patch;
pub mod ports;
pub mod query_parsing;
pub mod resource_subset;
pub mod transaction_plan;
pub mod write_conversion;
pub mod write_criteria;

pub use access_filter::{AccessFilter, AccessFilterBranch, WriteAccess};
pub use element_filter::{ElementEqualityFilter, FilterValue};
pub use history::{HistoryPage, HistoryPageRange, HistoryQuery, ResourceVersion};
pub use ports::{
    IfMatch, ListPage, ListQuery, MatchCountMode, PatchDocument, ResourceLookup, ResourceStore, ResourceWrite,
    RevincludeQuery, SearchExecutionError, SearchMatches, SearchQuery, SearchStore, StoreError, TransactionError,
    WriteError, WriteOperation, WriteOutcome, WritePrecondition,
};
pub use write_criteria::{ConditionalWriteCriteria, CriteriaParseError};

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
