//! What must be known of a caller and of the token it presents, read for all callers of one moment.
//!
//! **Cost:** each value is a look-up in an index for each caller, whatever the engine knows of the size of the tables:
//! the statement leaves it no table to join as a whole. (`EXISTS` would: Postgres may answer it from a hash of all
//! rows.)

use std::sync::Arc;

use async_trait::async_trait;
use oauth_core::ports::{CallerStatus, CallerStatusQuery, OpaqueTokenRecord, SecretSha256};
use serde_json::{Value, json};
use sql_engines::{PerEngine, SqlDialect, run};
use sqlx::{PgPool, Postgres};

use crate::batcher::{BatchHandler, Kept};
use crate::dialect::{Sql, hex};
use crate::members::hash_of;
use crate::readers::Readers;

/// `$1` is `[[place, Client, User, token, family, hash in hex], …]`. An opaque token says by itself whose it is.
static STATUS: Sql = Sql::new(
    "SELECT CAST(e.value ->> 0 AS BIGINT), o.token_id, o.client_id, o.claims, o.expires,
    (SELECT c.txid FROM client c WHERE c.id = COALESCE(o.client_id, e.value ->> 1)),
    (SELECT max({us:h.ts}) FROM client_history h
        WHERE h.id = COALESCE(o.client_id, e.value ->> 1) AND h.op = 'delete'),
    (SELECT u.txid FROM \"user\" u WHERE u.id = COALESCE({opaque_claim:sub}, e.value ->> 2)),
    (SELECT r.expires FROM token_revocation r WHERE r.token_id = COALESCE(o.token_id, e.value ->> 3)) IS NOT NULL,
    (SELECT f.credential FROM token_family f
        WHERE f.id = COALESCE({opaque_claim:sid}, e.value ->> 4) AND f.revoked_s IS NULL),
    (SELECT revision FROM security_revision)
FROM {elements:$1} {opaque_token:e.value ->> 5}",
);

/// A row of [`STATUS`]: whose answer it is; token, Client, claims and end of an opaque token; then a [`CallerStatus`].
type Row = (
    i64,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    bool,
    Option<Vec<u8>>,
    i64,
);

/// Whose status is asked for.
#[derive(Debug)]
pub(crate) enum StatusRequest {
    /// That of the caller and token named here.
    Named { client_id: Option<String>, user_id: Option<String>, token_id: Option<String>, family_id: Option<String> },
    /// That of the opaque token with this hash and of its parties.
    Opaque(SecretSha256),
}

impl StatusRequest {
    /// No id has the character NUL, and Postgres refuses it even as a parameter.
    pub(crate) fn named(of: &CallerStatusQuery<'_>) -> Self {
        let id = |id: Option<&str>| id.filter(|id| !id.contains('\0')).map(str::to_owned);
        Self::Named {
            client_id: id(of.client_id),
            user_id: id(of.user_id),
            token_id: id(of.token_id),
            family_id: id(of.family_id),
        }
    }

    fn element(&self, place: usize) -> Value {
        match self {
            Self::Named { client_id, user_id, token_id, family_id } => {
                json!([place, client_id, user_id, token_id, family_id, null])
            }
            Self::Opaque(hash) => json!([place, null, null, null, null, hex(hash)]),
        }
    }
}

/// The answer: the opaque token, where one was asked for and is there, and how its caller stands.
#[derive(Debug, Default)]
pub(crate) struct StatusAnswer {
    pub(crate) opaque: Option<OpaqueTokenRecord>,
    pub(crate) standing: CallerStatus,
}

/// Reads statuses, on Postgres on a connection that is kept for it.
pub(crate) struct CallerStatuses(PerEngine<Kept<Postgres>, Readers>);

impl CallerStatuses {
    pub(crate) const fn on_postgres(pool: PgPool) -> Self {
        Self(PerEngine::Postgres(Kept::new(pool)))
    }

    pub(crate) const fn on_sqlite(readers: Readers) -> Self {
        Self(PerEngine::Sqlite(readers))
    }

    async fn read(&mut self, asked: &[StatusRequest]) -> Result<Vec<StatusAnswer>, sqlx::Error> {
        let elements = asked.iter().enumerate().map(|(place, request)| request.element(place));
        let parameter = Value::Array(elements.collect()).to_string();
        let (connection, dialect) = match &mut self.0 {
            PerEngine::Postgres(kept) => (PerEngine::Postgres(kept.connection().await?), SqlDialect::Postgres),
            PerEngine::Sqlite(readers) => (PerEngine::Sqlite(&*readers), SqlDialect::Sqlite),
        };
        let rows: Vec<Row> =
            run!(connection, fetch_all: sqlx::query_as(STATUS.text_for_dialect(dialect)).bind(parameter))?;
        let mut statuses: Vec<Option<StatusAnswer>> = asked.iter().map(|_| None).collect();
        for row in rows {
            let place = usize::try_from(row.0).unwrap_or(usize::MAX);
            if let Some((status, request)) = statuses.get_mut(place).zip(asked.get(place)) {
                *status = Some(status_of(row, request)?);
            }
        }
        statuses.into_iter().collect::<Option<_>>().ok_or(sqlx::Error::RowNotFound)
    }
}

fn status_of(row: Row, request: &StatusRequest) -> Result<StatusAnswer, sqlx::Error> {
    let (_, token_id, client_id, claims, expires_s, client_version, client_deleted_us, user_version, ..) = row;
    let (.., token_revoked, credential, policy_revision) = row;
    let opaque = match (request, token_id, client_id, claims, expires_s) {
        (StatusRequest::Opaque(hash), Some(token_id), Some(client_id), Some(claims), Some(expires_s)) => {
            let claims = serde_json::from_str(&claims).map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
            Some(OpaqueTokenRecord { hash: *hash, token_id, client_id, claims, expires_s })
        }
        _ => None,
    };
    let family_credential = credential.map(|stamp| hash_of(&stamp)).transpose()?;
    let standing = CallerStatus {
        client_version,
        client_deleted_us,
        user_version,
        token_revoked,
        family_credential,
        policy_revision,
    };
    Ok(StatusAnswer { opaque, standing })
}

#[async_trait]
impl BatchHandler for CallerStatuses {
    type Request = StatusRequest;
    type Answer = StatusAnswer;

    const NAME: &'static str = "read the status of callers";

    async fn answer(&mut self, asked: &[StatusRequest]) -> Result<Vec<StatusAnswer>, Arc<sqlx::Error>> {
        let read = self.read(asked).await;
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
