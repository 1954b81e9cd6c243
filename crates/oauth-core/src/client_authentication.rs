//! Client authentication at the token, introspection and revocation endpoints.
//!
//! # Source
//! RFC 6749, section 2.3; RFC 7523; specification, Authentication and POST /auth/token variants.

mod authenticator;

use std::net::IpAddr;
use std::sync::Arc;

use attempt_limits::password_attempt_limits::AttemptOrigin;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::client::{AccessTokenProfile, Client, JWT_BEARER_ASSERTION_TYPE};
use crate::client_assertion::{AssertionLogDetails, ClientAssertionError, UnverifiedClientAssertion};
use crate::form_fields::{FormFields, sanitize_for_error_description};
use crate::ports::{ExpiringJti, StoreError};
use crate::secret_attempts::AttemptPermit;

pub use authenticator::ClientAuthenticator;

/// The client credentials that one request presents, of exactly one kind.
#[derive(Debug)]
pub enum PresentedCredentials<'a> {
    /// `client_assertion`.
    Assertion(Box<UnverifiedClientAssertion<'a>>),
    /// An id and a secret, in the header or in the form.
    Secret(PresentedClientSecret),
    /// A `client_id` alone: what a public app sends.
    Public(&'a str),
    /// Nothing.
    None,
}

/// A client id with its client secret.
pub struct PresentedClientSecret {
    /// The pair as sent, and, when it differs, with both halves percent-decoded: RFC 6749, section
    /// 2.3.1 asks for that encoding, most clients leave it out.
    candidates: Vec<(String, String)>,
    address: Option<IpAddr>,
}

impl std::fmt::Debug for PresentedClientSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secret").field("client_id", &self.claimed_client_id()).finish_non_exhaustive()
    }
}

/// The reason why a request does not identify its client unambiguously: `invalid_request`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AmbiguousCredentialsError {
    /// More than one method (RFC 6749, section 2.3).
    #[error("the client authenticates in more than one way")]
    SeveralMethods,
    /// `client_assertion_type` is another one.
    #[error("client_assertion_type must be {JWT_BEARER_ASSERTION_TYPE}")]
    AssertionType,
    /// One of `client_assertion` and `client_assertion_type` without the other.
    #[error("client_assertion and client_assertion_type go together")]
    HalfAnAssertion,
    /// The header is not `Basic` with base64 of `id:secret`.
    #[error("the Authorization header is not Basic with base64 of client_id:client_secret")]
    Header,
    /// `client_secret` without `client_id`.
    #[error("client_secret is given without client_id")]
    NoClientId,
}

/// The reason why the authentication of a client failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientAuthenticationError {
    /// No credentials at all.
    #[error("the request carries no client credentials")]
    NoCredentials,
    /// Unknown id, wrong secret, inactive client, or a method it is not registered for: one text
    /// for all of them, so that an answer tells a stranger nothing. The reason is for the log.
    #[error("unknown or inactive client, wrong secret, or a method the client is not registered for")]
    Rejected {
        /// The id that was claimed, shortened to printable text.
        client_id: String,
        /// The reason, for the log.
        rejection: ClientRejectionReason,
    },
    /// The assertion failed a check.
    #[error("{fault}")]
    Assertion {
        /// Which check.
        #[source]
        fault: ClientAssertionError,
        /// What an operator wants to see.
        seen: Box<AssertionLogDetails>,
    },
    /// The assertion's subject is no active client.
    #[error("client_assertion: no active client {} is registered for assertions", seen.client)]
    UnknownSubject {
        /// What an operator wants to see.
        seen: Box<AssertionLogDetails>,
    },
    /// Wrong secrets of this client came from this address too often: the secret was not looked at.
    #[error("too many wrong secrets of this client from this address; try again in {retry_after_s} s")]
    TooManyAttempts {
        /// Seconds.
        retry_after_s: u64,
    },
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<AttemptPermit> for ClientAuthenticationError {
    fn from(held: AttemptPermit) -> Self {
        Self::TooManyAttempts { retry_after_s: held.wait_s }
    }
}

/// The reason behind [`ClientAuthenticationError::Rejected`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClientRejectionReason {
    /// There is no such client.
    #[error("there is no such client")]
    Unknown,
    /// `active` is false.
    #[error("the client is inactive")]
    Inactive,
    /// The secret is another one.
    #[error("the secret is wrong")]
    WrongSecret,
    /// The client has no secret.
    #[error("the client has no secret")]
    NoSecret,
    /// The client is registered for assertions and never falls back to a weaker method.
    #[error("the client is registered for assertions only")]
    MustAssert,
    /// The client's `grant_types` do not contain `basic`.
    #[error("the client is not registered for basic")]
    NotBasic,
    /// A confidential client sent its id alone.
    #[error("the client is confidential and sent no secret")]
    NotPublic,
}

/// A client that has authenticated.
#[derive(Debug, Clone)]
pub struct AuthenticatedClient {
    /// The client at the version the proof was checked against.
    pub client: Arc<Client>,
    /// The nonce of its assertion, still to be claimed.
    pub nonce: Option<ExpiringJti>,
    /// How it proved it.
    pub method: ClientAuthenticationMethod,
}

/// A method of client authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAuthenticationMethod {
    /// `private_key_jwt`.
    Assertion,
    /// `client_secret_basic` or `client_secret_post`.
    Secret,
    /// Not at all: a public app, whose code is proved to be its own by PKCE.
    Public,
}

impl<'a> PresentedCredentials<'a> {
    /// Reads the credentials of a request from its `Authorization` header and its form.
    ///
    /// # Errors
    /// [`AmbiguousCredentialsError`] for what is `invalid_request`; a malformed assertion is a
    /// [`ClientAuthenticationError::Assertion`] like every other fault of an assertion.
    pub fn from_header_and_form(
        authorization: Option<&str>,
        form: &'a FormFields,
    ) -> Result<Result<Self, ClientAuthenticationError>, AmbiguousCredentialsError> {
        let client_id = form.get("client_id");
        let methods =
            [authorization.is_some(), form.get("client_secret").is_some(), form.get("client_assertion").is_some()];
        if methods.into_iter().filter(|used| *used).count() > 1 {
            return Err(AmbiguousCredentialsError::SeveralMethods);
        }
        match (form.get("client_assertion"), form.get("client_assertion_type")) {
            (None, None) => {}
            (_, Some(kind)) if kind != JWT_BEARER_ASSERTION_TYPE => {
                return Err(AmbiguousCredentialsError::AssertionType);
            }
            (Some(text), Some(_)) => return Ok(Self::assertion(text, client_id)),
            _ => return Err(AmbiguousCredentialsError::HalfAnAssertion),
        }
        if let Some(header) = authorization {
            return PresentedClientSecret::from_basic_header(header, client_id).map(|secret| Ok(Self::Secret(secret)));
        }
        Ok(Ok(match (client_id, form.get("client_secret")) {
            (Some(id), Some(secret)) => Self::Secret(PresentedClientSecret {
                candidates: vec![(id.to_owned(), secret.to_owned())],
                address: None,
            }),
            (None, Some(_)) => return Err(AmbiguousCredentialsError::NoClientId),
            (Some(id), None) => Self::Public(id),
            (None, None) => Self::None,
        }))
    }

    fn assertion(text: &'a str, client_id: Option<&str>) -> Result<Self, ClientAuthenticationError> {
        let refused = |fault| ClientAuthenticationError::Assertion {
            fault,
            seen: Box::new(AssertionLogDetails::from_unparsed_text(text)),
        };
        let assertion = UnverifiedClientAssertion::parse(text).map_err(refused)?;
        if client_id.is_some_and(|id| id != assertion.subject()) {
            return Err(ClientAuthenticationError::Assertion {
                fault: ClientAssertionError::OtherClientId,
                seen: Box::new(assertion.log_details()),
            });
        }
        Ok(Self::Assertion(Box::new(assertion)))
    }

    /// Returns these credentials with the network address that they came from; `None` when it is unknown.
    #[must_use]
    pub fn with_source_address(self, address: Option<&str>) -> Self {
        match self {
            Self::Secret(secret) => Self::Secret(secret.with_source_address(address)),
            other => other,
        }
    }

    /// Returns the id they claim.
    #[must_use]
    pub fn claimed_client_id(&self) -> Option<&str> {
        match self {
            Self::Assertion(assertion) => Some(assertion.subject()),
            Self::Secret(secret) => secret.claimed_client_id(),
            Self::Public(id) => Some(id),
            Self::None => None,
        }
    }
}

impl PresentedClientSecret {
    /// Reads `Basic …`. A `client_id` in the form that equals the header's is harmless.
    ///
    /// # Errors
    /// [`AmbiguousCredentialsError::Header`], [`AmbiguousCredentialsError::SeveralMethods`].
    pub fn from_basic_header(header: &str, client_id: Option<&str>) -> Result<Self, AmbiguousCredentialsError> {
        let (scheme, encoded) = header.split_once(' ').ok_or(AmbiguousCredentialsError::Header)?;
        if !scheme.eq_ignore_ascii_case("Basic") {
            return Err(AmbiguousCredentialsError::Header);
        }
        let bytes = STANDARD.decode(encoded.trim()).map_err(|_| AmbiguousCredentialsError::Header)?;
        let text = String::from_utf8(bytes).map_err(|_| AmbiguousCredentialsError::Header)?;
        let (id, secret) = text.split_once(':').ok_or(AmbiguousCredentialsError::Header)?;
        let mut candidates = vec![(id.to_owned(), secret.to_owned())];
        let decoded = (form_decode(id), form_decode(secret));
        if candidates.first() != Some(&decoded) {
            candidates.push(decoded);
        }
        if client_id.is_some_and(|in_form| candidates.iter().all(|(id, _)| id != in_form)) {
            return Err(AmbiguousCredentialsError::SeveralMethods);
        }
        Ok(Self { candidates, address: None })
    }

    /// Returns this secret with the network address that it came from, under which wrong secrets are counted; `None`
    /// when it is unknown.
    #[must_use]
    pub fn with_source_address(self, address: Option<&str>) -> Self {
        Self { address: address.and_then(|address| address.parse().ok()), ..self }
    }

    pub(crate) fn origin(&self) -> AttemptOrigin<'_> {
        self.address.map_or(AttemptOrigin::Unknown, |address| AttemptOrigin::Device(address.to_canonical()))
    }

    /// Returns the id as sent.
    #[must_use]
    pub fn claimed_client_id(&self) -> Option<&str> {
        self.candidates.first().map(|(id, _)| id.as_str())
    }

    /// Returns the pairs of client id and secret to try, in order.
    pub fn id_secret_candidates(&self) -> impl Iterator<Item = (&str, &str)> {
        self.candidates.iter().map(|(id, secret)| (id.as_str(), secret.as_str()))
    }
}

fn form_decode(text: &str) -> String {
    let spaced = text.replace('+', " ");
    percent_encoding::percent_decode_str(&spaced)
        .decode_utf8()
        .map_or_else(|_| text.to_owned(), std::borrow::Cow::into_owned)
}

impl AuthenticatedClient {
    /// Refuses an assertion where the grant's `client_assertion_types` does not list its type.
    ///
    /// # Errors
    /// [`ClientAssertionError::TypeNotRegistered`] as a [`ClientAuthenticationError`].
    pub(crate) fn check_method(&self, grant: &AccessTokenProfile) -> Result<(), ClientAuthenticationError> {
        if self.method != ClientAuthenticationMethod::Assertion || !grant.refuses_assertions {
            return Ok(());
        }
        let seen = AssertionLogDetails {
            client: sanitize_for_error_description(&self.client.id),
            ..AssertionLogDetails::default()
        };
        Err(ClientAuthenticationError::Assertion {
            fault: ClientAssertionError::TypeNotRegistered,
            seen: Box::new(seen),
        })
    }
}

impl PresentedCredentials<'_> {
    fn ids(&self) -> Vec<&str> {
        match self {
            Self::Secret(secret) => {
                let mut ids: Vec<_> = secret.id_secret_candidates().map(|(id, _)| id).collect();
                ids.dedup();
                ids
            }
            other => other.claimed_client_id().into_iter().collect(),
        }
    }
}
