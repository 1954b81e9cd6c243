//! The rows of the table about the operations of payers.

use fhir_service::error::PayerOperationError;
use fhir_store::operation_outcome::{self, IssueKind, IssueSeverity};
use http::StatusCode;
use payer_exchange::davinci_export::DavinciExportError;

use super::{AuthenticateChallenge, ErrorResponse};

/// How soon a caller with too many jobs may have one fewer.
const JOBS_RETRY_S: u64 = 60;
/// A call that would have been understood with another header.
const PROCESSING: IssueKind =
    IssueKind { id: Some("bad-request"), severity: IssueSeverity::Error, code: "processing", text: "Bad request" };

/// An operation that was not done.
pub(super) fn refused(cause: &PayerOperationError) -> ErrorResponse {
    let row = |status, kind| ErrorResponse::new(status, kind, cause.to_string());
    match cause {
        PayerOperationError::Prefer => row(StatusCode::BAD_REQUEST, PROCESSING),
        PayerOperationError::Export(_)
        | PayerOperationError::NotExported(_)
        | PayerOperationError::Davinci(
            DavinciExportError::NoType | DavinciExportError::UnknownType(_) | DavinciExportError::FilterOnClaims,
        ) => row(StatusCode::BAD_REQUEST, operation_outcome::BAD_REQUEST),
        PayerOperationError::Davinci(
            DavinciExportError::UnservedType(_)
            | DavinciExportError::Profile(_)
            | DavinciExportError::Inactive
            | DavinciExportError::NoOrganization
            | DavinciExportError::NoMember(_),
        )
        | PayerOperationError::MatchedGroup
        | PayerOperationError::Sent(_)
        | PayerOperationError::UnresolvedPayor
        | PayerOperationError::NoMatch => row(StatusCode::UNPROCESSABLE_ENTITY, operation_outcome::INVALID_RESOURCE),
        PayerOperationError::NoClaim => row(StatusCode::FORBIDDEN, operation_outcome::FORBIDDEN).oauth("access_denied"),
        PayerOperationError::NoClaimForExport => {
            row(StatusCode::UNAUTHORIZED, operation_outcome::UNAUTHORIZED).challenge(AuthenticateChallenge::Bearer)
        }
        PayerOperationError::SeveralOrganizations { .. } => {
            row(StatusCode::CONFLICT, operation_outcome::WRITE_CONFLICT)
        }
        PayerOperationError::NoJob => row(StatusCode::NOT_FOUND, operation_outcome::NOT_FOUND),
        PayerOperationError::JobFailed => row(StatusCode::INTERNAL_SERVER_ERROR, operation_outcome::INTERNAL_ERROR),
        PayerOperationError::TooManyJobs(_) => {
            row(StatusCode::TOO_MANY_REQUESTS, operation_outcome::THROTTLED).retry_after(JOBS_RETRY_S)
        }
    }
}
