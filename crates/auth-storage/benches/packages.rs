//! What it costs to install a package of 2,000 canonicals, beside what nobody goes below: inflating it, and
//! inserting its rows with one batched statement.
//!
//! Prints a line per engine: its name, the limit and ours, both in milliseconds on the clock, the quickest of
//! several rounds. Postgres takes part when `TEST_DATABASE_URL` names a server.

use std::error::Error;
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use auth_storage::AuthDatabase;
use migrations::package::testing::{FakePackageRegistry, TestPackage, canonical_definition};
use migrations::package::{DownloadedTarball as _, PackageInstaller, PackageStore, visit_package_canonicals};
use migrations::{PackageId, ProgressReporter};
use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};

const CANONICALS: usize = 2_000;
/// Elements of each, so that one has about 14 KB, as those of published guides have.
const ELEMENTS: usize = 40;
const ROUNDS: i64 = 7;

/// As the server allocates.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let package = package();
        on_sqlite(&package).await?;
        if let Some(url) = server() {
            on_postgres(&package, &url).await?;
        }
        Ok(())
    })
}

#[expect(clippy::disallowed_methods, reason = "the one place where this bench is configured")]
fn server() -> Option<String> {
    std::env::var("TEST_DATABASE_URL").ok()
}

fn package() -> TestPackage {
    let mut package = TestPackage::new("acme.bench", "1.0.0");
    for n in 0..CANONICALS {
        let mut profile =
            canonical_definition("StructureDefinition", &format!("http://acme.example/StructureDefinition/{n}"), "1");
        let element = |m: usize| {
            json!({"id": format!("Patient.element{m}"), "path": format!("Patient.element{m}"), "min": 0, "max": "*",
                "short": format!("element {m} of profile {n}"), "mustSupport": m.is_multiple_of(2),
                "definition": format!("What a person who reads profile {n} has to know of its element {m}."),
                "type": [{"code": "Reference", "targetProfile": [format!("http://acme.example/{n}/{m}")]}]})
        };
        let differential = json!({"element": (0..ELEMENTS).map(element).collect::<Vec<_>>()});
        if let Some(members) = profile.as_object_mut() {
            members.insert("differential".to_owned(), differential);
        }
        package = package.with_resource(&profile);
    }
    package.with_published_extras()
}

async fn on_sqlite(package: &TestPackage) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let db = AuthDatabase::open(None, folder.path(), 4).await?;
    let ours = ours(&db, package).await?;
    db.close().await;
    let options = SqliteConnectOptions::new()
        .filename(folder.path().join("limit.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let mut session = SqliteConnection::connect_with(&options).await?;
    sqlx::query("CREATE TABLE bare (id TEXT PRIMARY KEY NOT NULL, resource TEXT NOT NULL)")
        .execute(&mut session)
        .await?;
    let (tarball, rows) = (package.pack_tarball()?, rows(package)?);
    let mut limit = Duration::MAX;
    for _ in 0..ROUNDS {
        sqlx::query("DELETE FROM bare").execute(&mut session).await?;
        let began = Instant::now();
        inflate(&tarball)?;
        sqlx::query("INSERT INTO bare SELECT e.value ->> 0, e.value -> 1 FROM json_each($1) AS e")
            .bind(&rows)
            .execute(&mut session)
            .await?;
        limit = limit.min(began.elapsed());
    }
    tell("SQLite", limit, ours);
    Ok(())
}

async fn on_postgres(package: &TestPackage, server: &str) -> Outcome<()> {
    let name = format!("bench_packages_{}", std::process::id());
    let mut admin = PgConnection::connect(server).await?;
    sqlx::query(AssertSqlSafe(format!("CREATE DATABASE {name} TEMPLATE template0"))).execute(&mut admin).await?;
    let mut url = url::Url::parse(server)?;
    url.set_path(&name);
    let folder = tempfile::tempdir()?;
    let db = AuthDatabase::open(Some(url.as_str()), folder.path(), 4).await?;
    let ours = ours(&db, package).await?;
    db.close().await;
    let mut session = PgConnection::connect(url.as_str()).await?;
    sqlx::query("CREATE TABLE bare (id TEXT PRIMARY KEY, resource JSONB NOT NULL)").execute(&mut session).await?;
    let (tarball, rows) = (package.pack_tarball()?, rows(package)?);
    let mut limit = Duration::MAX;
    for _ in 0..ROUNDS {
        sqlx::query("TRUNCATE bare").execute(&mut session).await?;
        let began = Instant::now();
        inflate(&tarball)?;
        sqlx::query("INSERT INTO bare SELECT e.value ->> 0, e.value -> 1 FROM jsonb_array_elements($1::TEXT::JSONB) AS e (value)")
            .bind(&rows)
            .execute(&mut session)
            .await?;
        limit = limit.min(began.elapsed());
    }
    session.close().await?;
    sqlx::query(AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"))).execute(&mut admin).await?;
    tell("Postgres", limit, ours);
    Ok(())
}

/// The quickest installation, from a tarball that is here, into a database that does not have it.
async fn ours(db: &AuthDatabase, package: &TestPackage) -> Outcome<Duration> {
    let shelf = Arc::new(FakePackageRegistry::with_packages(std::slice::from_ref(package))?);
    let installer = PackageInstaller::new(shelf, Arc::new(db.clone()), ProgressReporter::new());
    let asked: [PackageId; 1] = [package.package_id()?];
    let mut quickest = Duration::MAX;
    for round in 0..ROUNDS {
        let began = Instant::now();
        let prepared = installer.prepare_install(&asked).await?;
        let count = db.install_prepared(&prepared, round).await??;
        quickest = quickest.min(began.elapsed());
        assert_eq!(count, u64::try_from(CANONICALS)?);
        db.uninstall_packages(&asked, round).await??;
    }
    Ok(quickest)
}

fn inflate(tarball: &[u8]) -> io::Result<u64> {
    let mut inflated = flate2::read::GzDecoder::new(tarball);
    io::copy(&mut inflated.by_ref(), &mut io::sink())
}

/// `[[id, resource], …]` of all canonicals.
fn rows(package: &TestPackage) -> Outcome<String> {
    let tarball = migrations::package::testing::InMemoryTarball(package.pack_tarball()?.into());
    let mut rows = Vec::with_capacity(CANONICALS);
    visit_package_canonicals(tarball.open_reader()?, |canonical| {
        rows.push(json!([canonical.key.id.as_str(), canonical.resource]));
        ControlFlow::Continue(())
    })?;
    Ok(Value::Array(rows).to_string())
}

fn tell(engine: &str, limit: Duration, ours: Duration) {
    println!("{engine} {:.1} {:.1}", limit.as_secs_f64() * 1e3, ours.as_secs_f64() * 1e3);
}
