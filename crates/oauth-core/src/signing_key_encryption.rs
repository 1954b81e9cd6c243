//! The encryption of private signing keys at rest.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use secrecy::{ExposeSecret as _, SecretString};
use zeroize::Zeroizing;

use crate::time_and_randomness::TimeAndRandomness;

/// Encrypts and decrypts private signing keys. The key derived last is kept, and its salt is used for what is encrypted
/// next: opening all keys of a deployment costs one derivation (some 15 ms and 19 MiB), not one each.
pub struct SigningKeyEncryption {
    secret: SecretString,
    derived: Mutex<Option<Derived>>,
}

struct Derived {
    salt: [u8; SALT_BYTES],
    key: Arc<LessSafeKey>,
}

/// A private signing key could not be encrypted or decrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SigningKeyEncryptionError {
    /// The library refused.
    #[error("a private key could not be encrypted")]
    Seal,
    /// Another secret, or damaged data.
    #[error("a stored private key cannot be decrypted: the key-encryption secret is not the one it was stored under")]
    Open,
}

/// Fewest characters of a key-encryption secret. Not specified; a shorter one can be guessed by those who have a copy
/// of the database, in spite of Argon2id.
pub const ENCRYPTION_SECRET_MIN_CHARS: usize = 16;
const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;

impl SigningKeyEncryption {
    /// Creates the encryption under `secret`.
    #[must_use]
    pub fn new(secret: SecretString) -> Self {
        Self { secret, derived: Mutex::new(None) }
    }

    /// Encrypts `plain`, bound to `context` (the key's identifier), and returns `salt ‖ nonce ‖ ciphertext ‖ tag`.
    ///
    /// # Errors
    /// [`SigningKeyEncryptionError::Seal`].
    pub fn encrypt(
        &self,
        env: &TimeAndRandomness<'_>,
        context: &str,
        plain: &[u8],
    ) -> Result<Vec<u8>, SigningKeyEncryptionError> {
        let salt = self.held_salt().unwrap_or_else(|| env.random_bytes());
        let nonce = env.random_bytes::<NONCE_BYTES>();
        let key = self.key(&salt).ok_or(SigningKeyEncryptionError::Seal)?;
        let mut sealed = [salt.as_slice(), nonce.as_slice()].concat();
        let mut buffer = plain.to_vec();
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(context), &mut buffer)
            .map_err(|_| SigningKeyEncryptionError::Seal)?;
        sealed.extend_from_slice(&buffer);
        Ok(sealed)
    }

    /// Decrypts what [`SigningKeyEncryption::encrypt`] returned for the same `context`.
    ///
    /// # Errors
    /// [`SigningKeyEncryptionError::Open`] when the secret or the context is another one, or the data is damaged.
    pub fn decrypt(&self, context: &str, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, SigningKeyEncryptionError> {
        let (salt, rest) = sealed.split_first_chunk::<SALT_BYTES>().ok_or(SigningKeyEncryptionError::Open)?;
        let (nonce, ciphertext) = rest.split_first_chunk::<NONCE_BYTES>().ok_or(SigningKeyEncryptionError::Open)?;
        let key = self.key(salt).ok_or(SigningKeyEncryptionError::Open)?;
        let mut buffer = Zeroizing::new(ciphertext.to_vec());
        let plain_bytes = key
            .open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(context), &mut buffer)
            .map_err(|_| SigningKeyEncryptionError::Open)?
            .len();
        buffer.truncate(plain_bytes);
        Ok(buffer)
    }

    fn held_salt(&self) -> Option<[u8; SALT_BYTES]> {
        self.lock().as_ref().map(|derived| derived.salt)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Derived>> {
        self.derived.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the key for `salt`; derived under the lock, so that two askers cost one derivation.
    fn key(&self, salt: &[u8; SALT_BYTES]) -> Option<Arc<LessSafeKey>> {
        let mut held = self.lock();
        if let Some(derived) = held.as_ref().filter(|derived| derived.salt == *salt) {
            return Some(Arc::clone(&derived.key));
        }
        let mut bytes = Zeroizing::new([0; 32]);
        argon2::Argon2::default()
            .hash_password_into(self.secret.expose_secret().as_bytes(), salt, bytes.as_mut())
            .ok()?;
        let key = Arc::new(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, bytes.as_ref()).ok()?));
        *held = Some(Derived { salt: *salt, key: Arc::clone(&key) });
        Some(key)
    }
}

impl std::fmt::Debug for SigningKeyEncryption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealer(***)")
    }
}
