//! What the wire is given: time, chance, settings, and the domain's ports.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use chat_core::id::UserId;

use crate::auth::Authenticator;
use crate::rate::Limiter;

/// What the binary hands over to [`crate::router`] whatever the domain.
#[derive(Clone)]
pub struct Parts {
    /// Time and chance.
    pub outside: Arc<dyn Outside>,
    /// Whether the server can do its work right now.
    pub health: Arc<dyn HealthProbe>,
    /// Requests a minute of each address that come without an account; 0 is no limit.
    pub rate_limit_per_ip: u32,
    /// Version of the server.
    pub version: String,
}

/// The domain behind the API.
#[derive(Clone)]
pub struct Domain {
    /// Knows the accounts.
    pub authenticator: Arc<dyn Authenticator>,
    /// Knows the organization.
    pub realm: Arc<dyn RealmInfo>,
    /// What the deployment chose.
    pub settings: ApiSettings,
}

/// Time and chance, as the binary knows them.
pub trait Outside: Send + Sync {
    /// Microseconds since the UNIX epoch.
    fn now_us(&self) -> i64;
    /// 128 random bits, to name a request by.
    fn fresh_id(&self) -> u128;
}

/// Whether the server can do its work.
#[async_trait]
pub trait HealthProbe: Send + Sync {
    /// `false` while the database does not answer. Called for every `GET /health`, so it should take milliseconds at
    /// most.
    async fn is_healthy(&self) -> bool;
}

/// What strangers may know of the organization.
pub trait RealmInfo: Send + Sync {
    /// Its current state, from memory: clients ask before every login.
    fn about(&self) -> AboutRealm;
}

/// An organization as it shows itself before login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AboutRealm {
    /// Canonical address, without a trailing slash.
    pub url: String,
    /// Its name.
    pub name: String,
    /// Address of its square logo; may be relative to `url`.
    pub icon_url: String,
    /// Its description, rendered.
    pub description_html: String,
    /// Whether channels can be read without an account, and one of them is such a channel.
    pub web_public_access: bool,
    /// Whether an address and a password open an account.
    pub password_login: bool,
    /// Whether telephones are notified.
    pub push_notifications: bool,
}

/// The settings of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiSettings {
    /// Largest request body taken, in bytes; a larger one is answered 413. Bodies without files have a bound of
    /// their own, [`crate::limits::FORM_MAX_BYTES`], when that is smaller.
    pub max_body_bytes: usize,
    /// Requests a minute of each account; 0 is no limit.
    pub rate_limit_per_user: u32,
    /// The word that existing clients find in the names of the version fields; empty sends none of those.
    pub brand: String,
}

/// The state around every endpoint.
pub(crate) struct Frame {
    pub(crate) outside: Arc<dyn Outside>,
    pub(crate) health: Arc<dyn HealthProbe>,
    pub(crate) version: String,
    pub(crate) by_address: Limiter<Option<IpAddr>>,
}

impl Frame {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { outside, health, rate_limit_per_ip, version } = parts;
        Self { by_address: Limiter::new(rate_limit_per_ip, Arc::clone(&outside)), outside, health, version }
    }
}

/// The state of an endpoint of the API.
pub(crate) struct Site {
    pub(crate) frame: Arc<Frame>,
    pub(crate) authenticator: Arc<dyn Authenticator>,
    pub(crate) realm: Arc<dyn RealmInfo>,
    pub(crate) settings: ApiSettings,
    pub(crate) by_user: Limiter<UserId>,
}

impl Site {
    pub(crate) fn new(frame: &Arc<Frame>, domain: Domain) -> Self {
        let Domain { authenticator, realm, settings } = domain;
        let by_user = Limiter::new(settings.rate_limit_per_user, Arc::clone(&frame.outside));
        Self { frame: Arc::clone(frame), authenticator, realm, settings, by_user }
    }
}

/// The state as endpoints hold it.
pub(crate) type App = Arc<Site>;
