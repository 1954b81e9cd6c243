//! Transactions on FHIR resources: what a write means given what is stored, Bundles, conditions, histories, outcomes.
//!
//! **Owns** the ports of a store ([`ports`]), the rules of a transaction ([`plan`]), Bundles ([`bundle`]), list queries
//! ([`query`]), the criteria of conditional writes ([`mod@criteria`]) and references by criteria
//! ([`conditional_reference`]), histories ([`history`]), what of a type a caller reaches ([`selection`]), the form that
//! every body must have ([`mod@body`]), patches ([`mod@patch`]), writes in FHIR's format ([`native_write`]), the elements that
//! a reader asked for ([`mod@subset`]), and `OperationOutcome` ([`outcome`]).
//!
//! **Refuses** OAuth, HTTP and SQL: it has no status codes but those a Bundle carries in its entries, opens nothing, reads
//! no clock (the time is an argument in unix microseconds) and makes no random id (the engine brings it). It has no rules
//! of types: a check of what a patch makes is given to it with the write.
//!
//! **Key decision:** deciding is apart from doing. [`plan`] says as pure functions what a write
//! means given what is stored; an engine runs two passes of it inside one transaction. So the
//! rules are tested once, without a database, and every engine obeys the same ones.
//! [`memory::MemoryStore`] is the shortest engine, for tests and for programs that need no durable store.
//!
//! # Example
//! A transaction Bundle whose Client refers to an Organization of the same Bundle:
//!
//! ```
//! use fhir_resource::ResourceKey;
//! use fhir_store::{ResourceLookup, WriteCriteria, bundle, plan};
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
//! let entries = bundle::read(body, &|_, text| WriteCriteria::by_elements(text))?.into_entries();
//! let writes: Vec<_> = entries.writes.into_iter().map(|(_, write)| write).collect();
//!
//! // First pass: the condition of the Client found nothing.
//! let fresh = uuid::Uuid::from_u128(1).into();
//! let targets: Vec<_> =
//!     writes.iter().map(|write| plan::resolve(write, &[], &fresh)).collect::<Result<_, _>>()?;
//! let urls = plan::full_urls(&writes, &targets);
//!
//! // Second pass, for the Client.
//! let client = writes.into_iter().nth(1).ok_or("no client")?;
//! match plan::decide(client, &targets[1], ResourceLookup::Missing, &urls)? {
//!     plan::WriteDecision::Insert { key, resource } => {
//!         assert_eq!(key, "Client/c1".parse::<ResourceKey>()?);
//!         assert_eq!(resource, json!({"organization": {"reference": "Organization/payer-1"}}));
//!     }
//!     other => panic!("{other:?}"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod body;
pub mod bundle;
pub mod conditional_reference;
pub mod criteria;
pub mod filter;
pub mod history;
pub mod limits;
pub mod match_group;
pub mod memory;
pub mod native_write;
pub mod outcome;
pub mod patch;
pub mod plan;
pub mod ports;
pub mod query;
pub mod selection;
pub mod subset;

pub use criteria::{CriteriaError, WriteCriteria};
pub use filter::{Filter, FilterValue};
pub use history::{HistoryPage, HistoryQuery, HistoryRange, Version};
pub use ports::{
    IfMatch, ListPage, ListQuery, MatchCounting, PatchDocument, Precondition, ReferringResources, ResourceLookup,
    ResourceStore, SearchExecutionError, SearchMatches, SearchQuery, SearchStore, StoreError, TransactionError, Write,
    WriteError, WriteOperation, WriteOutcome,
};
pub use selection::{AccessFilter, FilterBranch, WriteAccess};

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
