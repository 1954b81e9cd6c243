//! Writes of migrations: what they do besides being written.

use std::collections::HashMap;
use std::slice;

use fhir_store::{Filter, ResourceId, ResourceKey, ResourceLookup, Write, WriteOperation, WriteOutcome};
use migrations::on_demand::{self, ScriptOutcome, SqlScript, SqlScriptRecord};
use migrations::package::PrepareError;
use migrations::{
    EffectError, MigrationAction, MigrationEffect, MigrationStatus, MigrationStep, PackageId, PlatformMigration,
    SqlError, SqlExecutionMode, StandaloneMigrationError, StepError,
};

use serde_json::Value;

use crate::error::ApiError;
use crate::save::PlannedWrite;
use crate::state::App;

/// How often migrations are prepared when somebody removes them meanwhile.
const ATTEMPTS: usize = 4;

/// The reason why a migration is not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MigrationRunError {
    #[error("{key}: {refused}")]
    Effect { key: ResourceKey, refused: EffectError },
    #[error(
        "SQL that is not-in-transaction is run by a request of its own or an entry of a batch, not in a transaction"
    )]
    Together,
    #[error("the migration is being run by another request; try again")]
    Running,
    #[error("{0}")]
    Prepare(#[from] PrepareError),
}

impl MigrationRunError {
    fn is_unprepared(&self) -> bool {
        matches!(self, Self::Effect { refused: EffectError::Unprepared, .. })
    }
}

/// The reason why scripts are not applied, or not all of them.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScriptRunError {
    #[error("{0}")]
    List(#[from] on_demand::ScriptError),
    #[error("{id:?}: {refused}; {}", told(.applied))]
    Sql { id: String, refused: SqlError, applied: Vec<String> },
}

fn told(applied: &[String]) -> String {
    if applied.is_empty() {
        return "nothing was applied".to_owned();
    }
    format!("applied before it, and kept: {}", applied.join(", "))
}

/// Returns what a write runs, if it is a migration that is to run. It was checked before.
fn to_run(app: &App, write: &Write) -> Option<MigrationAction> {
    if write.kind.as_str() != migrations::RESOURCE_TYPE {
        return None;
    }
    let (WriteOperation::Create(body) | WriteOperation::Put(body)) = &write.operation else { return None };
    let migration = PlatformMigration::read(&app.settings.platform_name, body).ok()?;
    (migration.status == MigrationStatus::ToRun).then_some(migration.action)
}

/// Returns the SQL of a write that no transaction can hold.
pub(crate) fn alone(app: &App, write: &Write) -> Option<String> {
    match to_run(app, write)? {
        MigrationAction::RunSql { sql, execution: SqlExecutionMode::NotInTransaction } => Some(sql),
        MigrationAction::RunSql { .. } | MigrationAction::InstallPackage(_) | MigrationAction::UninstallPackage(_) => {
            None
        }
    }
}

/// Returns whether a write does something besides being written.
pub(crate) fn runs(app: &App, write: &Write) -> bool {
    to_run(app, write).is_some()
}

/// Returns the effect of a write inside a transaction, with everything it needs at hand.
async fn effect(app: &App, write: &Write) -> Result<Option<MigrationEffect>, ApiError> {
    match to_run(app, write) {
        None => Ok(None),
        Some(MigrationAction::RunSql { sql, execution: SqlExecutionMode::InTransaction }) => {
            Ok(Some(MigrationEffect::RunSql { sql }))
        }
        Some(MigrationAction::RunSql { execution: SqlExecutionMode::NotInTransaction, .. }) => {
            Err(MigrationRunError::Together.into())
        }
        Some(MigrationAction::InstallPackage(package)) => Ok(Some(installation(app, write, &package).await?)),
        Some(MigrationAction::UninstallPackage(package)) => Ok(Some(MigrationEffect::Uninstall(package))),
    }
}

/// What installs a package. Nothing is fetched for a migration that is there and done: a start with a
/// bundle that ran before needs no registry.
async fn installation(app: &App, write: &Write, package: &PackageId) -> Result<MigrationEffect, ApiError> {
    if is_done(app, write).await? {
        return Ok(MigrationEffect::Unprepared);
    }
    let prepared = app.packages.prepare(slice::from_ref(package)).await.map_err(MigrationRunError::from)?;
    Ok(MigrationEffect::Install(prepared))
}

/// Returns whether a migration that a create would make is there and done. The store decides again, inside the
/// transaction.
async fn is_done(app: &App, write: &Write) -> Result<bool, ApiError> {
    let WriteOperation::Create(body) = &write.operation else { return Ok(false) };
    let conditions = write.precondition.if_none_exist.iter().flat_map(|criteria| &criteria.filters);
    let asked = conditions.into_iter().find_map(Filter::as_id);
    let named = || body.get("id").and_then(Value::as_str);
    let own = write.id.as_ref().map(ResourceId::as_str);
    let Some(id) = own.or(asked).or_else(named).and_then(|id| id.parse().ok()) else { return Ok(false) };
    let found = app.resources.read(&ResourceKey { kind: write.kind.clone(), id }).await?;
    Ok(
        matches!(found, ResourceLookup::Found(stored) if MigrationStatus::of(&stored.resource) == Some(MigrationStatus::Done)),
    )
}

/// Does all the writes with their effects, in their order, or none: again when a migration that seemed to
/// be done is not there any more.
pub(crate) async fn transact(app: &App, admitted: Vec<PlannedWrite>) -> Result<Vec<WriteOutcome>, ApiError> {
    for _ in 1..ATTEMPTS {
        match attempt(app, &admitted).await {
            Err(ApiError::Migration { cause, .. }) if cause.is_unprepared() => {}
            done => return done,
        }
    }
    attempt(app, &admitted).await
}

async fn attempt(app: &App, admitted: &[PlannedWrite]) -> Result<Vec<WriteOutcome>, ApiError> {
    let mut steps = Vec::with_capacity(admitted.len());
    for PlannedWrite { write, entry } in admitted {
        let effect = effect(app, write).await.map_err(|fault| fault.at_entry(*entry))?;
        steps.push(MigrationStep { write: write.clone(), effect });
    }
    let entry_at = |index: usize| admitted.get(index).and_then(|planned| planned.entry);
    let done = app.migrations.transact_steps(steps, &app.progress, app.now_us()).await?;
    done.map_err(|refusal| match refusal {
        StepError::Write(refusal) => ApiError::Refused { cause: refusal.cause, entry: entry_at(refusal.index) },
        StepError::Effect { index, key, refused } => {
            ApiError::from(MigrationRunError::Effect { key, refused }).at_entry(entry_at(index))
        }
    })
}

/// Does one write whose SQL no transaction can hold.
pub(crate) async fn run_alone(app: &App, write: Write, sql: &str) -> Result<WriteOutcome, ApiError> {
    let done = app.migrations.run_alone(write, sql, &app.progress, app.now_us()).await?;
    done.map_err(|refusal| match refusal {
        StandaloneMigrationError::Running => MigrationRunError::Running.into(),
        StandaloneMigrationError::Step(StepError::Write(refusal)) => {
            ApiError::Refused { cause: refusal.cause, entry: None }
        }
        StandaloneMigrationError::Step(StepError::Effect { key, refused: cause, .. }) => {
            MigrationRunError::Effect { key, refused: cause }.into()
        }
    })
}

/// Applies scripts in their order, each in a transaction of its own, and stops at the first that fails.
/// None is applied when any is not what stands under its id.
pub(crate) async fn apply(
    app: &App,
    scripts: Vec<SqlScript>,
) -> Result<Vec<(SqlScriptRecord, ScriptOutcome)>, ApiError> {
    let before = app.migrations.applied_scripts().await?;
    on_demand::check_unchanged(&scripts, &before).map_err(ScriptRunError::from)?;
    let mut done: Vec<(SqlScriptRecord, ScriptOutcome)> = Vec::with_capacity(scripts.len());
    let mut known: HashMap<String, SqlScriptRecord> =
        before.into_iter().map(|record| (record.script.id.clone(), record)).collect();
    for script in scripts {
        if let Some(record) = known.get(&script.id) {
            done.push((record.clone(), ScriptOutcome::Before(record.clone())));
            continue;
        }
        let now_us = app.now_us();
        let applied = app.migrations.apply_script(&script, now_us).await?.map_err(|refused| {
            let fresh = done.iter().filter(|(_, applied)| *applied == ScriptOutcome::Now);
            let applied = fresh.map(|(record, _)| record.script.id.clone()).collect();
            ScriptRunError::Sql { id: script.id.clone(), refused, applied }
        })?;
        let record = match &applied {
            ScriptOutcome::Now => SqlScriptRecord { script, applied_us: now_us },
            // Somebody else was faster.
            ScriptOutcome::Before(record) => {
                script.agree(&record.script).map_err(ScriptRunError::from)?;
                record.clone()
            }
        };
        known.insert(record.script.id.clone(), record.clone());
        done.push((record, applied));
    }
    Ok(done)
}
