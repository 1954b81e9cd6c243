//! FHIR resources as JSON documents: what they are named by, how they are found, how they are
//! written under conditions and together, and how they are spelled.
//!
//! The crate owns the resource model ([`ports`]), the rules of a transaction ([`plan`]), Bundles
//! ([`bundle`]), list queries ([`query`]), the criteria of conditional writes ([`mod@criteria`]), histories ([`history`]), references ([`mod@reference`]), those by criteria ([`conditional_reference`]), the
//! patient compartment ([`compartment`]) and what of a type a caller reaches ([`selection`]), search
//! without a database ([`search`]), the native and the FHIR
//! spelling ([`mod@format`]), the shape every body has to have ([`shape`]), patches ([`mod@patch`])
//! `OperationOutcome` ([`outcome`]) and what a `CapabilityStatement` says of searches ([`capability`]). It knows what the types of FHIR R4 are made of ([`definitions`]), and shows as much of one as was asked for ([`mod@subset`]). It refuses OAuth, HTTP and SQL: it has no status codes
//! but those a Bundle carries in its entries, opens nothing, reads no clock (the time is an
//! argument in unix microseconds) and makes no random id (the engine brings it).
//!
//! # The key decision
//! A resource stays the JSON its writer sent. There is no struct per resource type: which types exist is up to
//! the deployment, what no definition knows survives, and what an element of the platform's own types has to be
//! is checked by the crate that reads it. Typed models were the road not taken. They would lose every element
//! they do not know, and cost a program of the size of R4; the definitions are data here, and judge a document
//! only where somebody asks.
//!
//! The second one: deciding is apart from doing. [`plan`] says as pure functions what a write
//! means given what is stored; an engine runs two passes of it inside one transaction. So the
//! rules are tested once, without a database, and every engine obeys the same ones.
//! [`memory::MemoryStore`] is the shortest engine, for tests and for programs that keep nothing.
//!
//! # Example
//! A transaction Bundle whose Client refers to an Organization of the same Bundle:
//!
//! ```
//! use fhir_store::{bundle, plan, WriteCriteria, ResourceLookup, ResourceKey};
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

pub mod bundle;
pub mod capability;
pub mod compartment;
pub mod conditional_reference;
pub mod criteria;
pub mod definitions;
pub mod filter;
pub mod format;
pub mod history;
pub mod key;
pub mod limits;
pub mod match_group;
pub mod memory;
pub mod outcome;
pub mod patch;
pub mod plan;
pub mod ports;
pub mod query;
pub mod reference;
pub mod search;
pub mod selection;
pub mod shape;
pub mod subset;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use compartment::Compartment;
pub use criteria::{CriteriaError, SearchCondition, WriteCriteria};
pub use filter::{Filter, FilterValue};
pub use history::{HistoryPage, HistoryQuery, HistoryRange, Version};
pub use key::{ResourceId, ResourceKey, ResourceType};
pub use ports::{
    IfMatch, ListPage, ListQuery, MatchCounting, PatchDocument, Precondition, ReferringResources, ResourceLookup,
    ResourceStore, SearchExecutionError, SearchMatches, SearchQuery, SearchStore, StoreError, StoredResource,
    StoredText, TransactionError, Write, WriteError, WriteOperation, WriteOutcome,
};
pub use selection::{AccessFilter, FilterBranch, WriteAccess};

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
