//! SQL that no transaction can hold: run first, recorded after.

use std::slice;
use std::time::Instant;

use fhir_resource::ResourceKey;
use fhir_store::{ResourceWrite, StoreError, WriteOperation, WriteOutcome};
use migrations::{
    MigrationEffect, MigrationEffectError, MigrationStepError, OutsideTransactionMigrationError, ProgressReporter,
};
use sql_engines::{PerEngine, retry_on_contention};
use sqlx::pool::PoolConnection;
use sqlx::{Postgres, Sqlite};

use super::{settle, unless_due};
use crate::db::{AuthDatabase, Session};
use crate::fault::fhir;
use crate::resources::{Effects, attempt_with, rehearse};
use crate::script::{self, ScriptFault};

/// Asked for, not waited for: a statement that waits holds a snapshot, and an index that is built
/// concurrently waits for every older snapshot.
const CLAIM: &str = "SELECT pg_try_advisory_lock(hashtextextended($1, 1))";

pub(super) async fn run(
    db: &AuthDatabase,
    (write, sql): (ResourceWrite, &str),
    progress: &ProgressReporter,
    now_us: i64,
) -> Result<Result<WriteOutcome, OutsideTransactionMigrationError>, StoreError> {
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
    db: &AuthDatabase,
    session: &Session,
    (write, sql): (ResourceWrite, &str),
    (progress, now_us): (&ProgressReporter, i64),
) -> Result<Result<WriteOutcome, OutsideTransactionMigrationError>, StoreError> {
    // Of two that run the same one at once, the second to be written would find that it ran in vain.
    let Some(mut claimed) = claim(db, session, &write).await.map_err(fhir)? else {
        return Ok(Err(OutsideTransactionMigrationError::Running));
    };
    let rehearsed = retry_on_contention(|| rehearse(db, slice::from_ref(&write), now_us)).await;
    let key = match settle(rehearsed)?.map(|written| written.into_iter().next()) {
        Err(refusal) => return Ok(Err(refusal.into())),
        Ok(Some(written)) => match migrations::due_effect_version(&written) {
            Some(stored) => stored.key.clone(),
            None => return Ok(Ok(written)),
        },
        Ok(None) => return Err(unanswered()),
    };
    progress.report(format!("running {key} outside a transaction"));
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

fn refused_alone(key: ResourceKey, refused: MigrationEffectError) -> OutsideTransactionMigrationError {
    MigrationStepError::Effect { index: 0, key, refused }.into()
}

/// Writes what ran, under the id it was rehearsed with.
async fn record(
    db: &AuthDatabase,
    (mut write, key): (ResourceWrite, ResourceKey),
    (progress, now_us): (&ProgressReporter, i64),
) -> Result<Result<WriteOutcome, OutsideTransactionMigrationError>, StoreError> {
    // A create without an id would get another one now.
    if write.id.is_none() && matches!(write.operation, WriteOperation::Create(_)) {
        write.id = Some(key.id);
    }
    let effects = Effects::from([(0, MigrationEffect::Done(migrations::sql_migration_result()))]);
    let writes = slice::from_ref(&write);
    // In a session of its own: on SQLite the one of the pool is held.
    let recorded = retry_on_contention(|| attempt_with(db, writes, &effects, (progress, now_us))).await;
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
    fn on(&mut self) -> PerEngine<&mut sqlx::PgConnection, &mut sqlx::SqliteConnection> {
        match self {
            Self::Postgres(session) => PerEngine::Postgres(session),
            Self::Sqlite { session, .. } => PerEngine::Sqlite(session),
        }
    }
}

async fn claim(db: &AuthDatabase, session: &Session, write: &ResourceWrite) -> Result<Option<Claimed>, sqlx::Error> {
    let sent = match &write.operation {
        WriteOperation::Create(body) | WriteOperation::Put(body) => body.get("id").and_then(serde_json::Value::as_str),
        WriteOperation::Patch(_) | WriteOperation::Delete => None,
    };
    let id = write.id.as_ref().map(fhir_resource::ResourceId::as_str).or(sent).unwrap_or_default();
    match (session.pool(), db.writer()) {
        (PerEngine::Postgres(pool), _) => {
            let mut session = pool.acquire().await?;
            let name = format!("{}/{id}", write.resource_type);
            let free: bool = sqlx::query_scalar(CLAIM).bind(name).fetch_one(&mut *session).await?;
            Ok(free.then_some(Claimed::Postgres(session)))
        }
        (PerEngine::Sqlite(pool), PerEngine::Sqlite(writer)) => {
            let only = writer.acquire().await?;
            Ok(Some(Claimed::Sqlite { session: pool.acquire().await?, _writer: only }))
        }
        (PerEngine::Sqlite(_), PerEngine::Postgres(_)) => Ok(None),
    }
}
