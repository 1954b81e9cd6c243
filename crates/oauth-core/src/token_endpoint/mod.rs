//! The token endpoint, `POST /auth/token`: one file per grant.

pub mod access_token_claims;
mod app;
mod authorization_code;
mod client_credentials;
mod exchange_grant;
mod fault;
mod id_token;
mod implicit;
mod issue;
mod member;
mod password;
mod refresh;
mod scope;
mod subject;

pub use fault::{InvalidGrantError, TokenError};
pub(crate) use issue::b2b_of;
pub(crate) use member::with_style;
pub(crate) use refresh::SuccessorKey;
pub use subject::SubjectTokenError;

pub use b2b_claim::Omission;
use std::sync::Arc;

use serde::Serialize;

use crate::acting::PatientAccessRules;
use crate::audit::{AuditActor, AuditTrail};
use crate::client::GrantType;
use crate::client_authentication::{ClientAuthenticator, PresentedCredentials};
use crate::form_fields::{FormFields, sanitize_for_error_description};
use crate::granted_authorization::LaunchContext;
use crate::jwks_cache::JwksCache;
use crate::ports::{AccessTokenStore, AuthorizationCodeStore, ReplayStore, StoreError, TokenFamilyStore};
use crate::registration_cache::RegistrationCache;
use crate::sign_in::SignInService;
use crate::time_and_randomness::TimeAndRandomness;
use crate::token_issuer::TokenIssuer;

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
    /// Who signed in; only with `openid` and a code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_token: Option<String>,
    /// For new tokens without the person; only with `offline_access`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// What was issued, for a token that was exchanged (RFC 8693, section 2.2.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issued_token_type: Option<&'static str>,
    /// What the app is told of the launch; in the symmetric variant `need_patient_banner` alone, which is
    /// true there.
    #[serde(flatten)]
    pub context: LaunchContext,
    /// Whether the token carries the B2B claim, or why not; not part of the answer.
    #[serde(skip)]
    pub b2b: Result<(), Omission>,
    /// Whom it was issued to; not part of the answer.
    #[serde(skip)]
    pub client_id: String,
    /// For whom, when a person authorized it; not part of the answer.
    #[serde(skip)]
    pub user_id: Option<String>,
    /// Under which grant, when the person was asked; not part of the answer.
    #[serde(skip)]
    pub grant_id: Option<String>,
}

/// A request at the token endpoint.
#[derive(Debug)]
pub struct TokenRequest<'a> {
    /// The `Authorization` header.
    pub authorization: Option<&'a str>,
    /// The decoded form.
    pub form: &'a FormFields,
    /// The address it comes from, as far as the wire knows.
    pub address: Option<&'a str>,
}

/// The service of the token endpoint: issues tokens for every grant.
pub struct TokenService {
    pub(crate) issuer: Arc<TokenIssuer>,
    pub(crate) directory: Arc<RegistrationCache>,
    pub(crate) authenticator: Arc<ClientAuthenticator>,
    pub(crate) sign_in: Arc<SignInService>,
    pub(crate) patient_access: Arc<PatientAccessRules>,
    pub(crate) jwks: Arc<JwksCache>,
    pub(crate) replays: Arc<dyn ReplayStore>,
    pub(crate) tokens: Arc<dyn AccessTokenStore>,
    pub(crate) codes: Arc<dyn AuthorizationCodeStore>,
    pub(crate) families: Arc<dyn TokenFamilyStore>,
    pub(crate) successors: SuccessorKey,
    pub(crate) audit: AuditTrail,
}

impl TokenService {
    /// Handles a token request of any grant and returns the token response.
    ///
    /// # Errors
    /// [`TokenError`]; nothing is stored then, except that a nonce claimed before the Client turned out
    /// to have changed stays claimed.
    ///
    /// # Source
    /// Specification, POST /auth/token variants and OAuth errors; RFC 6749, sections 4.4 and 5.
    pub async fn answer_token_request(
        &self,
        env: &TimeAndRandomness<'_>,
        request: &TokenRequest<'_>,
    ) -> Result<TokenResponse, TokenError> {
        let form = request.form;
        let grant = form.get("grant_type").ok_or(TokenError::Missing("grant_type"))?;
        let unsupported = || TokenError::UnsupportedGrant(sanitize_for_error_description(grant));
        let grant_type = match grant {
            "client_credentials" | "authorization_code" | "refresh_token" | "password" | TOKEN_EXCHANGE => {
                GrantType::parse(grant).ok_or_else(unsupported)?
            }
            _ => return Err(unsupported()),
        };
        let credentials = PresentedCredentials::from_header_and_form(request.authorization, form)??
            .with_source_address(request.address);
        if grant_type == GrantType::ClientCredentials {
            return client_credentials::grant(env, self, &credentials, form.get("scope")).await;
        }
        let outcome = match grant_type {
            GrantType::AuthorizationCode => authorization_code::grant(env, self, &credentials, form).await,
            GrantType::RefreshToken => refresh::grant(env, self, &credentials, form).await,
            GrantType::Password => password::grant(env, self, &credentials, form, request.address).await,
            GrantType::TokenExchange => exchange_grant::grant(env, self, &credentials, form).await,
            GrantType::Basic | GrantType::Implicit | GrantType::ClientCredentials => Err(unsupported()),
        };
        let asking = AuditActor { client_id: credentials.claimed_client_id(), user_id: None, address: request.address };
        self.audit.token(env, asking, &outcome);
        outcome
    }
}

/// How often a Client that changes under the request is read again before giving up.
const ATTEMPTS: usize = 4;

/// Returns what was stored of an authorization cannot be read: the server's fault, not the caller's.
fn damaged(fault: serde_json::Error) -> StoreError {
    StoreError(Box::new(fault))
}

/// RFC 8693, section 2.1.
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
