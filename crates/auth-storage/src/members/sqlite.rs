//! What every authorization and every refresh writes on SQLite, as one exchange with the thread that
//! owns the connection.
//!
//! Waking that thread and being woken by it costs more than most statements, so those of one rule
//! travel as one text. Each goes on where the one before it changed a row, which is what `changes()`
//! counts; they run within the transaction of whoever asks.

use oauth_core::ports::{FirstFamilyTokens, OpaqueTokenRecord, RefreshTokenRotation};
use sql_engines::PerEngine;
use sqlx::SqliteConnection;

use super::codes::{Redeem, Redeemed};
use crate::tokens;

/// The last statement asks for the code that was used by this call, because a family without a refresh
/// token changes no row in the one before it. When another call used the code in the same second it
/// finds the grant's use noted.
const REDEEM: &str = "UPDATE authorization_code SET used_s = $2
WHERE hash = $1 AND used_s IS NULL AND expires_s > $2 AND family_id = $3 AND grant_id = $4
    AND EXISTS (SELECT 1 FROM member_grant WHERE id = $4);
INSERT INTO token_family
    (id, client_id, user_id, grant_id, credential, authorization_json, created_s, expires_s)
SELECT $3, $5, $6, $4, $7, $8, $9, $10 WHERE changes() > 0;
INSERT INTO refresh_token (hash, family_id, issued_s, expires_s)
SELECT $11, $3, $12, $13 WHERE changes() > 0 AND $11 IS NOT NULL;
UPDATE member_grant SET used_s = $2
WHERE id = $4 AND (used_s IS NULL OR used_s <= $2 - 60)
    AND EXISTS (SELECT 1 FROM authorization_code WHERE hash = $1 AND used_s = $2 AND family_id = $3)";

const ROTATE: &str = "UPDATE refresh_token SET used_s = $2
WHERE hash = $1 AND used_s IS NULL AND expires_s > $2 AND family_id = $3 AND EXISTS (
    SELECT 1 FROM token_family f WHERE f.id = $3 AND f.revoked_s IS NULL AND f.expires_s > $2
);
INSERT INTO refresh_token (hash, family_id, issued_s, expires_s) SELECT $4, $3, $5, $6 WHERE changes() > 0;
UPDATE member_grant SET used_s = $2
WHERE changes() > 0 AND id = (SELECT grant_id FROM token_family WHERE id = $3)
    AND (used_s IS NULL OR used_s <= $2 - 60)";

/// Uses the code, if it is there to be used, and stores its tokens.
pub(super) async fn redeem(connection: &mut SqliteConnection, asked: &Redeem) -> Result<Redeemed, sqlx::Error> {
    let Redeem { hash, now_s, tokens: FirstFamilyTokens { family, access, refresh } } = asked;
    let refresh = refresh.as_ref();
    let changed = sqlx::query(REDEEM)
        .bind(hash.as_slice())
        .bind(now_s)
        .bind(&family.id)
        .bind(&family.grant_id)
        .bind(&family.client_id)
        .bind(&family.user_id)
        .bind(family.credential.as_slice())
        .bind(family.authorization.to_string())
        .bind(family.created_s)
        .bind(family.expires_s)
        .bind(refresh.map(|token| token.hash.as_slice()))
        .bind(refresh.map(|token| token.issued_s))
        .bind(refresh.map(|token| token.expires_s))
        .execute(&mut *connection)
        .await?;
    let used = changed.rows_affected() > 0;
    store(connection, access.as_ref().filter(|_| used)).await?;
    // A transaction that writes is alone here, so the grant was there all the time.
    Ok(Redeemed { used, stored: used })
}

/// Returns whether the token was there to be used; then its successor is stored.
pub(super) async fn rotate(
    connection: &mut SqliteConnection,
    rotation: &RefreshTokenRotation,
) -> Result<bool, sqlx::Error> {
    let successor = &rotation.successor;
    let changed = sqlx::query(ROTATE)
        .bind(rotation.hash.as_slice())
        .bind(rotation.now_s)
        .bind(&successor.family_id)
        .bind(successor.hash.as_slice())
        .bind(successor.issued_s)
        .bind(successor.expires_s)
        .execute(&mut *connection)
        .await?;
    let used = changed.rows_affected() > 0;
    store(connection, rotation.access.as_ref().filter(|_| used)).await?;
    Ok(used)
}

/// Stores an opaque access token, when there is one.
async fn store(connection: &mut SqliteConnection, access: Option<&OpaqueTokenRecord>) -> Result<(), sqlx::Error> {
    match access {
        Some(access) => tokens::insert_in(PerEngine::Sqlite(connection), access).await,
        None => Ok(()),
    }
}
