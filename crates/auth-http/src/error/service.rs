//! The rows of the table about what the FHIR service refuses.

use fhir_service::error::ServiceError;
use fhir_store::operation_outcome;
use http::StatusCode;

use super::{ErrorResponse, internal, migrations, packages, payer, resources, throttled};

/// A request about resources that was not done.
pub(super) fn refused(cause: &ServiceError) -> ErrorResponse {
    let row = |status, kind| ErrorResponse::new(status, kind, cause.to_string());
    match cause {
        ServiceError::UnknownType(_) | ServiceError::NoVersion { .. } => {
            row(StatusCode::NOT_FOUND, operation_outcome::NOT_FOUND)
        }
        ServiceError::TooCostly => row(StatusCode::PAYLOAD_TOO_LARGE, operation_outcome::ANSWER_TOO_LARGE),
        ServiceError::NotParameters
        | ServiceError::Number
        | ServiceError::NoBody
        | ServiceError::NotAPatch(_)
        | ServiceError::NotAList
        | ServiceError::Unnamed { .. } => row(StatusCode::BAD_REQUEST, operation_outcome::MALFORMED_BODY),
        ServiceError::Id(_)
        | ServiceError::Query(_)
        | ServiceError::Search(_)
        | ServiceError::Hidden(_)
        | ServiceError::Unexplained(_)
        | ServiceError::PatchInBundle(_)
        | ServiceError::Validate(_) => row(StatusCode::BAD_REQUEST, operation_outcome::BAD_REQUEST),
        ServiceError::NotSearched(cause) => resources::not_searched(cause),
        ServiceError::NotFound(key) => resources::not_found(key),
        ServiceError::Gone(key) => resources::gone(key),
        ServiceError::Refused { cause, entry } => resources::refused(cause, *entry),
        ServiceError::Invalid { issues, entry } => resources::invalid(issues, *entry),
        ServiceError::Migration { cause, entry } => migrations::refused(cause, *entry),
        ServiceError::Scripts(cause) => migrations::not_applied(cause),
        ServiceError::Packages(cause) => packages::refused(cause),
        ServiceError::Payer(cause) => payer::refused(cause),
        ServiceError::TooManyGuesses(refused) => throttled(refused.to_string(), refused.retry_after_s),
        ServiceError::Bundle(cause) => resources::bundle(cause),
        ServiceError::Entry(cause) => resources::entry(cause),
        ServiceError::Resources(cause) => resources::failed(cause),
        ServiceError::Denied { cause, entry } => resources::denied(cause).at_entry(*entry),
        ServiceError::Parties(cause) => resources::parties(cause),
        ServiceError::Unsettled => row(StatusCode::CONFLICT, operation_outcome::WRITE_CONFLICT),
        ServiceError::Unanswered | ServiceError::HashingEnded | ServiceError::Unwritable(_) => internal(),
    }
}
