//! The server's own signing keys.

pub use crate::jose::SigningAlg;

/// A signing key as stored.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// RFC 7638 thumbprint of the public key, base64url.
    pub kid: String,
    /// What the key signs with.
    pub alg: SigningAlg,
    /// The public key as a JWK, ready to publish (JSON text).
    pub public_jwk: String,
    /// PKCS#8 DER, or that DER sealed (see [`KeyRecord::sealed`]).
    pub private_key: Vec<u8>,
    /// Whether `private_key` is encrypted under the key-encryption secret.
    pub sealed: bool,
    /// Seconds since the UNIX epoch.
    pub created_s: i64,
    /// The key signs from this second on; before it, it is only published.
    pub signs_from_s: i64,
}

impl std::fmt::Debug for KeyRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyRecord")
            .field("kid", &self.kid)
            .field("alg", &self.alg)
            .field("sealed", &self.sealed)
            .field("created_s", &self.created_s)
            .field("signs_from_s", &self.signs_from_s)
            .finish_non_exhaustive()
    }
}
