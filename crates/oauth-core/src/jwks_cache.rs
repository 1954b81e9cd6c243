//! The cache of clients' JWK Sets, fetched from their `jwks_uri` and kept as long as they allow.
//!
//! # Source
//! Specification, Client JWKS; SMART App Launch 2.2.0, client-confidential-asymmetric; RFC 9111.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use arc_swap::ArcSwapOption;
use moka::sync::Cache;
use tokio::sync::{Mutex, oneshot};
use tokio::task::JoinSet;

use crate::client_assertion::AssertionKeySelector;
use crate::jose::{JwkSetError, SigningAlg, UsableJwkSet};
use crate::limits::ASSERTION_CLOCK_LEEWAY_S;
use crate::ports::{JwksFetchError, JwksFetcher};
use crate::time_and_randomness::TimeAndRandomness;

/// Least time for which a fetched JWK Set is kept, in seconds, whatever its `Cache-Control` says: otherwise one
/// partner's `no-store` would turn every token request into an outbound call. The least that a `max-age` can say, so
/// that only `no-store`, `no-cache` and `max-age=0` are kept longer than asked.
pub const FRESHNESS_MIN_S: i64 = 1;
/// Longest time for which a fetched JWK Set is kept, in seconds, so that a retired key stops working.
pub const FRESHNESS_MAX_S: i64 = 3600;
/// How long a set is kept when its response says nothing, in seconds.
pub const FRESHNESS_DEFAULT_S: i64 = 300;
/// Least time between two fetches of one address because of an unknown `kid`, in seconds, so that a stranger who
/// invents key ids cannot make this server generate load.
pub const UNKNOWN_KID_REFETCH_INTERVAL_S: i64 = 30;
/// After a failed fetch the next attempt waits this long, in seconds.
pub const FAILED_FETCH_RETRY_DELAY_S: i64 = 10;
/// Longest time past its freshness for which a JWK Set is used while its host cannot be reached, in seconds. Not
/// specified; an hour outlasts the restart of a partner's host, and bounds for how long a stolen key that was withdrawn
/// works for a thief who keeps that host unreachable.
pub const STALE_DURING_OUTAGE_MAX_S: i64 = 3600;
/// Most addresses remembered.
const URIS_MAX: u64 = 10_000;

/// The cache of clients' JWK Sets on one node.
pub struct JwksCache {
    fetch: Arc<dyn JwksFetcher>,
    slots: Cache<String, Arc<Slot>>,
    /// Fetches under way. A fetch is a task of its own: a caller that hangs up must not end it, or
    /// strangers could use up an address's attempts without one ever being made.
    fetching: std::sync::Mutex<JoinSet<()>>,
}

#[derive(Default)]
struct Slot {
    held: ArcSwapOption<Held>,
    /// Held while fetching: one fetch at a time per address; the others wait and then use its result.
    attempts: Mutex<Attempts>,
    /// Whether the last attempt failed.
    down: AtomicBool,
}

#[derive(Default)]
struct Attempts {
    retry_from_s: i64,
    failure: Option<JwksError>,
    unknown_kid_from_s: i64,
}

struct Held {
    keys: Arc<UsableJwkSet>,
    fetched_us: i64,
    fresh_until_s: i64,
}

/// The reason why no JWK Set could be obtained.
#[derive(Debug, Clone, thiserror::Error)]
pub enum JwksError {
    /// It could not be fetched, and none is kept.
    #[error("the key set at jwks_uri could not be fetched: {0}")]
    Fetch(#[from] JwksFetchError),
    /// What came back is not a key set.
    #[error("the document at jwks_uri is not a key set: {0}")]
    Document(#[from] JwkSetError),
    /// The server is stopping.
    #[error("the key set at jwks_uri was not fetched: the server is stopping")]
    Stopping,
}

impl JwksCache {
    /// Creates an empty cache that fetches through `fetch`.
    #[must_use]
    pub fn new(fetch: Arc<dyn JwksFetcher>) -> Self {
        Self { fetch, slots: Cache::new(URIS_MAX), fetching: std::sync::Mutex::default() }
    }

    /// Returns the key set of `uri`; fetched when none is kept, when the kept one is no longer fresh, or once when it
    /// does not have `wanted`.
    ///
    /// While the partner's host cannot be reached the kept set is used at once, and the host is tried beside it. Any
    /// answer that is not a key set withdraws the kept one ([`JwksFetchError::is_host_outage`] says which answers
    /// count as none).
    ///
    /// # Errors
    /// [`JwksError`] when no set was ever obtained, when it was withdrawn, or when it is older than
    /// [`STALE_DURING_OUTAGE_MAX_S`] past its freshness.
    pub async fn get_or_fetch(
        &self,
        env: &TimeAndRandomness<'_>,
        uri: &str,
        wanted: AssertionKeySelector<'_>,
    ) -> Result<Arc<UsableJwkSet>, JwksError> {
        let slot = self.slots.get_with_by_ref(uri, Arc::default);
        let now_s = env.now_s();
        let held = slot.held.load_full().filter(|held| held.is_usable(now_s) && wanted.is_in_key_set(&held.keys));
        if let Some(held) = held.as_ref().filter(|held| held.is_fresh(now_s)) {
            return Ok(Arc::clone(&held.keys));
        }
        let refreshed = self.refresh(env, uri, wanted, &slot);
        if let Some(held) = held.filter(|_| slot.down.load(Ordering::Relaxed)) {
            return Ok(Arc::clone(&held.keys));
        }
        let outcome = refreshed.await.map_err(|_| JwksError::Stopping)?;
        let usable = slot.held.load_full().filter(|held| held.is_usable(now_s));
        usable.map(|held| Arc::clone(&held.keys)).ok_or(outcome.err().unwrap_or(JwksError::Stopping))
    }

    /// Starts the task that brings the slot up to date, if that is due.
    fn refresh(
        &self,
        env: &TimeAndRandomness<'_>,
        uri: &str,
        wanted: AssertionKeySelector<'_>,
        slot: &Arc<Slot>,
    ) -> oneshot::Receiver<Result<(), JwksError>> {
        let (done, refreshed) = oneshot::channel();
        let refresh = Refresh {
            fetch: Arc::clone(&self.fetch),
            slot: Arc::clone(slot),
            uri: uri.to_owned(),
            kid: wanted.kid.to_owned(),
            alg: wanted.alg,
            now_us: env.now_us,
        };
        let mut fetching = self.fetching.lock().unwrap_or_else(PoisonError::into_inner);
        while fetching.try_join_next().is_some() {}
        fetching.spawn(async move {
            // Whoever asked may have gone away meanwhile; the result is in the slot.
            drop(done.send(refresh.run().await));
        });
        refreshed
    }
}

/// One look at whether a slot is up to date, and the fetch if it is not.
struct Refresh {
    fetch: Arc<dyn JwksFetcher>,
    slot: Arc<Slot>,
    uri: String,
    kid: String,
    alg: SigningAlg,
    now_us: i64,
}

impl Refresh {
    async fn run(self) -> Result<(), JwksError> {
        let mut attempts = self.slot.attempts.lock().await;
        // Another task may have fetched while this one waited.
        let held = self.slot.held.load_full();
        let wanted = AssertionKeySelector { kid: &self.kid, alg: self.alg };
        if attempts.is_due(self.now_us, held.as_deref(), wanted) {
            let outcome = self.fetch_once().await;
            let is_down = outcome.as_ref().is_err_and(JwksError::is_outage);
            self.slot.down.store(is_down, Ordering::Relaxed);
            if let Err(error) = outcome.as_ref()
                && !is_down
                && self.slot.held.swap(None).is_some()
            {
                tracing::warn!(uri = self.uri, %error, "key set withdrawn: its address no longer answers with one");
            }
            if outcome.is_err() {
                attempts.retry_from_s = self.now_s() + FAILED_FETCH_RETRY_DELAY_S;
            }
            attempts.failure = outcome.err();
        }
        attempts.failure.clone().map_or(Ok(()), Err)
    }

    async fn fetch_once(&self) -> Result<(), JwksError> {
        let fetched = self.fetch.fetch(&self.uri).await?;
        let keys = Arc::new(UsableJwkSet::parse(&fetched.body)?);
        let fresh_for_s = fetched.fresh_for_s.unwrap_or(FRESHNESS_DEFAULT_S).clamp(FRESHNESS_MIN_S, FRESHNESS_MAX_S);
        let fresh_until_s = self.now_s() + fresh_for_s;
        self.slot.held.store(Some(Arc::new(Held { keys, fetched_us: self.now_us, fresh_until_s })));
        Ok(())
    }

    const fn now_s(&self) -> i64 {
        self.now_us.div_euclid(1_000_000)
    }
}

impl Attempts {
    /// Returns whether to fetch now. An attempt because of an unknown key is noted.
    fn is_due(&mut self, asked_us: i64, held: Option<&Held>, wanted: AssertionKeySelector<'_>) -> bool {
        let now_s = asked_us.div_euclid(1_000_000);
        if is_pausing(now_s, self.retry_from_s, FAILED_FETCH_RETRY_DELAY_S) {
            return false;
        }
        match held.filter(|held| held.is_fresh(now_s)) {
            None => true,
            Some(held) if wanted.is_in_key_set(&held.keys) || held.fetched_us >= asked_us => false,
            Some(_) if is_pausing(now_s, self.unknown_kid_from_s, UNKNOWN_KID_REFETCH_INTERVAL_S) => false,
            Some(_) => {
                self.unknown_kid_from_s = now_s + UNKNOWN_KID_REFETCH_INTERVAL_S;
                true
            }
        }
    }
}

/// Returns whether `now_s` lies in the pause of `pause_s` seconds that ends at `until_s`. A clock that was set back
/// does not make the pause longer.
const fn is_pausing(now_s: i64, until_s: i64, pause_s: i64) -> bool {
    now_s < until_s && until_s - now_s <= pause_s
}

impl JwksError {
    /// Returns whether the partner's host could not be asked, so that nothing is known of its keys.
    const fn is_outage(&self) -> bool {
        match self {
            Self::Fetch(error) => error.is_host_outage(),
            Self::Document(_) => false,
            Self::Stopping => true,
        }
    }
}

impl Held {
    /// A set that was fetched after `now_s` is not fresh: the clock was set back, and how old it is cannot be told.
    const fn is_fresh(&self, now_s: i64) -> bool {
        now_s < self.fresh_until_s && self.fetched_us.div_euclid(1_000_000) <= now_s + ASSERTION_CLOCK_LEEWAY_S
    }

    const fn is_usable(&self, now_s: i64) -> bool {
        now_s <= self.fresh_until_s + STALE_DURING_OUTAGE_MAX_S
    }
}

impl std::fmt::Debug for JwksCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let uris: HashMap<_, _> = self.slots.iter().map(|(uri, slot)| (uri, slot.held.load().is_some())).collect();
        f.debug_struct("JwksCache").field("uris", &uris).finish_non_exhaustive()
    }
}
