//! Failures of an engine, distinguished by what the caller can do about them.
//!
//! Codes of Postgres have five characters, those of SQLite are smaller numbers.
//!
//! # Source
//! Postgres, appendix A; SQLite, "Result and Error Codes".

use std::path::PathBuf;

/// The reason why a database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseOpenError {
    /// The URL names no engine this crate speaks. Only the scheme is in it: the rest may have a password.
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
    /// No connection to Postgres within ten seconds. The text never has a password.
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
    #[error("there is no database of {server}: it is created when the server starts for the first time")]
    Absent {
        /// The name of the server.
        server: &'static str,
    },
    /// A schema file cannot be applied.
    #[error("schema file {name}: {source}")]
    Schema {
        /// The file's name without its folder.
        name: &'static str,
        /// What the engine says.
        source: sqlx::Error,
    },
    /// A schema file has another text than the one that was applied to the database.
    #[error("schema file {name} is not the one that was applied to the database: use the program that applied it")]
    ChangedSchema {
        /// The file's name without its folder.
        name: &'static str,
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

fn code(error: &sqlx::Error) -> Option<std::borrow::Cow<'_, str>> {
    error.as_database_error()?.code()
}

/// Returns whether other transactions conflicted, so that the same transaction may succeed when retried.
#[must_use]
pub fn is_contention(error: &sqlx::Error) -> bool {
    // 40001 serialization failure, 40P01 deadlock; SQLITE_BUSY and its extended forms.
    matches!(code(error).as_deref(), Some("40001" | "40P01" | "5" | "261" | "517"))
}

/// Returns whether the engine interrupted a statement: it took too long, or was cancelled.
#[must_use]
pub fn is_statement_interrupted(error: &sqlx::Error) -> bool {
    // 57014 query canceled; SQLITE_INTERRUPT.
    matches!(code(error).as_deref(), Some("57014" | "9"))
}

/// Returns whether the error is a column value that could not be decoded.
#[must_use]
pub const fn is_decode_error(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_))
}

/// Returns whether the engine cannot be used at the moment: it is lost, full, locked or read-only. False for a damaged
/// database, because waiting mends nothing there.
#[must_use]
pub fn is_outage(error: &sqlx::Error) -> bool {
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

/// On Postgres lost connections (08), resources (53, a full disk among them), the server's end and start (57P), the
/// system (58), a server that only reads (25006), others in the way (40001, 40P01), a database that takes no
/// connections (55000). On SQLite busy, locked, no memory, read-only, I/O, full, cannot open, locking protocol.
fn is_outage_code(code: &str) -> bool {
    match code.parse::<u32>() {
        Ok(number) if code.len() != 5 => matches!(number & 0xff, 5 | 6 | 7 | 8 | 10 | 13 | 14 | 15),
        _ => ["08", "53", "57P", "58", "25006", "40001", "40P01", "55000"].iter().any(|class| code.starts_with(class)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_told_from_a_refusal_and_from_damage() {
        // Postgres: gone, disk full, starting, I/O, standby, deadlock. SQLite: busy, read-only, I/O on a write, full.
        for code in ["08006", "53100", "57P03", "58030", "25006", "40P01", "55000", "5", "1544", "778", "13"] {
            assert!(is_outage_code(code), "{code}");
        }
        // Postgres: duplicate key, syntax, cancelled, internal. SQLite: error, interrupted, damaged, duplicate key.
        for code in ["23505", "42601", "57014", "XX000", "1", "9", "11", "1555"] {
            assert!(!is_outage_code(code), "{code}");
        }
        assert!(is_outage(&sqlx::Error::PoolTimedOut) && !is_outage(&sqlx::Error::RowNotFound));
    }
}
