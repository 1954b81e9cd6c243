//! SQL that no transaction can hold: run first, recorded after.

use std::slice;
use std::time::Instant;

use fhir_resource::ResourceKey;
use fhir_store::{StoreError, Write, WriteOperation, WriteOutcome};
use migrations::{EffectError, MigrationEffect, ProgressReporter, StandaloneMigrationError, StepError};
use sql_engines::{On, retried};
use sqlx::pool::PoolConnection;
use sqlx::{Postgres, Sqlite};

use super::{settle, unless_due};
use crate::db::{Db, Session};
use crate::fault::fhir;
use crate::resources::{Effects, attempt_with, rehearse};
use crate::script::{self, ScriptFault};

/// Asked for, not waited for: a statement that waits holds a snapshot, and an index that is built
/// concurrently waits for every older snapshot.
const CLAIM: &str = "SELECT pg_try_advisory_lock(hashtextextended($1, 1))";

pub(super) async fn run(
    db: &Db,
    (write, sql): (Write, &str),
    progress: &ProgressReporter,
    now_us: i64,
) -> Result<Result<WriteOutcome, StandaloneMigrationError>, StoreError> {
    if let Some(nothing_due) = unless_due(db, slice::from_ref(&write), std::iter::once(0), now_us).await? {
        return match nothing_due.map(|written| written.into_iter().next()) {
            Ok(written) => written.map(Ok).ok_or_else(unanswered),
            Err(refusal) => Ok(Err(refusal.into())),
        };
    }
    let session = db.session().await.map_err(fhir)?;
    let done = claim_and_run(db, &session, (write, sql), (progress, now_us)).await;
    session.close().await;
    db.after_users_sql().await.map_err(fhir)?;
    done
}

async fn claim_and_run(
    db: &Db,
    session: &Session,
    (write, sql): (Write, &str),
    (progress, now_us): (&ProgressReporter, i64),
) -> Result<Result<WriteOutcome, StandaloneMigrationError>, StoreError> {
    // Of two that run the same one at once, the second to be written would find that it ran in vain.
    let Some(mut claimed) = claim(db, session, &write).await.map_err(fhir)? else {
        return Ok(Err(StandaloneMigrationError::Running));
    };
    let rehearsed = retried(|| rehearse(db, slice::from_ref(&write), now_us)).await;
    let key = match settle(rehearsed)?.map(|written| written.into_iter().next()) {
        Err(refusal) => return Ok(Err(refusal.into())),
        Ok(Some(written)) => match migrations::due(&written) {
            Some(stored) => stored.key.clone(),
            None => return Ok(Ok(written)),
        },
        Ok(None) => return Err(unanswered()),
    };
    progress.say(format!("running {key} outside a transaction"));
    let began = Instant::now();
    match script::run(claimed.on(), sql).await {
        Ok(()) => {
            tracing::info!(migration = %key.id, duration_ms = began.elapsed().as_millis(), "a migration was run");
        }
        Err(ScriptFault::Failed(error)) => return Err(fhir(error)),
        Err(ScriptFault::Refused(refused)) => return Ok(Err(refused_alone(key, refused.into()))),
    }
    record(db, (write, key), (progress, now_us)).await
}

fn refused_alone(key: ResourceKey, refused: EffectError) -> StandaloneMigrationError {
    StepError::Effect { index: 0, key, refused }.into()
}

/// Writes what ran, under the id it was rehearsed with.
async fn record(
    db: &Db,
    (mut write, key): (Write, ResourceKey),
    (progress, now_us): (&ProgressReporter, i64),
) -> Result<Result<WriteOutcome, StandaloneMigrationError>, StoreError> {
    // A create without an id would get another one now.
    if write.id.is_none() && matches!(write.operation, WriteOperation::Create(_)) {
        write.id = Some(key.id);
    }
    let effects = Effects::from([(0, MigrationEffect::Done(migrations::done_result()))]);
    let writes = slice::from_ref(&write);
    // In a session of its own: on SQLite the one of the pool is held.
    let recorded = retried(|| attempt_with(db, writes, &effects, (progress, now_us))).await;
    match settle(recorded)?.map(|written| written.into_iter().next()) {
        Ok(Some(written)) => Ok(Ok(written)),
        Ok(None) => Err(unanswered()),
        Err(refusal) => Ok(Err(refusal.into())),
    }
}

fn unanswered() -> StoreError {
    StoreError::Failed("a write was left unanswered".into())
}

/// A connection that runs migrations of this id to itself, for as long as it lives. On SQLite nobody
/// else writes meanwhile either.
enum Claimed {
    Postgres(PoolConnection<Postgres>),
    Sqlite { session: PoolConnection<Sqlite>, _writer: PoolConnection<Sqlite> },
}

impl Claimed {
    fn on(&mut self) -> On<&mut sqlx::PgConnection, &mut sqlx::SqliteConnection> {
        match self {
            Self::Postgres(session) => On::Postgres(session),
            Self::Sqlite { session, .. } => On::Sqlite(session),
        }
    }
}

async fn claim(db: &Db, session: &Session, write: &Write) -> Result<Option<Claimed>, sqlx::Error> {
    let sent = match &write.operation {
        WriteOperation::Create(body) | WriteOperation::Put(body) => body.get("id").and_then(serde_json::Value::as_str),
        WriteOperation::Patch(_) | WriteOperation::Delete => None,
    };
    let id = write.id.as_ref().map(fhir_resource::ResourceId::as_str).or(sent).unwrap_or_default();
    match (session.pool(), db.writer()) {
        (On::Postgres(pool), _) => {
            let mut session = pool.acquire().await?;
            let name = format!("{}/{id}", write.resource_type);
            let free: bool = sqlx::query_scalar(CLAIM).bind(name).fetch_one(&mut *session).await?;
            Ok(free.then_some(Claimed::Postgres(session)))
        }
        (On::Sqlite(pool), On::Sqlite(writer)) => {
            let only = writer.acquire().await?;
            Ok(Some(Claimed::Sqlite { session: pool.acquire().await?, _writer: only }))
        }
        (On::Sqlite(_), On::Postgres(_)) => Ok(None),
    }
}
