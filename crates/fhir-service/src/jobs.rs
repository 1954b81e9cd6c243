//! Jobs as their owners see them. A job of another client is answered as one that does not exist.
//!
//! # Source
//! HL7 Bulk Data Access, asynchronous request pattern; `docs/decisions.md`, "Member match".

use std::sync::Arc;

use fhir_resource::ResourceId;
use payer_exchange::jobs::{Job, JobEndpoint, JobFile, JobStore};
use payer_exchange::{ExportManifest, manifest};
use serde_json::Value;

use crate::error::{PayerError, ServiceError};
use crate::request_context::RequestContext;
use crate::service::FhirService;
use crate::{payer, representation};

/// Where files are, below `/fhir`.
pub const OUTPUT: &str = "/$export-output";
/// What ends the name of a file.
const ENDING: &str = ".ndjson";

/// Returns the caller's job of this id, at the endpoint that it was begun at.
///
/// # Errors
/// [`PayerError::NoJob`], and why the caller has none.
pub async fn job(
    service: &FhirService,
    context: &RequestContext,
    id: &str,
    endpoint: JobEndpoint,
) -> Result<Job, ServiceError> {
    let job = owned(service, context, id).await?;
    if job.endpoint == endpoint { Ok(job) } else { Err(PayerError::NoJob.into()) }
}

/// Cancels a job, or deletes what it made.
///
/// # Errors
/// As for [`job`].
pub async fn end(
    service: &FhirService,
    context: &RequestContext,
    id: &str,
    endpoint: JobEndpoint,
) -> Result<(), ServiceError> {
    let job = job(service, context, id, endpoint).await?;
    let owner = payer::owner(service, context)?;
    match service.jobs.end(&job.id, &owner, service.now_us()).await? {
        Some(_) => Ok(()),
        None => Err(PayerError::NoJob.into()),
    }
}

/// Returns the manifest of a job that is complete.
#[must_use]
pub fn manifest_of(service: &FhirService, job: &Job) -> Value {
    let transaction_time = &representation::instant(job.created_us);
    let base = service.settings.fhir_base();
    let url = |file: &JobFile| format!("{base}{OUTPUT}/{}/{}{ENDING}", job.id, file.name);
    manifest(ExportManifest { job, transaction_time }, url)
}

/// A file that a job made.
pub struct JobOutput {
    store: Arc<dyn JobStore>,
    job: ResourceId,
    file: JobFile,
}

impl JobOutput {
    /// Returns a file of the caller's job by its name.
    ///
    /// # Errors
    /// As for [`job`].
    pub async fn find(
        service: &FhirService,
        context: &RequestContext,
        id: &str,
        name: &str,
    ) -> Result<Self, ServiceError> {
        let job = owned(service, context, id).await?;
        let name = name.strip_suffix(ENDING).ok_or(PayerError::NoJob)?;
        let file = job.files.into_iter().find(|file| file.name == name).ok_or(PayerError::NoJob)?;
        Ok(Self { store: Arc::clone(&service.jobs), job: job.id, file })
    }

    /// Returns the size of the file.
    #[must_use]
    pub const fn size_bytes(&self) -> u64 {
        self.file.size_bytes
    }

    /// Returns a part of the file, counted from 0; `None` behind the last one.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn part(&self, number: u32) -> Result<Option<Vec<u8>>, fhir_store::StoreError> {
        self.store.part(&self.job, &self.file.name, number).await
    }
}

/// Returns the caller's job of this id.
async fn owned(service: &FhirService, context: &RequestContext, id: &str) -> Result<Job, ServiceError> {
    let owner = payer::owner(service, context)?;
    let id: ResourceId = id.parse().map_err(|_| PayerError::NoJob)?;
    let job = service.jobs.job(&id, &owner).await?;
    Ok(job.ok_or(PayerError::NoJob)?)
}
