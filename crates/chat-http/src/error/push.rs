//! The part of the table for devices that are notified.

use chat_core::push_notifications::PushError;
use http::StatusCode;

use super::{BAD_REQUEST, ErrorResponse, bad_request};

/// # Source
/// Specification, "Errors". Not specified: a bouncer that does not do its work is a failure behind us, 502.
pub(super) fn error_response(error: &PushError) -> ErrorResponse {
    match error {
        PushError::NotRecognized => bad_request("INVALID_PUSH_DEVICE_TOKEN", error),
        PushError::NotRecognizedThere => bad_request("INVALID_REMOTE_PUSH_DEVICE_TOKEN", error),
        PushError::NotConfigured => bad_request("PUSH_SERVICE_NOT_CONFIGURED", error),
        PushError::Bouncer(_) => ErrorResponse::new(StatusCode::BAD_GATEWAY, "INTERNAL_SERVER_ERROR", error),
        PushError::TokenLength | PushError::NotApples | PushError::AppId | PushError::NoSuchToken => {
            bad_request(BAD_REQUEST, error)
        }
    }
}
