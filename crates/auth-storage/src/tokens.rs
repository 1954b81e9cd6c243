//! Opaque tokens and revocations.

use async_trait::async_trait;
use oauth_core::ports::{AccessTokenStore, CallerStatus, OpaqueTokenRecord, SecretSha256, StoreError};
use serde_json::{Value, json};
use sql_engines::{PerEngine, retry_on_contention, run};
use sqlx::{PgConnection, SqliteConnection};

use crate::caller_status::{StatusAnswer, StatusRequest};
use crate::db::AuthDatabase;
use crate::dialect::{Sql, hex};
use crate::fault::oauth;
use crate::insert_batch::HashedRow;
use crate::replay;

/// Rows deleted in one statement, so that no lock is held for long.
const CHUNK_ROWS: u64 = 1000;

const INSERT: &str = "INSERT INTO opaque_token (hash, token_id, client_id, claims, expires)
VALUES ($1, $2, $3, $4, $5)";
/// `$1` is `[[hash in hex, token, Client, claims, end, version of the Client], …]`; returned are the hashes of those
/// that were stored. The Client is looked up for each, whatever the engine knows of the size of its table.
static ISSUE: Sql = Sql::new(
    "INSERT INTO opaque_token (hash, token_id, client_id, claims, expires)
SELECT {from_hex:e.value ->> 0}, e.value ->> 1, e.value ->> 2, e.value ->> 3, CAST(e.value ->> 4 AS BIGINT)
FROM {elements:$1}
WHERE (SELECT c.txid FROM client c WHERE c.id = e.value ->> 2) = CAST(e.value ->> 5 AS BIGINT)
RETURNING hash",
);
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
impl AccessTokenStore for AuthDatabase {
    async fn store_opaque_token(&self, token: OpaqueTokenRecord, client_version: i64) -> Result<bool, StoreError> {
        self.opaque_tokens().ask(IssuedOpaque { token, client_version }).await
    }

    async fn find_opaque_token(
        &self,
        hash: &SecretSha256,
    ) -> Result<Option<(OpaqueTokenRecord, CallerStatus)>, StoreError> {
        let StatusAnswer { opaque, standing } = self.statuses().ask(StatusRequest::Opaque(*hash)).await?;
        Ok(opaque.map(|token| (token, standing)))
    }

    async fn revoke_token_id(&self, token_id: &str, expires_s: i64) -> Result<(), StoreError> {
        run!(self.writer(), execute: sqlx::query(REVOKE).bind(token_id).bind(expires_s)).map_err(oauth)?;
        Ok(())
    }

    /// Also empties the table of nonces that nobody needs any more, which is not counted.
    async fn delete_expired_tokens(&self, now_s: i64) -> Result<u64, StoreError> {
        let tokens = forget(self, &FORGET_TOKENS, now_s).await.map_err(oauth)?;
        let revocations = forget(self, &FORGET_REVOCATIONS, now_s).await.map_err(oauth)?;
        retry_on_contention(|| empty_replay_table(self, now_s)).await.map_err(oauth)?;
        Ok(tokens.saturating_add(revocations))
    }
}

/// An opaque token and the version of its Client that it was issued to.
pub(crate) struct IssuedOpaque {
    token: OpaqueTokenRecord,
    client_version: i64,
}

impl HashedRow for IssuedOpaque {
    fn insert() -> &'static Sql {
        &ISSUE
    }

    fn hash(&self) -> &SecretSha256 {
        &self.token.hash
    }

    fn element(&self) -> Value {
        let OpaqueTokenRecord { hash, token_id, client_id, claims, expires_s } = &self.token;
        json!([hex(hash), token_id, client_id, claims.to_string(), expires_s, self.client_version])
    }
}

/// Stores an opaque access token together with what a transaction stores besides.
pub(crate) async fn insert_in(
    tx: PerEngine<&mut PgConnection, &mut SqliteConnection>,
    token: &OpaqueTokenRecord,
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
pub(crate) async fn forget(db: &AuthDatabase, sql: &Sql, end: i64) -> Result<u64, sqlx::Error> {
    let rows = i64::try_from(CHUNK_ROWS).unwrap_or(i64::MAX);
    let mut forgotten: u64 = 0;
    loop {
        let chunk = run!(db.writer(), execute: sqlx::query(sql.text_for_dialect(db.dialect()))
            .bind(end)
            .bind(rows))?;
        forgotten = forgotten.saturating_add(chunk);
        if chunk < CHUNK_ROWS {
            return Ok(forgotten);
        }
    }
}

async fn empty_replay_table(db: &AuthDatabase, now_s: i64) -> Result<(), sqlx::Error> {
    let Some((any, empty)) = replay::emptying(now_s) else {
        return Ok(());
    };
    let any: bool = run!(db.reader(), fetch_one: sqlx::query_scalar(any))?;
    if any {
        run!(db.writer(), execute: sqlx::query(empty.text_for_dialect(db.dialect())))?;
    }
    Ok(())
}
