//! `/{type}/{id}/_history/{version}`: where the `Location` of a write points.

use axum::extract::{Path, State};
use axum::response::Response;
use fhir_store::StoredText;
use serde::Deserialize;

use crate::address::ResourcePath;
use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::gate::{self, AccessCheck};
use crate::state::App;
use crate::{answer, confine};

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
    let beneath = format!("/_history/{version}");
    let within = gate::permit(&app, &call, &AccessCheck::vread(&key, &beneath, &call.asked)).await?;
    let Ok(number) = version.parse() else { return Err(ApiError::NoVersion { key, version }) };
    let stored = confine::version(&app, (&key, number), &within).await?;
    answer::found(&app, &call, &StoredText::from(&stored))
}
