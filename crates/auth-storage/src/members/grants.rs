//! What people let apps do.

use oauth_core::ports::MemberGrant;

use crate::db::Db;
use crate::engine::{Tx, run};

/// Keeps the id, the time and the last use of a grant that is there.
const ALLOW: &str = "INSERT INTO member_grant AS held
    (id, user_id, client_id, patient_id, requested, granted, created_s, used_s)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (user_id, client_id, patient_id) DO UPDATE
SET requested = excluded.requested, granted = excluded.granted, used_s = coalesce(excluded.used_s, held.used_s)
RETURNING id";
const OF_USER: &str = "SELECT id, user_id, client_id, patient_id, requested, granted, created_s, used_s
FROM member_grant WHERE user_id = $1 ORDER BY created_s DESC, id";
/// Takes the families with it; a code under it finds no grant.
const REVOKE: &str = "DELETE FROM member_grant WHERE id = $1 AND user_id = $2";

/// A row of [`OF_USER`].
type Row = (String, String, String, String, String, String, i64, Option<i64>);

/// Stores a grant or replaces the one that is there; returns the id it has.
pub(super) async fn allow(tx: &mut Tx, grant: &MemberGrant) -> Result<String, sqlx::Error> {
    run!(tx.on(), fetch_one: sqlx::query_scalar(ALLOW)
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
