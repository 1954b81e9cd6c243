//! Who stands before the authorization page, for all who stand there at one moment.

use std::sync::Arc;

use async_trait::async_trait;
use oauth_core::ports::{AuthorizationState, BrowserSession, ConsentGrant, SecretSha256};
use serde_json::{Value, json};
use sql_engines::{PerEngine, SqlDialect, run};
use sqlx::{PgPool, Postgres};

use super::{grants, hash_of};
use crate::batcher::{BatchHandler, Kept};
use crate::dialect::{Sql, hex};
use crate::readers::Readers;

/// `$1` is `[[place, session in hex, app, now], …]`. One row without a grant stands for none.
static VISITS: Sql = Sql::new(
    "SELECT CAST(e.value ->> 0 AS BIGINT), s.user_id, s.credential, s.signed_in_s, s.expires_s, u.txid, c.txid,
    g.id, g.patient_id, g.requested, g.granted, g.refused, g.created_s, g.used_s
FROM {elements:$1}
LEFT JOIN browser_session s ON s.hash = {from_hex:e.value ->> 1} AND s.expires_s > CAST(e.value ->> 3 AS BIGINT)
LEFT JOIN \"user\" u ON u.id = s.user_id
LEFT JOIN client c ON c.id = e.value ->> 2
LEFT JOIN member_grant g ON g.user_id = s.user_id AND g.client_id = e.value ->> 2
ORDER BY 1, g.created_s DESC, g.id",
);

/// A row of [`VISITS`]: whose answer it belongs to, the session, the two versions, a grant.
type Row = (
    i64,
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
    Option<String>,
    Option<i64>,
    Option<i64>,
);

/// What one visitor asks; the id of the app has no character NUL.
#[derive(Debug)]
pub(crate) struct Visitor {
    pub(super) session: Option<SecretSha256>,
    pub(super) client_id: String,
    pub(super) now_s: i64,
}

/// Reads visits on a connection of its own.
pub(crate) struct Visits(PerEngine<Kept<Postgres>, Readers>);

impl Visits {
    pub(crate) const fn on_postgres(pool: PgPool) -> Self {
        Self(PerEngine::Postgres(Kept::new(pool)))
    }

    pub(crate) const fn on_sqlite(readers: Readers) -> Self {
        Self(PerEngine::Sqlite(readers))
    }

    async fn rows(&mut self, asked: &str) -> Result<Vec<Row>, sqlx::Error> {
        let (connection, dialect) = match &mut self.0 {
            PerEngine::Postgres(kept) => (PerEngine::Postgres(kept.connection().await?), SqlDialect::Postgres),
            PerEngine::Sqlite(readers) => (PerEngine::Sqlite(&*readers), SqlDialect::Sqlite),
        };
        run!(connection, fetch_all: sqlx::query_as(VISITS.text_for_dialect(dialect)).bind(asked))
    }
}

#[async_trait]
impl BatchHandler for Visits {
    type Request = Visitor;
    type Answer = AuthorizationState;

    const NAME: &'static str = "read authorization states";

    async fn answer(&mut self, asked: &[Visitor]) -> Result<Vec<AuthorizationState>, Arc<sqlx::Error>> {
        let read = match self.rows(&parameter(asked)).await {
            Ok(rows) => visits(asked, rows),
            Err(error) => Err(error),
        };
        read.inspect_err(|_| self.idle()).map_err(Arc::new)
    }

    fn idle(&mut self) {
        if let PerEngine::Postgres(kept) = &mut self.0 {
            kept.idle();
        }
    }

    fn may_linger(&self) -> bool {
        matches!(&self.0, PerEngine::Postgres(kept) if kept.may_linger())
    }
}

fn parameter(asked: &[Visitor]) -> String {
    let element = |(place, visitor): (usize, &Visitor)| {
        let session = visitor.session.as_ref().map(hex);
        json!([place, session, visitor.client_id, visitor.now_s])
    };
    Value::Array(asked.iter().enumerate().map(element).collect()).to_string()
}

fn visits(asked: &[Visitor], rows: Vec<Row>) -> Result<Vec<AuthorizationState>, sqlx::Error> {
    let mut visits: Vec<AuthorizationState> = asked.iter().map(|_| AuthorizationState::default()).collect();
    for row in rows {
        let place = usize::try_from(row.0).unwrap_or(usize::MAX);
        if let Some((visit, visitor)) = visits.get_mut(place).zip(asked.get(place)) {
            add(visit, visitor, row)?;
        }
    }
    Ok(visits)
}

/// What a row tells of a visit.
fn add(visit: &mut AuthorizationState, visitor: &Visitor, row: Row) -> Result<(), sqlx::Error> {
    let (_, user_id, credential, signed_in_s, expires_s, user_version, client_version, ..) = &row;
    visit.client_version = *client_version;
    let (Some(session), Some(user_id), Some(credential)) = (visitor.session, user_id, credential) else {
        return Ok(());
    };
    visit.user_version = *user_version;
    if visit.session.is_none() {
        visit.session = Some(BrowserSession {
            hash: session,
            user_id: user_id.clone(),
            credential: hash_of(credential)?,
            signed_in_s: signed_in_s.unwrap_or_default(),
            expires_s: expires_s.unwrap_or_default(),
        });
    }
    visit.grants.extend(grant(row, &visitor.client_id));
    Ok(())
}

/// Returns the grant of a row, if it has one.
fn grant(row: Row, client_id: &str) -> Option<ConsentGrant> {
    let (_, user_id, _, _, _, _, _, id, patient_id, requested, granted, refused, created_s, used_s) = row;
    Some(ConsentGrant {
        id: id?,
        user_id: user_id?,
        client_id: client_id.to_owned(),
        patient_id: grants::patient_of(patient_id?),
        requested: requested?,
        granted: granted?,
        refused: refused?,
        created_s: created_s?,
        used_s,
    })
}
