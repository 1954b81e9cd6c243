//! The wiring: database, rules, routes and listener, in the order that makes a server ready
//! before it can be reached.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use auth_http::{Clock, FhirSettings, HttpSettings, RouterComponents};
use auth_storage::{AuditLogWriter, AuthDatabase, JobQueue, JobQueueConfig, JtiClaimTask};
use axum::Router;
use migrations::ProgressReporter;
use migrations::init_bundle::InitBundle;
use migrations::package::{InstalledConformance, PackageInstaller};
use oauth_core::authorization_server::{AuthorizationServer, AuthorizationServerConfig, AuthorizationStores};
use oauth_core::bootstrap_admin::BootstrapAdministrator;
use oauth_core::ports::AccessTokenStore;
use oauth_core::settings::AuthorizationSettings;
use oauth_core::signing_key_encryption::SigningKeyEncryption;
use oauth_core::token_issuer::TokenIssuer;
use server_kit::http_listener::{
    BoundListener, Listener, ListenerErrorBodies, ListenerLimits, MinimumBodyRate, WRITE_STALL_TIMEOUT,
};
use server_kit::instance_lock::InstanceLock;
use server_kit::metrics::MetricsServer;
use server_kit::shutdown::{BoundedShutdown, CancellationToken, request_drain_timeout, termination_token};
use server_kit::tls::{ReloadableTlsCertificate, TlsCertificateError};
use task_set::{TaskSet, UnexpectedTaskEnd};
use tokio::runtime::Handle;
use tokio::time::{Instant, MissedTickBehavior};

use crate::clock::{self, SystemClock, SystemRandom};
use crate::config::{Canonicals, Config};
use crate::health::DatabaseHealth;
use crate::jwks_fetch::{HttpJwksFetch, Patience, Reach};
use crate::{bootstrap, database, init_bundle, keys, package_registry};

/// How soon a key that another node or an operator added is known here.
const KEYS_REFRESH: Duration = Duration::from_secs(5);
/// How often a node looks whether searches lack rows. A parameter that was installed answers from then on.
const INDEX_INTERVAL: Duration = Duration::from_secs(5);
/// How often what expired is swept out of the database.
const SWEEP_INTERVAL: Duration = Duration::from_mins(10);

/// The answers of the listener, in the format of this server's other errors.
const REFUSALS: ListenerErrorBodies = ListenerErrorBodies {
    busy: r#"{"error":"temporarily_unavailable","error_description":"too many connections"}"#,
    late: r#"{"error":"invalid_request","error_description":"the request took too long to arrive"}"#,
    request_id: || clock::env().random_identifier(),
};

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// When the server cannot become ready.
pub(crate) async fn serve(config: &Config, bundle: Option<InitBundle>, hashing: &Handle) -> anyhow::Result<()> {
    let mut background = TaskSet::default();
    let stopping = termination_token(&mut background).context("cannot wait for signals")?;
    let started = tokio::select! {
        started = start(config, bundle, hashing, &mut background) => started,
        () = stopping.cancelled() => return Ok(()),
    };
    run(started?, background, stopping, config.limits.shutdown_timeout()).await
}

/// Serves until `stopping` is cancelled or a task ends that was to run on, then stops within `limit`.
async fn run(
    server: Server,
    mut background: TaskSet,
    stopping: CancellationToken,
    limit: Duration,
) -> anyhow::Result<()> {
    let Server { main, router, metrics, own, _instance_lock } = server;
    let (begun, failed, cut, ()) = tokio::join!(
        async {
            stopping.cancelled().await;
            Instant::now()
        },
        watch(&mut background, &own, &stopping),
        main.serve(router, stopping.clone()),
        serve_metrics(metrics, stopping.clone())
    );
    let mut shutdown = BoundedShutdown::new(begun, limit);
    shutdown.record_cut_connections(cut);
    shutdown.wait_for_part("background tasks", background.abort_and_join_all()).await;
    shutdown.wait_for_part("token requests", own.admissions.drain_and_stop()).await;
    shutdown.wait_for_part("jobs", own.jobs.stop_and_release_jobs()).await;
    shutdown.wait_for_part("audit events", own.audit.drain_and_stop()).await;
    shutdown.wait_for_part("database", own.db.close()).await;
    shutdown.log_result();
    failed.map_or(Ok(()), |task| Err(task.into()))
}

/// Returns when the server stops, and stops it when a task ends that was to run on: a server that only seems to run is
/// of no use. Jobs are told at once that it stops, so that a long one is given back while requests finish.
async fn watch(background: &mut TaskSet, own: &Running, stopping: &CancellationToken) -> Option<UnexpectedTaskEnd> {
    let ended = tokio::select! {
        ended = poll_fn(|context| background.poll_unexpected_end(context)) => ended,
        ended = own.admissions.wait_for_unexpected_end() => ended,
        ended = own.jobs.wait_for_unexpected_end() => ended,
        ended = own.audit.wait_for_unexpected_end() => ended,
        ended = own.db.wait_for_unexpected_task_end() => ended,
        () = stopping.cancelled() => {
            own.jobs.request_stop();
            return None;
        }
    };
    tracing::error!(task = ended.name, "stopping: a task ended that was to run on");
    stopping.cancel();
    Some(ended)
}

/// A server that is ready.
struct Server {
    main: Listener,
    router: Router,
    metrics: Option<MetricsServer>,
    own: Running,
    _instance_lock: Option<InstanceLock>,
}

/// What runs behind the routes, and ends after them.
struct Running {
    admissions: Arc<JtiClaimTask>,
    audit: Arc<AuditLogWriter>,
    jobs: Arc<JobQueue>,
    db: AuthDatabase,
}

async fn start(
    config: &Config,
    bundle: Option<InitBundle>,
    hashing: &Handle,
    background: &mut TaskSet,
) -> anyhow::Result<Server> {
    tracing::info!("starting auth-server {}", env!("CARGO_PKG_VERSION"));
    let bound = BoundListener::bind(config.address.listen, tls(config, background)?)?;
    let metrics = metrics_server(config, background)?;
    let base_url = base_url(config, &bound);
    let db = database::open(&config.database, config.limits.search_time()).await?;
    db.set_fhir_base_url(&format!("{base_url}/fhir")).await.context("cannot prepare the index of searches")?;
    let instance_lock = database::instance_lock(&config.database)?;
    let admissions = Arc::new(JtiClaimTask::start(&db));
    let audit = Arc::new(AuditLogWriter::start(db.clone()));
    let stores = stores(&db, &admissions, &audit);
    let oauth = open_oauth(config, &base_url, hashing, stores).await?;
    bootstrap::warn_of_open_keys(&db, config.trust.key_encryption_secret().is_some()).await?;
    bootstrap::warn_of_open_audiences(&db).await?;
    let packages = packages(config, &db)?;
    if let Some((id, password)) = config.trust.admin() {
        bootstrap::establish_admin(&clock::env(), &db, id, password).await?;
    }
    background.spawn_until_stopped("refresh keys", refresh_keys(Arc::clone(&oauth.issuer)));
    let jobs = Arc::new(JobQueue::start(db.clone(), job_settings(config, &base_url)));
    background.spawn_until_stopped("index resources", index(db.clone()));
    background.spawn_until_stopped("sweep", sweep(db.clone(), config.observing.audit_retention()));
    background.spawn_until_stopped("forget jobs", forget_jobs(Arc::clone(&jobs), config.jobs.retention()));
    let own = Own { oauth, packages, jobs: Arc::clone(&jobs) };
    let parts = parts(config, base_url, own, &db);
    let url = bound.url();
    let main = bound.listen(limits(config))?.with_trusted_proxies(config.address.trusted_proxies.clone());
    if let Some(bundle) = bundle {
        let starting = auth_http::startup_router(parts.clone());
        let executed = Box::pin(init_bundle::execute(&db, parts.clone(), bundle));
        main.serve_until_work_done(starting, executed).await?;
    }
    let router = auth_http::authorization_router(parts);
    tracing::info!("listening on {url}");
    let own = Running { admissions, audit, jobs, db };
    Ok(Server { main, router, metrics, own, _instance_lock: instance_lock })
}

fn tls(
    config: &Config,
    background: &mut TaskSet,
) -> Result<Option<Arc<ReloadableTlsCertificate>>, TlsCertificateError> {
    let files = config.address.tls_files();
    files
        .map(|(certificate, key)| ReloadableTlsCertificate::load_with_sighup_reload(certificate, key, background))
        .transpose()
}

fn base_url(config: &Config, bound: &BoundListener) -> String {
    if let Some(base_url) = config.address.base_url() {
        return base_url.to_owned();
    }
    if bound.address().ip().is_unspecified() {
        tracing::warn!("tokens will name {} as their issuer, which nobody can call: set --base-url", bound.url());
    }
    bound.url()
}

fn stores(db: &AuthDatabase, admissions: &Arc<JtiClaimTask>, audit: &Arc<AuditLogWriter>) -> AuthorizationStores {
    let db = Arc::new(db.clone());
    AuthorizationStores {
        clients: Arc::clone(&db) as _,
        replays: Arc::clone(admissions) as _,
        tokens: Arc::clone(&db) as _,
        keys: Arc::clone(&db) as _,
        sessions: Arc::clone(&db) as _,
        codes: Arc::clone(&db) as _,
        families: Arc::clone(&db) as _,
        grants: Arc::clone(&db) as _,
        patients: db,
        audit: Arc::clone(audit) as _,
    }
}

async fn open_oauth(
    config: &Config,
    base_url: &str,
    hashing: &Handle,
    stores: AuthorizationStores,
) -> anyhow::Result<AuthorizationServer> {
    let trust = &config.trust;
    let mut settings = AuthorizationSettings::new(base_url, &config.platform.ext_base);
    settings.access_token_alg = trust.access_token_alg;
    settings.launch_lifetime_s = trust.launch_lifetime_s();
    settings.session_lifetime_s = trust.session_lifetime_s();
    settings.password_min_chars = trust.password_min_chars();
    settings.secret_attempts = config.limits.secret_attempts();
    let reach = if trust.allow_private_jwks { Reach::Anywhere } else { Reach::Public };
    if reach == Reach::Anywhere {
        tracing::warn!("key sets may be fetched by plain http and from the inner network (--allow-private-jwks)");
    }
    let hashing = hashing.clone();
    let setup = AuthorizationServerConfig {
        settings,
        sealer: trust.key_encryption_secret().cloned().map(SigningKeyEncryption::new),
        root: trust.root_client().map(|(id, secret)| BootstrapAdministrator::new(id, secret)),
        jwks_fetch: Arc::new(HttpJwksFetch::new(reach, Patience::default())),
        hashing: Arc::new(move |work: Box<dyn FnOnce() + Send>| drop(hashing.spawn_blocking(work))),
    };
    AuthorizationServer::open(&clock::env(), setup, stores).await.map_err(keys::explain)
}

fn packages(config: &Config, db: &AuthDatabase) -> anyhow::Result<Arc<PackageInstaller>> {
    let registry = package_registry::open(&config.platform.fhir_package_registry)?;
    Ok(Arc::new(PackageInstaller::new(registry, Arc::new(db.clone()), ProgressReporter::new())))
}

/// What of this process the routes are given.
struct Own {
    oauth: AuthorizationServer,
    packages: Arc<PackageInstaller>,
    jobs: Arc<JobQueue>,
}

fn parts(config: &Config, base_url: String, Own { oauth, packages, jobs }: Own, db: &AuthDatabase) -> RouterComponents {
    RouterComponents {
        jobs,
        payers: Arc::new(db.clone()),
        oauth,
        resources: Arc::new(db.clone()),
        search: Arc::new(db.clone()),
        migrations: Arc::new(db.clone()),
        progress: packages.progress_reporter().clone(),
        packages,
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        health: Arc::new(DatabaseHealth(db.clone())),
        settings: HttpSettings {
            max_body_bytes: config.limits.body_max_bytes(),
            rate_limit_per_minute: config.limits.rate_per_minute(),
            look: config.page.look(),
            fhir: FhirSettings {
                base_url,
                correct_format: config.platform.fhir_correct_format,
                platform_name: config.platform.platform_name.clone(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                search_time: config.limits.search_time(),
                conforms_to: conforms_to(config),
                identifier_rule: config.jobs.identifier_rule(),
            },
        },
    }
}

/// Returns what the `CapabilityStatement` names beside what is installed.
fn conforms_to(config: &Config) -> InstalledConformance {
    let urls = |named: &Canonicals| named.0.iter().cloned().collect();
    InstalledConformance {
        guides: urls(&config.platform.capability_guides),
        requirements: urls(&config.platform.capability_instantiates),
        ..InstalledConformance::default()
    }
}

impl Clock for SystemClock {
    fn now_us(&self) -> i64 {
        Self::now_us()
    }
}

fn limits(config: &Config) -> ListenerLimits {
    ListenerLimits {
        header_timeout: config.limits.header_timeout(),
        keep_alive_timeout: config.limits.keep_alive_timeout(),
        drain_timeout: request_drain_timeout(config.limits.shutdown_timeout()),
        connections_max: config.limits.connections_max(),
        connections_per_address: config.limits.connections_per_address(),
        body_rate: MinimumBodyRate::default(),
        write_timeout: WRITE_STALL_TIMEOUT,
        refusals: REFUSALS,
    }
}

fn metrics_server(config: &Config, background: &mut TaskSet) -> anyhow::Result<Option<MetricsServer>> {
    let address = config.observing.metrics_listen;
    Ok(address.map(|address| MetricsServer::record_and_listen(address, limits(config), background)).transpose()?)
}

async fn serve_metrics(metrics: Option<MetricsServer>, stopping: CancellationToken) {
    if let Some(metrics) = metrics {
        metrics.serve(stopping).await;
    }
}

fn job_settings(config: &Config, base_url: &str) -> JobQueueConfig {
    JobQueueConfig {
        fhir_base: format!("{base_url}/fhir"),
        correct_format: config.platform.fhir_correct_format,
        at_once: config.jobs.at_once(),
        now_us: Arc::new(SystemClock::now_us),
    }
}

async fn forget_jobs(jobs: Arc<JobQueue>, kept: Duration) {
    let kept_us = i64::try_from(kept.as_micros()).unwrap_or(i64::MAX);
    let mut tick = tokio::time::interval(SWEEP_INTERVAL);
    loop {
        tick.tick().await;
        match jobs.delete_jobs_ended_before(clock::env().now_us.saturating_sub(kept_us)).await {
            Ok(jobs) => tracing::debug!(jobs, "old jobs were forgotten"),
            Err(error) => tracing::error!(%error, "old jobs cannot be forgotten"),
        }
    }
}

async fn refresh_keys(issuer: Arc<TokenIssuer>) {
    let mut tick = tokio::time::interval(KEYS_REFRESH);
    loop {
        tick.tick().await;
        if let Err(error) = issuer.keys.reload_keys().await {
            tracing::error!(%error, "the signing keys in use stay: they cannot be read again");
        }
    }
}

/// Makes the rows that searches lack: of resources of an older version of this server, for parameters that
/// were installed, after SQL of a user.
async fn index(db: AuthDatabase) {
    let mut tick = tokio::time::interval(INDEX_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        if let Err(error) = db.rebuild_search_index().await {
            tracing::error!(%error, "the index of searches cannot be completed");
        }
    }
}

async fn sweep(db: AuthDatabase, audit_retention: Option<Duration>) {
    let mut tick = tokio::time::interval(SWEEP_INTERVAL);
    loop {
        tick.tick().await;
        match db.delete_expired_tokens(clock::env().now_s()).await {
            Ok(tokens) => tracing::debug!(tokens, "expired tokens were forgotten"),
            Err(error) => tracing::error!(%error, "expired tokens cannot be forgotten"),
        }
        match db.delete_authorizations_ended_before(clock::env().now_s()).await {
            Ok(rows) => tracing::debug!(rows, "ended sessions, codes and families were forgotten"),
            Err(error) => tracing::error!(%error, "ended sessions, codes and families cannot be forgotten"),
        }
        let Some(kept_us) = audit_retention.and_then(|kept| i64::try_from(kept.as_micros()).ok()) else { continue };
        match db.delete_audit_events_before(clock::env().now_us - kept_us).await {
            Ok(rows) => tracing::debug!(rows, "old audit events were forgotten"),
            Err(error) => tracing::error!(%error, "old audit events cannot be forgotten"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::config;

    #[tokio::test]
    async fn a_server_stops_with_an_error_when_a_task_panics_that_was_to_run_on() {
        let dir = tempfile::tempdir().unwrap();
        let line = ["auth-server", "--listen=127.0.0.1:0", "--data-dir"].map(OsString::from);
        let config = config::read(line.into_iter().chain([dir.path().into()]), |_| None).unwrap();
        let limit = config.limits.shutdown_timeout();
        for panics in [true, false] {
            let (mut background, stopping) = (TaskSet::default(), CancellationToken::new());
            let server = start(&config, None, &Handle::current(), &mut background).await.unwrap();
            if panics {
                background.spawn_until_stopped("breaks", async { panic!("out of order") });
            } else {
                stopping.cancel();
            }
            // One that is asked to stop has no task to report.
            let stopped = run(server, background, stopping, limit).await;
            assert_eq!(stopped.is_err(), panics);
            if let Err(error) = stopped {
                let ended = error.downcast::<UnexpectedTaskEnd>().unwrap();
                assert_eq!((ended.name, ended.cause.unwrap().is_panic()), ("breaks", true));
            }
        }
    }
}
