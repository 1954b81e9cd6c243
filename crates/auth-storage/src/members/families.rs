//! Families of tokens, and the chain of refresh tokens each has.

use async_trait::async_trait;
use oauth_core::ports::{
    FirstFamilyTokens, GRANTLESS_FAMILIES_PER_APP_MAX, RefreshTokenRecord, RefreshTokenRotation,
    RefreshTokenRotationOutcome, RefreshTokenState, SecretSha256, StoreError, TokenFamily,
};

use sql_engines::{PerEngine, retry_on_contention, run};

use super::{document_of, hash_of, postgres, sqlite};
use crate::db::AuthDatabase;
use crate::engine::Tx;
use crate::fault::oauth;
use crate::group_commit::{Work, alone};
use crate::tokens;

const INSERT: &str = "INSERT INTO token_family
    (id, client_id, user_id, grant_id, credential, authorization_json, created_s, expires_s)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
const INSERT_REFRESH: &str = "INSERT INTO refresh_token (hash, family_id, issued_s, expires_s)
VALUES ($1, $2, $3, $4)";
const REVOKE: &str = "UPDATE token_family SET revoked_s = $2 WHERE id = $1 AND revoked_s IS NULL";
const FIND: &str = "SELECT t.family_id, t.issued_s, t.expires_s, t.used_s,
    f.client_id, f.user_id, f.grant_id, f.credential, f.authorization_json, f.created_s, f.expires_s,
    f.revoked_s IS NOT NULL, c.txid, u.txid, (SELECT revision FROM security_revision)
FROM refresh_token t
JOIN token_family f ON f.id = t.family_id
LEFT JOIN client c ON c.id = f.client_id
LEFT JOIN \"user\" u ON u.id = f.user_id
WHERE t.hash = $1";
/// Once a minute, so that the apps of one person do not wait for each other at its grant.
const NOTE_USE: &str = "UPDATE member_grant SET used_s = $2
WHERE id = (SELECT grant_id FROM token_family WHERE id = $1) AND (used_s IS NULL OR used_s <= $2 - 60)";
/// Once the successor was used, its answer arrived: a request that repeats its predecessor is not the same request.
const WHY_NOT: &str = "SELECT t.used_s,
    t.expires_s > $2 AND f.expires_s > $2 AND f.revoked_s IS NULL,
    EXISTS (SELECT 1 FROM refresh_token s WHERE s.hash = $4 AND s.used_s IS NOT NULL)
FROM refresh_token t JOIN token_family f ON f.id = t.family_id
WHERE t.hash = $1 AND t.family_id = $3";

/// Of each app the newest families, so that one with many hides no other.
const DIRECT: &str = "SELECT id, client_id, user_id, credential, authorization_json, created_s, expires_s
FROM (
    SELECT f.*, row_number() OVER (PARTITION BY f.client_id ORDER BY f.created_s DESC, f.id) AS place
    FROM token_family f
    WHERE f.user_id = $1 AND f.grant_id IS NULL AND f.revoked_s IS NULL AND f.expires_s > $2
) AS placed
WHERE place <= $3 ORDER BY created_s DESC, id";
const REVOKE_DIRECT: &str = "UPDATE token_family SET revoked_s = $3
WHERE user_id = $1 AND client_id = $2 AND grant_id IS NULL AND revoked_s IS NULL AND expires_s > $3";

/// A row of [`DIRECT`].
type DirectRow = (String, String, String, Vec<u8>, String, i64, i64);

/// A row of [`FIND`].
type FoundRow = (
    String,
    i64,
    i64,
    Option<i64>,
    String,
    String,
    Option<String>,
    Vec<u8>,
    String,
    i64,
    i64,
    bool,
    Option<i64>,
    Option<i64>,
    i64,
);

pub(super) async fn begin(db: &AuthDatabase, first: &FirstFamilyTokens) -> Result<(), sqlx::Error> {
    let mut tx = db.begin().await?;
    insert(&mut tx, first).await?;
    tx.commit().await
}

/// Stores a family with its first tokens.
async fn insert(tx: &mut Tx, first: &FirstFamilyTokens) -> Result<(), sqlx::Error> {
    let FirstFamilyTokens { family, access, refresh } = first;
    run!(tx.on(), execute: sqlx::query(INSERT)
        .bind(&family.id)
        .bind(&family.client_id)
        .bind(&family.user_id)
        .bind(&family.grant_id)
        .bind(family.credential.as_slice())
        .bind(family.authorization.to_string())
        .bind(family.created_s)
        .bind(family.expires_s))?;
    if let Some(refresh) = refresh {
        run!(tx.on(), execute: sqlx::query(INSERT_REFRESH)
            .bind(refresh.hash.as_slice())
            .bind(&refresh.family_id)
            .bind(refresh.issued_s)
            .bind(refresh.expires_s))?;
    }
    if let Some(access) = access {
        tokens::insert_in(tx.on(), access).await?;
    }
    Ok(())
}

pub(super) async fn find(db: &AuthDatabase, hash: &SecretSha256) -> Result<Option<RefreshTokenState>, sqlx::Error> {
    let row: Option<FoundRow> = run!(db.reader(), fetch_optional: sqlx::query_as(FIND).bind(hash.as_slice()))?;
    row.map(|row| found(*hash, row)).transpose()
}

fn found(hash: SecretSha256, row: FoundRow) -> Result<RefreshTokenState, sqlx::Error> {
    let (family_id, issued_s, expires_s, used_s, client_id, user_id, grant_id, credential, ..) = row;
    let (.., authorization, created_s, family_expires_s, revoked, client_version, user_version, policy_revision) = row;
    let family = TokenFamily {
        id: family_id.clone(),
        client_id,
        user_id,
        grant_id,
        credential: hash_of(&credential)?,
        authorization: document_of(&authorization)?,
        created_s,
        expires_s: family_expires_s,
    };
    let token = RefreshTokenRecord { hash, family_id, issued_s, expires_s };
    Ok(RefreshTokenState { token, used_s, family, revoked, client_version, user_version, policy_revision })
}

/// What [`rotate`] is asked for.
pub(super) struct Rotate(pub(super) RefreshTokenRotation);

pub(super) async fn rotate(db: &AuthDatabase, asked: Rotate) -> Result<RefreshTokenRotationOutcome, StoreError> {
    match db.fastest() {
        PerEngine::Postgres(pool) => {
            if retry_on_contention(|| postgres::rotate(pool, &asked.0)).await.map_err(oauth)? {
                return Ok(RefreshTokenRotationOutcome::Rotated);
            }
            retry_on_contention(|| alone(db, &asked)).await.map_err(oauth)
        }
        PerEngine::Sqlite(shared) => shared.run(asked).await,
    }
}

#[async_trait]
impl Work for Rotate {
    type Outcome = RefreshTokenRotationOutcome;

    async fn run(&self, tx: &mut Tx) -> Result<RefreshTokenRotationOutcome, sqlx::Error> {
        let Self(rotation) = self;
        let used = match tx.on() {
            PerEngine::Postgres(connection) => postgres::rotate(connection, rotation).await?,
            PerEngine::Sqlite(connection) => sqlite::rotate(connection, rotation).await?,
        };
        if used {
            return Ok(RefreshTokenRotationOutcome::Rotated);
        }
        let outcome = used_before(tx, rotation).await?;
        if outcome == RefreshTokenRotationOutcome::Repeated {
            run!(tx.on(), execute: sqlx::query(NOTE_USE).bind(&rotation.successor.family_id).bind(rotation.now_s))?;
            if let Some(access) = &rotation.access {
                tokens::insert_in(tx.on(), access).await?;
            }
        }
        Ok(outcome)
    }
}

/// Returns what a token that was not there to be used is worth; if it comes too late, its family ends here.
async fn used_before(tx: &mut Tx, rotation: &RefreshTokenRotation) -> Result<RefreshTokenRotationOutcome, sqlx::Error> {
    let family_id = &rotation.successor.family_id;
    let row: Option<(Option<i64>, bool, bool)> = run!(tx.on(), fetch_optional: sqlx::query_as(WHY_NOT)
        .bind(rotation.hash.as_slice())
        .bind(rotation.now_s)
        .bind(family_id)
        .bind(rotation.successor.hash.as_slice()))?;
    match row {
        None => Ok(RefreshTokenRotationOutcome::Unknown),
        Some((Some(used_s), true, false)) if rotation.now_s <= used_s.saturating_add(rotation.grace_s) => {
            Ok(RefreshTokenRotationOutcome::Repeated)
        }
        Some((Some(_), true, _)) => {
            revoke_in(tx, family_id, rotation.now_s).await?;
            Ok(RefreshTokenRotationOutcome::Reused)
        }
        Some(_) => Ok(RefreshTokenRotationOutcome::Ended),
    }
}

pub(super) async fn revoke(db: &AuthDatabase, family_id: &str, now_s: i64) -> Result<bool, sqlx::Error> {
    Ok(run!(db.writer(), execute: sqlx::query(REVOKE).bind(family_id).bind(now_s))? > 0)
}

pub(super) async fn direct(db: &AuthDatabase, user_id: &str, now_s: i64) -> Result<Vec<TokenFamily>, sqlx::Error> {
    let most = i64::try_from(GRANTLESS_FAMILIES_PER_APP_MAX).unwrap_or(i64::MAX);
    let rows: Vec<DirectRow> =
        run!(db.reader(), fetch_all: sqlx::query_as(DIRECT).bind(user_id).bind(now_s).bind(most))?;
    let family = |(id, client_id, user_id, credential, authorization, created_s, expires_s): DirectRow| {
        Ok(TokenFamily {
            id,
            client_id,
            user_id,
            grant_id: None,
            credential: hash_of(&credential)?,
            authorization: document_of(&authorization)?,
            created_s,
            expires_s,
        })
    };
    rows.into_iter().map(family).collect()
}

pub(super) async fn revoke_direct(
    db: &AuthDatabase,
    user_id: &str,
    client_id: &str,
    now_s: i64,
) -> Result<bool, sqlx::Error> {
    let ended = run!(db.writer(), execute: sqlx::query(REVOKE_DIRECT).bind(user_id).bind(client_id).bind(now_s))?;
    Ok(ended > 0)
}

pub(super) async fn revoke_in(tx: &mut Tx, family_id: &str, now_s: i64) -> Result<bool, sqlx::Error> {
    Ok(run!(tx.on(), execute: sqlx::query(REVOKE).bind(family_id).bind(now_s))? > 0)
}
