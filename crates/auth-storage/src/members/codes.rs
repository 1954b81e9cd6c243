//! Authorization codes.

use async_trait::async_trait;
use oauth_core::ports::{
    AuthorizationCodeRecord, AuthorizationCodeState, CodeIssueOutcome, CodeRedemptionOutcome, ConsentGrantDecision,
    FirstFamilyTokens, SecretSha256, SingleUseLaunchContext, StoreError,
};
use serde_json::{Value, json};

use sql_engines::{PerEngine, retry_on_contention, run};

use super::{document_of, families, grants, postgres, sqlite};
use crate::db::AuthDatabase;
use crate::dialect::{Sql, hex};
use crate::engine::Tx;
use crate::fault::oauth;
use crate::group_commit::{Work, alone};
use crate::insert_batch::HashedRow;

const USE_LAUNCH: &str = "INSERT INTO launch_use (jti, expires_s) VALUES ($1, $2) ON CONFLICT (jti) DO NOTHING";
const FORGET_LAUNCH: &str = "DELETE FROM launch_use WHERE jti = $1";
/// Under a grant that is there, of which nothing is written.
const INSERT: &str = "INSERT INTO authorization_code
    (hash, client_id, family_id, grant_id, authorization_json, expires_s)
SELECT $1, $2, $3, g.id, $5, $6 FROM member_grant g WHERE g.id = $4";
/// Codes under grants that are there, of many who come back at one moment: `$1` is `[[hash in hex, app, family, grant,
/// authorization, expiry], …]`; returned are the hashes of those that were stored. Nothing is written of a grant, nor
/// is it locked: a code that is stored while its grant goes away finds none.
static INSERT_MANY: Sql = Sql::new(
    "INSERT INTO authorization_code (hash, client_id, family_id, grant_id, authorization_json, expires_s)
SELECT {from_hex:e.value ->> 0}, e.value ->> 1, e.value ->> 2, g.id, e.value ->> 4, CAST(e.value ->> 5 AS BIGINT)
FROM {elements:$1} JOIN member_grant g ON g.id = e.value ->> 3
RETURNING hash",
);
const FIND: &str = "SELECT a.client_id, a.family_id, a.grant_id, a.authorization_json, a.expires_s,
    a.used_s IS NOT NULL, c.txid, u.txid
FROM authorization_code a
LEFT JOIN client c ON c.id = a.client_id
LEFT JOIN member_grant g ON g.id = a.grant_id
LEFT JOIN \"user\" u ON u.id = g.user_id
WHERE a.hash = $1";
const WHY_NOT: &str = "SELECT a.family_id, a.expires_s, a.used_s IS NOT NULL, g.id IS NOT NULL
FROM authorization_code a LEFT JOIN member_grant g ON g.id = a.grant_id
WHERE a.hash = $1";

/// A row of [`FIND`].
type FoundRow = (String, String, String, String, i64, bool, Option<i64>, Option<i64>);

/// What [`issue`] is asked for.
pub(super) struct Issue {
    pub(super) code: AuthorizationCodeRecord,
    pub(super) given: Option<ConsentGrantDecision>,
    pub(super) launch: Option<SingleUseLaunchContext>,
}

pub(super) async fn issue(db: &AuthDatabase, asked: Issue) -> Result<CodeIssueOutcome, StoreError> {
    if asked.given.is_none() && asked.launch.is_none() {
        let stored = db.codes().ask(asked.code).await?;
        return Ok(if stored { CodeIssueOutcome::Issued } else { CodeIssueOutcome::GrantChanged });
    }
    match db.fastest() {
        PerEngine::Postgres(_) if asked.given.is_some() => {
            retry_on_contention(|| alone(db, &asked)).await.map_err(oauth)
        }
        PerEngine::Postgres(pool) => {
            match retry_on_contention(|| postgres::issue(pool, &asked)).await.map_err(oauth)? {
                (_, true) => Ok(CodeIssueOutcome::Issued),
                (true, false) => Ok(CodeIssueOutcome::LaunchUsed),
                (false, false) => Ok(CodeIssueOutcome::GrantChanged),
            }
        }
        PerEngine::Sqlite(shared) => shared.run(asked).await,
    }
}

impl HashedRow for AuthorizationCodeRecord {
    fn insert() -> &'static Sql {
        &INSERT_MANY
    }

    fn hash(&self) -> &SecretSha256 {
        &self.hash
    }

    fn element(&self) -> Value {
        let authorization = self.authorization.to_string();
        json!([hex(self.hash), self.client_id, self.family_id, self.grant_id, authorization, self.expires_s])
    }
}

#[async_trait]
impl Work for Issue {
    type Outcome = CodeIssueOutcome;

    async fn run(&self, tx: &mut Tx) -> Result<CodeIssueOutcome, sqlx::Error> {
        let Self { code, given, launch } = self;
        if let Some(SingleUseLaunchContext { jti, expires_s }) = launch {
            let new = run!(tx.on(), execute: sqlx::query(USE_LAUNCH).bind(jti).bind(expires_s))?;
            if new == 0 {
                return Ok(CodeIssueOutcome::LaunchUsed);
            }
        }
        let stands = match given {
            Some(given) => grants::give(tx, given).await?,
            None => true,
        };
        if stands && insert(tx, code).await? {
            return Ok(CodeIssueOutcome::Issued);
        }
        // The transaction is others' too and goes on.
        if let Some(SingleUseLaunchContext { jti, .. }) = launch {
            run!(tx.on(), execute: sqlx::query(FORGET_LAUNCH).bind(jti))?;
        }
        Ok(CodeIssueOutcome::GrantChanged)
    }
}

/// Returns whether the code was stored, because its grant is there.
async fn insert(tx: &mut Tx, code: &AuthorizationCodeRecord) -> Result<bool, sqlx::Error> {
    let stored = run!(tx.on(), execute: sqlx::query(INSERT)
        .bind(code.hash.as_slice())
        .bind(&code.client_id)
        .bind(&code.family_id)
        .bind(&code.grant_id)
        .bind(code.authorization.to_string())
        .bind(code.expires_s))?;
    Ok(stored > 0)
}

pub(super) async fn find(
    db: &AuthDatabase,
    hash: &SecretSha256,
) -> Result<Option<AuthorizationCodeState>, sqlx::Error> {
    let row: Option<FoundRow> = run!(db.reader(), fetch_optional: sqlx::query_as(FIND).bind(hash.as_slice()))?;
    let Some((client_id, family_id, grant_id, authorization, expires_s, used, client_version, user_version)) = row
    else {
        return Ok(None);
    };
    let authorization = document_of(&authorization)?;
    let code = AuthorizationCodeRecord { hash: *hash, client_id, family_id, grant_id, authorization, expires_s };
    Ok(Some(AuthorizationCodeState { code, used, client_version, user_version }))
}

/// What [`redeem`] is asked for.
pub(super) struct Redeem {
    pub(super) hash: SecretSha256,
    pub(super) now_s: i64,
    pub(super) tokens: FirstFamilyTokens,
}

pub(super) async fn redeem(db: &AuthDatabase, asked: Redeem) -> Result<CodeRedemptionOutcome, StoreError> {
    match db.fastest() {
        PerEngine::Postgres(pool) => {
            match retry_on_contention(|| postgres::redeem(pool, &asked)).await.map_err(oauth)?.told() {
                Some(outcome) => Ok(outcome),
                None => retry_on_contention(|| alone(db, &asked)).await.map_err(oauth),
            }
        }
        PerEngine::Sqlite(shared) => shared.run(asked).await,
    }
}

#[async_trait]
impl Work for Redeem {
    type Outcome = CodeRedemptionOutcome;

    /// The code's row is taken first and the grant's second, everywhere.
    async fn run(&self, tx: &mut Tx) -> Result<CodeRedemptionOutcome, sqlx::Error> {
        let done = match tx.on() {
            PerEngine::Postgres(connection) => postgres::redeem(connection, self).await?,
            PerEngine::Sqlite(connection) => sqlite::redeem(connection, self).await?,
        };
        match done.told() {
            Some(outcome) => Ok(outcome),
            None => refuse(tx, &self.hash, self.now_s).await,
        }
    }
}

/// How far the one statement of a redemption came.
pub(super) struct Redeemed {
    /// Whether the code was there to be used, and so is used now.
    pub(super) used: bool,
    /// Whether its tokens are stored.
    pub(super) stored: bool,
}

impl Redeemed {
    /// Returns what the caller is told; nothing yet when the code was not there to be used.
    fn told(&self) -> Option<CodeRedemptionOutcome> {
        match (self.used, self.stored) {
            (true, true) => Some(CodeRedemptionOutcome::Granted),
            (true, false) => Some(CodeRedemptionOutcome::Withdrawn),
            (false, _) => None,
        }
    }
}

/// The reason why a code could not be used; if it was used before, what it gave ends here.
async fn refuse(tx: &mut Tx, hash: &SecretSha256, now_s: i64) -> Result<CodeRedemptionOutcome, sqlx::Error> {
    let row: Option<(String, i64, bool, bool)> =
        run!(tx.on(), fetch_optional: sqlx::query_as(WHY_NOT).bind(hash.as_slice()))?;
    match row {
        None => Ok(CodeRedemptionOutcome::Unknown),
        Some((family_id, _, true, _)) => {
            Ok(CodeRedemptionOutcome::AlreadyUsed { ended: families::revoke_in(tx, &family_id, now_s).await? })
        }
        Some((_, expires_s, ..)) if expires_s <= now_s => Ok(CodeRedemptionOutcome::Expired),
        Some((.., false)) => Ok(CodeRedemptionOutcome::Withdrawn),
        Some(_) => Err(sqlx::Error::Encode("the tokens are of another family or grant than the code".into())),
    }
}
