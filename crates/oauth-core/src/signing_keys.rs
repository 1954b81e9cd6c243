//! The server's own signing keys: generated at first start, published, rotated without a break.
//!
//! A key is published before it signs ([`StoredSigningKey::signs_from_s`]) and stays published after its
//! successor took over until an operator retires it, so no cache of the published set ever lacks a
//! key it meets. Every node reads the keys from the database again every few seconds; nothing tells
//! nodes about a rotation, because nothing has to.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arc_swap::ArcSwap;
use bytes::Bytes;
use serde_json::Value;
use zeroize::Zeroizing;

pub use crate::jose::SigningAlg;
use crate::jose::{CompactJws, JwkError, PublicKey, SigningError, SigningKey};
use crate::ports::{SigningKeyStore, StoreError};
use crate::signing_key_encryption::{SigningKeyEncryption, SigningKeyEncryptionError};
use crate::static_document::StaticDocument;
use crate::time_and_randomness::TimeAndRandomness;

/// A signing key as stored.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredSigningKey {
    /// RFC 7638 thumbprint of the public key, base64url.
    pub kid: String,
    /// What the key signs with.
    pub alg: SigningAlg,
    /// The public key as a JWK, ready to publish (JSON text).
    pub public_jwk: String,
    /// PKCS#8 DER, or that DER sealed (see [`StoredSigningKey::sealed`]).
    pub private_key: Vec<u8>,
    /// Whether `private_key` is encrypted under the key-encryption secret.
    pub sealed: bool,
    /// Seconds since the UNIX epoch.
    pub created_s: i64,
    /// The key signs from this second on; before it, it is only published.
    pub signs_from_s: i64,
}

impl std::fmt::Debug for StoredSigningKey {
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

/// Returns when a key for `alg` begins to sign that is added to `held` for signing from `at_s` on: the first second
/// from then on in which no other key of its algorithm begins, so that it is never left to chance which key signs.
#[must_use]
pub fn next_free_signing_start(held: &[StoredSigningKey], alg: SigningAlg, at_s: i64) -> i64 {
    let taken: HashSet<i64> = held.iter().filter(|key| key.alg == alg).map(|key| key.signs_from_s).collect();
    let mut second = at_s;
    while taken.contains(&second) {
        second += 1;
    }
    second
}

/// The reason why signing keys could not be generated, stored or loaded.
#[derive(Debug, thiserror::Error)]
pub enum SigningKeyError {
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The cryptographic library refused.
    #[error(transparent)]
    Sign(#[from] SigningError),
    /// A private key could not be encrypted.
    #[error(transparent)]
    Seal(#[from] SigningKeyEncryptionError),
    /// The key-encryption secret is not the one this key was stored under.
    #[error(
        "the stored private key {kid} cannot be decrypted: the key-encryption secret is not the one it was stored under"
    )]
    WrongSecret {
        /// Identifier of the first such key.
        kid: String,
    },
    /// The keys are encrypted and no secret was given.
    #[error("the stored private keys are encrypted and no key-encryption secret is set")]
    SecretMissing,
    /// New keys would be encrypted beside keys that are not: a server without the secret could not start any more.
    #[error("the stored private keys are not encrypted, and a key that is added would be")]
    NotEncrypted,
    /// A stored public key is not one.
    #[error("the stored public key {kid} is damaged: {fault}")]
    Damaged {
        /// Which key.
        kid: String,
        /// What is wrong with it.
        fault: JwkError,
    },
}

impl StoredSigningKey {
    /// Generates a signing key for `alg` that signs from `signs_from_s` on, encrypted when `sealer` is given.
    ///
    /// # Errors
    /// [`SigningKeyError::Sign`] and [`SigningKeyError::Seal`].
    pub fn generate(
        env: &TimeAndRandomness<'_>,
        alg: SigningAlg,
        sealer: Option<&SigningKeyEncryption>,
        signs_from_s: i64,
    ) -> Result<Self, SigningKeyError> {
        let key = SigningKey::generate(alg)?;
        let private_key = match sealer {
            Some(sealer) => sealer.encrypt(env, &key.kid, &key.pkcs8)?,
            None => key.pkcs8,
        };
        Ok(Self {
            kid: key.kid,
            alg,
            public_jwk: key.public_jwk,
            private_key,
            sealed: sealer.is_some(),
            created_s: env.now_s(),
            signs_from_s,
        })
    }

    /// Returns the private key as PKCS#8 DER.
    fn open(&self, sealer: Option<&SigningKeyEncryption>) -> Result<Zeroizing<Vec<u8>>, SigningKeyError> {
        match (self.sealed, sealer) {
            (true, None) => Err(SigningKeyError::SecretMissing),
            (true, Some(sealer)) => sealer
                .decrypt(&self.kid, &self.private_key)
                .map_err(|_| SigningKeyError::WrongSecret { kid: self.kid.clone() }),
            (false, _) => Ok(Zeroizing::new(self.private_key.clone())),
        }
    }

    fn load(&self, sealer: Option<&SigningKeyEncryption>) -> Result<HeldKey, SigningKeyError> {
        let signer = SigningKey::from_pkcs8(self.alg, &self.open(sealer)?)?;
        let damaged = |fault| SigningKeyError::Damaged { kid: self.kid.clone(), fault };
        let jwk: Value = serde_json::from_str(&self.public_jwk).map_err(|_| damaged(JwkError::Malformed))?;
        let verifier = PublicKey::from_jwk(&jwk, self.alg).map_err(damaged)?;
        Ok(HeldKey { signer, verifier, public_jwk: self.public_jwk.clone(), signs_from_s: self.signs_from_s })
    }
}

/// Checks that keys encrypted with `sealer` can be added to `held`: every node that reads the keys held today must be
/// able to read the new ones at its next start.
///
/// # Errors
/// [`SigningKeyError::SecretMissing`], [`SigningKeyError::WrongSecret`], and [`SigningKeyError::NotEncrypted`] when a
/// secret is given and no key held is encrypted.
pub fn check_encryption_secret(
    held: &[StoredSigningKey],
    sealer: Option<&SigningKeyEncryption>,
) -> Result<(), SigningKeyError> {
    let mut encrypted = held.iter().filter(|key| key.sealed).peekable();
    if encrypted.peek().is_none() && sealer.is_some() {
        return Err(SigningKeyError::NotEncrypted);
    }
    encrypted.try_for_each(|key| key.open(sealer).map(drop))
}

/// Returns `held` with every private key encrypted by `new`, whether it was encrypted by `old` or not at all.
///
/// # Errors
/// [`SigningKeyError::SecretMissing`], [`SigningKeyError::WrongSecret`] and [`SigningKeyError::Seal`].
pub fn reencrypt_private_keys(
    env: &TimeAndRandomness<'_>,
    held: &[StoredSigningKey],
    old: Option<&SigningKeyEncryption>,
    new: &SigningKeyEncryption,
) -> Result<Vec<StoredSigningKey>, SigningKeyError> {
    let resealed = held.iter().map(|key| {
        let private_key = new.encrypt(env, &key.kid, &key.open(old)?)?;
        Ok(StoredSigningKey { private_key, sealed: true, ..key.clone() })
    });
    resealed.collect()
}

/// Returns the key of `alg` that signs at `now_s`: of those that may sign already, the one that began last.
///
/// When none may sign yet, the clock was set back, because the first key signs from its creation on. Then the
/// oldest key signs: every cache of the published set that knows any key of `alg` knows that one.
#[must_use]
pub fn current_signing_key(held: &[StoredSigningKey], alg: SigningAlg, now_s: i64) -> Option<&StoredSigningKey> {
    signing(held.iter().filter(|key| key.alg == alg), now_s, |key| key.signs_from_s)
}

fn signing<K: Copy>(keys: impl Iterator<Item = K> + Clone, now_s: i64, since_s: impl Fn(K) -> i64) -> Option<K> {
    let begun = keys.clone().filter(|key| since_s(*key) <= now_s).max_by_key(|key| since_s(*key));
    begun.or_else(|| keys.min_by_key(|key| since_s(*key)))
}

struct HeldKey {
    signer: SigningKey,
    verifier: PublicKey,
    public_jwk: String,
    signs_from_s: i64,
}

/// The signing keys in memory, replaced as a whole by [`SigningKeyRing::reload_keys`].
pub struct SigningKeyRing {
    store: Arc<dyn SigningKeyStore>,
    sealer: Option<SigningKeyEncryption>,
    snapshot: ArcSwap<KeyRingSnapshot>,
    refreshing: tokio::sync::Mutex<()>,
    /// The second in which an unknown `kid` last made us read the keys.
    unknown_kid_s: AtomicI64,
}

/// A snapshot of the signing keys at one moment.
#[derive(Default)]
pub struct KeyRingSnapshot {
    /// Oldest first, as stored.
    keys: Vec<Arc<HeldKey>>,
    by_kid: HashMap<String, Arc<HeldKey>>,
    jwks: Arc<StaticDocument>,
    clock_warning: ClockWarning,
}

/// When the last warning about a clock that was set back was logged, in seconds since the UNIX epoch.
#[derive(Default)]
struct ClockWarning(AtomicI64);

/// How often that warning is logged, in seconds; tokens are signed a thousand times as often.
const CLOCK_WARNING_INTERVAL_S: i64 = 60;

impl SigningKeyRing {
    /// Loads the keys, generating one per algorithm when the database holds none yet.
    ///
    /// # Errors
    /// Any [`SigningKeyError`]; the server must not start without keys.
    pub async fn load_or_generate(
        env: &TimeAndRandomness<'_>,
        store: Arc<dyn SigningKeyStore>,
        sealer: Option<SigningKeyEncryption>,
    ) -> Result<Self, SigningKeyError> {
        let mut records = store.unretired_keys().await?;
        if records.is_empty() {
            let fresh = SigningAlg::ALL.into_iter();
            let fresh = fresh.map(|alg| StoredSigningKey::generate(env, alg, sealer.as_ref(), env.now_s()));
            records = store.store_initial_keys(fresh.collect::<Result<_, _>>()?).await?;
        }
        let snapshot = KeyRingSnapshot::load(&records, sealer.as_ref(), None)?;
        Ok(Self {
            store,
            sealer,
            snapshot: ArcSwap::from_pointee(snapshot),
            refreshing: tokio::sync::Mutex::default(),
            unknown_kid_s: AtomicI64::new(0),
        })
    }

    /// Reads the keys again; called every few seconds. A failure leaves the keys as they were.
    ///
    /// # Errors
    /// Any [`SigningKeyError`].
    pub async fn reload_keys(&self) -> Result<(), SigningKeyError> {
        // One at a time: an older reading must not replace a newer one.
        let _refreshing = self.refreshing.lock().await;
        let records = self.store.unretired_keys().await?;
        let current = self.snapshot.load_full();
        if !current.holds_exactly(&records) {
            self.snapshot.store(Arc::new(KeyRingSnapshot::load(&records, self.sealer.as_ref(), Some(&current))?));
        }
        Ok(())
    }

    /// Reads the keys again because a token names a key that is not held; once a second at most,
    /// whatever strangers send.
    ///
    /// # Errors
    /// Any [`SigningKeyError`].
    pub async fn reload_for_unknown_kid(&self, env: &TimeAndRandomness<'_>) -> Result<(), SigningKeyError> {
        if self.unknown_kid_s.swap(env.now_s(), Ordering::Relaxed) == env.now_s() {
            return Ok(());
        }
        self.reload_keys().await
    }

    /// Returns whether one of our keys signed `jws`. A key that is not held is looked for once, because another node
    /// may have begun to sign with it.
    pub(crate) async fn signed(&self, env: &TimeAndRandomness<'_>, jws: &CompactJws<'_>) -> bool {
        let Some(kid) = jws.header.kid.as_deref().filter(|_| !jws.header.has_critical_extensions()) else {
            return false;
        };
        if self.snapshot().published_key(kid).is_none()
            && let Err(error) = self.reload_for_unknown_kid(env).await
        {
            tracing::warn!(%error, "signing keys could not be read again");
        }
        let keys = self.snapshot();
        let key = keys.published_key(kid).filter(|key| jws.header.alg == key.alg().name());
        key.is_some_and(|key| key.verifies_signature(jws.signing_input(), jws.signature()))
    }

    /// Returns the current snapshot of the keys.
    #[must_use]
    pub fn snapshot(&self) -> arc_swap::Guard<Arc<KeyRingSnapshot>> {
        self.snapshot.load()
    }
}

impl std::fmt::Debug for SigningKeyRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyRing").field("keys", &self.snapshot.load().keys.len()).finish_non_exhaustive()
    }
}

impl KeyRingSnapshot {
    fn load(
        records: &[StoredSigningKey],
        sealer: Option<&SigningKeyEncryption>,
        known: Option<&Self>,
    ) -> Result<Self, SigningKeyError> {
        let mut keys = Vec::with_capacity(records.len());
        for record in records {
            let held = known.and_then(|known| known.by_kid.get(&record.kid));
            keys.push(match held {
                Some(held) => Arc::clone(held),
                None => Arc::new(record.load(sealer)?),
            });
        }
        let by_kid = keys.iter().map(|key| (key.signer.kid().to_owned(), Arc::clone(key))).collect();
        let published: Vec<&str> = keys.iter().rev().map(|key| key.public_jwk.as_str()).collect();
        let jwks = StaticDocument::from_json_bytes(Bytes::from(format!("{{\"keys\":[{}]}}", published.join(","))));
        Ok(Self { keys, by_kid, jwks: Arc::new(jwks), clock_warning: ClockWarning::default() })
    }

    fn holds_exactly(&self, records: &[StoredSigningKey]) -> bool {
        self.keys.len() == records.len() && records.iter().all(|record| self.by_kid.contains_key(&record.kid))
    }

    /// Returns the key that signs `alg` at `now_s`, by the rule of [`current_signing_key`]. A clock that was set back
    /// is logged.
    #[must_use]
    pub fn signing_key(&self, alg: SigningAlg, now_s: i64) -> Option<&SigningKey> {
        let of_alg = self.keys.iter().filter(|key| key.signer.alg() == alg);
        let key = signing(of_alg, now_s, |key| key.signs_from_s)?;
        if key.signs_from_s > now_s && self.clock_warning.is_due(now_s) {
            tracing::warn!(
                kid = key.signer.kid(),
                signs_from_s = key.signs_from_s,
                now_s,
                "clock of this machine is set back: it is before the time from which the oldest signing key signs, \
                 which is used all the same"
            );
        }
        Some(&key.signer)
    }

    /// Returns the published key of this identifier.
    #[must_use]
    pub fn published_key(&self, kid: &str) -> Option<&PublicKey> {
        self.by_kid.get(kid).map(|key| &key.verifier)
    }

    /// Returns the JWK Set as served at `/.well-known/jwks.json`, newest key first.
    #[must_use]
    pub fn published_jwks(&self) -> Arc<StaticDocument> {
        Arc::clone(&self.jwks)
    }
}

impl ClockWarning {
    /// Returns whether to log now. A clock that jumps either way is logged again.
    fn is_due(&self, now_s: i64) -> bool {
        let last_s = self.0.load(Ordering::Relaxed);
        let is_due = now_s.saturating_sub(last_s).saturating_abs() >= CLOCK_WARNING_INTERVAL_S;
        if is_due {
            self.0.store(now_s, Ordering::Relaxed);
        }
        is_due
    }
}
