//! Makes a database of resources larger than writing them through a server could in the time of a bench.
//!
//! `cargo xtask bench fhir` starts it with the database of a server that has some resources, and sends it a size, such
//! as `copies 10`: then there are ten of everything, each of the further ones with other ids, codes and identifiers and
//! with dates a little later, as many patients would have. It answers with what that took and ends when its input does.

use std::error::Error;
use std::io::{BufRead as _, stdin};
use std::time::{Duration, Instant};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Copies that are made in one transaction.
const AT_ONCE: usize = 5;
const TABLES: [&str; 5] = ["patient", "coverage", "encounter", "condition", "observation"];
/// Columns of the tables of the index, and what a copy `n` has there.
const ROWS: [(&str, &str, &str); 5] = [
    (
        "search_token",
        "parameter, code, id, system",
        "parameter, CASE WHEN substr(code, 1, 2) IN ('c0', 'c1', 'c2', 'c3', 'M0') THEN code || '.' || n ELSE code END,
'g' || n || '.' || id, system",
    ),
    (
        "search_reference",
        "parameter, target, id, kind",
        "parameter, 'g' || n || '.' || target, 'g' || n || '.' || id, kind",
    ),
    ("search_string", "parameter, folded, id, exact", "parameter, folded, 'g' || n || '.' || id, exact"),
    ("search_range", "parameter, id, low, high", "parameter, 'g' || n || '.' || id, low + n, high + n"),
    (
        "search_quantity",
        "parameter, id, low, high, code, system",
        "parameter, 'g' || n || '.' || id, low + n, high + n, code, system",
    ),
];

/// What is copied, set aside before there are copies.
fn set_aside() -> Vec<String> {
    let tables = TABLES.into_iter().chain(ROWS.map(|(table, ..)| table));
    tables.map(|table| format!("CREATE TABLE IF NOT EXISTS base_{table} AS SELECT * FROM {table}")).collect()
}

/// Makes the copies from a number to before another.
fn copies(from: usize, to: usize) -> Vec<String> {
    let numbers = format!("WITH RECURSIVE g (n) AS (SELECT {from} UNION ALL SELECT n + 1 FROM g WHERE n + 1 < {to})");
    let resources = TABLES.map(|table| {
        format!(
            "{numbers} INSERT INTO {table} (id, txid, ts, resource)
SELECT 'g' || n || '.' || id, txid, ts, resource FROM g CROSS JOIN base_{table}"
        )
    });
    let rows = ROWS.map(|(table, columns, values)| {
        let key = columns.split(", ").take(3).collect::<Vec<_>>().join(", ");
        format!(
            "{numbers} INSERT INTO {table} ({columns}) SELECT {values} FROM g CROSS JOIN base_{table} ORDER BY {key}"
        )
    });
    resources.into_iter().chain(rows).collect()
}

macro_rules! serve {
    ($session:expr, settle: $settle:literal, begin: $begin:literal) => {{
        let session = $session;
        let mut there = 1;
        for line in stdin().lock().lines() {
            let line = line?;
            let (_, wanted) = line.split_once(' ').ok_or("a work and a number")?;
            let wanted: usize = wanted.parse()?;
            let began = Instant::now();
            for sql in set_aside() {
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *session).await?;
            }
            while there < wanted {
                let to = (there + AT_ONCE).min(wanted);
                sqlx::raw_sql($begin).execute(&mut *session).await?;
                for sql in copies(there, to) {
                    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *session).await?;
                }
                sqlx::raw_sql("COMMIT").execute(&mut *session).await?;
                there = to;
            }
            sqlx::raw_sql($settle).execute(&mut *session).await?;
            println!("0 {:.3}", began.elapsed().as_secs_f64() * 1e6);
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
    let options =
        SqliteConnectOptions::new().filename(file).pragma("cache_size", "-262144").busy_timeout(Duration::from_mins(1));
    let mut session = SqliteConnection::connect_with(&options).await?;
    serve!(&mut session, settle: "PRAGMA wal_checkpoint(TRUNCATE)", begin: "BEGIN IMMEDIATE")
}

async fn serve_postgres(url: &str) -> Outcome<()> {
    let mut session = PgConnection::connect(url).await?;
    serve!(&mut session, settle: "VACUUM ANALYZE", begin: "BEGIN")
}
