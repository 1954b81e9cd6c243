//! Writes of migrations: what they do besides being written.

use std::collections::HashMap;

use fhir_store::{Operation, ResourceKey, Write, Written};
use migrations::on_demand::{self, Applied, SqlScript, SqlScriptRecord};
use migrations::{
    Action, AloneRefusal, Effect, EffectRefused, Execution, Migration, SqlRefused, Status, Step, StepRefusal,
};

use crate::error::Fault;
use crate::save::Planned;
use crate::state::App;

/// Why a migration is not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MigrationRefusal {
    #[error("{key}: {refused}")]
    Effect { key: ResourceKey, refused: EffectRefused },
    #[error(
        "SQL that is not-in-transaction is run by a request of its own or an entry of a batch, not in a transaction"
    )]
    Together,
    #[error("the migration is being run by another request; try again")]
    Running,
    #[error("this server installs no packages, so no migration that is to is stored")]
    Packages,
}

/// Why scripts are not applied, or not all of them.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScriptRefusal {
    #[error("{0}")]
    List(#[from] on_demand::ScriptFault),
    #[error("{id:?}: {refused}; {}", told(.applied))]
    Sql { id: String, refused: SqlRefused, applied: Vec<String> },
}

fn told(applied: &[String]) -> String {
    if applied.is_empty() {
        return "nothing was applied".to_owned();
    }
    format!("applied before it, and kept: {}", applied.join(", "))
}

/// What a write runs, if it is a migration that is to run. It was checked before.
fn to_run(app: &App, write: &Write) -> Option<Action> {
    if write.kind.as_str() != migrations::RESOURCE_TYPE {
        return None;
    }
    let (Operation::Create(body) | Operation::Put(body)) = &write.operation else { return None };
    let migration = Migration::read(&app.settings.platform_name, body).ok()?;
    (migration.status == Status::ToRun).then_some(migration.action)
}

/// The SQL of a write that no transaction can hold.
pub(crate) fn alone(app: &App, write: &Write) -> Option<String> {
    match to_run(app, write)? {
        Action::RunSql { sql, execution: Execution::NotInTransaction } => Some(sql),
        Action::RunSql { .. } | Action::InstallPackage(_) | Action::UninstallPackage(_) => None,
    }
}

/// The effect of a write inside a transaction, with everything it needs at hand.
pub(crate) fn effect(app: &App, write: &Write) -> Result<Option<Effect>, Fault> {
    match to_run(app, write) {
        None => Ok(None),
        Some(Action::RunSql { sql, execution: Execution::InTransaction }) => Ok(Some(Effect::RunSql { sql })),
        Some(Action::RunSql { execution: Execution::NotInTransaction, .. }) => Err(MigrationRefusal::Together.into()),
        Some(Action::InstallPackage(_) | Action::UninstallPackage(_)) => Err(MigrationRefusal::Packages.into()),
    }
}

/// Does all the writes with their effects, in their order, or none.
pub(crate) async fn transact(app: &App, admitted: Vec<(Planned, Option<Effect>)>) -> Result<Vec<Written>, Fault> {
    let entries: Vec<Option<usize>> = admitted.iter().map(|(planned, _)| planned.entry).collect();
    let entry_at = |index: usize| entries.get(index).copied().flatten();
    let steps = admitted.into_iter().map(|(planned, effect)| Step { write: planned.write, effect }).collect();
    let done = app.migrations.transact_steps(steps, &app.progress, app.now_us()).await?;
    done.map_err(|refusal| match refusal {
        StepRefusal::Write(refusal) => Fault::Refused { cause: refusal.cause, entry: entry_at(refusal.index) },
        StepRefusal::Effect { index, key, refused } => {
            Fault::from(MigrationRefusal::Effect { key, refused }).at_entry(entry_at(index))
        }
    })
}

/// Does one write whose SQL no transaction can hold.
pub(crate) async fn run_alone(app: &App, write: Write, sql: &str) -> Result<Written, Fault> {
    let done = app.migrations.run_alone(write, sql, &app.progress, app.now_us()).await?;
    done.map_err(|refusal| match refusal {
        AloneRefusal::Running => MigrationRefusal::Running.into(),
        AloneRefusal::Step(StepRefusal::Write(refusal)) => Fault::Refused { cause: refusal.cause, entry: None },
        AloneRefusal::Step(StepRefusal::Effect { key, refused: cause, .. }) => {
            MigrationRefusal::Effect { key, refused: cause }.into()
        }
    })
}

/// Applies scripts in their order, each in a transaction of its own, and stops at the first that fails.
/// None is applied when any is not what stands under its id.
pub(crate) async fn apply(app: &App, scripts: Vec<SqlScript>) -> Result<Vec<(SqlScriptRecord, Applied)>, Fault> {
    let before = app.migrations.applied_scripts().await?;
    on_demand::check_unchanged(&scripts, &before).map_err(ScriptRefusal::from)?;
    let mut done: Vec<(SqlScriptRecord, Applied)> = Vec::with_capacity(scripts.len());
    let mut known: HashMap<String, SqlScriptRecord> =
        before.into_iter().map(|record| (record.script.id.clone(), record)).collect();
    for script in scripts {
        if let Some(record) = known.get(&script.id) {
            done.push((record.clone(), Applied::Before(record.clone())));
            continue;
        }
        let now_us = app.now_us();
        let applied = app.migrations.apply_script(&script, now_us).await?.map_err(|refused| {
            let fresh = done.iter().filter(|(_, applied)| *applied == Applied::Now);
            let applied = fresh.map(|(record, _)| record.script.id.clone()).collect();
            ScriptRefusal::Sql { id: script.id.clone(), refused, applied }
        })?;
        let record = match &applied {
            Applied::Now => SqlScriptRecord { script, applied_us: now_us },
            // Somebody else was faster.
            Applied::Before(record) => {
                script.agree(&record.script).map_err(ScriptRefusal::from)?;
                record.clone()
            }
        };
        known.insert(record.script.id.clone(), record.clone());
        done.push((record, applied));
    }
    Ok(done)
}
