//! `/{type}/{id}/_history/{version}`: where the `Location` of a write points.

use axum::extract::{Path, State};
use axum::response::Response;
use fhir_store::StoredText;
use serde::Deserialize;

use crate::address::Target;
use crate::call::Call;
use crate::error::Fault;
use crate::gate::{self, Act};
use crate::state::App;
use crate::{answer, confine};

/// The last segment.
#[derive(Deserialize)]
pub(crate) struct Version {
    version: String,
}

/// Reads a version.
///
/// # Source
/// FHIR R4, `RESTful` API, vread: 410 for the version that is a deletion.
pub(crate) async fn get(
    State(app): State<App>,
    Target(key): Target,
    Path(Version { version }): Path<Version>,
    call: Call,
) -> Result<Response, Fault> {
    let beneath = format!("/_history/{version}");
    let within = gate::permit(&app, &call, &Act::vread(&key, &beneath, &call.asked)).await?;
    let Ok(number) = version.parse() else { return Err(Fault::NoVersion { key, version }) };
    let stored = confine::version(&app, (&key, number), &within).await?;
    answer::found(&app, &call, &StoredText::from(&stored))
}
