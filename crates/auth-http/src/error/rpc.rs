//! The rows of the table about calls by name.

use fhir_store::operation_outcome;
use http::StatusCode;
use oauth_core::launch::LaunchUriError;

use super::resources::parties;
use super::{ErrorResponse, internal};

/// The one method, after its brand and the dot.
pub(crate) const GET_LAUNCH_URI: &str = "smart/get-launch-uri";
/// Most calls in a list.
pub(crate) const CALLS_MAX: usize = 100;

/// The reason why a call was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RpcError {
    /// The body is not a call.
    #[error("a call must be an object with a method and params, or a list of at most {CALLS_MAX} of them")]
    NotACall,
    /// The method does not exist.
    #[error("there is no such method; the one there is: {0}.{GET_LAUNCH_URI}")]
    UnknownMethod(String),
    /// There is no address for a launch.
    #[error("{0}")]
    LaunchUri(#[from] LaunchUriError),
}

/// A call by name that was not done.
pub(super) fn not_called(cause: &RpcError) -> ErrorResponse {
    let row = |kind| ErrorResponse::new(StatusCode::UNPROCESSABLE_ENTITY, kind, cause.to_string());
    match cause {
        RpcError::NotACall => {
            ErrorResponse::new(StatusCode::BAD_REQUEST, operation_outcome::MALFORMED_BODY, cause.to_string())
        }
        RpcError::UnknownMethod(_) => row(operation_outcome::METHOD_NOT_SUPPORTED),
        RpcError::LaunchUri(LaunchUriError::Store(cause)) => parties(cause),
        RpcError::LaunchUri(LaunchUriError::Sign(_)) => internal(),
        RpcError::LaunchUri(
            LaunchUriError::Malformed(_)
            | LaunchUriError::UnknownClient
            | LaunchUriError::NotLaunchable
            | LaunchUriError::UnknownUser
            | LaunchUriError::UnknownPatient
            | LaunchUriError::OtherIssuer { .. },
        ) => row(operation_outcome::INVALID_RESOURCE),
    }
}
