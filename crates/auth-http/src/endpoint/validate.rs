//! `/fhir/{type}/$validate` and `/fhir/{type}/{id}/$validate`: whether a write would be taken, and everything that
//! is wrong with it. Nothing is written.
//!
//! # Source
//! FHIR R4, Resource, Operation `$validate`. The answer is 200 whatever is found; who may not do what is asked
//! about is refused like for the write itself.

use axum::extract::State;
use axum::response::Response;
use fhir_store::outcome::OperationOutcome;
use fhir_store::{ResourceKey, Write, WriteOperation};
use http::StatusCode;
use serde_json::Value;

use crate::address::{ResourcePath, TypePath};
use crate::asked::RequestQuery;
use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::gate::{self, AccessCheck};
use crate::state::App;
use crate::surface::ResourceFormat;
use crate::validation::{self, ValidateError, ValidationMode, ValidationRequest};
use crate::{answer, confine};

/// Judges a document as a new resource, or as another version of the one it names.
pub(crate) async fn of_type(
    State(app): State<App>,
    TypePath(kind): TypePath,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    let question = ValidationRequest::read(&kind, &mut call)?;
    let resource = question.resource.ok_or(ValidateError::NoResource)?;
    let operation = match question.mode.unwrap_or(ValidationMode::Create) {
        ValidationMode::Create => WriteOperation::Create(resource),
        ValidationMode::Update => WriteOperation::Put(resource),
        ValidationMode::Delete | ValidationMode::Profile => return Err(ValidateError::NoInstance.into()),
    };
    let id = fhir_store::shape::id_of(&kind, document(&operation)).ok().flatten();
    let write = Write { id, ..Write::by_condition(kind, operation, fhir_store::Precondition::default()) };
    judged(&app, &call, write, &question.profiles).await
}

/// Judges a document as another version of the resource, the deletion of it, or the resource as it is stored.
pub(crate) async fn of_id(
    State(app): State<App>,
    ResourcePath(key): ResourcePath,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    let question = ValidationRequest::read(&key.kind, &mut call)?;
    let operation = match (question.mode.unwrap_or(ValidationMode::Update), question.resource) {
        (ValidationMode::Create, _) => return Err(ValidateError::Instance.into()),
        (ValidationMode::Update, Some(resource)) => WriteOperation::Put(resource),
        (ValidationMode::Update, None) => return Err(ValidateError::NoResource.into()),
        (ValidationMode::Delete, _) => return deletion(&app, &call, key).await,
        (ValidationMode::Profile, _) => return stored(&app, &call, &key, &question.profiles).await,
    };
    judged(&app, &call, Write::to(key, operation), &question.profiles).await
}

fn document(operation: &WriteOperation) -> &Value {
    match operation {
        WriteOperation::Create(document) | WriteOperation::Put(document) => document,
        WriteOperation::Patch(_) | WriteOperation::Delete => &Value::Null,
    }
}

async fn judged(app: &App, call: &ResourceRequest, write: Write, profiles: &[String]) -> Result<Response, ApiError> {
    gate::permit_write(app, call, &AccessCheck::write(&write, &RequestQuery::NOTHING)).await?;
    let mut issues = validation::of_profiles(app, &write.kind, document(&write.operation), profiles).await?;
    issues.splice(0..0, validation::of_write(app, write).await?);
    Ok(told(issues))
}

async fn deletion(app: &App, call: &ResourceRequest, key: ResourceKey) -> Result<Response, ApiError> {
    let write = Write::to(key.clone(), WriteOperation::Delete);
    let reach = gate::permit_write(app, call, &AccessCheck::write(&write, &RequestQuery::NOTHING)).await?;
    confine::current(app, &key, &reach.target).await?;
    Ok(told(Vec::new()))
}

async fn stored(
    app: &App,
    call: &ResourceRequest,
    key: &ResourceKey,
    profiles: &[String],
) -> Result<Response, ApiError> {
    let within = gate::permit(app, call, &AccessCheck::read(key, &RequestQuery::NOTHING)).await?;
    let stored = confine::current(app, key, &within).await?;
    let document = answer::shown(app, ResourceFormat::Fhir, &stored);
    let mut issues = validation::of_document(&key.kind, &document);
    issues.extend(validation::of_profiles(app, &key.kind, &document, profiles).await?);
    Ok(told(issues))
}

fn told(mut issues: Vec<fhir_store::outcome::OutcomeIssue>) -> Response {
    if issues.is_empty() {
        issues.push(validation::information("informational", "nothing is wrong with it"));
    }
    answer::json(StatusCode::OK, ResourceFormat::Fhir, &OperationOutcome::of(issues).to_value())
}
