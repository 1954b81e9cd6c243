//! What the deployment decides about the authorization rules.

use b2b_claim::Deployment;

use crate::jose::SigningAlg;
use crate::launch::LAUNCH_LIFETIME_S;
use crate::password::PASSWORD_MIN_CHARS;
use crate::secret_attempts::SECRET_ATTEMPTS;
use crate::session::SESSION_LIFETIME_S;

/// The base address and the default lifetimes, fixed at start.
#[derive(Debug, Clone)]
pub struct Settings {
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

impl Settings {
    /// Settings with the defaults: ES256, five minutes for a launch, five days for a session, eight characters for a
    /// password, ten wrong secrets. A trailing slash of either address is dropped.
    #[must_use]
    pub fn new(base_url: &str, ext_base: &str) -> Self {
        Self {
            base_url: base_url.trim_end_matches('/').to_owned(),
            ext_base: ext_base.trim_end_matches('/').to_owned(),
            access_token_alg: SigningAlg::ES256,
            launch_lifetime_s: LAUNCH_LIFETIME_S,
            session_lifetime_s: SESSION_LIFETIME_S,
            password_min_chars: PASSWORD_MIN_CHARS,
            secret_attempts: SECRET_ATTEMPTS,
        }
    }

    /// By what the B2B extension of a Client, and the Organization it names, are known.
    #[must_use]
    pub fn deployment(&self) -> Deployment<'_> {
        Deployment { ext_base: &self.ext_base, base_url: Some(&self.base_url) }
    }

    /// `{base_url}/auth/token`, the audience of every client assertion.
    #[must_use]
    pub fn token_endpoint(&self) -> String {
        format!("{}/auth/token", self.base_url)
    }

    /// `{base_url}/auth/authorize`.
    #[must_use]
    pub fn authorization_endpoint(&self) -> String {
        format!("{}/auth/authorize", self.base_url)
    }

    /// `{base_url}/fhir`, the audience of every access token.
    #[must_use]
    pub fn fhir_base(&self) -> String {
        format!("{}/fhir", self.base_url)
    }
}
