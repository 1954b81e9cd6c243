//! The server as the issuer of tokens: its addresses, what it publishes, and the keys it signs with.

use std::sync::Arc;

use serde::Serialize;

use crate::discovery::Documents;
use crate::document::StaticDocument;
use crate::env::Env;
use crate::jose::SignError;
use crate::keys::{KeyRing, SigningAlg};
use crate::settings::Settings;

/// The identity that every token names: the settings, documents and signing keys of the deployment.
pub struct Issuer {
    /// Addresses and defaults.
    pub settings: Settings,
    /// The discovery documents.
    pub documents: Documents,
    /// The server's own keys.
    pub keys: KeyRing,
}

impl Issuer {
    /// Creates the issuer of a deployment.
    #[must_use]
    pub fn new(settings: Settings, keys: KeyRing) -> Self {
        Self { documents: Documents::new(&settings), settings, keys }
    }

    /// Returns the published keys.
    #[must_use]
    pub fn published_keys(&self) -> Arc<StaticDocument> {
        self.keys.snapshot().jwks()
    }

    /// Returns the algorithm access tokens of a Client with this preference are signed with.
    #[must_use]
    pub fn access_token_alg(&self, preference: Option<SigningAlg>) -> SigningAlg {
        preference.unwrap_or(self.settings.access_token_alg)
    }

    /// Signs `claims`.
    ///
    /// # Errors
    /// [`SignError::BadKey`] when there is no key for `alg`.
    pub fn sign<T: Serialize>(&self, env: &Env<'_>, alg: SigningAlg, claims: &T) -> Result<String, SignError> {
        let keys = self.keys.snapshot();
        keys.signer(alg, env.now_s()).ok_or(SignError::BadKey)?.sign(claims)
    }
}

impl std::fmt::Debug for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issuer").field("settings", &self.settings).finish_non_exhaustive()
    }
}
