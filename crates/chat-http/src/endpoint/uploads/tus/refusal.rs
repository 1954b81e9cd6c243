//! What clients of tus are told when a request is refused: a status that they act on, and a `message`.

use axum::body::Body;
use axum::response::Response;
use chat_core::StoreError;
use chat_core::files::{MAX_RESUMABLE_UPLOADS_PER_USER, ResumableUploadError, UploadError};
use http::{HeaderValue, StatusCode};
use serde_json::json;

use super::headers;
use crate::api_response;
use crate::error::ApiError;

/// The reason why a request of tus is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum TusError {
    /// The request shows no credentials that open an account.
    #[error("Unauthenticated upload")]
    Unauthenticated,
    /// The caller has no such upload, or not any more.
    #[error("Upload not found")]
    NotFound,
    /// The client speaks another version of tus.
    #[error("Unsupported version")]
    OtherVersion,
    /// The size is to be said later.
    #[error("SizeIsDeferred is not supported")]
    DeferredLength,
    /// A header is missing or cannot be read.
    #[error("Missing or invalid {0} header")]
    BadHeader(&'static str),
    /// The body is of another media type.
    #[error("Missing or invalid Content-Type header")]
    OtherMediaType,
    /// The file is larger than files may be.
    #[error("File is larger than this server's configured maximum upload size ({mib} MiB).")]
    TooLarge {
        /// What is allowed.
        mib: usize,
    },
    /// All uploads together would be more than there may be.
    #[error("Upload would exceed your organization's upload quota.")]
    OverQuota,
    /// The caller has too many uploads under way.
    #[error("Too many unfinished uploads (maximum {MAX_RESUMABLE_UPLOADS_PER_USER}).")]
    TooMany,
    /// The body goes beyond the size that was said.
    #[error("Upload is larger than its Upload-Length")]
    TooMuch,
    /// It goes on somewhere else, or another request was faster.
    #[error("Upload-Offset does not match the current offset")]
    WrongOffset,
    /// It came in too many parts.
    #[error("Upload has too many parts")]
    TooManyParts,
    /// Something that can happen to every request.
    #[error(transparent)]
    Other(#[from] ApiError),
}

impl TusError {
    fn status(&self) -> Option<StatusCode> {
        Some(match self {
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::OtherVersion => StatusCode::PRECONDITION_FAILED,
            Self::DeferredLength => StatusCode::LENGTH_REQUIRED,
            Self::BadHeader(_) => StatusCode::BAD_REQUEST,
            Self::OtherMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge { .. } | Self::OverQuota | Self::TooMuch | Self::TooManyParts => {
                StatusCode::PAYLOAD_TOO_LARGE
            }
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::WrongOffset => StatusCode::CONFLICT,
            Self::Other(_) => return None,
        })
    }

    /// Returns the answer; the error itself where it is one of every request.
    pub(super) fn into_response(self) -> Result<Response, ApiError> {
        let Some(status) = self.status() else {
            let Self::Other(error) = self else { return Err(ApiError::UnknownRoute) };
            return Err(error);
        };
        let mut response = Response::new(Body::from(json!({"message": self.to_string()}).to_string()));
        *response.status_mut() = status;
        response.headers_mut().insert(http::header::CONTENT_TYPE, api_response::JSON);
        if matches!(self, Self::OtherVersion) {
            response.headers_mut().insert("tus-version", headers::VERSION);
        }
        if status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Basic realm=\"chat\", charset=\"UTF-8\"");
            response.headers_mut().insert(http::header::WWW_AUTHENTICATE, challenge);
        }
        Ok(response)
    }
}

impl From<StoreError> for TusError {
    fn from(error: StoreError) -> Self {
        Self::Other(error.into())
    }
}

impl From<ResumableUploadError> for TusError {
    fn from(error: ResumableUploadError) -> Self {
        match error {
            ResumableUploadError::NotFound => Self::NotFound,
            ResumableUploadError::WrongOffset => Self::WrongOffset,
            ResumableUploadError::TooManyParts => Self::TooManyParts,
            ResumableUploadError::File(error) => Self::Other(error.into()),
            ResumableUploadError::Store(error) => Self::Other(error.into()),
        }
    }
}

impl From<UploadError> for TusError {
    fn from(error: UploadError) -> Self {
        match error {
            UploadError::OverQuota => Self::OverQuota,
            error => Self::Other(error.into()),
        }
    }
}
