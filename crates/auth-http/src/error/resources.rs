//! The rows of the table about resources and who may touch them.

use fhir_resource::ResourceKey;
use fhir_store::body_validation::RequestBodyErrorKind;
use fhir_store::bundle::{BundleEntryError, RequestBundleError};
use fhir_store::operation_outcome::{self, IssueSeverity, OperationOutcome};
use fhir_store::{SearchExecutionError, StoreError, WriteError};
use http::StatusCode;
use oauth_core::access::AccessError;
use oauth_core::resource_caller::CallerAuthenticationError;
use oauth_core::security_resource_rules::ResourceIssue;

use super::{AuthenticateChallenge, ErrorResponse, internal};

/// When to try again where the server is too busy, in seconds: not at once, as that is what made it so.
const BUSY_RETRY_S: u64 = 5;

/// It never existed.
pub(super) fn not_found(key: &ResourceKey) -> ErrorResponse {
    ErrorResponse::new(StatusCode::NOT_FOUND, operation_outcome::NOT_FOUND, format!("Resource {key} not found"))
}

/// It was deleted.
pub(super) fn gone(key: &ResourceKey) -> ErrorResponse {
    ErrorResponse::new(StatusCode::GONE, operation_outcome::DELETED, format!("Resource {key} was deleted"))
}

/// A write that a rule refuses, alone or as an entry of a Bundle.
pub(super) fn refused(cause: &WriteError, entry: Option<usize>) -> ErrorResponse {
    let row = |status, kind| ErrorResponse::new(status, kind, cause.to_string());
    let verdict = match cause {
        WriteError::AlreadyExists(_) | WriteError::Taken(_) => {
            row(StatusCode::CONFLICT, operation_outcome::ALREADY_EXISTS)
        }
        WriteError::VersionMismatch { .. } | WriteError::VersionExcluded(_) => {
            row(StatusCode::PRECONDITION_FAILED, operation_outcome::VERSION_MISMATCH)
        }
        WriteError::WrittenTwice(_) => row(StatusCode::BAD_REQUEST, operation_outcome::BAD_REQUEST),
        WriteError::MultipleMatches { .. } | WriteError::SeveralReferents(_) => {
            row(StatusCode::PRECONDITION_FAILED, operation_outcome::MULTIPLE_MATCHES)
        }
        WriteError::NoReferent(_) => row(StatusCode::PRECONDITION_FAILED, operation_outcome::NOT_FOUND),
        WriteError::TooManyReferents => row(StatusCode::UNPROCESSABLE_ENTITY, operation_outcome::ANSWER_TOO_LARGE),
        WriteError::ReadOnly(_) => {
            row(StatusCode::METHOD_NOT_ALLOWED, operation_outcome::METHOD_NOT_SUPPORTED).allow("GET")
        }
        WriteError::NotFound(_) | WriteError::NothingMatches(_) => {
            row(StatusCode::NOT_FOUND, operation_outcome::NOT_FOUND)
        }
        WriteError::Gone(_) => row(StatusCode::GONE, operation_outcome::DELETED),
        // A scope of the user's would do, if a policy allows it.
        WriteError::Outside => row(StatusCode::FORBIDDEN, operation_outcome::FORBIDDEN).oauth("insufficient_scope"),
        WriteError::MatchGroup => row(StatusCode::FORBIDDEN, operation_outcome::FORBIDDEN),
        WriteError::Patch(_)
        | WriteError::PatchedReferent(_)
        | WriteError::UnresolvedReference(_)
        | WriteError::Nonconforming(_) => row(StatusCode::UNPROCESSABLE_ENTITY, operation_outcome::INVALID_RESOURCE),
        WriteError::NotSearched(cause) => return not_searched(cause).at_entry(entry),
        WriteError::Invalid(faults) => {
            let misaddressed = faults.iter().any(|fault| is_about_address(fault.problem));
            let status = if misaddressed { StatusCode::BAD_REQUEST } else { StatusCode::UNPROCESSABLE_ENTITY };
            row(status, operation_outcome::INVALID_RESOURCE)
        }
    };
    verdict.outcome(OperationOutcome::from(cause)).at_entry(entry)
}

/// A search that was understood and not carried out.
pub(super) fn not_searched(cause: &SearchExecutionError) -> ErrorResponse {
    let row = |status, kind| ErrorResponse::new(status, kind, cause.to_string());
    match cause {
        SearchExecutionError::Indexing { .. } => {
            row(StatusCode::SERVICE_UNAVAILABLE, operation_outcome::UNAVAILABLE).retry_after(BUSY_RETRY_S)
        }
        SearchExecutionError::Cursor => row(StatusCode::BAD_REQUEST, operation_outcome::BAD_REQUEST),
        SearchExecutionError::Closed => {
            row(StatusCode::FORBIDDEN, operation_outcome::FORBIDDEN).oauth("insufficient_scope")
        }
    }
}

/// A body that contradicts its address is a malformed request; any other body is understood and
/// refused.
const fn is_about_address(problem: RequestBodyErrorKind) -> bool {
    match problem {
        RequestBodyErrorKind::NotAString
        | RequestBodyErrorKind::OtherType
        | RequestBodyErrorKind::Required
        | RequestBodyErrorKind::NotAnId
        | RequestBodyErrorKind::OtherId
        | RequestBodyErrorKind::NotAnObject => true,
        RequestBodyErrorKind::TooDeep
        | RequestBodyErrorKind::Nul
        | RequestBodyErrorKind::ReservedName
        | RequestBodyErrorKind::Number => false,
    }
}

/// A document that breaks the rules of its type, every fault with its place.
pub(super) fn invalid(issues: &[ResourceIssue], entry: Option<usize>) -> ErrorResponse {
    let told = issues.iter().map(|issue| operation_outcome::OutcomeIssue {
        severity: IssueSeverity::Error,
        code: issue.code.as_str(),
        diagnostics: Some(format!("{} {}", issue.expression, issue.diagnostics)),
        expression: vec![issue.expression.clone()],
    });
    ErrorResponse::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        operation_outcome::INVALID_RESOURCE,
        "The resource breaks the rules of its type",
    )
    .outcome(operation_outcome::INVALID_RESOURCE.to_outcome().with_issues(told.collect()))
    .at_entry(entry)
}

/// A Bundle that cannot be executed.
pub(super) fn bundle(cause: &RequestBundleError) -> ErrorResponse {
    match cause {
        RequestBundleError::NotABundle | RequestBundleError::Type | RequestBundleError::EntriesNotAnArray => {
            ErrorResponse::new(StatusCode::BAD_REQUEST, operation_outcome::MALFORMED_BODY, cause.to_string())
        }
        RequestBundleError::TooManyEntries => {
            ErrorResponse::new(StatusCode::PAYLOAD_TOO_LARGE, operation_outcome::BODY_TOO_LARGE, cause.to_string())
        }
        RequestBundleError::Entry(fault) => entry(fault),
    }
}

/// An entry that cannot be executed.
pub(super) fn entry(cause: &BundleEntryError) -> ErrorResponse {
    ErrorResponse::new(StatusCode::BAD_REQUEST, operation_outcome::MALFORMED_BODY, cause.problem.to_string())
        .at_entry(Some(cause.index))
}

/// Returns the store failed, or is too busy.
pub(super) fn failed(cause: &StoreError) -> ErrorResponse {
    match cause {
        StoreError::Failed(_) | StoreError::Corrupt(_) => internal(),
        StoreError::Unavailable(_) => unavailable(),
        StoreError::Contended(_) => {
            let text = "Others keep writing the same resources; try again";
            ErrorResponse::new(StatusCode::SERVICE_UNAVAILABLE, operation_outcome::UNAVAILABLE, text)
                .oauth("temporarily_unavailable")
                .retry_after(1)
        }
        StoreError::Busy(_) => busy(),
        StoreError::TooCostly(_) => too_long(),
    }
}

/// Returns the store of clients failed, or is too busy: what it is inside says which.
pub(super) fn parties(cause: &oauth_core::ports::StoreError) -> ErrorResponse {
    cause.0.downcast_ref().map_or_else(internal, failed)
}

/// A search that took too long. The request is at fault and the same one will fail again, so it is no 503, after which
/// clients come back with it.
pub(super) fn too_long() -> ErrorResponse {
    let text = "The search took longer than a search may; narrow it, or ask for fewer values";
    ErrorResponse::new(StatusCode::BAD_REQUEST, operation_outcome::SEARCH_TOO_SLOW, text)
}

fn unavailable() -> ErrorResponse {
    ErrorResponse::new(
        StatusCode::SERVICE_UNAVAILABLE,
        operation_outcome::UNAVAILABLE,
        "The service is temporarily unavailable; try again",
    )
    .oauth("temporarily_unavailable")
    .retry_after(BUSY_RETRY_S)
}

fn busy() -> ErrorResponse {
    ErrorResponse::new(
        StatusCode::SERVICE_UNAVAILABLE,
        operation_outcome::UNAVAILABLE,
        "The server is too busy; try again",
    )
    .oauth("temporarily_unavailable")
    .retry_after(BUSY_RETRY_S)
}

/// Credentials that are no good. They were sent, so this is never the answer for none.
pub(super) fn unidentified(cause: &CallerAuthenticationError) -> ErrorResponse {
    let row = || ErrorResponse::new(StatusCode::UNAUTHORIZED, operation_outcome::UNAUTHORIZED, cause.to_string());
    match cause {
        CallerAuthenticationError::Header => row().challenge(AuthenticateChallenge::Bearer),
        CallerAuthenticationError::Basic(_) => row().oauth("invalid_client").challenge(AuthenticateChallenge::Basic),
        CallerAuthenticationError::TooManyAttempts { retry_after_s } => {
            ErrorResponse::new(StatusCode::TOO_MANY_REQUESTS, operation_outcome::THROTTLED, cause.to_string())
                .oauth("temporarily_unavailable")
                .retry_after(*retry_after_s)
        }
        CallerAuthenticationError::Token(_) => {
            row().oauth("invalid_token").challenge(AuthenticateChallenge::InvalidToken)
        }
        CallerAuthenticationError::Store(cause) => parties(cause),
    }
}

/// A caller who may not.
pub(super) fn denied(cause: &AccessError) -> ErrorResponse {
    match cause {
        AccessError::Unauthenticated => {
            ErrorResponse::new(StatusCode::UNAUTHORIZED, operation_outcome::UNAUTHORIZED, "Authentication is required")
                .oauth("invalid_client")
                .challenge(AuthenticateChallenge::Bearer)
        }
        AccessError::InsufficientScope { needed } => {
            let text = format!("The access token lacks a scope that permits this: {needed}");
            ErrorResponse::new(StatusCode::FORBIDDEN, operation_outcome::FORBIDDEN, text)
                .oauth("insufficient_scope")
                .challenge(AuthenticateChallenge::InsufficientScope(needed.clone()))
        }
        AccessError::UnappliedQuery { needed, .. } => {
            ErrorResponse::new(StatusCode::FORBIDDEN, operation_outcome::FORBIDDEN, cause.to_string())
                .oauth("insufficient_scope")
                .challenge(AuthenticateChallenge::InsufficientScope(needed.clone()))
        }
        // The platform's own word, and no more: which policy was missing is no caller's business.
        AccessError::Forbidden => {
            ErrorResponse::new(StatusCode::FORBIDDEN, operation_outcome::FORBIDDEN, "Forbidden").oauth("access_denied")
        }
        AccessError::Store(cause) => parties(cause),
    }
}
