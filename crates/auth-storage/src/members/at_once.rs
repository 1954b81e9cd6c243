//! The three transactions that every authorization and every refresh makes, as one statement each.
//!
//! Postgres inserts inside a query, so what SQLite does in several statements of one transaction is
//! here one exchange with the engine, and a transaction by itself. All parts of such a statement see
//! the same moment: whoever is turned away asks why with a second one, which sees what the first one
//! waited for.

use oauth_core::ports::{FirstTokens, Rotation};
use sqlx::PgPool;

use super::codes::{Issue, Redeem};

/// The code is stored when the grant is, and the grant when the launch is new or there is none.
const ISSUE: &str = "WITH launch AS (
    INSERT INTO launch_use (jti, expires_s) SELECT $14::TEXT, $15::BIGINT WHERE $14::TEXT IS NOT NULL
    ON CONFLICT (jti) DO NOTHING RETURNING jti
), allowed AS (
    INSERT INTO member_grant AS held (id, user_id, client_id, patient_id, requested, granted, created_s, used_s)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8 WHERE $14::TEXT IS NULL OR EXISTS (SELECT 1 FROM launch)
    ON CONFLICT (user_id, client_id, patient_id) DO UPDATE
    SET requested = excluded.requested, granted = excluded.granted, used_s = coalesce(excluded.used_s, held.used_s)
    RETURNING id
), code AS (
    INSERT INTO authorization_code (hash, client_id, family_id, grant_id, authorization_json, expires_s)
    SELECT $9, $10, $11, allowed.id, $12, $13 FROM allowed RETURNING hash
)
SELECT EXISTS (SELECT 1 FROM code)";

/// The tokens are stored when the code was there to be used and its grant, which is locked by the
/// second part, still is there. When it goes away between the first part and the second, the code
/// counts as used, and nothing comes of it.
const REDEEM: &str = "WITH code AS (
    UPDATE authorization_code SET used_s = $2
    WHERE hash = $1 AND used_s IS NULL AND expires_s > $2 AND family_id = $3 AND grant_id = $4
        AND EXISTS (SELECT 1 FROM member_grant WHERE id = $4)
    RETURNING grant_id
), held AS (
    UPDATE member_grant SET used_s = $2 FROM code WHERE member_grant.id = code.grant_id RETURNING member_grant.id
), family AS (
    INSERT INTO token_family
        (id, client_id, user_id, grant_id, credential, authorization_json, created_s, expires_s)
    SELECT $3, $5, $6, held.id, $7, $8, $9, $10 FROM held RETURNING id
), refresh AS (
    INSERT INTO refresh_token (hash, family_id, issued_s, expires_s)
    SELECT $11, $3, $12, $13 FROM family WHERE $11::BYTEA IS NOT NULL
), access AS (
    INSERT INTO opaque_token (hash, token_id, client_id, claims, expires)
    SELECT $14, $15, $16, $17, $18 FROM family WHERE $14::BYTEA IS NOT NULL
)
SELECT EXISTS (SELECT 1 FROM code), EXISTS (SELECT 1 FROM family)";

const ROTATE: &str = "WITH used AS (
    UPDATE refresh_token SET used_s = $2 FROM token_family f
    WHERE hash = $1 AND used_s IS NULL AND refresh_token.expires_s > $2 AND family_id = $3
        AND f.id = $3 AND f.revoked_s IS NULL AND f.expires_s > $2
    RETURNING f.grant_id
), successor AS (
    INSERT INTO refresh_token (hash, family_id, issued_s, expires_s) SELECT $4, $3, $5, $6 FROM used
), held AS (
    UPDATE member_grant SET used_s = $2 FROM used WHERE member_grant.id = used.grant_id
), access AS (
    INSERT INTO opaque_token (hash, token_id, client_id, claims, expires)
    SELECT $7, $8, $9, $10, $11 FROM used WHERE $7::BYTEA IS NOT NULL
)
SELECT EXISTS (SELECT 1 FROM used)";

/// Whether the code was stored; if not, the launch was used before.
pub(super) async fn issue(pool: &PgPool, asked: &Issue) -> Result<bool, sqlx::Error> {
    let Issue { code, grant, launch } = asked;
    let launch = launch.as_ref();
    sqlx::query_scalar(ISSUE)
        .bind(&grant.id)
        .bind(&grant.user_id)
        .bind(&grant.client_id)
        .bind(grant.patient_id.as_deref().unwrap_or_default())
        .bind(&grant.requested)
        .bind(&grant.granted)
        .bind(grant.created_s)
        .bind(grant.used_s)
        .bind(code.hash.as_slice())
        .bind(&code.client_id)
        .bind(&code.family_id)
        .bind(code.authorization.to_string())
        .bind(code.expires_s)
        .bind(launch.map(|launch| &launch.jti))
        .bind(launch.map(|launch| launch.expires_s))
        .fetch_one(pool)
        .await
}

/// Whether the code was used by this call, and whether that gave its tokens.
pub(super) async fn redeem(pool: &PgPool, asked: &Redeem) -> Result<(bool, bool), sqlx::Error> {
    let Redeem { hash, now_s, tokens: FirstTokens { family, access, refresh } } = asked;
    let (access, refresh) = (access.as_ref(), refresh.as_ref());
    sqlx::query_as(REDEEM)
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
        .bind(access.map(|token| token.hash.as_slice()))
        .bind(access.map(|token| &token.token_id))
        .bind(access.map(|token| &token.client_id))
        .bind(access.map(|token| token.claims.to_string()))
        .bind(access.map(|token| token.expires_s))
        .fetch_one(pool)
        .await
}

/// Whether the token was there to be used; then its successor is stored.
pub(super) async fn rotate(pool: &PgPool, rotation: &Rotation) -> Result<bool, sqlx::Error> {
    let (successor, access) = (&rotation.successor, rotation.access.as_ref());
    sqlx::query_scalar(ROTATE)
        .bind(rotation.hash.as_slice())
        .bind(rotation.now_s)
        .bind(&successor.family_id)
        .bind(successor.hash.as_slice())
        .bind(successor.issued_s)
        .bind(successor.expires_s)
        .bind(access.map(|token| token.hash.as_slice()))
        .bind(access.map(|token| &token.token_id))
        .bind(access.map(|token| &token.client_id))
        .bind(access.map(|token| token.claims.to_string()))
        .bind(access.map(|token| token.expires_s))
        .fetch_one(pool)
        .await
}
