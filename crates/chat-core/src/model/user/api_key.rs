//! The keys of users, and the hashes by which keys are found.

use std::fmt;
use std::sync::Arc;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The API key of a user: a secret of 32 letters and digits.
///
/// The server gives it back to its owner on every login, so the table of credentials holds it, encrypted. Memory and
/// the log hold its [`KeyHash`].
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

/// A text that does not have the form of an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Malformed API key")]
pub struct MalformedApiKey;

impl ApiKey {
    /// The number of letters and digits of an API key.
    pub const LENGTH: usize = 32;
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    /// Parses an API key.
    ///
    /// # Errors
    /// When it is not 32 ASCII letters and digits.
    pub fn parse(written: &str) -> Result<Self, MalformedApiKey> {
        let fits = written.len() == Self::LENGTH && written.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if fits { Ok(Self(written.to_owned())) } else { Err(MalformedApiKey) }
    }

    /// Makes an API key from random bytes, skipping those that would favour some letters; 64 bytes are enough. `None`
    /// when too many were skipped (once in 10²² draws of 64 bytes).
    #[must_use]
    pub fn from_random(bytes: &[u8]) -> Option<Self> {
        let letters = bytes.iter().filter(|byte| **byte < 248);
        let letters = letters.filter_map(|byte| Self::ALPHABET.get(usize::from(byte % 62)));
        let key: String = letters.take(Self::LENGTH).map(|letter| char::from(*letter)).collect();
        Self::parse(&key).ok()
    }

    /// Returns the secret text of the key, for its owner and for encryption.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKey(…)")
    }
}

/// The keyed hash of an [`ApiKey`] or link secret, by which it is found: made by a [`KeyHasher`].
///
/// Equality need not take constant time: a caller who does not know the key of the hash cannot choose how much of it
/// agrees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyHash(pub [u8; 32]);

/// Makes the [`KeyHash`]es of one database: HMAC-SHA-256, under a key of that database, of the SHA-256 of an API key.
/// So hashes of two databases cannot be compared, and a hash does not tell its reader whether a key belongs to it.
///
/// The digest inside is what earlier versions stored: [`KeyHasher::upgrade_digest`] makes a keyed hash of one.
#[derive(Clone)]
pub struct KeyHasher(Arc<Hmac<Sha256>>);

impl KeyHasher {
    /// The length of the hasher's own key, in bytes: a block of SHA-256.
    pub const KEY_BYTES: usize = 64;

    /// Makes a hasher with a random key.
    #[must_use]
    pub fn new(key: &[u8; Self::KEY_BYTES]) -> Self {
        Self(Arc::new(Hmac::new(key.into())))
    }

    /// Returns the keyed hash of a key.
    #[must_use]
    pub fn hash(&self, key: &ApiKey) -> KeyHash {
        self.upgrade_digest(KeyHash(Sha256::digest(&key.0).into()))
    }

    /// Returns the keyed hash for an unkeyed SHA-256 digest of a key, as earlier versions stored it.
    #[must_use]
    pub fn upgrade_digest(&self, digest: KeyHash) -> KeyHash {
        KeyHash(self.0.as_ref().clone().chain_update(digest.0).finalize().into_bytes().into())
    }
}

/// A hasher under a key of zeros, for a realm that no database holds.
impl Default for KeyHasher {
    fn default() -> Self {
        Self::new(&[0; Self::KEY_BYTES])
    }
}

impl fmt::Debug for KeyHasher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("KeyHasher(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_32_letters_and_digits_and_does_not_print() {
        let key = ApiKey::from_random(&(0..64).collect::<Vec<u8>>()).unwrap();
        assert_eq!(key.expose().len(), 32);
        assert_eq!(ApiKey::parse(key.expose()), Ok(key.clone()));
        assert_eq!(format!("{key:?}"), "ApiKey(…)");
        for malformed in ["", "short", &"a".repeat(33), &"-".repeat(32), &"ä".repeat(16)] {
            assert_eq!(ApiKey::parse(malformed), Err(MalformedApiKey), "{malformed}");
        }
        assert_eq!(ApiKey::from_random(&[255; 64]), None);
    }

    #[test]
    fn a_key_is_hashed_by_hmac_of_its_digest() {
        let key = ApiKey::from_random(&[5; 64]).unwrap();
        let (hasher, other) = (KeyHasher::new(&[7; 64]), KeyHasher::new(&[8; 64]));
        let digest = KeyHash(Sha256::digest(key.expose()).into());
        assert_eq!(hasher.hash(&key), hasher.upgrade_digest(digest));
        assert_ne!(hasher.hash(&key), other.hash(&key));
        assert_ne!(hasher.hash(&key), digest);
        assert_eq!(format!("{hasher:?}"), "KeyHasher(…)");
        // HMAC as RFC 2104 defines it, over a key of one block.
        let inner = Sha256::new().chain_update([7 ^ 0x36; 64]).chain_update(digest.0).finalize();
        let outer = Sha256::new().chain_update([7 ^ 0x5c; 64]).chain_update(inner).finalize();
        assert_eq!(hasher.hash(&key).0.as_slice(), outer.as_slice());
    }
}
