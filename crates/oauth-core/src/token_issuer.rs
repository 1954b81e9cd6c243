//! The issuer of tokens: its URLs, published documents and signing keys.

use std::sync::Arc;

use serde::Serialize;

use crate::discovery::DiscoveryDocuments;
use crate::jose::SigningError;
use crate::settings::AuthorizationSettings;
use crate::signing_keys::{SigningAlg, SigningKeyRing};
use crate::static_document::StaticDocument;
use crate::time_and_randomness::TimeAndRandomness;

/// The issuer that every token names: the settings, documents and signing keys of the deployment.
pub struct TokenIssuer {
    /// Addresses and defaults.
    pub settings: AuthorizationSettings,
    /// The discovery documents.
    pub documents: DiscoveryDocuments,
    /// The server's own keys.
    pub keys: SigningKeyRing,
}

impl TokenIssuer {
    /// Creates the issuer of a deployment.
    #[must_use]
    pub fn new(settings: AuthorizationSettings, keys: SigningKeyRing) -> Self {
        Self { documents: DiscoveryDocuments::new(&settings), settings, keys }
    }

    /// Returns the published JWK Set.
    #[must_use]
    pub fn published_jwks(&self) -> Arc<StaticDocument> {
        self.keys.snapshot().published_jwks()
    }

    /// Returns the algorithm access tokens of a Client with this preference are signed with.
    #[must_use]
    pub fn access_token_alg(&self, preference: Option<SigningAlg>) -> SigningAlg {
        preference.unwrap_or(self.settings.access_token_alg)
    }

    /// Signs `claims` as a JWT with the current key of `alg`.
    ///
    /// # Errors
    /// [`SigningError::BadKey`] when there is no key for `alg`.
    pub fn sign_jwt<T: Serialize>(
        &self,
        env: &TimeAndRandomness<'_>,
        alg: SigningAlg,
        claims: &T,
    ) -> Result<String, SigningError> {
        let keys = self.keys.snapshot();
        keys.signing_key(alg, env.now_s()).ok_or(SigningError::BadKey)?.sign_jwt(claims)
    }
}

impl std::fmt::Debug for TokenIssuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issuer").field("settings", &self.settings).finish_non_exhaustive()
    }
}
