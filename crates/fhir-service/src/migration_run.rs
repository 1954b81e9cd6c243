//! Writes of migrations: what they do besides being written.

use std::collections::HashMap;
use std::slice;

use fhir_resource::{ResourceId, ResourceKey};
use fhir_store::{ElementEqualityFilter, ResourceLookup, ResourceWrite, WriteOperation, WriteOutcome};
use migrations::on_demand_scripts::{self, ScriptOutcome, SqlScript, SqlScriptRecord};
use migrations::{
    MigrationAction, MigrationEffect, MigrationStatus, MigrationStep, MigrationStepError,
    OutsideTransactionMigrationError, PackageId, PlatformMigration, SqlExecutionMode,
};
use serde_json::Value;

use crate::error::{MigrationRunError, ScriptRunError, ServiceError};
use crate::planned_write::PlannedWrite;
use crate::service_state::FhirService;

/// How often migrations are prepared when another request removes them in the meantime.
const ATTEMPTS: usize = 4;

/// Returns what a write runs, if it is a migration that is to run. It was checked before.
fn to_run(service: &FhirService, write: &ResourceWrite) -> Option<MigrationAction> {
    if write.resource_type.as_str() != migrations::MIGRATION_RESOURCE_TYPE {
        return None;
    }
    let (WriteOperation::Create(body) | WriteOperation::Put(body)) = &write.operation else { return None };
    let migration = PlatformMigration::parse_document(&service.settings.platform_name, body).ok()?;
    (migration.status == MigrationStatus::ToRun).then_some(migration.action)
}

/// Returns the SQL of a write that no transaction can hold.
pub(crate) fn standalone_sql(service: &FhirService, write: &ResourceWrite) -> Option<String> {
    match to_run(service, write)? {
        MigrationAction::RunSql { sql, execution: SqlExecutionMode::NotInTransaction } => Some(sql),
        MigrationAction::RunSql { .. } | MigrationAction::InstallPackage(_) | MigrationAction::UninstallPackage(_) => {
            None
        }
    }
}

/// Returns whether a write does something besides being written.
pub(crate) fn runs(service: &FhirService, write: &ResourceWrite) -> bool {
    to_run(service, write).is_some()
}

/// Returns the effect of a write inside a transaction, with everything it needs at hand.
async fn effect(service: &FhirService, write: &ResourceWrite) -> Result<Option<MigrationEffect>, ServiceError> {
    match to_run(service, write) {
        None => Ok(None),
        Some(MigrationAction::RunSql { sql, execution: SqlExecutionMode::InTransaction }) => {
            Ok(Some(MigrationEffect::RunSql { sql }))
        }
        Some(MigrationAction::RunSql { execution: SqlExecutionMode::NotInTransaction, .. }) => {
            Err(MigrationRunError::Together.into())
        }
        Some(MigrationAction::InstallPackage(package)) => Ok(Some(installation(service, write, &package).await?)),
        Some(MigrationAction::UninstallPackage(package)) => Ok(Some(MigrationEffect::Uninstall(package))),
    }
}

/// Returns the effect that installs a package. Nothing is fetched for a migration that is there and done: a start with
/// a bundle that ran before needs no registry.
async fn installation(
    service: &FhirService,
    write: &ResourceWrite,
    package: &PackageId,
) -> Result<MigrationEffect, ServiceError> {
    if is_done(service, write).await? {
        return Ok(MigrationEffect::Unprepared);
    }
    let prepared = service.packages.prepare_install(slice::from_ref(package)).await.map_err(MigrationRunError::from)?;
    Ok(MigrationEffect::Install(prepared))
}

/// Returns whether a migration that a create would make is there and done. The store decides again, inside the
/// transaction.
async fn is_done(service: &FhirService, write: &ResourceWrite) -> Result<bool, ServiceError> {
    let WriteOperation::Create(body) = &write.operation else { return Ok(false) };
    let conditions = write.precondition.if_none_exist.iter().flat_map(|criteria| &criteria.filters);
    let asked = conditions.into_iter().find_map(ElementEqualityFilter::required_id);
    let named = || body.get("id").and_then(Value::as_str);
    let own = write.id.as_ref().map(ResourceId::as_str);
    let Some(id) = own.or(asked).or_else(named).and_then(|id| id.parse().ok()) else { return Ok(false) };
    let found = service.resources.read(&ResourceKey { resource_type: write.resource_type.clone(), id }).await?;
    Ok(
        matches!(found, ResourceLookup::Found(stored) if MigrationStatus::from_document(&stored.resource) == Some(MigrationStatus::Done)),
    )
}

/// Does all the writes with their effects, in their order, or none: again when a migration that seemed to
/// be done is not there any more.
pub(crate) async fn transact(
    service: &FhirService,
    prepared: Vec<PlannedWrite>,
) -> Result<Vec<WriteOutcome>, ServiceError> {
    for _ in 1..ATTEMPTS {
        match attempt(service, &prepared).await {
            Err(ServiceError::Migration { cause, .. }) if cause.is_unprepared() => {}
            done => return done,
        }
    }
    attempt(service, &prepared).await
}

async fn attempt(service: &FhirService, prepared: &[PlannedWrite]) -> Result<Vec<WriteOutcome>, ServiceError> {
    let mut steps = Vec::with_capacity(prepared.len());
    for PlannedWrite { write, entry } in prepared {
        let effect = effect(service, write).await.map_err(|fault| fault.at_bundle_entry(*entry))?;
        steps.push(MigrationStep { write: write.clone(), effect });
    }
    let entry_at = |index: usize| prepared.get(index).and_then(|planned| planned.entry);
    let done = service.migrations.transact_migration_steps(steps, &service.progress, service.now_us()).await?;
    done.map_err(|refusal| match refusal {
        MigrationStepError::Write(refusal) => {
            ServiceError::Refused { cause: refusal.cause, entry: entry_at(refusal.index) }
        }
        MigrationStepError::Effect { index, key, refused } => {
            ServiceError::from(MigrationRunError::Effect { key, refused }).at_bundle_entry(entry_at(index))
        }
    })
}

/// Does one write whose SQL no transaction can hold.
pub(crate) async fn run_standalone(
    service: &FhirService,
    write: ResourceWrite,
    sql: &str,
) -> Result<WriteOutcome, ServiceError> {
    let done = service.migrations.run_outside_transaction(write, sql, &service.progress, service.now_us()).await?;
    done.map_err(|refusal| match refusal {
        OutsideTransactionMigrationError::Running => MigrationRunError::Running.into(),
        OutsideTransactionMigrationError::Step(MigrationStepError::Write(refusal)) => {
            ServiceError::Refused { cause: refusal.cause, entry: None }
        }
        OutsideTransactionMigrationError::Step(MigrationStepError::Effect { key, refused: cause, .. }) => {
            MigrationRunError::Effect { key, refused: cause }.into()
        }
    })
}

/// A script of a request, with the outcome of applying it.
#[derive(Debug, Clone)]
pub struct AppliedScriptOutcome {
    /// The script as it was applied, with the time.
    pub record: SqlScriptRecord,
    /// Whether this request applied it.
    pub outcome: ScriptOutcome,
}

/// Applies SQL scripts in order, each in a separate transaction, and stops at the first failure. None is applied when
/// any differs from the script that was applied earlier under its id.
///
/// # Errors
/// [`ScriptRunError`], and when the store fails.
pub async fn apply_scripts(
    service: &FhirService,
    scripts: Vec<SqlScript>,
) -> Result<Vec<AppliedScriptOutcome>, ServiceError> {
    let before = service.migrations.applied_scripts().await?;
    on_demand_scripts::check_scripts_unchanged(&scripts, &before).map_err(ScriptRunError::from)?;
    let mut done: Vec<AppliedScriptOutcome> = Vec::with_capacity(scripts.len());
    let mut known: HashMap<String, SqlScriptRecord> =
        before.into_iter().map(|record| (record.script.id.clone(), record)).collect();
    for script in scripts {
        if let Some(record) = known.get(&script.id) {
            done.push(AppliedScriptOutcome { record: record.clone(), outcome: ScriptOutcome::Before(record.clone()) });
            continue;
        }
        let now_us = service.now_us();
        let outcome = service.migrations.apply_script(&script, now_us).await?.map_err(|refused| {
            let fresh = done.iter().filter(|applied| applied.outcome == ScriptOutcome::Now);
            let applied = fresh.map(|applied| applied.record.script.id.clone()).collect();
            ScriptRunError::Sql { id: script.id.clone(), refused, applied }
        })?;
        let record = match &outcome {
            ScriptOutcome::Now => SqlScriptRecord { script, applied_us: now_us },
            // Another request was faster.
            ScriptOutcome::Before(record) => {
                script.check_same_as(&record.script).map_err(ScriptRunError::from)?;
                record.clone()
            }
        };
        known.insert(record.script.id.clone(), record.clone());
        done.push(AppliedScriptOutcome { record, outcome });
    }
    Ok(done)
}

/// Returns the scripts that were applied, in the order of application.
///
/// # Errors
/// When the store fails.
pub async fn applied_scripts(service: &FhirService) -> Result<Vec<SqlScriptRecord>, ServiceError> {
    Ok(service.migrations.applied_scripts().await?)
}
