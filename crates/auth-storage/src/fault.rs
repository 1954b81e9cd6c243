//! What can go wrong, told apart by what the caller can do about it.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use migrations::{SqlError, SqlPosition};
use oauth_core::ports::Transient;

/// The reason why the database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL names no engine this crate speaks. Only the scheme is kept: the rest may hold a
    /// password.
    #[error("database URL with scheme {scheme:?}: only postgres:// and postgresql:// are known")]
    UnknownEngine {
        /// What stands before the colon.
        scheme: String,
    },
    /// The data directory, or a file in it, cannot be created or written.
    #[error("data directory {}: {source}", path.display())]
    DataDir {
        /// The directory or file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The engine cannot be reached, or refuses the connection.
    #[error("cannot connect to the database: {0}")]
    Connect(#[source] sqlx::Error),
    /// No connection to Postgres within ten seconds. The text never holds a password.
    #[error("Postgres at {host}:{port} cannot be reached: {reason}")]
    Unreachable {
        /// Name or address of the machine, or the folder of the socket.
        host: String,
        /// Its port.
        port: u16,
        /// What the operating system, the TLS library or Postgres says.
        reason: String,
    },
    /// There is no database of this server, and the caller wanted no new one.
    #[error("there is no database of auth-server: it is created when the server starts for the first time")]
    Absent,
    /// A schema file cannot be applied.
    #[error("schema file {name}: {source}")]
    Schema {
        /// The file's name without its folder.
        name: &'static str,
        /// What the engine says.
        source: sqlx::Error,
    },
    /// The database was last opened by a newer version, whose schema this one does not know.
    #[error("the database has schema {found}, this version knows {known}: use the newer version")]
    NewerSchema {
        /// Number of the newest schema file applied to it.
        found: i64,
        /// Number of the newest schema file of this version.
        known: i64,
    },
}

/// The start lock could not be taken or given back.
#[derive(Debug, thiserror::Error)]
pub enum StartLockError {
    /// The lock file cannot be used.
    #[error("start lock: {0}")]
    File(#[from] std::io::Error),
    /// The engine failed.
    #[error("start lock: {0}")]
    Engine(#[from] sqlx::Error),
}

/// How often a transaction that lost against others is tried again.
const ATTEMPTS: u32 = 5;
/// How long the first repetition waits; each further one waits one such step longer.
const RETRY_STEP: Duration = Duration::from_millis(5);

/// How long a transaction is tried. On SQLite, losing against another process takes as long as the busy timeout.
const RETRY_MAX: Duration = Duration::from_secs(5);

/// Returns whether others were in the way: the same transaction may well succeed later.
pub(crate) fn is_contention(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    // 40001 serialization failure, 40P01 deadlock; SQLITE_BUSY and its extended forms.
    matches!(code.as_deref(), Some("40001" | "40P01" | "5" | "261" | "517"))
}

/// Returns whether the engine ended a statement before its end: it took too long, or its caller went away.
pub(crate) fn is_cut_short(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    // 57014 query canceled; SQLITE_INTERRUPT.
    matches!(code.as_deref(), Some("57014" | "9"))
}

/// Returns whether a row of the index is there already that by the rules cannot be: somebody wrote past them.
pub(crate) fn is_strewn_row(error: &sqlx::Error) -> bool {
    let Some(refused) = error.as_database_error() else { return false };
    refused.is_unique_violation() && refused.table().is_some_and(|table| table.starts_with("search_"))
}

/// Returns what the engine has against the SQL it was told to run, unless it failed by itself; `place` says where that
/// is.
pub(crate) fn refusal(error: &sqlx::Error, engine: &'static str, place: SqlPosition) -> Option<SqlError> {
    let refused = error.as_database_error()?;
    let code = refused.code();
    if is_contention(error) || code.as_deref().is_some_and(is_failure) {
        return None;
    }
    Some(SqlError { engine, code: code.map(Into::into), message: refused.message().to_owned(), place })
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

/// Returns whether the engine cannot be used at the moment, whatever it was asked: it is gone, has no room, is locked
/// by others, or takes no writes. A database that is damaged is not among it, because waiting mends nothing there.
fn is_outage(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::BeginFailed => true,
        sqlx::Error::Database(refused) => refused.code().is_some_and(|code| is_outage_code(&code)),
        _ => false,
    }
}

/// # Source
/// Postgres, appendix A: lost connections (08), resources (53, a full disk among them), the server's end and start
/// (57P), the system (58), a server that only reads (25006). SQLite, "Result and Error Codes": busy, locked, no memory,
/// read-only, I/O, full, cannot open, locking protocol.
fn is_outage_code(code: &str) -> bool {
    match code.parse::<u32>() {
        Ok(number) if code.len() != 5 => matches!(number & 0xff, 5 | 6 | 7 | 8 | 10 | 13 | 14 | 15),
        _ => ["08", "53", "57P", "58", "25006"].iter().any(|class| code.starts_with(class)),
    }
}

/// What a transaction's error says about trying it again.
pub(crate) trait Contended {
    fn is_contended(&self) -> bool;
}

impl Contended for sqlx::Error {
    fn is_contended(&self) -> bool {
        is_contention(self)
    }
}

/// Runs a transaction, and again while others are in the way, at most [`ATTEMPTS`] times in all and for about
/// [`RETRY_MAX`].
pub(crate) async fn retried<T, E, F>(mut attempt: impl FnMut() -> F) -> Result<T, E>
where
    E: Contended,
    F: Future<Output = Result<T, E>>,
{
    let began = Instant::now();
    for tried in 1..ATTEMPTS {
        match attempt().await {
            Err(error) if error.is_contended() && began.elapsed() < RETRY_MAX => {
                tokio::time::sleep(RETRY_STEP * tried).await;
            }
            done => return done,
        }
    }
    attempt().await
}

/// Returns the failure as the OAuth rules know it. They tell one that passes from the others; inside is the failure as
/// the resource rules know it, for whoever tells more kinds apart.
pub(crate) fn oauth(error: sqlx::Error) -> oauth_core::ports::StoreError {
    oauth_core::ports::StoreError(Box::new(fhir(error)))
}

/// Returns whether one request of a batch may be at fault, and the others well without it.
pub(crate) fn is_of_one(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some() || is_unreadable(error)
}

fn is_unreadable(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_))
}

/// Returns the failure of a batch as each of its requests is told it.
pub(crate) fn shared(error: &Arc<sqlx::Error>) -> oauth_core::ports::StoreError {
    let engine = Box::new(Arc::clone(error));
    oauth_core::ports::StoreError(Box::new(match error.as_ref() {
        error if is_contention(error) => fhir_store::StoreError::Contended(Box::new(Transient(engine))),
        sqlx::Error::PoolTimedOut => fhir_store::StoreError::Busy(Box::new(Transient(engine))),
        error if is_unreadable(error) => fhir_store::StoreError::Corrupt(engine),
        error if is_outage(error) => fhir_store::StoreError::Unavailable(Box::new(Transient(engine))),
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
        error if is_cut_short(&error) => fhir_store::StoreError::TooCostly(Box::new(error)),
        error if is_unreadable(&error) => fhir_store::StoreError::Corrupt(Box::new(error)),
        error if is_outage(&error) => fhir_store::StoreError::Unavailable(Box::new(passing(error))),
        error => fhir_store::StoreError::Failed(Box::new(error)),
    }
}

fn passing(error: sqlx::Error) -> Transient {
    Transient(Box::new(error))
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
        assert!(oauth(sqlx::Error::PoolTimedOut).is_passing() && oauth(sqlx::Error::PoolClosed).is_passing());
        assert!(shared(&Arc::new(sqlx::Error::PoolTimedOut)).is_passing());
    }

    #[test]
    fn an_outage_is_told_from_a_refusal_and_from_damage() {
        // Postgres: gone, disk full, starting, I/O, standby. SQLite: busy, read-only, I/O on a write, full.
        for code in ["08006", "53100", "57P03", "58030", "25006", "5", "1544", "778", "13"] {
            assert!(is_outage_code(code), "{code}");
        }
        // Postgres: duplicate key, syntax, cancelled, internal. SQLite: error, interrupted, damaged, duplicate key.
        for code in ["23505", "42601", "57014", "XX000", "1", "9", "11", "1555"] {
            assert!(!is_outage_code(code), "{code}");
        }
        assert!(matches!(fhir(sqlx::Error::WorkerCrashed), fhir_store::StoreError::Unavailable(_)));
        assert!(matches!(fhir(sqlx::Error::RowNotFound), fhir_store::StoreError::Failed(_)));
        assert!(oauth(sqlx::Error::WorkerCrashed).is_passing() && !oauth(sqlx::Error::RowNotFound).is_passing());
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
