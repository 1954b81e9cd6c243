//! `/health`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde_json::{Value, json};

use crate::state::Frame;

/// Returns whether the server can do its work: 200 or 503. For load balancers, so without the API's envelope.
pub(crate) async fn get(State(frame): State<Arc<Frame>>) -> (StatusCode, Json<Value>) {
    let (status, word) = if frame.health.at(frame.outside.now_us()).await {
        (StatusCode::OK, "ok")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "unavailable")
    };
    (status, Json(json!({"status": word, "version": frame.version})))
}
