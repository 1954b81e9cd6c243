//! What people let apps do.

use async_trait::async_trait;
use oauth_core::ports::{ConsentGrant, ConsentGrantDecision, StoreError};

use sql_engines::{PerEngine, retry_on_contention, run};

use crate::db::AuthDatabase;
use crate::engine::Tx;
use crate::fault::oauth;
use crate::group_commit::{Work, alone};

/// Nothing where another decision on the same was stored meanwhile.
const INSERT: &str = "INSERT INTO member_grant
    (id, user_id, client_id, patient_id, requested, granted, refused, created_s, used_s)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (user_id, client_id, patient_id) DO NOTHING";
/// What a decision was made from is named whole: of two that were made from the same, one is stored.
const CHANGE: &str = "UPDATE member_grant SET requested = $2, granted = $3, refused = $4
WHERE id = $1 AND requested = $5 AND granted = $6 AND refused = $7";
const END: &str = "DELETE FROM member_grant WHERE id = $1 AND requested = $2 AND granted = $3 AND refused = $4";
/// A grant that gives nothing only keeps what was refused.
const OF_USER: &str = "SELECT id, user_id, client_id, patient_id, requested, granted, refused, created_s, used_s
FROM member_grant WHERE user_id = $1 AND granted <> '' ORDER BY created_s DESC, id";
/// Takes the families with it; a code under it finds no grant.
const REVOKE: &str = "DELETE FROM member_grant WHERE id = $1 AND user_id = $2 AND granted <> ''
RETURNING client_id, patient_id, refused, created_s";
/// What was refused, after [`REVOKE`].
const REST: &str = "INSERT INTO member_grant
    (id, user_id, client_id, patient_id, requested, granted, refused, created_s)
VALUES ($1, $2, $3, $4, '', '', $5, $6)";

/// A row of [`OF_USER`].
type Row = (String, String, String, String, String, String, String, i64, Option<i64>);

/// Stores what a person decided; returns whether it still stood as it was decided from.
pub(super) async fn give(tx: &mut Tx, given: &ConsentGrantDecision) -> Result<bool, sqlx::Error> {
    let ConsentGrantDecision { grant, replaces } = given;
    let stored = match replaces {
        None => insert(tx, grant).await?,
        Some(before) if before.id == grant.id => run!(tx.on(), execute: sqlx::query(CHANGE)
            .bind(&grant.id)
            .bind(&grant.requested)
            .bind(&grant.granted)
            .bind(&grant.refused)
            .bind(&before.requested)
            .bind(&before.granted)
            .bind(&before.refused))?,
        Some(before) => {
            let ended = run!(tx.on(), execute: sqlx::query(END)
                .bind(&before.id)
                .bind(&before.requested)
                .bind(&before.granted)
                .bind(&before.refused))?;
            if ended == 0 { 0 } else { insert(tx, grant).await? }
        }
    };
    Ok(stored > 0)
}

async fn insert(tx: &mut Tx, grant: &ConsentGrant) -> Result<u64, sqlx::Error> {
    run!(tx.on(), execute: sqlx::query(INSERT)
        .bind(&grant.id)
        .bind(&grant.user_id)
        .bind(&grant.client_id)
        .bind(grant.patient_id.as_deref().unwrap_or_default())
        .bind(&grant.requested)
        .bind(&grant.granted)
        .bind(&grant.refused)
        .bind(grant.created_s)
        .bind(grant.used_s))
}

pub(super) async fn of_user(db: &AuthDatabase, user_id: &str) -> Result<Vec<ConsentGrant>, sqlx::Error> {
    let rows: Vec<Row> = run!(db.reader(), fetch_all: sqlx::query_as(OF_USER).bind(user_id))?;
    let grant =
        |(id, user_id, client_id, patient_id, requested, granted, refused, created_s, used_s): Row| ConsentGrant {
            id,
            user_id,
            client_id,
            patient_id: patient_of(patient_id),
            requested,
            granted,
            refused,
            created_s,
            used_s,
        };
    Ok(rows.into_iter().map(grant).collect())
}

/// A decision that gives no code.
pub(super) struct Refuse(pub(super) ConsentGrantDecision);

pub(super) async fn refuse(db: &AuthDatabase, asked: Refuse) -> Result<bool, StoreError> {
    match db.fastest() {
        PerEngine::Postgres(_) => retry_on_contention(|| alone(db, &asked)).await.map_err(oauth),
        PerEngine::Sqlite(shared) => shared.run(asked).await,
    }
}

#[async_trait]
impl Work for Refuse {
    type Outcome = bool;

    async fn run(&self, tx: &mut Tx) -> Result<bool, sqlx::Error> {
        give(tx, &self.0).await
    }
}

/// What [`revoke`] is asked for.
pub(super) struct Revoke {
    pub(super) user: String,
    pub(super) grant: String,
    /// The id of the grant that keeps what was refused.
    pub(super) rest: String,
}

pub(super) async fn revoke(db: &AuthDatabase, asked: Revoke) -> Result<bool, StoreError> {
    match db.fastest() {
        PerEngine::Postgres(_) => retry_on_contention(|| alone(db, &asked)).await.map_err(oauth),
        PerEngine::Sqlite(shared) => shared.run(asked).await,
    }
}

#[async_trait]
impl Work for Revoke {
    type Outcome = bool;

    async fn run(&self, tx: &mut Tx) -> Result<bool, sqlx::Error> {
        let Self { user, grant, rest } = self;
        let ended: Option<(String, String, String, i64)> =
            run!(tx.on(), fetch_optional: sqlx::query_as(REVOKE).bind(grant).bind(user))?;
        let Some((client_id, patient_id, refused, created_s)) = ended else { return Ok(false) };
        if !refused.is_empty() {
            run!(tx.on(), execute: sqlx::query(REST)
                .bind(rest)
                .bind(user)
                .bind(&client_id)
                .bind(&patient_id)
                .bind(&refused)
                .bind(created_s))?;
        }
        Ok(true)
    }
}

/// Returns the patient of a column that is empty where there is none.
pub(super) fn patient_of(column: String) -> Option<String> {
    Some(column).filter(|id| !id.is_empty())
}
