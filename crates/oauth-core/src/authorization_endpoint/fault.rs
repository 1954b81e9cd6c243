//! Why a person is not led on: a page where the redirect target is not trusted, a redirect where it is.

use smart_scopes::ScopeParseError;

use super::ClientRedirect;
use crate::jose::SigningError;
use crate::launch::LaunchContextError;
use crate::ports::StoreError;
use crate::token_endpoint::TokenError;

/// The reason why an authorization request ended without a code.
#[derive(Debug, thiserror::Error)]
pub enum AuthorizationRequestError {
    /// Shown to the person on a page of ours; nothing goes to the app.
    #[error("{0}")]
    Page(#[from] AuthorizationPageError),
    /// Told to the app, by a redirect to its registered address.
    #[error("{cause}")]
    Redirect {
        /// Where the browser goes.
        departure: ClientRedirect,
        /// Why.
        #[source]
        cause: Box<AuthorizationRedirectError>,
    },
    /// Storage failed before the redirect target was known to be the app's.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An authorization error that is shown on a page, with status 400, because the app cannot be trusted with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuthorizationPageError {
    /// `client_id` is missing, repeated, or nobody's.
    #[error("the app is not known here")]
    UnknownApp,
    /// The Client is not active.
    #[error("the app is not active")]
    InactiveApp,
    /// `redirect_uri` is missing, repeated, or not the registered one to the letter.
    #[error("the app asks for an answer at an address that is not registered for it")]
    RedirectUri,
    /// The transaction is damaged, or it is another server's.
    #[error("the request cannot be read any more; start again from the app")]
    Transaction,
    /// The transaction is older than its limit.
    #[error("the request took too long; start again from the app")]
    TransactionExpired,
    /// The patient is not one of those who were offered.
    #[error("this patient cannot be chosen")]
    Patient,
}

/// The `error` with which an authorization request is redirected to the app instead of a code (RFC 6749, section
/// 4.1.2.1).
///
/// # Source
/// RFC 6749, section 4.1.2.1; OpenID Connect Core 1.0, section 3.1.2.6.
#[derive(Debug, thiserror::Error)]
pub enum AuthorizationRedirectError {
    /// A parameter was sent twice.
    #[error("the parameter {0} is given more than once")]
    Repeated(String),
    /// The request is in a JWT (OpenID Connect Core 1.0, section 6.1).
    #[error("the parameter request is not supported; send each parameter by itself")]
    RequestObject,
    /// The request is somewhere else (OpenID Connect Core 1.0, section 6.2).
    #[error("the parameter request_uri is not supported; send each parameter by itself")]
    RequestUri,
    /// A parameter is missing.
    #[error("the parameter {0} is missing")]
    Missing(&'static str),
    /// `response_type` is none this server knows.
    #[error("response_type must be code, or token for a client that is registered for it")]
    ResponseType,
    /// `response_mode` is not the one of the response type.
    #[error("response_mode must be {0} for this response_type, or left out")]
    ResponseMode(&'static str),
    /// The Client is not registered for the grant.
    #[error("the client is not registered for this response_type")]
    UnauthorizedClient,
    /// `state` is longer than its limit.
    #[error("the parameter state is longer than {} bytes", super::limits::STATE_MAX_BYTES)]
    StateTooLong,
    /// `aud` is not the FHIR base.
    #[error("aud must be the FHIR base address {expected}")]
    Audience {
        /// `{base_url}/fhir`.
        expected: String,
    },
    /// `code_challenge` is missing although it is compulsory.
    #[error("code_challenge is missing: this client must use PKCE with S256")]
    NoChallenge,
    /// `code_challenge_method` is missing or not `S256`.
    #[error("code_challenge_method must be S256")]
    ChallengeMethod,
    /// `code_challenge` is not the base64url text of a SHA-256.
    #[error("code_challenge must be the 43 characters of base64url that S256 gives")]
    Challenge,
    /// A parameter has a value it cannot have.
    #[error("the parameter {0} is malformed")]
    Malformed(&'static str),
    /// `scope` cannot be read.
    #[error("scope: {0}")]
    MalformedScope(ScopeParseError),
    /// Nothing that was asked for can be granted to this Client.
    #[error("scope: the client is registered for none of the requested scopes")]
    NoScope,
    /// The scope `launch` without the parameter.
    #[error("the scope launch needs the parameter launch; use launch/patient for a standalone launch")]
    LaunchMissing,
    /// The launch context is not good.
    #[error("launch: {0}")]
    Launch(LaunchContextError),
    /// `prompt=none`, and nobody is signed in.
    #[error("nobody is signed in, and prompt=none forbids to ask")]
    LoginRequired,
    /// `prompt=none`, and consent is missing.
    #[error("the person has not allowed this, and prompt=none forbids to ask")]
    ConsentRequired,
    /// `prompt=none`, and a patient must be chosen.
    #[error("a patient must be chosen, and prompt=none forbids to ask")]
    InteractionRequired,
    /// The person pressed Deny.
    #[error("the person denied the request")]
    Denied,
    /// The person allowed nothing of what was asked for.
    #[error("the person allowed nothing of what was requested")]
    NothingAllowed,
    /// The app needs a patient, and there is none the person may act for.
    #[error("there is no patient this person may act for")]
    NoPatient,
    /// The launch is for another person than the one who signed in.
    #[error("another person signed in than the one the app was launched for")]
    OtherUser,
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Signing failed.
    #[error(transparent)]
    Sign(#[from] SigningError),
    /// The Client or the User changed again and again while the request was being answered.
    #[error("the registration changes too fast")]
    Unsettled,
    /// No token could be issued (`response_type=token`).
    #[error(transparent)]
    Token(Box<TokenError>),
}

impl AuthorizationRedirectError {
    /// Returns the `error` of the redirect.
    #[must_use]
    pub fn error_code(&self) -> &'static str {
        match self {
            Self::Repeated(_)
            | Self::Missing(_)
            | Self::ResponseMode(_)
            | Self::StateTooLong
            | Self::Audience { .. }
            | Self::NoChallenge
            | Self::ChallengeMethod
            | Self::Challenge
            | Self::Malformed(_)
            | Self::LaunchMissing
            | Self::Launch(_) => "invalid_request",
            Self::RequestObject => "request_not_supported",
            Self::RequestUri => "request_uri_not_supported",
            Self::ResponseType => "unsupported_response_type",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::MalformedScope(_) | Self::NoScope => "invalid_scope",
            Self::LoginRequired => "login_required",
            Self::ConsentRequired => "consent_required",
            Self::InteractionRequired => "interaction_required",
            Self::Denied | Self::NothingAllowed | Self::NoPatient | Self::OtherUser => "access_denied",
            Self::Store(error) if error.is_transient() => "temporarily_unavailable",
            Self::Store(_) | Self::Sign(_) => "server_error",
            Self::Unsettled => "temporarily_unavailable",
            Self::Token(error) => error.error_code(),
        }
    }

    /// Returns the `error_description`: never the inner text of a failure of ours.
    #[must_use]
    pub fn error_description(&self) -> String {
        match self {
            Self::Store(error) if error.is_transient() => "the server is too busy; try again".to_owned(),
            Self::Store(_) | Self::Sign(_) => "the server failed".to_owned(),
            Self::Token(error) if error.error_code() == "server_error" => "the server failed".to_owned(),
            other => crate::form_fields::sanitize_for_error_description(&other.to_string()),
        }
    }

    /// Returns whether the server is at fault, so that it has to be logged.
    #[must_use]
    pub fn is_server_failure(&self) -> bool {
        matches!(self.error_code(), "server_error")
    }
}
