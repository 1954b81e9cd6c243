//! Partners' key sets, fetched from their `jwks_uri` and kept as long as they allow.
//!
//! # Source
//! Specification, Client JWKS; SMART App Launch 2.2.0, client-confidential-asymmetric; RFC 9111.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use moka::sync::Cache;
use tokio::sync::Mutex;

use crate::env::Env;
use crate::jose::{KeySet, KeySetFault};
use crate::ports::{JwksFetch, JwksFetchError};

/// A set is kept at least this long, in seconds, whatever its `Cache-Control` says: without a floor
/// one partner's `no-store` turns every token request into an outbound call.
pub const FRESH_FLOOR_S: i64 = 10;
/// A set is fetched again after at most this long, in seconds, so that a retired key stops working.
pub const FRESH_CEILING_S: i64 = 3600;
/// How long a set is kept when its response says nothing, in seconds.
pub const FRESH_DEFAULT_S: i64 = 300;
/// After an unknown `kid` made us fetch, the next unknown `kid` of that address waits this long, in
/// seconds: a stranger who invents identifiers must not make us a load generator.
pub const UNKNOWN_KID_THROTTLE_S: i64 = 30;
/// After a failed fetch the next attempt waits this long, in seconds.
pub const RETRY_AFTER_FAILURE_S: i64 = 10;
/// A set whose host is down is used at most this long past its freshness, in seconds.
pub const STALE_MAX_S: i64 = 24 * 3600;
/// Most addresses remembered.
const URIS_MAX: u64 = 10_000;

/// The key sets of one node.
pub struct JwksCache {
    fetch: Arc<dyn JwksFetch>,
    slots: Cache<String, Arc<Slot>>,
}

#[derive(Default)]
struct Slot {
    held: ArcSwapOption<Held>,
    /// Held while fetching: one fetch at a time per address; the others wait and then use its result.
    fetching: Mutex<Attempts>,
}

#[derive(Default)]
struct Attempts {
    retry_from_s: i64,
    failure: Option<JwksFault>,
    unknown_kid_from_s: i64,
}

struct Held {
    keys: Arc<KeySet>,
    fetched_us: i64,
    fresh_until_s: i64,
}

/// Why there is no key set.
#[derive(Debug, Clone, thiserror::Error)]
pub enum JwksFault {
    /// It could not be fetched, and none is kept.
    #[error("the key set at jwks_uri could not be fetched: {0}")]
    Fetch(#[from] JwksFetchError),
    /// What came back is not a key set.
    #[error("the document at jwks_uri is not a key set: {0}")]
    Document(#[from] KeySetFault),
}

impl JwksCache {
    /// An empty cache that fetches through `fetch`.
    #[must_use]
    pub fn new(fetch: Arc<dyn JwksFetch>) -> Self {
        Self { fetch, slots: Cache::new(URIS_MAX) }
    }

    /// The key set of `uri`; fetched when none is kept, when the kept one is no longer fresh, or
    /// once when it does not know `kid`.
    ///
    /// # Errors
    /// [`JwksFault`] when no set was ever obtained (or it is older than [`STALE_MAX_S`] past its
    /// freshness).
    pub async fn keys(&self, env: &Env<'_>, uri: &str, kid: &str) -> Result<Arc<KeySet>, JwksFault> {
        let slot = self.slots.get_with_by_ref(uri, Arc::default);
        if let Some(held) = slot.held.load_full().filter(|held| held.serves(env, kid)) {
            return Ok(Arc::clone(&held.keys));
        }
        let mut attempts = slot.fetching.lock().await;
        // Another request may have fetched while this one waited.
        let held = slot.held.load_full();
        match attempts.next(env, held.as_deref(), kid) {
            Next::Use => {}
            Next::Fetch => match self.fetch_into(env, uri, &slot).await {
                Ok(()) => attempts.failure = None,
                Err(fault) => {
                    attempts.retry_from_s = env.now_s() + RETRY_AFTER_FAILURE_S;
                    attempts.failure = Some(fault);
                }
            },
        }
        let usable = slot.held.load_full().filter(|held| env.now_s() <= held.fresh_until_s + STALE_MAX_S);
        match (usable, &attempts.failure) {
            (Some(held), _) => Ok(Arc::clone(&held.keys)),
            (None, Some(fault)) => Err(fault.clone()),
            (None, None) => Err(JwksFault::Fetch(JwksFetchError::Unreachable("no attempt was made".to_owned()))),
        }
    }

    async fn fetch_into(&self, env: &Env<'_>, uri: &str, slot: &Slot) -> Result<(), JwksFault> {
        let fetched = self.fetch.fetch(uri).await?;
        let keys = Arc::new(KeySet::parse(&fetched.body)?);
        let fresh_for_s = fetched.fresh_for_s.unwrap_or(FRESH_DEFAULT_S).clamp(FRESH_FLOOR_S, FRESH_CEILING_S);
        let fresh_until_s = env.now_s() + fresh_for_s;
        slot.held.store(Some(Arc::new(Held { keys, fetched_us: env.now_us, fresh_until_s })));
        Ok(())
    }
}

enum Next {
    Use,
    Fetch,
}

impl Attempts {
    fn next(&mut self, env: &Env<'_>, held: Option<&Held>, kid: &str) -> Next {
        let now_s = env.now_s();
        let fresh = held.filter(|held| held.is_fresh(env));
        if now_s < self.retry_from_s {
            return Next::Use;
        }
        match fresh {
            None => Next::Fetch,
            Some(held) if held.keys.knows(kid) || held.fetched_us >= env.now_us => Next::Use,
            Some(_) if now_s < self.unknown_kid_from_s => Next::Use,
            Some(_) => {
                self.unknown_kid_from_s = now_s + UNKNOWN_KID_THROTTLE_S;
                Next::Fetch
            }
        }
    }
}

impl Held {
    fn is_fresh(&self, env: &Env<'_>) -> bool {
        env.now_s() < self.fresh_until_s
    }

    fn serves(&self, env: &Env<'_>, kid: &str) -> bool {
        self.is_fresh(env) && self.keys.knows(kid)
    }
}

impl std::fmt::Debug for JwksCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let uris: HashMap<_, _> = self.slots.iter().map(|(uri, slot)| (uri, slot.held.load().is_some())).collect();
        f.debug_struct("JwksCache").field("uris", &uris).finish_non_exhaustive()
    }
}
