//! The verification of secrets against their hashes, without letting the expensive ones starve everything else.

use std::sync::Arc;

use tokio::sync::{Semaphore, oneshot};

use crate::ports::HashingPool;
use crate::secret_hash::{CachedClientSecret, Pepper, SecretHash};

/// Argon2id computations of Clients' secrets that run at once: 15 ms and 19 MiB each. Two leave room on a
/// small machine; the others wait without holding a thread.
const CLIENTS_AT_ONCE: usize = 2;

/// Argon2id computations of people's passwords that run at once. One, because whoever signs in can wait and
/// a token request cannot: some 60 people a second and node, while every other core stays free.
const PEOPLE_AT_ONCE: usize = 1;

/// People who may wait for theirs. At the rate above the last one waits for a quarter of a minute, which is
/// as long as anybody looks at a page that does not answer.
const PEOPLE_WAITING_MAX: usize = 1_000;

/// Verifies secrets against stored hashes. Clients and users have separate limits of concurrency, so that a crowd at
/// the sign-in page delays no Client.
pub struct SecretVerifier {
    pepper: Arc<Pepper>,
    hashing: Arc<dyn HashingPool>,
    clients: Arc<Semaphore>,
    people: Arc<Semaphore>,
    /// One for each person in the lane, waiting or being served.
    places: Arc<Semaphore>,
}

/// Too many people wait already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overloaded;

impl SecretVerifier {
    /// Creates a verifier under `pepper` that hashes on the threads of `hashing`.
    #[must_use]
    pub fn new(pepper: Pepper, hashing: Arc<dyn HashingPool>) -> Self {
        Self {
            pepper: Arc::new(pepper),
            hashing,
            clients: Arc::new(Semaphore::new(CLIENTS_AT_ONCE)),
            people: Arc::new(Semaphore::new(PEOPLE_AT_ONCE)),
            places: Arc::new(Semaphore::new(PEOPLE_AT_ONCE + PEOPLE_WAITING_MAX)),
        }
    }

    /// Returns the pepper.
    #[must_use]
    pub const fn pepper(&self) -> &Arc<Pepper> {
        &self.pepper
    }

    /// Returns the pool of threads for expensive hashes.
    #[must_use]
    pub const fn hashing_pool(&self) -> &Arc<dyn HashingPool> {
        &self.hashing
    }

    /// Returns whether one of `candidates` is the Client's secret. Fast hashes, and a secret that was verified before,
    /// are checked at once, Argon2id on a blocking thread, a few at a time.
    pub async fn verify_client_secret(&self, secret: &CachedClientSecret, candidates: &[&str]) -> bool {
        let pepper = self.pepper.as_ref();
        if candidates.iter().any(|candidate| secret.matches_without_expensive_hash(pepper, candidate.as_bytes())) {
            return true;
        }
        if secret.stored_hash().is_fast_to_verify() {
            return false;
        }
        for candidate in candidates {
            if self.verify_in(&self.clients, secret.stored_hash(), candidate).await {
                secret.remember_verified(pepper, candidate.as_bytes());
                return true;
            }
        }
        false
    }

    /// Returns whether `candidate` is the person's password behind `hash`; always in the lane of people, so that how
    /// long it takes says nothing about the person.
    pub(crate) async fn verify_person(&self, hash: &SecretHash, candidate: &str) -> Result<bool, Overloaded> {
        let _place = self.places.try_acquire().map_err(|_| Overloaded)?;
        Ok(self.verify_in(&self.people, hash, candidate).await)
    }

    async fn verify_in(&self, lane: &Arc<Semaphore>, hash: &SecretHash, candidate: &str) -> bool {
        let Ok(permit) = Arc::clone(lane).acquire_owned().await else { return false };
        let (hash, pepper, candidate) = (hash.clone(), Arc::clone(&self.pepper), candidate.to_owned());
        let (done, verified) = oneshot::channel();
        self.hashing.submit_work(Box::new(move || {
            let is_verified = hash.verify(&pepper, candidate.as_bytes());
            drop(permit);
            // A caller that went away needs no answer.
            let _ = done.send(is_verified);
        }));
        // A pool that dropped the work has verified nothing.
        verified.await.unwrap_or(false)
    }
}

impl std::fmt::Debug for SecretVerifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretVerifier")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::memory_store::SeededRandom;
    use crate::secret_hash::{hash_password, tests::env};

    #[tokio::test]
    async fn a_weak_secret_pays_the_slow_hash_once_for_each_copy_of_its_client() {
        let is_over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&is_over);
        let pool = move |work: Box<dyn FnOnce() + Send>| {
            if !ended.load(Ordering::SeqCst) {
                work();
            }
        };
        let verifier = SecretVerifier::new(Pepper::new([7; 32]), Arc::new(pool));
        let random = SeededRandom::new(21);
        let hash = hash_password(&env(&random), b"s3cr3t").unwrap();
        let secret = CachedClientSecret::new(hash.clone());
        let verify = async |secret: &CachedClientSecret, candidates: &[&str]| {
            verifier.verify_client_secret(secret, candidates).await
        };
        assert!(!verify(&secret, &["s3cr3u"]).await);
        assert!(verify(&secret, &["s3cr3u", "s3cr3t"]).await);
        // From here on nothing can be hashed.
        is_over.store(true, Ordering::SeqCst);
        assert!(verify(&secret, &["s3cr3t"]).await);
        assert!(verify(&secret, &["s3cr3u", "s3cr3t"]).await, "the form that was sent is tried first");
        assert!(!verify(&secret, &["s3cr3u"]).await);
        assert!(!verify(&CachedClientSecret::new(hash), &["s3cr3t"]).await, "the copy of the next version");
    }
}
