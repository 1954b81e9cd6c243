//! The data directory of SQLite: its files, the lock of the nodes that start on it, and how the database is opened.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::SqliteConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use crate::CONNECTION_ACQUIRE_TIMEOUT;
use crate::fault::DatabaseOpenError;

/// How long a SQLite statement waits for another process to finish its write.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const _: () = assert!(CONNECTION_ACQUIRE_TIMEOUT.as_secs() < BUSY_TIMEOUT.as_secs(), "see ACQUIRE_TIMEOUT");

/// The files of a server's SQLite database in its data directory: `NAME.db`, and the lock file `NAME.lock`.
#[derive(Debug, Clone)]
pub struct SqliteDataDir {
    folder: PathBuf,
    database: PathBuf,
    lock: PathBuf,
}

impl SqliteDataDir {
    /// Names the files of the server `name` without creating any.
    #[must_use]
    pub fn new(folder: &Path, name: &str) -> Self {
        let file = |extension| folder.join(format!("{name}.{extension}"));
        Self { folder: folder.to_owned(), database: file("db"), lock: file("lock") }
    }

    /// Returns whether the database file exists and is not empty. An empty file is what an interrupted first start
    /// leaves behind.
    #[must_use]
    pub fn has_database(&self) -> bool {
        self.database.metadata().is_ok_and(|file| file.len() > 0)
    }

    /// Creates the data directory and its files, readable by their owner alone, and returns the lock on it, which is
    /// released when it is dropped.
    ///
    /// **Why** the lock: two processes that turn a new file into a write-ahead log at once get in each other's way,
    /// whatever the busy timeout.
    ///
    /// # Errors
    /// [`DatabaseOpenError::DataDir`] with the path that cannot be used.
    pub async fn create_and_lock(&self) -> Result<File, DatabaseOpenError> {
        self.create_files()?;
        self.wait_for_lock().await.map_err(failed(&self.lock))
    }

    fn create_files(&self) -> Result<(), DatabaseOpenError> {
        let mut directory = std::fs::DirBuilder::new();
        let mut file = File::options();
        directory.recursive(true);
        file.create(true).append(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
            directory.mode(0o700);
            file.mode(0o600);
        }
        directory.create(&self.folder).map_err(failed(&self.folder))?;
        for path in [&self.database, &self.lock] {
            file.open(path).map_err(failed(path))?;
        }
        Ok(())
    }

    /// Waits for the lock of the data directory; it is released when the returned file is dropped.
    ///
    /// # Errors
    /// When the file cannot be opened or locked.
    pub async fn wait_for_lock(&self) -> std::io::Result<File> {
        let path = self.lock.clone();
        tokio::task::spawn_blocking(move || {
            let file = File::options().append(true).open(path)?;
            file.lock()?;
            Ok(file)
        })
        .await
        .map_err(std::io::Error::other)?
    }

    /// Returns the options of a connection to the database: write-ahead log, foreign keys, durable commits, a busy
    /// timeout of ten seconds.
    #[must_use]
    pub fn connect_options(&self) -> SqliteConnectOptions {
        SqliteConnectOptions::new()
            .filename(&self.database)
            .journal_mode(SqliteJournalMode::Wal)
            // With FULL every commit is on the disk before it is answered.
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT)
    }
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> DatabaseOpenError {
    let path = path.to_owned();
    move |source| DatabaseOpenError::DataDir { path, source }
}

/// Returns the options of a pool of at most `connections` SQLite connections. A connection that cannot begin a
/// transaction is replaced ([`can_begin_transaction`]), unless the caller sets another `before_acquire`.
#[must_use]
pub fn sqlite_pool_options(connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(CONNECTION_ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .before_acquire(|connection, _| Box::pin(async move { Ok(can_begin_transaction(connection)) }))
}

/// Returns whether a SQLite connection can begin a transaction, and logs a warning when it cannot.
///
/// **Why**: SQLite may roll a transaction back by itself, for example when the disk is full. The driver cannot end such
/// a transaction, so no other can begin on that connection.
pub fn can_begin_transaction(connection: &SqliteConnection) -> bool {
    use sqlx::Connection as _;
    let is_fit = !connection.is_in_transaction();
    if !is_fit {
        tracing::warn!("a connection was replaced: its last transaction could not be ended");
    }
    is_fit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_empty_file_is_no_database_and_two_nodes_wait_for_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let data = SqliteDataDir::new(&folder.path().join("data"), "test");
        let locked = data.create_and_lock().await.unwrap();
        assert!(!data.has_database());
        let waits = tokio::time::timeout(Duration::from_millis(50), data.wait_for_lock());
        assert!(waits.await.is_err());
        drop(locked);
        data.wait_for_lock().await.unwrap();
        let pool = sqlite_pool_options(1).connect_with(data.connect_options()).await.unwrap();
        sqlx::query("CREATE TABLE t (a BIGINT)").execute(&pool).await.unwrap();
        pool.close().await;
        assert!(data.has_database());
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_made_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let refused = SqliteDataDir::new(&file, "test").create_and_lock().await.unwrap_err();
        assert!(matches!(&refused, DatabaseOpenError::DataDir { path, .. } if *path == file), "{refused}");
    }
}
