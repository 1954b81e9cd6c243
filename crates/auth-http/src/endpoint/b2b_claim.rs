//! `/Client/{id}/$b2b-claim`: why the next token carries the B2B claim, or why not.

use axum::extract::State;
use axum::response::Response;
use oauth_core::diagnosis;

use super::introspect::private_json;
use crate::address::ClientPath;
use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::gate::{self, AccessCheck};
use crate::state::App;

/// Diagnoses, for whom a policy that spells it out lets read the Client: the answer names an
/// organization and its identifiers, which the Client does not.
pub(crate) async fn get(
    State(app): State<App>,
    ClientPath(key): ClientPath,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    let within = gate::permit(&app, &call, &AccessCheck::diagnose(&key, &call.asked)).await?;
    if within.is_confined() {
        // A Client is in no part of its type that scopes can name.
        return Err(ApiError::NotFound(key));
    }
    match diagnosis::diagnose(&app.authority, key.id.as_str()).await? {
        Some(diagnosis) => private_json(&diagnosis),
        None => Err(ApiError::NotFound(key)),
    }
}
