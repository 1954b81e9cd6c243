//! `/health`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::state::{Frame, HealthProbe};

/// How long the answer of the probe is believed, in microseconds: anybody may ask, and each answer costs the
/// database a question.
const BELIEVED_US: i64 = 1_000_000;

/// What the probe said last, and when.
pub(crate) struct Health {
    probe: Arc<dyn HealthProbe>,
    last: Mutex<Option<(i64, bool)>>,
}

impl Health {
    /// Nothing said so far.
    pub(crate) fn new(probe: Arc<dyn HealthProbe>) -> Self {
        Self { probe, last: Mutex::new(None) }
    }

    /// Whether the server can do its work, as of one second before `now_us` or later. Who asks while the probe is
    /// asked waits for that answer.
    async fn at(&self, now_us: i64) -> bool {
        let mut last = self.last.lock().await;
        if let Some((asked_us, healthy)) = *last
            && (0..BELIEVED_US).contains(&now_us.saturating_sub(asked_us))
        {
            return healthy;
        }
        let healthy = self.probe.is_healthy().await;
        *last = Some((now_us, healthy));
        healthy
    }
}

/// Whether the server can do its work: 200 or 503. For load balancers, so without the API's envelope.
pub(crate) async fn get(State(frame): State<Arc<Frame>>) -> (StatusCode, Json<Value>) {
    let (status, word) = if frame.health.at(frame.outside.now_us()).await {
        (StatusCode::OK, "ok")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "unavailable")
    };
    (status, Json(json!({"status": word, "version": frame.version})))
}
