//! `/{type}/{id}/_history/{version}`: where the `Location` of a write points.

use axum::extract::{Path, State};
use axum::response::Response;
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

/// Reads a version, as long as it is the current one: earlier ones are kept for the record and not
/// served yet, and are answered as not found.
pub(crate) async fn get(
    State(app): State<App>,
    Target(key): Target,
    Path(Version { version }): Path<Version>,
    call: Call,
) -> Result<Response, Fault> {
    let within = gate::permit(&app, &call, &Act::read(&key, &call.asked)).await?;
    let stored = confine::current(&app, &key, &within).await?;
    if stored.version.to_string() != version {
        return Err(Fault::NoVersion { key, version });
    }
    Ok(answer::found(&app, &call, &stored))
}
