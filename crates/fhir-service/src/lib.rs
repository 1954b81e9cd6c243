//! One request at the resource endpoints of the authorization server, from an identified caller to the document that
//! answers it.
//!
//! Owned here: access (scopes and policies become an `AccessFilter`), validation, the write pipeline (validate,
//! convert, hash secrets, store), searches and lists, Bundles, histories, the operations, and the audit record of each
//! call of an operation of payers.
//!
//! Refused here: headers, status codes, routes and pages, which are the HTTP crate's; SQL; the clock of the machine.
//! The rules of OAuth are [`oauth_core`]'s, those of resources [`fhir_store`]'s.
//!
//! The decision that shapes the crate: **every function takes the [`FhirService`](service_state::FhirService) and a
//! [`RequestContext`](request_context::RequestContext) of plain values, and returns a document or a cause.** What a
//! caller may do is decided before anything is read, and goes as a filter into the statement that reads or writes. The
//! road not taken is a check of what a statement found: totals would be wrong, and a resource could change between the
//! check and the write. An entry of a Bundle has its own check, by the same functions as a separate request.
//!
//! ```
//! use fhir_service::error::ServiceError;
//! use fhir_service::request_context::RequestContext;
//! use fhir_service::search::{self, SearchScope};
//! use fhir_service::service_state::FhirService;
//!
//! /// Returns the Patients that the caller may see, as a Bundle.
//! async fn patients(service: &FhirService, context: &RequestContext) -> Result<Vec<u8>, ServiceError> {
//!     let Ok(patient) = "Patient".parse() else { return Ok(Vec::new()) };
//!     search::search_resources(service, context, SearchScope::of_type(&patient)).await
//! }
//! ```

pub mod service_state;

// A request, as plain values.
pub mod prefer_header;
pub mod request_context;
pub mod request_query;
pub mod resource_format;

// What the caller may do.
pub mod access;
mod access_filter;
mod policy_request;

// Reading.
pub mod everything;
pub mod history;
pub mod representation;
pub mod resource_lookup;
pub mod search;
pub mod summary_view;

// Writing.
pub mod bundle;
mod conditional_references;
pub mod migration_run;
pub mod patch;
mod planned_write;
pub mod single_write;
mod write;
pub mod write_criteria;
pub mod write_remarks;
mod write_target;

// What a resource has to be.
pub mod brand_type_names;
mod known_types;
mod secret_hasher;
mod security_resources;
pub mod validation;

// Operations.
pub mod b2b_claim;
mod capability_cache;
pub mod capability_statement;
pub mod explain_access;
pub mod export;
pub mod jobs;
mod member_identifier;
pub mod member_match;
mod operation_audit;
pub mod packages;
mod payer;

pub mod error;
pub mod limits;
mod request_budget;

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
