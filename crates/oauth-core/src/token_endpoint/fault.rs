//! Why there is no token.

use super::subject::SubjectTokenError;
use crate::client_authentication::{AmbiguousCredentialsError, ClientAuthenticationError};
use crate::form_fields::RepeatedFieldError;
use crate::jose::SigningError;
use crate::limits::ACCESS_TOKEN_MAX_BYTES;
use crate::ports::StoreError;

/// The reason why no token was issued, each with its `error` code of RFC 6749, section 5.2.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// A parameter is given twice: `invalid_request`.
    #[error(transparent)]
    Repeated(#[from] RepeatedFieldError),
    /// A parameter is missing: `invalid_request`.
    #[error("the parameter {0} is missing")]
    Missing(&'static str),
    /// The credentials are not of one kind: `invalid_request`.
    #[error(transparent)]
    Credentials(#[from] AmbiguousCredentialsError),
    /// A parameter has a value that is not taken: `invalid_request`.
    #[error("the parameter {name} {expected}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// The token to be exchanged fails a check: `invalid_request` (RFC 8693, section 2.2.2).
    #[error(transparent)]
    Subject(#[from] SubjectTokenError),
    /// `audience` or `resource` is another service: `invalid_target` (RFC 8693, section 2.2.2).
    #[error("{name}: tokens are issued for {expected} alone")]
    Target {
        /// The parameter.
        name: &'static str,
        /// `{base_url}/fhir`.
        expected: String,
    },
    /// The client did not prove who it is: `invalid_client`.
    #[error("{0}")]
    Client(ClientAuthenticationError),
    /// Unknown `grant_type`: `unsupported_grant_type`.
    #[error("the grant type {0} is not supported")]
    UnsupportedGrant(String),
    /// The client is not registered for the grant: `unauthorized_client`.
    #[error("the client is not registered for this grant type")]
    UnauthorizedClient,
    /// A requested scope is malformed: `invalid_scope`.
    #[error("scope: {0}")]
    MalformedScope(String),
    /// A requested scope is outside the registration: `invalid_scope`.
    #[error("scope: the client is not registered for {0}")]
    ScopeNotAllowed(String),
    /// Nothing is left to grant: `invalid_scope`.
    #[error("scope: nothing the client is registered for can be granted")]
    NoScope,
    /// A requested scope does not exist in this grant: `invalid_scope`.
    #[error("scope: {0} needs a person who authorizes it; this grant gives system/ scopes")]
    ScopeNeedsUser(String),
    /// The token would be longer than what is accepted: `invalid_scope`, because its scopes make it so.
    #[error(
        "scope: with all that was granted the access token would be {size_bytes} bytes long, and at most {max} are \
         accepted: request fewer scopes, or register token_format opaque",
        max = ACCESS_TOKEN_MAX_BYTES
    )]
    TooLong {
        /// Of the token, in bytes.
        size_bytes: usize,
    },
    /// A requested scope is more than the person granted: `invalid_scope`.
    #[error("scope: {0} was not granted; leave the parameter out to get what was")]
    ScopeNotGranted(String),
    /// The code, refresh token, password or person is not what it takes: `invalid_grant`.
    #[error(transparent)]
    Grant(#[from] InvalidGrantError),
    /// Too many passwords were tried for this account, or secrets for this client, or too many people sign in at this
    /// moment.
    #[error("too many attempts; try again in {retry_after_s} s")]
    TooManyAttempts {
        /// Seconds.
        retry_after_s: u64,
    },
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Signing failed.
    #[error(transparent)]
    Sign(#[from] SigningError),
    /// The Client changed again and again while its request was being answered.
    #[error("the client's registration changes too fast")]
    Unsettled,
}

impl TokenError {
    /// Returns the `error` of the answer (RFC 6749, section 5.2; specification, OAuth errors).
    #[must_use]
    pub const fn error_code(&self) -> &'static str {
        match self {
            Self::Repeated(_) | Self::Missing(_) | Self::Credentials(_) | Self::Parameter { .. } | Self::Subject(_) => {
                "invalid_request"
            }
            Self::Target { .. } => "invalid_target",
            Self::Client(_) => "invalid_client",
            Self::UnsupportedGrant(_) => "unsupported_grant_type",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::MalformedScope(_)
            | Self::ScopeNotAllowed(_)
            | Self::NoScope
            | Self::ScopeNeedsUser(_)
            | Self::ScopeNotGranted(_)
            | Self::TooLong { .. } => "invalid_scope",
            Self::Grant(_) => "invalid_grant",
            Self::Store(_) | Self::Sign(_) => "server_error",
            Self::Unsettled | Self::TooManyAttempts { .. } => "temporarily_unavailable",
        }
    }
}

impl From<ClientAuthenticationError> for TokenError {
    fn from(fault: ClientAuthenticationError) -> Self {
        match fault {
            ClientAuthenticationError::Store(error) => Self::Store(error),
            ClientAuthenticationError::TooManyAttempts { retry_after_s } => Self::TooManyAttempts { retry_after_s },
            other => Self::Client(other),
        }
    }
}

/// The reason why a code, refresh token or password is refused: `invalid_grant`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGrantError {
    /// No such code, or one that was forgotten long after its end.
    #[error("the authorization code is unknown")]
    UnknownCode,
    /// Sixty seconds are over.
    #[error("the authorization code expired")]
    ExpiredCode,
    /// Redeemed before; what it gave has ended.
    #[error("the authorization code was used before; the tokens it gave have been revoked")]
    UsedCode,
    /// The code or refresh token is another app's.
    #[error("the grant was issued to another client")]
    OtherClient,
    /// Not the address the code was sent to.
    #[error("redirect_uri is not the one of the authorization request")]
    RedirectUri,
    /// It does not answer the challenge.
    #[error("code_verifier does not answer the code_challenge of the authorization request")]
    Verifier,
    /// There was no challenge that a verifier could answer, or that a public app must have sent.
    #[error("the authorization request had no code_challenge")]
    NoChallenge,
    /// The person took the grant back.
    #[error("the authorization was withdrawn")]
    Withdrawn,
    /// No such refresh token, or one whose authorization was withdrawn.
    #[error("the refresh token is unknown")]
    UnknownRefreshToken,
    /// Used twice with more than the grace time between.
    #[error("the refresh token was used before; its successors have been revoked")]
    Reused,
    /// Revoked, or its time is over.
    #[error("the refresh token expired or was revoked")]
    Ended,
    /// No such person, or another password: the caller does not learn which.
    #[error("the name or the password is wrong")]
    Password,
    /// The password is right, and the User is registered with a second factor.
    #[error("the user needs a second factor, which this server does not support")]
    SecondFactor,
    /// The User was deleted.
    #[error("the user no longer exists")]
    PersonGone,
    /// `active` is false, or `inactive` true.
    #[error("User is inactive")]
    PersonInactive,
    /// The password is another one since.
    #[error("the user's password was changed after the authorization")]
    OtherPassword,
    /// `fhirUser` names somebody else since, or nobody.
    #[error("the user is not the person any more who gave the authorization")]
    OtherPerson,
    /// The relation to the patient is over, or no policy lets the person read the patient any more.
    #[error("the user may not act for the patient any more")]
    NoLongerActing,
    /// The Client is registered for nothing of what was granted any more.
    #[error("the client is not registered any more for anything that was granted")]
    ScopesGone,
}

impl InvalidGrantError {
    /// Returns whether the authorization is over for good: who gave it cannot have meant the tokens to come back when
    /// what was lost comes back. A person or an app that is only put to sleep may wake up.
    pub(super) const fn is_final(self) -> bool {
        matches!(self, Self::PersonGone | Self::OtherPassword | Self::OtherPerson | Self::NoLongerActing)
    }
}
