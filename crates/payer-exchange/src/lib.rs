//! Data exchange between payers: finding members, asking their consent, and the exports that follow.
//!
//! **Owns** member match ([`member_match`]), whether a Consent allows anything of a member to be shared ([`consent`]),
//! the parameters and lines of a bulk export ([`bulk_export`]), the Da Vinci export of a Group ([`davinci_export`]) and
//! what of claims is part of it ([`claim_filter`]), the identifier by which another payer asks for a member later
//! ([`member_identifier`]), and what a job is ([`jobs`], [`build_manifest()`]).
//!
//! **Refuses** OAuth, HTTP and SQL. Stored records come from a [`MemberMatchStore`], and jobs are in a
//! [`jobs::JobStore`].
//!
//! **Key decision:** a decision is a function of what was sent and what is stored, so it is tested without a database,
//! and a job that another node continues decides the same. **Road not taken:** a store that decides; it would repeat
//! every rule in SQL of two engines.
//!
//! # Source
//! HL7 Da Vinci `HRex` and `PDex`, HL7 Bulk Data Access; `docs/decisions.md`, "Member match" and "Exports".
//!
//! # Example
//! ```
//! use payer_exchange::bulk_export::ExportParameters;
//!
//! let sent = [("_type".to_owned(), "Patient,Observation".to_owned()), ("_elements".to_owned(), "id".to_owned())];
//! let parameters = ExportParameters::from_query(&sent, ExportParameters::COMMON_PARAMETER_NAMES)?;
//! assert_eq!(parameters.types.map(|types| types.len()), Some(2));
//!
//! let unknown = [("_summary".to_owned(), "true".to_owned())];
//! let refused = ExportParameters::from_query(&unknown, ExportParameters::COMMON_PARAMETER_NAMES).unwrap_err();
//! assert_eq!(refused.to_string(), "Unsupported parameter(s): _summary");
//! # Ok::<(), payer_exchange::bulk_export::ExportParametersError>(())
//! ```

pub mod bulk_export;
pub mod claim_filter;
pub mod consent;
pub mod davinci_export;
mod elements;
pub mod jobs;
mod manifest;
pub mod member_identifier;
pub mod member_match;
mod requester;
mod store;

pub use manifest::{ExportManifestInput, build_manifest};
pub use requester::{MatchRequesterKind, RequestingOrganization};
pub use store::MemberMatchStore;

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
