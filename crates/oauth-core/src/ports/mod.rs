//! The ports of this crate: the traits for storage, auditing, hashing threads and fetching key sets.
//!
//! One storage method is one transaction, named for the rule it serves. Uniqueness, expiry and
//! once-only live in the statement behind the method, never in a read before it.

mod audit;
mod member;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::access_policies::BoundSqlPolicyQuery;
use crate::signing_keys::StoredSigningKey;

pub use audit::{AuditAction, AuditRecord, AuditSink, AuditedPayerOperation};
pub use member::{
    AuthorizationCodeRecord, AuthorizationCodeState, AuthorizationCodeStore, AuthorizationState,
    AuthorizationStateQuery, BrowserSession, CodeIssueOutcome, CodeRedemptionOutcome, ConsentGrant,
    ConsentGrantDecision, ConsentGrantStore, FirstFamilyTokens, GRANTLESS_FAMILIES_PER_APP_MAX,
    PATIENT_SEARCH_RESULTS_MAX, PatientIdentifier, PatientStore, PatientSummary, RefreshTokenRecord,
    RefreshTokenRotation, RefreshTokenRotationOutcome, RefreshTokenState, SecretSha256, SessionStore,
    SingleUseLaunchContext, TokenFamily, TokenFamilyStore,
};

/// The error of a failed storage operation. The cause is logged once, where the failure becomes an answer; callers of
/// the server never see it.
#[derive(Debug, thiserror::Error)]
#[error("storage failed: {0}")]
pub struct StoreError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// The cause within a [`StoreError`] that may be gone the next time: contention or overload.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct TransientStoreCause(pub Box<dyn std::error::Error + Send + Sync>);

impl StoreError {
    /// Returns whether the error is transient, so that a retry may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        let own: &(dyn std::error::Error + 'static) = self.0.as_ref();
        std::iter::successors(Some(own), |error| error.source()).any(<dyn std::error::Error>::is::<TransientStoreCause>)
    }
}

/// A resource document with the version at which it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionedDocument {
    /// Grows with every write of the resource; never reused, not even after a delete.
    pub version: i64,
    /// The resource as stored, without `resourceType` and `id`.
    pub resource: Value,
}

/// The store of registrations (Clients, Users, Organizations, introspectors, policies) that authorization decisions
/// read.
#[async_trait]
pub trait RegistrationStore: Send + Sync {
    /// Returns the Client of this id, or `None` when there is none (or it was deleted).
    async fn client(&self, id: &str) -> Result<Option<VersionedDocument>, StoreError>;
    /// Returns the User of this id.
    async fn user(&self, id: &str) -> Result<Option<VersionedDocument>, StoreError>;
    /// Returns the Organization of this id.
    async fn organization(&self, id: &str) -> Result<Option<VersionedDocument>, StoreError>;
    /// Returns every `TokenIntrospector` whose `jwt.iss` is `issuer`, in the order of their ids.
    async fn introspectors_of_issuer(&self, issuer: &str) -> Result<Vec<Value>, StoreError>;
    /// Every `AccessPolicy` with its id, and the revision the set was read at, in one snapshot.
    async fn stored_access_policies(&self) -> Result<StoredAccessPolicies, StoreError>;
    /// Returns whether the database answers the SQL query of an access policy with yes, within a time limit of its own
    /// and without writing anything.
    async fn evaluate_sql_policy(&self, question: &BoundSqlPolicyQuery) -> Result<bool, StoreError>;
    /// Returns the current state of a caller's token, Client and User, in one statement that concurrent callers share.
    async fn caller_status(&self, of: &CallerStatusQuery<'_>) -> Result<CallerStatus, StoreError>;
}

/// The access policies of the deployment at one revision.
#[derive(Debug, Clone, Default)]
pub struct StoredAccessPolicies {
    /// Changes whenever any `AccessPolicy` is written or deleted.
    pub revision: i64,
    /// Id and resource of each policy.
    pub policies: Vec<(String, Value)>,
}

/// The token, client and user whose state is queried.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallerStatusQuery<'a> {
    /// The calling Client.
    pub client_id: Option<&'a str>,
    /// The calling User.
    pub user_id: Option<&'a str>,
    /// The `jti` of the presented access token.
    pub token_id: Option<&'a str>,
    /// The family the presented access token belongs to (its `sid`), when a person authorized it.
    pub family_id: Option<&'a str>,
}

/// The current state of a token's client, user and revocation, as of the statement that read it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallerStatus {
    /// Current version of the Client, `None` when it does not exist.
    pub client_version: Option<i64>,
    /// When a Client of this id was last deleted, in microseconds since the UNIX epoch: tokens from
    /// before belong to a registration that is gone, even if the id is in use again.
    pub client_deleted_us: Option<i64>,
    /// Current version of the User, `None` when it does not exist.
    pub user_version: Option<i64>,
    /// Whether the token was revoked.
    pub token_revoked: bool,
    /// The stamp of the password the family began with (`TokenFamily::credential`), `None` when the
    /// family was revoked or is gone: the grant was taken back, its Client or User deleted.
    pub family_credential: Option<SecretSha256>,
    /// Current revision of the access policies (see [`StoredAccessPolicies::revision`]).
    pub policy_revision: i64,
}

/// The store that admits token requests and protects client assertions against replay: the one database access of a
/// token request.
#[async_trait]
pub trait ReplayStore: Send + Sync {
    /// Claims the assertion's `jti`, if there is one, and returns the current versions of the
    /// Client and the Organization, in one statement that concurrent requests share.
    ///
    /// Returns only after the claim is durable. Of any number of simultaneous claims of one
    /// `(client_id, jti)`, on any number of nodes, exactly one is told
    /// [`JtiClaimOutcome::Fresh`] until the claim's expiry has passed.
    async fn claim_jti(&self, admission: JtiClaim) -> Result<JtiClaimResult, StoreError>;
}

/// The claim of a client assertion's `jti`, with the registrations whose current versions it asks for.
#[derive(Debug, Clone)]
pub struct JtiClaim {
    /// The authenticated Client.
    pub client_id: Arc<str>,
    /// The Organization its B2B extension names, if any.
    pub organization_id: Option<Arc<str>>,
    /// The assertion's nonce, for assertions.
    pub nonce: Option<ExpiringJti>,
    /// Seconds since the UNIX epoch.
    pub now_s: i64,
}

/// The `jti` of a client assertion with the time until which it must be remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiringJti {
    /// As sent, at most [`crate::limits::JTI_MAX_BYTES`] long.
    pub jti: String,
    /// Seconds since the UNIX epoch after which the assertion would be refused as expired anyway,
    /// leeway included.
    pub expires_s: i64,
}

/// The outcome of [`ReplayStore::claim_jti`]: the fate of the `jti` and the current versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JtiClaimResult {
    /// Whether the nonce was claimed by this call.
    pub claim: JtiClaimOutcome,
    /// Current version of the Client, `None` when it does not exist.
    pub client_version: Option<i64>,
    /// Current version of the Organization, `None` when it does not exist or none was asked for.
    pub organization_version: Option<i64>,
}

/// The outcome of claiming a `jti`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JtiClaimOutcome {
    /// There was no nonce to claim.
    NotAsked,
    /// This call claimed it.
    Fresh,
    /// It had been claimed before.
    Replayed,
}

/// The store of opaque tokens and of revoked tokens.
#[async_trait]
pub trait AccessTokenStore: Send + Sync {
    /// Stores an opaque access token of a Client, if that still is at `client_version`: the token was decided on what
    /// that version says. Returns whether it was stored, after it is durable.
    async fn store_opaque_token(&self, token: OpaqueTokenRecord, client_version: i64) -> Result<bool, StoreError>;
    /// Returns the opaque token with this hash, revoked or not, expired or not, and the standing of its parties at the
    /// moment of the one statement that both are read by: what a [`CallerStatusQuery`] of its Client, its identifier
    /// and, where its claims have a `sid`, of that family and of the User who is its `sub` is answered.
    async fn find_opaque_token(
        &self,
        hash: &SecretSha256,
    ) -> Result<Option<(OpaqueTokenRecord, CallerStatus)>, StoreError>;
    /// Revokes the token with this id until `expires_s`, after which it is expired anyway.
    /// Revoking twice is not an error.
    async fn revoke_token_id(&self, token_id: &str, expires_s: i64) -> Result<(), StoreError>;
    /// Forgets opaque tokens and revocations that expired before `now_s`; returns how many.
    async fn delete_expired_tokens(&self, now_s: i64) -> Result<u64, StoreError>;
}

/// An opaque access token as stored: its hash and what it stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct OpaqueTokenRecord {
    /// SHA-256 of the token; the token itself is never stored.
    pub hash: [u8; 32],
    /// The token's identifier, what `jti` is in a JWT.
    pub token_id: String,
    /// The Client it was issued to.
    pub client_id: String,
    /// The claims a JWT of this grant would carry.
    pub claims: Value,
    /// Seconds since the UNIX epoch.
    pub expires_s: i64,
}

/// The store of the server's signing keys and of named secrets such as the pepper.
#[async_trait]
pub trait SigningKeyStore: Send + Sync {
    /// Returns every signing key that is not retired, oldest first.
    async fn unretired_keys(&self) -> Result<Vec<StoredSigningKey>, StoreError>;
    /// Stores `candidates` if the database holds no key at all yet, in one statement with that
    /// check, and returns what the database then holds: of several nodes that start at once, all
    /// get the first one's keys.
    async fn store_initial_keys(&self, candidates: Vec<StoredSigningKey>) -> Result<Vec<StoredSigningKey>, StoreError>;
    /// Stores `keys`, new ones and held ones with another private part, if the keys that are not retired are
    /// exactly `held`, in one transaction with that check. Returns whether it did; nothing is changed otherwise.
    ///
    /// The private parts of retired keys are forgotten: they never sign again, and may be stored in clear or under
    /// a secret that was given up.
    async fn save_keys_if_unchanged(
        &self,
        held: &[StoredSigningKey],
        keys: Vec<StoredSigningKey>,
    ) -> Result<bool, StoreError>;
    /// Retires a key: it is neither published nor used from `at_s` on. Returns whether there was
    /// such a key.
    async fn retire_key(&self, kid: &str, at_s: i64) -> Result<bool, StoreError>;
    /// Returns the value stored under `name` (for example the pepper of client secrets), storing `candidate` first if
    /// there is none.
    async fn get_or_store_secret(&self, name: &str, candidate: Vec<u8>) -> Result<Vec<u8>, StoreError>;
}

/// A pool of threads for hashes of passwords and short secrets, each of which takes a core for some 15 ms. They should
/// give way to all other threads: a token request takes a fraction of a millisecond.
pub trait HashingPool: Send + Sync {
    /// Runs `work` when a thread is free, without waiting for it. A pool that shuts down drops what it has not begun.
    fn submit_work(&self, work: Box<dyn FnOnce() + Send>);
}

/// A function that starts work is a pool.
impl<F: Fn(Box<dyn FnOnce() + Send>) + Send + Sync> HashingPool for F {
    fn submit_work(&self, work: Box<dyn FnOnce() + Send>) {
        self(work);
    }
}

/// Fetches JWK Sets from clients' `jwks_uri`.
#[async_trait]
pub trait JwksFetcher: Send + Sync {
    /// One GET of `uri`, with the limits of [`crate::jwks_cache`]; no caching here.
    async fn fetch(&self, uri: &str) -> Result<FetchedJwks, JwksFetchError>;
}

/// A fetched JWK Set document, with the time for which it is fresh.
#[derive(Debug, Clone)]
pub struct FetchedJwks {
    /// The body, at most [`crate::limits::JWKS_MAX_BYTES`] long.
    pub body: Vec<u8>,
    /// For how many seconds the response may be reused according to its `Cache-Control` (RFC 9111);
    /// `None` when the response says nothing about it, `Some(0)` for `no-store` and `no-cache`.
    pub fresh_for_s: Option<i64>,
}

/// The reason why a key set could not be fetched. The text names the cause and no address of an inner network.
#[derive(Debug, Clone, thiserror::Error)]
pub enum JwksFetchError {
    /// The URI is not one this server calls: not https, or a private address.
    #[error("the address is not allowed: {0}")]
    Refused(String),
    /// No answer in time, or none at all.
    #[error("the host did not answer: {0}")]
    Unreachable(String),
    /// An answer other than 200.
    #[error("the host answered with status {0}")]
    Status(u16),
    /// The body was larger than the limit.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
}

impl JwksFetchError {
    /// Returns whether the fetch failed because the host did not answer, or is overloaded or broken at the moment (408,
    /// 429 and 5xx). Every other failure says that there is no key set at the address.
    #[must_use]
    pub const fn is_host_outage(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Status(status) => matches!(*status, 408 | 429 | 500..=599),
            Self::Refused(_) | Self::TooLarge(_) => false,
        }
    }
}
