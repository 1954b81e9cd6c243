//! The health of the server: whether its database accepts writes, and whether it answers at all.

use async_trait::async_trait;
use auth_storage::AuthDatabase;
use server_kit::health::{DatabaseWriteProbe as WriteProbe, HealthProbe};

/// The health of one database.
pub(crate) struct DatabaseHealth(pub(crate) AuthDatabase);

#[async_trait]
impl HealthProbe for DatabaseHealth {
    async fn is_healthy(&self) -> bool {
        let write = || {
            let db = self.0.clone();
            async move { db.check_writable().await }
        };
        WriteProbe::new(write).is_healthy().await
    }

    async fn wait_until_stalled(&self) {
        self.0.wait_until_stalled().await;
    }
}
