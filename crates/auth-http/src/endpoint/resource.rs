//! `/{type}/{id}`, and `/{type}?condition` where the condition finds the id.

use axum::extract::State;
use axum::response::Response;
use fhir_service::{patch, resource_lookup, single_write};
use fhir_store::{ResourceWrite, WriteOperation};

use crate::address::{ResourcePath, TypePath};
use crate::error::ApiError;
use crate::resource_request::ResourceRequest;
use crate::response;
use crate::state::App;

/// Reads a resource.
pub(crate) async fn get(
    State(app): State<App>,
    ResourcePath(key): ResourcePath,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    let found = resource_lookup::read_resource(&app.fhir, &call.context, &key).await?;
    response::found(&app, &call, &found)
}

/// Creates or replaces a resource.
pub(crate) async fn put(
    State(app): State<App>,
    ResourcePath(key): ResourcePath,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    let precondition = call.guard()?;
    let write =
        ResourceWrite { precondition, ..ResourceWrite::unconditional(key, WriteOperation::Put(call.take_resource()?)) };
    write_one(&app, &call, write).await
}

/// Changes a resource.
pub(crate) async fn patch(
    State(app): State<App>,
    ResourcePath(key): ResourcePath,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    let patch = call.take_resource()?;
    let mut write = ResourceWrite::unconditional(key.clone(), WriteOperation::Patch(call.read_patch(patch)?));
    write.precondition.if_match = call.if_match()?;
    write.precondition.if_none_match = call.if_none_match()?;
    let written = patch::patch_resource(&app.fhir, &call.context, &write, &key).await?;
    Ok(response::written(&app, &call, &written).await)
}

/// Removes a resource.
pub(crate) async fn delete(
    State(app): State<App>,
    ResourcePath(key): ResourcePath,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    let mut write = ResourceWrite::unconditional(key, WriteOperation::Delete);
    write.precondition.if_match = call.if_match()?;
    write.precondition.if_none_match = call.if_none_match()?;
    write_one(&app, &call, write).await
}

/// Creates a resource; an id in the body is honoured.
pub(crate) async fn post(
    State(app): State<App>,
    TypePath(kind): TypePath,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    let precondition = call.create_condition(&app, &kind).await?;
    let operation = WriteOperation::Create(call.take_resource()?);
    write_one(&app, &call, ResourceWrite::conditional(kind, operation, precondition)).await
}

/// Creates or replaces the resource the query finds.
pub(crate) async fn put_found(
    State(app): State<App>,
    TypePath(kind): TypePath,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    let precondition = call.address_condition(&app, &kind).await?;
    let operation = WriteOperation::Put(call.take_resource()?);
    write_one(&app, &call, ResourceWrite::conditional(kind, operation, precondition)).await
}

/// Changes the resource the query finds.
pub(crate) async fn patch_found(
    State(app): State<App>,
    TypePath(kind): TypePath,
    mut call: ResourceRequest,
) -> Result<Response, ApiError> {
    let precondition = call.address_condition(&app, &kind).await?;
    let patch = call.take_resource()?;
    let operation = WriteOperation::Patch(call.read_patch(patch)?);
    let write = ResourceWrite::conditional(kind, operation, precondition);
    let written = single_write::patch_by_condition(&app.fhir, &call.context, &write).await?;
    Ok(response::written(&app, &call, &written).await)
}

/// Removes the resource the query finds.
pub(crate) async fn delete_found(
    State(app): State<App>,
    TypePath(kind): TypePath,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    let precondition = call.address_condition(&app, &kind).await?;
    write_one(&app, &call, ResourceWrite::conditional(kind, WriteOperation::Delete, precondition)).await
}

async fn write_one(app: &App, call: &ResourceRequest, write: ResourceWrite) -> Result<Response, ApiError> {
    let written = single_write::execute_write(&app.fhir, &call.context, write).await?;
    Ok(response::written(app, call, &written).await)
}
