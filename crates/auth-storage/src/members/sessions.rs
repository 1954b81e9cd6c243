//! Who a browser belongs to.

use oauth_core::ports::{BrowserSession, SecretSha256, VersionedDocument};
use sql_engines::run;
use sqlx::types::Json;

use crate::db::AuthDatabase;
use crate::dialect::Sql;

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

pub(super) async fn users_by_login(
    db: &AuthDatabase,
    login: &str,
) -> Result<Vec<(String, VersionedDocument)>, sqlx::Error> {
    let sql = USERS_BY_LOGIN.text_for_dialect(db.dialect());
    let rows: Vec<(String, i64, Json<serde_json::Value>)> =
        run!(db.reader(), fetch_all: sqlx::query_as(sql).bind(login.to_ascii_lowercase()))?;
    Ok(rows.into_iter().map(|(id, version, Json(resource))| (id, VersionedDocument { version, resource })).collect())
}

pub(super) async fn begin(
    db: &AuthDatabase,
    session: &BrowserSession,
    replaces: Option<&SecretSha256>,
) -> Result<(), sqlx::Error> {
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

pub(super) async fn end(db: &AuthDatabase, hash: &SecretSha256) -> Result<(), sqlx::Error> {
    run!(db.writer(), execute: sqlx::query(END).bind(hash.as_slice()))?;
    Ok(())
}
