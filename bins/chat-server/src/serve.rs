//! The wiring: database, rules, routes and listener, in the order that makes a server ready
//! before it can be reached.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use chat_core::StoreError;
use chat_core::event_log::decision_queue::RealmDecisionQueue;
use chat_core::event_log::store::{EventLog as _, EventQueueStore as _};
use chat_core::limits::SECONDS_PER_DAY;
use chat_core::messages::{channel_activity, retention};
use chat_core::push_notifications::{PushStore as _, SENT_NOTIFICATION_RETENTION_S};
use chat_http::{
    ApiSettings, BaseComponents, BrowserComponents, ChatComponents, ChatService, ClockAndRandomness as _,
    InvitationComponents, PushComponents, RunningPolls,
};
use chat_storage::ChatStore;
use server_kit::health::{DatabaseWriteProbe, HealthProbe};
use server_kit::http_listener::{
    BoundListener, Listener, ListenerErrorBodies, ListenerLimits, MinimumBodyRate, WRITE_STALL_TIMEOUT,
};
use server_kit::instance_lock::InstanceLock;
use server_kit::metrics::MetricsServer;
use server_kit::shutdown::{BoundedShutdown, CancellationToken, request_drain_timeout, termination_token};
use server_kit::tls::{ReloadableTlsCertificate, TlsCertificateError};
use task_set::{TaskSet, UnexpectedTaskEnd};
use tokio::time::{Instant, MissedTickBehavior};
use uuid::Uuid;

use crate::bootstrap::Founded;
use crate::config::{Command, Config};
use crate::export::ExportWorker;
use crate::files::{self, Files};
use crate::long_poll_detach::InFlight;
use crate::mail::Mailer;
use crate::passwords::Argon2id;
use crate::push::PushWorker;
use crate::system_runtime::SystemRuntime;
use crate::web::EmbeddedClient;
use crate::{bootstrap, database, import, memory, push};

/// How often queues that nobody reads are deleted, messages that their channel does not keep any longer, and events
/// that no queue can ask for any more.
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);
/// How often messages are looked for whose time has come. They go out within two seconds of it.
const DELIVERY_INTERVAL: Duration = Duration::from_secs(1);
/// The folder of the data directory in which exports are written before they are packed.
const EXPORTS: &str = "exports-in-progress";
/// Seconds for which an event outlives the queues that could want it: what a queue confirmed is written down a
/// little later, and the clocks of two nodes differ.
const LOG_MARGIN_S: i64 = 3600;
/// Seconds by which the clock of a node may differ from that of the database server while it deletes by time. Four such
/// differences, of who writes, confirms, expires and prunes, and the minutes until a confirmation is written, fit
/// into [`LOG_MARGIN_S`].
const SKEW_MAX_S: i64 = 600;

/// The answers of the listener, in the format of this server's other errors.
const REFUSALS: ListenerErrorBodies = ListenerErrorBodies {
    busy: r#"{"result":"error","msg":"Too many connections","code":"BAD_REQUEST"}"#,
    late: r#"{"result":"error","msg":"Request took too long to arrive","code":"BAD_REQUEST"}"#,
    request_id: || Uuid::new_v4().simple().to_string(),
};

/// Returns whether the files that a server's settings name can be used, as far as nothing else is needed to know it.
/// Other commands do without them: who runs those need not be able to read them.
///
/// # Errors
/// When one cannot.
pub(crate) fn check(config: &Config) -> anyhow::Result<()> {
    match config.task() {
        Command::Serve => push::service(&config.push, "", "").map(drop),
        Command::User(_) | Command::Keys(_) | Command::Import { .. } | Command::Export { .. } => Ok(()),
    }
}

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// When the server cannot become ready.
pub(crate) async fn serve(config: &Config) -> anyhow::Result<()> {
    let mut background = TaskSet::default();
    let stopping = termination_token(&mut background).context("cannot wait for signals")?;
    let started = tokio::select! {
        started = start(config, &mut background) => started,
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
    let Server { main, router, metrics, store, polls, _instance_lock } = server;
    let (begun, failed, cut, (), ()) = tokio::join!(
        async {
            stopping.cancelled().await;
            Instant::now()
        },
        worker(&mut background, &store, &stopping),
        main.serve_detachable_requests::<InFlight>(router, stopping.clone()),
        end_polls(&polls, &stopping),
        serve_metrics(metrics, stopping.clone())
    );
    let mut shutdown = BoundedShutdown::new(begun, limit);
    shutdown.record_cut_connections(cut);
    shutdown.wait_for_part("background tasks", background.abort_and_join_all()).await;
    shutdown.wait_for_part("database", store.flush_and_close()).await;
    shutdown.log_result();
    failed.map_or(Ok(()), |task| Err(task.into()))
}

/// Returns when the server stops, and stops it when a task ends that was to run on: a server that only seems to run is
/// of no use.
async fn worker(
    background: &mut TaskSet,
    store: &ChatStore,
    stopping: &CancellationToken,
) -> Option<UnexpectedTaskEnd> {
    let ended = tokio::select! {
        ended = poll_fn(|context| background.poll_unexpected_end(context)) => ended,
        ended = store.wait_for_task_end() => ended,
        () = stopping.cancelled() => return None,
    };
    tracing::error!(task = ended.name, "stopping: a task ended that was to run on");
    stopping.cancel();
    Some(ended)
}

/// A server that is ready.
struct Server {
    main: Listener,
    router: ChatService,
    metrics: Option<MetricsServer>,
    store: Arc<ChatStore>,
    polls: Arc<RunningPolls>,
    _instance_lock: Option<InstanceLock>,
}

async fn start(config: &Config, background: &mut TaskSet) -> anyhow::Result<Server> {
    tracing::info!("starting chat-server {}", env!("CARGO_PKG_VERSION"));
    let bound = BoundListener::bind(config.address.listen, tls(config, background)?)?;
    let metrics = metrics_server(config, background)?;
    let base_url = base_url(config, &bound);
    let db = database::open(&config.database).await?;
    let instance_lock = database::instance_lock(&config.database)?;
    let store = Arc::new(database::read(config, db).await?);
    if config.keys.secret().is_none() {
        tracing::warn!(
            "API keys and links of invitations can be read in a copy of the database: no --key-encryption-secret is set"
        );
    }
    import::check(&store).await?;
    let files = Arc::new(Files::open(config)?);
    let passwords = Arc::new(Argon2id::new());
    let founded = bootstrap::establish_realm(store.as_ref(), passwords.as_ref(), &config.realm).await?;
    background.spawn_until_stopped("give memory back", memory::keep_giving_back());
    background.spawn_until_stopped("sweep", sweep(Arc::clone(&store), config.limits.event_queue_timeout_s()));
    let post = Mailer::new(&config.mail, config.database.data_dir.join("mail"))?;
    background.spawn_until_stopped("send letters", post.deliver(Arc::<ChatStore>::clone(&store)));
    background.spawn_until_stopped("write data exports", export_worker(config, (&store, &files, &base_url)));
    let domain = ChatComponents {
        realm: Arc::<ChatStore>::clone(&store),
        log: Arc::<ChatStore>::clone(&store),
        queues: Arc::<ChatStore>::clone(&store),
        messages: Arc::<ChatStore>::clone(&store),
        presences: Arc::<ChatStore>::clone(&store),
        bot_storage: Arc::<ChatStore>::clone(&store),
        widgets: Arc::<ChatStore>::clone(&store),
        drafts: Arc::<ChatStore>::clone(&store),
        scheduled: Arc::<ChatStore>::clone(&store),
        reminders: Arc::<ChatStore>::clone(&store),
        typing: Arc::<ChatStore>::clone(&store),
        files,
        attachments: Arc::<ChatStore>::clone(&store),
        resumable: Arc::<ChatStore>::clone(&store),
        exports: Arc::<ChatStore>::clone(&store),
        polls: Arc::default(),
        passwords,
        invitations: invitations(config, &store),
        push: notify(config, (&store, &base_url), background)?,
        browser: browser(config, founded, &base_url)?,
        settings: settings(config, base_url),
    };
    let polls = Arc::clone(&domain.polls);
    let router = chat_http::build_chat_service(parts(config, &store), Some(domain));
    router.enqueue_restart_event().await;
    background.spawn_until_stopped("send scheduled messages", deliver(router.clone()));
    background.spawn_until_stopped("end abandoned uploads", end_uploads(router.clone(), Arc::clone(&store)));
    let url = bound.url();
    let main = bound.listen(limits(config))?.with_trusted_proxies(config.address.trusted_proxies.clone());
    tracing::info!("listening on {url}");
    Ok(Server { main, router, metrics, store, polls, _instance_lock: instance_lock })
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
        tracing::warn!("clients will be sent to {}, which nobody can call: set --base-url", bound.url());
    }
    bound.url()
}

fn parts(config: &Config, store: &ChatStore) -> BaseComponents {
    BaseComponents {
        runtime: Arc::new(SystemRuntime),
        health: health(store.clone()),
        rate_limit_per_ip: config.limits.rate_limit_per_ip(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Begins to notify telephones, where there is a service for it.
fn notify(
    config: &Config,
    (store, base_url): (&Arc<ChatStore>, &str),
    background: &mut TaskSet,
) -> anyhow::Result<PushComponents> {
    let devices = Arc::<ChatStore>::clone(store);
    let brand = &config.address.brand;
    let Some(bouncer) = push::service(&config.push, base_url, brand)? else {
        return Ok(PushComponents { devices, bouncer: None });
    };
    let worker = PushWorker {
        store: Arc::clone(store),
        bouncer: Arc::clone(&bouncer),
        base_url: base_url.to_owned(),
        brand: brand.clone(),
        node: format!("{:032x}", SystemRuntime.random_id()),
    };
    background.spawn_until_stopped("notify telephones", worker.keep());
    Ok(PushComponents { devices, bouncer: Some(bouncer) })
}

/// Writes the exports that administrators request.
fn export_worker(
    config: &Config,
    (store, files, base_url): (&Arc<ChatStore>, &Arc<Files>, &str),
) -> impl Future<Output = ()> + Send + 'static {
    let worker = ExportWorker {
        store: Arc::clone(store),
        files: Arc::<Files>::clone(files),
        base_url: base_url.to_owned(),
        node: format!("{:032x}", SystemRuntime.random_id()),
        folder: config.database.data_dir.join(EXPORTS),
        decisions: RealmDecisionQueue::default(),
    };
    let store = Arc::clone(store);
    worker.keep(async move |now_s| is_in_time(store.clock_ahead_of_database_s(now_s).await))
}

fn invitations(config: &Config, store: &Arc<ChatStore>) -> InvitationComponents {
    InvitationComponents {
        links: Arc::<ChatStore>::clone(store),
        validity_min: config.invitations.validity_min(),
        per_day: config.invitations.per_day(),
    }
}

/// In an empty installation logs the code that makes the organization on a page.
fn browser(config: &Config, founded: Founded, base_url: &str) -> anyhow::Result<BrowserComponents> {
    let setup_code = match founded {
        Founded::Realm => None,
        Founded::Nothing => Some(bootstrap::setup_code(base_url)?),
    };
    let session_lifetime_s = config.browser.session_lifetime_s();
    Ok(BrowserComponents { session_lifetime_s, setup_code, client: Some(Arc::new(EmbeddedClient::new())) })
}

fn settings(config: &Config, base_url: String) -> ApiSettings {
    ApiSettings {
        base_url,
        max_body_bytes: config.limits.body_max_bytes(),
        rate_limit_per_user: config.limits.rate_limit_per_user(),
        brand: config.address.brand.clone(),
        event_queue_timeout_s: config.limits.event_queue_timeout_s(),
        uploads: files::upload_settings(config),
        development_login: config.development.development_login,
    }
}

fn health(store: ChatStore) -> Arc<dyn HealthProbe> {
    Arc::new(DatabaseWriteProbe::new(move || {
        let store = store.clone();
        async move { store.check_writable().await }
    }))
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

/// A poll waits for up to a minute: connections that drain shall not wait for it.
async fn end_polls(polls: &RunningPolls, stopping: &CancellationToken) {
    stopping.cancelled().await;
    polls.answer_all_on_shutdown();
}

/// Any number of nodes may do it at once: a message goes out by the one that takes it first.
async fn deliver(chat: ChatService) {
    let mut tick = tokio::time::interval(DELIVERY_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        while chat.send_due_scheduled_messages().await {}
        while chat.send_due_reminders().await {}
    }
}

/// Any number of nodes may do it at once: an upload is deleted by the one that takes it first.
async fn end_uploads(chat: ChatService, store: Arc<ChatStore>) {
    let mut tick = tokio::time::interval(SWEEP_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        if is_in_time(store.clock_ahead_of_database_s(SystemRuntime.now_s()).await) {
            while chat.end_abandoned_uploads().await {}
        }
    }
}

/// Returns whether the clock of this node may be trusted with deleting by time, given how far it is ahead of that of
/// the database.
fn is_in_time(ahead_of_database_s: Result<i64, StoreError>) -> bool {
    match ahead_of_database_s {
        Ok(skew_s) if (-SKEW_MAX_S..=SKEW_MAX_S).contains(&skew_s) => return true,
        Ok(skew_s) => tracing::error!(skew_s, "nothing is deleted by time: this clock differs from the database's"),
        Err(error) => tracing::error!(%error, "nothing is deleted by time: the database's clock cannot be read"),
    }
    false
}

/// Any number of nodes may do it at once: each deletes what the others left.
async fn sweep(store: Arc<ChatStore>, event_queue_timeout_s: i64) {
    let mut tick = tokio::time::interval(SWEEP_INTERVAL);
    let mut activity_due_s = 0;
    loop {
        tick.tick().await;
        let now_s = SystemRuntime.now_s();
        if !is_in_time(store.clock_ahead_of_database_s(now_s).await) {
            continue;
        }
        if now_s >= activity_due_s {
            activity_due_s = now_s.saturating_add(SECONDS_PER_DAY);
            mark_inactive_channels(&store, now_s).await;
        }
        match store.delete_expired_queues(now_s).await {
            Ok(queues) => tracing::debug!(queues, "queues without a client were deleted"),
            Err(error) => tracing::error!(%error, "queues without a client cannot be deleted"),
        }
        match retention::delete_expired_messages(store.as_ref(), now_s).await {
            Ok(messages) => tracing::debug!(messages, "old messages were deleted"),
            Err(error) => tracing::error!(%error, "old messages cannot be deleted"),
        }
        match store.prune_records(now_s - event_queue_timeout_s - LOG_MARGIN_S).await {
            Ok(events) => tracing::debug!(events, "old events were deleted"),
            Err(error) => tracing::error!(%error, "old events cannot be deleted"),
        }
        match store.remove_sent_notifications_before(now_s - SENT_NOTIFICATION_RETENTION_S).await {
            Ok(sent) => tracing::debug!(sent, "what telephones were told of long ago was forgotten"),
            Err(error) => tracing::error!(%error, "what telephones were told of long ago cannot be forgotten"),
        }
    }
}

/// Marks channels without recent messages, once a day on each node.
async fn mark_inactive_channels(store: &ChatStore, now_s: i64) {
    match channel_activity::mark_inactive_channels(store, &RealmDecisionQueue::default(), now_s).await {
        Ok(channels) => tracing::debug!(channels, "channels without recent messages marked"),
        Err(error) => tracing::error!(%error, "channels without recent messages not marked"),
    }
}

#[cfg(test)]
mod tests;
