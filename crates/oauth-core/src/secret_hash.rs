//! The hashes of client secrets and passwords.
//!
//! Two kinds of secret, two costs. A secret that a machine generated with at least 119 random bits cannot be guessed,
//! so a keyed SHA-256 is as good as any slow function and a token request stays fast (under 2 µs). Which formats count
//! as generated, `generated.rs` says. Everything else (every human password, every short or word-like client secret) is
//! stored under Argon2id, about 15 ms of one core and 19 MiB per hash or verification.
//!
//! Nothing here blocks on anything but the processor. A caller in an async context runs whatever
//! is not [`SecretHash::is_fast_to_verify`] in a bounded blocking pool, otherwise strangers who guess
//! passwords decide how much memory and how many threads the server uses.
//!
//! The road not taken: Argon2id for all. It would make a symmetric token request a hundred times
//! as expensive without making a random secret harder to find.

mod argon2id;
mod generated;

use std::sync::OnceLock;

use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Params, PasswordHasher as _, Version};
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use zeroize::ZeroizeOnDrop;

use crate::limits::CLIENT_SECRET_MAX_BYTES;
use crate::time_and_randomness::TimeAndRandomness;

/// Memory of one Argon2id computation, in KiB (OWASP Password Storage Cheat Sheet: 19 MiB, t=2, p=1).
const ARGON2_MEMORY_KIB: u32 = 19_456;
/// Passes over that memory.
const ARGON2_PASSES: u32 = 2;
/// Lanes of that memory.
const ARGON2_LANES: u32 = 1;
/// A stored hash may ask for this many times our own work per parameter, not more: a row written
/// by other hands must not be able to exhaust the server.
const ARGON2_MAX_FACTOR: u32 = 4;

/// What precedes the base64 of a keyed hash in its stored text.
const KEYED_PREFIX: &str = "$hmac-sha256$v=1$";

/// A well-formed Argon2id hash with our parameters and an output nobody derived from a password.
const DUMMY: &str = "$argon2id$v=19$m=19456,t=2,p=1$AAECAwQFBgcICQoLDA0ODw$\
                     AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

/// The pepper, the key of the keyed hash: 32 bytes, one per deployment, from
/// [`SigningKeyStore::get_or_store_secret`](crate::ports::SigningKeyStore::get_or_store_secret).
#[derive(Clone, ZeroizeOnDrop)]
pub struct Pepper([u8; 32]);

impl Pepper {
    /// Creates a pepper from its bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Generates a random pepper, the candidate of a first start.
    #[must_use]
    pub fn generate(env: &TimeAndRandomness<'_>) -> Self {
        Self(env.random_bytes())
    }

    /// Returns the pepper as stored, `None` unless it is exactly 32 bytes.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Returns the bytes to store.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.0)
    }
}

impl std::fmt::Debug for Pepper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pepper(…)")
    }
}

/// The stored hash of a secret: never the secret, but still nothing to show to anybody.
#[derive(Clone)]
pub struct SecretHash(Stored);

#[derive(Clone)]
enum Stored {
    Keyed([u8; 32]),
    Argon2id(Box<PasswordHash>),
    Nobodys,
}

/// The reason why a secret could not be hashed.
#[derive(Debug, thiserror::Error)]
pub enum SecretHashError {
    /// An empty secret protects nothing.
    #[error("a secret must not be empty")]
    Empty,
    /// Longer than [`CLIENT_SECRET_MAX_BYTES`].
    #[error("a secret has at most {CLIENT_SECRET_MAX_BYTES} bytes")]
    TooLong,
    /// Argon2id refused its input.
    #[error("the secret could not be hashed: {0}")]
    Argon2(String),
}

/// The stored text is not a hash that this server made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stored text is no secret hash of this server")]
pub struct SecretHashParseError;

/// Hashes a client secret: with a keyed hash when it was generated, else with Argon2id (see the module text for the
/// rule and the costs).
///
/// # Errors
/// [`SecretHashError`] for an empty or too long secret.
pub fn hash_client_secret(
    env: &TimeAndRandomness<'_>,
    pepper: &Pepper,
    secret: &[u8],
) -> Result<SecretHash, SecretHashError> {
    check_length(secret)?;
    if generated::is_generated(secret) { Ok(SecretHash::keyed(pepper, secret)) } else { hash_password(env, secret) }
}

/// Hashes a person's password with Argon2id and a fresh salt: about 15 ms and 19 MiB.
///
/// # Errors
/// [`SecretHashError`] for an empty or too long password.
pub fn hash_password(env: &TimeAndRandomness<'_>, password: &[u8]) -> Result<SecretHash, SecretHashError> {
    check_length(password)?;
    let params = Params::new(ARGON2_MEMORY_KIB, ARGON2_PASSES, ARGON2_LANES, None)
        .map_err(|e| SecretHashError::Argon2(e.to_string()))?;
    let hash = Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_with_salt(password, &env.random_bytes::<16>())
        .map_err(|e| SecretHashError::Argon2(e.to_string()))?;
    Ok(SecretHash(Stored::Argon2id(Box::new(hash))))
}

fn check_length(secret: &[u8]) -> Result<(), SecretHashError> {
    match secret.len() {
        0 => Err(SecretHashError::Empty),
        1..=CLIENT_SECRET_MAX_BYTES => Ok(()),
        _ => Err(SecretHashError::TooLong),
    }
}

impl SecretHash {
    fn keyed(pepper: &Pepper, secret: &[u8]) -> Self {
        let mut tag = [0; 32];
        tag.copy_from_slice(hmac::sign(&pepper.key(), secret).as_ref());
        Self(Stored::Keyed(tag))
    }

    /// Reads a stored text.
    ///
    /// # Errors
    /// [`SecretHashParseError`] when it is neither of the two forms, or asks for more than four times the work
    /// of our own parameters.
    pub fn parse(text: &str) -> Result<Self, SecretHashParseError> {
        if let Some(tag) = text.strip_prefix(KEYED_PREFIX) {
            let bytes = STANDARD_NO_PAD.decode(tag).map_err(|_| SecretHashParseError)?;
            let tag = bytes.try_into().map_err(|_| SecretHashParseError)?;
            return Ok(Self(Stored::Keyed(tag)));
        }
        let hash = PasswordHash::new(text).map_err(|_| SecretHashParseError)?;
        let params = Params::try_from(&hash).map_err(|_| SecretHashParseError)?;
        let complete = hash.salt.is_some() && hash.hash.is_some();
        let affordable = params.m_cost() <= ARGON2_MEMORY_KIB * ARGON2_MAX_FACTOR
            && params.t_cost() <= ARGON2_PASSES * ARGON2_MAX_FACTOR
            && params.p_cost() <= ARGON2_LANES * ARGON2_MAX_FACTOR;
        if hash.algorithm.as_str() != "argon2id" || !complete || !affordable {
            return Err(SecretHashParseError);
        }
        Ok(Self(Stored::Argon2id(Box::new(hash))))
    }

    /// Returns a hash that no password has, to verify against when there is no such user, so that the answer takes as
    /// long as for a wrong password.
    #[must_use]
    pub fn dummy() -> Self {
        Self(Stored::Nobodys)
    }

    /// Returns the text to store: `$hmac-sha256$v=1$…` or an Argon2id string in the PHC format.
    #[must_use]
    pub fn to_text(&self) -> String {
        match &self.0 {
            Stored::Keyed(tag) => format!("{KEYED_PREFIX}{}", STANDARD_NO_PAD.encode(tag)),
            Stored::Argon2id(hash) => hash.to_string(),
            Stored::Nobodys => DUMMY.to_owned(),
        }
    }

    /// Returns whether [`verify`](Self::verify) costs microseconds and may run where it is called.
    #[must_use]
    pub fn is_fast_to_verify(&self) -> bool {
        matches!(self.0, Stored::Keyed(_))
    }

    /// Returns whether `candidate` is the secret. Takes as long for a near miss as for any other wrong value; a
    /// candidate over [`CLIENT_SECRET_MAX_BYTES`] is wrong at once.
    #[must_use]
    pub fn verify(&self, pepper: &Pepper, candidate: &[u8]) -> bool {
        if candidate.len() > CLIENT_SECRET_MAX_BYTES {
            return false;
        }
        match &self.0 {
            Stored::Keyed(tag) => hmac::verify(&pepper.key(), candidate, tag).is_ok(),
            Stored::Argon2id(hash) => argon2id::is_of(candidate, hash),
            Stored::Nobodys => PasswordHash::new(DUMMY).is_ok_and(|hash| argon2id::is_of(candidate, &hash)),
        }
    }
}

/// The secret of one version of a Client: its hash, and once it was verified, a keyed hash that makes the next
/// verification take microseconds. The keyed hash is never stored and goes with the copy of the Client.
#[derive(Debug)]
pub struct CachedClientSecret {
    hash: SecretHash,
    verified: OnceLock<SecretHash>,
}

impl CachedClientSecret {
    /// Returns the secret behind `hash`, not verified yet.
    #[must_use]
    pub const fn new(hash: SecretHash) -> Self {
        Self { hash, verified: OnceLock::new() }
    }

    /// Returns the stored hash.
    #[must_use]
    pub const fn stored_hash(&self) -> &SecretHash {
        &self.hash
    }

    /// Returns whether `candidate` is known to be the secret without an expensive hash. `false` says nothing about a
    /// secret whose hash is expensive.
    #[must_use]
    pub fn matches_without_expensive_hash(&self, pepper: &Pepper, candidate: &[u8]) -> bool {
        if self.hash.is_fast_to_verify() {
            return self.hash.verify(pepper, candidate);
        }
        self.verified.get().is_some_and(|keyed| keyed.verify(pepper, candidate))
    }

    /// Remembers that `candidate` was verified.
    pub fn remember_verified(&self, pepper: &Pepper, candidate: &[u8]) {
        // Of several who verified it at once, each found the same.
        let _ = self.verified.set(SecretHash::keyed(pepper, candidate));
    }
}

impl std::fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_fast_to_verify() { "SecretHash(hmac-sha256, …)" } else { "SecretHash(argon2id, …)" })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::memory_store::SeededRandom;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngSeed};

    pub(crate) fn env(random: &SeededRandom) -> TimeAndRandomness<'_> {
        TimeAndRandomness { now_us: 1_700_000_000_000_000, random }
    }

    const GENERATED: &str = "9f86d081884c7d659a2feaa0c55ad015";

    #[test]
    fn a_generated_secret_is_stored_under_the_pepper_and_verifies_only_with_it() {
        let random = SeededRandom::new(1);
        let pepper = Pepper::new([7; 32]);
        let hash = hash_client_secret(&env(&random), &pepper, GENERATED.as_bytes()).unwrap();
        assert!(hash.is_fast_to_verify());
        assert!(hash.to_text().starts_with("$hmac-sha256$v=1$"));
        assert!(hash.verify(&pepper, GENERATED.as_bytes()));
        assert!(!hash.verify(&pepper, b"9f86d081884c7d659a2feaa0c55ad016"));
        assert!(!hash.verify(&pepper, b""));
        assert!(!hash.verify(&Pepper::new([8; 32]), GENERATED.as_bytes()));
    }

    #[test]
    fn a_password_is_stored_as_argon2id_with_a_fresh_salt() {
        let random = SeededRandom::new(2);
        let pepper = Pepper::new([7; 32]);
        let first = hash_password(&env(&random), b"correct horse").unwrap();
        let second = hash_password(&env(&random), b"correct horse").unwrap();
        assert!(first.to_text().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        assert_ne!(first.to_text(), second.to_text());
        assert!(!first.is_fast_to_verify());
        assert!(first.verify(&pepper, b"correct horse"));
        assert!(second.verify(&pepper, b"correct horse"));
        assert!(!first.verify(&pepper, b"correct horsf"));
    }

    #[test]
    fn a_password_is_never_stored_cheaply_however_random_it_looks() {
        let random = SeededRandom::new(3);
        let hash = hash_password(&env(&random), GENERATED.as_bytes()).unwrap();
        assert!(!hash.is_fast_to_verify());
    }

    #[test]
    fn a_short_client_secret_is_stored_as_argon2id() {
        let random = SeededRandom::new(4);
        let pepper = Pepper::new([7; 32]);
        let hash = hash_client_secret(&env(&random), &pepper, b"s3cr3t").unwrap();
        assert!(!hash.is_fast_to_verify());
        assert!(hash.verify(&pepper, b"s3cr3t"));
        assert!(!hash.verify(&pepper, b"s3cr3u"));
    }

    #[test]
    fn a_weak_secret_is_verified_slowly_once_and_a_wrong_one_is_never_remembered() {
        let random = SeededRandom::new(11);
        let pepper = Pepper::new([7; 32]);
        let secret = CachedClientSecret::new(hash_client_secret(&env(&random), &pepper, b"s3cr3t").unwrap());
        assert!(!secret.matches_without_expensive_hash(&pepper, b"s3cr3t"));
        secret.remember_verified(&pepper, b"s3cr3t");
        assert!(secret.matches_without_expensive_hash(&pepper, b"s3cr3t"));
        assert!(
            !secret.matches_without_expensive_hash(&pepper, b"s3cr3u")
                && !secret.matches_without_expensive_hash(&pepper, b"")
        );
        assert!(!format!("{secret:?}").contains("s3cr3t"));
    }

    #[test]
    fn a_generated_secret_needs_no_memory() {
        let random = SeededRandom::new(12);
        let pepper = Pepper::new([7; 32]);
        for generated in [GENERATED, "f47ac10b-58cc-4372-a567-0e02b2c3d479"] {
            let secret =
                CachedClientSecret::new(hash_client_secret(&env(&random), &pepper, generated.as_bytes()).unwrap());
            assert!(secret.matches_without_expensive_hash(&pepper, generated.as_bytes()));
            assert!(!secret.matches_without_expensive_hash(&pepper, b"s3cr3t"));
        }
    }

    #[test]
    fn a_stored_hash_of_a_secret_that_counts_as_generated_now_still_verifies() {
        let random = SeededRandom::new(13);
        let pepper = Pepper::new([7; 32]);
        let uuid = b"f47ac10b-58cc-4372-a567-0e02b2c3d479";
        let stored = hash_password(&env(&random), uuid).unwrap().to_text();
        assert!(SecretHash::parse(&stored).unwrap().verify(&pepper, uuid));
        let keyed = "$hmac-sha256$v=1$AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
        assert!(SecretHash::parse(keyed).unwrap().is_fast_to_verify());
    }

    #[test]
    fn the_stored_text_reads_back() {
        let random = SeededRandom::new(5);
        let pepper = Pepper::new([7; 32]);
        for secret in [GENERATED, "short"] {
            let hash = hash_client_secret(&env(&random), &pepper, secret.as_bytes()).unwrap();
            let read = SecretHash::parse(&hash.to_text()).unwrap();
            assert_eq!(read.to_text(), hash.to_text());
            assert!(read.verify(&pepper, secret.as_bytes()));
            assert!(!read.verify(&pepper, b"another"));
        }
    }

    #[test]
    fn texts_that_are_no_hash_of_ours_are_refused() {
        for text in [
            "",
            "s3cr3t",
            "$hmac-sha256$v=1$",
            "$hmac-sha256$v=1$AAAA",
            "$hmac-sha256$v=2$AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
            "$argon2id$v=19$m=19456,t=2,p=1$AAECAwQFBgcICQoLDA0ODw",
            "$argon2i$v=19$m=19456,t=2,p=1$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
            "$argon2id$v=19$m=4194304,t=2,p=1$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
            "$argon2id$v=19$m=19456,t=900,p=1$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
            "$2b$12$abcdefghijklmnopqrstuv",
        ] {
            assert_eq!(SecretHash::parse(text).err(), Some(SecretHashParseError), "{text}");
        }
    }

    #[test]
    fn the_dummy_costs_what_a_password_costs_and_accepts_nothing() {
        let dummy = SecretHash::dummy();
        assert!(SecretHash::parse(&dummy.to_text()).is_ok());
        assert!(!dummy.is_fast_to_verify());
        let pepper = Pepper::new([7; 32]);
        let random = SeededRandom::new(6);
        let real = hash_password(&env(&random), b"x").unwrap().to_text();
        let cost = |text: &str| text.split('$').nth(3).map(str::to_owned);
        assert_eq!(cost(&dummy.to_text()), cost(&real));
        for candidate in ["", "x", "password"] {
            assert!(!dummy.verify(&pepper, candidate.as_bytes()));
        }
    }

    #[test]
    fn empty_and_oversized_secrets_are_refused() {
        let random = SeededRandom::new(7);
        let pepper = Pepper::new([7; 32]);
        let hash = |secret: &[u8]| hash_client_secret(&env(&random), &pepper, secret).err();
        assert!(matches!(hash(b""), Some(SecretHashError::Empty)));
        let long = vec![b'a'; CLIENT_SECRET_MAX_BYTES + 1];
        assert!(matches!(hash(&long), Some(SecretHashError::TooLong)));
        assert!(matches!(hash_password(&env(&random), &long), Err(SecretHashError::TooLong)));
        assert!(hash(&long[..CLIENT_SECRET_MAX_BYTES]).is_none());
    }

    #[test]
    fn an_oversized_candidate_is_wrong() {
        let random = SeededRandom::new(8);
        let pepper = Pepper::new([7; 32]);
        let hash = hash_client_secret(&env(&random), &pepper, GENERATED.as_bytes()).unwrap();
        assert!(!hash.verify(&pepper, &vec![b'a'; CLIENT_SECRET_MAX_BYTES + 1]));
    }

    #[test]
    fn nothing_secret_is_printed() {
        let random = SeededRandom::new(9);
        let pepper = Pepper::new([0x41; 32]);
        let hash = hash_client_secret(&env(&random), &pepper, GENERATED.as_bytes()).unwrap();
        assert_eq!(format!("{hash:?}"), "SecretHash(hmac-sha256, …)");
        assert_eq!(format!("{pepper:?}"), "Pepper(…)");
    }

    #[test]
    fn a_pepper_has_exactly_32_bytes() {
        assert!(Pepper::from_slice(&[1; 32]).is_some());
        assert!(Pepper::from_slice(&[1; 31]).is_none());
        assert!(Pepper::from_slice(&[]).is_none());
    }

    proptest! {
        #![proptest_config(Config {
            rng_seed: RngSeed::Fixed(0x7365_6372),
            failure_persistence: None,
            ..Config::default()
        })]

        #[test]
        fn no_stored_text_makes_the_parser_panic(text in "\\PC{0,120}") {
            let _ = SecretHash::parse(&text);
        }

        #[test]
        fn a_keyed_hash_accepts_its_secret_alone(seed in 1..u64::MAX, other in "[0-9a-f]{32}") {
            let random = SeededRandom::new(seed);
            let env = env(&random);
            let pepper = Pepper::generate(&env);
            let hash = hash_client_secret(&env, &pepper, GENERATED.as_bytes()).unwrap();
            prop_assert!(hash.verify(&pepper, GENERATED.as_bytes()));
            prop_assert_eq!(hash.verify(&pepper, other.as_bytes()), other == GENERATED);
        }
    }
}
