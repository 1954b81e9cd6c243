//! The wiring: database, rules, routes and listener, in the order that makes a server ready
//! before it can be reached.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use chat_core::StoreError;
use chat_core::log::decision::DecisionQueue;
use chat_core::log::store::{EventLog as _, QueueStore as _};
use chat_core::messages::retention;
use chat_core::push::{PushStore as _, SENT_KEPT_S};
use chat_http::{
    ApiSettings, BrowserSettings, Chat, ChatComponents, Components, Invitations, Polls, Push, Runtime as _,
};
use chat_storage::Store;
use server_kit::health::{DatabaseHealth, HealthProbe};
use server_kit::instance_lock::InstanceLock;
use server_kit::listen::{BodyRate, BoundListener, Listener, ListenerLimits, Refusals, WRITE_TIMEOUT};
use server_kit::metrics::MetricsServer;
use server_kit::shutdown::{BoundedShutdown, CancellationToken, cancel_on_signal, drain_timeout};
use server_kit::tls::{TlsCertificate, TlsError};
use task_set::{TaskEnded, TaskSet};
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
const REFUSALS: Refusals = Refusals {
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
    let stopping = cancel_on_signal(&mut background).context("cannot wait for signals")?;
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
        main.serve_detaching::<InFlight>(router, stopping.clone()),
        end_polls(&polls, &stopping),
        serve_metrics(metrics, stopping.clone())
    );
    let mut shutdown = BoundedShutdown::new(begun, limit);
    shutdown.record_connections(cut);
    shutdown.end("background tasks", background.shutdown()).await;
    shutdown.end("database", store.stop()).await;
    shutdown.report();
    failed.map_or(Ok(()), |task| Err(task.into()))
}

/// Returns when the server stops, and stops it when a task ends that was to run on: a server that only seems to run is
/// of no use.
async fn worker(background: &mut TaskSet, store: &Store, stopping: &CancellationToken) -> Option<TaskEnded> {
    let ended = tokio::select! {
        ended = poll_fn(|context| background.poll_ended(context)) => ended,
        ended = store.task_ended() => ended,
        () = stopping.cancelled() => return None,
    };
    tracing::error!(task = ended.name, "stopping: a task ended that was to run on");
    stopping.cancel();
    Some(ended)
}

/// A server that is ready.
struct Server {
    main: Listener,
    router: Chat,
    metrics: Option<MetricsServer>,
    store: Arc<Store>,
    polls: Arc<Polls>,
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
    background.spawn("give memory back", memory::keep_giving_back());
    background.spawn("sweep", sweep(Arc::clone(&store), config.limits.event_queue_timeout_s()));
    let post = Mailer::new(&config.mail, config.database.data_dir.join("mail"))?;
    background.spawn("send letters", post.deliver(Arc::<Store>::clone(&store)));
    background.spawn("write data exports", export_worker(config, (&store, &files, &base_url)));
    let domain = ChatComponents {
        realm: Arc::<Store>::clone(&store),
        log: Arc::<Store>::clone(&store),
        queues: Arc::<Store>::clone(&store),
        messages: Arc::<Store>::clone(&store),
        presences: Arc::<Store>::clone(&store),
        bot_storage: Arc::<Store>::clone(&store),
        widgets: Arc::<Store>::clone(&store),
        drafts: Arc::<Store>::clone(&store),
        scheduled: Arc::<Store>::clone(&store),
        typing: Arc::<Store>::clone(&store),
        files,
        attachments: Arc::<Store>::clone(&store),
        exports: Arc::<Store>::clone(&store),
        polls: Arc::default(),
        passwords,
        invitations: invitations(config, &store),
        push: notify(config, (&store, &base_url), background)?,
        browser: browser(config, founded, &base_url)?,
        settings: settings(config, base_url),
    };
    let polls = Arc::clone(&domain.polls);
    let router = chat_http::router(parts(config, &store), Some(domain));
    router.announce_restart().await;
    background.spawn("send scheduled messages", deliver(router.clone()));
    let url = bound.url();
    let main = bound.listen(limits(config))?.behind(config.address.trusted_proxies.clone());
    tracing::info!("listening on {url}");
    Ok(Server { main, router, metrics, store, polls, _instance_lock: instance_lock })
}

fn tls(config: &Config, background: &mut TaskSet) -> Result<Option<Arc<TlsCertificate>>, TlsError> {
    let files = config.address.tls_files();
    files.map(|(certificate, key)| TlsCertificate::serve(certificate, key, background)).transpose()
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

fn parts(config: &Config, store: &Store) -> Components {
    Components {
        runtime: Arc::new(SystemRuntime),
        health: health(store.clone()),
        rate_limit_per_ip: config.limits.rate_limit_per_ip(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Begins to notify telephones, where there is a service for it.
fn notify(config: &Config, (store, base_url): (&Arc<Store>, &str), background: &mut TaskSet) -> anyhow::Result<Push> {
    let devices = Arc::<Store>::clone(store);
    let brand = &config.address.brand;
    let Some(bouncer) = push::service(&config.push, base_url, brand)? else {
        return Ok(Push { devices, bouncer: None });
    };
    let worker = PushWorker {
        store: Arc::clone(store),
        bouncer: Arc::clone(&bouncer),
        base_url: base_url.to_owned(),
        brand: brand.clone(),
        node: format!("{:032x}", SystemRuntime.fresh_id()),
    };
    background.spawn("notify telephones", worker.keep());
    Ok(Push { devices, bouncer: Some(bouncer) })
}

/// Writes the exports that administrators request.
fn export_worker(
    config: &Config,
    (store, files, base_url): (&Arc<Store>, &Arc<Files>, &str),
) -> impl Future<Output = ()> + Send + 'static {
    let worker = ExportWorker {
        store: Arc::clone(store),
        files: Arc::<Files>::clone(files),
        base_url: base_url.to_owned(),
        node: format!("{:032x}", SystemRuntime.fresh_id()),
        folder: config.database.data_dir.join(EXPORTS),
        decisions: DecisionQueue::default(),
    };
    let store = Arc::clone(store);
    worker.keep(async move |now_s| is_in_time(store.ahead_of_database_s(now_s).await))
}

fn invitations(config: &Config, store: &Arc<Store>) -> Invitations {
    Invitations {
        links: Arc::<Store>::clone(store),
        validity_min: config.invitations.validity_min(),
        per_day: config.invitations.per_day(),
    }
}

/// In an empty installation logs the code that makes the organization on a page.
fn browser(config: &Config, founded: Founded, base_url: &str) -> anyhow::Result<BrowserSettings> {
    let setup_code = match founded {
        Founded::Realm => None,
        Founded::Nothing => Some(bootstrap::setup_code(base_url)?),
    };
    let session_lifetime_s = config.browser.session_lifetime_s();
    Ok(BrowserSettings { session_lifetime_s, setup_code, client: Some(Arc::new(EmbeddedClient::new())) })
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

fn health(store: Store) -> Arc<dyn HealthProbe> {
    Arc::new(DatabaseHealth::new(move || {
        let store = store.clone();
        async move { store.probe().await }
    }))
}

fn limits(config: &Config) -> ListenerLimits {
    ListenerLimits {
        header_timeout: config.limits.header_timeout(),
        keep_alive_timeout: config.limits.keep_alive_timeout(),
        drain_timeout: drain_timeout(config.limits.shutdown_timeout()),
        connections_max: config.limits.connections_max(),
        connections_per_address: config.limits.connections_per_address(),
        body_rate: BodyRate::default(),
        write_timeout: WRITE_TIMEOUT,
        refusals: REFUSALS,
    }
}

fn metrics_server(config: &Config, background: &mut TaskSet) -> anyhow::Result<Option<MetricsServer>> {
    let address = config.observing.metrics_listen;
    Ok(address.map(|address| MetricsServer::start(address, limits(config), background)).transpose()?)
}

async fn serve_metrics(metrics: Option<MetricsServer>, stopping: CancellationToken) {
    if let Some(metrics) = metrics {
        metrics.serve(stopping).await;
    }
}

/// A poll waits for up to a minute: connections that drain shall not wait for it.
async fn end_polls(polls: &Polls, stopping: &CancellationToken) {
    stopping.cancelled().await;
    polls.stop();
}

/// Any number of nodes may do it at once: a message goes out by the one that takes it first.
async fn deliver(chat: Chat) {
    let mut tick = tokio::time::interval(DELIVERY_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        while chat.send_due().await {}
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
async fn sweep(store: Arc<Store>, event_queue_timeout_s: i64) {
    let mut tick = tokio::time::interval(SWEEP_INTERVAL);
    loop {
        tick.tick().await;
        let now_s = SystemRuntime.now_s();
        if !is_in_time(store.ahead_of_database_s(now_s).await) {
            continue;
        }
        match store.expire(now_s).await {
            Ok(queues) => tracing::debug!(queues, "queues without a client were deleted"),
            Err(error) => tracing::error!(%error, "queues without a client cannot be deleted"),
        }
        match retention::expire(store.as_ref(), now_s).await {
            Ok(messages) => tracing::debug!(messages, "old messages were deleted"),
            Err(error) => tracing::error!(%error, "old messages cannot be deleted"),
        }
        match store.prune(now_s - event_queue_timeout_s - LOG_MARGIN_S).await {
            Ok(events) => tracing::debug!(events, "old events were deleted"),
            Err(error) => tracing::error!(%error, "old events cannot be deleted"),
        }
        match store.forget_sent_before(now_s - SENT_KEPT_S).await {
            Ok(sent) => tracing::debug!(sent, "what telephones were told of long ago was forgotten"),
            Err(error) => tracing::error!(%error, "what telephones were told of long ago cannot be forgotten"),
        }
    }
}

#[cfg(test)]
mod tests;
