//! The choice of the engine.

use std::fs::{File, TryLockError};

use anyhow::{Context as _, bail};
use chat_storage::{Db, SecretError, Store};
use url::Url;

use crate::config::{Config, DatabaseConfig};

/// Opens the database and brings its schema up to date; says first which one.
///
/// # Errors
/// When it cannot be reached, or is not ours.
pub(crate) async fn open(config: &DatabaseConfig) -> anyhow::Result<Db> {
    tracing::info!("database: {}", place(config));
    Db::open(config.url(), &config.data_dir, config.connections()).await.context("cannot open the database")
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

/// Opens the database as [`open`], and reads the organization.
///
/// # Errors
/// As [`open`], and when the secrets in it cannot be decrypted.
pub(crate) async fn start(config: &Config) -> anyhow::Result<Store> {
    read(config, open(&config.database).await?).await
}

/// Opens a database as [`open_existing`], and reads the organization.
///
/// # Errors
/// As [`open_existing`], and when the secrets in it cannot be decrypted.
pub(crate) async fn start_existing(config: &Config) -> anyhow::Result<Store> {
    read(config, open_existing(&config.database).await?).await
}

/// Reads the organization of a database that is open.
///
/// # Errors
/// When the secrets in it cannot be decrypted, or storage fails.
pub(crate) async fn read(config: &Config, db: Db) -> anyhow::Result<Store> {
    Store::start_with(db, config.keys.secret()).await.map_err(explain)
}

/// The error with the flag that mends it.
pub(crate) fn explain(error: SecretError) -> anyhow::Error {
    let advice = match &error {
        SecretError::Missing => {
            "--key-encryption-secret (CHAT_KEY_ENCRYPTION_SECRET) is not set, and the secrets in this database need it"
        }
        SecretError::Wrong => {
            "--key-encryption-secret (CHAT_KEY_ENCRYPTION_SECRET) is not the secret of this database; where it is lost, \
             `keys discard` gives up what is encrypted under it"
        }
        SecretError::Damaged | SecretError::Storage(_) => "cannot read the organization",
    };
    anyhow::Error::new(error).context(advice)
}

/// Keeps other servers off an embedded database, for as long as it lives. Several nodes need Postgres:
/// on SQLite a node hears of another's messages only by looking, once a second. The commands beside a running
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
    let path = config.data_dir.join("chat.serving");
    let lock = File::options().create(true).truncate(false).write(true).open(&path);
    let lock = lock.with_context(|| format!("cannot open {}", path.display()))?;
    match lock.try_lock() {
        Ok(()) => Ok(Hold { _lock: Some(lock) }),
        Err(TryLockError::WouldBlock) => bail!(
            "another chat-server serves from {}: several nodes need Postgres (--database-url)",
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
        let arguments = std::iter::once("chat-server").chain(flags.iter().copied()).map(OsString::from);
        place(&crate::config::read(arguments).unwrap().database)
    }

    #[test]
    fn a_second_server_on_one_embedded_database_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let arguments = ["chat-server".into(), "--data-dir".into(), dir.path().as_os_str().to_owned()];
        let config = crate::config::read(arguments).unwrap().database;
        let first = hold(&config).unwrap();
        let refusal = hold(&config).unwrap_err().to_string();
        assert!(refusal.contains("several nodes need Postgres"), "{refusal}");
        drop(first);
        hold(&config).unwrap();
    }

    #[test]
    fn the_place_is_said_without_user_and_password() {
        let url = "postgres://chat:hunter2@db.example:6432/chat?sslmode=require&password=hunter2";
        assert_eq!(said(&["--database-url", url]), "Postgres at db.example:6432/chat");
        assert_eq!(said(&["--database-url", "postgres://chat@db/chat"]), "Postgres at db:5432/chat");
        assert_eq!(said(&["--data-dir", "/srv/chat"]), "SQLite (embedded) in /srv/chat");
    }
}
