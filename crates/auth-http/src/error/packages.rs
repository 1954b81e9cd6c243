//! The rows of the table about packages. Only the administrator gets here.

use fhir_service::error::PackageOperationError;
use fhir_store::outcome;
use http::StatusCode;
use migrations::package::{PackageChangeError, PrepareError};

use super::{ErrorResponse, resources};

/// How soon it is worth asking a registry again that does not answer.
const REGISTRY_RETRY_S: u64 = 30;

/// Packages that were not installed or uninstalled.
pub(super) fn refused(cause: &PackageOperationError) -> ErrorResponse {
    match cause {
        PackageOperationError::NotParameters => {
            ErrorResponse::new(StatusCode::BAD_REQUEST, outcome::STRUCTURE, cause.to_string())
        }
        PackageOperationError::Unsupported(_) => unprocessable(outcome::NOT_SUPPORTED, cause.to_string()),
        PackageOperationError::Id(_) | PackageOperationError::Several(..) => {
            unprocessable(outcome::INVALID, cause.to_string())
        }
        PackageOperationError::Unknown(_) => unprocessable(outcome::NOT_FOUND, cause.to_string()),
        PackageOperationError::Prepare(cause) => unprepared(cause),
        PackageOperationError::Refused(cause) => unwritten(cause),
    }
}

/// Packages that cannot be had. A registry that failed is no fault of the request.
pub(super) fn unprepared(cause: &PrepareError) -> ErrorResponse {
    match cause {
        PrepareError::Store(cause) => resources::failed(cause),
        PrepareError::Registry { .. } if cause.is_outage() => {
            ErrorResponse::new(StatusCode::SERVICE_UNAVAILABLE, outcome::UNAVAILABLE, cause.to_string())
                .retry_after(REGISTRY_RETRY_S)
        }
        PrepareError::Registry { .. } | PrepareError::NoneOfSeries { .. } => {
            unprocessable(outcome::NOT_FOUND, cause.to_string())
        }
        PrepareError::MovingNeed { .. } | PrepareError::FhirVersion { .. } => {
            unprocessable(outcome::NOT_SUPPORTED, cause.to_string())
        }
        PrepareError::TooMany => unprocessable(outcome::TOO_COSTLY, cause.to_string()),
    }
}

/// Packages that the store refuses.
pub(super) fn unwritten(cause: &PackageChangeError) -> ErrorResponse {
    let kind = match cause {
        PackageChangeError::NotInstalled(_) => outcome::NOT_FOUND,
        PackageChangeError::Needed { .. } | PackageChangeError::NeedGone { .. } => outcome::CONFLICT,
        PackageChangeError::Tarball { .. } => outcome::INVALID,
    };
    unprocessable(kind, cause.to_string())
}

fn unprocessable(kind: outcome::IssueKind, text: String) -> ErrorResponse {
    ErrorResponse::new(StatusCode::UNPROCESSABLE_ENTITY, kind, text)
}
