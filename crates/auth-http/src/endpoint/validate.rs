//! `/fhir/{type}/$validate` and `/fhir/{type}/{id}/$validate`: whether a write would be taken, and everything that
//! is wrong with it.
//!
//! # Source
//! FHIR R4, Resource, Operation `$validate`. The answer is 200 whatever is found.

use axum::extract::State;
use axum::response::Response;
use fhir_service::resource_format::ResourceFormat;
use fhir_service::validation::validate_operation;
use fhir_store::operation_outcome::{OperationOutcome, OutcomeIssue};
use http::StatusCode;

use crate::address::{ResourcePath, TypePath};
use crate::error::ApiError;
use crate::resource_request::ResourceRequest;
use crate::response;
use crate::state::App;

/// Judges a document as a new resource, or as another version of the one it names.
pub(crate) async fn of_type(
    State(app): State<App>,
    TypePath(kind): TypePath,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    let body = call.take_body();
    Ok(outcome(validate_operation::validate_new_resource(&app.fhir, &call.context, kind, body).await?))
}

/// Judges a document as another version of the resource, the deletion of it, or the resource as it is stored.
pub(crate) async fn of_id(
    State(app): State<App>,
    ResourcePath(key): ResourcePath,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    let body = call.take_body();
    Ok(outcome(validate_operation::validate_existing_resource(&app.fhir, &call.context, key, body).await?))
}

fn outcome(issues: Vec<OutcomeIssue>) -> Response {
    response::json(StatusCode::OK, ResourceFormat::Fhir, &OperationOutcome::from_issues(issues).to_value())
}
