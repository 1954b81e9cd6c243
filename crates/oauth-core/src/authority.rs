//! The authorization server as one value: settings, copies, keys and ports.

use std::sync::Arc;

use attempt_limits::attempts::Attempts;

use crate::authenticate::{ClientAuthenticationError, PresentedSecret};
use crate::authorize::PendingAuthorizationKey;
use crate::csrf::CsrfKey;
use crate::directory::RegistrationCache;
use crate::discovery::Documents;
use crate::document::StaticDocument;
use crate::env::Env;
use crate::jose::SigningKey;
use crate::jwks::JwksCache;
use crate::keys::{KeyError, KeyRing, SigningAlg};
use crate::ports::{
    AuditSink, AuthorizationCodeStore, ClientStore, GrantStore, HashingPool, JwksFetch, KeyStore, PatientStore,
    ReplayStore, SessionStore, StoreError, TokenFamilyStore, TokenStore,
};
use crate::root::RootClient;
use crate::seal::KeyEncryption;
use crate::secret::Pepper;
use crate::secret_attempts::SecretAttempts;
use crate::settings::Settings;
use crate::sign_in::ATTEMPT_POLICY;
use crate::token::SuccessorKey;
use crate::verifier::SecretVerifier;

/// Where the pepper of client secrets is kept in the store of secrets.
const PEPPER: &str = "client-secret-pepper";
/// Where the key that refresh tokens are derived with is kept there.
const SUCCESSORS: &str = "refresh-successors";
/// Where the key of pending authorizations is kept there.
const PENDING: &str = "authorization-pending";
/// Where the key of form tokens is kept there.
const FORMS: &str = "csrf";

/// The authorization server: the stores, keys and settings that its rules need beside a request.
pub struct AuthorizationServer {
    /// Addresses and defaults.
    pub settings: Settings,
    /// Copies of Clients, Organizations and policies.
    pub directory: RegistrationCache,
    /// The server's own keys.
    pub keys: KeyRing,
    /// Partners' key sets.
    pub jwks: JwksCache,
    /// The bootstrap administrator, when the operator set one.
    pub root: Option<RootClient>,
    /// The patients people act for.
    pub patients: Arc<dyn PatientStore>,
    /// Where audit records go.
    pub audit: Arc<dyn AuditSink>,
    pub(crate) sessions: Arc<dyn SessionStore>,
    pub(crate) codes: Arc<dyn AuthorizationCodeStore>,
    pub(crate) families: Arc<dyn TokenFamilyStore>,
    pub(crate) grants: Arc<dyn GrantStore>,
    pub(crate) replays: Arc<dyn ReplayStore>,
    pub(crate) tokens: Arc<dyn TokenStore>,
    pub(crate) verifier: SecretVerifier,
    pub(crate) successors: SuccessorKey,
    pub(crate) pending: PendingAuthorizationKey,
    pub(crate) attempts: Attempts,
    pub(crate) secret_attempts: SecretAttempts,
    forms: CsrfKey,
    documents: Documents,
}

/// The storage ports of an [`AuthorizationServer`]; one value may implement them all.
#[derive(Clone)]
pub struct AuthorizationStores {
    /// Clients, Users, Organizations, policies.
    pub clients: Arc<dyn ClientStore>,
    /// Nonces of assertions, which are used once.
    pub replays: Arc<dyn ReplayStore>,
    /// Opaque tokens and revocations.
    pub tokens: Arc<dyn TokenStore>,
    /// Signing keys and secrets.
    pub keys: Arc<dyn KeyStore>,
    /// Browser sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// Authorization codes.
    pub codes: Arc<dyn AuthorizationCodeStore>,
    /// Token families and their refresh tokens.
    pub families: Arc<dyn TokenFamilyStore>,
    /// What members let apps do.
    pub grants: Arc<dyn GrantStore>,
    /// The patients people act for.
    pub patients: Arc<dyn PatientStore>,
    /// Where audit records go.
    pub audit: Arc<dyn AuditSink>,
}

/// The configuration of the authorization server beside its stores.
pub struct AuthorizationServerConfig {
    /// Addresses and defaults.
    pub settings: Settings,
    /// Encrypts private keys at rest.
    pub sealer: Option<KeyEncryption>,
    /// The bootstrap administrator.
    pub root: Option<RootClient>,
    /// Fetches partners' key sets.
    pub jwks_fetch: Arc<dyn JwksFetch>,
    /// Hashes passwords and short secrets.
    pub hashing: Arc<dyn HashingPool>,
}

impl AuthorizationServer {
    /// Loads or creates the keys and the pepper.
    ///
    /// # Errors
    /// Any [`KeyError`]; the server must not start then.
    pub async fn open(
        env: &Env<'_>,
        setup: AuthorizationServerConfig,
        stores: AuthorizationStores,
    ) -> Result<Self, KeyError> {
        let pepper = Pepper::generate(env).as_bytes().to_vec();
        let pepper = stores.keys.establish_secret(PEPPER, pepper).await?;
        let pepper = Pepper::from_slice(&pepper).ok_or_else(|| damaged("pepper"))?;
        let pending = stores.keys.establish_secret(PENDING, env.bytes::<32>().to_vec()).await?;
        let pending = PendingAuthorizationKey::new(&pending).ok_or_else(|| damaged("key of pending authorizations"))?;
        let forms = stores.keys.establish_secret(FORMS, env.bytes::<32>().to_vec()).await?;
        let successors = stores.keys.establish_secret(SUCCESSORS, env.bytes::<32>().to_vec()).await?;
        let keys = KeyRing::open(env, stores.keys, setup.sealer).await?;
        Ok(Self {
            directory: RegistrationCache::new(stores.clients, &setup.settings),
            documents: Documents::new(&setup.settings),
            secret_attempts: SecretAttempts::new(env, setup.settings.secret_attempts),
            settings: setup.settings,
            keys,
            jwks: JwksCache::new(setup.jwks_fetch),
            root: setup.root,
            replays: stores.replays,
            tokens: stores.tokens,
            sessions: stores.sessions,
            codes: stores.codes,
            families: stores.families,
            grants: stores.grants,
            patients: stores.patients,
            audit: stores.audit,
            verifier: SecretVerifier::new(pepper, setup.hashing),
            successors: SuccessorKey::new(&successors),
            pending,
            attempts: Attempts::new(env.bytes(), ATTEMPT_POLICY),
            forms: CsrfKey::new(&forms),
        })
    }

    /// Returns the key of form tokens.
    #[must_use]
    pub const fn forms(&self) -> &CsrfKey {
        &self.forms
    }

    /// Returns the discovery documents.
    #[must_use]
    pub const fn documents(&self) -> &Documents {
        &self.documents
    }

    /// Returns the published keys.
    #[must_use]
    pub fn published_keys(&self) -> Arc<StaticDocument> {
        self.keys.snapshot().jwks()
    }

    /// Returns the pepper client secrets are stored under.
    #[must_use]
    pub fn pepper(&self) -> &Pepper {
        self.verifier.pepper()
    }

    /// Returns where passwords and short secrets are hashed; how many at once, its caller bounds.
    #[must_use]
    pub const fn hashing(&self) -> &Arc<dyn HashingPool> {
        self.verifier.hashing()
    }

    /// Returns whether an `Authorization` header that came from `address` is the bootstrap administrator's.
    ///
    /// # Errors
    /// [`ClientAuthenticationError::TooManyAttempts`] where wrong secrets of the administrator came from there too often.
    pub(crate) fn is_root(
        &self,
        env: &Env<'_>,
        authorization: Option<&str>,
        address: Option<&str>,
    ) -> Result<bool, ClientAuthenticationError> {
        match authorization.and_then(|header| PresentedSecret::from_header(header, None).ok()) {
            Some(secret) => self.is_roots(env, &secret.sent_from(address)),
            None => Ok(false),
        }
    }

    /// Returns whether the secret is the bootstrap administrator's. One that is not is counted where the Client is
    /// looked up that it may be of.
    ///
    /// # Errors
    /// [`ClientAuthenticationError::TooManyAttempts`].
    pub(crate) fn is_roots(&self, env: &Env<'_>, secret: &PresentedSecret) -> Result<bool, ClientAuthenticationError> {
        let Some(root) = &self.root else { return Ok(false) };
        if !secret.candidates().any(|(id, _)| id == root.id()) {
            return Ok(false);
        }
        self.secret_attempts.check(env, secret)?;
        let is_root = secret.candidates().any(|(id, secret)| root.is(id, secret));
        if is_root {
            self.secret_attempts.succeeded(secret);
        }
        Ok(is_root)
    }

    /// Returns the algorithm access tokens of a Client with this preference are signed with.
    #[must_use]
    pub fn access_token_alg(&self, preference: Option<SigningAlg>) -> SigningAlg {
        preference.unwrap_or(self.settings.access_token_alg)
    }

    /// Signs `claims`.
    ///
    /// # Errors
    /// [`crate::jose::SignError::BadKey`] when there is no key for `alg`.
    pub fn sign<T: serde::Serialize>(
        &self,
        env: &Env<'_>,
        alg: SigningAlg,
        claims: &T,
    ) -> Result<String, crate::jose::SignError> {
        let keys = self.keys.snapshot();
        let signer: Option<&SigningKey> = keys.signer(alg, env.now_s());
        signer.ok_or(crate::jose::SignError::BadKey)?.sign(claims)
    }
}

fn damaged(what: &str) -> StoreError {
    StoreError(format!("the stored {what} is damaged").into())
}

impl std::fmt::Debug for AuthorizationStores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AuthorizationStores")
    }
}

impl std::fmt::Debug for AuthorizationServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthorizationServer").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for AuthorizationServerConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthorizationServerConfig").field("settings", &self.settings).finish_non_exhaustive()
    }
}
