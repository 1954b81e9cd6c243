//! What earlier versions stored in clear, and as hashes without a key: encrypted and hashed again, once.
//!
//! The log needs none of it: its records have hashes without a key, no node reads changes of a time before its start,
//! and they are gone when the log is pruned.

use chat_core::StoreError;
use chat_core::model::realm_change::{RealmItemKind, UserItemKind};
use chat_core::model::user::{ApiKey, KeyHash, KeyHasher};
use serde_json::Value;
use sql_engines::PerEngine;
use sqlx::PgPool;

use crate::db::ChatDatabase;
use crate::encryption::{SecretCipher, SecretLocation, hash_text};
use crate::engine::{Tx, run};
use crate::fault::failed;

const KEYS: &str = "SELECT user_id, encrypted_key FROM credential WHERE encrypted_key IS NOT NULL";
const PUT_KEY: &str = "UPDATE credential SET encrypted_key = $2, key_hash = $3 WHERE user_id = $1";
const LINKS: &str = "SELECT number, encrypted_secret FROM invitation_link";
const PUT_LINK: &str = "UPDATE invitation_link SET encrypted_secret = $2 WHERE number = $1";
const LETTERS: &str = "SELECT event_id, place, encrypted_document FROM outgoing_mail";
const PUT_LETTER: &str = "UPDATE outgoing_mail SET encrypted_document = $3 WHERE event_id = $1 AND place = $2";
const INVITATIONS: &str = "SELECT id, document FROM item WHERE kind = $1";
const PUT_INVITATION: &str = "UPDATE item SET document = $3 WHERE kind = $1 AND id = $2";
const ADDRESSES: &str = "SELECT user_id, item_key, document FROM user_item WHERE kind = $1";
const PUT_ADDRESS: &str = "UPDATE user_item SET document = $4 WHERE kind = $1 AND user_id = $2 AND item_key = $3";
/// Rewrites the tables without the row versions that stand in them.
const REWRITE: &str = "VACUUM FULL credential, invitation_link, outgoing_mail, data_key";
/// A longer read of one of the tables, as a backup does, is not waited for: requests would wait behind this statement.
const PATIENCE: &str = "SET lock_timeout = '2s'";
const PATIENCE_ENDS: &str = "RESET lock_timeout";

/// Encrypts every secret of a database that has no data key yet, and returns how many there were.
pub(crate) async fn encrypt_all(tx: &mut Tx, cipher: &SecretCipher) -> Result<usize, StoreError> {
    rehash_invitations(tx, cipher.hasher()).await?;
    rehash_addresses(tx, cipher.hasher()).await?;
    Ok(keys(tx, cipher).await? + links(tx, cipher).await? + letters(tx, cipher).await?)
}

/// Removes what the transaction before replaced from the files of the database, as far as a server can: of SQLite the
/// file has it no longer, and here the log beside it; of Postgres the tables are written again. Older copies and
/// archives of either have it still.
pub(crate) async fn overwrite(db: &ChatDatabase) {
    let done = match db.writer() {
        PerEngine::Postgres(on) => rewrite(&on.pool).await,
        PerEngine::Sqlite(pool) => {
            let end = "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA secure_delete = OFF";
            sqlx::raw_sql(end).execute(pool).await.map(drop)
        }
    };
    if let Err(error) = done {
        tracing::warn!(%error, "secrets that were replaced may still be found in the files of the database");
    }
}

async fn rewrite(pool: &PgPool) -> Result<(), sqlx::Error> {
    let mut connection = pool.acquire().await?;
    sqlx::raw_sql(PATIENCE).execute(&mut *connection).await?;
    let done = sqlx::raw_sql(REWRITE).execute(&mut *connection).await;
    sqlx::raw_sql(PATIENCE_ENDS).execute(&mut *connection).await?;
    done.map(drop)
}

async fn keys(tx: &mut Tx, cipher: &SecretCipher) -> Result<usize, StoreError> {
    let rows: Vec<(i64, String)> = run!(tx.on(), fetch_all: sqlx::query_as(KEYS)).map_err(failed)?;
    for (user_id, key) in &rows {
        let hash = hash_text(cipher.hasher().hash(&ApiKey::parse(key).map_err(failed)?));
        let key = cipher.encrypt(SecretLocation::ApiKey(*user_id), key)?;
        run!(tx.on(), execute: sqlx::query(PUT_KEY).bind(*user_id).bind(&key).bind(&hash)).map_err(failed)?;
    }
    Ok(rows.len())
}

async fn links(tx: &mut Tx, cipher: &SecretCipher) -> Result<usize, StoreError> {
    let rows: Vec<(i64, String)> = run!(tx.on(), fetch_all: sqlx::query_as(LINKS)).map_err(failed)?;
    for (number, secret) in &rows {
        let secret = cipher.encrypt(SecretLocation::InvitationLink(*number), secret)?;
        run!(tx.on(), execute: sqlx::query(PUT_LINK).bind(*number).bind(&secret)).map_err(failed)?;
    }
    Ok(rows.len())
}

async fn letters(tx: &mut Tx, cipher: &SecretCipher) -> Result<usize, StoreError> {
    let rows: Vec<(i64, i64, String)> = run!(tx.on(), fetch_all: sqlx::query_as(LETTERS)).map_err(failed)?;
    for (event_id, place, document) in &rows {
        let document = cipher.encrypt(SecretLocation::Letter(*event_id, *place), document)?;
        run!(tx.on(), execute: sqlx::query(PUT_LETTER).bind(*event_id).bind(*place).bind(&document)).map_err(failed)?;
    }
    Ok(rows.len())
}

async fn rehash_invitations(tx: &mut Tx, hasher: &KeyHasher) -> Result<(), StoreError> {
    let kind = RealmItemKind::Invitation.name();
    let rows: Vec<(i64, String)> = run!(tx.on(), fetch_all: sqlx::query_as(INVITATIONS).bind(kind)).map_err(failed)?;
    for (number, document) in rows {
        let document = rehashed(&document, hasher)?;
        run!(tx.on(), execute: sqlx::query(PUT_INVITATION).bind(kind).bind(number).bind(&document)).map_err(failed)?;
    }
    Ok(())
}

async fn rehash_addresses(tx: &mut Tx, hasher: &KeyHasher) -> Result<(), StoreError> {
    let kind = UserItemKind::NewAddress.name();
    let rows: Vec<(i64, String, String)> =
        run!(tx.on(), fetch_all: sqlx::query_as(ADDRESSES).bind(kind)).map_err(failed)?;
    for (user_id, key, document) in rows {
        let document = rehashed(&document, hasher)?;
        run!(tx.on(), execute: sqlx::query(PUT_ADDRESS).bind(kind).bind(user_id).bind(&key).bind(&document))
            .map_err(failed)?;
    }
    Ok(())
}

/// Returns the document with the keyed hash in the place of the hash of its link; unchanged without one.
fn rehashed(document: &str, hasher: &KeyHasher) -> Result<String, StoreError> {
    let mut document: Value = serde_json::from_str(document).map_err(failed)?;
    if let Some(secret) = document.get_mut("secret") {
        let digest: KeyHash = serde_json::from_value(secret.take()).map_err(failed)?;
        *secret = serde_json::to_value(hasher.upgrade_digest(digest)).map_err(failed)?;
    }
    Ok(document.to_string())
}
