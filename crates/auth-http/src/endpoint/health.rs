//! `/health`.

use axum::extract::State;
use axum::response::Response;
use serde_json::json;

use crate::error::ApiError;
use crate::response::private_json;
use crate::state::App;

/// 200 while the server can do its work, else 503; no caller is asked who it is.
pub(crate) async fn get(State(app): State<App>) -> Result<Response, ApiError> {
    if !app.health.is_healthy_at(app.env().now_us).await {
        return Err(ApiError::NotReady);
    }
    private_json(&json!({"status": "ok", "version": app.fhir.settings().version}))
}
