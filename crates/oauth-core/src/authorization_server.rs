//! The authorization server: every service of one deployment, wired to its stores.

use std::sync::Arc;

use attempt_limits::password_attempt_limits::AttemptLimiter;

use crate::access_token_verification::AccessTokenVerifier;
use crate::acting::PatientAccessRules;
use crate::audit::AuditTrail;
use crate::authorization_endpoint::{AuthorizationPageService, PendingAuthorizationEncryptionKey};
use crate::bootstrap_admin::BootstrapAdministrator;
use crate::browser_session::SessionService;
use crate::client_authentication::ClientAuthenticator;
use crate::connected_apps::ConnectedAppService;
use crate::csrf::CsrfTokenKey;
use crate::introspection::IntrospectionRevocationService;
use crate::jwks_cache::JwksCache;
use crate::launch::LaunchService;
use crate::ports::{
    AccessTokenStore, AuditSink, AuthorizationCodeStore, ConsentGrantStore, HashingPool, JwksFetcher, PatientStore,
    RegistrationStore, ReplayStore, SessionStore, SigningKeyStore, StoreError, TokenFamilyStore,
};
use crate::registration_cache::RegistrationCache;
use crate::resource_caller::CallerAuthenticator;
use crate::secret_attempts::SecretAttempts;
use crate::secret_hash::Pepper;
use crate::secret_verifier::SecretVerifier;
use crate::settings::AuthorizationSettings;
use crate::sign_in::{ATTEMPT_POLICY, SignInService};
use crate::signing_key_encryption::SigningKeyEncryption;
use crate::signing_keys::{SigningKeyError, SigningKeyRing};
use crate::time_and_randomness::TimeAndRandomness;
use crate::token_endpoint::{SuccessorKey, TokenService};
use crate::token_issuer::TokenIssuer;

/// Where the pepper of client secrets is kept in the store of secrets.
const PEPPER: &str = "client-secret-pepper";
/// Where the key that refresh tokens are derived with is kept there.
const SUCCESSORS: &str = "refresh-successors";
/// Where the key of pending authorizations is kept there.
const PENDING: &str = "authorization-pending";
/// Where the key of form tokens is kept there.
const FORMS: &str = "csrf";

/// The authorization server of one deployment: its services, each of which holds the stores and keys that it needs.
#[derive(Clone)]
pub struct AuthorizationServer {
    /// Addresses, documents and signing keys.
    pub issuer: Arc<TokenIssuer>,
    /// Cached Clients, Users, Organizations and policies, by which access is decided.
    pub directory: Arc<RegistrationCache>,
    /// Hashes and verifies secrets.
    pub secrets: Arc<SecretVerifier>,
    /// Receives audit records.
    pub audit: Arc<dyn AuditSink>,
    /// Authenticates Clients and the bootstrap administrator.
    pub authenticator: Arc<ClientAuthenticator>,
    /// Identifies callers of the resource endpoints.
    pub callers: Arc<CallerAuthenticator>,
    /// Signs people in.
    pub sign_in: Arc<SignInService>,
    /// Looks up and ends sessions.
    pub sessions: Arc<SessionService>,
    /// Leads people through authorization.
    pub authorize: Arc<AuthorizationPageService>,
    /// Issues tokens.
    pub tokens: Arc<TokenService>,
    /// Introspects and revokes tokens.
    pub introspection: Arc<IntrospectionRevocationService>,
    /// Lists and disconnects the apps of a person.
    pub connected_apps: Arc<ConnectedAppService>,
    /// Launches apps from an EHR.
    pub launches: Arc<LaunchService>,
    /// The key of form tokens.
    pub forms: Arc<CsrfTokenKey>,
}

/// The storage ports of an [`AuthorizationServer`]; one value may implement them all.
#[derive(Clone)]
pub struct AuthorizationStores {
    /// Clients, Users, Organizations, policies.
    pub clients: Arc<dyn RegistrationStore>,
    /// Nonces of assertions, which are used once.
    pub replays: Arc<dyn ReplayStore>,
    /// Opaque tokens and revocations.
    pub tokens: Arc<dyn AccessTokenStore>,
    /// Signing keys and secrets.
    pub keys: Arc<dyn SigningKeyStore>,
    /// Browser sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// Authorization codes.
    pub codes: Arc<dyn AuthorizationCodeStore>,
    /// Token families and their refresh tokens.
    pub families: Arc<dyn TokenFamilyStore>,
    /// What members let apps do.
    pub grants: Arc<dyn ConsentGrantStore>,
    /// The patients people act for.
    pub patients: Arc<dyn PatientStore>,
    /// Where audit records go.
    pub audit: Arc<dyn AuditSink>,
}

/// What the authorization server is given beside its stores: settings, the encryption of signing keys, the bootstrap
/// administrator, the fetcher of key sets and the pool that hashes passwords.
pub struct AuthorizationServerConfig {
    /// Addresses and defaults.
    pub settings: AuthorizationSettings,
    /// Encrypts private keys at rest.
    pub sealer: Option<SigningKeyEncryption>,
    /// The bootstrap administrator.
    pub root: Option<BootstrapAdministrator>,
    /// Fetches partners' key sets.
    pub jwks_fetch: Arc<dyn JwksFetcher>,
    /// Hashes passwords and short secrets.
    pub hashing: Arc<dyn HashingPool>,
}

/// What a deployment draws once and keeps: the pepper of client secrets and the keys of its forms and tokens.
struct DeploymentSecrets {
    pepper: Pepper,
    pending: PendingAuthorizationEncryptionKey,
    forms: CsrfTokenKey,
    successors: SuccessorKey,
}

impl DeploymentSecrets {
    async fn load(env: &TimeAndRandomness<'_>, store: &dyn SigningKeyStore) -> Result<Self, StoreError> {
        let load = async |name| store.get_or_store_secret(name, env.random_bytes::<32>().to_vec()).await;
        Ok(Self {
            pepper: Pepper::from_slice(&load(PEPPER).await?).ok_or_else(|| damaged("pepper"))?,
            pending: PendingAuthorizationEncryptionKey::new(&load(PENDING).await?)
                .ok_or_else(|| damaged("key of pending authorizations"))?,
            forms: CsrfTokenKey::new(&load(FORMS).await?),
            successors: SuccessorKey::new(&load(SUCCESSORS).await?),
        })
    }
}

impl AuthorizationServer {
    /// Opens the server: loads or creates the signing keys and the pepper, and creates the services.
    ///
    /// # Errors
    /// Any [`SigningKeyError`]; the server must not start then.
    pub async fn open(
        env: &TimeAndRandomness<'_>,
        setup: AuthorizationServerConfig,
        stores: AuthorizationStores,
    ) -> Result<Self, SigningKeyError> {
        let deployment = DeploymentSecrets::load(env, stores.keys.as_ref()).await?;
        let keys = SigningKeyRing::load_or_generate(env, Arc::clone(&stores.keys), setup.sealer).await?;
        let directory = Arc::new(RegistrationCache::new(Arc::clone(&stores.clients), &setup.settings));
        let parts = Parts {
            audit: AuditTrail { directory: directory.clone(), sink: stores.audit.clone() },
            secrets: Arc::new(SecretVerifier::new(deployment.pepper, setup.hashing)),
            jwks: Arc::new(JwksCache::new(setup.jwks_fetch)),
            issuer: Arc::new(TokenIssuer::new(setup.settings, keys)),
            directory,
            stores,
        };
        let authenticator = Arc::new(parts.authenticator(env, setup.root));
        let bearer = Arc::new(parts.bearer());
        let callers = Arc::new(CallerAuthenticator {
            directory: parts.directory.clone(),
            authenticator: authenticator.clone(),
            bearer: bearer.clone(),
        });
        let sign_in = Arc::new(parts.sign_in(env));
        let patient_access = Arc::new(PatientAccessRules {
            directory: parts.directory.clone(),
            patients: parts.stores.patients.clone(),
        });
        let tokens =
            parts.tokens(authenticator.clone(), sign_in.clone(), patient_access.clone(), deployment.successors);
        let tokens = Arc::new(tokens);
        Ok(Self {
            authorize: Arc::new(parts.authorize(tokens.clone(), patient_access, deployment.pending)),
            sessions: Arc::new(parts.sessions()),
            introspection: Arc::new(parts.introspection(authenticator.clone(), callers.clone(), bearer)),
            connected_apps: Arc::new(parts.connected_apps()),
            launches: Arc::new(parts.launches()),
            forms: Arc::new(deployment.forms),
            audit: parts.stores.audit,
            issuer: parts.issuer,
            directory: parts.directory,
            secrets: parts.secrets,
            authenticator,
            callers,
            sign_in,
            tokens,
        })
    }
}

/// What several services share while they are made.
struct Parts {
    issuer: Arc<TokenIssuer>,
    directory: Arc<RegistrationCache>,
    secrets: Arc<SecretVerifier>,
    jwks: Arc<JwksCache>,
    audit: AuditTrail,
    stores: AuthorizationStores,
}

impl Parts {
    fn authenticator(&self, env: &TimeAndRandomness<'_>, root: Option<BootstrapAdministrator>) -> ClientAuthenticator {
        ClientAuthenticator {
            issuer: self.issuer.clone(),
            directory: self.directory.clone(),
            jwks: self.jwks.clone(),
            replays: self.stores.replays.clone(),
            secrets: self.secrets.clone(),
            secret_attempts: SecretAttempts::new(env, self.issuer.settings.secret_attempts),
            root,
        }
    }

    fn bearer(&self) -> AccessTokenVerifier {
        AccessTokenVerifier {
            issuer: self.issuer.clone(),
            directory: self.directory.clone(),
            tokens: self.stores.tokens.clone(),
        }
    }

    fn sign_in(&self, env: &TimeAndRandomness<'_>) -> SignInService {
        SignInService {
            issuer: self.issuer.clone(),
            sessions: self.stores.sessions.clone(),
            secrets: self.secrets.clone(),
            attempts: AttemptLimiter::new(env.random_bytes(), ATTEMPT_POLICY),
            audit: self.audit.clone(),
        }
    }

    fn tokens(
        &self,
        authenticator: Arc<ClientAuthenticator>,
        sign_in: Arc<SignInService>,
        patient_access: Arc<PatientAccessRules>,
        successors: SuccessorKey,
    ) -> TokenService {
        TokenService {
            issuer: self.issuer.clone(),
            directory: self.directory.clone(),
            authenticator,
            sign_in,
            patient_access,
            jwks: self.jwks.clone(),
            replays: self.stores.replays.clone(),
            tokens: self.stores.tokens.clone(),
            codes: self.stores.codes.clone(),
            families: self.stores.families.clone(),
            successors,
            audit: self.audit.clone(),
        }
    }

    fn authorize(
        &self,
        tokens: Arc<TokenService>,
        patient_access: Arc<PatientAccessRules>,
        pending: PendingAuthorizationEncryptionKey,
    ) -> AuthorizationPageService {
        AuthorizationPageService {
            issuer: self.issuer.clone(),
            directory: self.directory.clone(),
            tokens,
            patient_access,
            sessions: self.stores.sessions.clone(),
            codes: self.stores.codes.clone(),
            patients: self.stores.patients.clone(),
            pending,
            audit: self.audit.clone(),
        }
    }

    fn sessions(&self) -> SessionService {
        SessionService {
            directory: self.directory.clone(),
            sessions: self.stores.sessions.clone(),
            tokens: self.stores.tokens.clone(),
            families: self.stores.families.clone(),
            audit: self.audit.clone(),
        }
    }

    fn introspection(
        &self,
        authenticator: Arc<ClientAuthenticator>,
        callers: Arc<CallerAuthenticator>,
        bearer: Arc<AccessTokenVerifier>,
    ) -> IntrospectionRevocationService {
        IntrospectionRevocationService {
            issuer: self.issuer.clone(),
            directory: self.directory.clone(),
            authenticator,
            callers,
            bearer,
            tokens: self.stores.tokens.clone(),
            families: self.stores.families.clone(),
            audit: self.audit.clone(),
        }
    }

    fn connected_apps(&self) -> ConnectedAppService {
        ConnectedAppService {
            directory: self.directory.clone(),
            grants: self.stores.grants.clone(),
            families: self.stores.families.clone(),
            patients: self.stores.patients.clone(),
            audit: self.audit.clone(),
        }
    }

    fn launches(&self) -> LaunchService {
        LaunchService {
            issuer: self.issuer.clone(),
            directory: self.directory.clone(),
            patients: self.stores.patients.clone(),
            audit: self.audit.clone(),
        }
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
        f.debug_struct("AuthorizationServer").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for AuthorizationServerConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthorizationServerConfig").field("settings", &self.settings).finish_non_exhaustive()
    }
}
