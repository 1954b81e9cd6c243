//! The three transactions that every authorization and every refresh makes, as one statement each.
//!
//! Postgres inserts inside a query, so what SQLite does in several statements of one transaction is
//! here one exchange with the engine, and a transaction by itself. All parts of such a statement see
//! the same moment: whoever is turned away asks why with a second one, which sees what the first one
//! waited for.

use oauth_core::ports::{FirstFamilyTokens, RefreshTokenRotation};
use sqlx::{Executor, PgPool, Postgres};

use super::codes::{Issue, Redeem, Redeemed};

/// The launch is used when the grant is there, and the code stored when the launch was new or there is none. Nothing
/// is written of the grant, nor is it locked: a code that is stored while its grant goes away finds none.
const ISSUE: &str = "WITH held AS (
    SELECT id FROM member_grant WHERE id = $4
), launch AS (
    INSERT INTO launch_use (jti, expires_s) SELECT $7::TEXT, $8::BIGINT FROM held WHERE $7::TEXT IS NOT NULL
    ON CONFLICT (jti) DO NOTHING RETURNING jti
), code AS (
    INSERT INTO authorization_code (hash, client_id, family_id, grant_id, authorization_json, expires_s)
    SELECT $1, $2, $3, $4, $5, $6 FROM held WHERE $7::TEXT IS NULL OR EXISTS (SELECT 1 FROM launch) RETURNING hash
)
SELECT EXISTS (SELECT 1 FROM held), EXISTS (SELECT 1 FROM code)";

/// The tokens are stored when the code was there to be used and its grant, which is kept from going
/// away by the second part, still is there. When it goes away between the first part and the second,
/// the code counts as used, and nothing comes of it. That the grant is in use is noted once a minute, so
/// that the apps of one person do not wait for each other at its row.
const REDEEM: &str = "WITH code AS (
    UPDATE authorization_code SET used_s = $2
    WHERE hash = $1 AND used_s IS NULL AND expires_s > $2 AND family_id = $3 AND grant_id = $4
        AND EXISTS (SELECT 1 FROM member_grant WHERE id = $4)
    RETURNING grant_id
), held AS (
    SELECT g.id FROM member_grant g JOIN code ON code.grant_id = g.id FOR KEY SHARE OF g
), noted AS (
    UPDATE member_grant SET used_s = $2 FROM held
    WHERE member_grant.id = held.id AND (member_grant.used_s IS NULL OR member_grant.used_s <= $2 - 60)
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
    UPDATE member_grant SET used_s = $2 FROM used
    WHERE member_grant.id = used.grant_id AND (member_grant.used_s IS NULL OR member_grant.used_s <= $2 - 60)
), access AS (
    INSERT INTO opaque_token (hash, token_id, client_id, claims, expires)
    SELECT $7, $8, $9, $10, $11 FROM used WHERE $7::BYTEA IS NOT NULL
)
SELECT EXISTS (SELECT 1 FROM used)";

/// Returns whether the grant is there, and whether the code was stored; if only the first, the launch was used before.
pub(super) async fn issue(pool: &PgPool, asked: &Issue) -> Result<(bool, bool), sqlx::Error> {
    let Issue { code, launch, .. } = asked;
    let launch = launch.as_ref();
    sqlx::query_as(ISSUE)
        .bind(code.hash.as_slice())
        .bind(&code.client_id)
        .bind(&code.family_id)
        .bind(&code.grant_id)
        .bind(code.authorization.to_string())
        .bind(code.expires_s)
        .bind(launch.map(|launch| &launch.jti))
        .bind(launch.map(|launch| launch.expires_s))
        .fetch_one(pool)
        .await
}

/// Uses the code, if it is there to be used, and stores its tokens.
pub(super) async fn redeem<'c>(
    on: impl Executor<'c, Database = Postgres>,
    asked: &Redeem,
) -> Result<Redeemed, sqlx::Error> {
    let Redeem { hash, now_s, tokens: FirstFamilyTokens { family, access, refresh } } = asked;
    let (access, refresh) = (access.as_ref(), refresh.as_ref());
    let (used, stored) = sqlx::query_as(REDEEM)
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
        .fetch_one(on)
        .await?;
    Ok(Redeemed { used, stored })
}

/// Returns whether the token was there to be used; then its successor is stored.
pub(super) async fn rotate<'c>(
    on: impl Executor<'c, Database = Postgres>,
    rotation: &RefreshTokenRotation,
) -> Result<bool, sqlx::Error> {
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
        .fetch_one(on)
        .await
}
