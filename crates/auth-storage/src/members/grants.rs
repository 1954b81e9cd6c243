//! What people let apps do.

use oauth_core::ports::{GivenGrant, MemberGrant};

use crate::db::Db;
use crate::engine::{Tx, run};

/// Nothing where another decision on the same was stored meanwhile.
const INSERT: &str = "INSERT INTO member_grant
    (id, user_id, client_id, patient_id, requested, granted, created_s, used_s)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (user_id, client_id, patient_id) DO NOTHING";
/// What a decision was made from is named whole: of two that were made from the same, one is stored.
const CHANGE: &str = "UPDATE member_grant SET requested = $2, granted = $3
WHERE id = $1 AND requested = $4 AND granted = $5";
const END: &str = "DELETE FROM member_grant WHERE id = $1 AND requested = $2 AND granted = $3";
const OF_USER: &str = "SELECT id, user_id, client_id, patient_id, requested, granted, created_s, used_s
FROM member_grant WHERE user_id = $1 ORDER BY created_s DESC, id";
/// Takes the families with it; a code under it finds no grant.
const REVOKE: &str = "DELETE FROM member_grant WHERE id = $1 AND user_id = $2";

/// A row of [`OF_USER`].
type Row = (String, String, String, String, String, String, i64, Option<i64>);

/// Stores what a person decided; returns whether it still stood as it was decided from.
pub(super) async fn give(tx: &mut Tx, given: &GivenGrant) -> Result<bool, sqlx::Error> {
    let GivenGrant { grant, replaces } = given;
    let stored = match replaces {
        None => insert(tx, grant).await?,
        Some(before) if before.id == grant.id => run!(tx.on(), execute: sqlx::query(CHANGE)
            .bind(&grant.id)
            .bind(&grant.requested)
            .bind(&grant.granted)
            .bind(&before.requested)
            .bind(&before.granted))?,
        Some(before) => {
            let ended = run!(tx.on(), execute: sqlx::query(END)
                .bind(&before.id)
                .bind(&before.requested)
                .bind(&before.granted))?;
            if ended == 0 { 0 } else { insert(tx, grant).await? }
        }
    };
    Ok(stored > 0)
}

async fn insert(tx: &mut Tx, grant: &MemberGrant) -> Result<u64, sqlx::Error> {
    run!(tx.on(), execute: sqlx::query(INSERT)
        .bind(&grant.id)
        .bind(&grant.user_id)
        .bind(&grant.client_id)
        .bind(grant.patient_id.as_deref().unwrap_or_default())
        .bind(&grant.requested)
        .bind(&grant.granted)
        .bind(grant.created_s)
        .bind(grant.used_s))
}

pub(super) async fn of_user(db: &Db, user_id: &str) -> Result<Vec<MemberGrant>, sqlx::Error> {
    let rows: Vec<Row> = run!(db.reader(), fetch_all: sqlx::query_as(OF_USER).bind(user_id))?;
    let grant = |(id, user_id, client_id, patient_id, requested, granted, created_s, used_s): Row| MemberGrant {
        id,
        user_id,
        client_id,
        patient_id: patient_of(patient_id),
        requested,
        granted,
        created_s,
        used_s,
    };
    Ok(rows.into_iter().map(grant).collect())
}

pub(super) async fn revoke(db: &Db, user_id: &str, grant_id: &str) -> Result<bool, sqlx::Error> {
    Ok(run!(db.writer(), execute: sqlx::query(REVOKE).bind(grant_id).bind(user_id))? > 0)
}

/// The patient of a column that is empty where there is none.
pub(super) fn patient_of(column: String) -> Option<String> {
    Some(column).filter(|id| !id.is_empty())
}
