//! The data key: made at the first start, encrypted under the operator's secret, and given up with everything under it.
//!
//! Every start, and every command here, reads and writes it while it holds the head of the log, so any number of nodes
//! may start at once. The row is written in the transaction that encrypts what stood in clear: where there is none,
//! nothing is encrypted yet, and a start that was cut off left nothing behind.

use chat_core::StoreError;
use secrecy::SecretString;
use sql_engines::PerEngine;

use crate::clear_secrets;
use crate::db::ChatDatabase;
use crate::dialect::Sql;
use crate::encryption::{DataKey, SecretCipher, StoredDataKey};
use crate::engine::{Tx, run};
use crate::fault::{StoredSecretsError, failed};

static LOCK: Sql = Sql::new("SELECT last_event FROM log_head WHERE one = 1 {for_update}");
const READ: &str = "SELECT salt, key_data FROM data_key WHERE one = 1";
const PUT: &str = "INSERT INTO data_key (one, salt, key_data) VALUES (1, $1, $2)
ON CONFLICT (one) DO UPDATE SET salt = excluded.salt, key_data = excluded.key_data";
const FORGET_KEYS: &str = "UPDATE credential SET encrypted_key = NULL, key_hash = NULL WHERE encrypted_key IS NOT NULL";
const FORGET_LINKS: &str = "DELETE FROM invitation_link";
const FORGET_LETTERS: &str = "DELETE FROM outgoing_mail";
// Their hashes are of the old key, so they would open nothing and stand in lists.
const FORGET_SESSIONS: &str = "DELETE FROM user_item WHERE kind IN ('session', 'password_reset')";

/// The numbers of secrets that [`ChatDatabase::discard_secrets_and_rekey`] discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiscardedSecretCounts {
    /// The number of API keys.
    pub api_keys: u64,
    /// The number of reusable invitation links.
    pub links: u64,
    /// The number of letters that waited to be sent.
    pub letters: u64,
}

/// Returns the cipher of the database's secrets, under the secret given. The first start makes the key and encrypts
/// what stands in clear; the first start with a secret encrypts the key.
pub(crate) async fn open(db: &ChatDatabase, secret: Option<&SecretString>) -> Result<SecretCipher, StoredSecretsError> {
    let mut tx = begin(db).await?;
    let cipher = match read(&mut tx).await? {
        None => first(&mut tx, secret).await?,
        Some(stored) => {
            let key = opened(&stored, secret)?;
            if stored.salt.is_some() || secret.is_none() {
                return Ok(key.cipher()?);
            }
            put(&mut tx, &key.store(secret)?).await?;
            tracing::info!("the key of the secrets in the database is encrypted from now on");
            key.cipher()?
        }
    };
    finish(db, tx).await?;
    Ok(cipher)
}

impl ChatDatabase {
    /// Encrypts the data key under another key-encryption secret. `old` is the current one, `None` where there is none.
    /// Running nodes continue, and need the new secret at their next start.
    ///
    /// # Errors
    /// [`StoredSecretsError`] when `old` is not the current secret or storage fails; nothing has changed then.
    pub async fn reencrypt_data_key(
        &self,
        old: Option<&SecretString>,
        new: &SecretString,
    ) -> Result<(), StoredSecretsError> {
        let mut tx = begin(self).await?;
        if let Some(stored) = read(&mut tx).await? {
            put(&mut tx, &opened(&stored, old)?.store(Some(new))?).await?;
        } else {
            first(&mut tx, Some(new)).await?;
        }
        finish(self, tx).await?;
        Ok(())
    }

    /// Discards every API key, session, password reset, reusable invitation link and waiting letter, and makes a new
    /// data key under `secret`. No node may be running, because it would continue with the secrets in its memory.
    ///
    /// # Errors
    /// [`StoredSecretsError`] when storage fails; nothing has changed then.
    pub async fn discard_secrets_and_rekey(
        &self,
        secret: Option<&SecretString>,
    ) -> Result<DiscardedSecretCounts, StoredSecretsError> {
        let mut tx = begin(self).await?;
        put(&mut tx, &DataKey::generate()?.store(secret)?).await?;
        let api_keys = run!(tx.on(), execute: sqlx::query(FORGET_KEYS)).map_err(failed)?;
        let links = run!(tx.on(), execute: sqlx::query(FORGET_LINKS)).map_err(failed)?;
        let letters = run!(tx.on(), execute: sqlx::query(FORGET_LETTERS)).map_err(failed)?;
        run!(tx.on(), execute: sqlx::query(FORGET_SESSIONS)).map_err(failed)?;
        finish(self, tx).await?;
        Ok(DiscardedSecretCounts { api_keys, links, letters })
    }
}

/// A transaction that holds the head of the log.
async fn begin(db: &ChatDatabase) -> Result<Tx, StoreError> {
    let mut tx = db.begin().await.map_err(failed)?;
    let lock = LOCK.text_for_dialect(tx.dialect());
    let _head: i64 = run!(tx.on(), fetch_one: sqlx::query_scalar(lock.clone())).map_err(failed)?;
    Ok(tx)
}

async fn finish(db: &ChatDatabase, tx: Tx) -> Result<(), StoreError> {
    tx.commit().await.map_err(failed)?;
    clear_secrets::overwrite(db).await;
    Ok(())
}

async fn read(tx: &mut Tx) -> Result<Option<StoredDataKey>, StoreError> {
    let row: Option<(Option<String>, String)> = run!(tx.on(), fetch_optional: sqlx::query_as(READ)).map_err(failed)?;
    Ok(row.map(|(salt, data)| StoredDataKey { salt, data }))
}

/// Writes the row. What it replaces, and what the transaction deletes after it, is overwritten in the file.
async fn put(tx: &mut Tx, key: &StoredDataKey) -> Result<(), StoreError> {
    if let PerEngine::Sqlite(connection) = tx.on() {
        sqlx::query("PRAGMA secure_delete = ON").execute(connection).await.map_err(failed)?;
    }
    run!(tx.on(), execute: sqlx::query(PUT).bind(key.salt.as_deref()).bind(&key.data)).map_err(failed)?;
    Ok(())
}

fn opened(stored: &StoredDataKey, secret: Option<&SecretString>) -> Result<DataKey, StoredSecretsError> {
    match (DataKey::read(stored, secret)?, &stored.salt, secret) {
        (Some(key), ..) => Ok(key),
        (None, Some(_), None) => Err(StoredSecretsError::Missing),
        (None, Some(_), Some(_)) => Err(StoredSecretsError::Wrong),
        (None, None, _) => Err(StoredSecretsError::Damaged),
    }
}

/// Makes the key of a database that has none, and encrypts what stands in clear.
async fn first(tx: &mut Tx, secret: Option<&SecretString>) -> Result<SecretCipher, StoreError> {
    let key = DataKey::generate()?;
    put(tx, &key.store(secret)?).await?;
    let cipher = key.cipher()?;
    let encrypted = clear_secrets::encrypt_all(tx, &cipher).await?;
    if encrypted > 0 {
        tracing::info!(secrets = encrypted, "API keys, links and letters that stood in clear were encrypted");
    }
    Ok(cipher)
}
