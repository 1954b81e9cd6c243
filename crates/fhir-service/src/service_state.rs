//! What every request is handled with: the stores, the rules' parties, time, randomness and the settings.

use std::sync::Arc;
use std::time::Duration;

use fhir_store::{ResourceStore, SearchStore};
use migrations::package::{InstalledConformance, PackageInstaller};
use migrations::{MigrationStore, ProgressReporter};
use oauth_core::ports::AuditSink;
use oauth_core::registration_cache::RegistrationCache;
use oauth_core::secret_verifier::SecretVerifier;
use oauth_core::settings::AuthorizationSettings;
use oauth_core::time_and_randomness::{RandomSource, TimeAndRandomness};
use payer_exchange::MemberMatchStore;
use payer_exchange::jobs::JobStore;
use payer_exchange::member_match::MemberIdentifierRule;
use serde_json::Value;

use crate::capability_cache::CapabilityStatementCache;
use crate::error::{ServiceError, TooManyMatchRequestsError};
use crate::resource_format::ResourceFormat;
use crate::secret_hasher::SecretHasher;

/// The clock of the server.
pub trait Clock: Send + Sync {
    /// Returns microseconds since the UNIX epoch.
    fn now_us(&self) -> i64;
}

/// A rate limit of the member match requests of each client.
pub trait MemberMatchRateLimit: Send + Sync {
    /// Counts one request of a client, and returns an error when it is over the limit.
    ///
    /// # Errors
    /// [`TooManyMatchRequestsError`] with the time until the next request is accepted.
    fn check_and_count(&self, client_id: &str) -> Result<(), TooManyMatchRequestsError>;
}

/// The parts that a [`FhirService`] is built from: stores, clock, randomness and settings.
pub struct FhirServiceParts {
    /// The registrations and policies by which access is decided.
    pub directory: Arc<RegistrationCache>,
    /// Hashes the secrets in security resources.
    pub secrets: Arc<SecretVerifier>,
    /// Receives the audit records of operations.
    pub audit: Arc<dyn AuditSink>,
    /// The settings that security resources are checked against.
    pub oauth_settings: AuthorizationSettings,
    /// The id of the bootstrap administrator, when the operator set one.
    pub root_id: Option<String>,
    /// The resources of the native and the FHIR endpoint.
    pub resources: Arc<dyn ResourceStore>,
    /// The search of resources, in the same store.
    pub search: Arc<dyn SearchStore>,
    /// The migrations, in the same store.
    pub migrations: Arc<dyn MigrationStore>,
    /// Installs packages from the registry of the deployment into the same store.
    pub packages: Arc<PackageInstaller>,
    /// The store of jobs.
    pub jobs: Arc<dyn JobStore>,
    /// The lookup of members, in the same store as resources.
    pub payers: Arc<dyn MemberMatchStore>,
    /// The reporter of the progress of migrations.
    pub progress: ProgressReporter,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of identifiers and secrets.
    pub random: Arc<dyn RandomSource>,
    /// The rate limit of member match requests of each client.
    pub guess_limit: Arc<dyn MemberMatchRateLimit>,
    /// Builds the response entry of a batch entry that failed. Its status and `OperationOutcome` come from the table
    /// that whole requests use.
    pub failed_entry: fn(ServiceError) -> Value,
    /// The settings of the deployment.
    pub settings: FhirSettings,
}

/// The settings of a deployment's resource endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FhirSettings {
    /// Public address of the server, without a trailing slash: the `{base_url}` of the specification.
    pub base_url: String,
    /// True when `/fhir` rewrites extension values to the union form on write, and back on read.
    pub correct_format: bool,
    /// The deployment's brand word. The type name of migrations that is made of it is accepted beside
    /// `PlatformMigration`.
    pub platform_name: String,
    /// Version of the server, for the `CapabilityStatement`.
    pub version: String,
    /// The longest time of one statement of a search. A whole search with its includes, and all searches of a Bundle
    /// together, have twice as long.
    pub search_time: Duration,
    /// The canonical URLs that the `CapabilityStatement` lists beside those of installed packages.
    pub conforms_to: InstalledConformance,
    /// The rule of whether a member match needs an identifier of the member.
    pub identifier_rule: MemberIdentifierRule,
}

impl FhirSettings {
    /// Returns how long a whole search may take, or all searches of a Bundle together.
    pub(crate) fn searches_time(&self) -> Duration {
        self.search_time.saturating_mul(2)
    }

    /// Returns the base URL of the FHIR endpoint: `{base_url}/fhir`.
    #[must_use]
    pub fn fhir_base_url(&self) -> String {
        self.format_base_url(ResourceFormat::Fhir)
    }

    /// Returns the base URL of the endpoint of a format.
    #[must_use]
    pub fn format_base_url(&self, format: ResourceFormat) -> String {
        format!("{}{}", self.base_url, format.path_prefix())
    }

    /// Returns whether the form of an endpoint differs from the stored one.
    pub(crate) fn converts(&self, format: ResourceFormat) -> bool {
        format == ResourceFormat::Fhir && self.correct_format
    }
}

/// The service that answers requests to the resource endpoints.
pub struct FhirService {
    pub(crate) directory: Arc<RegistrationCache>,
    pub(crate) secrets: Arc<SecretVerifier>,
    pub(crate) audit: Arc<dyn AuditSink>,
    pub(crate) oauth_settings: AuthorizationSettings,
    pub(crate) root_id: Option<String>,
    pub(crate) resources: Arc<dyn ResourceStore>,
    pub(crate) search: Arc<dyn SearchStore>,
    pub(crate) migrations: Arc<dyn MigrationStore>,
    pub(crate) packages: Arc<PackageInstaller>,
    pub(crate) jobs: Arc<dyn JobStore>,
    pub(crate) payers: Arc<dyn MemberMatchStore>,
    pub(crate) progress: ProgressReporter,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn RandomSource>,
    pub(crate) guess_limit: Arc<dyn MemberMatchRateLimit>,
    pub(crate) failed_entry: fn(ServiceError) -> Value,
    pub(crate) settings: FhirSettings,
    pub(crate) hasher: SecretHasher,
    pub(crate) statement: CapabilityStatementCache,
}

impl FhirService {
    /// Creates the service from its parts.
    #[must_use]
    pub fn new(parts: FhirServiceParts) -> Self {
        Self {
            hasher: SecretHasher::new(parts.secrets.hashing_pool().clone()),
            statement: CapabilityStatementCache::default(),
            directory: parts.directory,
            secrets: parts.secrets,
            audit: parts.audit,
            oauth_settings: parts.oauth_settings,
            root_id: parts.root_id,
            resources: parts.resources,
            search: parts.search,
            migrations: parts.migrations,
            packages: parts.packages,
            jobs: parts.jobs,
            payers: parts.payers,
            progress: parts.progress,
            clock: parts.clock,
            random: parts.random,
            guess_limit: parts.guess_limit,
            failed_entry: parts.failed_entry,
            settings: parts.settings,
        }
    }

    /// Returns the settings of the deployment.
    #[must_use]
    pub const fn settings(&self) -> &FhirSettings {
        &self.settings
    }

    /// Returns time and randomness for the rules of one request.
    pub(crate) fn env(&self) -> TimeAndRandomness<'_> {
        TimeAndRandomness { now_us: self.clock.now_us(), random: self.random.as_ref() }
    }

    /// Returns microseconds since the UNIX epoch.
    pub(crate) fn now_us(&self) -> i64 {
        self.clock.now_us()
    }
}
