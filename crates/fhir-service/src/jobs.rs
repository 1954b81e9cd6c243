//! Jobs as their owners see them. A job of another client is answered as one that does not exist.
//!
//! # Source
//! HL7 Bulk Data Access, asynchronous request pattern; `docs/decisions.md`, "Member match".

use std::sync::Arc;

use fhir_resource::ResourceId;
use payer_exchange::jobs::{Job, JobEndpoint, JobFile, JobStore};
use payer_exchange::{ExportManifestInput, build_manifest};
use serde_json::Value;

use crate::error::{PayerOperationError, ServiceError};
use crate::request_context::RequestContext;
use crate::service_state::FhirService;
use crate::{payer, representation};

/// The path of job output files below `/fhir`.
pub const OUTPUT_FILES_PATH: &str = "/$export-output";
/// What ends the name of a file.
const ENDING: &str = ".ndjson";

/// Returns the caller's job of this id, if it was started at the given endpoint.
///
/// # Errors
/// [`PayerOperationError::NoJob`]; [`ServiceError::Denied`] for a caller who cannot have jobs.
pub async fn find_job(
    service: &FhirService,
    context: &RequestContext,
    id: &str,
    endpoint: JobEndpoint,
) -> Result<Job, ServiceError> {
    let job = owned(service, context, id).await?;
    if job.endpoint == endpoint { Ok(job) } else { Err(PayerOperationError::NoJob.into()) }
}

/// Cancels the caller's running job, or deletes an ended one with its output, of a completed match also its Groups and
/// the Consents that it stored.
///
/// # Errors
/// As for [`find_job`].
pub async fn cancel_or_delete_job(
    service: &FhirService,
    context: &RequestContext,
    id: &str,
    endpoint: JobEndpoint,
) -> Result<(), ServiceError> {
    let job = find_job(service, context, id, endpoint).await?;
    let owner = payer::owner(service, context)?;
    match service.jobs.cancel_or_delete_job(&job.id, &owner, service.now_us()).await? {
        Some(_) => Ok(()),
        None => Err(PayerOperationError::NoJob.into()),
    }
}

/// Returns the manifest of a completed job.
#[must_use]
pub fn job_manifest(service: &FhirService, job: &Job) -> Value {
    let transaction_time = &representation::format_instant(job.created_us);
    let base = service.settings.fhir_base_url();
    let url = |file: &JobFile| format!("{base}{OUTPUT_FILES_PATH}/{}/{}{ENDING}", job.id, file.name);
    build_manifest(ExportManifestInput { job, transaction_time }, url)
}

/// An output file of a job.
pub struct JobOutputFile {
    store: Arc<dyn JobStore>,
    job: ResourceId,
    file: JobFile,
}

impl JobOutputFile {
    /// Returns an output file of the caller's job by its name.
    ///
    /// # Errors
    /// As for [`find_job`].
    pub async fn find(
        service: &FhirService,
        context: &RequestContext,
        id: &str,
        name: &str,
    ) -> Result<Self, ServiceError> {
        let job = owned(service, context, id).await?;
        let name = name.strip_suffix(ENDING).ok_or(PayerOperationError::NoJob)?;
        let file = job.files.into_iter().find(|file| file.name == name).ok_or(PayerOperationError::NoJob)?;
        Ok(Self { store: Arc::clone(&service.jobs), job: job.id, file })
    }

    /// Returns the size of the file in bytes, unpacked.
    #[must_use]
    pub const fn size_bytes(&self) -> u64 {
        self.file.size_bytes
    }

    /// Returns a part of the file, about a megabyte of whole lines, by its number from 0; `None` after the last one.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn read_part(&self, number: u32) -> Result<Option<Vec<u8>>, fhir_store::StoreError> {
        self.store.read_file_part(&self.job, &self.file.name, number).await
    }
}

/// Returns the caller's job of this id.
async fn owned(service: &FhirService, context: &RequestContext, id: &str) -> Result<Job, ServiceError> {
    let owner = payer::owner(service, context)?;
    let id: ResourceId = id.parse().map_err(|_| PayerOperationError::NoJob)?;
    let job = service.jobs.find_job(&id, &owner).await?;
    Ok(job.ok_or(PayerOperationError::NoJob)?)
}
