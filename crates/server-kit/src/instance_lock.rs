//! The lock that allows one server at a time on an embedded database.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// A lock on an embedded database that keeps other server processes out until it is dropped.
#[derive(Debug)]
pub struct InstanceLock {
    /// The operating system releases the lock with the process, however that ends.
    _file: File,
}

/// The reason why the lock on an embedded database was not acquired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstanceLockError {
    /// Another server process holds the lock.
    #[error("another {program} serves from {}: several nodes need Postgres (--database-url)", .data_dir.display())]
    Held {
        /// The name of the server.
        program: &'static str,
        /// The directory of the database.
        data_dir: PathBuf,
    },
    /// The lock file cannot be opened.
    #[error("cannot open {}", .0.display())]
    Open(PathBuf, #[source] io::Error),
    /// The file system cannot lock the file.
    #[error("cannot lock {}", .0.display())]
    Lock(PathBuf, #[source] io::Error),
}

impl InstanceLock {
    /// Locks the file `name` in `data_dir` for `program`.
    ///
    /// # Errors
    /// See [`InstanceLockError`].
    pub fn acquire(program: &'static str, data_dir: &Path, name: &str) -> Result<Self, InstanceLockError> {
        let path = data_dir.join(name);
        let opened = File::options().create(true).truncate(false).write(true).open(&path);
        let file = match opened {
            Ok(file) => file,
            Err(error) => return Err(InstanceLockError::Open(path, error)),
        };
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(InstanceLockError::Held { program, data_dir: data_dir.to_owned() }),
            Err(TryLockError::Error(error)) => Err(InstanceLockError::Lock(path, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_server_on_one_embedded_database_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let acquire = || InstanceLock::acquire("auth-server", dir.path(), "auth.serving");
        let first = acquire().unwrap();
        let refusal = acquire().unwrap_err().to_string();
        assert!(refusal.contains("another auth-server serves from"), "{refusal}");
        assert!(refusal.contains("several nodes need Postgres"), "{refusal}");
        drop(first);
        acquire().unwrap();
    }
}
