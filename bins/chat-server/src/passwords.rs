//! Passwords of people, under Argon2id: about 15 ms of one core and 19 MiB for each that is made or compared, so
//! few are at a time, on the pool for blocking work.

use std::sync::Arc;

use argon2::password_hash::phc;
use argon2::{Algorithm, Argon2, Params, PasswordHasher as _, PasswordVerifier as _, Version};
use async_trait::async_trait;
use chat_core::model::user::PasswordHash;
use chat_http::PasswordHashing;
use chat_http::error::InternalError;
use tokio::sync::Semaphore;

use crate::system_runtime::SystemRuntime;

/// Longest password, in bytes. Not specified; a longer one helps nobody and costs time to read.
pub(crate) const PASSWORD_MAX_BYTES: usize = 1024;
/// Memory of one computation, in KiB (OWASP Password Storage Cheat Sheet: 19 MiB, t=2, p=1).
const MEMORY_KIB: u32 = 19_456;
/// Passes over that memory.
const PASSES: u32 = 2;
/// Lanes of that memory.
const LANES: u32 = 1;
/// Computations at once. Two leave room on a small machine; the others wait without holding a thread.
const AT_ONCE: usize = 2;
/// A well-formed hash with our parameters and an output nobody derived from a password.
const NOBODYS: &str = "$argon2id$v=19$m=19456,t=2,p=1$AAECAwQFBgcICQoLDA0ODw$\
                       AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

/// Makes and compares hashes.
pub(crate) struct Argon2id {
    places: Arc<Semaphore>,
}

impl Argon2id {
    /// All places free.
    pub(crate) fn new() -> Self {
        Self { places: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Does the work when there is a place. The place is held by the work and not by who waits for it: a caller that
    /// goes away does not end what it began, so it must not make room for more of it.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, InternalError> + Send + 'static,
    ) -> Result<T, InternalError> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(|error| InternalError::new("there is no place to hash in", error))?;
        let done = tokio::task::spawn_blocking(move || {
            let _place = place;
            work()
        });
        done.await.map_err(|error| InternalError::new("the hasher ended", error))?
    }
}

#[async_trait]
impl PasswordHashing for Argon2id {
    async fn hash(&self, password: String) -> Result<PasswordHash, InternalError> {
        if password.is_empty() || password.len() > PASSWORD_MAX_BYTES {
            return Err(InternalError::without_cause("a password has 1 to 1024 bytes"));
        }
        let salt: [u8; 16] = SystemRuntime::bytes();
        self.run(move || {
            hash(&password, &salt).map_err(|error| InternalError::new("the password was not hashed", error))
        })
        .await
    }

    async fn verify_password(&self, password: String, hash: Option<PasswordHash>) -> Result<bool, InternalError> {
        // A length is no secret of ours.
        if password.len() > PASSWORD_MAX_BYTES {
            return Ok(false);
        }
        self.run(move || matches(&password, hash.as_ref())).await
    }
}

fn hash(password: &str, salt: &[u8]) -> argon2::password_hash::Result<PasswordHash> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None)?;
    let hasher = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let hash: phc::PasswordHash = hasher.hash_password_with_salt(password.as_bytes(), salt)?;
    Ok(PasswordHash(hash.to_string()))
}

fn matches(password: &str, hash: Option<&PasswordHash>) -> Result<bool, InternalError> {
    let text = hash.map_or(NOBODYS, |hash| hash.0.as_str());
    let stored = phc::PasswordHash::new(text).map_err(|error| InternalError::new("a stored hash is none", error))?;
    let right = Argon2::default().verify_password(password.as_bytes(), &stored).is_ok();
    Ok(right && hash.is_some())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::{Context, Waker};

    use super::*;

    #[tokio::test]
    async fn a_password_is_recognised_by_its_hash_and_no_other_is() {
        let passwords = Argon2id::new();
        let hash = passwords.hash("correct horse".to_owned()).await.unwrap();
        assert!(hash.0.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", hash.0);
        assert_ne!(passwords.hash("correct horse".to_owned()).await.unwrap(), hash, "the salt is drawn");
        assert!(passwords.verify_password("correct horse".to_owned(), Some(hash.clone())).await.unwrap());
        for wrong in ["", "correct hors", "Correct horse"] {
            assert!(!passwords.verify_password(wrong.to_owned(), Some(hash.clone())).await.unwrap(), "{wrong}");
        }
        assert!(passwords.verify_password("x".to_owned(), Some(PasswordHash("plain".to_owned()))).await.is_err());
    }

    #[tokio::test]
    async fn no_password_opens_an_account_without_one() {
        let passwords = Argon2id::new();
        for password in ["", "correct horse"] {
            assert!(!passwords.verify_password(password.to_owned(), None).await.unwrap());
        }
        assert!(phc::PasswordHash::new(NOBODYS).is_ok(), "and comparing it is the work of comparing a real one");
    }

    #[tokio::test]
    async fn a_password_without_end_is_neither_hashed_nor_compared() {
        let passwords = Argon2id::new();
        let most = "x".repeat(PASSWORD_MAX_BYTES);
        let hash = passwords.hash(most.clone()).await.unwrap();
        assert!(passwords.verify_password(most.clone(), Some(hash.clone())).await.unwrap());
        let longer = most + "x";
        assert!(!passwords.verify_password(longer.clone(), Some(hash)).await.unwrap());
        assert!(passwords.hash(longer).await.is_err());
        assert!(passwords.hash(String::new()).await.is_err());
    }

    #[tokio::test]
    async fn callers_that_go_away_do_not_pile_up_hashes() {
        let passwords = Argon2id::new();
        let mut ends = Vec::new();
        for _ in 0..AT_ONCE {
            let (end, ended) = mpsc::channel::<()>();
            let mut asked = Box::pin(passwords.run(move || Ok(ended.recv())));
            assert!(asked.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            drop(asked);
            ends.push(end);
        }
        let mut next = Box::pin(passwords.run(|| Ok(7)));
        assert!(next.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending(), "the work goes on");
        drop(ends);
        assert_eq!(next.await.unwrap(), 7);
    }
}
