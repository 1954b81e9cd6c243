//! What every handler is given: the rules' parties, the FHIR service, time, randomness and the settings.

use std::num::NonZeroU32;
use std::sync::Arc;

use fhir_service::error::TooManyMatchRequestsError;
use fhir_service::service_state::{Clock, FhirService, FhirServiceParts, FhirSettings, MemberMatchRateLimit};
use fhir_store::{ResourceStore, SearchStore};
use migrations::package::PackageInstaller;
use migrations::{MigrationStore, ProgressReporter};
use oauth_core::authorization_server::AuthorizationServer;
use oauth_core::time_and_randomness::{RandomSource, TimeAndRandomness};
use payer_exchange::MemberMatchStore;
use payer_exchange::jobs::JobStore;
use server_kit::health::{CachedHealthProbe, HealthProbe};

use crate::body::BodyBytesInFlight;
use crate::error;
use crate::omission_log::LoggedOmissions;
use crate::page_frame::{PageTheme, Pages};
use crate::rate_limit::{RateAllowance, RequestRateLimiter};

/// How often the state of one job is answered in a minute, and how often in a row. Not specified; a client that asks
/// again when the answer says needs a fifth of it.
const POLLS_PER_MINUTE: NonZeroU32 = NonZeroU32::MIN.saturating_add(59);
const POLLS_AT_ONCE: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);
/// How many members one client may ask for one by one in a minute, on each node. `HRex` demands protection against
/// guessing and names no number; a client with many members asks for them in bulk.
const GUESSES_PER_MINUTE: NonZeroU32 = NonZeroU32::MIN.saturating_add(59);

/// The components that the binary passes to [`crate::authorization_router`].
#[derive(Clone)]
pub struct RouterComponents {
    /// The services of OAuth.
    pub oauth: AuthorizationServer,
    /// The resources of the native and the FHIR endpoint.
    pub resources: Arc<dyn ResourceStore>,
    /// The search of resources; the same store.
    pub search: Arc<dyn SearchStore>,
    /// The store of migrations; the same store.
    pub migrations: Arc<dyn MigrationStore>,
    /// The installer of packages, from the registry of the deployment into the same store.
    pub packages: Arc<PackageInstaller>,
    /// The store of jobs.
    pub jobs: Arc<dyn JobStore>,
    /// The lookup of members; the same store as that of resources.
    pub payers: Arc<dyn MemberMatchStore>,
    /// The reporter of the progress of migrations.
    pub progress: ProgressReporter,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of identifiers and secrets.
    pub random: Arc<dyn RandomSource>,
    /// The health check of the server.
    pub health: Arc<dyn HealthProbe>,
    /// The settings of the deployment.
    pub settings: HttpSettings,
}

/// The HTTP settings of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// Largest request body in bytes; a larger one is answered with 413. Forms have a separate limit,
    /// [`oauth_core::limits::FORM_MAX_BYTES`], when that is smaller.
    pub max_body_bytes: usize,
    /// Most requests per minute of each caller, which is a client at an address; 0 for no limit. An address has ten
    /// times as many, whatever clients it names. An IPv6 address counts by its network, `/64`.
    pub rate_limit_per_minute: u32,
    /// The look of the pages.
    pub look: PageTheme,
    /// The settings of the resource endpoints, the public address of the server among them.
    pub fhir: FhirSettings,
}

/// The state of the router.
pub(crate) struct AppState {
    pub(crate) oauth: AuthorizationServer,
    /// What the resource endpoints call.
    pub(crate) fhir: FhirService,
    /// How often each job is asked for.
    pub(crate) polls: RateAllowance,
    pub(crate) progress: ProgressReporter,
    pub(crate) health: CachedHealthProbe,
    pub(crate) max_body_bytes: usize,
    pub(crate) rate_limit_per_minute: u32,
    pub(crate) limiter: RequestRateLimiter,
    pub(crate) pages: Pages,
    pub(crate) bodies: BodyBytesInFlight,
    /// Which omissions of the B2B claim were logged.
    pub(crate) omissions: LoggedOmissions,
    clock: Arc<dyn Clock>,
    random: Arc<dyn RandomSource>,
}

/// The state as handlers extract it.
pub(crate) type App = Arc<AppState>;

impl AppState {
    pub(crate) fn new(parts: RouterComponents) -> Self {
        let HttpSettings { max_body_bytes, rate_limit_per_minute, look, fhir: settings } = parts.settings;
        let guesses = RateAllowance::new(GUESSES_PER_MINUTE, GUESSES_PER_MINUTE, Arc::clone(&parts.clock));
        Self {
            limiter: RequestRateLimiter::new(rate_limit_per_minute, Arc::clone(&parts.clock)),
            bodies: BodyBytesInFlight::new(),
            omissions: LoggedOmissions::default(),
            pages: Pages::new(&settings.base_url, &look),
            polls: RateAllowance::new(POLLS_PER_MINUTE, POLLS_AT_ONCE, Arc::clone(&parts.clock)),
            progress: parts.progress.clone(),
            health: CachedHealthProbe::new(parts.health),
            max_body_bytes,
            rate_limit_per_minute,
            oauth: parts.oauth.clone(),
            clock: Arc::clone(&parts.clock),
            random: Arc::clone(&parts.random),
            fhir: FhirService::new(FhirServiceParts {
                oauth_settings: parts.oauth.issuer.settings.clone(),
                root_id: parts.oauth.authenticator.bootstrap_admin_id().map(str::to_owned),
                directory: parts.oauth.directory,
                secrets: parts.oauth.secrets,
                audit: parts.oauth.audit,
                resources: parts.resources,
                search: parts.search,
                migrations: parts.migrations,
                packages: parts.packages,
                jobs: parts.jobs,
                payers: parts.payers,
                progress: parts.progress,
                clock: parts.clock,
                random: parts.random,
                guess_limit: Arc::new(guesses),
                failed_entry: error::failed_entry,
                settings,
            }),
        }
    }

    /// Returns the public address of the server, without a trailing slash.
    pub(crate) fn base_url(&self) -> &str {
        &self.fhir.settings().base_url
    }

    /// Returns time and randomness for the rules of one request.
    pub(crate) fn env(&self) -> TimeAndRandomness<'_> {
        TimeAndRandomness { now_us: self.clock.now_us(), random: self.random.as_ref() }
    }
}

impl MemberMatchRateLimit for RateAllowance {
    fn check_and_count(&self, client_id: &str) -> Result<(), TooManyMatchRequestsError> {
        self.count(client_id).map_err(|retry_after_s| TooManyMatchRequestsError { retry_after_s })
    }
}
