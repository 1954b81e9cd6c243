//! Counters as Prometheus text, on a listener of their own so that they are never public by
//! accident.

use std::time::Duration;

use anyhow::Context as _;
use auth_storage::TaskSet;
use axum::Router;
use axum::routing::get;
use http::header;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

/// How often recorded samples are folded into their summaries; between two times they take memory.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// Starts recording, and returns the routes that show what was recorded.
///
/// # Errors
/// When the process records elsewhere already.
pub(crate) fn install(background: &mut TaskSet) -> anyhow::Result<Router> {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).context("cannot record metrics")?;
    background.spawn("fold metrics", keep_up(handle.clone()));
    Ok(router(handle))
}

fn router(handle: PrometheusHandle) -> Router {
    let show = move || {
        let text = handle.render();
        async move { ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text) }
    };
    Router::new().route("/metrics", get(show))
}

async fn keep_up(handle: PrometheusHandle) {
    let mut tick = tokio::time::interval(UPKEEP_INTERVAL);
    loop {
        tick.tick().await;
        handle.run_upkeep();
    }
}
