//! The rows of the table about the operations of payers.

use fhir_service::error::PayerError;
use fhir_store::outcome::{self, IssueKind, IssueSeverity};
use http::StatusCode;
use payer_exchange::davinci_export::DavinciExportError;

use super::{AuthenticateChallenge, ErrorResponse};

/// How soon a caller with too many jobs may have one fewer.
const JOBS_RETRY_S: u64 = 60;
/// A call that would have been understood with another header.
const PROCESSING: IssueKind =
    IssueKind { id: Some("bad-request"), severity: IssueSeverity::Error, code: "processing", text: "Bad request" };

/// An operation that was not done.
pub(super) fn refused(cause: &PayerError) -> ErrorResponse {
    let row = |status, kind| ErrorResponse::new(status, kind, cause.to_string());
    match cause {
        PayerError::Prefer => row(StatusCode::BAD_REQUEST, PROCESSING),
        PayerError::Export(_)
        | PayerError::NotExported(_)
        | PayerError::Davinci(
            DavinciExportError::NoType | DavinciExportError::UnknownType(_) | DavinciExportError::FilterOnClaims,
        ) => row(StatusCode::BAD_REQUEST, outcome::BAD_REQUEST),
        PayerError::Davinci(
            DavinciExportError::UnservedType(_)
            | DavinciExportError::Profile(_)
            | DavinciExportError::Inactive
            | DavinciExportError::NoOrganization
            | DavinciExportError::NoMember(_),
        )
        | PayerError::MatchedGroup
        | PayerError::Sent(_)
        | PayerError::UnresolvedPayor
        | PayerError::NoMatch => row(StatusCode::UNPROCESSABLE_ENTITY, outcome::INVALID),
        PayerError::NoClaim => row(StatusCode::FORBIDDEN, outcome::FORBIDDEN).oauth("access_denied"),
        PayerError::NoClaimForExport => {
            row(StatusCode::UNAUTHORIZED, outcome::UNAUTHORIZED).challenge(AuthenticateChallenge::Bearer)
        }
        PayerError::SeveralOrganizations { .. } => row(StatusCode::CONFLICT, outcome::CONFLICT),
        PayerError::NoJob => row(StatusCode::NOT_FOUND, outcome::NOT_FOUND),
        PayerError::JobFailed => row(StatusCode::INTERNAL_SERVER_ERROR, outcome::INTERNAL),
        PayerError::TooManyJobs(_) => row(StatusCode::TOO_MANY_REQUESTS, outcome::THROTTLED).retry_after(JOBS_RETRY_S),
    }
}
