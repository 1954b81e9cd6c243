//! The data directory of SQLite: its files, and the lock of the nodes that start on it.

use std::path::{Path, PathBuf};

use crate::fault::OpenError;

/// Name of the SQLite database in the data directory.
pub(crate) const DATABASE_FILE: &str = "auth.db";
/// Name of the file that processes sharing a data directory lock.
const LOCK_FILE: &str = "auth.lock";

/// Creates the data directory and its files, for the owner alone: private keys are kept there.
/// Returns the path of the lock file.
pub(crate) fn create_files(data_dir: &Path) -> Result<PathBuf, OpenError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| OpenError::DataDir { path, source }
    };
    let mut directory = std::fs::DirBuilder::new();
    let mut file = std::fs::OpenOptions::new();
    directory.recursive(true);
    file.create(true).append(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        directory.mode(0o700);
        file.mode(0o600);
    }
    directory.create(data_dir).map_err(failed(data_dir))?;
    let lock_file = data_dir.join(LOCK_FILE);
    for path in [&data_dir.join(DATABASE_FILE), &lock_file] {
        file.open(path).map_err(failed(path))?;
    }
    Ok(lock_file)
}

/// Waits for the lock on a file; it is given back when the returned file is dropped.
pub(crate) async fn lock(path: PathBuf) -> std::io::Result<std::fs::File> {
    tokio::task::spawn_blocking(move || {
        let file = std::fs::File::options().append(true).open(path)?;
        file.lock()?;
        Ok(file)
    })
    .await
    .map_err(std::io::Error::other)?
}
