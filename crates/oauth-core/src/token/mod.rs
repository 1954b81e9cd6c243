//! `POST /auth/token`: one file per grant.

pub mod claims;
mod client_credentials;

pub(crate) use client_credentials::b2b_of;

pub use b2b_claim::Omission;
use serde::Serialize;

use crate::authenticate::{ClientFault, Credentials, CredentialsFault, authenticate};
use crate::authority::Authority;
use crate::client::GrantType;
use crate::env::Env;
use crate::form::{Form, Repeated, printable};
use crate::jose::SignError;
use crate::ports::StoreError;

/// A successful answer of the token endpoint (specification, Token response).
#[derive(Debug, Serialize)]
pub struct TokenResponse {
    /// JWT or opaque.
    pub access_token: String,
    /// Always `Bearer`.
    pub token_type: &'static str,
    /// Seconds.
    pub expires_in: i64,
    /// The granted scopes, space-separated; absent when there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Present, and true, in the symmetric variant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub need_patient_banner: Option<bool>,
    /// Whether the token carries the B2B claim, or why not; not part of the answer.
    #[serde(skip)]
    pub b2b: Result<(), Omission>,
    /// Whom it was issued to; not part of the answer.
    #[serde(skip)]
    pub client_id: String,
}

/// Why no token was issued, each with its `error` code of RFC 6749, section 5.2.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// A parameter is given twice: `invalid_request`.
    #[error(transparent)]
    Repeated(#[from] Repeated),
    /// A parameter is missing: `invalid_request`.
    #[error("the parameter {0} is missing")]
    Missing(&'static str),
    /// The credentials are not of one kind: `invalid_request`.
    #[error(transparent)]
    Credentials(#[from] CredentialsFault),
    /// The client did not prove who it is: `invalid_client`.
    #[error("{0}")]
    Client(ClientFault),
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
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Signing failed.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// The Client changed again and again while its request was being answered.
    #[error("the client's registration changes too fast")]
    Unsettled,
}

impl TokenError {
    /// The `error` of the answer (RFC 6749, section 5.2; specification, OAuth errors).
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Repeated(_) | Self::Missing(_) | Self::Credentials(_) => "invalid_request",
            Self::Client(_) => "invalid_client",
            Self::UnsupportedGrant(_) => "unsupported_grant_type",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::MalformedScope(_) | Self::ScopeNotAllowed(_) | Self::NoScope | Self::ScopeNeedsUser(_) => {
                "invalid_scope"
            }
            Self::Store(_) | Self::Sign(_) => "server_error",
            Self::Unsettled => "temporarily_unavailable",
        }
    }
}

impl From<ClientFault> for TokenError {
    fn from(fault: ClientFault) -> Self {
        match fault {
            ClientFault::Store(error) => Self::Store(error),
            other => Self::Client(other),
        }
    }
}

/// A request at the token endpoint.
#[derive(Debug)]
pub struct TokenRequest<'a> {
    /// The `Authorization` header.
    pub authorization: Option<&'a str>,
    /// The decoded form.
    pub form: &'a Form,
}

/// Answers a token request.
///
/// # Errors
/// [`TokenError`]; nothing is stored then, except that a nonce claimed before the Client turned out
/// to have changed stays claimed.
///
/// # Source
/// Specification, POST /auth/token variants and OAuth errors; RFC 6749, sections 4.4 and 5.
pub async fn exchange(
    env: &Env<'_>,
    authority: &Authority,
    request: &TokenRequest<'_>,
) -> Result<TokenResponse, TokenError> {
    let form = request.form;
    let grant = form.get("grant_type").ok_or(TokenError::Missing("grant_type"))?;
    let unsupported = || TokenError::UnsupportedGrant(printable(grant));
    let grant_type = match grant {
        "client_credentials" | "authorization_code" | "refresh_token" | "password" | TOKEN_EXCHANGE => {
            GrantType::parse(grant).ok_or_else(unsupported)?
        }
        _ => return Err(unsupported()),
    };
    let credentials = Credentials::read(request.authorization, form)??;
    if grant_type == GrantType::ClientCredentials {
        return client_credentials::grant(env, authority, &credentials, form.get("scope")).await;
    }
    // The other grants are not built yet; whether the client is registered for one is answered all the
    // same, as it will be.
    let authenticated = authenticate(env, authority, &credentials).await?;
    Err(if authenticated.client.may_use(grant_type) { unsupported() } else { TokenError::UnauthorizedClient })
}

/// RFC 8693, section 2.1.
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
