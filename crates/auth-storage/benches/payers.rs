//! What an export and a member match cost on 100,000 patients, beside what nobody goes below: `COPY … TO STDOUT` of the
//! same rows (on SQLite reading all of each), and a query for each of 1,000 members by the index that finds them.
//!
//! Prints a line per engine and kind: engine, `export` or `match`, the limit and ours, both in milliseconds on the
//! clock, the quickest of several rounds; and `statements`, how many of them there are in one match, beside one for
//! each member. Postgres takes part when `TEST_DATABASE_URL` names a server.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use auth_storage::{AuthDatabase, JobQueue, JobQueueConfig};
use futures_util::TryStreamExt as _;
use payer_exchange::bulk_export::{ElementSelection, ExportSubjects, ExportWork, ExportedType};
use payer_exchange::jobs::{JobState, JobStore as _, JobWork, NewJob};
use payer_exchange::member_match::{MatchWork, MemberIdentifierRule, SubmittedMember};
use payer_exchange::{MatchRequesterKind, RequestingOrganization};
use serde_json::{Value, json};
use sqlx::postgres::PgPoolCopyExt as _;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, Connection as _, FromRow, PgConnection, PgPool, SqliteConnection};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, Subscriber, set_global_default};
use tracing::{Event, Metadata};

const PATIENTS: usize = 100_000;
const MEMBERS: usize = 1_000;
const ROUNDS: usize = 3;
const POLL: Duration = Duration::from_millis(5);
/// What `COPY` tells of a row on Postgres: all of its columns.
const WHOLE_ROWS: &str = "SELECT id, txid, ts, resource FROM patient ORDER BY id";
/// 2026-01-01T00:00:00Z.
const NOW_US: i64 = 1_767_225_600_000_000;

/// As the server allocates.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Counts what the driver says about statements, while it is told to.
struct Statements;

static COUNTS: AtomicBool = AtomicBool::new(false);
static COUNTED: AtomicU64 = AtomicU64::new(0);

impl Subscriber for Statements {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        COUNTS.load(Ordering::Relaxed) && metadata.target() == "sqlx::query"
    }

    fn event(&self, _: &Event<'_>) {
        COUNTED.fetch_add(1, Ordering::Relaxed);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn main() -> Outcome<()> {
    set_global_default(Statements)?;
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        on_sqlite().await?;
        if let Some(url) = server() {
            on_postgres(&url).await?;
        }
        Ok(())
    })
}

#[expect(clippy::disallowed_methods, reason = "the one place where this bench is configured")]
fn server() -> Option<String> {
    std::env::var("TEST_DATABASE_URL").ok()
}

fn birth_date(number: usize) -> String {
    format!("{}-{:02}-{:02}", 1940 + number % 70, 1 + number / 70 % 12, 1 + number / 840 % 28)
}

fn patient(number: usize) -> Value {
    json!({
        "name": [{"family": format!("Family{number}"), "given": ["Ann", "Maria"]}], "gender": "female",
        "birthDate": birth_date(number), "active": true,
        "identifier": [{"system": "http://payer.example/member", "value": format!("m{number}")}],
        "address": [{"line": [format!("{number} Main Street")], "city": "Springfield", "postalCode": "01101"}],
        "telecom": [{"system": "phone", "value": format!("555-{number:07}"), "use": "home"}],
        "text": {"status": "generated", "div": format!("<div>{}</div>", "Patient. ".repeat(40))},
    })
}

/// `[[id, resource], …]`.
fn rows(from: usize) -> String {
    Value::Array((from..from + 1000).map(|n| json!([format!("p{n:06}"), patient(n)])).collect()).to_string()
}

async fn on_sqlite() -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let db = AuthDatabase::open(None, folder.path(), 4).await?;
    let options = SqliteConnectOptions::new().filename(folder.path().join("auth.db"));
    let mut session = SqliteConnection::connect_with(&options).await?;
    for from in (0..PATIENTS).step_by(1000) {
        sqlx::query(
            "INSERT INTO patient (id, ts, resource) SELECT e.value ->> 0, 1, e.value -> 1 FROM json_each($1) AS e",
        )
        .bind(rows(from))
        .execute(&mut session)
        .await?;
    }
    let mut limits = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let mut all = sqlx::query(WHOLE_ROWS).fetch(&mut session);
        while let Some(row) = all.try_next().await? {
            let whole: (String, i64, i64, String) = FromRow::from_row(&row)?;
            black_box(whole);
        }
        drop(all);
        limits[0] = limits[0].min(began.elapsed());
        let began = Instant::now();
        for n in 0..MEMBERS {
            let by_date = "SELECT resource FROM patient WHERE CASE WHEN json_valid(resource) THEN resource ->> 'birthDate' END = $1";
            let found: Vec<String> = sqlx::query_scalar(by_date).bind(birth_date(n)).fetch_all(&mut session).await?;
            assert!(!found.is_empty());
        }
        limits[1] = limits[1].min(began.elapsed());
    }
    tell("SQLite", limits, ours(&db).await?);
    db.close().await;
    Ok(())
}

async fn on_postgres(server: &str) -> Outcome<()> {
    let name = format!("bench_payers_{}", std::process::id());
    let mut admin = PgConnection::connect(server).await?;
    sqlx::query(AssertSqlSafe(format!("CREATE DATABASE {name} TEMPLATE template0"))).execute(&mut admin).await?;
    let mut url = url::Url::parse(server)?;
    url.set_path(&name);
    let folder = tempfile::tempdir()?;
    let db = AuthDatabase::open(Some(url.as_str()), folder.path(), 4).await?;
    let pool = PgPool::connect(url.as_str()).await?;
    for from in (0..PATIENTS).step_by(1000) {
        sqlx::query(
            "INSERT INTO patient (id, ts, resource) SELECT e.value ->> 0, to_timestamp(1), e.value -> 1
            FROM jsonb_array_elements($1::TEXT::JSONB) AS e (value)",
        )
        .bind(rows(from))
        .execute(&pool)
        .await?;
    }
    sqlx::query("ANALYZE patient").execute(&pool).await?;
    let mut limits = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let mut copied = pool.copy_out_raw("COPY patient TO STDOUT").await?;
        while copied.try_next().await?.is_some() {}
        drop(copied);
        limits[0] = limits[0].min(began.elapsed());
        let began = Instant::now();
        for n in 0..MEMBERS {
            let by_date = "SELECT resource::TEXT FROM patient WHERE resource ->> 'birthDate' = $1";
            let found: Vec<String> = sqlx::query_scalar(by_date).bind(birth_date(n)).fetch_all(&pool).await?;
            assert!(!found.is_empty());
        }
        limits[1] = limits[1].min(began.elapsed());
    }
    tell("Postgres", limits, ours(&db).await?);
    db.close().await;
    pool.close().await;
    sqlx::query(AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"))).execute(&mut admin).await?;
    Ok(())
}

/// The quickest export of all patients and the quickest match, each from its kick-off until it is complete, and the
/// statements of one match.
async fn ours(db: &AuthDatabase) -> Outcome<([Duration; 2], u64)> {
    let settings = JobQueueConfig {
        fhir_base: "http://payer.example/fhir".to_owned(),
        correct_format: true,
        at_once: 1,
        now_us: Arc::new(|| NOW_US),
    };
    let jobs = JobQueue::start(db.clone(), settings);
    let mut quickest = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        for (quickest, work) in quickest.iter_mut().zip([export(), matching()]) {
            *quickest = (*quickest).min(done(&jobs, work, POLL).await?);
        }
    }
    // Asked once it must be complete, so that nothing else is counted.
    COUNTS.store(true, Ordering::Relaxed);
    done(&jobs, matching(), quickest[1] * 4 + Duration::from_secs(1)).await?;
    jobs.stop_and_release_jobs().await;
    Ok((quickest, COUNTED.load(Ordering::Relaxed)))
}

/// How long it takes until work is complete, asking in these intervals.
async fn done(jobs: &JobQueue, work: JobWork, poll: Duration) -> Outcome<Duration> {
    let job = NewJob { owner: "bench".to_owned(), url: String::new(), work };
    let began = Instant::now();
    let id = jobs.enqueue(job, NOW_US).await??;
    loop {
        tokio::time::sleep(poll).await;
        let job = jobs.find_job(&id, "bench").await?.ok_or("the job is gone")?;
        match job.state {
            JobState::Completed => break,
            JobState::Failed => return Err("the job failed".into()),
            JobState::Requested | JobState::Running => {}
        }
    }
    let took = began.elapsed();
    COUNTS.store(false, Ordering::Relaxed);
    jobs.cancel_or_delete_job(&id, "bench", NOW_US).await?;
    Ok(took)
}

fn export() -> JobWork {
    let types = vec![ExportedType {
        resource_type: "Patient".to_owned(),
        within: Vec::new(),
        elements: Vec::new(),
        ownership: None,
    }];
    let subjects = ExportSubjects::Everything;
    JobWork::Export(ExportWork {
        types,
        subjects,
        since_us: None,
        until_us: None,
        consent: None,
        shape: ElementSelection::Whole,
    })
}

fn matching() -> JobWork {
    let sensitive = "http://hl7.org/fhir/us/davinci-hrex/StructureDefinition-hrex-consent.html#sensitive";
    let role =
        json!({"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v3-ParticipationType", "code": "IRCP"}]});
    let consent = json!({
        "resourceType": "Consent", "status": "active", "policy": [{"uri": sensitive}],
        "provision": {
            "period": {"start": "2000"}, "actor": [{"role": role, "reference": {"reference": "Organization/b"}}],
        },
    });
    let member =
        |n: usize| SubmittedMember { patient: patient(n), coverage: json!({}), consent: Some(consent.clone()) };
    let organization = Some("b".to_owned());
    let requester = RequestingOrganization { system: "s".to_owned(), value: "v".to_owned(), organization };
    let members = (0..MEMBERS).map(|n| member(n * 97)).collect();
    JobWork::Match(Box::new(MatchWork {
        kind: MatchRequesterKind::Payer,
        requester,
        members,
        within: Vec::new(),
        identifier: MemberIdentifierRule::Optional,
    }))
}

fn tell(engine: &str, limits: [Duration; 2], (ours, statements): ([Duration; 2], u64)) {
    for ((kind, limit), ours) in ["export", "match"].into_iter().zip(limits).zip(ours) {
        println!("{engine} {kind} {:.1} {:.1}", limit.as_secs_f64() * 1e3, ours.as_secs_f64() * 1e3);
    }
    println!("{engine} statements {MEMBERS} {statements}");
}
