//! `/{type}/{id}/_history/{version}`: where the `Location` of a write points.

use axum::extract::{Path, State};
use axum::response::Response;
use fhir_service::resource_lookup;
use serde::Deserialize;

use crate::address::ResourcePath;
use crate::error::ApiError;
use crate::resource_request::ResourceRequest;
use crate::response;
use crate::state::App;

/// The last segment.
#[derive(Deserialize)]
pub(crate) struct VersionPath {
    version: String,
}

/// Reads a version.
///
/// # Source
/// FHIR R4, `RESTful` API, vread: 410 for the version that is a deletion.
pub(crate) async fn get(
    State(app): State<App>,
    ResourcePath(key): ResourcePath,
    Path(VersionPath { version }): Path<VersionPath>,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    let found = resource_lookup::read_resource_version(&app.fhir, &call.context, key, version).await?;
    response::found(&app, &call, &found)
}
