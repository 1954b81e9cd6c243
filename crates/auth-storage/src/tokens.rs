//! Opaque tokens and revocations.

use async_trait::async_trait;
use oauth_core::ports::{OpaqueToken, StoreError, TokenStore};
use sqlx::{PgConnection, SqliteConnection};

use crate::db::Db;
use crate::dialect::Sql;
use crate::engine::{On, run};
use crate::fault::{oauth, retried};
use crate::replay;

/// Rows deleted in one statement, so that no lock is held for long.
const CHUNK_ROWS: u64 = 1000;

const INSERT: &str = "INSERT INTO opaque_token (hash, token_id, client_id, claims, expires)
VALUES ($1, $2, $3, $4, $5)";
const FIND: &str = "SELECT token_id, client_id, claims, expires FROM opaque_token WHERE hash = $1";
const REVOKE: &str = "INSERT INTO token_revocation (token_id, expires) VALUES ($1, $2)
ON CONFLICT (token_id) DO UPDATE SET expires = excluded.expires
WHERE token_revocation.expires < excluded.expires";
static FORGET_TOKENS: Sql = Sql::new(
    "DELETE FROM opaque_token WHERE hash IN (
    SELECT hash FROM opaque_token WHERE expires < $1 ORDER BY expires LIMIT $2 {skip_locked}
)",
);
static FORGET_REVOCATIONS: Sql = Sql::new(
    "DELETE FROM token_revocation WHERE token_id IN (
    SELECT token_id FROM token_revocation WHERE expires < $1 ORDER BY expires LIMIT $2 {skip_locked}
)",
);

#[async_trait]
impl TokenStore for Db {
    async fn insert_opaque(&self, token: OpaqueToken) -> Result<(), StoreError> {
        let claims = token.claims.to_string();
        run!(self.writer(), execute: sqlx::query(INSERT)
            .bind(token.hash.as_slice())
            .bind(&token.token_id)
            .bind(&token.client_id)
            .bind(&claims)
            .bind(token.expires_s))
        .map_err(oauth)?;
        Ok(())
    }

    async fn find_opaque(&self, hash: &[u8; 32]) -> Result<Option<OpaqueToken>, StoreError> {
        let row: Option<(String, String, String, i64)> =
            run!(self.reader(), fetch_optional: sqlx::query_as(FIND).bind(hash.as_slice())).map_err(oauth)?;
        let Some((token_id, client_id, claims, expires_s)) = row else {
            return Ok(None);
        };
        let claims = serde_json::from_str(&claims).map_err(|error| StoreError(Box::new(error)))?;
        Ok(Some(OpaqueToken { hash: *hash, token_id, client_id, claims, expires_s }))
    }

    async fn revoke(&self, token_id: &str, expires_s: i64) -> Result<(), StoreError> {
        run!(self.writer(), execute: sqlx::query(REVOKE).bind(token_id).bind(expires_s)).map_err(oauth)?;
        Ok(())
    }

    /// Also empties the table of nonces that nobody needs any more, which is not counted.
    async fn forget_expired(&self, now_s: i64) -> Result<u64, StoreError> {
        let tokens = forget(self, &FORGET_TOKENS, now_s).await.map_err(oauth)?;
        let revocations = forget(self, &FORGET_REVOCATIONS, now_s).await.map_err(oauth)?;
        retried(|| empty_replay_table(self, now_s)).await.map_err(oauth)?;
        Ok(tokens.saturating_add(revocations))
    }
}

/// Stores an opaque access token together with what a transaction stores besides.
pub(crate) async fn insert_in(
    tx: On<&mut PgConnection, &mut SqliteConnection>,
    token: &OpaqueToken,
) -> Result<(), sqlx::Error> {
    run!(tx, execute: sqlx::query(INSERT)
        .bind(token.hash.as_slice())
        .bind(&token.token_id)
        .bind(&token.client_id)
        .bind(token.claims.to_string())
        .bind(token.expires_s))?;
    Ok(())
}

/// Deletes what ended before `end`, in the unit of the statement, chunk by chunk.
pub(crate) async fn forget(db: &Db, sql: &Sql, end: i64) -> Result<u64, sqlx::Error> {
    let rows = i64::try_from(CHUNK_ROWS).unwrap_or(i64::MAX);
    let mut forgotten: u64 = 0;
    loop {
        let chunk = run!(db.writer(), execute: sqlx::query(sql.on(db.dialect()))
            .bind(end)
            .bind(rows))?;
        forgotten = forgotten.saturating_add(chunk);
        if chunk < CHUNK_ROWS {
            return Ok(forgotten);
        }
    }
}

async fn empty_replay_table(db: &Db, now_s: i64) -> Result<(), sqlx::Error> {
    let Some((any, empty)) = replay::emptying(now_s) else {
        return Ok(());
    };
    let any: bool = run!(db.reader(), fetch_one: sqlx::query_scalar(any))?;
    if any {
        run!(db.writer(), execute: sqlx::query(empty.on(db.dialect())))?;
    }
    Ok(())
}
