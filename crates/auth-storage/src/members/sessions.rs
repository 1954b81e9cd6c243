//! Who a browser belongs to.

use oauth_core::ports::{BrowserSession, Hash, MemberGrant, Versioned, Visit, VisitQuery};
use sqlx::types::Json;

use super::{grants, hash_of};
use crate::db::Db;
use crate::dialect::Sql;
use crate::engine::run;

/// The inner query names each User once and uses both indexes; it cannot be bent to stop early at
/// a scan of the table.
static USERS_BY_LOGIN: Sql = Sql::new(
    "SELECT found.id, found.txid, found.resource FROM (
    SELECT u.id FROM \"user\" u WHERE {login:userName} = $1
    UNION
    SELECT u.id FROM \"user\" u WHERE {login:email} = $1
) AS named JOIN \"user\" found ON found.id = named.id
ORDER BY found.id LIMIT 2",
);
const BEGIN: &str = "INSERT INTO browser_session (hash, user_id, credential, signed_in_s, expires_s)
VALUES ($1, $2, $3, $4, $5)";
const END: &str = "DELETE FROM browser_session WHERE hash = $1";
/// One row without a grant stands for none.
const VISIT: &str = "SELECT s.user_id, s.credential, s.signed_in_s, s.expires_s, u.txid, c.txid,
    g.id, g.patient_id, g.requested, g.granted, g.created_s, g.used_s
FROM (SELECT 1 AS one) AS always
LEFT JOIN browser_session s ON s.hash = $1 AND s.expires_s > $3
LEFT JOIN \"user\" u ON u.id = s.user_id
LEFT JOIN client c ON c.id = $2
LEFT JOIN member_grant g ON g.user_id = s.user_id AND g.client_id = $2
ORDER BY g.created_s DESC, g.id";

/// A row of [`VISIT`]: the session, the two versions, a grant.
type VisitRow = (
    Option<String>,
    Option<Vec<u8>>,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<i64>,
    Option<i64>,
);

pub(super) async fn users_by_login(db: &Db, login: &str) -> Result<Vec<(String, Versioned)>, sqlx::Error> {
    let sql = USERS_BY_LOGIN.on(db.dialect());
    let rows: Vec<(String, i64, Json<serde_json::Value>)> =
        run!(db.reader(), fetch_all: sqlx::query_as(sql).bind(login.to_ascii_lowercase()))?;
    Ok(rows.into_iter().map(|(id, version, Json(resource))| (id, Versioned { version, resource })).collect())
}

pub(super) async fn begin(db: &Db, session: &BrowserSession, replaces: Option<&Hash>) -> Result<(), sqlx::Error> {
    let mut tx = db.begin().await?;
    if let Some(replaced) = replaces {
        run!(tx.on(), execute: sqlx::query(END).bind(replaced.as_slice()))?;
    }
    run!(tx.on(), execute: sqlx::query(BEGIN)
        .bind(session.hash.as_slice())
        .bind(&session.user_id)
        .bind(session.credential.as_slice())
        .bind(session.signed_in_s)
        .bind(session.expires_s))?;
    tx.commit().await
}

pub(super) async fn end(db: &Db, hash: &Hash) -> Result<(), sqlx::Error> {
    run!(db.writer(), execute: sqlx::query(END).bind(hash.as_slice()))?;
    Ok(())
}

pub(super) async fn visit(db: &Db, of: &VisitQuery<'_>) -> Result<Visit, sqlx::Error> {
    let rows: Vec<VisitRow> = run!(db.reader(), fetch_all: sqlx::query_as(VISIT)
        .bind(of.session.map(<[u8; 32]>::as_slice))
        .bind(of.client_id)
        .bind(of.now_s))?;
    let mut visit = Visit::default();
    for row in rows {
        let (user_id, credential, signed_in_s, expires_s, user_version, client_version, ..) = &row;
        visit.client_version = *client_version;
        let (Some(session), Some(user_id), Some(credential)) = (of.session, user_id, credential) else {
            continue;
        };
        visit.user_version = *user_version;
        if visit.session.is_none() {
            visit.session = Some(BrowserSession {
                hash: *session,
                user_id: user_id.clone(),
                credential: hash_of(credential)?,
                signed_in_s: signed_in_s.unwrap_or_default(),
                expires_s: expires_s.unwrap_or_default(),
            });
        }
        visit.grants.extend(grant(row, of.client_id));
    }
    Ok(visit)
}

/// The grant of a row, if it has one.
fn grant(row: VisitRow, client_id: &str) -> Option<MemberGrant> {
    let (user_id, _, _, _, _, _, id, patient_id, requested, granted, created_s, used_s) = row;
    Some(MemberGrant {
        id: id?,
        user_id: user_id?,
        client_id: client_id.to_owned(),
        patient_id: grants::patient_of(patient_id?),
        requested: requested?,
        granted: granted?,
        created_s: created_s?,
        used_s,
    })
}
