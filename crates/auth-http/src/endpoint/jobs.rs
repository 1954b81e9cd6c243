//! Jobs as their owners see them: where they stand, what they made, and their end.
//!
//! # Source
//! HL7 Bulk Data Access, asynchronous request pattern; `docs/decisions.md`, "Member match".
//! A job of another client is answered as one that does not exist.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use fhir_store::ResourceId;
use fhir_store::export::{ExportManifest, NDJSON, manifest};
use fhir_store::jobs::{Job, JobEndpoint, JobFile, JobState, JobStore};
use fhir_store::payer::MatchKind;
use futures_util::stream;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_LOCATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, StatusCode};

use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::payer::{self, PayerError};
use crate::state::App;
use crate::surface::ResourceFormat;
use crate::{answer, media};

/// Where exports tell where they stand, below `/fhir`.
pub(crate) const EXPORT_STATUS: &str = "/$export-status";
/// Where files are, below `/fhir`.
pub(crate) const OUTPUT: &str = "/$export-output";
/// When it is worth asking again, in seconds.
const ASK_AGAIN_S: u64 = 5;
const PROGRESS: HeaderName = HeaderName::from_static("x-progress");
/// What ends the name of a file.
const ENDING: &str = ".ndjson";

/// Returns where matches tell where they stand, below `/fhir`.
pub(crate) const fn match_status(kind: MatchKind) -> &'static str {
    match kind {
        MatchKind::Payer => "/Group/$bulk-member-match-status",
        MatchKind::Provider => "/Group/$provider-member-match-status",
    }
}

/// Answers that a job was put into the queue, and where to ask for it.
pub(crate) fn accepted(app: &App, status: &str, job: &ResourceId) -> Response {
    let mut response = empty(StatusCode::ACCEPTED);
    let location = format!("{}{status}/{job}", app.settings.fhir_base());
    if let Ok(location) = HeaderValue::try_from(location) {
        response.headers_mut().insert(CONTENT_LOCATION, location);
    }
    response
}

/// Where an export stands.
pub(crate) async fn export(state: State<App>, path: Path<String>, call: ResourceRequest) -> Result<Response, ApiError> {
    status(state, path, call, JobEndpoint::Export).await
}

/// Returns where a match for a payer stands.
pub(crate) async fn bulk(state: State<App>, path: Path<String>, call: ResourceRequest) -> Result<Response, ApiError> {
    status(state, path, call, JobEndpoint::Match(MatchKind::Payer)).await
}

/// Returns where a match for a provider stands.
pub(crate) async fn provider(
    state: State<App>,
    path: Path<String>,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    status(state, path, call, JobEndpoint::Match(MatchKind::Provider)).await
}

/// Cancels an export, or deletes its files.
pub(crate) async fn end_export(
    state: State<App>,
    path: Path<String>,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    end(state, path, call, JobEndpoint::Export).await
}

/// Cancels a match for a payer, or deletes what it made.
pub(crate) async fn end_bulk(
    state: State<App>,
    path: Path<String>,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    end(state, path, call, JobEndpoint::Match(MatchKind::Payer)).await
}

/// Cancels a match for a provider, or deletes what it made.
pub(crate) async fn end_provider(
    state: State<App>,
    path: Path<String>,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    end(state, path, call, JobEndpoint::Match(MatchKind::Provider)).await
}

/// A file of a job, part by part.
pub(crate) async fn output(
    State(app): State<App>,
    Path((id, name)): Path<(String, String)>,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    let job = owned(&app, &call, &id).await?;
    let name = name.strip_suffix(ENDING).ok_or(PayerError::NoJob)?;
    let file = job.files.into_iter().find(|file| file.name == name).ok_or(PayerError::NoJob)?;
    let length = file.size_bytes;
    let mut response = Response::new(Body::from_stream(parts(Arc::clone(&app.jobs), job.id, file)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(NDJSON));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Returns the parts of a file, each read when the one before was taken.
fn parts(
    jobs: Arc<dyn JobStore>,
    id: ResourceId,
    file: JobFile,
) -> impl stream::Stream<Item = Result<Vec<u8>, fhir_store::StoreError>> {
    stream::try_unfold((jobs, id, file, 0_u32), move |(jobs, id, file, number)| async move {
        let part = jobs.part(&id, &file.name, number).await?;
        Ok(part.map(|part| (part, (jobs, id, file, number.saturating_add(1)))))
    })
}

async fn status(
    State(app): State<App>,
    Path(id): Path<String>,
    call: ResourceRequest,
    face: JobEndpoint,
) -> Result<Response, ApiError> {
    let job = owned(&app, &call, &id).await?;
    if job.face != face {
        return Err(PayerError::NoJob.into());
    }
    app.polls.check(&id)?;
    match job.state {
        JobState::Failed => Err(PayerError::JobFailed.into()),
        JobState::Completed => Ok(complete(&app, &job)),
        JobState::Requested => Ok(pending(None)),
        JobState::Running => Ok(pending(Some(match face {
            JobEndpoint::Export => format!("{} resources written", job.done),
            JobEndpoint::Match(_) => "Processing members".to_owned(),
        }))),
    }
}

fn pending(progress: Option<String>) -> Response {
    let mut response = empty(StatusCode::ACCEPTED);
    let headers = response.headers_mut();
    headers.insert(RETRY_AFTER, HeaderValue::from(ASK_AGAIN_S));
    if let Some(Ok(progress)) = progress.map(HeaderValue::try_from) {
        headers.insert(PROGRESS, progress);
    }
    response
}

fn complete(app: &App, job: &Job) -> Response {
    let transaction_time = &answer::instant(job.created_us);
    let base = app.settings.fhir_base();
    let url = |file: &JobFile| format!("{base}{OUTPUT}/{}/{}{ENDING}", job.id, file.name);
    let manifest = manifest(ExportManifest { job, transaction_time }, url);
    let mut response = answer::json(StatusCode::OK, ResourceFormat::Fhir, &manifest);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media::JSON));
    response
}

async fn end(
    State(app): State<App>,
    Path(id): Path<String>,
    call: ResourceRequest,
    face: JobEndpoint,
) -> Result<Response, ApiError> {
    let job = owned(&app, &call, &id).await?;
    if job.face != face {
        return Err(PayerError::NoJob.into());
    }
    let owner = payer::owner(&app, &call)?;
    match app.jobs.end(&job.id, &owner, app.now_us()).await? {
        Some(_) => Ok(empty(StatusCode::ACCEPTED)),
        None => Err(PayerError::NoJob.into()),
    }
}

/// Returns the caller's job of this id.
async fn owned(app: &App, call: &ResourceRequest, id: &str) -> Result<Job, ApiError> {
    let owner = payer::owner(app, call)?;
    let id: ResourceId = id.parse().map_err(|_| PayerError::NoJob)?;
    let job = app.jobs.job(&id, &owner).await?;
    Ok(job.ok_or(PayerError::NoJob)?)
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
