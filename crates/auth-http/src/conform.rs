//! Holding what is written at the FHIR endpoint to what FHIR says.
//!
//! A document of a type that R4 has and that is not what the base definitions say of it is refused whole, with
//! every issue. Not specified whether that can be switched off; it cannot, because who reads from `/fhir` may rely
//! on what every FHIR server promises, and a server that takes a misspelled element loses what its writer meant
//! without telling anybody.
//!
//! The native endpoint stores what it is sent, as it is sent: the specification has Clients written there whose
//! extensions must not be rewritten, and the platform's own types are no types of R4. So it judges nothing. At the
//! FHIR endpoint both spellings are taken, as before.

use fhir_store::shape::{BodyError, BodyProblem};
use fhir_store::{ResourceType, Write, WriteError, WriteOperation, definitions, validate};
use serde_json::Value;

use crate::error::ApiError;
use crate::surface::ResourceFormat;

/// A write whose body may be stored, or whose patch is judged by what it makes.
///
/// # Errors
/// Everything that is wrong with the body.
pub(crate) fn admit(dialect: ResourceFormat, write: Write) -> Result<Write, ApiError> {
    match &write.operation {
        WriteOperation::Create(body) => {
            demand_type(dialect, &write.kind, body)?;
            check(dialect, &write.kind, body)?;
        }
        WriteOperation::Put(body) => check(dialect, &write.kind, body)?,
        WriteOperation::Patch(_) => return Ok(Write { is_judged: dialect == ResourceFormat::Fhir, ..write }),
        WriteOperation::Delete => {}
    }
    Ok(write)
}

/// Checks that what is created at the FHIR endpoint says its type: `{}` is not a Patient. Not specified of an update;
/// the platform lets a body leave out what its address says with the id.
fn demand_type(dialect: ResourceFormat, kind: &ResourceType, body: &Value) -> Result<(), ApiError> {
    let is_silent = body.as_object().is_some_and(|members| !members.contains_key("resourceType"));
    if dialect == ResourceFormat::Fhir && is_silent && definitions::is_resource_type(kind.as_str()) {
        let expression = format!("{kind}.resourceType");
        let faults = vec![BodyError { expression, problem: BodyProblem::Required }];
        return Err(ApiError::Refused { cause: WriteError::Invalid(faults), entry: None });
    }
    Ok(())
}

/// Whether a document may be stored.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) fn check(dialect: ResourceFormat, kind: &ResourceType, body: &Value) -> Result<(), ApiError> {
    let issues = match dialect {
        ResourceFormat::Native => None,
        ResourceFormat::Fhir => validate::either_spelling(kind.as_str(), body),
    };
    match issues {
        Some(issues) if !issues.is_empty() => {
            Err(ApiError::Refused { cause: WriteError::Nonconforming(issues), entry: None })
        }
        Some(_) | None => Ok(()),
    }
}
