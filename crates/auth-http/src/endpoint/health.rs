//! `/health`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde_json::json;
use tokio::sync::Mutex;

use super::introspect::private_json;
use crate::error::Fault;
use crate::state::{App, HealthProbe};

/// How long the answer of the probe is believed, in microseconds: anybody may ask, and each answer
/// costs the database a question.
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

    /// Returns when the database does not answer.
    pub(crate) async fn stalled(&self) {
        self.probe.stalled().await;
    }

    /// Whether the server can do its work, as of one second before `now_us` or later. Who asks while
    /// the probe is asked waits for that answer.
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

/// 200 while the server can do its work, else 503; no caller is asked who it is.
pub(crate) async fn get(State(app): State<App>) -> Result<Response, Fault> {
    if !app.health.at(app.now_us()).await {
        return Err(Fault::NotReady);
    }
    private_json(&json!({"status": "ok", "version": app.settings.version}))
}
