//! What nobody goes below who reads, searches or writes resources: the same by a bare statement on one
//! connection, in a database that `auth-server` filled. On SQLite it is a copy of that: what another program writes
//! empties the memory for pages of the server, and no deployment has one that does.
//!
//! `cargo xtask bench fhir` starts it and asks line by line: a kind of work and how many operations. A line
//! of answer is the CPU of one operation in microseconds, that of the database's own process included, then
//! its time on the clock. `settle` comes first and has Postgres look at what was written, as it does by itself
//! after a while. SQLite looks at nothing unless it is told, and the server does not tell it: after an `ANALYZE` this
//! build of SQLite plans every statement anew for every value, here and in the server. It ends when nobody asks any
//! more.
//!
//! There are two limits of a write: `insert` is 32 rows in a table of its own, `rows` is all rows that the server
//! writes for 32 Observations ([`copies`]), in one transaction.

mod copies;

use std::collections::HashMap;
use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead as _, stdin};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqlSafeStr as _, SqliteConnection};

use copies::{Copies, TABLES};

/// Patients there are; each has as many Observations, and as many share a code.
const PATIENTS: usize = 4_000;
const OBSERVATIONS: usize = 20;
/// Rows of one insertion.
const BATCH: usize = 32;
/// Room for the numbers of the rows of one type.
const OF_A_TYPE: i64 = 1 << 20;

/// Where the rows of Observations begin, then the numbers of those of its code and its subject. The rows of a
/// composite have a blank in their ids, and are none of a resource.
const FROM: &str = "SELECT number * 1048576 FROM search_type WHERE kind = 'Observation' AND state = 'ready'";
const CODE: &str = "SELECT parameter FROM search_token WHERE parameter >= $1 AND code = 'c0007' AND id NOT LIKE '% %'
ORDER BY parameter LIMIT 1";
const SUBJECT: &str =
    "SELECT parameter FROM search_reference WHERE parameter >= $1 AND target = 'p0007' ORDER BY parameter LIMIT 1";
const DOCUMENTS: &str = "SELECT id, CAST(resource AS TEXT) FROM observation";
const READ: &str = "SELECT id, txid, resource FROM observation WHERE id = $1";
const BY_TOKEN: &str = "SELECT t.id, t.txid, t.resource FROM observation t WHERE t.id IN (
    SELECT i.id FROM search_token i WHERE i.parameter = $1 AND i.code = $2) ORDER BY t.id LIMIT 20";
const BY_REFERENCE: &str = "SELECT t.id, t.txid, t.resource FROM observation t WHERE t.id IN (
    SELECT i.id FROM search_reference i WHERE i.parameter = $1 AND i.target = $2 AND i.kind = 'Patient')
ORDER BY t.id LIMIT 20";

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Answers on one connection what is asked for, until nobody asks.
macro_rules! serve {
    (
        $session:expr, settle: $settle:literal, insert: $insert:literal, begin: $begin:literal, array: $array:literal,
        rows: $rows:ident, backend: $backend:expr
    ) => {{
        let session = $session;
        let (mut done, mut code, mut subject, mut copies) = (0_usize, 0_i64, 0_i64, Copies::default());
        for line in stdin().lock().lines() {
            let line = line?;
            let (work, count) = line.split_once(' ').ok_or("a work and a number")?;
            let count: usize = count.parse()?;
            let batches: Vec<String> =
                if work == "insert" { (0..count).map(|_| batch()).collect() } else { Vec::new() };
            let mut copied = Vec::new();
            for _ in 0..if work == "rows" { count } else { 0 } {
                copied.push(copies.$rows(BATCH)?);
            }
            let mut copied = copied.into_iter();
            let spent = Spent::start($backend)?;
            for n in done..done + count {
                let patient = n.wrapping_mul(7) % PATIENTS;
                match work {
                    "settle" => {
                        sqlx::query($settle).execute(&mut *session).await?;
                        let from: i64 = sqlx::query_scalar(FROM).fetch_one(&mut *session).await?;
                        code = sqlx::query_scalar(CODE).bind(from).fetch_one(&mut *session).await?;
                        subject = sqlx::query_scalar(SUBJECT).bind(from).fetch_one(&mut *session).await?;
                        let documents = sqlx::query_as(DOCUMENTS).fetch_all(&mut *session).await?;
                        copies = Copies::of(sources(documents)?);
                        for (table, of) in TABLES.iter().enumerate() {
                            let sql = AssertSqlSafe(of.select($array)).into_sql_str();
                            let asked = sqlx::query_scalar(sql).bind(from).bind(from + OF_A_TYPE);
                            let rows: Vec<String> = asked.fetch_all(&mut *session).await?;
                            rows.iter().try_for_each(|row| copies.take_row(table, row))?;
                        }
                    }
                    "read" => {
                        let id = format!("o{patient:04}-{}", n % OBSERVATIONS);
                        black_box(sqlx::query(READ).bind(id).fetch_one(&mut *session).await?);
                    }
                    "token" => {
                        let asked = sqlx::query(BY_TOKEN).bind(code).bind(format!("c{patient:04}"));
                        check(asked.fetch_all(&mut *session).await?.len())?;
                    }
                    "reference" => {
                        let asked = sqlx::query(BY_REFERENCE).bind(subject).bind(format!("p{patient:04}"));
                        check(asked.fetch_all(&mut *session).await?.len())?;
                    }
                    "insert" => {
                        let rows = batches.get(n - done).ok_or("there is no batch")?;
                        sqlx::query($insert).bind(rows).execute(&mut *session).await?;
                    }
                    "rows" => {
                        sqlx::raw_sql($begin).execute(&mut *session).await?;
                        for (sql, arguments) in copied.next().ok_or("there are no rows")? {
                            let sql = AssertSqlSafe(sql).into_sql_str();
                            sqlx::query_with(sql, arguments).execute(&mut *session).await?;
                        }
                        sqlx::raw_sql("COMMIT").execute(&mut *session).await?;
                    }
                    _ => return Err(format!("there is no work {work}").into()),
                }
            }
            println!("{}", spent.each(count)?);
            done += count;
        }
        Ok(())
    }};
}

fn main() -> Outcome<()> {
    let Some(database) = database() else {
        println!("`cargo xtask bench fhir` asks it");
        return Ok(());
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        if database.starts_with("postgres") { serve_postgres(&database).await } else { serve_sqlite(&database).await }
    })
}

/// The file or the address of the database.
#[expect(clippy::disallowed_methods, reason = "the one place where this bench is configured")]
fn database() -> Option<String> {
    std::env::var("BENCH_DATABASE").ok()
}

async fn serve_sqlite(file: &str) -> Outcome<()> {
    let copy = Path::new(file).with_file_name("bare.db");
    copy_settled(file, &copy).await?;
    let options = SqliteConnectOptions::new()
        .filename(copy)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        // As the server has them.
        .pragma("wal_autocheckpoint", "8192")
        .pragma("cache_size", "-16384")
        .busy_timeout(Duration::from_secs(10));
    let mut session = SqliteConnection::connect_with(&options).await?;
    sqlx::query("CREATE TABLE bare (id TEXT PRIMARY KEY NOT NULL, txid BIGINT, ts BIGINT, resource TEXT NOT NULL)")
        .execute(&mut session)
        .await?;
    serve!(
        &mut session,
        settle: "SELECT 1",
        insert: "INSERT INTO bare SELECT e.value ->> 0, 1, 1, e.value -> 1 FROM json_each($1) AS e",
        begin: "BEGIN IMMEDIATE",
        array: "json_array",
        rows: bound,
        backend: None
    )
}

/// Copies a database of which nobody writes anything now.
async fn copy_settled(file: &str, copy: &Path) -> Outcome<()> {
    let mut session = SqliteConnection::connect_with(&SqliteConnectOptions::new().filename(file)).await?;
    sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut session).await?;
    session.close().await?;
    fs::copy(file, copy)?;
    Ok(())
}

async fn serve_postgres(url: &str) -> Outcome<()> {
    let mut session = PgConnection::connect(url).await?;
    sqlx::query("CREATE TABLE bare (id TEXT PRIMARY KEY, txid BIGINT, ts TIMESTAMPTZ, resource JSONB NOT NULL)")
        .execute(&mut session)
        .await?;
    let backend: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut session).await?;
    serve!(
        &mut session,
        settle: "VACUUM ANALYZE",
        insert: "INSERT INTO bare SELECT e.value ->> 0, 1, now(), e.value -> 1
            FROM jsonb_array_elements($1::TEXT::JSONB) AS e (value)",
        begin: "BEGIN",
        array: "json_build_array",
        rows: in_arrays,
        backend: Some(backend)
    )
}

/// The resources that are copied: of the patients and places that the server is sent, in the same order.
fn sources(documents: Vec<(String, String)>) -> Outcome<Vec<(String, String)>> {
    let mut documents: HashMap<String, String> = documents.into_iter().collect();
    let wanted = (1..=PATIENTS).map(|n| {
        let id = format!("o{:04}-{}", n % PATIENTS, n % OBSERVATIONS);
        documents.remove_entry(&id).ok_or_else(|| format!("there is no Observation {id}").into())
    });
    wanted.collect()
}

/// `[[id, resource], …]` of new Observations, like those that the server is sent.
fn batch() -> String {
    let observation = |n: usize| {
        let code = json!([{"system": "http://loinc.example", "code": format!("c{n:04}"), "display": format!("Measurement {n}")}]);
        let category = "http://terminology.hl7.org/CodeSystem/observation-category";
        json!({
            "status": "final",
            "category": [{"coding": [{"system": category, "code": "laboratory", "display": "Laboratory"}]}],
            "code": {"coding": code, "text": format!("Measurement {n}")},
            "subject": {"reference": format!("Patient/p{n:04}")},
            "encounter": {"reference": format!("Encounter/e{n:04}")},
            "effectiveDateTime": "2024-03-04T08:00:00Z",
            "issued": "2024-03-04T10:00:00Z",
            "valueQuantity": {"value": n, "unit": "mg/dL", "system": "http://unitsofmeasure.org", "code": "mg/dL"},
        })
    };
    let rows = (0..BATCH).map(|n| json!([uuid::Uuid::new_v4().to_string(), observation(n)]));
    Value::Array(rows.collect()).to_string()
}

fn check(found: usize) -> Outcome<()> {
    if found == OBSERVATIONS { Ok(()) } else { Err(format!("a search found {found} resources").into()) }
}

/// What was spent from a moment on.
struct Spent {
    backend: Option<i32>,
    cpu_ns: u64,
    began: Instant,
}

impl Spent {
    fn start(backend: Option<i32>) -> io::Result<Self> {
        Ok(Self { backend, cpu_ns: cpu_ns(backend)?, began: Instant::now() })
    }

    /// CPU and time of each of so many operations, in microseconds.
    fn each(&self, count: usize) -> io::Result<String> {
        let (clock, cpu_ns) = (self.began.elapsed(), cpu_ns(self.backend)?.saturating_sub(self.cpu_ns));
        let each = |spent: Duration| spent.as_secs_f64() * 1e6 / f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        Ok(format!("{:.3} {:.3}", each(Duration::from_nanos(cpu_ns)), each(clock)))
    }
}

/// CPU of this process and of the database's, as the kernel counts it for each thread.
fn cpu_ns(backend: Option<i32>) -> io::Result<u64> {
    let mut ns = threads_ns("self")?;
    if let Some(backend) = backend {
        ns += threads_ns(&backend.to_string())?;
    }
    Ok(ns)
}

fn threads_ns(process: &str) -> io::Result<u64> {
    let mut ns = 0;
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        let stat = fs::read_to_string(thread?.path().join("schedstat"))?;
        ns += stat.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(ns)
}
