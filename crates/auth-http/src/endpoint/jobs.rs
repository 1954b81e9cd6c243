//! Jobs as their owners see them: where they stand, what they made, and their end.
//!
//! # Source
//! HL7 Bulk Data Access, asynchronous request pattern; `docs/decisions.md`, "Member match".
//! A job of another client is answered as one that does not exist.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use fhir_resource::ResourceId;
use fhir_service::error::{PayerOperationError, ServiceError};
use fhir_service::jobs::{self, JobOutputFile};
use fhir_service::resource_format::ResourceFormat;
use futures_util::stream;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_LOCATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, StatusCode};
use payer_exchange::MatchRequesterKind;
use payer_exchange::bulk_export::NDJSON_MEDIA_TYPE;
use payer_exchange::jobs::{Job, JobEndpoint, JobState};

use crate::error::ApiError;
use crate::media;
use crate::resource_request::ResourceRequest;
use crate::response::{self, empty};
use crate::state::App;

/// The address of the states of exports, below `/fhir`.
pub(crate) const EXPORT_STATUS: &str = "/$export-status";
/// When it is worth asking again, in seconds.
const ASK_AGAIN_S: u64 = 5;
const PROGRESS: HeaderName = HeaderName::from_static("x-progress");

/// Returns the address of the states of matches, below `/fhir`.
pub(crate) const fn match_status(kind: MatchRequesterKind) -> &'static str {
    match kind {
        MatchRequesterKind::Payer => "/Group/$bulk-member-match-status",
        MatchRequesterKind::Provider => "/Group/$provider-member-match-status",
    }
}

/// Answers that a job was put into the queue, and where to ask for it.
pub(crate) fn accepted(app: &App, status: &str, job: &ResourceId) -> Response {
    let mut response = empty(StatusCode::ACCEPTED);
    let location = format!("{}{status}/{job}", app.fhir.settings().fhir_base_url());
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
    status(state, path, call, JobEndpoint::Match(MatchRequesterKind::Payer)).await
}

/// Returns where a match for a provider stands.
pub(crate) async fn provider(
    state: State<App>,
    path: Path<String>,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    status(state, path, call, JobEndpoint::Match(MatchRequesterKind::Provider)).await
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
    end(state, path, call, JobEndpoint::Match(MatchRequesterKind::Payer)).await
}

/// Cancels a match for a provider, or deletes what it made.
pub(crate) async fn end_provider(
    state: State<App>,
    path: Path<String>,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    end(state, path, call, JobEndpoint::Match(MatchRequesterKind::Provider)).await
}

/// A file of a job, part by part.
pub(crate) async fn output(
    State(app): State<App>,
    Path((id, name)): Path<(String, String)>,
    call: ResourceRequest,
) -> Result<Response, ApiError> {
    let file = JobOutputFile::find(&app.fhir, &call.context, &id, &name).await?;
    let length = file.size_bytes();
    let mut response = Response::new(Body::from_stream(parts(file)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(NDJSON_MEDIA_TYPE));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Returns the parts of a file, each read when the one before was taken.
fn parts(file: JobOutputFile) -> impl stream::Stream<Item = Result<Vec<u8>, fhir_store::StoreError>> {
    stream::try_unfold((file, 0_u32), move |(file, number)| async move {
        let part = file.read_part(number).await?;
        Ok(part.map(|part| (part, (file, number.saturating_add(1)))))
    })
}

async fn status(
    State(app): State<App>,
    Path(id): Path<String>,
    call: ResourceRequest,
    endpoint: JobEndpoint,
) -> Result<Response, ApiError> {
    let job = jobs::find_job(&app.fhir, &call.context, &id, endpoint).await?;
    app.polls.check(&id)?;
    match job.state {
        JobState::Failed => Err(ServiceError::from(PayerOperationError::JobFailed).into()),
        JobState::Completed => Ok(complete(&app, &job)),
        JobState::Requested => Ok(pending(None)),
        JobState::Running => Ok(pending(Some(match endpoint {
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
    let manifest = jobs::job_manifest(&app.fhir, job);
    let mut response = response::json(StatusCode::OK, ResourceFormat::Fhir, &manifest);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media::JSON));
    response
}

async fn end(
    State(app): State<App>,
    Path(id): Path<String>,
    call: ResourceRequest,
    endpoint: JobEndpoint,
) -> Result<Response, ApiError> {
    jobs::cancel_or_delete_job(&app.fhir, &call.context, &id, endpoint).await?;
    Ok(empty(StatusCode::ACCEPTED))
}
