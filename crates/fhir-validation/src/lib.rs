//! Whether a document is what the base definitions of FHIR R4 say a resource of its type is.
//!
//! [`resource`] judges a document in FHIR's spelling: names of elements, kinds of JSON values, formats of
//! primitives, cardinality, choices of types, required bindings, references and contained resources. It is pure,
//! takes time linear in the document, and names at most [`limits::MAX_ISSUES`] issues, each with the place as a
//! `FHIRPath`, what was expected and what was found.
//!
//! A [`CompiledProfile`] is a definition somebody installed; it judges what it asks for besides.
//!
//! # What is not judged
//! - The invariants of the definitions, which are full `FHIRPath`: no evaluator of the whole language is part of
//!   this program. The few that are cheap and that writers meet most are written by hand (`rules.rs`).
//! - Bindings whose codes cannot be listed, such as media types and currencies; those that are not required.
//! - Whether what a reference names exists, and what an absolute one that is no address of a resource leads to.
//! - The `id` of the resource itself: the address of a write has the last word on it, and takes more than FHIR
//!   does ([`crate::ResourceId`]).
//! - Types that R4 does not have, such as the platform's own: [`resource`] says `None`.
//!
//! # Source
//! HL7 FHIR R4 (4.0.1): Data Types, JSON Representation, References (contained resources), Narrative, Extensibility.

mod bound;
mod place;
mod profile;
mod refer;
mod report;
mod rules;
mod scalar;
mod walk;
mod xhtml;

pub use profile::{CompiledProfile, ProfileError};
use serde_json::Value;

use crate::definitions::{self, Structure};
use crate::format;
use crate::outcome::OutcomeIssue;

/// Everything that is wrong with a document as a resource of type `kind`; nothing when it is valid, `None`
/// when R4 has no such type.
///
/// `resourceType` may be left out, where the address of a write says it.
#[must_use]
pub fn resource(kind: &str, document: &Value) -> Option<Vec<OutcomeIssue>> {
    let structure = definitions::structure(kind).filter(|structure| Structure::is_resource(structure))?;
    Some(walk::document(kind, structure, document))
}

/// The same of a document in either spelling, or in a mixture: what is native is read as what it says in FHIR.
///
/// A document in FHIR's spelling that is valid, as nearly all are, costs one look.
#[must_use]
pub fn either_spelling(kind: &str, document: &Value) -> Option<Vec<OutcomeIssue>> {
    let issues = resource(kind, document)?;
    if issues.is_empty() { Some(issues) } else { resource(kind, &format::to_fhir_of(kind, document.clone())) }
}

#[cfg(test)]
mod tests;
