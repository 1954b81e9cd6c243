//! Validation of what is written at the FHIR endpoint, by the base definition of its type.
//!
//! A document of an R4 type that does not conform is refused as a whole, with every issue. Not specified whether that
//! can be switched off; it cannot, because readers of `/fhir` may rely on what every FHIR server promises, and a server
//! that takes a misspelled element silently loses what its writer meant.
//!
//! The native endpoint stores what it is sent, as it is sent: the specification has Clients written there whose
//! extensions must not be rewritten, and the platform's own types are not types of R4. So it judges nothing. At the
//! FHIR endpoint both formats of extensions are taken.

use fhir_resource::{ResourceType, type_definitions};
use fhir_store::body_validation::{RequestBodyError, RequestBodyErrorKind};
use fhir_store::operation_outcome::OutcomeIssue;
use fhir_store::ports::DocumentValidator;
use fhir_store::{ResourceWrite, WriteError, WriteOperation};
use fhir_validation::validate_document_in_either_format;
use serde_json::Value;

use crate::error::ServiceError;
use crate::resource_format::ResourceFormat;

/// Checks the body of a write, and marks a patch so that the document it makes is judged.
///
/// # Errors
/// Everything that is wrong with the body.
pub(crate) fn check_write(format: ResourceFormat, write: ResourceWrite) -> Result<ResourceWrite, ServiceError> {
    match &write.operation {
        WriteOperation::Create(body) => {
            check_type(format, &write.resource_type, body)?;
            check(format, &write.resource_type, body)?;
        }
        WriteOperation::Put(body) => check(format, &write.resource_type, body)?,
        WriteOperation::Patch(_) if format == ResourceFormat::Fhir => {
            return Ok(ResourceWrite { patch_check: Some(DocumentValidator(issues_of)), ..write });
        }
        WriteOperation::Patch(_) | WriteOperation::Delete => {}
    }
    Ok(write)
}

/// Checks that a resource that is created at the FHIR endpoint names its type: `{}` is not a Patient. Not specified for
/// an update; the platform lets a body leave out what its address contains with the id.
fn check_type(format: ResourceFormat, kind: &ResourceType, body: &Value) -> Result<(), ServiceError> {
    let is_silent = body.as_object().is_some_and(|members| !members.contains_key("resourceType"));
    if format == ResourceFormat::Fhir && is_silent && type_definitions::is_r4_resource_type(kind.as_str()) {
        let expression = format!("{kind}.resourceType");
        let faults = vec![RequestBodyError { expression, problem: RequestBodyErrorKind::Required }];
        return Err(ServiceError::Refused { cause: WriteError::Invalid(faults), entry: None });
    }
    Ok(())
}

/// Checks a document that is to be stored.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) fn check(format: ResourceFormat, kind: &ResourceType, body: &Value) -> Result<(), ServiceError> {
    let issues = match format {
        ResourceFormat::Native => Vec::new(),
        ResourceFormat::Fhir => issues_of(kind, body),
    };
    if issues.is_empty() {
        return Ok(());
    }
    Err(ServiceError::Refused { cause: WriteError::Nonconforming(issues), entry: None })
}

/// Returns the issues of a document by the base definition of its type; none where R4 has no such type.
fn issues_of(kind: &ResourceType, document: &Value) -> Vec<OutcomeIssue> {
    validate_document_in_either_format(kind.as_str(), document).unwrap_or_default()
}
