//! The failures of a store, whichever it is.

/// The database failed; whether anything was written is not known unless the method says so.
#[derive(Debug, thiserror::Error)]
#[error("the database failed: {0}")]
pub struct StoreError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// The cause within a [`StoreError`] when the database is temporarily unavailable: gone, full or locked. The same
/// request may well succeed later.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct DatabaseUnavailable(pub Box<dyn std::error::Error + Send + Sync>);

/// The cause within a [`StoreError`] when a search was aborted because it took too long. The same search takes as long
/// again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the search took too long")]
pub struct SearchTimeout;

impl StoreError {
    /// Returns whether the cause is a search that took too long.
    #[must_use]
    pub fn is_search_timeout(&self) -> bool {
        self.0.is::<SearchTimeout>()
    }

    /// Returns whether the cause is a temporarily unavailable database.
    #[must_use]
    pub fn is_database_unavailable(&self) -> bool {
        let own: &(dyn std::error::Error + 'static) = self.0.as_ref();
        std::iter::successors(Some(own), |error| error.source()).any(<dyn std::error::Error>::is::<DatabaseUnavailable>)
    }
}
