//! The choice of the engine.

use std::time::Duration;

use anyhow::Context as _;
use auth_storage::AuthDatabase;
use server_kit::config::describe_database_for_log;
use server_kit::instance_lock::{InstanceLock, InstanceLockError};

use crate::config::DatabaseConfig;

/// Opens the database and brings its schema up to date; says first which one.
///
/// # Errors
/// When it cannot be reached, or is not ours.
pub(crate) async fn open(config: &DatabaseConfig, search_time: Duration) -> anyhow::Result<AuthDatabase> {
    tracing::info!("database: {}", describe_database_for_log(config.url(), &config.data_dir));
    let limits = (config.connections(), search_time);
    AuthDatabase::open_with_search_limit(config.url(), &config.data_dir, limits)
        .await
        .context("cannot open the database")
}

/// Opens a database that a server made, for a command that has nothing to do in an empty one.
///
/// # Errors
/// When there is none, it cannot be reached, or is not ours. Nothing is created.
pub(crate) async fn open_existing_and_migrate(config: &DatabaseConfig) -> anyhow::Result<AuthDatabase> {
    tracing::info!("database: {}", describe_database_for_log(config.url(), &config.data_dir));
    let opened = AuthDatabase::open_existing_and_migrate(config.url(), &config.data_dir, config.connections()).await;
    opened.context("cannot open the database")
}

/// Excludes other servers from an embedded database while the lock lives; `None` on Postgres. Several nodes need
/// Postgres: on SQLite each would keep its own copies and batches over one file. The
/// commands beside a running server take no such lock.
///
/// # Errors
/// Another server has it.
pub(crate) fn instance_lock(config: &DatabaseConfig) -> Result<Option<InstanceLock>, InstanceLockError> {
    if config.url().is_some() {
        return Ok(None);
    }
    InstanceLock::acquire("auth-server", &config.data_dir, "auth.serving").map(Some)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    #[tokio::test]
    async fn a_key_command_in_a_folder_without_a_database_is_refused_and_creates_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("wrong");
        for verb in [
            &["list"][..],
            &["rotate"],
            &["retire", "kid"],
            &["reseal", "--new-key-encryption-secret=0123456789abcdef"],
        ] {
            let flags = ["auth-server", "--data-dir", folder.to_str().unwrap(), "keys"];
            let arguments = flags.iter().chain(verb).copied().map(OsString::from);
            let config = crate::config::read(arguments, |_| None).unwrap();
            let crate::config::Command::Keys(command) = config.task() else { panic!("{verb:?}") };
            let refusal = format!("{:#}", crate::keys::run(&config, command).await.unwrap_err());
            assert!(refusal.contains("there is no database of auth-server"), "{verb:?}: {refusal}");
            assert!(!folder.exists(), "{verb:?}");
        }
    }
}
