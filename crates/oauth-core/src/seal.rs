//! Private keys encrypted at rest.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use secrecy::{ExposeSecret as _, SecretString};
use zeroize::Zeroizing;

use crate::env::Env;

/// Seals and opens private keys under the key-encryption secret: AES-256-GCM with a key derived by
/// Argon2id from the secret and a salt of its own per sealed value, so that a guessable secret is at
/// least dear to guess. Cost: some 15 ms per value, only when keys are loaded.
#[derive(Clone)]
pub struct Sealer {
    secret: SecretString,
}

/// The sealed key could not be opened, or sealing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The library refused.
    #[error("a private key could not be encrypted")]
    Seal,
    /// Another secret, or damaged data.
    #[error("a stored private key cannot be decrypted: the key-encryption secret is not the one it was stored under")]
    Open,
}

const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;

impl Sealer {
    /// A sealer under `secret`.
    #[must_use]
    pub fn new(secret: SecretString) -> Self {
        Self { secret }
    }

    /// `salt ‖ nonce ‖ ciphertext ‖ tag` of `plain`, bound to `context` (the key's identifier).
    ///
    /// # Errors
    /// [`SealError::Seal`].
    pub fn seal(&self, env: &Env<'_>, context: &str, plain: &[u8]) -> Result<Vec<u8>, SealError> {
        let salt = env.bytes::<SALT_BYTES>();
        let nonce = env.bytes::<NONCE_BYTES>();
        let key = self.key(&salt).ok_or(SealError::Seal)?;
        let mut sealed = [salt.as_slice(), nonce.as_slice()].concat();
        let mut buffer = plain.to_vec();
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(context), &mut buffer)
            .map_err(|_| SealError::Seal)?;
        sealed.extend_from_slice(&buffer);
        Ok(sealed)
    }

    /// What [`Sealer::seal`] was given.
    ///
    /// # Errors
    /// [`SealError::Open`] when the secret or the context is another one, or the data is damaged.
    pub fn open(&self, context: &str, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, SealError> {
        let (salt, rest) = sealed.split_first_chunk::<SALT_BYTES>().ok_or(SealError::Open)?;
        let (nonce, ciphertext) = rest.split_first_chunk::<NONCE_BYTES>().ok_or(SealError::Open)?;
        let key = self.key(salt).ok_or(SealError::Open)?;
        let mut buffer = Zeroizing::new(ciphertext.to_vec());
        let plain_bytes = key
            .open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(context), &mut buffer)
            .map_err(|_| SealError::Open)?
            .len();
        buffer.truncate(plain_bytes);
        Ok(buffer)
    }

    fn key(&self, salt: &[u8]) -> Option<LessSafeKey> {
        let mut derived = Zeroizing::new([0; 32]);
        argon2::Argon2::default()
            .hash_password_into(self.secret.expose_secret().as_bytes(), salt, derived.as_mut())
            .ok()?;
        UnboundKey::new(&AES_256_GCM, derived.as_ref()).ok().map(LessSafeKey::new)
    }
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealer(***)")
    }
}
