//! The choice of the engine.

use anyhow::Context as _;
use chat_storage::{ChatDatabase, ChatStore, StoredSecretsError};
use server_kit::config::describe_database_for_log;
use server_kit::instance_lock::{InstanceLock, InstanceLockError};

use crate::config::{Config, DatabaseConfig};

/// Opens the database and brings its schema up to date; says first which one.
///
/// # Errors
/// When it cannot be reached, or is not ours.
pub(crate) async fn open(config: &DatabaseConfig) -> anyhow::Result<ChatDatabase> {
    tracing::info!("database: {}", describe_database_for_log(config.url(), &config.data_dir));
    ChatDatabase::open_and_migrate(config.url(), &config.data_dir, config.connections())
        .await
        .context("cannot open the database")
}

/// Opens a database that a server made, for a command that has nothing to do in an empty one.
///
/// # Errors
/// When there is none, it cannot be reached, or is not ours. Nothing is created.
pub(crate) async fn open_existing_and_migrate(config: &DatabaseConfig) -> anyhow::Result<ChatDatabase> {
    tracing::info!("database: {}", describe_database_for_log(config.url(), &config.data_dir));
    let opened = ChatDatabase::open_existing_and_migrate(config.url(), &config.data_dir, config.connections()).await;
    opened.context("cannot open the database")
}

/// Opens the database as [`open`], and reads the organization.
///
/// # Errors
/// As [`open`], and when the secrets in it cannot be decrypted.
pub(crate) async fn start(config: &Config) -> anyhow::Result<ChatStore> {
    read(config, open(&config.database).await?).await
}

/// Opens a database as [`open_existing_and_migrate`], and reads the organization.
///
/// # Errors
/// As [`open_existing_and_migrate`], and when the secrets in it cannot be decrypted.
pub(crate) async fn start_existing(config: &Config) -> anyhow::Result<ChatStore> {
    read(config, open_existing_and_migrate(&config.database).await?).await
}

/// Reads the organization of a database that is open.
///
/// # Errors
/// When the secrets in it cannot be decrypted, or storage fails.
pub(crate) async fn read(config: &Config, db: ChatDatabase) -> anyhow::Result<ChatStore> {
    ChatStore::start_with_secret(db, config.keys.secret()).await.map_err(explain)
}

/// Returns the error with the flag that mends it.
pub(crate) fn explain(error: StoredSecretsError) -> anyhow::Error {
    let advice = match &error {
        StoredSecretsError::Missing => {
            "--key-encryption-secret (CHAT_KEY_ENCRYPTION_SECRET) is not set, and the secrets in this database need it"
        }
        StoredSecretsError::Wrong => {
            "--key-encryption-secret (CHAT_KEY_ENCRYPTION_SECRET) is not the secret of this database; where it is lost, \
             `keys discard` gives up what is encrypted under it"
        }
        StoredSecretsError::Damaged | StoredSecretsError::Storage(_) => "cannot read the organization",
    };
    anyhow::Error::new(error).context(advice)
}

/// Excludes other servers from an embedded database while the lock lives; `None` on Postgres. Several nodes need
/// Postgres: on SQLite a node learns of the messages of another only by polling, once a second. The
/// commands beside a running server take no such lock.
///
/// # Errors
/// Another server has it.
pub(crate) fn instance_lock(config: &DatabaseConfig) -> Result<Option<InstanceLock>, InstanceLockError> {
    if config.url().is_some() {
        return Ok(None);
    }
    InstanceLock::acquire("chat-server", &config.data_dir, "chat.serving").map(Some)
}
