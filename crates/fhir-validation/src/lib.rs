//! Validation of FHIR R4 documents: by the base definitions, by installed profiles, with the codes of value sets.
//!
//! **Owns** the judgement of a document in FHIR's format ([`validate_fhir_document`]): names of elements, types of JSON
//! values, formats of primitives, cardinality, choices of types, required bindings, references and contained resources.
//! A [`CompiledProfile`] is an installed definition and validates what that requires besides. [`value_set_codes_by_url`]
//! lists the codes of installed value sets.
//!
//! **Refuses** HTTP, SQL and everything asynchronous but the source of installed definitions ([`CanonicalSource`]).
//!
//! **Key decision:** validation is pure, takes time linear in the document, and returns at most [`limits::MAX_ISSUES`]
//! issues, each with the path as a `FHIRPath`, what was expected and what was found. The definitions are data of
//! `fhir-store`, which formats and references need as well. **Road not taken:** an evaluator of the whole of
//! `FHIRPath`, for the sake of the invariants.
//!
//! # Not validated
//! - The invariants of the definitions. The few that cost little and that writers break most are written by hand.
//! - Bindings whose codes cannot be listed, such as media types and currencies; those that are not required.
//! - Whether the target of a reference exists, and what an absolute one that is no address of a resource leads to.
//! - The `id` of the resource itself: the address of a write decides on it, and takes more than FHIR does
//!   ([`fhir_resource::ResourceId`]).
//! - Types that R4 does not have, such as the platform's: [`validate_fhir_document`] returns `None`.
//!
//! # Source
//! HL7 FHIR R4 (4.0.1): Data Types, JSON Representation, References (contained resources), Narrative, Extensibility.
//!
//! # Example
//! ```
//! use fhir_validation::validate_fhir_document;
//! use serde_json::json;
//!
//! let patient = json!({"resourceType": "Patient", "gender": "female"});
//! assert_eq!(validate_fhir_document("Patient", &patient), Some(Vec::new()));
//! assert_eq!(validate_fhir_document("Client", &json!({})), None, "R4 has no such type");
//! ```

mod binding;
mod document;
mod document_path;
mod invariants;
pub mod limits;
mod narrative;
mod primitive;
mod profile;
mod reference;
mod report;
mod value_set;

use fhir_resource::format_conversion;
use fhir_resource::type_definitions::{self, StructureDefinition};
use fhir_store::operation_outcome::OutcomeIssue;
use serde_json::Value;

pub use profile::{CompiledProfile, UnusableProfileError};
pub use value_set::{CanonicalSource, value_set_codes_by_url};

/// Validates a document in FHIR's format against R4's definition of a type, and returns its issues, none for a valid
/// one; `None` when R4 has no such concrete type.
///
/// `resourceType` may be missing, because the address of a write contains it.
#[must_use]
pub fn validate_fhir_document(resource_type: &str, document: &Value) -> Option<Vec<OutcomeIssue>> {
    let structure = type_definitions::structure_definition(resource_type)
        .filter(|structure| StructureDefinition::is_concrete_resource(structure))?;
    Some(document::validate_document(resource_type, structure, document))
}

/// Validates a document in FHIR's format, the native one or a mixture against R4's definition of a type, and returns
/// its issues; `None` when R4 has no such concrete type.
///
/// A valid document in FHIR's format, as nearly all are, is visited once; any other is converted and validated again.
#[must_use]
pub fn validate_document_in_either_format(resource_type: &str, document: &Value) -> Option<Vec<OutcomeIssue>> {
    let issues = validate_fhir_document(resource_type, document)?;
    if issues.is_empty() {
        Some(issues)
    } else {
        validate_fhir_document(
            resource_type,
            &format_conversion::convert_typed_to_fhir(resource_type, document.clone()),
        )
    }
}

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
