//! `/tus`: files that come in several requests, so that a broken connection costs only what was under way.
//!
//! # Source
//! tus 1.0.0 (tus.io): the core protocol, creation, expiration and termination. The last request is answered with the
//! address of the file, as existing clients expect; nothing is downloaded here.

mod headers;
mod refusal;

use std::fs::File;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{self, MethodRouter};
use bytes::Bytes;
use chat_core::files::{
    Attachment, MAX_RESUMABLE_UPLOADS_PER_USER, RESUMABLE_UPLOAD_LIFETIME_S, ResumableUpload, ResumableUploadCreation,
    ResumableUploadError, ResumableUploadId, ResumableUploadLimits, SNIFFED_BYTES, UPLOAD_PART_BYTES, UploadPart,
};
use http::{HeaderValue, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _};

use super::receive::{self, ReceivedFile};
use crate::api_call::CallerKind;
use crate::authentication::AuthenticatedCaller;
use crate::body::announced_bytes;
use crate::error::{ApiError, InternalError};
use crate::rate::RemainingRateLimit;
use crate::raw_endpoint::{RawCall, raw_endpoint};
use crate::routes::{API, JSON_API, Routes};
use crate::state::{App, AppState};
use refusal::TusError;

/// Below the API and not in its description: methods, headers and answers are those of tus.
pub(super) fn add_routes(routes: Routes) -> Routes {
    [API, JSON_API].into_iter().fold(routes, |routes, root| {
        let all = || collection().options(headers::options);
        routes
            .route(&format!("{root}/tus"), all())
            .route(&format!("{root}/tus/"), all())
            .route(&format!("{root}/tus/{{id}}"), one().options(headers::options))
    })
}

fn collection() -> MethodRouter<App> {
    routing::post(raw_endpoint(|call: RawCall<TusCaller>, _: Body| async move { answered(create(&call).await) }))
}

fn one() -> MethodRouter<App> {
    routing::head(raw_endpoint(|call: RawCall<TusCaller>, _: Body| async move { answered(head(&call).await) }))
        .patch(raw_endpoint(|call: RawCall<TusCaller>, body: Body| async move { answered(patch(&call, body).await) }))
        .delete(raw_endpoint(|call: RawCall<TusCaller>, _: Body| async move { answered(delete(&call).await) }))
        .post(raw_endpoint(
            |call: RawCall<TusCaller>, body: Body| async move { answered(overridden(&call, body).await) },
        ))
}

/// A caller whose refusal is written as clients of tus read it.
#[derive(Clone)]
enum TusCaller {
    Known(AuthenticatedCaller),
    Unauthenticated,
}

impl CallerKind for TusCaller {
    const NEEDS_ACCOUNT: bool = true;

    async fn identify(app: &App, head: &http::request::Parts) -> Result<(Self, Option<RemainingRateLimit>), ApiError> {
        match AuthenticatedCaller::identify(app, head).await {
            Ok((caller, rate_limit)) => Ok((Self::Known(caller), rate_limit)),
            Err(error) if error.is_unauthorized() => Ok((Self::Unauthenticated, None)),
            Err(error) => Err(error),
        }
    }

    fn renewed(self, _: &App) -> Result<Self, ApiError> {
        Ok(self)
    }
}

impl TusCaller {
    fn known(&self) -> Result<&AuthenticatedCaller, TusError> {
        match self {
            Self::Known(caller) => Ok(caller),
            Self::Unauthenticated => Err(TusError::Unauthenticated),
        }
    }
}

fn answered(outcome: Result<Response, TusError>) -> Result<Response, ApiError> {
    let mut response = match outcome {
        Ok(response) => response,
        Err(refusal) => refusal.into_response()?,
    };
    response.headers_mut().insert(headers::TUS_RESUMABLE, headers::VERSION);
    Ok(response)
}

/// Begins an upload. An empty one is whole at once.
async fn create(call: &RawCall<TusCaller>) -> Result<Response, TusError> {
    headers::check_version(&call.headers)?;
    let caller = call.caller.known()?;
    let length_bytes = headers::length_bytes(&call.headers)?;
    let settings = &call.app.settings.uploads;
    if usize::try_from(length_bytes).map_or(true, |length| length > settings.max_bytes) {
        return Err(TusError::TooLarge { mib: settings.max_mib() });
    }
    let metadata = headers::metadata(&call.headers)?;
    let now_s = call.app.now_s();
    let id = ResumableUploadId::parse(&call.app.fresh_name());
    let upload = ResumableUpload {
        id: id.ok_or_else(|| InternalError::without_cause("an upload got no id")).map_err(ApiError::from)?,
        owner_id: caller.user_id(),
        name: headers::file_name(&metadata),
        metadata,
        length_bytes,
        received_bytes: 0,
        expires_s: now_s.saturating_add(RESUMABLE_UPLOAD_LIFETIME_S),
    };
    let limits = ResumableUploadLimits { per_user: MAX_RESUMABLE_UPLOADS_PER_USER, quota_bytes: settings.quota_bytes };
    match call.app.resumable.create_resumable_upload(&upload, limits, now_s).await? {
        ResumableUploadCreation::Created => {}
        ResumableUploadCreation::TooMany => return Err(TusError::TooMany),
        ResumableUploadCreation::OverQuota => return Err(TusError::OverQuota),
    }
    let mut response = match length_bytes {
        0 => whole(&finish(call, caller, &upload, Segment::empty(&call.app)?).await?, 0),
        _ => StatusCode::CREATED.into_response(),
    };
    *response.status_mut() = StatusCode::CREATED;
    headers::add_place(response.headers_mut(), (&call.uri_path, &upload));
    Ok(response)
}

/// Reports how much of an upload has come.
async fn head(call: &RawCall<TusCaller>) -> Result<Response, TusError> {
    headers::check_version(&call.headers)?;
    let upload = found(call).await?;
    let mut response = StatusCode::OK.into_response();
    headers::add_state(response.headers_mut(), &upload);
    Ok(response)
}

/// Ends an upload that is not whole.
async fn delete(call: &RawCall<TusCaller>) -> Result<Response, TusError> {
    headers::check_version(&call.headers)?;
    let upload = found(call).await?;
    call.app.resumable_uploads().end(&upload.id, None).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// A `POST` of a client that has no other method.
async fn overridden(call: &RawCall<TusCaller>, body: Body) -> Result<Response, TusError> {
    match call.headers.get("x-http-method-override").map(HeaderValue::as_bytes) {
        Some(b"PATCH") => patch(call, body).await,
        Some(b"DELETE") => delete(call).await,
        Some(b"HEAD") => head(call).await,
        _ => Err(TusError::BadHeader("X-HTTP-Method-Override")),
    }
}

async fn found(call: &RawCall<TusCaller>) -> Result<ResumableUpload, TusError> {
    let caller = call.caller.known()?;
    let id = call.path_text("id").ok().and_then(ResumableUploadId::parse).ok_or(TusError::NotFound)?;
    let found = call.app.resumable.find_resumable_upload(caller.user_id(), &id, call.app.now_s()).await?;
    found.ok_or(TusError::NotFound)
}

/// Continues an upload. What came before the body broke off stays.
async fn patch(call: &RawCall<TusCaller>, body: Body) -> Result<Response, TusError> {
    headers::check_version(&call.headers)?;
    let mut upload = found(call).await?;
    headers::check_content_type(&call.headers)?;
    if headers::offset_bytes(&call.headers)? != upload.received_bytes {
        return Err(TusError::WrongOffset);
    }
    let missing = usize::try_from(upload.length_bytes - upload.received_bytes).unwrap_or_default();
    if announced_bytes(&call.headers).is_some_and(|announced| announced > missing) {
        return Err(TusError::TooMuch);
    }
    let mut body = BodyPieces { body: Limited::new(body, missing), rest: Bytes::new() };
    loop {
        let segment = Segment::receive(&call.app, &mut body).await?;
        if upload.received_bytes + segment.size_bytes == upload.length_bytes {
            let caller = call.caller.known()?;
            return Ok(whole(&finish(call, caller, &upload, segment).await?, upload.length_bytes));
        }
        let Segment { file, size_bytes, end, .. } = segment;
        if size_bytes > 0 {
            append(&call.app, &mut upload, (file, size_bytes)).await?;
        }
        match end {
            None => {}
            Some(Ok(())) => break,
            Some(Err(error)) => return Err(error),
        }
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    headers::add_offset(response.headers_mut(), &upload);
    Ok(response)
}

/// Stores a part of an upload, and adds it to what has come.
async fn append(app: &AppState, upload: &mut ResumableUpload, (file, size_bytes): (File, i64)) -> Result<(), TusError> {
    let (upload_id, at_bytes) = (upload.id.clone(), upload.received_bytes);
    let part = UploadPart { upload_id, name: app.fresh_name(), at_bytes, size_bytes };
    let now_s = app.now_s();
    app.resumable_uploads().append(&part, file, now_s).await?;
    upload.received_bytes += size_bytes;
    upload.expires_s = now_s.saturating_add(RESUMABLE_UPLOAD_LIFETIME_S);
    Ok(())
}

/// Makes a file of an upload whose last part has come. Of two requests that do so at once one is too late.
async fn finish(
    call: &RawCall<TusCaller>,
    caller: &AuthenticatedCaller,
    upload: &ResumableUpload,
    last: Segment,
) -> Result<Attachment, TusError> {
    let app = &call.app;
    let length_bytes = usize::try_from(upload.length_bytes).unwrap_or(usize::MAX);
    app.upload_storage().check_upload_quota(length_bytes).await?;
    let received = assemble(app, upload, last).await?;
    let caller = caller.clone().reload_from_realm(app.realm()).map_err(ApiError::from)?;
    match app.resumable_uploads().end(&upload.id, Some(upload.received_bytes)).await {
        Err(ResumableUploadError::NotFound) => return Err(TusError::WrongOffset),
        ended => ended?,
    }
    Ok(receive::keep(app, caller.user_id(), received).await?)
}

/// Puts the parts of an upload together.
async fn assemble(app: &AppState, upload: &ResumableUpload, last: Segment) -> Result<ReceivedFile, TusError> {
    let mut file = receive::nameless(&app.settings.uploads.spool_dir)?;
    let mut size_bytes = 0_i64;
    for part in app.resumable.upload_parts(&upload.id).await? {
        let found = app.files.open(&part.key(), None).await.map_err(ApiError::from)?;
        // Another request has finished or ended it.
        let mut bytes = found.filter(|_| part.at_bytes == size_bytes).ok_or(TusError::WrongOffset)?;
        while let Some(piece) = bytes.next_chunk().await.map_err(ApiError::from)? {
            size_bytes += i64::try_from(piece.len()).unwrap_or(i64::MAX);
            file.write_all(&piece).await.map_err(receive::not_written)?;
        }
    }
    if size_bytes != upload.received_bytes {
        return Err(TusError::WrongOffset);
    }
    let mut rest = tokio::fs::File::from_std(last.file);
    rest.rewind().await.map_err(receive::not_written)?;
    tokio::io::copy(&mut rest, &mut file).await.map_err(receive::not_written)?;
    file.flush().await.map_err(receive::not_written)?;
    file.rewind().await.map_err(receive::not_written)?;
    let mut start = Vec::with_capacity(SNIFFED_BYTES);
    let mut sniffed = (&mut file).take(SNIFFED_BYTES as u64);
    sniffed.read_to_end(&mut start).await.map_err(receive::not_written)?;
    file.rewind().await.map_err(receive::not_written)?;
    let (name, size_bytes) = (upload.name.clone(), usize::try_from(upload.length_bytes).unwrap_or(usize::MAX));
    Ok(ReceivedFile { name, start, size_bytes, file: file.into_std().await })
}

/// The answer to the request that made an upload whole.
fn whole(upload: &Attachment, length_bytes: i64) -> Response {
    let url = format!("/user_uploads/{}", upload.path_id);
    let body = json!({"url": url, "filename": upload.name}).to_string();
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(http::header::CONTENT_TYPE, crate::api_response::JSON);
    response.headers_mut().insert(headers::UPLOAD_OFFSET, HeaderValue::from(length_bytes));
    response
}

/// The body of a request, and what was read of it and not taken yet.
struct BodyPieces {
    body: Limited<Body>,
    rest: Bytes,
}

impl BodyPieces {
    /// Returns the next bytes of the body, at most so many; none at its end.
    async fn next(&mut self, most: usize) -> Result<Bytes, TusError> {
        while self.rest.is_empty() {
            match self.body.frame().await {
                None => return Ok(Bytes::new()),
                // Trailers say nothing here.
                Some(Ok(frame)) => self.rest = frame.into_data().unwrap_or_default(),
                Some(Err(cause)) if cause.is::<LengthLimitError>() => return Err(TusError::TooMuch),
                Some(Err(_)) => return Err(ApiError::BodyBroken.into()),
            }
        }
        Ok(self.rest.split_to(self.rest.len().min(most)))
    }
}

/// A stretch of a body, in a temporary file without a name.
struct Segment {
    file: File,
    size_bytes: i64,
    /// How the body ended behind it; `None` when it goes on.
    end: Option<Result<(), TusError>>,
}

impl Segment {
    fn empty(app: &AppState) -> Result<Self, TusError> {
        let file = tempfile::tempfile_in(&app.settings.uploads.spool_dir).map_err(receive::not_written)?;
        Ok(Self { file, size_bytes: 0, end: Some(Ok(())) })
    }

    /// Writes the next bytes of a body down as they come.
    async fn receive(app: &AppState, body: &mut BodyPieces) -> Result<Self, TusError> {
        let mut file = receive::nameless(&app.settings.uploads.spool_dir)?;
        let (mut room, mut end) = (usize::try_from(UPLOAD_PART_BYTES).unwrap_or(usize::MAX), None);
        let mut size_bytes = 0_i64;
        while room > 0 {
            match body.next(room).await {
                Ok(piece) if piece.is_empty() => {
                    end = Some(Ok(()));
                    break;
                }
                Ok(piece) => {
                    room -= piece.len();
                    size_bytes += i64::try_from(piece.len()).unwrap_or(i64::MAX);
                    file.write_all(&piece).await.map_err(receive::not_written)?;
                }
                Err(error) => {
                    end = Some(Err(error));
                    break;
                }
            }
        }
        file.flush().await.map_err(receive::not_written)?;
        Ok(Self { file: file.into_std().await, size_bytes, end })
    }
}
