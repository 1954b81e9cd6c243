//! Running migrations: with the row that says so, before it, or by an id of their own.

mod on_demand;
mod outside_transaction;

use async_trait::async_trait;
use fhir_store::{ResourceWrite, StoreError, WriteOutcome};
use migrations::on_demand_scripts::{ScriptOutcome, SqlScript, SqlScriptRecord};
use migrations::{
    MigrationEffect, MigrationEffectError, MigrationStep, MigrationStepError, MigrationStore,
    OutsideTransactionMigrationError, ProgressReporter, UserSqlError,
};

use sql_engines::retry_on_contention;

use crate::db::AuthDatabase;
use crate::fault::fhir;
use crate::resources::{Effects, Halt, attempt, attempt_with};

#[async_trait]
impl MigrationStore for AuthDatabase {
    async fn transact_migration_steps(
        &self,
        steps: Vec<MigrationStep>,
        progress: &ProgressReporter,
        now_us: i64,
    ) -> Result<Result<Vec<WriteOutcome>, MigrationStepError>, StoreError> {
        let mut writes = Vec::with_capacity(steps.len());
        let mut effects = Effects::new();
        for (index, MigrationStep { write, effect }) in steps.into_iter().enumerate() {
            writes.push(write);
            effects.extend(effect.map(|effect| (index, effect)));
        }
        if let Some(nothing_due) = unless_due(self, &writes, effects.keys().copied(), now_us).await? {
            return Ok(nothing_due);
        }
        settle(retry_on_contention(|| attempt_with(self, &writes, &effects, (progress, now_us))).await)
    }

    async fn run_outside_transaction(
        &self,
        write: ResourceWrite,
        sql: &str,
        progress: &ProgressReporter,
        now_us: i64,
    ) -> Result<Result<WriteOutcome, OutsideTransactionMigrationError>, StoreError> {
        outside_transaction::run(self, (write, sql), progress, now_us).await
    }

    async fn applied_scripts(&self) -> Result<Vec<SqlScriptRecord>, StoreError> {
        on_demand::applied(self).await.map_err(fhir)
    }

    async fn apply_script(
        &self,
        script: &SqlScript,
        now_us: i64,
    ) -> Result<Result<ScriptOutcome, UserSqlError>, StoreError> {
        on_demand::apply(self, script, now_us).await.map_err(fhir)
    }
}

/// Does the writes, unless the effect of any of those at `indexes` is due. At most starts none is, and a
/// session for users' SQL costs more than all the rest then.
async fn unless_due(
    db: &AuthDatabase,
    writes: &[ResourceWrite],
    indexes: impl Iterator<Item = usize>,
    now_us: i64,
) -> Result<Option<Result<Vec<WriteOutcome>, MigrationStepError>>, StoreError> {
    let effects: Effects = indexes.map(|index| (index, MigrationEffect::Unprepared)).collect();
    let done = settle(retry_on_contention(|| attempt(db, writes, &effects, now_us)).await)?;
    Ok(match done {
        Err(MigrationStepError::Effect { refused: MigrationEffectError::Unprepared, .. }) => None,
        done => Some(done),
    })
}

/// Returns what an attempt came to, as the port tells it.
fn settle<T>(done: Result<T, Halt>) -> Result<Result<T, MigrationStepError>, StoreError> {
    match done {
        Ok(done) => Ok(Ok(done)),
        Err(Halt::Refused(refusal)) => Ok(Err(MigrationStepError::Write(refusal))),
        Err(Halt::Effect(index, key, refused)) => Ok(Err(MigrationStepError::Effect { index, key, refused })),
        Err(Halt::Failed(error)) => Err(fhir(error)),
    }
}
