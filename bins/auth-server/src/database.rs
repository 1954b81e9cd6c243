//! The choice of the engine.

use std::fs::{File, TryLockError};
use std::time::Duration;

use anyhow::{Context as _, bail};
use auth_storage::Db;
use url::Url;

use crate::config::DatabaseConfig;

/// Opens the database and brings its schema up to date; says first which one.
///
/// # Errors
/// When it cannot be reached, or is not ours.
pub(crate) async fn open(config: &DatabaseConfig, search_time: Duration) -> anyhow::Result<Db> {
    tracing::info!("database: {}", place(config));
    let limits = (config.connections(), search_time);
    Db::open_limited(config.url(), &config.data_dir, limits).await.context("cannot open the database")
}

/// Opens a database that a server made, for a command that has nothing to do in an empty one.
///
/// # Errors
/// When there is none, it cannot be reached, or is not ours. Nothing is created.
pub(crate) async fn open_existing(config: &DatabaseConfig) -> anyhow::Result<Db> {
    tracing::info!("database: {}", place(config));
    let opened = Db::open_existing(config.url(), &config.data_dir, config.connections()).await;
    opened.context("cannot open the database")
}

/// Keeps other servers off an embedded database, for as long as it lives. Several nodes need Postgres:
/// on SQLite each would keep its own copies and batches over one file. The commands beside a running
/// server take no such hold.
#[derive(Debug)]
pub(crate) struct Hold {
    /// The operating system ends the lock with the process, however that ends.
    _lock: Option<File>,
}

/// Takes the hold.
///
/// # Errors
/// When another server has it.
pub(crate) fn hold(config: &DatabaseConfig) -> anyhow::Result<Hold> {
    if config.url().is_some() {
        return Ok(Hold { _lock: None });
    }
    let path = config.data_dir.join("auth.serving");
    let lock = File::options().create(true).truncate(false).write(true).open(&path);
    let lock = lock.with_context(|| format!("cannot open {}", path.display()))?;
    match lock.try_lock() {
        Ok(()) => Ok(Hold { _lock: Some(lock) }),
        Err(TryLockError::WouldBlock) => bail!(
            "another auth-server serves from {}: several nodes need Postgres (--database-url)",
            config.data_dir.display()
        ),
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
    }
}

/// Engine and place, without user and password.
fn place(config: &DatabaseConfig) -> String {
    match config.url().map(Url::parse) {
        None => format!("SQLite (embedded) in {}", config.data_dir.display()),
        Some(Ok(url)) => {
            let host = url.host_str().unwrap_or("the local socket");
            let port = url.port().unwrap_or(5432);
            format!("Postgres at {host}:{port}{}", url.path())
        }
        Some(Err(_)) => "Postgres".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn said(flags: &[&str]) -> String {
        let arguments = std::iter::once("auth-server").chain(flags.iter().copied()).map(OsString::from);
        place(&crate::config::read(arguments, |_| None).unwrap().database)
    }

    #[test]
    fn a_second_server_on_one_embedded_database_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let arguments = ["auth-server".into(), "--data-dir".into(), dir.path().as_os_str().to_owned()];
        let config = crate::config::read(arguments, |_| None).unwrap().database;
        let first = hold(&config).unwrap();
        let refusal = hold(&config).unwrap_err().to_string();
        assert!(refusal.contains("several nodes need Postgres"), "{refusal}");
        drop(first);
        hold(&config).unwrap();
    }

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

    #[test]
    fn the_place_is_said_without_user_and_password() {
        let url = "postgres://box:hunter2@db.example:6432/auth?sslmode=require&password=hunter2";
        assert_eq!(said(&["--database-url", url]), "Postgres at db.example:6432/auth");
        assert_eq!(said(&["--database-url", "postgres://box@db/auth"]), "Postgres at db:5432/auth");
        assert_eq!(said(&["--data-dir", "/srv/auth"]), "SQLite (embedded) in /srv/auth");
    }
}
