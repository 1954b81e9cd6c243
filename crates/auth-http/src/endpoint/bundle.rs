//! The base of an endpoint: Bundles of requests, and plain lists of resources.

use axum::extract::State;
use axum::response::Response;
use fhir_service::bundle::{self, WrittenResourceList};
use http::StatusCode;
use serde_json::Value;

use crate::error::ApiError;
use crate::resource_request::ResourceRequest;
use crate::response;
use crate::state::App;

/// Executes a Bundle.
///
/// # Source
/// FHIR R4, `RESTful` API, batch/transaction.
pub(crate) async fn post(State(app): State<App>, mut call: ResourceRequest) -> Result<Response, ApiError> {
    let body = call.take_body();
    let answer = bundle::post_bundle(&app.fhir, &call.context, body).await?;
    Ok(response::json(StatusCode::OK, call.context.format, &answer))
}

/// Creates or replaces every resource of a list, in one transaction.
pub(crate) async fn put(State(app): State<App>, mut call: ResourceRequest) -> Result<Response, ApiError> {
    let body = call.take_body();
    let WrittenResourceList { shown, remarks } = bundle::put_resource_list(&app.fhir, &call.context, body).await?;
    let mut answer = response::json(StatusCode::OK, call.context.format, &Value::Array(shown));
    response::append_remarks(answer.headers_mut(), &remarks);
    Ok(answer)
}
