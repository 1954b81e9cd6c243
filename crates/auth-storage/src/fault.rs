//! What can go wrong, told apart by what the caller can do about it.

use std::sync::Arc;

use migrations::{SqlPosition, UserSqlError};
use oauth_core::ports::TransientStoreCause;
use sql_engines::{is_contention, is_decode_error, is_outage, is_statement_interrupted};

/// The reason why the startup lock could not be acquired or released.
#[derive(Debug, thiserror::Error)]
pub enum StartupLockError {
    /// The lock file cannot be used.
    #[error("start lock: {0}")]
    File(#[from] std::io::Error),
    /// The engine failed.
    #[error("start lock: {0}")]
    Engine(#[from] sqlx::Error),
}

/// Returns whether a row of the index is there already that by the rules cannot be: somebody wrote past them.
pub(crate) fn is_strewn_row(error: &sqlx::Error) -> bool {
    let Some(refused) = error.as_database_error() else { return false };
    refused.is_unique_violation() && refused.table().is_some_and(|table| table.starts_with("search_"))
}

/// Returns what the engine has against the SQL it was told to run, unless it failed by itself; `place` says where that
/// is.
pub(crate) fn refusal(error: &sqlx::Error, engine: &'static str, place: SqlPosition) -> Option<UserSqlError> {
    let refused = error.as_database_error()?;
    let code = refused.code();
    if is_contention(error) || code.as_deref().is_some_and(is_failure) {
        return None;
    }
    Some(UserSqlError { engine, code: code.map(Into::into), message: refused.message().to_owned(), place })
}

/// Returns whether a code says that the engine failed, whatever it was told: on Postgres the classes of lost
/// connections, resources, intervention, the system and internal faults; on SQLite, whose codes are numbers, memory,
/// files and the disk.
fn is_failure(code: &str) -> bool {
    match code.parse::<u32>() {
        Ok(number) if code.len() != 5 => matches!(number & 0xff, 6 | 7 | 8 | 10 | 11 | 13 | 14 | 26),
        _ => ["08", "53", "57", "58", "XX"].iter().any(|class| code.starts_with(class)),
    }
}

/// Returns the failure as the OAuth rules know it. They tell one that passes from the others; inside is the failure as
/// the resource rules know it, for whoever tells more kinds apart.
pub(crate) fn oauth(error: sqlx::Error) -> oauth_core::ports::StoreError {
    oauth_core::ports::StoreError(Box::new(fhir(error)))
}

/// Returns whether one request of a batch may be at fault, and the others well without it.
pub(crate) fn is_of_one(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some() || is_decode_error(error)
}

/// Returns the failure of a batch as each of its requests is told it.
pub(crate) fn shared(error: &Arc<sqlx::Error>) -> oauth_core::ports::StoreError {
    let engine = Box::new(Arc::clone(error));
    oauth_core::ports::StoreError(Box::new(match error.as_ref() {
        error if is_contention(error) => fhir_store::StoreError::Contended(Box::new(TransientStoreCause(engine))),
        sqlx::Error::PoolTimedOut => fhir_store::StoreError::Busy(Box::new(TransientStoreCause(engine))),
        error if is_decode_error(error) => fhir_store::StoreError::Corrupt(engine),
        error if is_outage(error) => fhir_store::StoreError::Unavailable(Box::new(TransientStoreCause(engine))),
        _ => fhir_store::StoreError::Failed(engine),
    }))
}

/// Returns the failure of a batch as the resource rules know it.
pub(crate) fn of_batch(error: oauth_core::ports::StoreError) -> fhir_store::StoreError {
    match error.0.downcast() {
        Ok(known) => *known,
        Err(other) => fhir_store::StoreError::Unavailable(other),
    }
}

/// Returns the failure as the resource rules know it.
pub(crate) fn fhir(error: sqlx::Error) -> fhir_store::StoreError {
    match error {
        error if is_contention(&error) => fhir_store::StoreError::Contended(Box::new(passing(error))),
        sqlx::Error::PoolTimedOut => fhir_store::StoreError::Busy(Box::new(passing(error))),
        error if is_statement_interrupted(&error) => fhir_store::StoreError::TooCostly(Box::new(error)),
        error if is_decode_error(&error) => fhir_store::StoreError::Corrupt(Box::new(error)),
        error if is_outage(&error) => fhir_store::StoreError::Unavailable(Box::new(passing(error))),
        error => fhir_store::StoreError::Failed(Box::new(error)),
    }
}

fn passing(error: sqlx::Error) -> TransientStoreCause {
    TransientStoreCause(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_without_a_free_connection_is_busy_and_not_broken() {
        assert!(matches!(fhir(sqlx::Error::PoolTimedOut), fhir_store::StoreError::Busy(_)));
        let within = oauth(sqlx::Error::PoolTimedOut).0;
        assert!(matches!(within.downcast_ref(), Some(fhir_store::StoreError::Busy(_))));
        let within = shared(&Arc::new(sqlx::Error::PoolTimedOut)).0;
        assert!(matches!(within.downcast_ref(), Some(fhir_store::StoreError::Busy(_))));
        assert!(matches!(fhir(sqlx::Error::PoolClosed), fhir_store::StoreError::Unavailable(_)));
        assert!(oauth(sqlx::Error::PoolTimedOut).is_transient() && oauth(sqlx::Error::PoolClosed).is_transient());
        assert!(shared(&Arc::new(sqlx::Error::PoolTimedOut)).is_transient());
    }

    #[test]
    fn an_outage_is_told_from_a_refusal() {
        assert!(matches!(fhir(sqlx::Error::WorkerCrashed), fhir_store::StoreError::Unavailable(_)));
        assert!(matches!(fhir(sqlx::Error::RowNotFound), fhir_store::StoreError::Failed(_)));
        assert!(oauth(sqlx::Error::WorkerCrashed).is_transient() && !oauth(sqlx::Error::RowNotFound).is_transient());
    }

    #[test]
    fn an_engine_that_fails_is_told_from_one_that_refuses() {
        // Postgres: shutdown, disk full, internal; SQLite: disk full, I/O error on a write.
        for failure in ["57P01", "53100", "XX000", "08006", "13", "778"] {
            assert!(is_failure(failure), "{failure}");
        }
        // Postgres: no such table, duplicate key, syntax; SQLite: any error, duplicate key.
        for refusal in ["42P01", "23505", "42601", "1", "1555"] {
            assert!(!is_failure(refusal), "{refusal}");
        }
    }
}
