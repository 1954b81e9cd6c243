//! A deployment in memory and the partners that call it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use async_trait::async_trait;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use oauth_core::authority::{AuthorizationServer, AuthorizationServerConfig, AuthorizationStores};
use oauth_core::env::{Env, Random};
use oauth_core::form::FormFields;
use oauth_core::jose::{GeneratedKey, SigningAlg, SigningKey, base64url};
use oauth_core::keys::KeyRecord;
use oauth_core::policy::BoundSqlPolicy;
use oauth_core::ports::{
    AuditRecord, CallerStatus, CallerStatusQuery, ClientStore, FetchedJwks, JtiClaim, JtiClaimed, JtiOutcome,
    JwksFetch, JwksFetchError, KeyStore, OpaqueToken, ReplayStore, StoreError, StoredPolicies, TokenStore,
    VersionedDocument,
};
use oauth_core::root::RootClient;
use oauth_core::secret::{Pepper, hash_secret};
use oauth_core::settings::Settings;
use oauth_core::token::{self, TokenError, TokenRequest, TokenResponse};
use p384::pkcs8::{EncodePrivateKey as _, LineEnding};
use serde_json::{Value, json};

use crate::members::{Members, Patients};

pub(crate) const BASE: &str = "https://payer.example";
pub(crate) const EXT: &str = "http://platform.example/fhir";
pub(crate) const TOKEN_URL: &str = "https://payer.example/auth/token";
pub(crate) const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// 2026-01-01T00:00:00Z.
pub(crate) const NOW_S: i64 = 1_767_225_600;
/// What a secret generator makes: 256 bits of base64url.
pub(crate) const GENERATED: &str = "q8Zk3vX1mT0yR7bW5nJ2cF9dL4hG6sPaUeIoKxNvBtY";

/// A generator whose numbers are the same in every run.
pub(crate) struct Seeded(AtomicU64);

impl Random for Seeded {
    fn fill(&self, bytes: &mut [u8]) {
        for byte in bytes {
            let state = self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
            let mixed = (state ^ (state >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            *byte = (mixed >> 56) as u8;
        }
    }
}

#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) resources: Mutex<HashMap<(&'static str, String), VersionedDocument>>,
    pub(crate) policies: Mutex<(i64, Vec<(String, Value)>)>,
    deleted_us: Mutex<HashMap<String, i64>>,
    nonces: Mutex<HashSet<(String, String)>>,
    opaque: Mutex<HashMap<[u8; 32], OpaqueToken>>,
    pub(crate) revoked: Mutex<HashSet<String>>,
    pub(crate) keys: Mutex<Vec<KeyRecord>>,
    secrets: Mutex<HashMap<String, Vec<u8>>>,
    version: AtomicU64,
    pub(crate) members: Mutex<Members>,
    pub(crate) patients: Mutex<Patients>,
    pub(crate) audit: Mutex<Vec<AuditRecord>>,
    pub(crate) admissions: AtomicUsize,
    /// Happens once, right after the next visit was read.
    pub(crate) meanwhile: Mutex<Option<Meanwhile>>,
}

/// What others do between two steps of a request.
pub(crate) type Meanwhile = Box<dyn FnOnce(&mut Members) + Send>;

impl Memory {
    pub(crate) fn put(&self, kind: &'static str, id: &str, resource: Value) {
        let version = i64::try_from(self.version.fetch_add(1, Ordering::SeqCst)).unwrap() + 1;
        self.resources.lock().unwrap().insert((kind, id.to_owned()), VersionedDocument { version, resource });
    }

    pub(crate) fn delete(&self, kind: &'static str, id: &str) {
        if kind == "Client" {
            self.deleted_us.lock().unwrap().insert(id.to_owned(), NOW_S * 1_000_000);
        }
        self.members.lock().unwrap().forget_party(kind, id);
        self.resources.lock().unwrap().remove(&(kind, id.to_owned()));
    }

    pub(crate) fn put_policy(&self, id: &str, policy: Value) {
        let mut policies = self.policies.lock().unwrap();
        policies.0 += 1;
        policies.1.retain(|(held, _)| held != id);
        policies.1.push((id.to_owned(), policy));
    }

    /// Stores an opaque token, whatever became of its Client.
    pub(crate) fn insert_opaque(&self, token: OpaqueToken) {
        self.opaque.lock().unwrap().insert(token.hash, token);
    }

    pub(crate) fn get(&self, kind: &'static str, id: &str) -> Option<VersionedDocument> {
        self.resources.lock().unwrap().get(&(kind, id.to_owned())).cloned()
    }
}

#[async_trait]
impl ClientStore for Memory {
    async fn client(&self, id: &str) -> Result<Option<VersionedDocument>, StoreError> {
        Ok(self.get("Client", id))
    }
    async fn user(&self, id: &str) -> Result<Option<VersionedDocument>, StoreError> {
        Ok(self.get("User", id))
    }
    async fn organization(&self, id: &str) -> Result<Option<VersionedDocument>, StoreError> {
        Ok(self.get("Organization", id))
    }
    async fn introspectors(&self, issuer: &str) -> Result<Vec<Value>, StoreError> {
        let resources = self.resources.lock().unwrap();
        let held = resources.iter().filter(|((kind, _), _)| *kind == "TokenIntrospector");
        let held = held.map(|(_, held)| held.resource.clone());
        Ok(held.filter(|held| held.pointer("/jwt/iss").and_then(Value::as_str) == Some(issuer)).collect())
    }
    async fn policies(&self) -> Result<StoredPolicies, StoreError> {
        let (revision, policies) = self.policies.lock().unwrap().clone();
        Ok(StoredPolicies { revision, policies })
    }
    async fn is_allowed_by_sql(&self, question: &BoundSqlPolicy) -> Result<bool, StoreError> {
        match question.sql.as_str() {
            "SELECT true" => Ok(true),
            "SELECT false" => Ok(false),
            other => Err(StoreError(other.to_owned().into())),
        }
    }
    async fn caller_status(&self, of: &CallerStatusQuery<'_>) -> Result<CallerStatus, StoreError> {
        let version = |kind, id: Option<&str>| id.and_then(|id| self.get(kind, id)).map(|held| held.version);
        Ok(CallerStatus {
            client_version: version("Client", of.client_id),
            client_deleted_us: of.client_id.and_then(|id| self.deleted_us.lock().unwrap().get(id).copied()),
            user_version: version("User", of.user_id),
            token_revoked: of.token_id.is_some_and(|id| self.revoked.lock().unwrap().contains(id)),
            family_credential: of.family_id.and_then(|id| self.members.lock().unwrap().living(id)),
            policy_revision: self.policies.lock().unwrap().0,
        })
    }
}

#[async_trait]
impl ReplayStore for Memory {
    async fn claim_jti(&self, admission: JtiClaim) -> Result<JtiClaimed, StoreError> {
        self.admissions.fetch_add(1, Ordering::SeqCst);
        let claim = match &admission.nonce {
            None => JtiOutcome::NotAsked,
            Some(nonce) => {
                let fresh = self.nonces.lock().unwrap().insert((admission.client_id.to_string(), nonce.jti.clone()));
                if fresh { JtiOutcome::Fresh } else { JtiOutcome::Replayed }
            }
        };
        let organization = admission.organization_id.as_deref().and_then(|id| self.get("Organization", id));
        Ok(JtiClaimed {
            claim,
            client_version: self.get("Client", &admission.client_id).map(|held| held.version),
            organization_version: organization.map(|held| held.version),
        })
    }
}

#[async_trait]
impl TokenStore for Memory {
    async fn issue_opaque(&self, token: OpaqueToken, client_version: i64) -> Result<bool, StoreError> {
        let stands = self.get("Client", &token.client_id).is_some_and(|client| client.version == client_version);
        if stands {
            self.insert_opaque(token);
        }
        Ok(stands)
    }
    async fn find_opaque(&self, hash: &[u8; 32]) -> Result<Option<(OpaqueToken, CallerStatus)>, StoreError> {
        let Some(token) = self.opaque.lock().unwrap().get(hash).cloned() else { return Ok(None) };
        let claim = |name| token.claims.get(name).and_then(Value::as_str);
        let query = CallerStatusQuery {
            client_id: Some(&token.client_id),
            user_id: claim("sub"),
            token_id: Some(&token.token_id),
            family_id: claim("sid"),
        };
        let standing = self.caller_status(&query).await?;
        Ok(Some((token, standing)))
    }
    async fn revoke(&self, token_id: &str, _expires_s: i64) -> Result<(), StoreError> {
        self.revoked.lock().unwrap().insert(token_id.to_owned());
        Ok(())
    }
    async fn forget_expired(&self, _now_s: i64) -> Result<u64, StoreError> {
        Ok(0)
    }
}

#[async_trait]
impl KeyStore for Memory {
    async fn keys(&self) -> Result<Vec<KeyRecord>, StoreError> {
        Ok(self.keys.lock().unwrap().clone())
    }
    async fn establish(&self, candidates: Vec<KeyRecord>) -> Result<Vec<KeyRecord>, StoreError> {
        let mut keys = self.keys.lock().unwrap();
        if keys.is_empty() {
            *keys = candidates;
        }
        Ok(keys.clone())
    }
    async fn save_keys(&self, held: &[KeyRecord], changed: Vec<KeyRecord>) -> Result<bool, StoreError> {
        let mut keys = self.keys.lock().unwrap();
        if *keys != held {
            return Ok(false);
        }
        for key in changed {
            match keys.iter_mut().find(|held| held.kid == key.kid) {
                Some(held) => *held = key,
                None => keys.push(key),
            }
        }
        Ok(true)
    }
    async fn retire(&self, kid: &str, _at_s: i64) -> Result<bool, StoreError> {
        let mut keys = self.keys.lock().unwrap();
        let before = keys.len();
        keys.retain(|key| key.kid != kid);
        Ok(keys.len() < before)
    }
    async fn establish_secret(&self, name: &str, candidate: Vec<u8>) -> Result<Vec<u8>, StoreError> {
        Ok(self.secrets.lock().unwrap().entry(name.to_owned()).or_insert(candidate).clone())
    }
}

/// The partner's host: what it answers, and how often it was asked.
#[derive(Default)]
pub(crate) struct Host {
    pub(crate) answer: Mutex<Option<FetchedJwks>>,
    pub(crate) refusal: Mutex<Option<JwksFetchError>>,
    pub(crate) asked: AtomicUsize,
}

impl Host {
    pub(crate) fn serve(&self, keys: &[Value], fresh_for_s: Option<i64>) {
        let body = json!({ "keys": keys }).to_string().into_bytes();
        *self.answer.lock().unwrap() = Some(FetchedJwks { body, fresh_for_s });
    }
    pub(crate) fn answer(&self, body: &[u8]) {
        *self.answer.lock().unwrap() = Some(FetchedJwks { body: body.to_vec(), fresh_for_s: None });
    }
    pub(crate) fn go_down(&self) {
        *self.answer.lock().unwrap() = None;
    }
    pub(crate) fn refuse(&self, refusal: JwksFetchError) {
        *self.refusal.lock().unwrap() = Some(refusal);
        self.go_down();
    }
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl JwksFetch for Host {
    async fn fetch(&self, _uri: &str) -> Result<FetchedJwks, JwksFetchError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        let answer = self.answer.lock().unwrap().clone();
        let refusal = self.refusal.lock().unwrap().clone();
        answer.ok_or_else(|| refusal.unwrap_or_else(|| JwksFetchError::Unreachable("connection refused".to_owned())))
    }
}

/// One deployment.
pub(crate) struct World {
    pub(crate) memory: Arc<Memory>,
    pub(crate) host: Arc<Host>,
    pub(crate) authority: AuthorizationServer,
    pub(crate) now_s: i64,
    random: Seeded,
}

impl World {
    /// A deployment whose keys exist already: making RSA keys is the dearest thing in this suite.
    pub(crate) async fn new() -> Self {
        static KEYS: tokio::sync::OnceCell<Vec<KeyRecord>> = tokio::sync::OnceCell::const_new();
        let first = || async { Self::empty().await.memory.keys.lock().unwrap().clone() };
        let memory = Memory::default();
        let keys = KEYS.get_or_init(first).await;
        memory.keys.lock().unwrap().clone_from(keys);
        Self::over(Arc::new(memory), Arc::new(Host::default())).await
    }

    /// A deployment on its first start.
    pub(crate) async fn empty() -> Self {
        Self::over(Arc::new(Memory::default()), Arc::new(Host::default())).await
    }

    /// Another node over the same stores.
    pub(crate) async fn over(memory: Arc<Memory>, host: Arc<Host>) -> Self {
        let random = Seeded(AtomicU64::new(7));
        let env = Env { now_us: NOW_S * 1_000_000, random: &random };
        let stores = AuthorizationStores {
            clients: memory.clone(),
            replays: memory.clone(),
            tokens: memory.clone(),
            keys: memory.clone(),
            sessions: memory.clone(),
            codes: memory.clone(),
            families: memory.clone(),
            grants: memory.clone(),
            patients: memory.clone(),
            audit: memory.clone(),
        };
        let setup = AuthorizationServerConfig {
            settings: Settings::new(BASE, EXT),
            sealer: None,
            root: Some(RootClient::new("root", &"bootstrap".to_owned().into())),
            jwks_fetch: host.clone(),
            hashing: Arc::new(|work: Box<dyn FnOnce() + Send>| drop(tokio::task::spawn_blocking(work))),
        };
        let authority = AuthorizationServer::open(&env, setup, stores).await.unwrap();
        Self { memory, host, authority, now_s: NOW_S, random }
    }

    pub(crate) fn env(&self) -> Env<'_> {
        Env { now_us: self.now_s * 1_000_000, random: &self.random }
    }

    pub(crate) fn sealed_secret(&self, secret: &str) -> String {
        let pepper: &Pepper = self.authority.pepper();
        hash_secret(&self.env(), pepper, secret.as_bytes()).unwrap().to_text()
    }

    pub(crate) async fn token(&self, form: &[(&str, &str)]) -> Result<TokenResponse, TokenError> {
        self.token_with(None, form).await
    }

    pub(crate) async fn token_with(
        &self,
        authorization: Option<&str>,
        form: &[(&str, &str)],
    ) -> Result<TokenResponse, TokenError> {
        self.token_of(None, authorization, form).await
    }

    /// A token request from `address`.
    pub(crate) async fn token_from(
        &self,
        address: &str,
        authorization: Option<&str>,
        form: &[(&str, &str)],
    ) -> Result<TokenResponse, TokenError> {
        self.token_of(Some(address), authorization, form).await
    }

    async fn token_of(
        &self,
        address: Option<&str>,
        authorization: Option<&str>,
        form: &[(&str, &str)],
    ) -> Result<TokenResponse, TokenError> {
        let form = FormFields::new(form.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())))?;
        let request = TokenRequest { authorization, form: &form, address };
        token::exchange(&self.env(), &self.authority, &request).await
    }

    /// A token request with `assertion` for `system/Patient.rs`.
    pub(crate) async fn assert(&self, assertion: &str) -> Result<TokenResponse, TokenError> {
        self.token(&assertion_form(assertion)).await
    }

    /// The claims of an access token, its signature checked by an independent implementation.
    pub(crate) fn claims(&self, token: &str) -> Value {
        let header = jsonwebtoken::decode_header(token).unwrap();
        let jwks: jsonwebtoken::jwk::JwkSet = serde_json::from_slice(&self.authority.published_keys().body).unwrap();
        let jwk = jwks.find(header.kid.as_deref().unwrap()).unwrap();
        let mut validation = jsonwebtoken::Validation::new(header.alg);
        validation.set_audience(&[format!("{BASE}/fhir")]);
        validation.set_issuer(&[BASE]);
        validation.validate_exp = false;
        let key = jsonwebtoken::DecodingKey::from_jwk(jwk).unwrap();
        jsonwebtoken::decode::<Value>(token, &key, &validation).unwrap().claims
    }
}

pub(crate) fn assertion_form(assertion: &str) -> Vec<(&'static str, &str)> {
    vec![
        ("grant_type", "client_credentials"),
        ("scope", "system/Patient.rs"),
        ("client_assertion_type", JWT_BEARER),
        ("client_assertion", assertion),
    ]
}

/// A partner with its keys.
pub(crate) struct Partner {
    ec_pem: String,
    pub(crate) ec_jwk: Value,
    rsa_pem: String,
    pub(crate) rsa_jwk: Value,
}

impl Partner {
    pub(crate) fn new() -> Self {
        Self::with_ec_seed(3)
    }

    pub(crate) fn with_ec_seed(seed: u8) -> Self {
        static RSA: std::sync::OnceLock<GeneratedKey> = std::sync::OnceLock::new();
        let secret = p384::SecretKey::from_slice(&[seed; 48]).unwrap();
        let point = secret.public_key().to_sec1_bytes();
        let (x, y) = point[1..].split_at(48);
        let ec_jwk = json!({ "kty": "EC", "kid": "ec-1", "crv": "P-384", "x": base64url(x), "y": base64url(y) });
        let rsa = RSA.get_or_init(|| SigningKey::generate(SigningAlg::RS384).unwrap());
        let mut rsa_jwk: Value = serde_json::from_str(&rsa.public_jwk).unwrap();
        rsa_jwk["kid"] = json!("rsa-1");
        let rsa_pem = pem("PRIVATE KEY", &rsa.pkcs8);
        Self { ec_pem: secret.to_pkcs8_pem(LineEnding::LF).unwrap().to_string(), ec_jwk, rsa_pem, rsa_jwk }
    }

    pub(crate) fn header(alg: Algorithm) -> Header {
        let mut header = Header::new(alg);
        header.kid = Some(if alg == Algorithm::ES384 { "ec-1" } else { "rsa-1" }.to_owned());
        header
    }

    pub(crate) fn sign(&self, header: &Header, claims: &Value) -> String {
        let key = match header.alg {
            Algorithm::ES384 => EncodingKey::from_ec_pem(self.ec_pem.as_bytes()).unwrap(),
            Algorithm::HS256 => EncodingKey::from_secret(b"shared"),
            _ => EncodingKey::from_rsa_pem(self.rsa_pem.as_bytes()).unwrap(),
        };
        jsonwebtoken::encode(header, claims, &key).unwrap()
    }

    /// A good ES384 assertion with this `jti`.
    pub(crate) fn assertion(&self, jti: &str) -> String {
        self.sign(&Self::header(Algorithm::ES384), &claims(jti))
    }

    /// A Client registered with both keys inline.
    pub(crate) fn client(&self) -> Value {
        json!({
            "grant_types": ["client_credentials"],
            "scope": ["system/*.read"],
            "jwks": [self.ec_jwk, self.rsa_jwk],
            "auth": { "client_credentials": {
                "client_assertion_types": [JWT_BEARER], "token_format": "jwt", "access_token_expiration": 300
            }},
        })
    }
}

pub(crate) fn pem(label: &str, der: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<_> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// The claims of a good assertion of the client `partner`.
pub(crate) fn claims(jti: &str) -> Value {
    json!({ "iss": "partner", "sub": "partner", "aud": TOKEN_URL, "exp": NOW_S + 300, "jti": jti })
}

/// A world with one partner registered as `partner`.
pub(crate) async fn with_partner() -> (World, Partner) {
    let (world, partner) = (World::new().await, Partner::new());
    world.memory.put("Client", "partner", partner.client());
    (world, partner)
}

/// A world with the client `service` that has [`GENERATED`] as its secret.
pub(crate) async fn with_service() -> World {
    let world = World::new().await;
    let secret = world.sealed_secret(GENERATED);
    world.memory.put(
        "Client",
        "service",
        json!({
            "grant_types": ["client_credentials", "basic"],
            "secret": secret,
            "scope": ["system/Patient.rs", "system/Observation.cruds", "custom"],
            "auth": { "client_credentials": { "token_format": "jwt", "access_token_expiration": 900 } },
        }),
    );
    world
}

pub(crate) fn basic(id: &str, secret: &str) -> String {
    use base64::Engine as _;
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{id}:{secret}")))
}
