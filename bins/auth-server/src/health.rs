//! Whether the server can do its work: whether its database takes writes.

use std::time::Duration;

use async_trait::async_trait;
use auth_http::HealthProbe;
use auth_storage::Db;

/// A balancer that waits longer than this has given up on its own.
const ANSWER_MAX: Duration = Duration::from_secs(1);

/// Has the database write at every call.
#[derive(Debug)]
pub(crate) struct DatabaseHealth(pub(crate) Db);

#[async_trait]
impl HealthProbe for DatabaseHealth {
    async fn is_healthy(&self) -> bool {
        let answered = tokio::time::timeout(ANSWER_MAX, self.0.probe()).await;
        match answered {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::error!(%error, "the database takes no writes");
                false
            }
            Err(_) => {
                tracing::error!("the database did not answer in a second");
                false
            }
        }
    }

    async fn stalled(&self) {
        self.0.stalled().await;
    }
}
