//! `$export` of the system, of all patients, of a Group, and `$davinci-data-export`: kick-off.

use axum::extract::{Path, State};
use axum::response::Response;
use fhir_resource::ResourceId;
use fhir_service::export;
use http::{Method, Uri};

use super::jobs;
use crate::address::CalledAddress;
use crate::error::ApiError;
use crate::resource_request::ResourceRequest;
use crate::state::App;

/// Exports everything.
pub(crate) async fn system(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    let (called, body) = (CalledAddress::new(&method, &uri), call.take_body());
    let job = export::start_system_export(&app.fhir, &call.context, called.as_operation(), body).await?;
    Ok(accepted(&app, &job))
}

/// Exports what belongs to patients.
pub(crate) async fn patients(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    let (called, body) = (CalledAddress::new(&method, &uri), call.take_body());
    let job = export::start_patient_export(&app.fhir, &call.context, called.as_operation(), body).await?;
    Ok(accepted(&app, &job))
}

/// Exports what belongs to the members of a Group.
pub(crate) async fn group(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    Path(id): Path<String>,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    let (called, body) = (CalledAddress::new(&method, &uri), call.take_body());
    let job = export::start_group_export(&app.fhir, &call.context, called.as_operation(), &id, body).await?;
    Ok(accepted(&app, &job))
}

/// Exports what the members of a Group let the caller's organization have.
pub(crate) async fn davinci(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    Path(id): Path<String>,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    let (called, body) = (CalledAddress::new(&method, &uri), call.take_body());
    let job = export::start_davinci_export(&app.fhir, &call.context, called.as_operation(), &id, body).await?;
    Ok(accepted(&app, &job))
}

fn accepted(app: &App, job: &ResourceId) -> Response {
    jobs::accepted(app, jobs::EXPORT_STATUS, job)
}
