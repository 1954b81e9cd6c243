//! The rows of the table about the OAuth endpoints.
//!
//! # Source
//! Specification, OAuth errors: 400 also for `invalid_client`. RFC 6749, section 5.2, which adds
//! the challenge when the client tried the `Authorization` header.

use fhir_store::operation_outcome;
use http::StatusCode;
use oauth_core::client_authentication::ClientAuthenticationError;
use oauth_core::introspection::IntrospectionError;
use oauth_core::token_endpoint::TokenError;

use super::resources::parties;
use super::{AuthenticateChallenge, ErrorResponse, internal};

/// Where the client put its credentials: it decides whether a refusal carries a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CredentialsLocation {
    /// In the `Authorization` header.
    Header,
    /// In the form, if anywhere.
    Form,
}

/// The reason why there is no token, or no revocation.
pub(super) fn refused(cause: &TokenError, credentials: CredentialsLocation) -> ErrorResponse {
    let row = |error| {
        ErrorResponse::new(StatusCode::BAD_REQUEST, operation_outcome::BAD_REQUEST, cause.to_string()).oauth(error)
    };
    match cause {
        TokenError::Repeated(_)
        | TokenError::Missing(_)
        | TokenError::Credentials(_)
        | TokenError::Parameter { .. }
        | TokenError::Subject(_)
        | TokenError::Target { .. }
        | TokenError::UnsupportedGrant(_)
        | TokenError::UnauthorizedClient
        | TokenError::MalformedScope(_)
        | TokenError::ScopeNotAllowed(_)
        | TokenError::NoScope
        | TokenError::ScopeNeedsUser(_)
        | TokenError::ScopeNotGranted(_)
        | TokenError::TooLong { .. }
        | TokenError::Grant(_) => row(cause.error_code()),
        TokenError::Client(fault) => client(fault, credentials),
        TokenError::TooManyAttempts { retry_after_s } => {
            ErrorResponse::new(StatusCode::TOO_MANY_REQUESTS, operation_outcome::THROTTLED, cause.to_string())
                .oauth(cause.error_code())
                .retry_after(*retry_after_s)
        }
        TokenError::Unsettled => {
            ErrorResponse::new(StatusCode::SERVICE_UNAVAILABLE, operation_outcome::UNAVAILABLE, cause.to_string())
                .oauth("temporarily_unavailable")
                .retry_after(1)
        }
        TokenError::Store(cause) => parties(cause),
        TokenError::Sign(_) => internal(),
    }
}

fn client(cause: &ClientAuthenticationError, credentials: CredentialsLocation) -> ErrorResponse {
    let row = ErrorResponse::new(StatusCode::BAD_REQUEST, operation_outcome::UNAUTHORIZED, cause.to_string())
        .oauth("invalid_client");
    match cause {
        ClientAuthenticationError::NoCredentials
        | ClientAuthenticationError::Rejected { .. }
        | ClientAuthenticationError::Assertion { .. }
        | ClientAuthenticationError::UnknownSubject { .. } => match credentials {
            CredentialsLocation::Header => row.challenge(AuthenticateChallenge::Basic),
            CredentialsLocation::Form => row,
        },
        ClientAuthenticationError::TooManyAttempts { retry_after_s } => {
            ErrorResponse::new(StatusCode::TOO_MANY_REQUESTS, operation_outcome::THROTTLED, cause.to_string())
                .oauth("temporarily_unavailable")
                .retry_after(*retry_after_s)
        }
        ClientAuthenticationError::Store(cause) => parties(cause),
    }
}

/// The reason why a token was not introspected.
pub(super) fn not_introspected(cause: &IntrospectionError, credentials: CredentialsLocation) -> ErrorResponse {
    match cause {
        IntrospectionError::Unauthenticated => {
            ErrorResponse::new(StatusCode::UNAUTHORIZED, operation_outcome::UNAUTHORIZED, cause.to_string())
                .oauth("invalid_client")
                .challenge(AuthenticateChallenge::Basic)
        }
        IntrospectionError::Request(fault) => refused(fault, credentials),
        IntrospectionError::Store(cause) => parties(cause),
    }
}

/// Returns the `cause` label of a refusal's counter. Few and fixed: a label made of what a stranger sends would grow
/// without bound.
pub(crate) const fn label(cause: &TokenError) -> &'static str {
    match cause {
        TokenError::Repeated(_)
        | TokenError::Missing(_)
        | TokenError::Credentials(_)
        | TokenError::Parameter { .. }
        | TokenError::Target { .. } => "invalid_request",
        TokenError::Subject(_) => "subject_token",
        TokenError::Client(ClientAuthenticationError::Assertion { .. }) => "assertion",
        TokenError::Client(_) => "client",
        TokenError::UnsupportedGrant(_) => "unsupported_grant",
        TokenError::UnauthorizedClient => "unauthorized_client",
        TokenError::MalformedScope(_)
        | TokenError::ScopeNotAllowed(_)
        | TokenError::NoScope
        | TokenError::ScopeNeedsUser(_)
        | TokenError::ScopeNotGranted(_)
        | TokenError::TooLong { .. } => "scope",
        TokenError::Grant(_) | TokenError::TooManyAttempts { .. } => "grant",
        TokenError::Unsettled | TokenError::Store(_) | TokenError::Sign(_) => "failure",
    }
}
