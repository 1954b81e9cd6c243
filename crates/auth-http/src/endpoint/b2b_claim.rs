//! `/Client/{id}/$b2b-claim`: why the next token carries the B2B claim, or why not.

use axum::extract::State;
use axum::response::Response;
use fhir_service::b2b_claim;

use crate::address::ClientPath;
use crate::error::ApiError;
use crate::resource_request::ResourceRequest;
use crate::response::private_json;
use crate::state::App;

/// Diagnoses a Client.
pub(crate) async fn get(
    State(app): State<App>,
    ClientPath(key): ClientPath,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    private_json(&b2b_claim::diagnose_b2b_claim(&app.fhir, &call.context, key).await?)
}
