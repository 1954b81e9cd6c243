//! The stores of the authorization server in memory, for tests and for programs that retain nothing.
//!
//! [`MemoryAuthorizationStore`] implements every storage port of this crate and gives the answers of the SQL engines,
//! case by case. With it, a test that issues a token has ten lines:
//!
//! ```
//! # use std::sync::Arc;
//! # use oauth_core::{form_fields::FormFields, memory_store::*, settings::AuthorizationSettings};
//! # use oauth_core::{time_and_randomness::TimeAndRandomness, token_endpoint::TokenRequest};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let random = SeededRandom::new(1);
//! let env = TimeAndRandomness { now_us: 1_767_225_600_000_000, random: &random };
//! let store = Arc::new(MemoryAuthorizationStore::default());
//! let settings = AuthorizationSettings::new("https://payer.example", "http://payer.example/fhir");
//! let server = store.open_server(&env, settings).await?;
//! let secret = oauth_core::secret_hash::hash_client_secret(&env, server.secrets.pepper(), b"s3cr3t")?.to_text();
//! let client = serde_json::json!({"grant_types": ["client_credentials"], "secret": secret, "scope": ["system/*.rs"]});
//! store.put_resource("Client", "service", client);
//! let fields = [("grant_type", "client_credentials"), ("client_id", "service"), ("client_secret", "s3cr3t")];
//! let form = FormFields::new(fields.map(|(name, value)| (name.to_owned(), value.to_owned())))?;
//! let request = TokenRequest { authorization: None, form: &form, address: None };
//! assert_eq!(server.tokens.answer_token_request(&env, &request).await?.scope.as_deref(), Some("system/*.rs"));
//! # Ok(())
//! # }
//! ```

mod members;
mod registrations;
mod rows;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use serde_json::Value;

use crate::authorization_server::{AuthorizationServer, AuthorizationServerConfig, AuthorizationStores};
use crate::ports::{AuditRecord, AuditSink, FetchedJwks, JwksFetchError, JwksFetcher, VersionedDocument};
use crate::settings::AuthorizationSettings;
use crate::signing_keys::SigningKeyError;
use crate::time_and_randomness::{RandomSource, TimeAndRandomness};

pub use rows::{AuthorizationCodeRow, MemoryStoreRows, RefreshTokenRow, TokenFamilyRow};

/// An in-memory implementation of every store of an [`AuthorizationServer`], behind one lock: each method of a port
/// holds it from start to end, as a transaction.
///
/// Expired rows are retained until
/// [`AccessTokenStore::delete_expired_tokens`](crate::ports::AccessTokenStore::delete_expired_tokens), and an SQL
/// policy is answered only when it is `SELECT true` or `SELECT false`.
#[derive(Default)]
pub struct MemoryAuthorizationStore {
    rows: Mutex<MemoryStoreRows>,
    after_next_load: Mutex<Option<ConcurrentChange>>,
}

/// A change by another request, made between two steps of the one under test.
type ConcurrentChange = Box<dyn FnOnce(&mut MemoryStoreRows) + Send>;

impl MemoryAuthorizationStore {
    /// Stores a resource without its `resourceType` and `id`, under the next version.
    pub fn put_resource(&self, resource_type: &str, id: &str, resource: Value) {
        self.lock_rows().put(resource_type, id, resource);
    }

    /// Returns a resource as it is stored; `None` when there is none.
    #[must_use]
    pub fn get_resource(&self, resource_type: &str, id: &str) -> Option<VersionedDocument> {
        self.lock_rows().get(resource_type, id).cloned()
    }

    /// Deletes a resource at `at_us`, in microseconds since the UNIX epoch, with everything that belongs to it: the
    /// sessions, grants and families of a Client or a User.
    pub fn delete_resource(&self, resource_type: &str, id: &str, at_us: i64) {
        self.lock_rows().delete(resource_type, id, at_us);
    }

    /// Stores an access policy.
    pub fn put_policy(&self, id: &str, policy: Value) {
        self.lock_rows().put_policy(id, policy);
    }

    /// Locks the rows, for a test to inspect or to change them directly.
    pub fn lock_rows(&self) -> MutexGuard<'_, MemoryStoreRows> {
        // A panic in a test leaves rows behind that no other test shares.
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `change` on the rows once, right after the next authorization state is loaded, so that its request decides
    /// on rows that have changed.
    pub fn change_after_next_load(&self, change: impl FnOnce(&mut MemoryStoreRows) + Send + 'static) {
        *self.after_next_load.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(change));
    }

    fn take_concurrent_change(&self) -> Option<ConcurrentChange> {
        self.after_next_load.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns this store as each of the stores of a server.
    #[must_use]
    pub fn as_authorization_stores(self: &Arc<Self>) -> AuthorizationStores {
        AuthorizationStores {
            clients: Arc::clone(self) as _,
            replays: Arc::clone(self) as _,
            tokens: Arc::clone(self) as _,
            keys: Arc::clone(self) as _,
            sessions: Arc::clone(self) as _,
            codes: Arc::clone(self) as _,
            families: Arc::clone(self) as _,
            grants: Arc::clone(self) as _,
            patients: Arc::clone(self) as _,
            audit: Arc::clone(self) as _,
        }
    }

    /// Opens a server over this store: without bootstrap administrator, with signing keys in clear, hashing where it is
    /// called, and reaching no other host.
    ///
    /// # Errors
    /// Any [`SigningKeyError`].
    pub async fn open_server(
        self: &Arc<Self>,
        env: &TimeAndRandomness<'_>,
        settings: AuthorizationSettings,
    ) -> Result<AuthorizationServer, SigningKeyError> {
        let setup = AuthorizationServerConfig {
            settings,
            sealer: None,
            root: None,
            jwks_fetch: Arc::new(UnreachableJwksHosts),
            hashing: Arc::new(|work: Box<dyn FnOnce() + Send>| work()),
        };
        AuthorizationServer::open(env, setup, self.as_authorization_stores()).await
    }
}

impl AuditSink for MemoryAuthorizationStore {
    fn record(&self, record: AuditRecord) {
        self.lock_rows().audit.push(record);
    }
}

impl std::fmt::Debug for MemoryAuthorizationStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MemoryAuthorizationStore")
    }
}

/// A [`JwksFetcher`] for which no host is reachable.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnreachableJwksHosts;

#[async_trait]
impl JwksFetcher for UnreachableJwksHosts {
    async fn fetch(&self, _uri: &str) -> Result<FetchedJwks, JwksFetchError> {
        Err(JwksFetchError::Unreachable("there is no network".to_owned()))
    }
}

/// A random source that gives the same bytes in every run, and so no secrets (`SplitMix64`).
#[derive(Debug)]
pub struct SeededRandom(AtomicU64);

impl SeededRandom {
    /// Creates a generator that begins at `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }
}

impl RandomSource for SeededRandom {
    fn fill_bytes(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let mut mixed = self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            for (byte, random) in chunk.iter_mut().zip((mixed ^ (mixed >> 31)).to_le_bytes()) {
                *byte = random;
            }
        }
    }
}
