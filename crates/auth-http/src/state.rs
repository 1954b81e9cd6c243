//! What every handler is given: the rules' parties, the stores, time, chance and the settings.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use fhir_store::jobs::JobStore;
use fhir_store::payer::{IdentifierRule, PayerStore};
use fhir_store::{ResourceStore, SearchStore};
use migrations::package::{Conformance, Installer};
use migrations::{MigrationStore, Progress};
use oauth_core::authority::Authority;
use oauth_core::env::{Env, Random};
use server_kit::health::{CachedHealth, HealthProbe};

use crate::body::InFlight;
use crate::endpoint::metadata;
use crate::hashing::Hashing;
use crate::middleware::rate::{Limiter, Pace};
use crate::page::{Look, Pages};
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
pub struct Parts {
    /// The OAuth rules' view of the deployment: settings, clients, keys, tokens.
    pub authority: Arc<Authority>,
    /// The resources of the native and the FHIR endpoint.
    pub resources: Arc<dyn ResourceStore>,
    /// What finds them; the same store.
    pub search: Arc<dyn SearchStore>,
    /// What runs migrations; the same store.
    pub migrations: Arc<dyn MigrationStore>,
    /// What installs packages, from the registry of the deployment into the same store.
    pub packages: Arc<Installer>,
    /// Where jobs are kept.
    pub jobs: Arc<dyn JobStore>,
    /// Where members are looked up; the same store as that of resources.
    pub payers: Arc<dyn PayerStore>,
    /// Told what a migration is doing.
    pub progress: Progress,
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
    pub look: Look,
    /// How long one statement of a search may run. A whole search with what it includes, and all searches of a Bundle
    /// together, have twice that.
    pub search_time: Duration,
    /// What the `CapabilityStatement` names beside what is installed.
    pub conforms_to: Conformance,
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
pub(crate) struct Site {
    pub(crate) authority: Arc<Authority>,
    pub(crate) resources: Arc<dyn ResourceStore>,
    pub(crate) search: Arc<dyn SearchStore>,
    pub(crate) migrations: Arc<dyn MigrationStore>,
    pub(crate) packages: Arc<Installer>,
    pub(crate) jobs: Arc<dyn JobStore>,
    pub(crate) payers: Arc<dyn PayerStore>,
    /// How often each job is asked for.
    pub(crate) polls: Pace,
    /// How often each client asks for one member.
    pub(crate) guesses: Pace,
    pub(crate) progress: Progress,
    pub(crate) health: CachedHealth,
    pub(crate) settings: HttpSettings,
    pub(crate) limiter: Limiter,
    pub(crate) metadata: metadata::Statement,
    pub(crate) pages: Pages,
    pub(crate) hashing: Hashing,
    pub(crate) bodies: InFlight,
    /// Which omissions of the B2B claim were logged.
    pub(crate) omissions: LoggedOmissions,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
}

/// The state as handlers extract it.
pub(crate) type App = Arc<Site>;

impl Site {
    pub(crate) fn new(parts: Parts) -> Self {
        let per_minute = parts.settings.rate_limit_per_minute;
        Self {
            limiter: Limiter::new(per_minute, Arc::clone(&parts.clock)),
            hashing: Hashing::new(parts.authority.hashing().clone()),
            bodies: InFlight::new(),
            omissions: LoggedOmissions::default(),
            metadata: metadata::Statement::default(),
            pages: Pages::new(&parts.settings.base_url, &parts.settings.look),
            authority: parts.authority,
            resources: parts.resources,
            search: parts.search,
            migrations: parts.migrations,
            packages: parts.packages,
            jobs: parts.jobs,
            payers: parts.payers,
            polls: Pace::new(POLLS_PER_MINUTE, POLLS_AT_ONCE, Arc::clone(&parts.clock)),
            guesses: Pace::new(GUESSES_PER_MINUTE, GUESSES_PER_MINUTE, Arc::clone(&parts.clock)),
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
