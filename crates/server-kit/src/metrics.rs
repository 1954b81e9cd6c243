//! Metrics as Prometheus text, for a separate listener so that they are never public by accident.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use http::header;
use metrics::SetRecorderError;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use task_set::TaskSet;
use tokio_util::sync::CancellationToken;

use crate::http_listener::{BoundListener, ListenError, Listener, ListenerLimits};

/// The interval at which recorded samples are folded into their summaries; until then they take memory.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// The reason why metrics cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetricsError {
    /// The process records its metrics elsewhere already.
    #[error("cannot record metrics")]
    Record(#[source] SetRecorderError<PrometheusRecorder>),
    /// The address cannot be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
}

/// The listener that serves the metrics of the process at `GET /metrics`.
#[derive(Debug)]
pub struct MetricsServer {
    listener: Listener,
    router: Router,
}

impl MetricsServer {
    /// Starts to record metrics, with a task in `background`, and listens on `address`.
    ///
    /// # Errors
    /// See [`MetricsError`].
    pub fn record_and_listen(
        address: SocketAddr,
        limits: ListenerLimits,
        background: &mut TaskSet,
    ) -> Result<Self, MetricsError> {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        metrics::set_global_recorder(recorder).map_err(MetricsError::Record)?;
        background.spawn_until_stopped("fold metrics", keep_up(handle.clone()));
        let bound = BoundListener::bind(address, None)?;
        tracing::info!("metrics at {}/metrics", bound.url());
        Ok(Self { listener: bound.listen(limits)?, router: router(handle) })
    }

    /// Serves until `stopping`.
    pub async fn serve(self, stopping: CancellationToken) {
        let _cut_off = self.listener.serve(self.router, stopping).await;
    }
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
