//! Registered OAuth clients, parsed once per version, with their keys ready.

mod app;

use b2b_claim::{ClientB2bExtension, DeploymentUrls, Omission};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use smart_scopes::{ScopeSet, restrict};

use crate::authorization_endpoint::is_context;
use crate::jose::{SigningAlg, UsableJwkSet};
use crate::ports::VersionedDocument;
use crate::secret_hash::{CachedClientSecret, SecretHash, SecretHashParseError};

pub use app::ClientAppDescription;

/// The value of `client_assertion_type` and of `client_assertion_types` (RFC 7523, section 2.2).
pub const JWT_BEARER_ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A registered OAuth client, parsed from its stored document.
#[derive(Debug)]
pub struct Client {
    /// The `client_id`.
    pub id: String,
    /// The version this was read at.
    pub version: i64,
    /// `false` makes the Client unusable at once. Not specified for an absent `active`; we take it
    /// as true, because the element is optional and most registrations leave it out.
    pub active: bool,
    /// The `type`, such as `smart-app`; absent for backend clients.
    pub kind: Option<String>,
    /// The grants it may use.
    pub grants: Vec<GrantType>,
    /// Its secret; `Some(Err)` where what is stored is no hash, so that nobody knows it.
    pub secret: Option<Result<CachedClientSecret, SecretHashParseError>>,
    /// Whether it authenticates by assertion; then no weaker method is ever accepted.
    pub asserts: bool,
    /// The scopes it is registered for; `None` when the element is absent.
    pub scope: Option<ScopeSet>,
    /// Inline public keys.
    pub keys: UsableJwkSet,
    /// Where its public keys are.
    pub jwks_uri: Option<String>,
    /// What `auth.client_credentials` says of tokens.
    pub client_credentials: AccessTokenProfile,
    /// The resource as policies may see it: with `id` and `resourceType`, without the secret.
    pub document: Value,
    /// The B2B registration under `client_credentials`, or why there is none.
    pub b2b: Result<ClientB2bExtension, Omission>,
    /// Whether the app belongs to the payer itself: its members are not asked for consent.
    pub first_party: bool,
    /// The issuers whose tokens it may exchange for its own (`allowedIssuers`).
    pub allowed_issuers: Vec<String>,
    /// Of which audiences those tokens must name one (`allowedAudiences`, an extension of ours); `None` where the
    /// element is absent.
    pub allowed_audiences: Option<Vec<String>>,
    /// How pages present it, and where an EHR opens it.
    pub app: ClientAppDescription,
    /// What `auth.authorization_code` says.
    pub authorization_code: EndUserGrantSettings,
    /// What `auth.password` says.
    pub password: EndUserGrantSettings,
    /// What `auth.implicit` says.
    pub implicit: EndUserGrantSettings,
    /// What `auth.token_exchange` says.
    pub token_exchange: EndUserGrantSettings,
}

/// The settings of a Client for one grant that issues tokens on behalf of an end user.
#[derive(Debug)]
pub struct EndUserGrantSettings {
    /// The kind of access token.
    pub profile: AccessTokenProfile,
    /// Where codes and tokens are sent.
    pub redirect_uri: Option<String>,
    /// Whether refresh tokens are issued.
    pub refresh_token: bool,
    /// `refresh_token_expiration`: seconds after its last use in which a refresh token ends.
    pub refresh_idle_s: Option<i64>,
    /// `refresh_token_lifetime`: seconds after the authorization in which every refresh token ends, used
    /// or not. An extension of ours: the platform knows the other limit alone.
    pub refresh_lifetime_s: Option<i64>,
    /// Whether the Client must prove who it is.
    pub secret_required: bool,
    /// Whether a code challenge is demanded of a confidential app too.
    pub pkce: bool,
    /// The B2B registration under this grant, or why there is none.
    pub b2b: Result<ClientB2bExtension, Omission>,
}

/// A grant type that a Client may be registered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantType {
    /// HTTP Basic at the resource endpoints.
    Basic,
    /// `code` or `authorization_code`: both spellings are in use.
    AuthorizationCode,
    /// `client_credentials`.
    ClientCredentials,
    /// `refresh_token`.
    RefreshToken,
    /// `password`.
    Password,
    /// `implicit`.
    Implicit,
    /// `urn:ietf:params:oauth:grant-type:token-exchange` (RFC 8693).
    TokenExchange,
}

impl GrantType {
    /// Reads an entry of `Client.grant_types` or a `grant_type` parameter.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "basic" => Self::Basic,
            "code" | "authorization_code" => Self::AuthorizationCode,
            "client_credentials" => Self::ClientCredentials,
            "refresh_token" => Self::RefreshToken,
            "password" => Self::Password,
            "implicit" => Self::Implicit,
            "urn:ietf:params:oauth:grant-type:token-exchange" => Self::TokenExchange,
            _ => return None,
        })
    }
}

/// The format and lifetime of the access tokens that a Client gets under one grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AccessTokenProfile {
    /// JWT or opaque.
    pub format: AccessTokenFormat,
    /// `access_token_expiration` in seconds.
    pub lifetime_s: Option<i64>,
    /// `access_token_signing_alg`: an extension of ours, because the specification leaves the
    /// signature algorithm open and partners differ in what they can verify.
    pub alg: Option<SigningAlg>,
    /// Whether `client_assertion_types` is there and does not list [`JWT_BEARER_ASSERTION_TYPE`], the one type this
    /// server knows. Absent, it limits nothing.
    pub refuses_assertions: bool,
}

/// The format of an access token: the registration's `token_format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AccessTokenFormat {
    /// `jwt`.
    Jwt,
    /// Any other setting (specification, Client resource).
    #[default]
    Opaque,
}

impl Client {
    /// Reads a stored Client. Reading never fails: what a stored document gets wrong (written by
    /// SQL, past the checks of registration) counts as absent, so the Client can do less, not more. `deployment` is as
    /// for [`ClientB2bExtension::from_client`].
    #[must_use]
    pub fn from_stored<'a>(id: &str, stored: &VersionedDocument, deployment: impl Into<DeploymentUrls<'a>>) -> Self {
        let deployment = deployment.into();
        let resource = &stored.resource;
        let credentials = resource.pointer("/auth/client_credentials").unwrap_or(&Value::Null);
        let jwks_uri = text(resource, "jwks_uri");
        let jwks = inline_keys(resource);
        Self {
            id: id.to_owned(),
            version: stored.version,
            active: resource.get("active").is_none_or(|active| active.as_bool() == Some(true)),
            kind: text(resource, "type"),
            grants: strings(resource, "grant_types").filter_map(GrantType::parse).collect(),
            secret: secret(resource),
            asserts: asserts(resource),
            scope: resource.get("scope").is_some().then(|| registered_scopes(resource)),
            keys: UsableJwkSet::from_jwk_values(jwks).unwrap_or_default(),
            jwks_uri,
            client_credentials: AccessTokenProfile::read(credentials),
            document: document(id, resource),
            b2b: ClientB2bExtension::from_client(resource, deployment, "client_credentials"),
            first_party: flag(resource, "first_party"),
            allowed_issuers: strings(resource, "allowedIssuers").map(str::to_owned).collect(),
            allowed_audiences: resource
                .get("allowedAudiences")
                .map(|_| strings(resource, "allowedAudiences").map(str::to_owned).collect()),
            app: ClientAppDescription::read(resource),
            authorization_code: EndUserGrantSettings::read(resource, deployment, "authorization_code"),
            password: EndUserGrantSettings::read(resource, deployment, "password"),
            implicit: EndUserGrantSettings::read(resource, deployment, "implicit"),
            token_exchange: EndUserGrantSettings::read(resource, deployment, "token_exchange"),
        }
    }

    /// Returns whether the Client is registered for `grant`.
    #[must_use]
    pub fn may_use_grant(&self, grant: GrantType) -> bool {
        self.grants.contains(&grant)
    }

    /// Returns `scopes` limited to those that the Client is registered for: wider ones are narrowed, disjoint ones are
    /// left out. Names of a launch context stay, because they open nothing by themselves, and a Client without `scope`
    /// is not limited.
    #[must_use]
    pub fn limit_to_registered_scopes(&self, scopes: &ScopeSet) -> ScopeSet {
        let Some(registered) = &self.scope else { return scopes.clone() };
        let contexts = scopes.iter().filter(|scope| is_context(scope)).cloned();
        let registered: ScopeSet = registered.iter().cloned().chain(contexts).collect();
        restrict(scopes, &registered).granted
    }

    /// Returns whether the Client is a public client under `settings`: it has no credentials, and proves by PKCE that a
    /// code is its own.
    ///
    /// A Client that signs assertions, holds a secret or is registered to need one is confidential,
    /// whatever else it says: the weaker reading would let anyone use its codes.
    #[must_use]
    pub fn is_public(&self, settings: &EndUserGrantSettings) -> bool {
        !self.asserts && self.secret.is_none() && !settings.secret_required
    }

    /// Returns what the registration says of a grant that gives tokens of a person; `None` for the others.
    #[must_use]
    pub const fn end_user_grant_settings(&self, grant: GrantType) -> Option<&EndUserGrantSettings> {
        match grant {
            GrantType::AuthorizationCode => Some(&self.authorization_code),
            GrantType::Password => Some(&self.password),
            GrantType::Implicit => Some(&self.implicit),
            GrantType::TokenExchange => Some(&self.token_exchange),
            GrantType::Basic | GrantType::ClientCredentials | GrantType::RefreshToken => None,
        }
    }

    /// Returns the name of the Client that pages show: its name, else its id.
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.app.name.as_deref().unwrap_or(&self.id)
    }

    /// Returns whether no grant of the Client accepts client assertions, although at least one lists assertion types.
    #[must_use]
    pub fn refuses_all_client_assertions(&self) -> bool {
        let auth = self.document.get("auth").and_then(Value::as_object).into_iter().flat_map(|auth| auth.values());
        let said = auth.filter(|grant| grant.get("client_assertion_types").is_some_and(|types| !types.is_null()));
        let mut said = said.peekable();
        said.peek().is_some() && said.all(refuses_assertions)
    }

    /// Returns whether the Client is an app that end users authorize: its registered type is `smart-app`.
    #[must_use]
    pub fn is_smart_app(&self) -> bool {
        self.kind.as_deref() == Some("smart-app")
    }
}

impl AccessTokenProfile {
    fn read(profile: &Value) -> Self {
        let format = match profile.get("token_format").and_then(Value::as_str) {
            Some("jwt") => AccessTokenFormat::Jwt,
            _ => AccessTokenFormat::Opaque,
        };
        let lifetime_s = profile.get("access_token_expiration").and_then(Value::as_i64);
        let alg = profile.get("access_token_signing_alg").and_then(Value::as_str);
        Self {
            format,
            lifetime_s: lifetime_s
                .filter(|lifetime| (1..=crate::limits::REGISTERED_TOKEN_LIFETIME_MAX_S).contains(lifetime)),
            alg: alg.and_then(|name| name.parse().ok()),
            refuses_assertions: refuses_assertions(profile),
        }
    }
}

impl EndUserGrantSettings {
    fn read(client: &Value, deployment: DeploymentUrls<'_>, grant: &str) -> Self {
        let nothing = Value::Null;
        let settings = client.get("auth").and_then(|auth| auth.get(grant)).unwrap_or(&nothing);
        let seconds = |member| settings.get(member).and_then(Value::as_i64).filter(|seconds| *seconds > 0);
        Self {
            profile: AccessTokenProfile::read(settings),
            redirect_uri: text(settings, "redirect_uri"),
            refresh_token: flag(settings, "refresh_token"),
            refresh_idle_s: seconds("refresh_token_expiration"),
            refresh_lifetime_s: seconds("refresh_token_lifetime"),
            secret_required: demanded(settings, "secret_required"),
            pkce: demanded(settings, "pkce"),
            b2b: ClientB2bExtension::from_client(client, deployment, grant),
        }
    }
}

fn secret(resource: &Value) -> Option<Result<CachedClientSecret, SecretHashParseError>> {
    let stored = resource.get("secret").filter(|secret| !secret.is_null())?;
    Some(stored.as_str().ok_or(SecretHashParseError).and_then(SecretHash::parse).map(CachedClientSecret::new))
}

fn flag(resource: &Value, member: &str) -> bool {
    resource.get(member).and_then(Value::as_bool) == Some(true)
}

/// Like [`flag`], for what protects the Client: a value of the wrong type protects it.
fn demanded(resource: &Value, member: &str) -> bool {
    !matches!(resource.get(member), None | Some(Value::Null | Value::Bool(false)))
}

fn document(id: &str, resource: &Value) -> Value {
    let head = [("resourceType".to_owned(), Value::from("Client")), ("id".to_owned(), Value::from(id))];
    let members = resource.as_object().into_iter().flatten();
    let members = members.filter(|(name, _)| name.as_str() != "secret");
    head.into_iter().chain(members.map(|(name, value)| (name.clone(), value.clone()))).collect()
}

fn text(resource: &Value, member: &str) -> Option<String> {
    resource.get(member).and_then(Value::as_str).map(str::to_owned)
}

fn strings<'a>(resource: &'a Value, member: &str) -> impl Iterator<Item = &'a str> {
    resource.get(member).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// `jwks` is an array of JWK; the set form `{"keys": […]}` that most tools export is read too.
fn inline_keys(resource: &Value) -> &[Value] {
    let jwks = resource.get("jwks");
    let keys = jwks.and_then(|jwks| jwks.get("keys")).or(jwks);
    keys.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns whether anything in the document says that the Client signs assertions, in whatever shape: what SQL wrote
/// wrongly must not open the way to a weaker method.
fn asserts(resource: &Value) -> bool {
    let says = |value: Option<&Value>| match value {
        None | Some(Value::Null) => false,
        Some(Value::Array(entries)) => !entries.is_empty(),
        Some(_) => true,
    };
    let grants = resource.get("auth").and_then(Value::as_object).into_iter().flat_map(|auth| auth.values());
    says(resource.get("jwks_uri"))
        || says(resource.get("jwks"))
        || grants.into_iter().any(|grant| says(grant.get("client_assertion_types")))
}

fn refuses_assertions(profile: &Value) -> bool {
    let types = profile.get("client_assertion_types").filter(|types| !types.is_null());
    types.is_some_and(|types| {
        let listed = types.as_array().into_iter().flatten();
        !listed.into_iter().any(|listed| listed.as_str() == Some(JWT_BEARER_ASSERTION_TYPE))
    })
}

fn registered_scopes(resource: &Value) -> ScopeSet {
    let mut scopes = ScopeSet::default();
    for scope in strings(resource, "scope").filter_map(|text| text.parse().ok()) {
        scopes.insert(scope);
    }
    scopes
}
