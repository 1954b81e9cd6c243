//! The part of the table for devices that are notified.

use chat_core::push::PushError;
use http::StatusCode;

use super::{BAD_REQUEST, Verdict, refusal};

/// # Source
/// Specification, "Errors". Not specified: a bouncer that does not do its work is a failure behind us, 502.
pub(super) fn verdict(refused: &PushError) -> Verdict {
    match refused {
        PushError::NotRecognized => refusal("INVALID_PUSH_DEVICE_TOKEN", refused),
        PushError::NotRecognizedThere => refusal("INVALID_REMOTE_PUSH_DEVICE_TOKEN", refused),
        PushError::Bouncer(_) => Verdict::new(StatusCode::BAD_GATEWAY, "INTERNAL_SERVER_ERROR", refused),
        PushError::TokenLength | PushError::NotApples | PushError::AppId | PushError::NoSuchToken => {
            refusal(BAD_REQUEST, refused)
        }
    }
}
