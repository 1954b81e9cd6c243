//! The write pipeline: validate, convert to the native format, check the rules of security resources and hash secrets,
//! then store all writes or none.
//!
//! Whether the caller may do a write, and on what, was decided before ([`crate::access`]); the write carries it as its
//! reach into the transaction, which judges the version that it replaces.

use fhir_store::{ResourceWrite, WriteError, WriteOutcome, write_conversion};

use crate::error::ServiceError;
use crate::planned_write::PlannedWrite;
use crate::resource_format::ResourceFormat;
use crate::security_resources::{self, AUDIT_EVENT};
use crate::service_state::FhirService;
use crate::validation::base_definition;
use crate::{known_types, migration_run};

/// Does all the writes, in their order, or none.
///
/// # Errors
/// Why the first that is refused is.
pub(crate) async fn write_all(
    service: &FhirService,
    format: ResourceFormat,
    planned: Vec<PlannedWrite>,
) -> Result<Vec<WriteOutcome>, ServiceError> {
    let mut prepared = Vec::with_capacity(planned.len());
    for PlannedWrite { write, entry } in planned {
        let write = prepare(service, format, write).await.map_err(|fault| fault.at_bundle_entry(entry))?;
        prepared.push(PlannedWrite { write, entry });
    }
    store(service, prepared).await
}

/// Does one write of a separate request, or of an entry of a batch.
///
/// # Errors
/// Why it is refused.
pub(crate) async fn write_one(
    service: &FhirService,
    format: ResourceFormat,
    write: ResourceWrite,
) -> Result<WriteOutcome, ServiceError> {
    store_one(service, prepare(service, format, write).await?).await
}

/// Validates a write and returns it in the native format, with its secrets hashed. What only the server writes is
/// refused before its content is looked at.
async fn prepare(
    service: &FhirService,
    format: ResourceFormat,
    write: ResourceWrite,
) -> Result<ResourceWrite, ServiceError> {
    check_writable(&write)?;
    known_types::check(service, format, &write.resource_type).await?;
    let write = base_definition::check_write(format, write)?;
    let write =
        if service.settings.converts(format) { write_conversion::convert_write_to_native(write) } else { write };
    security_resources::prepare_write(service, write).await
}

/// Stores one write that was prepared or made of a patch.
///
/// # Errors
/// Why it is refused.
pub(crate) async fn store_one(service: &FhirService, write: ResourceWrite) -> Result<WriteOutcome, ServiceError> {
    match migration_run::standalone_sql(service, &write) {
        Some(sql) => migration_run::run_standalone(service, write, &sql).await,
        None => only(store(service, vec![PlannedWrite { write, entry: None }]).await?),
    }
}

/// Refuses a write of what the server alone writes.
///
/// # Errors
/// [`WriteError::ReadOnly`].
pub(crate) fn check_writable(write: &ResourceWrite) -> Result<(), ServiceError> {
    if write.resource_type.as_str() == AUDIT_EVENT {
        return Err(ServiceError::Refused { cause: WriteError::ReadOnly(write.resource_type.clone()), entry: None });
    }
    Ok(())
}

/// Stores writes that were prepared or made of a patch.
///
/// **Invariant**: every write from outside passes here.
async fn store(service: &FhirService, prepared: Vec<PlannedWrite>) -> Result<Vec<WriteOutcome>, ServiceError> {
    for PlannedWrite { write, entry } in &prepared {
        check_writable(write).map_err(|fault| fault.at_bundle_entry(*entry))?;
    }
    if prepared.iter().any(|planned| migration_run::runs(service, &planned.write)) {
        return migration_run::transact(service, prepared).await;
    }
    let entries: Vec<_> = prepared.iter().map(|planned| planned.entry).collect();
    let writes = prepared.into_iter().map(|planned| planned.write).collect();
    let done = service.resources.transact_writes(writes, service.now_us()).await?;
    done.map_err(|refusal| {
        let entry = entries.get(refusal.index).copied().flatten();
        ServiceError::Refused { cause: refusal.cause, entry }
    })
}

fn only(written: Vec<WriteOutcome>) -> Result<WriteOutcome, ServiceError> {
    written.into_iter().next().ok_or(ServiceError::Unanswered)
}
