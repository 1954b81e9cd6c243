//! The rows of the table about the operations of payers.

use fhir_store::outcome::{self, Kind, Severity};
use fhir_store::payer::davinci::DavinciFault;
use http::StatusCode;

use super::{Challenge, Verdict};
use crate::payer::PayerFault;

/// How soon a caller with too many jobs may have one fewer.
const JOBS_RETRY_S: u64 = 60;
/// A call that would have been understood with another header.
const PROCESSING: Kind =
    Kind { id: Some("bad-request"), severity: Severity::Error, code: "processing", text: "Bad request" };

/// An operation that was not done.
pub(super) fn refused(cause: &PayerFault) -> Verdict {
    let row = |status, kind| Verdict::new(status, kind, cause.to_string());
    match cause {
        PayerFault::Prefer => row(StatusCode::BAD_REQUEST, PROCESSING),
        PayerFault::Export(_) | PayerFault::NotExported(_) => row(StatusCode::BAD_REQUEST, outcome::BAD_REQUEST),
        PayerFault::Davinci(DavinciFault::NoType | DavinciFault::UnknownType(_) | DavinciFault::FilterOnClaims) => {
            row(StatusCode::BAD_REQUEST, outcome::BAD_REQUEST)
        }
        PayerFault::Davinci(
            DavinciFault::UnservedType(_)
            | DavinciFault::Profile(_)
            | DavinciFault::Inactive
            | DavinciFault::NoOrganization
            | DavinciFault::NoMember(_),
        )
        | PayerFault::MatchedGroup
        | PayerFault::Sent(_)
        | PayerFault::UnresolvedPayor
        | PayerFault::NoMatch => row(StatusCode::UNPROCESSABLE_ENTITY, outcome::INVALID),
        PayerFault::NoClaim => row(StatusCode::FORBIDDEN, outcome::FORBIDDEN).oauth("access_denied"),
        PayerFault::NoClaimForExport => {
            row(StatusCode::UNAUTHORIZED, outcome::UNAUTHORIZED).challenge(Challenge::Bearer)
        }
        PayerFault::SeveralOrganizations { .. } => row(StatusCode::CONFLICT, outcome::CONFLICT),
        PayerFault::NoJob => row(StatusCode::NOT_FOUND, outcome::NOT_FOUND),
        PayerFault::JobFailed => row(StatusCode::INTERNAL_SERVER_ERROR, outcome::INTERNAL),
        PayerFault::TooManyJobs(_) => row(StatusCode::TOO_MANY_REQUESTS, outcome::THROTTLED).retry_after(JOBS_RETRY_S),
    }
}
