//! The server's own signing keys: generated at first start, published, rotated without a break.
//!
//! A key is published before it signs ([`KeyRecord::signs_from_s`]) and stays published after its
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

use crate::document::StaticDocument;
use crate::env::Env;
pub use crate::jose::SigningAlg;
use crate::jose::{CompactJws, JwkError, PublicKey, SignError, SigningKey};
use crate::ports::{KeyStore, StoreError};
use crate::seal::{KeyEncryption, KeyEncryptionError};

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

/// From when a key for `alg` signs that is added to `held` and asked to sign from `at_s` on: the first
/// second from then in which no other key of its algorithm begins, so that which one signs is never a
/// matter of chance.
#[must_use]
pub fn signs_from(held: &[KeyRecord], alg: SigningAlg, at_s: i64) -> i64 {
    let taken: HashSet<i64> = held.iter().filter(|key| key.alg == alg).map(|key| key.signs_from_s).collect();
    let mut second = at_s;
    while taken.contains(&second) {
        second += 1;
    }
    second
}

/// Keys could not be generated, stored or loaded.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The cryptographic library refused.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// A private key could not be encrypted.
    #[error(transparent)]
    Seal(#[from] KeyEncryptionError),
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

impl KeyRecord {
    /// A fresh key for `alg` that signs from `signs_from_s` on, sealed when there is a sealer.
    ///
    /// # Errors
    /// [`KeyError::Sign`] and [`KeyError::Seal`].
    pub fn generate(
        env: &Env<'_>,
        alg: SigningAlg,
        sealer: Option<&KeyEncryption>,
        signs_from_s: i64,
    ) -> Result<Self, KeyError> {
        let key = SigningKey::generate(alg)?;
        let private_key = match sealer {
            Some(sealer) => sealer.seal(env, &key.kid, &key.pkcs8)?,
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
    fn open(&self, sealer: Option<&KeyEncryption>) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        match (self.sealed, sealer) {
            (true, None) => Err(KeyError::SecretMissing),
            (true, Some(sealer)) => {
                sealer.open(&self.kid, &self.private_key).map_err(|_| KeyError::WrongSecret { kid: self.kid.clone() })
            }
            (false, _) => Ok(Zeroizing::new(self.private_key.clone())),
        }
    }

    fn load(&self, sealer: Option<&KeyEncryption>) -> Result<HeldKey, KeyError> {
        let signer = SigningKey::load(self.alg, &self.open(sealer)?)?;
        let damaged = |fault| KeyError::Damaged { kid: self.kid.clone(), fault };
        let jwk: Value = serde_json::from_str(&self.public_jwk).map_err(|_| damaged(JwkError::Malformed))?;
        let verifier = PublicKey::for_alg(&jwk, self.alg).map_err(damaged)?;
        Ok(HeldKey { signer, verifier, public_jwk: self.public_jwk.clone(), signs_from_s: self.signs_from_s })
    }
}

/// Checks that keys encrypted with `sealer` can be added to `held`: every node that reads the keys held today
/// must be able to read the new ones at its next start.
///
/// # Errors
/// [`KeyError::SecretMissing`], [`KeyError::WrongSecret`], and [`KeyError::NotEncrypted`] when a secret is given
/// and no key held is encrypted.
pub fn check_secret(held: &[KeyRecord], sealer: Option<&KeyEncryption>) -> Result<(), KeyError> {
    let mut encrypted = held.iter().filter(|key| key.sealed).peekable();
    if encrypted.peek().is_none() && sealer.is_some() {
        return Err(KeyError::NotEncrypted);
    }
    encrypted.try_for_each(|key| key.open(sealer).map(drop))
}

/// Returns `held` with every private key encrypted by `new`, whether it was encrypted by `old` or not at all.
///
/// # Errors
/// [`KeyError::SecretMissing`], [`KeyError::WrongSecret`] and [`KeyError::Seal`].
pub fn reseal(
    env: &Env<'_>,
    held: &[KeyRecord],
    old: Option<&KeyEncryption>,
    new: &KeyEncryption,
) -> Result<Vec<KeyRecord>, KeyError> {
    let resealed = held.iter().map(|key| {
        let private_key = new.seal(env, &key.kid, &key.open(old)?)?;
        Ok(KeyRecord { private_key, sealed: true, ..key.clone() })
    });
    resealed.collect()
}

/// Returns the key of `alg` that signs at `now_s`: of those that may sign already, the one that began last.
///
/// When none may sign yet, the clock was set back, because the first key signs from its creation on. Then the
/// oldest key signs: every cache of the published set that knows any key of `alg` knows that one.
#[must_use]
pub fn signing_at(held: &[KeyRecord], alg: SigningAlg, now_s: i64) -> Option<&KeyRecord> {
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

/// The keys in memory, replaced whole by [`KeyRing::refresh`].
pub struct KeyRing {
    store: Arc<dyn KeyStore>,
    sealer: Option<KeyEncryption>,
    snapshot: ArcSwap<KeySnapshot>,
    refreshing: tokio::sync::Mutex<()>,
    /// The second in which an unknown `kid` last made us read the keys.
    unknown_kid_s: AtomicI64,
}

/// The keys at one moment.
#[derive(Default)]
pub struct KeySnapshot {
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

impl KeyRing {
    /// Loads the keys, generating one per algorithm when the database holds none yet.
    ///
    /// # Errors
    /// Any [`KeyError`]; the server must not start without keys.
    pub async fn open(
        env: &Env<'_>,
        store: Arc<dyn KeyStore>,
        sealer: Option<KeyEncryption>,
    ) -> Result<Self, KeyError> {
        let mut records = store.keys().await?;
        if records.is_empty() {
            let fresh = SigningAlg::ALL.into_iter();
            let fresh = fresh.map(|alg| KeyRecord::generate(env, alg, sealer.as_ref(), env.now_s()));
            records = store.establish(fresh.collect::<Result<_, _>>()?).await?;
        }
        let snapshot = KeySnapshot::load(&records, sealer.as_ref(), None)?;
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
    /// Any [`KeyError`].
    pub async fn refresh(&self) -> Result<(), KeyError> {
        // One at a time: an older reading must not replace a newer one.
        let _refreshing = self.refreshing.lock().await;
        let records = self.store.keys().await?;
        let current = self.snapshot.load_full();
        if !current.holds_exactly(&records) {
            self.snapshot.store(Arc::new(KeySnapshot::load(&records, self.sealer.as_ref(), Some(&current))?));
        }
        Ok(())
    }

    /// Reads the keys again because a token names a key that is not held; once a second at most,
    /// whatever strangers send.
    ///
    /// # Errors
    /// Any [`KeyError`].
    pub async fn refresh_for_unknown_kid(&self, env: &Env<'_>) -> Result<(), KeyError> {
        if self.unknown_kid_s.swap(env.now_s(), Ordering::Relaxed) == env.now_s() {
            return Ok(());
        }
        self.refresh().await
    }

    /// Returns whether one of our keys signed `jws`. A key that is not held is looked for once, because another node
    /// may have begun to sign with it.
    pub(crate) async fn signed(&self, env: &Env<'_>, jws: &CompactJws<'_>) -> bool {
        let Some(kid) = jws.header.kid.as_deref().filter(|_| !jws.header.has_critical_extensions()) else {
            return false;
        };
        if self.snapshot().verifier(kid).is_none()
            && let Err(error) = self.refresh_for_unknown_kid(env).await
        {
            tracing::warn!(%error, "signing keys could not be read again");
        }
        let keys = self.snapshot();
        let key = keys.verifier(kid).filter(|key| jws.header.alg == key.alg().name());
        key.is_some_and(|key| key.verifies(jws.signing_input(), jws.signature()))
    }

    /// Returns the keys of this moment.
    #[must_use]
    pub fn snapshot(&self) -> arc_swap::Guard<Arc<KeySnapshot>> {
        self.snapshot.load()
    }
}

impl std::fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyRing").field("keys", &self.snapshot.load().keys.len()).finish_non_exhaustive()
    }
}

impl KeySnapshot {
    fn load(records: &[KeyRecord], sealer: Option<&KeyEncryption>, known: Option<&Self>) -> Result<Self, KeyError> {
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
        let jwks = StaticDocument::json(Bytes::from(format!("{{\"keys\":[{}]}}", published.join(","))));
        Ok(Self { keys, by_kid, jwks: Arc::new(jwks), clock_warning: ClockWarning::default() })
    }

    fn holds_exactly(&self, records: &[KeyRecord]) -> bool {
        self.keys.len() == records.len() && records.iter().all(|record| self.by_kid.contains_key(&record.kid))
    }

    /// Returns the key that signs `alg` at `now_s`, by the rule of [`signing_at`]. A clock that was set back is logged.
    #[must_use]
    pub fn signer(&self, alg: SigningAlg, now_s: i64) -> Option<&SigningKey> {
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
    pub fn verifier(&self, kid: &str) -> Option<&PublicKey> {
        self.by_kid.get(kid).map(|key| &key.verifier)
    }

    /// Returns the JWK Set as served at `/.well-known/jwks.json`, newest key first.
    #[must_use]
    pub fn jwks(&self) -> Arc<StaticDocument> {
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
