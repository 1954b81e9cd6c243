//! `/$explain-access`: which scope and which policy decide about a request, and what is missing.

use axum::extract::State;
use axum::response::Response;
use fhir_service::explain_access;
use fhir_service::resource_format::ResourceFormat;
use http::StatusCode;

use crate::error::ApiError;
use crate::resource_request::ResourceRequest;
use crate::response;
use crate::state::App;

/// Explains an access decision.
pub(crate) async fn get(State(app): State<App>, call: ResourceRequest) -> Result<Response, ApiError> {
    let explanation = explain_access::explain_access(&app.fhir, &call.context).await?;
    Ok(response::json(StatusCode::OK, ResourceFormat::Native, &explanation))
}
