//! The rows of the table about resources and who may touch them.

use fhir_store::bundle::{BundleFault, EntryFault};
use fhir_store::outcome::{self, Outcome, Severity};
use fhir_store::shape::ShapeProblem;
use fhir_store::{ResourceKey, SearchRefused, StoreError, WriteFault};
use http::StatusCode;
use oauth_core::access::Denied;
use oauth_core::caller::CallerFault;
use oauth_core::launch::LaunchUriFault;
use oauth_core::registration::Issue;

use super::{Challenge, Verdict, internal};
use crate::endpoint::rpc::RpcFault;

/// When to try again where the server is too busy, in seconds: not at once, as that is what made it so.
const BUSY_RETRY_S: u64 = 5;

/// It never existed.
pub(super) fn not_found(key: &ResourceKey) -> Verdict {
    Verdict::new(StatusCode::NOT_FOUND, outcome::NOT_FOUND, format!("Resource {key} not found"))
}

/// It was deleted.
pub(super) fn gone(key: &ResourceKey) -> Verdict {
    Verdict::new(StatusCode::GONE, outcome::DELETED, format!("Resource {key} was deleted"))
}

/// A write that a rule refuses, alone or as an entry of a Bundle.
pub(super) fn refused(cause: &WriteFault, entry: Option<usize>) -> Verdict {
    let row = |status, kind| Verdict::new(status, kind, cause.to_string());
    let verdict = match cause {
        WriteFault::AlreadyExists(_) | WriteFault::Taken(_) => row(StatusCode::CONFLICT, outcome::DUPLICATE),
        WriteFault::VersionMismatch { .. } | WriteFault::VersionExcluded(_) => {
            row(StatusCode::PRECONDITION_FAILED, outcome::VERSION_MISMATCH)
        }
        WriteFault::WrittenTwice(_) => row(StatusCode::BAD_REQUEST, outcome::BAD_REQUEST),
        WriteFault::MultipleMatches { .. } | WriteFault::SeveralReferents(_) => {
            row(StatusCode::PRECONDITION_FAILED, outcome::MULTIPLE_MATCHES)
        }
        WriteFault::NoReferent(_) => row(StatusCode::PRECONDITION_FAILED, outcome::NOT_FOUND),
        WriteFault::TooManyReferents => row(StatusCode::UNPROCESSABLE_ENTITY, outcome::TOO_COSTLY),
        WriteFault::ReadOnly(_) => row(StatusCode::METHOD_NOT_ALLOWED, outcome::NOT_SUPPORTED).allow("GET"),
        WriteFault::NotFound(_) | WriteFault::NothingMatches(_) => row(StatusCode::NOT_FOUND, outcome::NOT_FOUND),
        WriteFault::Gone(_) => row(StatusCode::GONE, outcome::DELETED),
        // A scope of the user's would do, if a policy allows it.
        WriteFault::Outside => row(StatusCode::FORBIDDEN, outcome::FORBIDDEN).oauth("insufficient_scope"),
        WriteFault::MatchGroup => row(StatusCode::FORBIDDEN, outcome::FORBIDDEN),
        WriteFault::Patch(_) | WriteFault::UnresolvedReference(_) | WriteFault::Nonconforming(_) => {
            row(StatusCode::UNPROCESSABLE_ENTITY, outcome::INVALID)
        }
        WriteFault::NotSearched(cause) => return not_searched(cause).at_entry(entry),
        WriteFault::Invalid(faults) => {
            let misaddressed = faults.iter().any(|fault| is_about_address(fault.problem));
            let status = if misaddressed { StatusCode::BAD_REQUEST } else { StatusCode::UNPROCESSABLE_ENTITY };
            row(status, outcome::INVALID)
        }
    };
    verdict.outcome(Outcome::from(cause)).at_entry(entry)
}

/// A search that was understood and not carried out.
pub(super) fn not_searched(cause: &SearchRefused) -> Verdict {
    let row = |status, kind| Verdict::new(status, kind, cause.to_string());
    match cause {
        SearchRefused::Indexing { .. } => {
            row(StatusCode::SERVICE_UNAVAILABLE, outcome::UNAVAILABLE).retry_after(BUSY_RETRY_S)
        }
        SearchRefused::Cursor => row(StatusCode::BAD_REQUEST, outcome::BAD_REQUEST),
        SearchRefused::Closed => row(StatusCode::FORBIDDEN, outcome::FORBIDDEN).oauth("insufficient_scope"),
    }
}

/// A body that contradicts its address is a malformed request; any other body is understood and
/// refused.
const fn is_about_address(problem: ShapeProblem) -> bool {
    match problem {
        ShapeProblem::NotAString
        | ShapeProblem::OtherType
        | ShapeProblem::Required
        | ShapeProblem::NotAnId
        | ShapeProblem::OtherId
        | ShapeProblem::NotAnObject => true,
        ShapeProblem::TooDeep | ShapeProblem::Nul | ShapeProblem::ReservedName | ShapeProblem::Number => false,
    }
}

/// A document that breaks the rules of its type, every fault with its place.
pub(super) fn invalid(issues: &[Issue], entry: Option<usize>) -> Verdict {
    let told = issues.iter().map(|issue| outcome::Issue {
        severity: Severity::Error,
        code: issue.code.as_str(),
        diagnostics: Some(format!("{} {}", issue.expression, issue.diagnostics)),
        expression: vec![issue.expression.clone()],
    });
    Verdict::new(StatusCode::UNPROCESSABLE_ENTITY, outcome::INVALID, "The resource breaks the rules of its type")
        .outcome(outcome::INVALID.outcome().issues(told.collect()))
        .at_entry(entry)
}

/// A Bundle that cannot be executed.
pub(super) fn bundle(cause: &BundleFault) -> Verdict {
    match cause {
        BundleFault::NotABundle | BundleFault::Type | BundleFault::EntriesNotAnArray => {
            Verdict::new(StatusCode::BAD_REQUEST, outcome::STRUCTURE, cause.to_string())
        }
        BundleFault::TooManyEntries => {
            Verdict::new(StatusCode::PAYLOAD_TOO_LARGE, outcome::TOO_LARGE, cause.to_string())
        }
        BundleFault::Entry(fault) => entry(fault),
    }
}

/// An entry that cannot be executed.
pub(super) fn entry(cause: &EntryFault) -> Verdict {
    Verdict::new(StatusCode::BAD_REQUEST, outcome::STRUCTURE, cause.problem.to_string()).at_entry(Some(cause.index))
}

/// Returns the store failed, or is too busy.
pub(super) fn failed(cause: &StoreError) -> Verdict {
    match cause {
        StoreError::Failed(_) | StoreError::Corrupt(_) => internal(),
        StoreError::Unavailable(_) => unavailable(),
        StoreError::Contended(_) => {
            let text = "Others keep writing the same resources; try again";
            Verdict::new(StatusCode::SERVICE_UNAVAILABLE, outcome::UNAVAILABLE, text)
                .oauth("temporarily_unavailable")
                .retry_after(1)
        }
        StoreError::Busy(_) => busy(),
        StoreError::TooCostly(_) => too_long(),
    }
}

/// Returns the store of clients failed, or is too busy: what it is inside says which.
pub(super) fn parties(cause: &oauth_core::ports::StoreError) -> Verdict {
    cause.0.downcast_ref().map_or_else(internal, failed)
}

/// A search that took too long. The request is at fault and the same one will fail again, so it is no 503, after which
/// clients come back with it.
pub(super) fn too_long() -> Verdict {
    let text = "The search took longer than a search may; narrow it, or ask for fewer values";
    Verdict::new(StatusCode::BAD_REQUEST, outcome::SEARCH_TOO_COSTLY, text)
}

fn unavailable() -> Verdict {
    Verdict::new(
        StatusCode::SERVICE_UNAVAILABLE,
        outcome::UNAVAILABLE,
        "The service is temporarily unavailable; try again",
    )
    .oauth("temporarily_unavailable")
    .retry_after(BUSY_RETRY_S)
}

fn busy() -> Verdict {
    Verdict::new(StatusCode::SERVICE_UNAVAILABLE, outcome::UNAVAILABLE, "The server is too busy; try again")
        .oauth("temporarily_unavailable")
        .retry_after(BUSY_RETRY_S)
}

/// Credentials that are no good. They were sent, so this is never the answer for none.
pub(super) fn unidentified(cause: &CallerFault) -> Verdict {
    let row = || Verdict::new(StatusCode::UNAUTHORIZED, outcome::UNAUTHORIZED, cause.to_string());
    match cause {
        CallerFault::Header => row().challenge(Challenge::Bearer),
        CallerFault::Basic(_) => row().oauth("invalid_client").challenge(Challenge::Basic),
        CallerFault::TooManyAttempts { retry_after_s } => {
            Verdict::new(StatusCode::TOO_MANY_REQUESTS, outcome::THROTTLED, cause.to_string())
                .oauth("temporarily_unavailable")
                .retry_after(*retry_after_s)
        }
        CallerFault::Token(_) => row().oauth("invalid_token").challenge(Challenge::InvalidToken),
        CallerFault::Store(cause) => parties(cause),
    }
}

/// A call by name that was not done.
pub(super) fn not_called(cause: &RpcFault) -> Verdict {
    let row = |kind| Verdict::new(StatusCode::UNPROCESSABLE_ENTITY, kind, cause.to_string());
    match cause {
        RpcFault::NotACall => Verdict::new(StatusCode::BAD_REQUEST, outcome::STRUCTURE, cause.to_string()),
        RpcFault::UnknownMethod(_) => row(outcome::NOT_SUPPORTED),
        RpcFault::LaunchUri(LaunchUriFault::Store(cause)) => parties(cause),
        RpcFault::LaunchUri(LaunchUriFault::Sign(_)) => internal(),
        RpcFault::LaunchUri(
            LaunchUriFault::Malformed(_)
            | LaunchUriFault::UnknownClient
            | LaunchUriFault::NotLaunchable
            | LaunchUriFault::UnknownUser
            | LaunchUriFault::UnknownPatient
            | LaunchUriFault::OtherIssuer { .. },
        ) => row(outcome::INVALID),
    }
}

/// A caller who may not.
pub(super) fn denied(cause: &Denied) -> Verdict {
    match cause {
        Denied::Unauthenticated => {
            Verdict::new(StatusCode::UNAUTHORIZED, outcome::UNAUTHORIZED, "Authentication is required")
                .oauth("invalid_client")
                .challenge(Challenge::Bearer)
        }
        Denied::InsufficientScope { needed } => {
            let text = format!("The access token lacks a scope that permits this: {needed}");
            Verdict::new(StatusCode::FORBIDDEN, outcome::FORBIDDEN, text)
                .oauth("insufficient_scope")
                .challenge(Challenge::InsufficientScope(needed.clone()))
        }
        Denied::UnappliedQuery { needed, .. } => {
            Verdict::new(StatusCode::FORBIDDEN, outcome::FORBIDDEN, cause.to_string())
                .oauth("insufficient_scope")
                .challenge(Challenge::InsufficientScope(needed.clone()))
        }
        // The platform's own word, and no more: which policy was missing is no caller's business.
        Denied::Forbidden => {
            Verdict::new(StatusCode::FORBIDDEN, outcome::FORBIDDEN, "Forbidden").oauth("access_denied")
        }
        Denied::Store(cause) => parties(cause),
    }
}
