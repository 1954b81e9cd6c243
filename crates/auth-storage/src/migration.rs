//! Running migrations: with the row that says so, before it, or by an id of their own.

mod alone;
mod on_demand;

use async_trait::async_trait;
use fhir_store::{StoreError, Write, WriteOutcome};
use migrations::on_demand::{ScriptOutcome, SqlScript, SqlScriptRecord};
use migrations::{
    EffectError, MigrationEffect, MigrationStep, MigrationStore, ProgressReporter, SqlError, StandaloneMigrationError,
    StepError,
};

use sql_engines::retried;

use crate::db::Db;
use crate::fault::fhir;
use crate::resources::{Effects, Halt, attempt, attempt_with};

#[async_trait]
impl MigrationStore for Db {
    async fn transact_steps(
        &self,
        steps: Vec<MigrationStep>,
        progress: &ProgressReporter,
        now_us: i64,
    ) -> Result<Result<Vec<WriteOutcome>, StepError>, StoreError> {
        let mut writes = Vec::with_capacity(steps.len());
        let mut effects = Effects::new();
        for (index, MigrationStep { write, effect }) in steps.into_iter().enumerate() {
            writes.push(write);
            effects.extend(effect.map(|effect| (index, effect)));
        }
        if let Some(nothing_due) = unless_due(self, &writes, effects.keys().copied(), now_us).await? {
            return Ok(nothing_due);
        }
        settle(retried(|| attempt_with(self, &writes, &effects, (progress, now_us))).await)
    }

    async fn run_alone(
        &self,
        write: Write,
        sql: &str,
        progress: &ProgressReporter,
        now_us: i64,
    ) -> Result<Result<WriteOutcome, StandaloneMigrationError>, StoreError> {
        alone::run(self, (write, sql), progress, now_us).await
    }

    async fn applied_scripts(&self) -> Result<Vec<SqlScriptRecord>, StoreError> {
        on_demand::applied(self).await.map_err(fhir)
    }

    async fn apply_script(
        &self,
        script: &SqlScript,
        now_us: i64,
    ) -> Result<Result<ScriptOutcome, SqlError>, StoreError> {
        on_demand::apply(self, script, now_us).await.map_err(fhir)
    }
}

/// Does the writes, unless the effect of any of those at `indexes` is due. At most starts none is, and a
/// session for users' SQL costs more than all the rest then.
async fn unless_due(
    db: &Db,
    writes: &[Write],
    indexes: impl Iterator<Item = usize>,
    now_us: i64,
) -> Result<Option<Result<Vec<WriteOutcome>, StepError>>, StoreError> {
    let effects: Effects = indexes.map(|index| (index, MigrationEffect::Unprepared)).collect();
    let done = settle(retried(|| attempt(db, writes, &effects, now_us)).await)?;
    Ok(match done {
        Err(StepError::Effect { refused: EffectError::Unprepared, .. }) => None,
        done => Some(done),
    })
}

/// Returns what an attempt came to, as the port tells it.
fn settle<T>(done: Result<T, Halt>) -> Result<Result<T, StepError>, StoreError> {
    match done {
        Ok(done) => Ok(Ok(done)),
        Err(Halt::Refused(refusal)) => Ok(Err(StepError::Write(refusal))),
        Err(Halt::Effect(index, key, refused)) => Ok(Err(StepError::Effect { index, key, refused })),
        Err(Halt::Failed(error)) => Err(fhir(error)),
    }
}
