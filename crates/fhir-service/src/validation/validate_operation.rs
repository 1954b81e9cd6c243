//! `$validate`: whether a write would be taken, and everything that is wrong with it. Nothing is written.
//!
//! # Source
//! FHIR R4, Resource, Operation `$validate`. A caller who may not do what is asked about is refused as for the write
//! itself.

use fhir_resource::{ResourceKey, ResourceType};
use fhir_store::operation_outcome::OutcomeIssue;
use fhir_store::{ResourceWrite, WriteOperation, WritePrecondition, body_validation};
use serde_json::Value;

use super::issues;
use super::request::{ValidationMode, ValidationRequest};
use crate::access::{self, AccessCheck};
use crate::error::{ServiceError, ValidateOperationError};
use crate::request_context::RequestContext;
use crate::request_query::RequestQuery;
use crate::resource_format::ResourceFormat;
use crate::service_state::FhirService;
use crate::{representation, resource_lookup};

/// Validates the document of a create, or of an update without an id (`$validate` at the address of a type), and
/// returns at least one issue.
///
/// # Errors
/// [`ServiceError::Validate`] for a request that cannot be understood; [`ServiceError::Denied`] when the caller may not
/// do the write.
pub async fn validate_new_resource(
    service: &FhirService,
    context: &RequestContext,
    kind: ResourceType,
    body: Option<Value>,
) -> Result<Vec<OutcomeIssue>, ServiceError> {
    let request = ValidationRequest::read(&kind, context, body)?;
    let resource = request.resource.ok_or(ValidateOperationError::NoResource)?;
    let operation = match request.mode.unwrap_or(ValidationMode::Create) {
        ValidationMode::Create => WriteOperation::Create(resource),
        ValidationMode::Update => WriteOperation::Put(resource),
        ValidationMode::Delete | ValidationMode::Profile => return Err(ValidateOperationError::NoInstance.into()),
    };
    let id = body_validation::read_body_id(&kind, document(&operation)).ok().flatten();
    let write = ResourceWrite { id, ..ResourceWrite::conditional(kind, operation, WritePrecondition::default()) };
    judge(service, context, write, &request.profiles).await
}

/// Validates a new version of a resource, its deletion or its stored version (`$validate` at the address of a
/// resource), and returns at least one issue.
///
/// # Errors
/// [`ServiceError::Validate`] for a request that cannot be understood; [`ServiceError::Denied`] when the caller may not
/// do the write.
pub async fn validate_existing_resource(
    service: &FhirService,
    context: &RequestContext,
    key: ResourceKey,
    body: Option<Value>,
) -> Result<Vec<OutcomeIssue>, ServiceError> {
    let request = ValidationRequest::read(&key.resource_type, context, body)?;
    let operation = match (request.mode.unwrap_or(ValidationMode::Update), request.resource) {
        (ValidationMode::Create, _) => return Err(ValidateOperationError::Instance.into()),
        (ValidationMode::Update, Some(resource)) => WriteOperation::Put(resource),
        (ValidationMode::Update, None) => return Err(ValidateOperationError::NoResource.into()),
        (ValidationMode::Delete, _) => return judge_deletion(service, context, key).await,
        (ValidationMode::Profile, _) => return judge_stored(service, context, &key, &request.profiles).await,
    };
    judge(service, context, ResourceWrite::unconditional(key, operation), &request.profiles).await
}

fn document(operation: &WriteOperation) -> &Value {
    match operation {
        WriteOperation::Create(document) | WriteOperation::Put(document) => document,
        WriteOperation::Patch(_) | WriteOperation::Delete => &Value::Null,
    }
}

async fn judge(
    service: &FhirService,
    context: &RequestContext,
    write: ResourceWrite,
    profiles: &[String],
) -> Result<Vec<OutcomeIssue>, ServiceError> {
    access::authorize_write(service, context, &AccessCheck::write(&write, &RequestQuery::EMPTY)).await?;
    let mut found = issues::of_profiles(service, &write.resource_type, document(&write.operation), profiles).await?;
    found.splice(0..0, issues::of_write(service, write).await?);
    Ok(or_none(found))
}

async fn judge_deletion(
    service: &FhirService,
    context: &RequestContext,
    key: ResourceKey,
) -> Result<Vec<OutcomeIssue>, ServiceError> {
    let write = ResourceWrite::unconditional(key.clone(), WriteOperation::Delete);
    let check = AccessCheck::write(&write, &RequestQuery::EMPTY);
    let reach = access::authorize_write(service, context, &check).await?;
    resource_lookup::current(service, &key, &reach.target).await?;
    Ok(or_none(Vec::new()))
}

async fn judge_stored(
    service: &FhirService,
    context: &RequestContext,
    key: &ResourceKey,
    profiles: &[String],
) -> Result<Vec<OutcomeIssue>, ServiceError> {
    let within = access::authorize(service, context, &AccessCheck::read(key, &RequestQuery::EMPTY)).await?;
    let stored = resource_lookup::current(service, key, &within).await?;
    let document = representation::render(service, ResourceFormat::Fhir, &stored);
    let mut found = issues::of_document(&key.resource_type, &document);
    found.extend(issues::of_profiles(service, &key.resource_type, &document, profiles).await?);
    Ok(or_none(found))
}

/// Returns the issues, or one that says that there are none.
fn or_none(mut issues: Vec<OutcomeIssue>) -> Vec<OutcomeIssue> {
    if issues.is_empty() {
        issues.push(issues::information("informational", "nothing is wrong with it"));
    }
    issues
}
