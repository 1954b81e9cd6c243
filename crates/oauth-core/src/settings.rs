//! The settings that the deployment chooses for the authorization server.

use b2b_claim::DeploymentUrls;

use crate::browser_session::SESSION_LIFETIME_S;
use crate::jose::SigningAlg;
use crate::launch::LAUNCH_CONTEXT_LIFETIME_S;
use crate::password_rules::PASSWORD_MIN_CHARS;
use crate::secret_attempts::SECRET_ATTEMPTS;

/// The settings of the authorization server, fixed at start: base URLs, default lifetimes and limits.
#[derive(Debug, Clone)]
pub struct AuthorizationSettings {
    /// `{base_url}` of the specification and the `iss` of every token; no trailing slash.
    pub base_url: String,
    /// `{ext_base}` of the specification; no trailing slash.
    pub ext_base: String,
    /// What access tokens are signed with where a Client does not say.
    pub access_token_alg: SigningAlg,
    /// How long the launch context of an EHR launch can be used, in seconds.
    pub launch_lifetime_s: i64,
    /// How long a person stays signed in with a browser, in seconds.
    pub session_lifetime_s: i64,
    /// Fewest characters of a new password.
    pub password_min_chars: usize,
    /// Wrong secrets of one client from one neighbourhood of addresses that are answered at once; 0 is no limit.
    pub secret_attempts: u32,
}

impl AuthorizationSettings {
    /// Creates settings with the defaults: ES256, five minutes for a launch, five days for a session, eight characters
    /// for a password, ten wrong secrets. A trailing slash of either base URL is dropped.
    #[must_use]
    pub fn new(base_url: &str, ext_base: &str) -> Self {
        Self {
            base_url: base_url.trim_end_matches('/').to_owned(),
            ext_base: ext_base.trim_end_matches('/').to_owned(),
            access_token_alg: SigningAlg::ES256,
            launch_lifetime_s: LAUNCH_CONTEXT_LIFETIME_S,
            session_lifetime_s: SESSION_LIFETIME_S,
            password_min_chars: PASSWORD_MIN_CHARS,
            secret_attempts: SECRET_ATTEMPTS,
        }
    }

    /// Returns the base URLs by which the B2B extension of a Client, and the Organization it names, are recognized.
    #[must_use]
    pub fn b2b_deployment(&self) -> DeploymentUrls<'_> {
        DeploymentUrls { ext_base: &self.ext_base, base_url: Some(&self.base_url) }
    }

    /// Returns the URL of the token endpoint, `{base_url}/auth/token`, the audience of every client assertion.
    #[must_use]
    pub fn token_endpoint_url(&self) -> String {
        format!("{}/auth/token", self.base_url)
    }

    /// Returns the URL of the authorization endpoint, `{base_url}/auth/authorize`.
    #[must_use]
    pub fn authorization_endpoint_url(&self) -> String {
        format!("{}/auth/authorize", self.base_url)
    }

    /// Returns the FHIR base URL, `{base_url}/fhir`, the audience of every access token.
    #[must_use]
    pub fn fhir_base_url(&self) -> String {
        format!("{}/fhir", self.base_url)
    }
}
