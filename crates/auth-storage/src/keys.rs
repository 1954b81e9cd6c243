//! The server's own signing keys and secrets.

use async_trait::async_trait;
use oauth_core::ports::{SigningKeyStore, StoreError};
use oauth_core::signing_keys::{SigningAlg, StoredSigningKey};

use sql_engines::{PerEngine, retry_on_contention, run};

use crate::db::AuthDatabase;
use crate::engine::Tx;
use crate::fault::oauth;

const KEYS: &str = "SELECT kid, alg, public_jwk, private_key, sealed, created_s, signs_from_s
FROM signing_key WHERE retired_s IS NULL ORDER BY created_s, kid";
const INSERT: &str = "INSERT INTO signing_key
    (kid, alg, public_jwk, private_key, sealed, created_s, signs_from_s)
VALUES ($1, $2, $3, $4, $5, $6, $7)";
const RESEAL: &str = "UPDATE signing_key SET private_key = $2, sealed = $3 WHERE kid = $1 AND retired_s IS NULL";
const FORGET_RETIRED: &str = "UPDATE signing_key SET private_key = $1 WHERE retired_s IS NOT NULL";
const RETIRE: &str = "UPDATE signing_key SET retired_s = $2 WHERE kid = $1 AND retired_s IS NULL";
/// Transactions that establish, add or change keys wait here for each other. SQLite has one writer at a time.
const LOCK_POSTGRES: &str = "LOCK TABLE signing_key IN SHARE ROW EXCLUSIVE MODE";
const OFFER_SECRET: &str = "INSERT INTO server_secret (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
const SECRET: &str = "SELECT value FROM server_secret WHERE name = $1";

/// A row of [`KEYS`].
type Row = (String, String, String, Vec<u8>, bool, i64, i64);

#[async_trait]
impl SigningKeyStore for AuthDatabase {
    async fn unretired_keys(&self) -> Result<Vec<StoredSigningKey>, StoreError> {
        let rows: Vec<Row> = run!(self.reader(), fetch_all: sqlx::query_as(KEYS)).map_err(oauth)?;
        records(rows).map_err(oauth)
    }

    /// A retired key counts for nothing here: a server whose keys are all retired gets new ones.
    async fn store_initial_keys(&self, candidates: Vec<StoredSigningKey>) -> Result<Vec<StoredSigningKey>, StoreError> {
        retry_on_contention(|| establish(self, &candidates)).await.map_err(oauth)
    }

    async fn save_keys_if_unchanged(
        &self,
        held: &[StoredSigningKey],
        keys: Vec<StoredSigningKey>,
    ) -> Result<bool, StoreError> {
        retry_on_contention(|| save_keys(self, held, &keys)).await.map_err(oauth)
    }

    /// Returns the key disappears from [`SigningKeyStore::unretired_keys`] at once, also when `at_s` is yet to come:
    /// this store has no clock. A key that is retired already stays retired at the time it was.
    async fn retire_key(&self, kid: &str, at_s: i64) -> Result<bool, StoreError> {
        let retired = run!(self.writer(), execute: sqlx::query(RETIRE).bind(kid).bind(at_s)).map_err(oauth)?;
        Ok(retired == 1)
    }

    async fn get_or_store_secret(&self, name: &str, candidate: Vec<u8>) -> Result<Vec<u8>, StoreError> {
        retry_on_contention(|| establish_secret(self, name, &candidate)).await.map_err(oauth)
    }
}

/// Begins a transaction that no other change of keys runs beside.
async fn begin_alone(db: &AuthDatabase) -> Result<Tx, sqlx::Error> {
    let mut tx = db.begin().await?;
    if let PerEngine::Postgres(connection) = tx.on() {
        sqlx::query(LOCK_POSTGRES).execute(connection).await?;
    }
    Ok(tx)
}

async fn save_keys(
    db: &AuthDatabase,
    held: &[StoredSigningKey],
    keys: &[StoredSigningKey],
) -> Result<bool, sqlx::Error> {
    let mut tx = begin_alone(db).await?;
    let stored = records(run!(tx.on(), fetch_all: sqlx::query_as(KEYS))?)?;
    if stored != held {
        tx.roll_back().await?;
        return Ok(false);
    }
    for key in keys {
        let replaced =
            run!(tx.on(), execute: sqlx::query(RESEAL).bind(&key.kid).bind(&key.private_key).bind(key.sealed))?;
        if replaced == 0 {
            insert(&mut tx, key).await?;
        }
    }
    run!(tx.on(), execute: sqlx::query(FORGET_RETIRED).bind(Vec::<u8>::new()))?;
    tx.commit().await?;
    Ok(true)
}

async fn establish(db: &AuthDatabase, candidates: &[StoredSigningKey]) -> Result<Vec<StoredSigningKey>, sqlx::Error> {
    let mut tx = begin_alone(db).await?;
    let mut rows: Vec<Row> = run!(tx.on(), fetch_all: sqlx::query_as(KEYS))?;
    if rows.is_empty() {
        for key in candidates {
            insert(&mut tx, key).await?;
        }
        rows = run!(tx.on(), fetch_all: sqlx::query_as(KEYS))?;
    }
    tx.commit().await?;
    records(rows)
}

async fn insert(tx: &mut Tx, key: &StoredSigningKey) -> Result<(), sqlx::Error> {
    run!(tx.on(), execute: sqlx::query(INSERT)
        .bind(&key.kid)
        .bind(name_of(key.alg))
        .bind(&key.public_jwk)
        .bind(&key.private_key)
        .bind(key.sealed)
        .bind(key.created_s)
        .bind(key.signs_from_s))?;
    Ok(())
}

async fn establish_secret(db: &AuthDatabase, name: &str, candidate: &[u8]) -> Result<Vec<u8>, sqlx::Error> {
    let mut tx = db.begin().await?;
    run!(tx.on(), execute: sqlx::query(OFFER_SECRET).bind(name).bind(candidate))?;
    let value = run!(tx.on(), fetch_one: sqlx::query_scalar(SECRET).bind(name))?;
    tx.commit().await?;
    Ok(value)
}

fn records(rows: Vec<Row>) -> Result<Vec<StoredSigningKey>, sqlx::Error> {
    rows.into_iter().map(record).collect()
}

fn record(row: Row) -> Result<StoredSigningKey, sqlx::Error> {
    let (kid, alg, public_jwk, private_key, sealed, created_s, signs_from_s) = row;
    let alg = alg_of(&alg).ok_or_else(|| sqlx::Error::Decode(format!("no signing algorithm: {alg}").into()))?;
    Ok(StoredSigningKey { kid, alg, public_jwk, private_key, sealed, created_s, signs_from_s })
}

fn name_of(alg: SigningAlg) -> &'static str {
    match alg {
        SigningAlg::ES256 => "ES256",
        SigningAlg::ES384 => "ES384",
        SigningAlg::RS256 => "RS256",
        SigningAlg::RS384 => "RS384",
    }
}

fn alg_of(name: &str) -> Option<SigningAlg> {
    [SigningAlg::ES256, SigningAlg::ES384, SigningAlg::RS256, SigningAlg::RS384]
        .into_iter()
        .find(|alg| name_of(*alg) == name)
}
