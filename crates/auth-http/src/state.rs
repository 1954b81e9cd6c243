//! What every handler is given: the rules' parties, the stores, time, chance and the settings.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use fhir_store::jobs::JobStore;
use fhir_store::payer::{IdentifierRule, PayerStore};
use fhir_store::{ResourceStore, SearchStore};
use migrations::package::{InstalledConformance, PackageInstaller};
use migrations::{MigrationStore, ProgressReporter};
use oauth_core::authority::AuthorizationServer;
use oauth_core::env::{Env, Random};
use server_kit::health::{CachedHealth, HealthProbe};

use crate::body::BodyBytesInFlight;
use crate::endpoint::metadata;
use crate::hashing::SecretHasher;
use crate::middleware::rate::{RateAllowance, RequestRateLimiter};
use crate::page::{PageTheme, Pages};
use crate::told::LoggedOmissions;

/// How often the state of one job is told in a minute, and how often in a row. Not specified; whoever asks again when
/// it was told to needs a fifth of it.
const POLLS_PER_MINUTE: NonZeroU32 = NonZeroU32::MIN.saturating_add(59);
const POLLS_AT_ONCE: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);
/// How many members one client may ask for one by one in a minute, on each node. `HRex` demands protection against
/// guessing and names no number; whoever has many members asks for them in bulk.
const GUESSES_PER_MINUTE: NonZeroU32 = NonZeroU32::MIN.saturating_add(59);

/// What the binary hands over to [`crate::router`].
#[derive(Clone)]
pub struct Components {
    /// The OAuth rules' view of the deployment: settings, clients, keys, tokens.
    pub authority: Arc<AuthorizationServer>,
    /// The resources of the native and the FHIR endpoint.
    pub resources: Arc<dyn ResourceStore>,
    /// What finds them; the same store.
    pub search: Arc<dyn SearchStore>,
    /// What runs migrations; the same store.
    pub migrations: Arc<dyn MigrationStore>,
    /// What installs packages, from the registry of the deployment into the same store.
    pub packages: Arc<PackageInstaller>,
    /// Where jobs are kept.
    pub jobs: Arc<dyn JobStore>,
    /// Where members are looked up; the same store as that of resources.
    pub payers: Arc<dyn PayerStore>,
    /// Told what a migration is doing.
    pub progress: ProgressReporter,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where identifiers and secrets come from.
    pub random: Arc<dyn Random>,
    /// Whether the server can do its work right now.
    pub health: Arc<dyn HealthProbe>,
    /// What the deployment chose.
    pub settings: HttpSettings,
}

/// The time, as the binary knows it.
pub trait Clock: Send + Sync {
    /// Microseconds since the UNIX epoch.
    fn now_us(&self) -> i64;
}

/// The settings of the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// Largest request body taken, in bytes; a larger one is answered 413. Forms have a bound of
    /// their own, [`oauth_core::limits::FORM_MAX_BYTES`], when that is smaller.
    pub max_body_bytes: usize,
    /// Whether `/fhir` rewrites extension values into the union form on write, and back on read.
    pub correct_format: bool,
    /// Public address of the server, without a trailing slash: the `{base_url}` of the
    /// specification.
    pub base_url: String,
    /// Requests per minute of each caller, which is a client at an address; 0 is no limit. An address,
    /// whatever clients it names, has ten times as many. The address of IPv6 is its network, `/64`.
    pub rate_limit_per_minute: u32,
    /// The deployment's brand word. Besides `PlatformMigration` the type name made of it is
    /// understood.
    pub platform_name: String,
    /// Version of the server, for the `CapabilityStatement`.
    pub version: String,
    /// How pages look.
    pub look: PageTheme,
    /// How long one statement of a search may run. A whole search with what it includes, and all searches of a Bundle
    /// together, have twice that.
    pub search_time: Duration,
    /// What the `CapabilityStatement` names beside what is installed.
    pub conforms_to: InstalledConformance,
    /// Whether a member match needs an identifier of the member.
    pub identifier_rule: IdentifierRule,
}

impl HttpSettings {
    /// Returns how long a whole search may take, or all searches of a Bundle together.
    pub(crate) fn searches_time(&self) -> Duration {
        self.search_time.saturating_mul(2)
    }

    /// Base address of the FHIR endpoint: `{base_url}/fhir`.
    #[must_use]
    pub fn fhir_base(&self) -> String {
        format!("{}/fhir", self.base_url)
    }
}

/// The state of the router.
pub(crate) struct AppState {
    pub(crate) authority: Arc<AuthorizationServer>,
    pub(crate) resources: Arc<dyn ResourceStore>,
    pub(crate) search: Arc<dyn SearchStore>,
    pub(crate) migrations: Arc<dyn MigrationStore>,
    pub(crate) packages: Arc<PackageInstaller>,
    pub(crate) jobs: Arc<dyn JobStore>,
    pub(crate) payers: Arc<dyn PayerStore>,
    /// How often each job is asked for.
    pub(crate) polls: RateAllowance,
    /// How often each client asks for one member.
    pub(crate) guesses: RateAllowance,
    pub(crate) progress: ProgressReporter,
    pub(crate) health: CachedHealth,
    pub(crate) settings: HttpSettings,
    pub(crate) limiter: RequestRateLimiter,
    pub(crate) metadata: metadata::CapabilityStatementCache,
    pub(crate) pages: Pages,
    pub(crate) hashing: SecretHasher,
    pub(crate) bodies: BodyBytesInFlight,
    /// Which omissions of the B2B claim were logged.
    pub(crate) omissions: LoggedOmissions,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
}

/// The state as handlers extract it.
pub(crate) type App = Arc<AppState>;

impl AppState {
    pub(crate) fn new(parts: Components) -> Self {
        let per_minute = parts.settings.rate_limit_per_minute;
        Self {
            limiter: RequestRateLimiter::new(per_minute, Arc::clone(&parts.clock)),
            hashing: SecretHasher::new(parts.authority.hashing().clone()),
            bodies: BodyBytesInFlight::new(),
            omissions: LoggedOmissions::default(),
            metadata: metadata::CapabilityStatementCache::default(),
            pages: Pages::new(&parts.settings.base_url, &parts.settings.look),
            authority: parts.authority,
            resources: parts.resources,
            search: parts.search,
            migrations: parts.migrations,
            packages: parts.packages,
            jobs: parts.jobs,
            payers: parts.payers,
            polls: RateAllowance::new(POLLS_PER_MINUTE, POLLS_AT_ONCE, Arc::clone(&parts.clock)),
            guesses: RateAllowance::new(GUESSES_PER_MINUTE, GUESSES_PER_MINUTE, Arc::clone(&parts.clock)),
            progress: parts.progress,
            health: CachedHealth::new(parts.health),
            settings: parts.settings,
            clock: parts.clock,
            random: parts.random,
        }
    }

    /// Time and chance for the rules of one request.
    pub(crate) fn env(&self) -> Env<'_> {
        Env { now_us: self.clock.now_us(), random: self.random.as_ref() }
    }

    /// Microseconds since the UNIX epoch.
    pub(crate) fn now_us(&self) -> i64 {
        self.clock.now_us()
    }
}
