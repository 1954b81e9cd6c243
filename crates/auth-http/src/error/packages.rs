//! The rows of the table about packages. Only the administrator gets here.

use fhir_service::error::PackageOperationError;
use fhir_store::operation_outcome;
use http::StatusCode;
use migrations::package::{PackageChangeError, PrepareInstallError};

use super::{ErrorResponse, resources};

/// How soon it is worth asking a registry again that does not answer.
const REGISTRY_RETRY_S: u64 = 30;

/// Packages that were not installed or uninstalled.
pub(super) fn refused(cause: &PackageOperationError) -> ErrorResponse {
    match cause {
        PackageOperationError::NotParameters => {
            ErrorResponse::new(StatusCode::BAD_REQUEST, operation_outcome::MALFORMED_BODY, cause.to_string())
        }
        PackageOperationError::Unsupported(_) => {
            unprocessable(operation_outcome::METHOD_NOT_SUPPORTED, cause.to_string())
        }
        PackageOperationError::Id(_) | PackageOperationError::Several(..) => {
            unprocessable(operation_outcome::INVALID_RESOURCE, cause.to_string())
        }
        PackageOperationError::Unknown(_) => unprocessable(operation_outcome::NOT_FOUND, cause.to_string()),
        PackageOperationError::Prepare(cause) => unprepared(cause),
        PackageOperationError::Refused(cause) => unwritten(cause),
    }
}

/// Packages that cannot be had. A registry that failed is no fault of the request.
pub(super) fn unprepared(cause: &PrepareInstallError) -> ErrorResponse {
    match cause {
        PrepareInstallError::Store(cause) => resources::failed(cause),
        PrepareInstallError::Registry { .. } if cause.is_registry_outage() => {
            ErrorResponse::new(StatusCode::SERVICE_UNAVAILABLE, operation_outcome::UNAVAILABLE, cause.to_string())
                .retry_after(REGISTRY_RETRY_S)
        }
        PrepareInstallError::Registry { .. } | PrepareInstallError::NoneOfSeries { .. } => {
            unprocessable(operation_outcome::NOT_FOUND, cause.to_string())
        }
        PrepareInstallError::MovingNeed { .. } | PrepareInstallError::FhirVersion { .. } => {
            unprocessable(operation_outcome::METHOD_NOT_SUPPORTED, cause.to_string())
        }
        PrepareInstallError::TooMany => unprocessable(operation_outcome::ANSWER_TOO_LARGE, cause.to_string()),
    }
}

/// Packages that the store refuses.
pub(super) fn unwritten(cause: &PackageChangeError) -> ErrorResponse {
    let kind = match cause {
        PackageChangeError::NotInstalled(_) => operation_outcome::NOT_FOUND,
        PackageChangeError::Needed { .. } | PackageChangeError::NeedGone { .. } => operation_outcome::WRITE_CONFLICT,
        PackageChangeError::Tarball { .. } => operation_outcome::INVALID_RESOURCE,
    };
    unprocessable(kind, cause.to_string())
}

fn unprocessable(kind: operation_outcome::IssueKind, text: String) -> ErrorResponse {
    ErrorResponse::new(StatusCode::UNPROCESSABLE_ENTITY, kind, text)
}
