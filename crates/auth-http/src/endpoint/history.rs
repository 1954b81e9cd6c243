//! `/_history`, `/{type}/_history`, `/{type}/{id}/_history`: what was written before.

use axum::extract::State;
use axum::response::Response;
use fhir_service::history;
use http::StatusCode;

use crate::address::{ResourcePath, TypePath};
use crate::error::ApiError;
use crate::resource_request::ResourceRequest;
use crate::response;
use crate::state::App;

/// Returns the versions of a resource, newest first; of what was deleted as well.
pub(crate) async fn of_resource(
    State(app): State<App>,
    ResourcePath(key): ResourcePath,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    let page = history::resource_history(&app.fhir, &call.context, key).await?;
    Ok(response::json(StatusCode::OK, call.context.format, &page))
}

/// Returns the versions of the resources of a type.
pub(crate) async fn of_type(
    State(app): State<App>,
    TypePath(kind): TypePath,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    let page = history::type_history(&app.fhir, &call.context, kind).await?;
    Ok(response::json(StatusCode::OK, call.context.format, &page))
}

/// Returns the versions of everything.
pub(crate) async fn of_system(State(app): State<App>, call: ResourceRequest) -> Result<Response, ApiError> {
    let page = history::system_history(&app.fhir, &call.context).await?;
    Ok(response::json(StatusCode::OK, call.context.format, &page))
}
