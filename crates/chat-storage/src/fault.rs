//! What can go wrong, told apart by what the caller can do about it.

use std::path::PathBuf;

use chat_core::ports::StoreError;

/// Why the database could not be opened.
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

/// The failure as the rules know it.
pub(crate) fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError(error.into())
}
