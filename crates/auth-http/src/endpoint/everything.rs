//! `/Patient/{id}/$everything`: a patient and all that is in the patient's compartment.

use axum::extract::State;
use axum::response::Response;
use fhir_service::everything;
use http::StatusCode;

use crate::address::PatientPath;
use crate::error::ApiError;
use crate::resource_request::ResourceRequest;
use crate::response;
use crate::state::App;

/// Answers a page of everything.
pub(crate) async fn get(
    State(app): State<App>,
    PatientPath(key): PatientPath,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    let page = everything::everything_page(&app.fhir, &call.context, &key).await?;
    Ok(response::json(StatusCode::OK, call.context.format, &page))
}

/// As [`get`], with the parameters in a `Parameters` resource, or without any.
pub(crate) async fn post(
    app: State<App>,
    target: PatientPath,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    if let Some(body) = call.take_body() {
        call.context.parameters.extend(everything::parameters_as_query(&body)?);
    }
    get(app, target, call).await
}
