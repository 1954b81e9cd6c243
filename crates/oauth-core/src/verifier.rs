//! Checking secrets without letting the dear ones starve everything else.

use std::num::NonZero;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::secret::{Pepper, SecretHash};

/// Argon2id computations of Clients' secrets that run at once: 15 ms and 19 MiB each. Two leave room on a
/// small machine; the others wait without holding a thread.
const CLIENTS_AT_ONCE: usize = 2;

/// Argon2id computations of people's passwords that run at once. One, because whoever signs in can wait and
/// a token request cannot: some 60 people a second and node, where there are cores enough.
const PEOPLE_AT_ONCE: usize = 1;

/// People who may wait for theirs. On a small machine the last one waits for three quarters of a minute, which is
/// as long as anybody looks at a page that does not answer.
const PEOPLE_WAITING_MAX: usize = 1_000;

/// The part of a machine, one in so many, that a crowd's passwords take: a hash fills the memory that cores share and
/// holds one of them, so while there is always one to make, what other requests do takes half as long again on a
/// machine of two cores. There it is a third of one core, 22 people a second.
const SHARE: u32 = 6;

/// Verifies secrets against stored hashes. Clients and people have lanes of their own, so that a crowd at
/// the sign-in page delays no Client.
pub struct SecretVerifier {
    pepper: Arc<Pepper>,
    hashing: Handle,
    clients: Arc<Semaphore>,
    people: Arc<Semaphore>,
    /// One for each person in the lane, waiting or being served.
    places: Arc<Semaphore>,
    /// Of the machine, as far as this process may use them.
    cores: usize,
}

/// Too many people wait already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Crowded;

impl SecretVerifier {
    /// A verifier under `pepper` that hashes on the threads for blocking work of `hashing`.
    #[must_use]
    pub fn new(pepper: Pepper, hashing: Handle) -> Self {
        Self {
            pepper: Arc::new(pepper),
            hashing,
            clients: Arc::new(Semaphore::new(CLIENTS_AT_ONCE)),
            people: Arc::new(Semaphore::new(PEOPLE_AT_ONCE)),
            places: Arc::new(Semaphore::new(PEOPLE_AT_ONCE + PEOPLE_WAITING_MAX)),
            cores: thread::available_parallelism().map_or(1, NonZero::get),
        }
    }

    /// The pepper.
    #[must_use]
    pub const fn pepper(&self) -> &Arc<Pepper> {
        &self.pepper
    }

    /// Where the dear ones are hashed.
    #[must_use]
    pub const fn hashing(&self) -> &Handle {
        &self.hashing
    }

    /// Whether `candidate` is the Client's secret behind `hash`. Cheap hashes are checked at once, Argon2id
    /// on a blocking thread, a few at a time.
    pub async fn verify(&self, hash: &SecretHash, candidate: &str) -> bool {
        if hash.is_cheap() {
            return hash.verify(&self.pepper, candidate.as_bytes());
        }
        self.verify_in(&self.clients, hash, candidate, None).await
    }

    /// Whether `candidate` is the person's password behind `hash`; always in the lane of people, so that how
    /// long it takes says nothing about the person.
    pub(crate) async fn verify_person(&self, hash: &SecretHash, candidate: &str) -> Result<bool, Crowded> {
        let _place = self.places.try_acquire().map_err(|_| Crowded)?;
        let rest = Rest { places: Arc::clone(&self.places), runtime: Handle::current(), cores: self.cores };
        Ok(self.verify_in(&self.people, hash, candidate, Some(rest)).await)
    }

    async fn verify_in(&self, lane: &Arc<Semaphore>, hash: &SecretHash, candidate: &str, rest: Option<Rest>) -> bool {
        let Ok(permit) = Arc::clone(lane).acquire_owned().await else { return false };
        let (hash, pepper, candidate) = (hash.clone(), Arc::clone(&self.pepper), candidate.to_owned());
        let verified = self.hashing.spawn_blocking(move || {
            let began = Instant::now();
            let verified = hash.verify(&pepper, candidate.as_bytes());
            if let Some(rest) = rest {
                rest.after(began.elapsed(), permit);
            }
            verified
        });
        verified.await.unwrap_or(false)
    }
}

/// What leaves the cores to others between two passwords, when a crowd waits.
struct Rest {
    /// One for each person in the lane is taken.
    places: Arc<Semaphore>,
    /// Where the time is waited for, without a thread.
    runtime: Handle,
    cores: usize,
}

impl Rest {
    /// Gives the place of a hash that took so long to the next: at once, unless there is a crowd. Whoever waited for the
    /// hash has its answer already, or went away, which makes no room for more.
    fn after(self, took: Duration, permit: OwnedSemaphorePermit) {
        let others = (PEOPLE_AT_ONCE + PEOPLE_WAITING_MAX).saturating_sub(self.places.available_permits() + 1);
        let pause = pause(took, self.cores);
        if others > 0 && !pause.is_zero() {
            self.runtime.spawn(async move {
                tokio::time::sleep(pause).await;
                drop(permit);
            });
        }
    }
}

/// For how long nothing is hashed after a hash that took so long, so that hashing takes its [`SHARE`] of the cores.
fn pause(took: Duration, cores: usize) -> Duration {
    let cores = u32::try_from(cores).unwrap_or(u32::MAX).max(1);
    (took * SHARE / cores).saturating_sub(took)
}

impl std::fmt::Debug for SecretVerifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretVerifier")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowds_passwords_take_a_sixth_of_the_machine_at_most() {
        let paused = |cores| pause(Duration::from_millis(15), cores).as_millis();
        assert_eq!([1, 2, 3, 4, 6, 64].map(paused), [75, 30, 15, 7, 0, 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_of_a_crowd_waits_a_while_and_who_comes_alone_does_not() {
        let places = Arc::new(Semaphore::new(PEOPLE_AT_ONCE + PEOPLE_WAITING_MAX));
        let people = Arc::new(Semaphore::new(PEOPLE_AT_ONCE));
        let after = || {
            let permit = Arc::clone(&people).try_acquire_owned().unwrap();
            let rest = Rest { places: Arc::clone(&places), runtime: Handle::current(), cores: 2 };
            rest.after(Duration::from_millis(15), permit);
        };
        let _alone = places.try_acquire().unwrap();
        after();
        assert_eq!(people.available_permits(), 1);
        let _second = places.try_acquire().unwrap();
        after();
        tokio::time::sleep(Duration::from_millis(29)).await;
        assert_eq!(people.available_permits(), 0);
        tokio::time::sleep(Duration::from_millis(2)).await;
        assert_eq!(people.available_permits(), 1);
    }
}
