//! Encryption of the secrets that the server shows again, and of the key they are encrypted under.

use std::fmt;

use argon2::Argon2;
use aws_lc_rs::aead::{AES_256_GCM, Aad, Nonce, RandomizedNonceKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use chat_core::StoreError;
use chat_core::model::user::{KeyHash, KeyHasher};
use secrecy::{ExposeSecret as _, SecretString};
use zeroize::Zeroizing;

use crate::fault::failed;

const NONCE_BYTES: usize = 12;
const SALT_BYTES: usize = 16;
const ENCRYPTING_BYTES: usize = 32;
/// What the data key is bound to when it is encrypted itself.
const DATA_KEY: &str = "data_key";

/// The place of a secret in the database. What is encrypted is bound to it, so that a row copied onto another is not
/// taken for that one's.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SecretLocation {
    /// The API key of the user of that number.
    ApiKey(i64),
    /// The link of the invitation of that number.
    InvitationLink(i64),
    /// The letter of that place of the log, and its place among the letters of that.
    Letter(i64, i64),
}

impl fmt::Display for SecretLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ApiKey(user) => write!(formatter, "credential {user}"),
            Self::InvitationLink(number) => write!(formatter, "invitation_link {number}"),
            Self::Letter(event, place) => write!(formatter, "outgoing_mail {event} {place}"),
        }
    }
}

/// The reason why nothing was encrypted or decrypted. Which of the causes it is cannot be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a stored secret cannot be decrypted: it is damaged, stands in another row, or has another key")]
pub(crate) struct DecryptError;

/// The random bytes that every secret of a database is encrypted and hashed under.
///
/// They stay what they are when the operator's secret changes: that one encrypts these bytes alone.
pub(crate) struct DataKey(Zeroizing<[u8; ENCRYPTING_BYTES + KeyHasher::KEY_BYTES]>);

/// A data key as its row has it.
#[derive(Debug)]
pub(crate) struct StoredDataKey {
    /// The salt of Argon2id; `None` when the data key stands in clear.
    pub(crate) salt: Option<String>,
    pub(crate) data: String,
}

impl DataKey {
    pub(crate) fn generate() -> Result<Self, StoreError> {
        let mut bytes = Zeroizing::new([0; _]);
        aws_lc_rs::rand::fill(bytes.as_mut()).map_err(failed)?;
        Ok(Self(bytes))
    }

    /// Returns the row of this key: encrypted when there is a secret.
    pub(crate) fn store(&self, secret: Option<&SecretString>) -> Result<StoredDataKey, StoreError> {
        let Some(secret) = secret else {
            return Ok(StoredDataKey { salt: None, data: STANDARD_NO_PAD.encode(self.0.as_slice()) });
        };
        let mut salt = [0; SALT_BYTES];
        aws_lc_rs::rand::fill(&mut salt).map_err(failed)?;
        let data = seal(&wrapping_key(secret, &salt)?, DATA_KEY, self.0.as_slice())?;
        Ok(StoredDataKey { salt: Some(STANDARD_NO_PAD.encode(salt)), data })
    }

    /// Returns the key of that row; `None` when the secret does not fit or the row is damaged.
    pub(crate) fn read(stored: &StoredDataKey, secret: Option<&SecretString>) -> Result<Option<Self>, StoreError> {
        let bytes = match (&stored.salt, secret) {
            (None, _) => STANDARD_NO_PAD.decode(&stored.data).map(Zeroizing::new).map_err(|_| DecryptError),
            (Some(salt), Some(secret)) => {
                let salt = STANDARD_NO_PAD.decode(salt).map_err(failed)?;
                open(&wrapping_key(secret, &salt)?, DATA_KEY, &stored.data)
            }
            (Some(_), None) => Err(DecryptError),
        };
        let bytes = bytes.ok().and_then(|bytes| <[u8; _]>::try_from(bytes.as_slice()).ok());
        Ok(bytes.map(|bytes| Self(Zeroizing::new(bytes))))
    }

    pub(crate) fn cipher(&self) -> Result<SecretCipher, StoreError> {
        let (encrypting, hashing) = self.0.split_at(ENCRYPTING_BYTES);
        let hashing: &[u8; KeyHasher::KEY_BYTES] = hashing.try_into().map_err(failed)?;
        let key = RandomizedNonceKey::new(&AES_256_GCM, encrypting).map_err(failed)?;
        Ok(SecretCipher { key, hasher: KeyHasher::new(hashing) })
    }
}

/// Encrypts secrets for the place where they stand: AES-256-GCM with a random nonce.
pub(crate) struct SecretCipher {
    key: RandomizedNonceKey,
    hasher: KeyHasher,
}

impl SecretCipher {
    /// `nonce ‖ ciphertext ‖ tag` in base64.
    pub(crate) fn encrypt(&self, place: SecretLocation, secret: &str) -> Result<String, StoreError> {
        seal(&self.key, &place.to_string(), secret.as_bytes())
    }

    /// Returns what [`SecretCipher::encrypt`] was given for that place.
    pub(crate) fn decrypt(&self, place: SecretLocation, stored: &str) -> Result<String, StoreError> {
        let bytes = open(&self.key, &place.to_string(), stored).map_err(failed)?;
        std::str::from_utf8(&bytes).map(ToOwned::to_owned).map_err(failed)
    }

    /// Makes the hashes of keys and of links in this database.
    pub(crate) fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }
}

/// A hash as its column has it.
pub(crate) fn hash_text(hash: KeyHash) -> String {
    STANDARD_NO_PAD.encode(hash.0)
}

/// Returns the hash of [`hash_text`].
pub(crate) fn parse_hash(text: &str) -> Result<KeyHash, StoreError> {
    let bytes = STANDARD_NO_PAD.decode(text).map_err(failed)?;
    bytes.as_slice().try_into().map(KeyHash).map_err(failed)
}

/// Takes some 15 ms and 19 MiB, so that a secret that can be guessed is at least expensive to guess.
fn wrapping_key(secret: &SecretString, salt: &[u8]) -> Result<RandomizedNonceKey, StoreError> {
    let mut bytes = Zeroizing::new([0; ENCRYPTING_BYTES]);
    let derived = Argon2::default().hash_password_into(secret.expose_secret().as_bytes(), salt, bytes.as_mut());
    derived.map_err(|error| failed(error.to_string()))?;
    RandomizedNonceKey::new(&AES_256_GCM, bytes.as_ref()).map_err(failed)
}

fn seal(key: &RandomizedNonceKey, context: &str, plain: &[u8]) -> Result<String, StoreError> {
    let mut buffer = plain.to_vec();
    let nonce = key.seal_in_place_append_tag(Aad::from(context), &mut buffer).map_err(failed)?;
    Ok(STANDARD_NO_PAD.encode([nonce.as_ref().as_slice(), &buffer].concat()))
}

fn open(key: &RandomizedNonceKey, context: &str, stored: &str) -> Result<Zeroizing<Vec<u8>>, DecryptError> {
    let stored = STANDARD_NO_PAD.decode(stored).map_err(|_| DecryptError)?;
    let (nonce, ciphertext) = stored.split_first_chunk::<NONCE_BYTES>().ok_or(DecryptError)?;
    let mut buffer = Zeroizing::new(ciphertext.to_vec());
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let plain_bytes = key.open_in_place(nonce, Aad::from(context), &mut buffer).map_err(|_| DecryptError)?.len();
    buffer.truncate(plain_bytes);
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use chat_core::model::user::ApiKey;

    use super::*;

    fn secret(text: &str) -> SecretString {
        text.to_owned().into()
    }

    #[test]
    fn a_secret_opens_in_its_own_row_alone() {
        let cipher = DataKey::generate().unwrap().cipher().unwrap();
        let stored = cipher.encrypt(SecretLocation::ApiKey(7), "the key").unwrap();
        assert_eq!(cipher.decrypt(SecretLocation::ApiKey(7), &stored).unwrap(), "the key");
        assert!(cipher.decrypt(SecretLocation::ApiKey(8), &stored).is_err());
        assert!(cipher.decrypt(SecretLocation::InvitationLink(7), &stored).is_err());
        assert_ne!(cipher.encrypt(SecretLocation::ApiKey(7), "the key").unwrap(), stored);
        let other = DataKey::generate().unwrap().cipher().unwrap();
        assert!(other.decrypt(SecretLocation::ApiKey(7), &stored).is_err());
        for damaged in ["", "AAAA", "not base64!", &format!("A{stored}")] {
            assert!(cipher.decrypt(SecretLocation::ApiKey(7), damaged).is_err(), "{damaged}");
        }
    }

    #[test]
    fn a_data_key_is_the_same_under_another_secret_and_opens_under_none_but_that() {
        let key = DataKey::generate().unwrap();
        let [first, second] = ["the first secret", "the second secret"].map(secret);
        let stored = key.store(Some(&first)).unwrap();
        assert!(DataKey::read(&stored, Some(&second)).unwrap().is_none());
        assert!(DataKey::read(&stored, None).unwrap().is_none());
        let read = DataKey::read(&stored, Some(&first)).unwrap().unwrap();
        let stored = read.store(Some(&second)).unwrap();
        let read = DataKey::read(&stored, Some(&second)).unwrap().unwrap();
        assert_eq!(*read.0, *key.0);
        let in_clear = key.store(None).unwrap();
        assert_eq!(*DataKey::read(&in_clear, Some(&first)).unwrap().unwrap().0, *key.0);
        let damaged = StoredDataKey { salt: None, data: "AAAA".to_owned() };
        assert!(DataKey::read(&damaged, None).unwrap().is_none());
    }

    #[test]
    fn a_hash_is_read_as_it_was_written() {
        let hasher = DataKey::generate().unwrap().cipher().unwrap().hasher().clone();
        let hash = hasher.hash(&ApiKey::from_random(&[5; 64]).unwrap());
        assert_eq!(parse_hash(&hash_text(hash)).unwrap(), hash);
        assert!(parse_hash("AAAA").is_err() && parse_hash("?").is_err());
    }
}
