//! `/health`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde_json::{Value, json};

use crate::state::ServerState;

/// Returns whether the server can do its work: 200 or 503. For load balancers, so without the API's envelope.
pub(crate) async fn get(State(server): State<Arc<ServerState>>) -> (StatusCode, Json<Value>) {
    let (status, word) = if server.health.is_healthy_at(server.runtime.now_us()).await {
        (StatusCode::OK, "ok")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "unavailable")
    };
    (status, Json(json!({"status": word, "version": server.version})))
}
