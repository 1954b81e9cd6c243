//! What can go wrong, distinguished by what the caller can do about it.

use chat_core::{DatabaseUnavailable, SearchTimeout, StoreError};
use sql_engines::{is_outage, is_statement_interrupted};

/// The reason why the encrypted secrets in the database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoredSecretsError {
    /// The secrets are encrypted, and the caller has no key-encryption secret.
    #[error("no key-encryption secret is given, and the secrets in the database are encrypted")]
    Missing,
    /// The secrets are encrypted under another key-encryption secret.
    #[error("the key-encryption secret is not the one that the secrets in the database are encrypted under")]
    Wrong,
    /// The row with the data key is not one that this server wrote.
    #[error("the key of the secrets in the database is damaged")]
    Damaged,
    /// Storage failed.
    #[error(transparent)]
    Storage(#[from] StoreError),
}

/// Returns the failure as the rules know it, which tell a database that cannot be used at the moment from any other.
pub(crate) fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    let error = error.into();
    let is_outage = error.downcast_ref::<sqlx::Error>().is_some_and(is_outage);
    StoreError(if is_outage { Box::new(DatabaseUnavailable(error)) } else { error })
}

/// As [`failed`], of a search: one that its engine ended because it took too long is distinguished.
pub(crate) fn search_failed(error: sqlx::Error) -> StoreError {
    if is_statement_interrupted(&error) { StoreError(Box::new(SearchTimeout)) } else { failed(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_told_from_other_failures() {
        assert!(failed(sqlx::Error::PoolTimedOut).is_database_unavailable());
        assert!(!failed(sqlx::Error::RowNotFound).is_database_unavailable());
        assert!(!failed("a text").is_database_unavailable());
    }
}
