//! A deployment on a database of its own, and the callers that talk to it.

mod call;
mod partner;
mod postgres;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use auth_http::{
    Clock, ExecuteInitBundleError, FhirSettings, HttpSettings, InitBundleReport, PageTheme, RouterComponents,
};
use auth_storage::{AuditLogWriter, AuthDatabase, JobQueue, JobQueueConfig, JtiClaimTask};
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use fhir_resource::{ResourceId, ResourceKey, ResourceType, StoredResource, StoredResourceText};
use fhir_search::SearchParameterCatalog;
use fhir_store::{
    AccessFilter, HistoryPage, HistoryQuery, ListPage, ListQuery, ResourceLookup, ResourceStore, ResourceVersion,
    ResourceWrite, RevincludeQuery, SearchExecutionError, SearchMatches, SearchQuery, SearchStore, StoreError,
    TransactionError, WriteOutcome,
};
use http::{Method, Request};
use migrations::ProgressReporter;
use migrations::package::testing::FakePackageRegistry;
use migrations::package::{InstalledConformance, PackageInstaller};
use oauth_core::authorization_server::{AuthorizationServer, AuthorizationServerConfig, AuthorizationStores};
use oauth_core::bootstrap_admin::BootstrapAdministrator;
use oauth_core::jose::sha256;
use oauth_core::memory_store::{SeededRandom, UnreachableJwksHosts};
use oauth_core::ports::{FirstFamilyTokens, SigningKeyStore as _, TokenFamily, TokenFamilyStore as _};
use oauth_core::settings::AuthorizationSettings;
use oauth_core::signing_keys::{SigningAlg, StoredSigningKey};
use oauth_core::time_and_randomness::TimeAndRandomness;
use payer_exchange::member_match::MemberIdentifierRule;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

use postgres::Postgres;

pub(crate) use call::{Answer, Call};
pub(crate) use partner::{Partner, assertion_form, claims};

pub(crate) const BASE: &str = "https://payer.example";
pub(crate) const EXT: &str = "http://platform.example/fhir";
pub(crate) const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// 2026-01-01T00:00:00Z.
pub(crate) const NOW_S: i64 = 1_767_225_600;
/// A secret as a generator makes it: 256 bits of base64url.
pub(crate) const SECRET: &str = "q8Zk3vX1mT0yR7bW5nJ2cF9dL4hG6sPaUeIoKxNvBtY";
/// The bootstrap administrator's.
pub(crate) const ROOT_SECRET: &str = "bootstrap";

/// One deployment.
pub(crate) struct World {
    router: Router,
    parts: RouterComponents,
    oauth: AuthorizationServer,
    asked: Arc<AtomicU32>,
    clock: Arc<Ticker>,
    pub(crate) health: Arc<Health>,
    pub(crate) shelf: Arc<FakePackageRegistry>,
    admissions: Arc<JtiClaimTask>,
    audit: Arc<AuditLogWriter>,
    jobs: Arc<JobQueue>,
    db: AuthDatabase,
    _folder: TempDir,
    postgres: Option<Postgres>,
}

/// What a deployment is started with.
#[derive(Clone)]
pub(crate) struct Choice {
    pub(crate) max_body_bytes: usize,
    pub(crate) correct_format: bool,
    pub(crate) rate_limit_per_minute: u32,
    pub(crate) platform_name: &'static str,
    pub(crate) look: PageTheme,
    pub(crate) search_time: Duration,
    pub(crate) conforms_to: InstalledConformance,
    pub(crate) identifier_rule: MemberIdentifierRule,
}

impl Default for Choice {
    fn default() -> Self {
        Self {
            max_body_bytes: 1024 * 1024,
            correct_format: true,
            rate_limit_per_minute: 0,
            platform_name: "acme",
            look: PageTheme::default(),
            search_time: AuthDatabase::DEFAULT_SEARCH_TIME_LIMIT,
            conforms_to: InstalledConformance::default(),
            identifier_rule: MemberIdentifierRule::Required,
        }
    }
}

impl World {
    /// On SQLite.
    pub(crate) async fn new() -> Self {
        Self::with(Choice::default()).await
    }

    /// On SQLite, with settings of its own.
    pub(crate) async fn with(choice: Choice) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let db = AuthDatabase::open_with_search_limit(None, folder.path(), (4, choice.search_time)).await.unwrap();
        Self::over(db, folder, None, choice).await
    }

    /// On Postgres, when `TEST_DATABASE_URL` names a server.
    async fn on_postgres(choice: Choice) -> Option<Self> {
        let postgres = Postgres::create().await?;
        let folder = tempfile::tempdir().unwrap();
        let db = AuthDatabase::open_with_search_limit(Some(&postgres.url), folder.path(), (4, choice.search_time))
            .await
            .unwrap();
        Some(Self::over(db, folder, Some(postgres), choice).await)
    }

    async fn over(db: AuthDatabase, folder: TempDir, postgres: Option<Postgres>, choice: Choice) -> Self {
        let clock = Arc::new(Ticker(AtomicI64::new(NOW_S * 1_000_000)));
        let random = Arc::new(SeededRandom::new(7));
        let health = Arc::new(Health {
            healthy: AtomicBool::new(true),
            asked: AtomicU32::new(0),
            stalled: AtomicBool::new(false),
        });
        let admissions = Arc::new(JtiClaimTask::start(&db));
        let env = TimeAndRandomness { now_us: clock.now_us(), random: random.as_ref() };
        db.set_fhir_base_url(&format!("{BASE}/fhir")).await.unwrap();
        db.store_initial_keys(signing_keys(&env).await).await.unwrap();
        let audit = Arc::new(AuditLogWriter::start(db.clone()));
        let asked = Arc::new(AtomicU32::new(0));
        let oauth = AuthorizationServer::open(&env, setup(), stores(&db, &admissions, &audit)).await.unwrap();
        let shelf = Arc::new(FakePackageRegistry::default());
        let ticker = clock.clone();
        let settings = JobQueueConfig {
            fhir_base: format!("{BASE}/fhir"),
            correct_format: choice.correct_format,
            at_once: 1,
            now_us: Arc::new(move || ticker.now_us()),
        };
        let jobs = Arc::new(JobQueue::start(db.clone(), settings));
        let parts = RouterComponents {
            oauth: oauth.clone(),
            jobs: jobs.clone(),
            payers: Arc::new(db.clone()),
            packages: Arc::new(PackageInstaller::new(shelf.clone(), Arc::new(db.clone()), ProgressReporter::new())),
            resources: Arc::new(Counted(db.clone(), asked.clone())),
            search: Arc::new(Counted(db.clone(), asked.clone())),
            migrations: Arc::new(db.clone()),
            progress: ProgressReporter::new(),
            clock: clock.clone(),
            random,
            health: health.clone(),
            settings: Self::settings(choice),
        };
        let router = auth_http::authorization_router(parts.clone());
        Self {
            router,
            parts,
            shelf,
            oauth,
            asked,
            clock,
            health,
            admissions,
            audit,
            jobs,
            db,
            _folder: folder,
            postgres,
        }
    }

    /// What the wire is told of a choice.
    pub(crate) fn settings(choice: Choice) -> HttpSettings {
        HttpSettings {
            max_body_bytes: choice.max_body_bytes,
            rate_limit_per_minute: choice.rate_limit_per_minute,
            look: choice.look,
            fhir: FhirSettings {
                base_url: BASE.to_owned(),
                correct_format: choice.correct_format,
                platform_name: choice.platform_name.to_owned(),
                version: "1.2.3".to_owned(),
                search_time: choice.search_time,
                conforms_to: choice.conforms_to,
                identifier_rule: choice.identifier_rule,
            },
        }
    }

    /// Executes an init bundle, as a start does.
    pub(crate) async fn start_with(&self, bundle: Value) -> Result<InitBundleReport, ExecuteInitBundleError> {
        auth_http::execute_init_bundle(self.parts.clone(), bundle).await
    }

    /// A start is busy with this.
    pub(crate) fn begin(&self, what: &str) {
        self.parts.progress.report(what);
    }

    /// What a server that is not ready yet says to a GET.
    pub(crate) async fn ask_while_starting(&self, path: &str) -> Answer {
        let router = auth_http::startup_router(self.parts.clone());
        Answer::of(router.oneshot(Request::get(path).body(Body::empty()).unwrap()).await.unwrap()).await
    }

    /// Lets time pass.
    pub(crate) fn wait_s(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    /// What is stored, for stories that begin in the middle.
    pub(crate) const fn db(&self) -> &AuthDatabase {
        &self.db
    }

    /// The queue of jobs.
    pub(crate) fn jobs(&self) -> &JobQueue {
        &self.jobs
    }

    /// The database goes away under the running server.
    pub(crate) async fn break_database(&self) {
        self.db.close().await;
    }

    /// Begins a request.
    pub(crate) fn call(&self, method: &str, path: &str) -> Call<'_> {
        Call {
            world: self,
            request: Request::builder()
                .method(Method::from_bytes(method.as_bytes()).unwrap())
                .uri(path)
                .extension(ConnectInfo(SocketAddr::from((Ipv4Addr::new(192, 0, 2, 7), 40_000)))),
            body: Body::empty(),
        }
    }

    pub(crate) fn get(&self, path: &str) -> Call<'_> {
        self.call("GET", path)
    }

    pub(crate) fn post(&self, path: &str) -> Call<'_> {
        self.call("POST", path)
    }

    /// The administrator writes a resource natively; it has to work.
    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        let answer = self.call("PUT", path).by_root().json(body).send().await;
        assert!(answer.status.is_success(), "PUT {path}: {answer:?}");
        answer
    }

    /// Registers a Client that may use HTTP Basic with [`SECRET`], and what policy links to it.
    pub(crate) async fn client_with_policy(&self, id: &str, policy: &Value) {
        let client = json!({"grant_types": ["basic", "client_credentials"], "secret": SECRET});
        self.put(&format!("/Client/{id}"), &client).await;
        let mut policy = policy.clone();
        policy["link"] = json!([{"reference": format!("Client/{id}")}]);
        self.put(&format!("/AccessPolicy/{id}"), &policy).await;
    }

    /// An access token of a new Client `id` with these scopes, whom a policy allows everything.
    pub(crate) async fn token_with_scope(&self, id: &str, scope: &str) -> String {
        let scopes: Vec<&str> = scope.split(' ').collect();
        let client = json!({
            "grant_types": ["client_credentials"],
            "secret": SECRET,
            "scope": scopes,
            "auth": {"client_credentials": {"token_format": "jwt", "access_token_expiration": 300}},
        });
        self.put(&format!("/Client/{id}"), &client).await;
        let policy = json!({"engine": "allow", "link": [{"reference": format!("Client/{id}")}]});
        self.put(&format!("/AccessPolicy/{id}"), &policy).await;
        let form = [("grant_type", "client_credentials"), ("client_id", id), ("client_secret", SECRET)];
        let answer = self.post("/auth/token").form(&form).send().await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body["access_token"].as_str().unwrap().to_owned()
    }

    /// How often the store of resources was asked.
    pub(crate) fn asked(&self) -> u32 {
        self.asked.load(Ordering::SeqCst)
    }

    /// Whether its database is a Postgres.
    pub(crate) fn is_on_postgres(&self) -> bool {
        self.postgres.is_some()
    }

    /// Registers the Client `app`, whom a policy allows everything, and the User `ada`.
    pub(crate) async fn app(&self) {
        let auth = json!({"authorization_code": {"redirect_uri": "https://app.example/cb", "pkce": true}});
        let client = json!({"type": "smart-app", "grant_types": ["authorization_code"], "auth": auth});
        self.put("/Client/app", &client).await;
        let link = json!([{"reference": "Client/app"}, {"reference": "User/ada"}]);
        self.put("/AccessPolicy/app", &json!({"engine": "allow", "link": link})).await;
        self.put("/User/ada", &json!({"userName": "ada"})).await;
        let now_s = self.clock.now_us() / 1_000_000;
        let family = TokenFamily {
            id: "family".to_owned(),
            client_id: "app".to_owned(),
            user_id: "ada".to_owned(),
            grant_id: None,
            // The stamp of a person without a password.
            credential: sha256(b""),
            authorization: json!({}),
            created_s: now_s,
            expires_s: now_s + 3600,
        };
        self.db.store_grantless_family(FirstFamilyTokens { family, access: None, refresh: None }).await.unwrap();
    }

    /// An access token of the Client `app`: of the User `ada` or its own, for a patient or for none.
    pub(crate) fn mint(&self, user: Option<&str>, patient: Option<&str>, scope: &str) -> String {
        let now_s = self.clock.now_us() / 1_000_000;
        let mut claims = json!({
            "iss": BASE, "aud": format!("{BASE}/fhir"), "sub": user.unwrap_or("app"), "client_id": "app",
            "iat": now_s, "exp": now_s + 300, "jti": "minted", "scope": scope,
        });
        if user.is_some() {
            claims["sid"] = "family".into();
        }
        if let Some(patient) = patient {
            claims["context"] = json!({"patient": patient});
        }
        let random = SeededRandom::new(11);
        let env = TimeAndRandomness { now_us: self.clock.now_us(), random: &random };
        self.oauth.issuer.sign_jwt(&env, SigningAlg::RS256, &claims).unwrap()
    }

    /// Ends the deployment in order.
    pub(crate) async fn end(self) {
        self.admissions.drain_and_stop().await;
        self.jobs.stop_and_release_jobs().await;
        self.audit.drain_and_stop().await;
        self.db.close().await;
        if let Some(postgres) = self.postgres {
            postgres.drop_database().await;
        }
    }
}

/// Tells a story on SQLite, and on Postgres when there is one.
pub(crate) async fn on_every_engine(story: impl AsyncFn(&World)) {
    on_every_engine_with(Choice::default(), story).await;
}

/// Does so with settings of its own.
pub(crate) async fn on_every_engine_with(choice: Choice, story: impl AsyncFn(&World)) {
    let world = World::with(choice.clone()).await;
    story(&world).await;
    world.end().await;
    if let Some(world) = World::on_postgres(choice).await {
        story(&world).await;
        world.end().await;
    }
}

fn setup() -> AuthorizationServerConfig {
    AuthorizationServerConfig {
        settings: AuthorizationSettings::new(BASE, EXT),
        sealer: None,
        root: Some(BootstrapAdministrator::new("root", &ROOT_SECRET.to_owned().into())),
        jwks_fetch: Arc::new(UnreachableJwksHosts),
        hashing: Arc::new(|work: Box<dyn FnOnce() + Send>| drop(tokio::task::spawn_blocking(work))),
    }
}

fn stores(db: &AuthDatabase, admissions: &Arc<JtiClaimTask>, audit: &Arc<AuditLogWriter>) -> AuthorizationStores {
    let db = Arc::new(db.clone());
    AuthorizationStores {
        clients: db.clone(),
        replays: admissions.clone(),
        tokens: db.clone(),
        keys: db.clone(),
        sessions: db.clone(),
        codes: db.clone(),
        families: db.clone(),
        grants: db.clone(),
        patients: db,
        audit: audit.clone(),
    }
}

/// The server's keys, made once: nothing else in this suite costs as much.
async fn signing_keys(env: &TimeAndRandomness<'_>) -> Vec<StoredSigningKey> {
    static KEYS: tokio::sync::OnceCell<Vec<StoredSigningKey>> = tokio::sync::OnceCell::const_new();
    let make = || async {
        let folder = tempfile::tempdir().unwrap();
        let db = AuthDatabase::open(None, folder.path(), 2).await.unwrap();
        let admissions = Arc::new(JtiClaimTask::start(&db));
        let audit = Arc::new(AuditLogWriter::start(db.clone()));
        AuthorizationServer::open(env, setup(), stores(&db, &admissions, &audit)).await.unwrap();
        let keys = db.unretired_keys().await.unwrap();
        admissions.drain_and_stop().await;
        audit.drain_and_stop().await;
        db.close().await;
        keys
    };
    KEYS.get_or_init(make).await.clone()
}

/// The store of resources, counting what it is asked; each question is one statement or transaction.
struct Counted(AuthDatabase, Arc<AtomicU32>);

#[async_trait]
impl ResourceStore for Counted {
    async fn read(&self, key: &ResourceKey) -> Result<ResourceLookup, StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.read(key).await
    }

    async fn read_as_text(&self, key: &ResourceKey) -> Result<ResourceLookup<StoredResourceText>, StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.read_as_text(key).await
    }

    async fn list(&self, query: &ListQuery) -> Result<ListPage, StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.list(query).await
    }

    async fn read_version(&self, key: &ResourceKey, version: i64) -> Result<Option<ResourceVersion>, StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.read_version(key, version).await
    }

    async fn read_history(&self, query: &HistoryQuery) -> Result<HistoryPage, StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.read_history(query).await
    }

    async fn types_ever_written(&self) -> Result<Vec<ResourceType>, StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.types_ever_written().await
    }

    async fn transact_writes(
        &self,
        writes: Vec<ResourceWrite>,
        now_us: i64,
    ) -> Result<Result<Vec<WriteOutcome>, TransactionError>, StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.transact_writes(writes, now_us).await
    }
}

#[async_trait]
impl SearchStore for Counted {
    async fn current_search_parameter_catalog(&self) -> Result<Arc<SearchParameterCatalog>, StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.current_search_parameter_catalog().await
    }

    async fn cached_search_parameter_catalog(&self) -> Result<Arc<SearchParameterCatalog>, StoreError> {
        self.0.cached_search_parameter_catalog().await
    }

    fn is_type_indexed(&self, catalog: &SearchParameterCatalog, kind: &ResourceType) -> bool {
        self.0.is_type_indexed(catalog, kind)
    }

    async fn search(&self, query: &SearchQuery) -> Result<Result<SearchMatches, SearchExecutionError>, StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.search(query).await
    }

    async fn types_in_patient_compartment(
        &self,
        patient: &ResourceId,
    ) -> Result<Result<Vec<ResourceType>, SearchExecutionError>, StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.types_in_patient_compartment(patient).await
    }

    async fn read_by_ids(
        &self,
        kind: &ResourceType,
        ids: &[ResourceId],
        within: &AccessFilter,
    ) -> Result<Result<Vec<StoredResource>, SearchExecutionError>, StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.read_by_ids(kind, ids, within).await
    }

    async fn read_referring_resources(
        &self,
        referring: RevincludeQuery<'_>,
        within: &AccessFilter,
        limit: u32,
    ) -> Result<Result<Vec<StoredResource>, SearchExecutionError>, StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.read_referring_resources(referring, within, limit).await
    }
}

/// A clock that moves when told.
struct Ticker(AtomicI64);

impl Clock for Ticker {
    fn now_us(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A probe that says what it was told.
pub(crate) struct Health {
    healthy: AtomicBool,
    asked: AtomicU32,
    stalled: AtomicBool,
}

impl Health {
    pub(crate) fn set(&self, healthy: bool) {
        self.healthy.store(healthy, Ordering::SeqCst);
    }

    /// Says that the database answers nothing.
    pub(crate) fn stall(&self) {
        self.stalled.store(true, Ordering::SeqCst);
    }

    /// How often it was asked.
    pub(crate) fn asked(&self) -> u32 {
        self.asked.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl server_kit::health::HealthProbe for Health {
    async fn is_healthy(&self) -> bool {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.healthy.load(Ordering::SeqCst)
    }

    async fn wait_until_stalled(&self) {
        if !self.stalled.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
    }
}
