//! Checking secrets without letting the dear ones starve everything else.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::secret::{Pepper, SecretHash};

/// Argon2id computations that run at once: 15 ms and 19 MiB each. Two leave room on a small machine;
/// the others wait without holding a thread.
const DEAR_AT_ONCE: usize = 2;

/// Verifies secrets against stored hashes.
pub struct SecretVerifier {
    pepper: Arc<Pepper>,
    dear: Arc<Semaphore>,
}

impl SecretVerifier {
    /// A verifier under `pepper`.
    #[must_use]
    pub fn new(pepper: Pepper) -> Self {
        Self { pepper: Arc::new(pepper), dear: Arc::new(Semaphore::new(DEAR_AT_ONCE)) }
    }

    /// The pepper.
    #[must_use]
    pub const fn pepper(&self) -> &Arc<Pepper> {
        &self.pepper
    }

    /// Whether `candidate` is the secret behind `hash`. Cheap hashes are checked at once, Argon2id
    /// on a blocking thread, [`DEAR_AT_ONCE`] at a time.
    pub async fn verify(&self, hash: &SecretHash, candidate: &str) -> bool {
        if hash.is_cheap() {
            return hash.verify(&self.pepper, candidate.as_bytes());
        }
        let Ok(permit) = Arc::clone(&self.dear).acquire_owned().await else { return false };
        let (hash, pepper, candidate) = (hash.clone(), Arc::clone(&self.pepper), candidate.to_owned());
        let verified = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            hash.verify(&pepper, candidate.as_bytes())
        });
        verified.await.unwrap_or(false)
    }
}

impl std::fmt::Debug for SecretVerifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretVerifier")
    }
}
