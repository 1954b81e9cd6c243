//! A chat server in process, over a database of its own: the clock stands still, and people have names.

mod fakes;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::RealmStore as _;
use chat_core::id::UserId;
use chat_core::model::realm_change::RealmChange;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::role::Role;
use chat_core::model::user::{ApiKey, PasswordHash, User};
use chat_core::organization::founding::{NewRealm, found_realm};
use chat_core::people::invitation::DEFAULT_INVITATION_VALIDITY_MINUTES;
use chat_core::push_notifications::PushService;
use chat_http::{
    ApiSettings, BaseComponents, BrowserComponents, ChatComponents, ChatService, InvitationComponents, LongPollSignal,
    OrganizationSetupCode, PushComponents, RepollableRequest, UploadSettings, WebClientFiles, build_chat_service,
};
use chat_storage::ChatStore;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt as _;

use self::fakes::{Client, Clock, Healthy, PlainTextPasswords};
use crate::document;
use crate::engine::{self, Database};
use crate::file_store::{BOUNDARY, MemoryFileStore};

/// When the test app is, in unix seconds.
pub(crate) const NOW_S: i64 = 1_800_000_000;

/// Seconds without use after which a browser is signed out.
pub(crate) const SESSION_LIFETIME_S: i64 = 30 * 86_400;

/// Letters of invitation that may be sent in a day.
pub(crate) const INVITATIONS_PER_DAY: usize = 10;

/// A server, and the people who were there before the test began.
pub(crate) struct TestApp {
    /// The database, to look past the wire.
    pub(crate) store: Arc<ChatStore>,
    /// The owner, number 9: `ada@example.org`, subscribed to `general` and `sandbox`. Her password is `ada's`.
    pub(crate) ada: Person,
    /// The files, to look past the wire.
    pub(crate) files: Arc<MemoryFileStore>,
    clock: Arc<Clock>,
    router: ChatService,
    folder: TempDir,
    database: Option<Database>,
    browser: BrowserComponents,
}

/// What differs between test apps.
#[derive(Default)]
struct AppOptions {
    /// Requests a minute of an account; 0 is no limit.
    per_minute: u32,
    /// Bytes of all uploads together.
    quota_bytes: Option<i64>,
    /// Who notifies telephones.
    bouncer: Option<Arc<dyn PushService>>,
    /// Whether keys are given without passwords.
    development_login: bool,
    /// Whether browsers are served a client.
    has_client: bool,
    /// Whether there is no organization yet; [`TestApp::setup_code`] makes one.
    is_empty: bool,
    /// The server's own bots of the organization.
    system_bots: SystemBots,
}

/// The server's own bots, which send notices, that an organization begins with.
#[derive(Default, PartialEq, Eq)]
enum SystemBots {
    /// None, as one that an earlier version founded: tests count the messages of people alone.
    #[default]
    None,
    /// All, as a new one.
    All,
}

/// Someone with an account, or nobody.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    /// Their number.
    pub(crate) id: i64,
    /// Their address.
    pub(crate) email: String,
    /// Their key.
    pub(crate) key: String,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct TestResponse {
    /// Its status.
    pub(crate) status: StatusCode,
    /// Its body; null when that is no JSON.
    pub(crate) body: Value,
}

impl TestResponse {
    /// The body of a success.
    #[track_caller]
    pub(crate) fn success(self) -> Value {
        assert_eq!((self.status.as_u16(), self.body["result"].as_str()), (200, Some("success")), "{}", self.body);
        self.body
    }

    /// Status, code and text of a refusal.
    #[track_caller]
    pub(crate) fn error(&self) -> (u16, &str, &str) {
        assert_eq!(self.body["result"], "error", "{}", self.body);
        let text = |key: &str| self.body[key].as_str().unwrap();
        (self.status.as_u16(), text("code"), text("msg"))
    }

    /// Asserts a refusal with 400 and `BAD_REQUEST`.
    #[track_caller]
    pub(crate) fn refused(&self, text: &str) {
        assert_eq!(self.error(), (400, "BAD_REQUEST", text));
    }
}

impl TestApp {
    /// A realm with its owner.
    pub(crate) async fn found() -> Self {
        Self::allowing(0).await
    }

    /// The same where an account has so many requests a minute.
    pub(crate) async fn allowing(per_minute: u32) -> Self {
        Self::with(AppOptions { per_minute, ..AppOptions::default() }).await
    }

    /// The same where all uploads together have so many bytes.
    pub(crate) async fn with_quota(bytes: i64) -> Self {
        Self::with(AppOptions { quota_bytes: Some(bytes), ..AppOptions::default() }).await
    }

    /// The same where telephones are notified by that bouncer.
    pub(crate) async fn with_bouncer(bouncer: Arc<dyn PushService>) -> Self {
        Self::with(AppOptions { bouncer: Some(bouncer), ..AppOptions::default() }).await
    }

    /// The same where developers are at work.
    pub(crate) async fn of_developers() -> Self {
        Self::with(AppOptions { development_login: true, ..AppOptions::default() }).await
    }

    /// The same with the server's own bots, numbers 12 and 13.
    pub(crate) async fn with_system_bots() -> Self {
        Self::with(AppOptions { system_bots: SystemBots::All, ..AppOptions::default() }).await
    }

    /// The same with a client for browsers.
    pub(crate) async fn with_client() -> Self {
        Self::with(AppOptions { has_client: true, ..AppOptions::default() }).await
    }

    /// A server without an organization, with a client for browsers.
    pub(crate) async fn empty() -> Self {
        Self::with(AppOptions { has_client: true, is_empty: true, ..AppOptions::default() }).await
    }

    async fn with(options: AppOptions) -> Self {
        let AppOptions { per_minute, quota_bytes, bouncer, development_login, has_client, is_empty, .. } = options;
        let folder = tempfile::tempdir().unwrap();
        let database = Database::with_schema().await;
        let store = Arc::new(engine::open(database.as_ref(), folder.path()).await);
        let clock = Arc::new(Clock { now_us: AtomicI64::new(NOW_S * 1_000_000), drawn: AtomicU64::new(1) });
        let key = ApiKey::from_random(&[7; 64]).unwrap();
        let founding = NewRealm {
            realm_name: "Example".to_owned(),
            email: "ada@example.org".to_owned(),
            full_name: "Ada Lovelace".to_owned(),
            password_hash: Some(PasswordHash("ada's".to_owned())),
            api_key: key.clone(),
            now_s: NOW_S - 1_000,
        };
        if !is_empty {
            let mut commit = found_realm(&store.snapshot(), founding);
            let is_system_bot =
                |change: &RealmChange| matches!(change, RealmChange::User(user) if user.is_system_bot());
            commit.changes.retain(|change| options.system_bots == SystemBots::All || !is_system_bot(change));
            assert!(matches!(store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
        }
        let ada = Person { id: 9, email: "ada@example.org".to_owned(), key: key.expose().to_owned() };
        let files = Arc::default();
        let spool_dir = folder.path().to_owned();
        let uploads = UploadSettings { max_bytes: 2 * 1024 * 1024, quota_bytes, spool_dir };
        let push = PushComponents { devices: Arc::<ChatStore>::clone(&store), bouncer };
        let browser = BrowserComponents {
            session_lifetime_s: SESSION_LIFETIME_S,
            setup_code: is_empty.then(|| OrganizationSetupCode::from_random_letters(&key)),
            client: has_client.then(|| Arc::new(Client) as Arc<dyn WebClientFiles>),
        };
        let given = ((per_minute, development_login), uploads, push);
        let router = start_router(&store, &files, &clock, given, browser.clone());
        Self { store, ada, files, clock, router, folder, database, browser }
    }

    /// One more node on the same database.
    pub(crate) async fn another_node(&self) -> Self {
        let store = engine::open(self.database.as_ref(), self.folder.path()).await;
        self.gone_to(store, tempfile::tempdir().unwrap())
    }

    /// Starts the server again on the same database, beside the one that runs.
    pub(crate) async fn restart(&self) {
        let uploads = UploadSettings { max_bytes: 0, quota_bytes: None, spool_dir: std::env::temp_dir() };
        let push = PushComponents { devices: Arc::<ChatStore>::clone(&self.store), bouncer: None };
        let given = ((0, false), uploads, push);
        let again = start_router(&self.store, &self.files, &self.clock, given, self.browser.clone());
        again.enqueue_restart_event().await;
    }

    /// The organization as it is in another database, whose folder that is. The files are where they were.
    pub(crate) fn gone_to(&self, store: ChatStore, folder: TempDir) -> Self {
        let (store, files, clock) = (Arc::new(store), Arc::clone(&self.files), Arc::clone(&self.clock));
        let spool_dir = folder.path().to_owned();
        let uploads = UploadSettings { max_bytes: 2 * 1024 * 1024, quota_bytes: None, spool_dir };
        let push = PushComponents { devices: Arc::<ChatStore>::clone(&store), bouncer: None };
        let browser = self.browser.clone();
        let router = start_router(&store, &files, &clock, ((0, false), uploads, push), browser.clone());
        Self { store, ada: self.ada.clone(), files, clock, router, folder, database: None, browser }
    }

    /// One more person, in no channel: `name@example.org`, of the full name `name`, without a password.
    pub(crate) async fn person(&self, name: &str, role: Role) -> Person {
        let realm = self.store.snapshot();
        let id = UserId(realm.nth_unused_id(1));
        let key = ApiKey::from_random(&[u8::try_from(id.0).unwrap(); 64]).unwrap();
        let email = format!("{name}@example.org");
        let user = User {
            id,
            email: email.clone(),
            full_name: name.to_owned(),
            role,
            is_active: true,
            joined_s: NOW_S - 1_000,
            bot: None,
            timezone: String::new(),
            avatar_url: None,
            avatar_version: 1,
            address_visibility: chat_core::model::email_address_visibility::EmailAddressVisibility::default(),
        };
        let mut commit = RealmCommit { decided_at: realm.changed_at(), at_s: NOW_S, ..RealmCommit::default() };
        commit.changes.push(RealmChange::User(Box::new(user)));
        commit.set_api_key(&realm, id, key.clone());
        assert!(matches!(self.store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
        Person { id: id.0, email, key: key.expose().to_owned() }
    }

    /// Whether the database is one that several nodes share.
    pub(crate) fn is_on_postgres(&self) -> bool {
        self.database.is_some()
    }

    /// The code of the first page.
    pub(crate) fn setup_code(&self) -> &str {
        self.browser.setup_code.as_ref().unwrap().expose()
    }

    /// The answer to a request as it is, with the bytes of its body.
    pub(crate) async fn respond(&self, request: Request<Body>) -> (StatusCode, HeaderMap, Vec<u8>) {
        let (head, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        (head.status, head.headers, body.collect().await.unwrap().to_bytes().to_vec())
    }

    /// The realm as it is.
    pub(crate) fn realm(&self) -> Arc<RealmSnapshot> {
        self.store.snapshot()
    }

    /// Sends what is due, as the server does every second.
    pub(crate) async fn send_due(&self) {
        while self.router.send_due_scheduled_messages().await {}
        while self.router.send_due_reminders().await {}
    }

    /// Deletes uploads that were abandoned, as the server does every minute.
    pub(crate) async fn end_abandoned_uploads(&self) {
        while self.router.end_abandoned_uploads().await {}
    }

    /// Lets time pass.
    pub(crate) fn wait_s(&self, seconds: i64) {
        self.clock.now_us.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    /// Calls `METHOD /path` below `/api/v1` as someone, with parameters in the query for GET and in a form otherwise.
    pub(crate) async fn call(&self, who: &Person, call: &str, parameters: &[(&str, &str)]) -> TestResponse {
        let basic = format!("Basic {}", STANDARD.encode(format!("{}:{}", who.email, who.key)));
        self.send(call, parameters, Some(&basic)).await
    }

    /// As [`TestApp::call`], by a program with this `User-Agent`.
    pub(crate) async fn call_by(
        &self,
        program: &str,
        who: &Person,
        (call, parameters): (&str, &[(&str, &str)]),
    ) -> TestResponse {
        let mut request = request(call, parameters, Some(&basic(who)));
        request.headers_mut().insert("user-agent", program.parse().unwrap());
        self.answer(request).await.1
    }

    /// Calls as someone with a form as it stands, or as it comes.
    pub(crate) async fn call_with_body(&self, who: &Person, call: &str, form: impl Into<Body>) -> TestResponse {
        let (method, path) = call.split_once(' ').unwrap();
        let request = Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header("authorization", format!("Basic {}", STANDARD.encode(format!("{}:{}", who.email, who.key))))
            .header("content-type", "application/x-www-form-urlencoded");
        self.answer(request.body(form.into()).unwrap()).await.1
    }

    /// Calls as someone with a form of [`crate::file_store::form`].
    pub(crate) async fn call_with_files(&self, who: &Person, call: &str, form: impl Into<Body>) -> TestResponse {
        let (method, path) = call.split_once(' ').unwrap();
        let request = Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header("authorization", basic(who))
            .header("content-type", format!("multipart/form-data; boundary={BOUNDARY}"));
        self.answer(request.body(form.into()).unwrap()).await.1
    }

    /// The same without credentials.
    pub(crate) async fn call_with_files_as_nobody(&self, call: &str, form: impl Into<Body>) -> TestResponse {
        let (method, path) = call.split_once(' ').unwrap();
        let request = Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header("content-type", format!("multipart/form-data; boundary={BOUNDARY}"));
        self.answer(request.body(form.into()).unwrap()).await.1
    }

    /// Fetches a file outside `/api/v1` with these headers: status, headers, and what is in it.
    pub(crate) async fn fetch_bytes(&self, path: &str, headers: &[(&str, &str)]) -> (u16, HeaderMap, Vec<u8>) {
        let request = headers.iter().fold(Request::get(path), |request, (name, value)| request.header(*name, *value));
        let answer = self.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let (head, body) = answer.into_parts();
        (head.status.as_u16(), head.headers, body.collect().await.unwrap().to_bytes().to_vec())
    }

    /// The same as someone.
    pub(crate) async fn fetch_as(&self, who: &Person, path: &str) -> (u16, HeaderMap, Vec<u8>) {
        self.fetch_bytes(path, &[("authorization", &basic(who))]).await
    }

    /// The same as someone, of these bytes alone.
    pub(crate) async fn fetch_range(&self, who: &Person, path: &str, range: &str) -> (u16, HeaderMap, Vec<u8>) {
        self.fetch_bytes(path, &[("authorization", &basic(who)), ("range", range)]).await
    }

    /// As [`TestApp::call`], without credentials.
    pub(crate) async fn call_as_nobody(&self, call: &str, parameters: &[(&str, &str)]) -> TestResponse {
        self.send(call, parameters, None).await
    }

    /// As [`TestApp::call_as_nobody`], from that address.
    pub(crate) async fn call_from(&self, from: &str, call: &str, parameters: &[(&str, &str)]) -> TestResponse {
        self.answer_from(from, call, parameters).await.1
    }

    /// As [`TestApp::call_from`], with the head of the answer.
    pub(crate) async fn answer_from(
        &self,
        from: &str,
        call: &str,
        parameters: &[(&str, &str)],
    ) -> (HeaderMap, TestResponse) {
        let mut request = request(call, parameters, None);
        request.extensions_mut().insert(ConnectInfo(SocketAddr::new(from.parse().unwrap(), 4000)));
        self.answer(request).await
    }

    /// Fetches a page outside `/api/v1` with these headers: status, headers, and the body when it is JSON.
    pub(crate) async fn fetch(&self, path: &str, headers: &[(&str, &str)]) -> (u16, HeaderMap, Value) {
        let request = headers.iter().fold(Request::get(path), |request, (name, value)| request.header(*name, *value));
        let answer = self.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let (head, body) = answer.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        (head.status.as_u16(), head.headers, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    /// Calls `METHOD /path` outside `/api/v1` as a browser does, with a form: status, headers, text.
    pub(crate) async fn browse(&self, call: &str, form: &[(&str, &str)]) -> (u16, HeaderMap, String) {
        let (method, path) = call.split_once(' ').unwrap();
        let fields = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let request = Request::builder().method(method).uri(path);
        let request = match method {
            "GET" => request.body(Body::empty()),
            _ => request.header("content-type", "application/x-www-form-urlencoded").body(Body::from(fields)),
        };
        let (head, body) = self.router.clone().oneshot(request.unwrap()).await.unwrap().into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        (head.status.as_u16(), head.headers, String::from_utf8(bytes.to_vec()).unwrap())
    }

    /// The answer to a GET of that path with these headers besides, and how it can be asked again.
    pub(crate) async fn repeatable(
        &self,
        who: &Person,
        path: &str,
        headers: &[(&str, &str)],
    ) -> (Response, Option<Arc<dyn RepollableRequest>>) {
        let basic = format!("Basic {}", STANDARD.encode(format!("{}:{}", who.email, who.key)));
        let with_key = [&[("authorization", basic.as_str())], headers].concat();
        self.asked(&format!("/api/v1{path}"), &with_key).await
    }

    /// The answer to a GET of that address with these headers, and how it can be asked again.
    pub(crate) async fn asked(
        &self,
        address: &str,
        headers: &[(&str, &str)],
    ) -> (Response, Option<Arc<dyn RepollableRequest>>) {
        let wait = LongPollSignal::default();
        let request = Request::get(address).extension(wait.clone());
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let answer = self.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        (answer, wait.offered_repoll().cloned())
    }

    async fn send(&self, call: &str, parameters: &[(&str, &str)], basic: Option<&str>) -> TestResponse {
        let response = self.answer(request(call, parameters, basic)).await.1;
        if response.status.is_success() {
            let names = parameters.iter().map(|(name, _)| *name).collect();
            document::of(self).await.check_ignored(call, names, &response.body);
        }
        response
    }

    /// What the server says of its API.
    pub(crate) async fn describe(&self) -> Value {
        self.fetch("/api/v1/openapi.json", &[]).await.2
    }

    /// Every answer is one that the API describes.
    async fn answer(&self, request: Request<Body>) -> (HeaderMap, TestResponse) {
        let call = format!("{} {}", request.method(), request.uri().path().trim_start_matches("/api/v1"));
        let (headers, response) = self.answer_unseen(request).await;
        document::of(self).await.check(&call, (response.status, &response.body));
        (headers, response)
    }

    async fn answer_unseen(&self, request: Request<Body>) -> (HeaderMap, TestResponse) {
        let (head, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        (head.headers, TestResponse { status: head.status, body })
    }
}

/// `METHOD /path` below `/api/v1`, with parameters in the query for GET and in a form otherwise.
fn request(call: &str, parameters: &[(&str, &str)], basic: Option<&str>) -> Request<Body> {
    let (method, path) = call.split_once(' ').unwrap();
    let fields = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    let in_query = method == "GET" && !fields.is_empty();
    let uri = if in_query { format!("/api/v1{path}?{fields}") } else { format!("/api/v1{path}") };
    let mut request = Request::builder().method(method).uri(uri).header("user-agent", "Test/1.0");
    if let Some(basic) = basic {
        request = request.header("authorization", basic);
    }
    let body = if method == "GET" {
        Body::empty()
    } else {
        request = request.header("content-type", "application/x-www-form-urlencoded");
        Body::from(fields)
    };
    request.body(body).unwrap()
}

/// What someone shows.
/// The call with these parameters in its address.
pub(crate) fn with_query(call: &str, parameters: &[(&str, &str)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    if query.is_empty() { call.to_owned() } else { format!("{call}?{query}") }
}

fn basic(who: &Person) -> String {
    format!("Basic {}", STANDARD.encode(format!("{}:{}", who.email, who.key)))
}

type AppSettings = ((u32, bool), UploadSettings, PushComponents);

fn start_router(
    store: &Arc<ChatStore>,
    files: &Arc<MemoryFileStore>,
    clock: &Arc<Clock>,
    given: AppSettings,
    browser: BrowserComponents,
) -> ChatService {
    let ((rate_limit_per_user, development_login), uploads, push) = given;
    let parts = BaseComponents {
        runtime: Arc::<Clock>::clone(clock),
        health: Arc::new(Healthy),
        rate_limit_per_ip: 0,
        version: "1.2.3".to_owned(),
    };
    let settings = ApiSettings {
        base_url: "https://chat.example.org".to_owned(),
        max_body_bytes: 8 * 1024 * 1024,
        rate_limit_per_user,
        brand: "zulip".to_owned(),
        event_queue_timeout_s: 86_400,
        uploads,
        development_login,
    };
    let domain = ChatComponents {
        realm: Arc::<ChatStore>::clone(store),
        log: Arc::<ChatStore>::clone(store),
        queues: Arc::<ChatStore>::clone(store),
        messages: Arc::<ChatStore>::clone(store),
        presences: Arc::<ChatStore>::clone(store),
        bot_storage: Arc::<ChatStore>::clone(store),
        widgets: Arc::<ChatStore>::clone(store),
        drafts: Arc::<ChatStore>::clone(store),
        scheduled: Arc::<ChatStore>::clone(store),
        reminders: Arc::<ChatStore>::clone(store),
        typing: Arc::<ChatStore>::clone(store),
        files: Arc::<MemoryFileStore>::clone(files),
        attachments: Arc::<ChatStore>::clone(store),
        resumable: Arc::<ChatStore>::clone(store),
        exports: Arc::<ChatStore>::clone(store),
        polls: Arc::default(),
        passwords: Arc::new(PlainTextPasswords),
        invitations: InvitationComponents {
            links: Arc::<ChatStore>::clone(store),
            validity_min: DEFAULT_INVITATION_VALIDITY_MINUTES,
            per_day: INVITATIONS_PER_DAY,
        },
        push,
        browser,
        settings,
    };
    build_chat_service(parts, Some(domain))
}

#[tokio::test]
async fn the_test_app_answers_people_with_accounts() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    assert_eq!(app.realm().user_by_email("sam@example.org").unwrap().id.0, sam.id);
    app.wait_s(1);
    assert_eq!(app.call_as_nobody("GET /server_settings", &[]).await.success()["realm_name"], "Example");
    assert_eq!(app.call(&app.ada, "GET /nowhere", &[]).await.error(), (404, "BAD_REQUEST", "Not Found"));
    app.call(&sam, "GET /server_settings", &[("client", "x")]).await.success();
}
