//! Taking a file in: as it comes it goes to the disk, and nothing of it is kept before all of it is known.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use axum::body::{Body, HttpBody as _};
use axum::response::Response;
use bytes::Bytes;
use chat_core::files::{
    self, Attachment, ImageMetadata, MediaType, NewAttachment, PathId, SNIFFED_BYTES, UploadThumbnail,
};
use http::HeaderMap;
use http_body_util::{BodyDataStream, LengthLimitError, Limited};
use multer::{Field, Multipart};
use percent_encoding::percent_decode_str;
use serde_json::json;
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _};

use super::thumbnails;
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::body::announced_bytes;
use crate::error::{ApiError, InternalError, OrganizationItemError};
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::limits::REQUEST_PARAMETERS_MAX;
use crate::params::{BodyEncoding, RawRequestParamsError};
use crate::raw_endpoint::RawCall;
use crate::state::{App, AppState};

/// Bytes of a form around its file: heads of parts, and what else a client sends along.
const FORM_BYTES: usize = 64 * 1024;

/// Takes a file in. Any field of the form may have it.
///
/// # Source
/// Not specified; `uri` beside `url` is what older clients read, `filename` what newer ones do.
pub(super) async fn post(call: RawCall<AuthenticatedCaller>, body: Body) -> Result<Response, ApiError> {
    let app = &call.app;
    room_for_announced(app, &call.headers).await?;
    let (gathered, ignored) = gather(app, &call.headers, body).await?;
    let caller = call.caller.reload_from_realm(app.realm())?;
    let upload = keep(app, caller.user_id(), gathered).await?;
    let url = format!("/user_uploads/{}", upload.path_id);
    Ok(ApiResponsePayload::from_payload(&json!({"uri": url, "url": url, "filename": upload.name}))?
        .into_response(&ignored))
}

/// Returns the members of the response.
pub(super) fn response_schema() -> Vec<SchemaMember> {
    vec![
        required_schema_member("uri", JsonSchema::string().with_keyword("deprecated", true)),
        required_schema_member("url", JsonSchema::string()),
        required_schema_member("filename", JsonSchema::string()),
    ]
}

/// Refuses what says itself that it is too large, before any of it is read.
async fn room_for_announced(app: &AppState, headers: &HeaderMap) -> Result<(), ApiError> {
    let Some(announced) = announced_bytes(headers) else { return Ok(()) };
    let least = announced.saturating_sub(FORM_BYTES);
    if least > app.settings.uploads.max_bytes {
        return Err(too_large(app));
    }
    Ok(app.upload_storage().check_upload_quota(least).await?)
}

fn too_large(app: &AppState) -> ApiError {
    OrganizationItemError::FileTooLarge { mib: app.settings.uploads.max_mib() }.into()
}

/// An uploaded file, in a temporary file without a name.
pub(super) struct ReceivedFile {
    pub(super) name: String,
    /// The first [`SNIFFED_BYTES`], or all.
    pub(super) start: Vec<u8>,
    pub(super) size_bytes: usize,
    pub(super) file: File,
}

/// Returns the one file of a form, and the names of what was sent beside it.
async fn gather(app: &AppState, headers: &HeaderMap, body: Body) -> Result<(ReceivedFile, Vec<String>), ApiError> {
    let BodyEncoding::Multipart(boundary) = BodyEncoding::from_headers(headers)? else {
        return Err(OrganizationItemError::NoUpload.into());
    };
    if body.is_end_stream() {
        return Err(OrganizationItemError::NoUpload.into());
    }
    let most = app.settings.uploads.max_bytes.saturating_add(FORM_BYTES);
    let mut parts = Multipart::new(BodyDataStream::new(Limited::new(body, most)), boundary);
    let (mut found, mut ignored) = (None, Vec::new());
    while let Some(part) = parts.next_field().await.map_err(|error| broken(app, &error))? {
        if part.file_name().is_none() {
            ignored.extend(part.name().filter(|name| *name != "client").map(str::to_owned));
            if ignored.len() > REQUEST_PARAMETERS_MAX {
                return Err(RawRequestParamsError::TooMany.into());
            }
        } else if found.is_some() {
            return Err(OrganizationItemError::SecondUpload.into());
        } else {
            found = Some(spool(app, part).await?);
        }
    }
    ignored.sort_unstable();
    ignored.dedup();
    Ok((found.ok_or(OrganizationItemError::NoUpload)?, ignored))
}

/// Writes a file down as it comes.
async fn spool(app: &AppState, mut part: Field<'_>) -> Result<ReceivedFile, ApiError> {
    let given = part.file_name().unwrap_or_default();
    let name = files::display_file_name(&percent_decode_str(given).decode_utf8_lossy());
    let mut file = nameless(&app.settings.uploads.spool_dir)?;
    let (mut start, mut size_bytes) = (Vec::new(), 0_usize);
    while let Some(piece) = part.chunk().await.map_err(|error| broken(app, &error))? {
        let piece: Bytes = piece;
        size_bytes = size_bytes.saturating_add(piece.len());
        if size_bytes > app.settings.uploads.max_bytes {
            return Err(too_large(app));
        }
        let wanted = SNIFFED_BYTES.saturating_sub(start.len()).min(piece.len());
        start.extend_from_slice(piece.get(..wanted).unwrap_or_default());
        file.write_all(&piece).await.map_err(not_written)?;
    }
    file.flush().await.map_err(not_written)?;
    file.rewind().await.map_err(not_written)?;
    Ok(ReceivedFile { name, start, size_bytes, file: file.into_std().await })
}

/// A file without a name: it goes when it is closed, however this process ends.
pub(super) fn nameless(folder: &Path) -> Result<tokio::fs::File, ApiError> {
    Ok(tokio::fs::File::from_std(tempfile::tempfile_in(folder).map_err(not_written)?))
}

pub(super) fn not_written(error: std::io::Error) -> ApiError {
    InternalError::new("a file that came was not written down", error).into()
}

/// The reason why a form ends: it is longer than a file may be, it broke off, or it is none.
fn broken(app: &AppState, error: &multer::Error) -> ApiError {
    match error {
        multer::Error::StreamReadFailed(cause) if cause.is::<LengthLimitError>() => too_large(app),
        multer::Error::StreamReadFailed(_) => ApiError::BodyBroken,
        _ => RawRequestParamsError::Malformed.into(),
    }
}

/// Keeps a file that has come, and says whose it is.
pub(super) async fn keep(
    app: &App,
    owner_id: chat_core::id::UserId,
    gathered: ReceivedFile,
) -> Result<Attachment, ApiError> {
    let ReceivedFile { name, start, size_bytes, file } = gathered;
    let media_type = MediaType::detect(&start, &name).media_type;
    let (file, picture, small) = looked_at(app, (&start, media_type), file).await?;
    let path_id =
        PathId::new(&app.fresh_name(), &name).ok_or_else(|| InternalError::without_cause("an upload got no path"))?;
    let upload = NewAttachment {
        path_id,
        owner_id,
        media_type,
        name,
        size_bytes: i64::try_from(size_bytes).unwrap_or(i64::MAX),
        created_s: app.now_s(),
        picture,
    };
    Ok(app.upload_storage().store_upload(upload, file, small).await?)
}

/// Returns what is known of a file as a picture, and the smaller one that messages show. One that cannot be decoded is
/// a file like any other.
async fn looked_at(
    app: &AppState,
    (start, media_type): (&[u8], &str),
    file: File,
) -> Result<(File, Option<ImageMetadata>, Option<UploadThumbnail>), ApiError> {
    if chat_pictures::PictureFormat::detect(start).is_none() {
        return Ok((file, None, None));
    }
    // One that is too large to be decoded is a file like any other, too.
    let Ok(bytes) = thumbnails::decoding_bytes(&file) else { return Ok((file, None, None)) };
    let kind = thumbnails::named(files::thumbnail_name_for_media_type(media_type));
    let look = move || {
        let Ok(chat_pictures::PictureMetadata { width, height, is_animated, .. }) =
            chat_pictures::read_picture_metadata(BufReader::new(&file))
        else {
            return (file, None, None);
        };
        let made =
            |(name, kind)| Some(UploadThumbnail { name, bytes: thumbnails::make(&file, kind).ok()?.bytes.into() });
        let small = kind.and_then(made);
        // What has a size and no pixels is no picture.
        let picture = small.is_some().then_some(ImageMetadata { width, height, is_animated });
        (file, picture, small)
    };
    Ok(app.image_jobs.run(bytes, look).await?)
}
