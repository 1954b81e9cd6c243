//! A deployment in memory and the partners that call it.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use oauth_core::authorization_server::{AuthorizationServer, AuthorizationServerConfig};
use oauth_core::bootstrap_admin::BootstrapAdministrator;
use oauth_core::form_fields::FormFields;
use oauth_core::jose::{GeneratedSigningKey, SigningAlg, SigningKey, encode_base64url};
use oauth_core::memory_store::{MemoryAuthorizationStore, SeededRandom};
use oauth_core::ports::{FetchedJwks, JwksFetchError, JwksFetcher};
use oauth_core::secret_hash::{Pepper, hash_client_secret};
use oauth_core::settings::AuthorizationSettings;
use oauth_core::signing_keys::StoredSigningKey;
use oauth_core::time_and_randomness::TimeAndRandomness;
use oauth_core::token_endpoint::{TokenError, TokenRequest, TokenResponse};
use p384::pkcs8::{EncodePrivateKey as _, LineEnding};
use serde_json::{Value, json};

pub(crate) const BASE: &str = "https://payer.example";
pub(crate) const EXT: &str = "http://platform.example/fhir";
pub(crate) const TOKEN_URL: &str = "https://payer.example/auth/token";
pub(crate) const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// 2026-01-01T00:00:00Z.
pub(crate) const NOW_S: i64 = 1_767_225_600;
pub(crate) const NOW_US: i64 = NOW_S * 1_000_000;
/// What a secret generator makes: 256 bits of base64url.
pub(crate) const GENERATED: &str = "q8Zk3vX1mT0yR7bW5nJ2cF9dL4hG6sPaUeIoKxNvBtY";

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
impl JwksFetcher for Host {
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
    pub(crate) memory: Arc<MemoryAuthorizationStore>,
    pub(crate) host: Arc<Host>,
    pub(crate) server: AuthorizationServer,
    pub(crate) now_s: i64,
    random: SeededRandom,
}

impl World {
    /// A deployment whose keys exist already: making RSA keys is the dearest thing in this suite.
    pub(crate) async fn new() -> Self {
        static KEYS: tokio::sync::OnceCell<Vec<StoredSigningKey>> = tokio::sync::OnceCell::const_new();
        let first = || async { Self::empty().await.memory.lock_rows().keys.clone() };
        let memory = MemoryAuthorizationStore::default();
        let keys = KEYS.get_or_init(first).await;
        memory.lock_rows().keys.clone_from(keys);
        Self::over(Arc::new(memory), Arc::new(Host::default())).await
    }

    /// A deployment on its first start.
    pub(crate) async fn empty() -> Self {
        Self::over(Arc::new(MemoryAuthorizationStore::default()), Arc::new(Host::default())).await
    }

    /// Another node over the same stores.
    pub(crate) async fn over(memory: Arc<MemoryAuthorizationStore>, host: Arc<Host>) -> Self {
        let random = SeededRandom::new(7);
        let env = TimeAndRandomness { now_us: NOW_US, random: &random };
        let setup = AuthorizationServerConfig {
            settings: AuthorizationSettings::new(BASE, EXT),
            sealer: None,
            root: Some(BootstrapAdministrator::new("root", &"bootstrap".to_owned().into())),
            jwks_fetch: host.clone(),
            hashing: Arc::new(|work: Box<dyn FnOnce() + Send>| drop(tokio::task::spawn_blocking(work))),
        };
        let server = AuthorizationServer::open(&env, setup, memory.as_authorization_stores()).await.unwrap();
        Self { memory, host, server, now_s: NOW_S, random }
    }

    pub(crate) fn env(&self) -> TimeAndRandomness<'_> {
        TimeAndRandomness { now_us: self.now_s * 1_000_000, random: &self.random }
    }

    pub(crate) fn sealed_secret(&self, secret: &str) -> String {
        let pepper: &Pepper = self.server.secrets.pepper();
        hash_client_secret(&self.env(), pepper, secret.as_bytes()).unwrap().to_text()
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
        self.server.tokens.answer_token_request(&self.env(), &request).await
    }

    /// A token request with `assertion` for `system/Patient.rs`.
    pub(crate) async fn assert(&self, assertion: &str) -> Result<TokenResponse, TokenError> {
        self.token(&assertion_form(assertion)).await
    }

    /// The claims of an access token, its signature checked by an independent implementation.
    pub(crate) fn claims(&self, token: &str) -> Value {
        let header = jsonwebtoken::decode_header(token).unwrap();
        let jwks: jsonwebtoken::jwk::JwkSet =
            serde_json::from_slice(&self.server.issuer.published_jwks().body).unwrap();
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
        static RSA: std::sync::OnceLock<GeneratedSigningKey> = std::sync::OnceLock::new();
        let secret = p384::SecretKey::from_slice(&[seed; 48]).unwrap();
        let point = secret.public_key().to_sec1_bytes();
        let (x, y) = point[1..].split_at(48);
        let ec_jwk =
            json!({ "kty": "EC", "kid": "ec-1", "crv": "P-384", "x": encode_base64url(x), "y": encode_base64url(y) });
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

/// A nonce that no other assertion of this process has.
pub(crate) fn fresh_jti() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    COUNT.fetch_add(1, Ordering::SeqCst).to_string()
}

/// The claims of a good assertion of the client `partner`.
pub(crate) fn claims(jti: &str) -> Value {
    json!({ "iss": "partner", "sub": "partner", "aud": TOKEN_URL, "exp": NOW_S + 300, "jti": jti })
}

/// A world with one partner registered as `partner`.
pub(crate) async fn with_partner() -> (World, Partner) {
    let (world, partner) = (World::new().await, Partner::new());
    world.memory.put_resource("Client", "partner", partner.client());
    (world, partner)
}

/// A world with the client `service` that has [`GENERATED`] as its secret.
pub(crate) async fn with_service() -> World {
    let world = World::new().await;
    let secret = world.sealed_secret(GENERATED);
    world.memory.put_resource(
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
