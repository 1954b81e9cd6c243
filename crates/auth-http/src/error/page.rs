//! The rows of the table about pages.

use fhir_store::operation_outcome;
use http::StatusCode;
use oauth_core::authorization_endpoint::AuthorizationPageError;
use oauth_core::sign_in::SignInError;

use super::ErrorResponse;
use super::resources::parties;

/// The reason why a form is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CsrfError {
    /// The browser reports that a page of another site sent it.
    #[error("the form was sent by a page of another site")]
    CrossSite,
    /// The CSRF token is missing, or was made for another form or browser.
    #[error("the form does not carry the mark of this browser's session")]
    Invalid,
    /// A required field is missing.
    #[error("a field of the form is missing")]
    Incomplete,
}

/// The reason why a sign-in failed. 403 for wrong credentials: 401 would have to name a scheme that a browser could ask
/// by (RFC 9110, section 15.5.2).
pub(super) fn not_signed_in(cause: &SignInError) -> ErrorResponse {
    let row = |status, kind| ErrorResponse::new(status, kind, cause.to_string());
    match cause {
        SignInError::Wrong | SignInError::Inactive | SignInError::SecondFactor => {
            row(StatusCode::FORBIDDEN, operation_outcome::FORBIDDEN).oauth("access_denied")
        }
        SignInError::TooMany { retry_after_s } => row(StatusCode::TOO_MANY_REQUESTS, operation_outcome::THROTTLED)
            .oauth("temporarily_unavailable")
            .retry_after(*retry_after_s),
        SignInError::Crowded { retry_after_s } => row(StatusCode::SERVICE_UNAVAILABLE, operation_outcome::UNAVAILABLE)
            .oauth("temporarily_unavailable")
            .retry_after(*retry_after_s),
        SignInError::Store(cause) => parties(cause),
    }
}

/// The reason why an authorization ended here and not at the app.
pub(super) fn not_authorized(cause: AuthorizationPageError) -> ErrorResponse {
    let row = ErrorResponse::new(StatusCode::BAD_REQUEST, operation_outcome::BAD_REQUEST, cause.to_string());
    match cause {
        AuthorizationPageError::UnknownApp | AuthorizationPageError::InactiveApp => row.oauth("invalid_client"),
        _ => row,
    }
}

/// The reason why a form was not believed.
pub(super) fn not_believed(cause: CsrfError) -> ErrorResponse {
    match cause {
        CsrfError::Incomplete => {
            ErrorResponse::new(StatusCode::BAD_REQUEST, operation_outcome::BAD_REQUEST, cause.to_string())
        }
        CsrfError::CrossSite | CsrfError::Invalid => {
            ErrorResponse::new(StatusCode::FORBIDDEN, operation_outcome::FORBIDDEN, cause.to_string())
                .oauth("access_denied")
        }
    }
}
