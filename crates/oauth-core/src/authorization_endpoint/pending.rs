//! A request that waits for a person, sealed and handed to the browser.
//!
//! Nothing is stored for it: a stranger who calls the endpoint a million times leaves no row behind, and
//! any node goes on with what another one began. What is sealed is the request as it was sent, so that
//! every step checks it again against the registration of that moment.
//!
//! Whoever has it may go on with it, as with the address the app sent the browser to, which says the same. What was
//! chosen or decided on a page counts for the person alone whom the page was shown to; that it was this browser, the
//! mark of the form shows.

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};

use super::fault::AuthorizationPageError;
use super::limits::{PENDING_AUTHORIZATION_LIFETIME_S, SEALED_AUTHORIZATION_MAX_BYTES};
use super::parameters::AuthorizationParameters;
use crate::granted_authorization::hash_as_text;
use crate::jose::{decode_base64url, encode_base64url};
use crate::ports::SecretSha256;
use crate::time_and_randomness::TimeAndRandomness;

/// What else is bound to the seal: a sealed value of another kind is never taken for one of these.
const CONTEXT: &str = "authorization-pending";
const NONCE_BYTES: usize = 12;

/// A request between its pages.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PendingAuthorization {
    /// As sent.
    pub(crate) parameters: AuthorizationParameters,
    /// When it arrived, in seconds since the UNIX epoch.
    pub(crate) issued_s: i64,
    /// The session the browser had then.
    pub(crate) began_with: Option<SecretSha256>,
    /// Whether the person must sign in anew, whoever is signed in.
    pub(crate) anew: bool,
    /// Whom its last page was shown to, by User id: what was chosen or decided there counts for nobody else.
    pub(crate) shown_to: Option<String>,
    /// The patient that this person chose.
    pub(crate) patient: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(rename = "q")]
    parameters: Vec<(String, String)>,
    #[serde(rename = "i")]
    issued_s: i64,
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    began_with: Option<HashText>,
    #[serde(rename = "a", default)]
    anew: bool,
    #[serde(rename = "u", default, skip_serializing_if = "Option::is_none")]
    shown_to: Option<String>,
    #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
    patient: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct HashText(#[serde(with = "hash_as_text")] SecretSha256);

/// The AES-256-GCM-SIV key that encrypts pending authorizations: this mode stays secure when two nonces are equal, and
/// strangers decide how many nonces are drawn.
pub struct PendingAuthorizationEncryptionKey(LessSafeKey);

impl PendingAuthorizationEncryptionKey {
    /// A key of these bytes, `None` unless they are 32.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        UnboundKey::new(&AES_256_GCM_SIV, bytes).ok().map(|key| Self(LessSafeKey::new(key)))
    }

    /// Returns the pending request as base64url text, some 40 bytes and a third longer than the request.
    ///
    /// `None` when the cryptographic library refuses.
    pub(crate) fn seal(&self, env: &TimeAndRandomness<'_>, pending: &PendingAuthorization) -> Option<String> {
        let parameters = pending.parameters.pairs().iter();
        let written = Written {
            parameters: parameters.map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            issued_s: pending.issued_s,
            began_with: pending.began_with.map(HashText),
            anew: pending.anew,
            shown_to: pending.shown_to.clone(),
            patient: pending.patient.clone(),
        };
        let nonce = env.random_bytes::<NONCE_BYTES>();
        let mut buffer = serde_json::to_vec(&written).ok()?;
        let (nonce_used, context) = (Nonce::assume_unique_for_key(nonce), Aad::from(CONTEXT));
        self.0.seal_in_place_append_tag(nonce_used, context, &mut buffer).ok()?;
        Some(encode_base64url(&[nonce.as_slice(), &buffer].concat()))
    }

    /// Returns what [`PendingAuthorizationEncryptionKey::seal`] was given, unless its time is over.
    pub(crate) fn open(
        &self,
        env: &TimeAndRandomness<'_>,
        transaction: &str,
    ) -> Result<PendingAuthorization, AuthorizationPageError> {
        let written = self.written(transaction).ok_or(AuthorizationPageError::Transaction)?;
        let age_s = env.now_s() - written.issued_s;
        if age_s >= PENDING_AUTHORIZATION_LIFETIME_S {
            return Err(AuthorizationPageError::TransactionExpired);
        }
        Ok(PendingAuthorization {
            parameters: AuthorizationParameters::new(written.parameters),
            issued_s: written.issued_s,
            began_with: written.began_with.map(|hash| hash.0),
            anew: written.anew,
            shown_to: written.shown_to,
            patient: written.patient,
        })
    }

    fn written(&self, transaction: &str) -> Option<Written> {
        let sealed =
            Some(transaction).filter(|text| text.len() <= SEALED_AUTHORIZATION_MAX_BYTES).and_then(decode_base64url)?;
        let (nonce, ciphertext) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        let mut buffer = ciphertext.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let plain = self.0.open_in_place(nonce, Aad::from(CONTEXT), &mut buffer).ok()?;
        serde_json::from_slice(plain).ok()
    }
}

impl std::fmt::Debug for PendingAuthorizationEncryptionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PendingKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time_and_randomness::RandomSource;

    struct Fixed;

    impl RandomSource for Fixed {
        fn fill_bytes(&self, bytes: &mut [u8]) {
            bytes.fill(0x5a);
        }
    }

    fn env(now_s: i64) -> TimeAndRandomness<'static> {
        TimeAndRandomness { now_us: now_s * 1_000_000, random: &Fixed }
    }

    fn pending() -> PendingAuthorization {
        let pairs = [("client_id", "app"), ("state", "s \u{e4}"), ("scope", "openid")];
        PendingAuthorization {
            parameters: AuthorizationParameters::new(pairs.map(|(name, value)| (name.to_owned(), value.to_owned()))),
            issued_s: 1000,
            began_with: Some([3; 32]),
            anew: true,
            shown_to: Some("ada".to_owned()),
            patient: Some("p".to_owned()),
        }
    }

    fn key(byte: u8) -> PendingAuthorizationEncryptionKey {
        PendingAuthorizationEncryptionKey::new(&[byte; 32]).unwrap()
    }

    #[test]
    fn a_pending_request_comes_back_as_it_was() {
        let sealed = key(1).seal(&env(1000), &pending()).unwrap();
        assert_eq!(key(1).open(&env(1899), &sealed).unwrap(), pending());
        assert!(!sealed.contains("app"));
    }

    #[test]
    fn a_pending_request_ends_after_its_time() {
        let sealed = key(1).seal(&env(1000), &pending()).unwrap();
        assert_eq!(key(1).open(&env(1900), &sealed), Err(AuthorizationPageError::TransactionExpired));
    }

    #[test]
    fn nobody_else_makes_or_changes_a_pending_request() {
        let sealed = key(1).seal(&env(1000), &pending()).unwrap();
        let mut flipped = sealed.clone();
        flipped.replace_range(20..21, if sealed.as_bytes()[20] == b'A' { "B" } else { "A" });
        for (key, text) in [(key(2), sealed.as_str()), (key(1), &flipped), (key(1), &sealed[..30]), (key(1), "")] {
            assert_eq!(key.open(&env(1000), text), Err(AuthorizationPageError::Transaction));
        }
        let long = "A".repeat(SEALED_AUTHORIZATION_MAX_BYTES + 1);
        assert_eq!(key(1).open(&env(1000), &long), Err(AuthorizationPageError::Transaction));
    }
}
