use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use auth_storage::AuthDatabase;
use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA512, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use migrations::ProgressReporter;
use migrations::package::testing::{TestPackage, canonical_definition};
use migrations::package::{
    PackageInstaller, PackageStore as _, PackageTarballError, PrepareInstallError, PreparedInstall, limits,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::*;

/// What a path answers.
#[derive(Clone)]
enum Page {
    Json(Value),
    Bytes(Vec<u8>),
    Redirect(String),
    Status(u16),
    /// So many failures, and then the page.
    After(usize, Box<Page>),
    /// Nothing, for ever.
    Silence,
    /// So many bytes announced, and none of them sent.
    Announced(u64),
    /// All of them announced, and the first half sent.
    Half(Vec<u8>),
}

#[derive(Default)]
struct Site {
    pages: Mutex<BTreeMap<String, Page>>,
    asked: Mutex<Vec<String>>,
}

/// A registry on loopback.
struct Registry {
    address: SocketAddr,
    site: Arc<Site>,
    _serving: JoinSet<()>,
}

impl Registry {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let site = Arc::new(Site::default());
        let served = Arc::clone(&site);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(answer(Arc::clone(&served), stream));
            }
        });
        Self { address, site, _serving: serving }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn pages(&self) -> MutexGuard<'_, BTreeMap<String, Page>> {
        self.site.pages.lock().unwrap()
    }

    fn put(&self, path: &str, page: Page) {
        self.pages().insert(path.to_owned(), page);
    }

    /// Publishes a package as registries do: a description of the name, and the tarball elsewhere.
    fn publish(&self, package: &TestPackage) {
        let id = package.package_id().unwrap();
        let tarball = package.pack_tarball().unwrap();
        let path = format!("/-/{}-{}.tgz", id.name(), id.version());
        self.describe(&id, &dist(&self.url(&path), &tarball));
        self.put(&path, Page::Bytes(tarball));
    }

    fn describe(&self, id: &PackageId, dist: &Value) {
        let mut pages = self.pages();
        let page = pages.entry(format!("/{}", id.name()));
        let page = page.or_insert_with(|| Page::Json(json!({"name": id.name(), "versions": {}})));
        let Page::Json(document) = page else { panic!("no description") };
        document["versions"][id.version()] = json!({"name": id.name(), "version": id.version(), "dist": dist});
    }

    /// Publishes `a@1.0.0` with this page in the place of its tarball.
    fn publish_with(&self, page: Page) {
        let tarball = package("a", "1.0.0").pack_tarball().unwrap();
        self.describe(&id("a@1.0.0"), &dist(&self.url("/-/a.tgz"), &tarball));
        self.put("/-/a.tgz", page);
    }

    fn asked(&self) -> Vec<String> {
        self.site.asked.lock().unwrap().clone()
    }

    fn registry(&self) -> HttpRegistry {
        HttpRegistry::new(&self.url("/").parse().unwrap(), quick())
    }

    async fn fetch(&self, package: &str) -> Result<FetchedPackage, RegistryError> {
        self.registry().fetch_package(&id(package)).await
    }
}

/// Short enough for a test that waits for the end of it, long enough for a busy machine.
fn quick() -> Patience {
    Patience {
        connect: Duration::from_secs(10),
        idle: Duration::from_secs(30),
        whole: Duration::from_mins(5),
        pause: Duration::from_millis(1),
    }
}

fn id(text: &str) -> PackageId {
    text.parse().unwrap()
}

fn dist(url: &str, tarball: &[u8]) -> Value {
    let sha1 = hex::encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, tarball));
    let sha512 = checksum::base64(digest(&SHA512, tarball).as_ref());
    json!({"tarball": url, "shasum": sha1, "integrity": format!("sha512-{sha512}")})
}

async fn answer(site: Arc<Site>, mut stream: TcpStream) {
    let mut request = [0; 4096];
    let read = stream.read(&mut request).await.unwrap_or(0);
    let request = String::from_utf8_lossy(&request[..read]).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let page = page(&site, &path);
    site.asked.lock().unwrap().push(path);
    let head = |status: &str, length: u64| {
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n")
    };
    let whole = |body: &[u8]| [head("200 OK", body.len() as u64).as_bytes(), body].concat();
    let bytes = match page {
        Page::Json(document) => whole(document.to_string().as_bytes()),
        Page::Bytes(bytes) => whole(&bytes),
        Page::Redirect(to) => {
            format!("HTTP/1.1 302 Found\r\nconnection: close\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n").into()
        }
        Page::Status(status) => head(&format!("{status} Whatever"), 0).into(),
        Page::Silence => return std::future::pending().await,
        Page::Announced(length) => head("200 OK", length).into(),
        Page::Half(bytes) => [head("200 OK", bytes.len() as u64).as_bytes(), &bytes[..bytes.len() / 2]].concat(),
        Page::After(..) => unreachable!(),
    };
    // Whoever had enough hangs up.
    let _ = stream.write_all(&bytes).await;
    let _ = stream.shutdown().await;
}

fn page(site: &Site, path: &str) -> Page {
    match site.pages.lock().unwrap().get_mut(path) {
        Some(Page::After(0, page)) => (**page).clone(),
        Some(Page::After(failures, _)) => {
            *failures -= 1;
            Page::Status(500)
        }
        page => page.cloned().unwrap_or(Page::Status(404)),
    }
}

fn package(name: &str, version: &str) -> TestPackage {
    TestPackage::new(name, version).with_resource(&canonical_definition(
        "ValueSet",
        &format!("http://{name}.example/v"),
        version,
    ))
}

async fn prepare(
    registry: Arc<dyn PackageRegistry>,
    db: &AuthDatabase,
    package: &str,
) -> Result<PreparedInstall, PrepareInstallError> {
    PackageInstaller::new(registry, Arc::new(db.clone()), ProgressReporter::new()).prepare_install(&[id(package)]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_is_installed_with_all_it_depends_on() {
    let registry = Registry::start().await;
    registry.publish(
        &package("a", "1.0.0").with_dependency("b", "1.2.x").with_dependency("c", "1.0.0").with_published_extras(),
    );
    registry.publish(&package("b", "1.2.3"));
    registry.publish(&package("b", "1.2.4").with_dependency("c", "2.0.0"));
    registry.publish(&package("c", "1.0.0"));
    registry.publish(&package("c", "2.0.0").with_dependency("a", "1.0.0"));
    let folder = tempfile::tempdir().unwrap();
    let db = AuthDatabase::open(None, folder.path(), 4).await.unwrap();
    let prepared = prepare(Arc::new(registry.registry()), &db, "a@1.0.0").await.unwrap();
    assert_eq!(db.install_prepared(&prepared, 1).await.unwrap().unwrap(), 4);
    let installed = db.installed_packages().await.unwrap();
    let names: Vec<_> = installed.iter().map(|package| package.id.to_string()).collect();
    assert_eq!(names, ["a@1.0.0", "b@1.2.4", "c@1.0.0", "c@2.0.0"]);
    assert_eq!(installed[0].source, registry.url(""));
    let tarballs = registry.asked().into_iter().filter(|path| path.starts_with("/-/")).count();
    assert_eq!(tarballs, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_registry_does_not_have_is_unknown_and_asked_for_once() {
    let registry = Registry::start().await;
    registry.publish(&package("a", "1.0.0"));
    assert!(matches!(registry.fetch("b@1.0.0").await, Err(RegistryError::Unknown)));
    assert_eq!(registry.asked(), ["/b", "/b/1.0.0"]);
    assert!(matches!(registry.fetch("a@1.0.1").await, Err(RegistryError::Unknown)));
    assert!(matches!(registry.registry().package_versions("b").await, Err(RegistryError::Unknown)));
    assert_eq!(registry.registry().package_versions("a").await.unwrap(), ["1.0.0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tarball_at_name_and_version_needs_no_description() {
    let registry = Registry::start().await;
    let tarball = package("a", "1.0.0").pack_tarball().unwrap();
    registry.put("/a/1.0.0", Page::Bytes(tarball.clone()));
    assert_eq!(registry.fetch("a@1.0.0").await.unwrap().contents().canonicals, 1);
    // Registries of npm describe the version there.
    registry.put("/a/1.0.0", Page::Json(json!({"dist": dist(&registry.url("/-/a.tgz"), &tarball)})));
    registry.put("/-/a.tgz", Page::Bytes(tarball));
    assert_eq!(registry.fetch("a@1.0.0").await.unwrap().contents().canonicals, 1);
    registry.put("/-/a.tgz", Page::Bytes(package("a", "1.0.0").with_published_extras().pack_tarball().unwrap()));
    assert!(matches!(registry.fetch("a@1.0.0").await, Err(RegistryError::Checksum { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tarball_other_than_the_registry_says_is_refused() {
    let registry = Registry::start().await;
    let tarball = package("a", "1.0.0").pack_tarball().unwrap();
    registry.put("/-/a.tgz", Page::Bytes(tarball.clone()));
    let right = dist(&registry.url("/-/a.tgz"), &tarball);
    for (member, kind, wrong) in [
        ("shasum", "SHA-1", json!("da39a3ee5e6b4b0d3255bfef95601890afd80709")),
        ("integrity", "SHA-512", json!(format!("sha1-x sha512-{}", STANDARD.encode([0; 64])))),
    ] {
        let mut dist = right.clone();
        dist[member] = wrong;
        registry.describe(&id("a@1.0.0"), &dist);
        let fault = registry.fetch("a@1.0.0").await.unwrap_err();
        assert!(matches!(&fault, RegistryError::Checksum { kind: found, .. } if *found == kind), "{fault}");
        assert!(!fault.is_registry_outage());
    }
    let mut upper = right.clone();
    upper["shasum"] = json!(right["shasum"].as_str().unwrap().to_uppercase());
    registry.describe(&id("a@1.0.0"), &upper);
    assert!(registry.fetch("a@1.0.0").await.is_ok());
    registry.describe(&id("a@1.0.0"), &json!({"tarball": registry.url("/-/a.tgz")}));
    assert!(registry.fetch("a@1.0.0").await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_followed_within_the_registry_and_not_into_the_inner_network() {
    let (registry, other) = (Registry::start().await, Registry::start().await);
    registry.publish(&package("a", "1.0.0"));
    other.publish(&package("a", "1.0.0"));
    let moved = registry.pages().remove("/-/a-1.0.0.tgz").unwrap();
    registry.put("/moved.tgz", moved);
    registry.put("/-/a-1.0.0.tgz", Page::Redirect("/moved.tgz".to_owned()));
    assert!(registry.fetch("a@1.0.0").await.is_ok());
    for (to, why) in [
        (other.url("/-/a-1.0.0.tgz"), "not https"),
        ("https://127.0.0.1:1/a.tgz".to_owned(), "no public address"),
        ("https://[::1]/a.tgz".to_owned(), "no public address"),
        ("https://localhost:1/a.tgz".to_owned(), "no public address"),
        ("file:///etc/passwd".to_owned(), "not https"),
        ("/-/a-1.0.0.tgz".to_owned(), "again and again"),
    ] {
        registry.put("/-/a-1.0.0.tgz", Page::Redirect(to.clone()));
        let fault = registry.fetch("a@1.0.0").await.unwrap_err();
        assert!(matches!(&fault, RegistryError::Refused(text) if text.contains(why)), "{to}: {fault:?}");
    }
    assert_eq!(other.asked(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_cannot_send_us_into_the_inner_network_for_a_tarball() {
    let (registry, other) = (Registry::start().await, Registry::start().await);
    other.publish(&package("a", "1.0.0"));
    registry.describe(&id("a@1.0.0"), &json!({"tarball": other.url("/-/a-1.0.0.tgz?token=secret")}));
    let fault = registry.fetch("a@1.0.0").await.unwrap_err();
    assert!(matches!(fault, RegistryError::Refused(_)), "{fault:?}");
    assert!(!fault.to_string().contains("secret"), "{fault}");
    assert_eq!(other.asked(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_fails_is_asked_again_and_then_given_up() {
    let registry = Registry::start().await;
    let tarball = package("a", "1.0.0").pack_tarball().unwrap();
    registry.publish_with(Page::After(3, Box::new(Page::Bytes(tarball))));
    assert!(registry.fetch("a@1.0.0").await.is_ok());
    assert_eq!(registry.asked().len(), 5);
    registry.publish_with(Page::Status(503));
    let fault = registry.fetch("a@1.0.0").await.unwrap_err();
    assert!(matches!(fault, RegistryError::Status(503)) && fault.is_registry_outage(), "{fault:?}");
    assert_eq!(registry.asked().len(), 10);
    registry.publish_with(Page::Status(403));
    let fault = registry.fetch("a@1.0.0").await.unwrap_err();
    assert!(matches!(fault, RegistryError::Status(403)) && !fault.is_registry_outage(), "{fault:?}");
    assert_eq!(registry.asked().len(), 12);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_is_not_there_or_says_nothing_is_an_outage() {
    let registry = Registry::start().await;
    registry.put("/a", Page::Silence);
    let patience = Patience { idle: Duration::from_millis(50), ..quick() };
    let silent = HttpRegistry::new(&registry.url("/").parse().unwrap(), patience);
    let fault = silent.fetch_package(&id("a@1.0.0")).await.unwrap_err();
    assert_eq!(fault.to_string(), "it does not answer: it took too long");
    assert!(fault.is_registry_outage());
    let gone = registry.url("/");
    drop(registry);
    let fault = HttpRegistry::new(&gone.parse().unwrap(), quick()).fetch_package(&id("a@1.0.0")).await.unwrap_err();
    assert_eq!(fault.to_string(), "it does not answer: no connection");
    assert!(fault.is_registry_outage());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_is_an_outage_and_a_tarball_cut_short_is_none() {
    let registry = Registry::start().await;
    let tarball = package("a", "1.0.0").pack_tarball().unwrap();
    registry.publish_with(Page::Half(tarball.clone()));
    let fault = registry.fetch("a@1.0.0").await.unwrap_err();
    assert_eq!(fault.to_string(), "it does not answer: the answer broke off");
    let cut = &tarball[..tarball.len() / 2];
    registry.describe(&id("a@1.0.0"), &dist(&registry.url("/-/cut.tgz"), cut));
    registry.put("/-/cut.tgz", Page::Bytes(cut.to_vec()));
    let fault = registry.fetch("a@1.0.0").await.unwrap_err();
    assert!(matches!(fault, RegistryError::Tarball(PackageTarballError::CutShort)), "{fault:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_package_or_another_one_is_refused() {
    let registry = Registry::start().await;
    registry.put("/a", Page::Json(json!({"error": "no"})));
    assert!(matches!(registry.fetch("a@1.0.0").await, Err(RegistryError::Answer(_))));
    registry.put("/a", Page::Bytes(b"<html>".to_vec()));
    assert!(matches!(registry.fetch("a@1.0.0").await, Err(RegistryError::Answer(_))));
    registry.pages().clear();
    registry.put("/a/1.0.0", Page::Bytes(b"<html>".to_vec()));
    let fault = registry.fetch("a@1.0.0").await.unwrap_err();
    assert!(matches!(fault, RegistryError::Tarball(PackageTarballError::NotGzip)), "{fault:?}");
    registry.put("/a/1.0.0", Page::Bytes(package("a", "2.0.0").pack_tarball().unwrap()));
    let fault = registry.fetch("a@1.0.0").await.unwrap_err();
    assert!(matches!(fault, RegistryError::Tarball(PackageTarballError::OtherPackage(_))), "{fault:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tarball_that_is_announced_too_large_is_not_taken() {
    let registry = Registry::start().await;
    registry.publish_with(Page::Announced(limits::TARBALL_MAX_BYTES + 1));
    assert!(matches!(registry.fetch("a@1.0.0").await, Err(RegistryError::TooLarge)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_of_fifty_megabytes_is_installed() {
    let registry = Registry::start().await;
    let mut large = package("large", "1.0.0").with_published_extras();
    let mut state = 1_u64;
    for n in 0..4 {
        // Digits of base64 that do not pack well.
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        })
        .take(13_000_000)
        .collect();
        let mut resource = canonical_definition("CodeSystem", &format!("http://large.example/c{n}"), "1");
        resource["description"] = STANDARD.encode(noise).into();
        large = large.with_resource(&resource);
    }
    registry.publish(&large);
    let Some(Page::Bytes(tarball)) = registry.pages().get("/-/large-1.0.0.tgz").cloned() else { panic!() };
    assert!(tarball.len() > 50_000_000, "{}", tarball.len());
    let folder = tempfile::tempdir().unwrap();
    let db = AuthDatabase::open(None, folder.path(), 4).await.unwrap();
    let prepared = prepare(Arc::new(registry.registry()), &db, "large@1.0.0").await.unwrap();
    assert_eq!(db.install_prepared(&prepared, 1).await.unwrap().unwrap(), 5);
    let kind = "CodeSystem".parse().unwrap();
    let stored = db.find_canonical(&kind, "http://large.example/c3", None).await.unwrap().unwrap();
    assert!(stored.resource["description"].as_str().unwrap().len() > 17_000_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_is_a_registry() {
    let folder = tempfile::tempdir().unwrap();
    for package in [
        package("a", "1.0.0").with_dependency("a-b", "1.x"),
        package("a-b", "1.0.0"),
        package("a-b", "1.1.0").with_published_extras(),
        package("a-b", "2.0.0"),
    ] {
        let id = package.package_id().unwrap();
        let file = format!("{}-{}.tgz", id.name(), id.version());
        std::fs::write(folder.path().join(file), package.pack_tarball().unwrap()).unwrap();
    }
    std::fs::write(folder.path().join("a-notes.tgz"), "no package").unwrap();
    let address = Url::from_directory_path(folder.path()).unwrap();
    let registry = open(&address).unwrap();
    assert_eq!(registry.package_versions("a").await.unwrap(), ["1.0.0"]);
    let data = tempfile::tempdir().unwrap();
    let db = AuthDatabase::open(None, data.path(), 4).await.unwrap();
    let prepared = prepare(Arc::clone(&registry), &db, "a@1.0.0").await.unwrap();
    assert_eq!(db.install_prepared(&prepared, 1).await.unwrap().unwrap(), 2);
    let names: Vec<_> = db.installed_packages().await.unwrap().iter().map(|package| package.id.to_string()).collect();
    assert_eq!(names, ["a@1.0.0", "a-b@1.1.0"]);
    let fault = prepare(Arc::clone(&registry), &db, "c@1.0.0").await.unwrap_err().to_string();
    assert_eq!(fault, format!("package c@1.0.0 from {address}: it is not there"));
    assert!(matches!(registry.package_versions("c").await, Err(RegistryError::Unknown)));
}

#[test]
fn a_folder_that_is_not_there_stops_the_start() {
    let refusal = open(&"file:///nowhere/at/all".parse().unwrap()).map(drop).unwrap_err();
    assert!(refusal.to_string().contains("--fhir-package-registry file:///nowhere/at/all"), "{refusal}");
}
