//! The one table from cause to status, code and text.
//!
//! A handler answers an [`ApiError`]; the outermost layer turns it into the body of the face the path
//! belongs to: a page where people are, RFC 6749 JSON elsewhere under `/auth`, an `OperationOutcome`
//! everywhere else. Failures of the server
//! itself are logged there, once, and nothing of them reaches the caller.

mod migrations;
mod oauth;
mod packages;
mod page;
mod payer;
mod resources;
mod rpc;
mod service;
mod verdict;

use std::error::Error;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use fhir_service::error::{ServiceError, UnreadableResourceError};
use fhir_store::{bundle, operation_outcome};
use http::StatusCode;
use oauth_core::access::AccessError;
use oauth_core::authorization_endpoint::AuthorizationPageError;
use oauth_core::introspection::IntrospectionError;
use oauth_core::resource_caller::CallerAuthenticationError;
use oauth_core::sign_in::SignInError;
use oauth_core::token_endpoint::TokenError;
use serde_json::Value;

pub(crate) use oauth::{CredentialsLocation, label};
pub(crate) use page::CsrfError;
pub(crate) use rpc::{CALLS_MAX, GET_LAUNCH_URI, RpcError};
pub(crate) use verdict::{AuthenticateChallenge, ErrorResponse};

/// The reason why a request was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    /// The FHIR service did not do it.
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error("there is nothing at this address")]
    UnknownRoute,
    #[error("the address does not take this method")]
    MethodNotAllowed,
    #[error("the body is larger than {limit_bytes} bytes")]
    TooLarge { limit_bytes: usize },
    #[error("the body has more than {limit} values")]
    TooManyValues { limit: usize },
    #[error("the body ended before it was complete")]
    BodyBroken,
    #[error("the body took too long")]
    BodyLate,
    #[error("too many large bodies are being worked on")]
    Crowded,
    #[error(
        "the body has to be JSON: application/json, application/fhir+json, application/merge-patch+json or \
         application/json-patch+json"
    )]
    MediaType,
    #[error("answers here are application/fhir+json; neither Accept nor _format may ask for anything else")]
    NotAcceptable,
    #[error("the body has to be application/x-www-form-urlencoded")]
    NotAForm,
    #[error("the body is not valid JSON: {0}")]
    Json(serde_json::Error),
    #[error("an object has a member whose name no element can have")]
    ReservedName,
    #[error("the header {0} is malformed")]
    Header(&'static str),
    #[error("If-None-Exist belongs to a POST; any other write takes If-Match")]
    ConditionOnPut,
    #[error("{0}")]
    Unidentified(#[from] CallerAuthenticationError),
    #[error("{cause}")]
    Token {
        #[source]
        cause: TokenError,
        credentials: CredentialsLocation,
    },
    #[error("{cause}")]
    Introspection {
        #[source]
        cause: IntrospectionError,
        credentials: CredentialsLocation,
    },
    #[error("too many requests; try again in {retry_after_s} s")]
    Throttled { retry_after_s: u64 },
    #[error("the server is not ready")]
    NotReady,
    #[error("a handler panicked: {0}")]
    Panicked(String),
    #[error("{0}")]
    Authorize(AuthorizationPageError),
    #[error("{0}")]
    SignIn(SignInError),
    #[error("{0}")]
    Rpc(#[from] RpcError),
    #[error("{0}")]
    Form(#[from] CsrfError),
    #[error("a page cannot be written")]
    Unrendered(#[source] askama::Error),
    #[error("an address to go on to cannot be written")]
    Location,
}

impl From<AccessError> for ApiError {
    fn from(cause: AccessError) -> Self {
        ServiceError::from(cause).into()
    }
}

impl From<UnreadableResourceError> for ApiError {
    fn from(cause: UnreadableResourceError) -> Self {
        ServiceError::from(cause).into()
    }
}

impl From<fhir_store::StoreError> for ApiError {
    fn from(cause: fhir_store::StoreError) -> Self {
        ServiceError::from(cause).into()
    }
}

impl From<oauth_core::ports::StoreError> for ApiError {
    fn from(cause: oauth_core::ports::StoreError) -> Self {
        ServiceError::from(cause).into()
    }
}

/// Returns the answer to an entry of a batch that failed, and logs a failure of the server.
pub(crate) fn failed_entry(cause: ServiceError) -> Value {
    let fault = ApiError::from(cause);
    fault.report();
    let verdict = fault.verdict();
    bundle::failed_batch_entry(verdict.status.as_u16(), verdict.outcome_body())
}

impl ApiError {
    /// Returns the row of the table.
    pub(crate) fn verdict(&self) -> ErrorResponse {
        let row = |status, kind| ErrorResponse::new(status, kind, self.to_string());
        match self {
            Self::Service(cause) => service::refused(cause),
            Self::UnknownRoute => row(StatusCode::NOT_FOUND, operation_outcome::NOT_FOUND),
            Self::MethodNotAllowed => row(StatusCode::METHOD_NOT_ALLOWED, operation_outcome::METHOD_NOT_SUPPORTED),
            Self::TooLarge { .. } | Self::TooManyValues { .. } => {
                row(StatusCode::PAYLOAD_TOO_LARGE, operation_outcome::BODY_TOO_LARGE)
            }
            Self::BodyLate => row(StatusCode::REQUEST_TIMEOUT, operation_outcome::BAD_REQUEST),
            Self::Crowded => row(StatusCode::SERVICE_UNAVAILABLE, operation_outcome::UNAVAILABLE).retry_after(5),
            // A format that is not spoken here: 406 where it was asked for, 415 where it was sent.
            Self::NotAcceptable => row(StatusCode::NOT_ACCEPTABLE, operation_outcome::METHOD_NOT_SUPPORTED),
            Self::MediaType => row(StatusCode::UNSUPPORTED_MEDIA_TYPE, operation_outcome::METHOD_NOT_SUPPORTED),
            Self::BodyBroken | Self::NotAForm | Self::Json(_) | Self::ReservedName => {
                row(StatusCode::BAD_REQUEST, operation_outcome::MALFORMED_BODY)
            }
            Self::Header(_) | Self::ConditionOnPut => row(StatusCode::BAD_REQUEST, operation_outcome::BAD_REQUEST),
            Self::Unidentified(cause) => resources::unidentified(cause),
            Self::Token { cause, credentials } => oauth::refused(cause, *credentials),
            Self::Introspection { cause, credentials } => oauth::not_introspected(cause, *credentials),
            Self::Throttled { retry_after_s } => throttled(self.to_string(), *retry_after_s),
            Self::NotReady => not_ready(row),
            Self::Authorize(cause) => page::not_authorized(*cause),
            Self::Form(cause) => page::not_believed(*cause),
            Self::SignIn(cause) => page::not_signed_in(cause),
            Self::Rpc(cause) => rpc::not_called(cause),
            Self::Panicked(_) | Self::Unrendered(_) | Self::Location => internal(),
        }
    }

    /// Returns the answer of a list of calls to one that could not be done.
    pub(crate) fn into_rpc(self) -> Value {
        self.report();
        self.verdict().rpc_body()
    }

    /// Returns the fault in one line for the operator, with what callers do not see.
    pub(crate) fn for_operator(&self) -> String {
        let verdict = self.verdict();
        if verdict.status.is_server_error() { chain(self) } else { issues_in_words(&verdict.outcome_body()) }
    }

    /// Logs what a person has to act on. Everything else is the caller's business, and stands in the answer.
    pub(crate) fn report(&self) {
        let cause = || chain(self);
        match self.verdict().status {
            StatusCode::INTERNAL_SERVER_ERROR => tracing::error!(cause = cause(), "the server failed"),
            StatusCode::SERVICE_UNAVAILABLE => tracing::warn!(cause = cause(), "the server is too busy"),
            _ => {}
        }
    }

    /// Logs why a member sees an error page, under the reference that the page names. A failure is logged already.
    pub(crate) fn report_page(&self) {
        let status = self.verdict().status;
        if !matches!(status, StatusCode::INTERNAL_SERVER_ERROR | StatusCode::SERVICE_UNAVAILABLE) {
            tracing::info!(status = status.as_u16(), cause = chain(self), "an error page was shown");
        }
    }
}

/// 503, until the server has done what it does before it serves.
fn not_ready(row: impl Fn(StatusCode, operation_outcome::IssueKind) -> ErrorResponse) -> ErrorResponse {
    row(StatusCode::SERVICE_UNAVAILABLE, operation_outcome::UNAVAILABLE).oauth("temporarily_unavailable")
}

/// 429. The code is the one token endpoints in the field send; RFC 6749 has none.
fn throttled(text: String, retry_after_s: u64) -> ErrorResponse {
    ErrorResponse::new(StatusCode::TOO_MANY_REQUESTS, operation_outcome::THROTTLED, text)
        .oauth("temporarily_unavailable")
        .retry_after(retry_after_s)
}

/// 500, with nothing in it that the log has.
fn internal() -> ErrorResponse {
    let text = "The server failed; its log has the reason under the x-request-id of this answer";
    ErrorResponse::new(StatusCode::INTERNAL_SERVER_ERROR, operation_outcome::INTERNAL_ERROR, text).oauth("server_error")
}

/// An error and its sources, outermost first.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}

/// Returns the issues of an `OperationOutcome`, each with its place.
pub(crate) fn issues_in_words(outcome: &Value) -> String {
    let issues = outcome.get("issue").and_then(Value::as_array);
    let told = issues.into_iter().flatten().map(|issue| {
        let diagnostics = issue.get("diagnostics").and_then(Value::as_str).unwrap_or_default();
        match issue.pointer("/expression/0").and_then(Value::as_str) {
            Some(place) => format!("{place}: {diagnostics}"),
            None => diagnostics.to_owned(),
        }
    });
    told.collect::<Vec<_>>().join("; ")
}

/// Carries a fault from the handler to the outermost layer.
#[derive(Clone)]
struct Raised(Arc<ApiError>);

/// Takes the fault out of a response that carries one.
pub(crate) fn take_fault(response: &mut Response) -> Option<Arc<ApiError>> {
    response.extensions_mut().remove::<Raised>().map(|Raised(fault)| fault)
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.verdict().status;
        response.extensions_mut().insert(Raised(Arc::new(self)));
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_too_busy_is_503_and_says_when_to_try_again() {
        let busy = || fhir_store::StoreError::Busy("no connection in time".into());
        let parties = || oauth_core::ports::StoreError(Box::new(busy()));
        let faults: [fn(fhir_store::StoreError) -> ApiError; 4] = [
            ApiError::from,
            |busy| ApiError::from(oauth_core::ports::StoreError(Box::new(busy))),
            |busy| ApiError::from(AccessError::Store(oauth_core::ports::StoreError(Box::new(busy)))),
            |busy| ApiError::Token {
                cause: TokenError::Store(oauth_core::ports::StoreError(Box::new(busy))),
                credentials: CredentialsLocation::Form,
            },
        ];
        for fault in faults {
            let verdict = fault(busy()).verdict();
            let mut headers = http::HeaderMap::new();
            verdict.add_headers(&mut headers, "https://a.example");
            assert_eq!(
                (verdict.status, headers["retry-after"].to_str().unwrap()),
                (StatusCode::SERVICE_UNAVAILABLE, "5")
            );
            assert!(!verdict.outcome_body().to_string().contains("connection"));
        }
        let verdict = ApiError::from(parties()).verdict();
        assert_eq!(
            (verdict.status.as_u16(), &verdict.oauth_body()["error"]),
            (503, &Value::from("temporarily_unavailable"))
        );
        let broken = fhir_store::StoreError::Failed("a bug".into());
        assert_eq!(ApiError::from(broken).verdict().status, StatusCode::INTERNAL_SERVER_ERROR);
    }

    #[test]
    fn a_database_that_is_gone_is_503_and_says_when_to_try_again() {
        let gone = || fhir_store::StoreError::Unavailable("connection refused".into());
        let parties = ApiError::from(oauth_core::ports::StoreError(Box::new(gone())));
        for fault in [ApiError::from(gone()), parties] {
            let verdict = fault.verdict();
            let mut headers = http::HeaderMap::new();
            verdict.add_headers(&mut headers, "https://a.example");
            assert_eq!((verdict.status.as_u16(), headers["retry-after"].to_str().unwrap()), (503, "5"));
            assert!(!verdict.outcome_body().to_string().contains("refused"));
            assert_eq!(verdict.oauth_body()["error"], "temporarily_unavailable");
        }
    }

    #[test]
    fn a_failure_is_logged_with_all_its_causes() {
        let engine = fhir_store::StoreError::Unavailable("connection refused".into());
        let text = chain(&ApiError::from(engine));
        assert_eq!(text, "the store of resources failed: the store is not available: connection refused");
    }
}
