//! What can go wrong, told apart by what the caller can do about it.

use std::path::PathBuf;

use chat_core::ports::{StoreError, TooCostly, Unavailable};

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
    #[error("there is no database of chat-server: it is created when the server starts for the first time")]
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

/// The reason why the secrets in the database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// They are encrypted, and the caller has no key-encryption secret.
    #[error("no key-encryption secret is given, and the secrets in the database are encrypted")]
    Missing,
    /// They are encrypted under another key-encryption secret.
    #[error("the key-encryption secret is not the one that the secrets in the database are encrypted under")]
    Wrong,
    /// The row that has the key is not one that this server wrote.
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
    StoreError(if is_outage { Box::new(Unavailable(error)) } else { error })
}

/// As [`failed`], of a search: one that its engine ended because it took too long is told apart.
pub(crate) fn search_failed(error: sqlx::Error) -> StoreError {
    // SQLite: interrupted. Postgres: cancelled.
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    let is_ended = matches!(code.as_deref(), Some("9" | "57014"));
    if is_ended { StoreError(Box::new(TooCostly)) } else { failed(error) }
}

/// Returns whether the database cannot be used at the moment, whatever it was asked: it is gone, has no room, is locked
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

/// Codes of Postgres have five characters, those of SQLite are smaller numbers.
///
/// # Source
/// Postgres, appendix A: lost connections (08), resources (53, a full disk among them), the server's end and start
/// (57P), the system (58), a server that only reads (25006), others in the way (40001, 40P01). SQLite, "Result and
/// Error Codes": busy, locked, no memory, read-only, I/O, full, cannot open, locking protocol.
fn is_outage_code(code: &str) -> bool {
    match code.parse::<u32>() {
        Ok(number) if code.len() != 5 => matches!(number & 0xff, 5 | 6 | 7 | 8 | 10 | 13 | 14 | 15),
        _ => ["08", "53", "57P", "58", "25006", "40001", "40P01"].iter().any(|class| code.starts_with(class)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_told_from_a_refusal_and_from_damage() {
        // Postgres: gone, disk full, starting, I/O, standby, deadlock. SQLite: busy, read-only, I/O on a write, full.
        for code in ["08006", "53100", "57P03", "58030", "25006", "40P01", "5", "1544", "778", "13"] {
            assert!(is_outage_code(code), "{code}");
        }
        // Postgres: duplicate key, syntax, cancelled, internal. SQLite: error, interrupted, damaged, duplicate key.
        for code in ["23505", "42601", "57014", "XX000", "1", "9", "11", "1555"] {
            assert!(!is_outage_code(code), "{code}");
        }
        assert!(failed(sqlx::Error::PoolTimedOut).is_unavailable());
        assert!(!failed(sqlx::Error::RowNotFound).is_unavailable());
        assert!(!failed("a text").is_unavailable());
    }
}
