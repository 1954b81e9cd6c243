//! A server in process: a clock that stands still, two accounts, and endpoints that show what reached them.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::RealmStore as _;
use chat_core::files::{FileKey, FileReader, FileStore, FileStoreError};
use chat_core::id::{EventId, UserId};
use chat_core::model::realm::{Realm, RealmPermissionSettings};
use chat_core::model::realm_change::RealmChange;
use chat_core::model::role::Role;
use chat_core::model::user::{ApiKey, BotKind, BotProperties, PasswordHash, User};
use chat_storage::{ChatDatabase, ChatStore};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

use crate::api_call::{Anonymous, ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::{ApiError, InternalError};
use crate::params::{EndpointParams, JsonParam, ParamError, ParamReader, TextParam, TrimmedTextParam};
use crate::router::{ChatService, operations, with_middleware};
use crate::state::{
    ApiSettings, App, AppState, BaseComponents, BrowserComponents, ChatComponents, ClockAndRandomness,
    InvitationComponents, PasswordHashing, PushComponents, ServerState, UploadSettings,
};

pub(super) const NOW_S: i64 = 1_700_000_000;
pub(super) const IAGO: &str = "iago@example.com";
pub(super) const IAGO_KEY: &str = "iagoiagoiagoiagoiagoiagoiagoiago";
pub(super) const BOT: &str = "bot@example.com";
pub(super) const BOT_KEY: &str = "b0tb0tb0tb0tb0tb0tb0tb0tb0tb0tb0";
pub(super) const GONE: &str = "gone@example.com";
pub(super) const GONE_KEY: &str = "gonegonegonegonegonegonegonegone";
pub(super) const HOOK: &str = "hook@example.com";
pub(super) const HOOK_KEY: &str = "hookhookhookhookhookhookhookhook";

pub(super) struct TestRouter {
    router: ChatService,
    clock: Arc<FixedClock>,
    _folder: TempDir,
}

pub(super) struct FixedClock {
    now_us: AtomicI64,
    ids: AtomicU64,
}

impl FixedClock {
    pub(super) fn new() -> Self {
        Self { now_us: AtomicI64::new(NOW_S * 1_000_000), ids: AtomicU64::new(1) }
    }
}

impl FixedClock {
    /// Sets the clock forward or back.
    pub(super) fn turn_s(&self, seconds: i64) {
        self.now_us.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }
}

impl ClockAndRandomness for FixedClock {
    fn now_us(&self) -> i64 {
        self.now_us.load(Ordering::SeqCst)
    }

    fn random_id(&self) -> u128 {
        self.ids.fetch_add(1, Ordering::SeqCst).into()
    }

    fn random_bytes(&self) -> [u8; 64] {
        [u8::try_from(self.ids.fetch_add(1, Ordering::SeqCst) % 200).unwrap(); 64]
    }
}

/// Passwords that are their own hashes.
struct PlainTextPasswords;

#[async_trait]
impl PasswordHashing for PlainTextPasswords {
    async fn hash(&self, password: String) -> Result<PasswordHash, InternalError> {
        Ok(PasswordHash(password))
    }

    async fn verify_password(&self, password: String, hash: Option<PasswordHash>) -> Result<bool, InternalError> {
        Ok(hash.is_some_and(|hash| hash.0 == password))
    }
}

/// A realm of people and bots, each with a key of the letters before the `@`.
async fn accounts(store: &ChatStore, is_deactivated: bool) {
    let realm = Realm {
        name: "Example".to_owned(),
        description: "Ours".to_owned(),
        created_s: NOW_S,
        is_deactivated,
        rules: RealmPermissionSettings::default(),
        images: chat_core::model::organization_image::OrganizationImageUrls::default(),
    };
    let mut commit = RealmCommit { decided_at: EventId::BEFORE_FIRST, at_s: NOW_S, ..RealmCommit::default() };
    commit.changes.push(RealmChange::Realm(Box::new(realm)));
    let bot = |kind| Some(BotProperties { kind, owner_id: Some(UserId(7)) });
    let people = [
        (7, IAGO, IAGO_KEY, None),
        (8, BOT, BOT_KEY, bot(BotKind::Generic)),
        (9, GONE, GONE_KEY, None),
        (10, HOOK, HOOK_KEY, bot(BotKind::IncomingWebhook)),
    ];
    for (id, email, key, bot) in people {
        let user = User {
            id: UserId(id),
            email: email.to_owned(),
            full_name: email.to_owned(),
            role: Role::Member,
            is_active: email != GONE,
            joined_s: NOW_S,
            bot,
            timezone: String::new(),
            avatar_url: None,
            avatar_version: 1,
            address_visibility: chat_core::model::email_address_visibility::EmailAddressVisibility::default(),
        };
        commit.changes.push(RealmChange::User(Box::new(user)));
        commit.set_api_key(&store.snapshot(), UserId(id), ApiKey::parse(key).unwrap());
    }
    assert!(matches!(store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
}

pub(super) struct Health(pub(super) bool);

#[async_trait]
impl server_kit::health::HealthProbe for Health {
    async fn is_healthy(&self) -> bool {
        self.0
    }
}

struct Example {
    topic: Option<String>,
    to: Option<Vec<i64>>,
    word: String,
}

impl EndpointParams for Example {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            topic: reader.optional_with_alias::<TrimmedTextParam>(["topic", "subject"])?,
            to: reader.optional::<JsonParam<Vec<i64>>>("to")?,
            word: reader.required::<TextParam>("word")?,
        })
    }
}

async fn show(call: ApiCall<AuthenticatedCaller>, params: Example) -> Result<ApiResponsePayload, ApiError> {
    let files: Vec<_> = call.files.iter().map(|file| format!("{}={}", file.field_name, file.content.len())).collect();
    ApiResponsePayload::from_payload(&json!({
        "user": call.caller.user_id().0, "client": call.client_name(), "files": files,
        "topic": params.topic, "to": params.to, "word": params.word,
    }))
}

async fn deleted(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    ApiResponsePayload::from_payload(&json!({"deleted": call.path_id("id")?, "name": call.path_text("name")?}))
}

async fn open(_: ApiCall<Anonymous>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    Ok(ApiResponsePayload::empty())
}

async fn panics(_: ApiCall<Anonymous>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    panic!("the secret plan")
}

async fn fails(_: ApiCall<Anonymous>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    Err(InternalError::new("a row was not written", "disk full").into())
}

fn examples() -> Router<App> {
    Router::new()
        .route("/api/v1/example", get(endpoint(show)).post(endpoint(show)).patch(endpoint(show)))
        .route("/api/v1/example/{id}/{name}", axum::routing::delete(endpoint(deleted)))
        .route("/api/v1/open", get(endpoint(open)))
        .route("/api/v1/panics", get(endpoint(panics)))
        .route("/api/v1/fails", post(endpoint(fails)))
}

pub(super) fn parts() -> BaseComponents {
    BaseComponents {
        runtime: Arc::new(FixedClock::new()),
        health: Arc::new(Health(true)),
        rate_limit_per_ip: 0,
        version: "1.2.3".to_owned(),
    }
}

/// A domain on a database of its own, which goes with the folder.
pub(super) async fn domain(is_deactivated: bool) -> (ChatComponents, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let db = ChatDatabase::open_and_migrate(None, folder.path(), 2).await.unwrap();
    let store = Arc::new(ChatStore::start_without_secret(db).await.unwrap());
    accounts(&store, is_deactivated).await;
    let settings = ApiSettings {
        base_url: "https://chat.example.com".to_owned(),
        max_body_bytes: 3 * 1024 * 1024,
        rate_limit_per_user: 0,
        brand: "zulip".to_owned(),
        event_queue_timeout_s: 86_400,
        development_login: false,
        uploads: UploadSettings { max_bytes: 2 * 1024 * 1024, quota_bytes: None, spool_dir: folder.path().to_owned() },
    };
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
        files: Arc::new(NoFiles),
        attachments: Arc::<ChatStore>::clone(&store),
        resumable: Arc::<ChatStore>::clone(&store),
        exports: Arc::<ChatStore>::clone(&store),
        polls: Arc::default(),
        passwords: Arc::new(PlainTextPasswords),
        invitations: InvitationComponents { links: Arc::<ChatStore>::clone(&store), validity_min: 1, per_day: 1 },
        push: PushComponents { devices: store, bouncer: None },
        browser: BrowserComponents { session_lifetime_s: 86_400, setup_code: None, client: None },
        settings,
    };
    (domain, folder)
}

/// A store of files without any.
struct NoFiles;

#[async_trait]
impl FileStore for NoFiles {
    async fn put_bytes(&self, _: &FileKey, _: Bytes) -> Result<(), FileStoreError> {
        Err(FileStoreError("no room".into()))
    }

    async fn put_file(&self, _: &FileKey, _: std::fs::File) -> Result<(), FileStoreError> {
        Err(FileStoreError("no room".into()))
    }

    async fn open(&self, _: &FileKey, _: Option<Range<u64>>) -> Result<Option<Box<dyn FileReader>>, FileStoreError> {
        Ok(None)
    }

    async fn delete(&self, _: &FileKey) -> Result<(), FileStoreError> {
        Ok(())
    }
}

impl TestRouter {
    /// Returns the examples, with a change of what the server is made of.
    pub(super) async fn with(change: impl FnOnce(&mut BaseComponents, &mut ChatComponents)) -> Self {
        let (domain, folder) = domain(false).await;
        Self::over(domain, folder, change)
    }

    /// Returns the examples of an organization that was closed.
    pub(super) async fn closed() -> Self {
        let (domain, folder) = domain(true).await;
        Self::over(domain, folder, |_, _| {})
    }

    fn over(
        mut domain: ChatComponents,
        folder: TempDir,
        change: impl FnOnce(&mut BaseComponents, &mut ChatComponents),
    ) -> Self {
        let mut parts = parts();
        change(&mut parts, &mut domain);
        let clock = Arc::new(FixedClock::new());
        parts.runtime = Arc::<FixedClock>::clone(&clock);
        let server = Arc::new(ServerState::new(parts));
        let app = Arc::new(AppState::new(&server, domain));
        let routes = operations(&server).merge(examples().with_state(app));
        Self { router: with_middleware(routes, &server), clock, _folder: folder }
    }

    /// Returns the examples without limits of rate.
    pub(super) async fn new() -> Self {
        Self::with(|_, _| {}).await
    }

    pub(super) fn wait_ms(&self, ms: i64) {
        self.clock.now_us.fetch_add(ms * 1000, Ordering::SeqCst);
    }

    pub(super) fn call(&self, method: &str, path: &str) -> TestRequest<'_> {
        TestRequest::of(&self.router, method, path)
    }
}

/// A request being put together.
pub(super) struct TestRequest<'a> {
    router: &'a ChatService,
    request: Request<Body>,
}

impl<'a> TestRequest<'a> {
    pub(super) fn of(router: &'a ChatService, method: &str, path: &str) -> Self {
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        Self { router, request }
    }

    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.request.headers_mut().append(name, value.parse().unwrap());
        self
    }

    pub(super) fn basic(self, email: &str, key: &str) -> Self {
        self.header("authorization", &format!("Basic {}", STANDARD.encode(format!("{email}:{key}"))))
    }

    pub(super) fn iago(self) -> Self {
        self.basic(IAGO, IAGO_KEY)
    }

    pub(super) fn from(mut self, address: &str) -> Self {
        let peer: SocketAddr = address.parse().unwrap();
        self.request.extensions_mut().insert(ConnectInfo(peer));
        self
    }

    pub(super) fn body(mut self, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let body: Vec<u8> = body.into();
        let length = body.len().to_string();
        *self.request.body_mut() = Body::from(body);
        self.header("content-type", media_type).header("content-length", &length)
    }

    pub(super) fn form(self, form: &str) -> Self {
        self.body("application/x-www-form-urlencoded", form)
    }

    /// The same request with a body that does not say its size.
    pub(super) fn unannounce(&mut self, body: Body) {
        self.request.headers_mut().remove("content-length");
        *self.request.body_mut() = body;
    }

    pub(super) async fn send(self) -> TestResponse {
        let (head, body) = self.router.clone().oneshot(self.request).await.unwrap().into_parts();
        let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        TestResponse { status: head.status, headers: head.headers, body }
    }
}

/// An answer.
pub(super) struct TestResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

impl TestResponse {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Status, code and text of an error, which must be in the envelope.
    pub(super) fn error(&self) -> (u16, &str, &str) {
        assert_eq!(self.body["result"], "error", "{}", self.body);
        assert_eq!(self.header("content-type"), "application/json");
        (self.status.as_u16(), self.body["code"].as_str().unwrap(), self.body["msg"].as_str().unwrap())
    }

    /// Returns the body of a success.
    pub(super) fn success(&self) -> &Value {
        assert_eq!((self.status.as_u16(), &self.body["result"]), (200, &json!("success")), "{}", self.body);
        assert_eq!((self.header("content-type"), &self.body["msg"]), ("application/json", &json!("")));
        &self.body
    }
}
