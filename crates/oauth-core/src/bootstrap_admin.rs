//! The bootstrap administrator that the configuration defines.

use secrecy::{ExposeSecret as _, SecretString};

use crate::jose::sha256;

/// The bootstrap administrator, who may call everything, so that the first Client can be registered. It lives in the
/// configuration alone: changing the setting changes the secret, and no stored document names it.
#[derive(Clone)]
pub struct BootstrapAdministrator {
    id: String,
    secret_digest: [u8; 32],
}

impl BootstrapAdministrator {
    /// Returns the administrator `id` with this secret.
    #[must_use]
    pub fn new(id: &str, secret: &SecretString) -> Self {
        Self { id: id.to_owned(), secret_digest: sha256(secret.expose_secret().as_bytes()) }
    }

    /// Returns the client id of the bootstrap administrator.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns whether `id` and `secret` are the bootstrap administrator's credentials; the secret is compared in
    /// constant time.
    #[must_use]
    pub fn matches_credentials(&self, id: &str, secret: &str) -> bool {
        use subtle::ConstantTimeEq as _;
        let same_secret = self.secret_digest.ct_eq(&sha256(secret.as_bytes()));
        bool::from(same_secret) && self.id == id
    }
}

impl std::fmt::Debug for BootstrapAdministrator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RootClient").field("id", &self.id).finish_non_exhaustive()
    }
}
