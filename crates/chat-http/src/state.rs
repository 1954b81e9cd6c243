//! What the wire is given: time, chance, settings, and the domain's ports.

use std::cell::Cell;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use attempt_limits::password_attempt_limits::{AttemptLimitExceeded, AttemptLimiter};
use axum::response::Response;
use chat_core::event_log::decision_queue::RealmDecisionQueue;
use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::event_log::store::{EventLog, EventQueueStore, RealmStore};
use chat_core::files::{AttachmentStore, FileStore, ResumableUploadStore, ResumableUploads, UploadStorage};
use chat_core::id::UserId;
use chat_core::import_export::export::ExportStore;
use chat_core::messages::draft::DraftStore;
use chat_core::messages::reminders::ReminderStore;
use chat_core::messages::scheduled::ScheduledMessageStore;
use chat_core::messages::store::MessageStore;
use chat_core::messages::widget::SubmessageStore;
use chat_core::messages::workflow_context::MessageWorkflowContext;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::render_context::RenderContextCache;
use chat_core::model::user::{ApiKey, PasswordHash};
use chat_core::people::bots::BotStorage;
use chat_core::people::invitation::ReusableInvitationStore;
use chat_core::people::password_attempts;
use chat_core::people::presence::PresenceStore;
use chat_core::people::typing_notifications::TypingFeed;
use chat_core::push_notifications::{PushService, PushStore};
use http::HeaderMap;
use server_kit::health::{CachedHealthProbe, HealthProbe};
use server_kit::middleware::request_id::RequestIdGenerator;
use subtle::ConstantTimeEq as _;

use crate::error::{ApiError, InternalError};
use crate::image_jobs::JobPool;
use crate::polls::RunningPolls;
use crate::rate::{RateLimitExceededError, RequestLimiter};
use crate::traffic::ChannelTraffic;

/// The components that the server needs even without a chat domain: clock, health probe, rate limit and version.
#[derive(Clone)]
pub struct BaseComponents {
    /// Time and chance.
    pub runtime: Arc<dyn ClockAndRandomness>,
    /// Whether the server can do its work right now.
    pub health: Arc<dyn HealthProbe>,
    /// Requests a minute of each address that come without an account; 0 is no limit.
    pub rate_limit_per_ip: u32,
    /// Version of the server.
    pub version: String,
}

/// The components of the chat domain: its stores, services and settings.
#[derive(Clone)]
pub struct ChatComponents {
    /// The realm's state.
    pub realm: Arc<dyn RealmStore>,
    /// The realm's log.
    pub log: Arc<dyn EventLog>,
    /// The queues.
    pub queues: Arc<dyn EventQueueStore>,
    /// The messages.
    pub messages: Arc<dyn MessageStore>,
    /// Who is there.
    pub presences: Arc<dyn PresenceStore>,
    /// What readers add to messages.
    pub widgets: Arc<dyn SubmessageStore>,
    /// The drafts.
    pub drafts: Arc<dyn DraftStore>,
    /// Messages that wait for their time.
    pub scheduled: Arc<dyn ScheduledMessageStore>,
    /// Reminders that wait for their time.
    pub reminders: Arc<dyn ReminderStore>,
    /// Who is typing.
    pub typing: Arc<dyn TypingFeed>,
    /// What programs of bots keep.
    pub bot_storage: Arc<dyn BotStorage>,
    /// The bytes of files.
    pub files: Arc<dyn FileStore>,
    /// The uploads.
    pub attachments: Arc<dyn AttachmentStore>,
    /// The uploads that are not whole yet.
    pub resumable: Arc<dyn ResumableUploadStore>,
    /// What exports read.
    pub exports: Arc<dyn ExportStore>,
    /// The polls that run here, so that they can be ended when the server stops.
    pub polls: Arc<RunningPolls>,
    /// Hashes passwords.
    pub passwords: Arc<dyn PasswordHashing>,
    /// What invitations need.
    pub invitations: InvitationComponents,
    /// Who notifies telephones.
    pub push: PushComponents,
    /// What browsers are given.
    pub browser: BrowserComponents,
    /// What the deployment chose.
    pub settings: ApiSettings,
}

/// The components of invitations: link store, validity and daily limit.
#[derive(Clone)]
pub struct InvitationComponents {
    /// The secrets of links that are shown again.
    pub links: Arc<dyn ReusableInvitationStore>,
    /// Minutes for which an invitation holds when nothing is said.
    pub validity_min: i64,
    /// Letters of invitation that may be sent in 24 hours.
    pub per_day: usize,
}

/// The components of push notifications: device store and push service.
#[derive(Clone)]
pub struct PushComponents {
    /// The devices.
    pub devices: Arc<dyn PushStore>,
    /// The service that notifies them, when there is one.
    pub bouncer: Option<Arc<dyn PushService>>,
}

/// The components for browsers: session lifetime, setup code and web client.
#[derive(Clone)]
pub struct BrowserComponents {
    /// Seconds without use after which a browser is signed out.
    pub session_lifetime_s: i64,
    /// The code that the first organization is made with; `None` where pages make none.
    pub setup_code: Option<OrganizationSetupCode>,
    /// The client that signed-in browsers are served; without one `/` is a page that names the apps.
    pub client: Option<Arc<dyn WebClientFiles>>,
}

/// The setup code that an operator copies from the log to create the first organization on a page.
#[derive(Clone)]
pub struct OrganizationSetupCode(String);

impl OrganizationSetupCode {
    /// Letters and digits of a code: 95 bits.
    const LENGTH: usize = 16;

    /// Creates a setup code from random letters.
    #[must_use]
    pub fn from_random_letters(letters: &ApiKey) -> Self {
        Self(letters.expose().chars().take(Self::LENGTH).collect())
    }

    /// Returns the setup code in clear, for the log line that the operator reads.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns whether a text is the code. Takes as long wherever they differ.
    pub(crate) fn matches(&self, typed: &str) -> bool {
        self.0.as_bytes().ct_eq(typed.trim().as_bytes()).into()
    }
}

impl fmt::Debug for OrganizationSetupCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SetupCode(…)")
    }
}

/// The files of the web client that browsers are served.
pub trait WebClientFiles: Send + Sync {
    /// Returns the response with the page that starts the web client, for a request with these headers.
    fn serve_start_page(&self, headers: &HeaderMap) -> Response;

    /// Returns the response with a file of the web client by its name below `/static/web/`; `None` when there is none
    /// of that name.
    fn serve_file(&self, name: &str, headers: &HeaderMap) -> Option<Response>;
}

/// Hashes and verifies passwords, where that may take its time.
#[async_trait]
pub trait PasswordHashing: Send + Sync {
    /// Returns the hash of a new password.
    ///
    /// # Errors
    /// When the hasher failed.
    async fn hash(&self, password: String) -> Result<PasswordHash, InternalError>;

    /// Returns whether `password` is the password of `hash`. `None`, for an account without one or none at all, takes
    /// as long and is `false`, so that the time reveals nothing.
    ///
    /// # Errors
    /// When the hasher failed.
    async fn verify_password(&self, password: String, hash: Option<PasswordHash>) -> Result<bool, InternalError>;
}

/// The clock and the source of randomness.
pub trait ClockAndRandomness: Send + Sync {
    /// Returns the current time in microseconds since the UNIX epoch.
    fn now_us(&self) -> i64;
    /// Returns 128 random bits, for request ids and for what is spread by chance.
    fn random_id(&self) -> u128;
    /// Returns 64 cryptographically random bytes, for secrets.
    fn random_bytes(&self) -> [u8; 64];
}

/// The settings of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiSettings {
    /// Canonical address of the server, without a trailing slash.
    pub base_url: String,
    /// Largest request body taken, in bytes; a larger one is answered 413. Bodies without files have a bound of
    /// their own, [`crate::limits::FILELESS_BODY_MAX_BYTES`], when that is smaller.
    pub max_body_bytes: usize,
    /// Requests a minute of each account; 0 is no limit.
    pub rate_limit_per_user: u32,
    /// The word that existing clients find in the names of the version fields; empty sends none of those.
    pub brand: String,
    /// Seconds without its client after which a queue goes.
    pub event_queue_timeout_s: i64,
    /// How large uploads may be.
    pub uploads: UploadSettings,
    /// Whether a client that names an account gets its key without a password, for development.
    pub development_login: bool,
}

/// The settings of uploads: size limit, quota and spool directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadSettings {
    /// Largest file, in bytes: whole MiB.
    pub max_bytes: usize,
    /// Bytes of all uploads together; `None` for as many as there is room for.
    pub quota_bytes: Option<i64>,
    /// A folder for files that come. They have no names there, and go with the process.
    pub spool_dir: PathBuf,
}

/// Bytes of a MiB.
const MIB: usize = 1024 * 1024;

impl UploadSettings {
    /// Returns the largest file in MiB, as responses have it.
    pub(crate) fn max_mib(&self) -> usize {
        self.max_bytes / MIB
    }

    /// MiB of all uploads together, rounded down.
    pub(crate) fn quota_mib(&self) -> Option<i64> {
        self.quota_bytes.map(|bytes| bytes >> 20)
    }
}

/// The state that all routes share, with or without a domain.
pub(crate) struct ServerState {
    pub(crate) runtime: Arc<dyn ClockAndRandomness>,
    pub(crate) names: RequestIdGenerator,
    pub(crate) health: CachedHealthProbe,
    pub(crate) version: String,
    /// When this process started, in unix seconds: clients compare it to learn that a server was started again.
    pub(crate) generation: i64,
    pub(crate) by_address: RequestLimiter<Option<IpAddr>>,
}

impl ServerState {
    pub(crate) fn new(parts: BaseComponents) -> Self {
        let BaseComponents { runtime, health, rate_limit_per_ip, version } = parts;
        let by_address = RequestLimiter::new(rate_limit_per_ip, Arc::clone(&runtime));
        let names = RequestIdGenerator::new(runtime.random_id());
        let generation = runtime.now_us().div_euclid(1_000_000);
        Self { by_address, runtime, names, health: CachedHealthProbe::new(health), version, generation }
    }
}

tokio::task_local! {
    /// Whether the request that this task answers has changed the realm.
    static HAS_WRITTEN: Cell<bool>;
}

/// Answers a request, and says whether the realm was changed for it.
pub(crate) async fn noting_writes<T>(answer: impl Future<Output = T>) -> (T, bool) {
    let noted = async {
        let answered = answer.await;
        (answered, HAS_WRITTEN.with(Cell::get))
    };
    HAS_WRITTEN.scope(Cell::new(false), noted).await
}

/// The state of the API's endpoints.
pub(crate) struct AppState {
    pub(crate) server: Arc<ServerState>,
    pub(crate) realm: Arc<dyn RealmStore>,
    pub(crate) log: Arc<dyn EventLog>,
    pub(crate) queues: Arc<dyn EventQueueStore>,
    pub(crate) messages: Arc<dyn MessageStore>,
    pub(crate) presences: Arc<dyn PresenceStore>,
    pub(crate) widgets: Arc<dyn SubmessageStore>,
    pub(crate) drafts: Arc<dyn DraftStore>,
    pub(crate) scheduled: Arc<dyn ScheduledMessageStore>,
    pub(crate) reminders: Arc<dyn ReminderStore>,
    pub(crate) typing: Arc<dyn TypingFeed>,
    pub(crate) bot_storage: Arc<dyn BotStorage>,
    pub(crate) files: Arc<dyn FileStore>,
    pub(crate) attachments: Arc<dyn AttachmentStore>,
    pub(crate) resumable: Arc<dyn ResumableUploadStore>,
    pub(crate) exports: Arc<dyn ExportStore>,
    pub(crate) image_jobs: JobPool,
    /// Where texts are compared with what is searched for, and marked. They are in memory already, so none is claimed.
    pub(crate) search_jobs: JobPool,
    /// Smaller pictures that were not made when the file came are made one after the other.
    pub(crate) thumbnails: tokio::sync::Mutex<()>,
    pub(crate) passwords: Arc<dyn PasswordHashing>,
    pub(crate) invitations: InvitationComponents,
    pub(crate) push: PushComponents,
    pub(crate) browser: BrowserComponents,
    pub(crate) settings: ApiSettings,
    pub(crate) by_user: RequestLimiter<UserId>,
    pub(crate) polls: Arc<RunningPolls>,
    pub(crate) traffic: ChannelTraffic,
    pub(crate) attempts: AttemptLimiter,
    /// Letters for a forgotten password, counted as wrong passwords are, and apart from them.
    pub(crate) password_resets: AttemptLimiter,
    decisions: RealmDecisionQueue,
    pub(crate) render_contexts: RenderContextCache,
}

impl AppState {
    pub(crate) fn new(server: &Arc<ServerState>, domain: ChatComponents) -> Self {
        let ChatComponents {
            realm,
            log,
            queues,
            messages,
            presences,
            widgets,
            drafts,
            scheduled,
            reminders,
            typing,
            polls,
            bot_storage,
            files,
            attachments,
            resumable,
            exports,
            passwords,
            invitations,
            push,
            browser,
            settings,
        } = domain;
        let mut secret = [0; 32];
        secret.iter_mut().zip(server.runtime.random_bytes()).for_each(|(byte, random)| *byte = random);
        let by_user = RequestLimiter::new(settings.rate_limit_per_user, Arc::clone(&server.runtime));
        Self {
            server: Arc::clone(server),
            realm,
            log,
            queues,
            messages,
            presences,
            widgets,
            drafts,
            scheduled,
            reminders,
            typing,
            bot_storage,
            files,
            attachments,
            resumable,
            exports,
            image_jobs: JobPool::default(),
            search_jobs: JobPool::default(),
            thumbnails: tokio::sync::Mutex::new(()),
            passwords,
            invitations,
            push,
            browser,
            settings,
            by_user,
            polls,
            traffic: ChannelTraffic::default(),
            decisions: RealmDecisionQueue::default(),
            render_contexts: RenderContextCache::default(),
            attempts: AttemptLimiter::new(secret, password_attempts::PASSWORD_ATTEMPT_POLICY),
            password_resets: AttemptLimiter::new(secret, password_attempts::PASSWORD_ATTEMPT_POLICY),
        }
    }

    /// Returns the realm as this node knows it.
    pub(crate) fn realm(&self) -> Arc<RealmSnapshot> {
        self.realm.snapshot()
    }

    /// Makes sure that a caller the realm lets in was not shut out by another node more than a moment ago. Costs
    /// nothing as long as the database answers the node in time.
    pub(crate) async fn ensure_current(&self) -> Result<(), ApiError> {
        if self.realm.is_realm_current() { Ok(()) } else { Ok(self.realm.refresh_realm().await?) }
    }

    /// Now, in unix seconds.
    pub(crate) fn now_s(&self) -> i64 {
        self.server.runtime.now_us().div_euclid(1_000_000)
    }

    /// Returns the ports of the workflows of messages.
    pub(crate) fn message_ports(&self) -> MessageWorkflowContext<'_> {
        MessageWorkflowContext {
            realm: self.realm.as_ref(),
            log: self.log.as_ref(),
            decisions: &self.decisions,
            messages: self.messages.as_ref(),
            attachments: self.attachments.as_ref(),
            render_contexts: &self.render_contexts,
            realm_url: &self.settings.base_url,
            now_s: self.now_s(),
        }
    }

    /// Returns the stores of uploads.
    pub(crate) fn upload_storage(&self) -> UploadStorage<'_> {
        let quota_bytes = self.settings.uploads.quota_bytes;
        UploadStorage { files: self.files.as_ref(), attachments: self.attachments.as_ref(), quota_bytes }
    }

    /// Returns the stores of uploads that are not whole yet.
    pub(crate) fn resumable_uploads(&self) -> ResumableUploads<'_> {
        ResumableUploads { files: self.files.as_ref(), store: self.resumable.as_ref() }
    }

    /// Returns the error for too many attempts at a password.
    pub(crate) fn exceeded(&self, held: AttemptLimitExceeded) -> RateLimitExceededError {
        RateLimitExceededError::of_attempts(held, self.server.runtime.now_us())
    }

    /// A name nobody has guessed: 32 hexadecimal digits.
    pub(crate) fn fresh_name(&self) -> String {
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(self.server.runtime.random_bytes()).for_each(|(byte, random)| *byte = random);
        uuid::Builder::from_random_bytes(bytes).into_uuid().simple().to_string()
    }

    /// A key nobody has.
    pub(crate) fn fresh_key(&self) -> Result<ApiKey, ApiError> {
        let key = (0..3).find_map(|_| ApiKey::from_random(&self.server.runtime.random_bytes()));
        key.ok_or_else(|| InternalError::without_cause("no key could be made of the random bytes").into())
    }

    /// Takes a decision on the newest realm and commits it, as [`RealmDecisionQueue::decide_and_commit`] does, and
    /// notes for the request that something was written.
    pub(crate) async fn commit<T>(
        &self,
        decide: impl Fn(&RealmSnapshot, &mut RealmCommit) -> Result<T, ApiError> + Send + Sync,
    ) -> Result<T, ApiError> {
        let committed = self.decisions.decide_and_commit(self.realm.as_ref(), self.now_s(), decide).await?;
        if committed.is_written {
            // Outside of a request nothing needs to know.
            let _ = HAS_WRITTEN.try_with(|written| written.set(true));
        }
        Ok(committed.outcome)
    }
}

/// The state as handlers extract it.
pub(crate) type App = Arc<AppState>;
