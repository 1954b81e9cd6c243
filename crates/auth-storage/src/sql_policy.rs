//! The questions of access policies of engine `sql`: what an administrator wrote, asked read-only.
//!
//! Whoever writes such a policy can ask anything of the whole database, as a migration can do anything to it;
//! so the administrator alone writes them. What is kept off here is an accident: nothing can be written,
//! and a question that takes long is answered with no. Values of the request are bound, never text.
//!
//! A question costs a transaction of its own on Postgres, and on SQLite a connection of its own, because a limit
//! of time there belongs to the connection and must not outlive a caller who goes away.

use std::time::{Duration, Instant};

use oauth_core::access_policies::BoundSqlPolicyQuery;
use sql_engines::PerEngine;
use sqlx::postgres::{PgPool, PgRow};
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Column as _, Connection as _, Row as _, SqliteConnection, TypeInfo as _, ValueRef as _};

use crate::db::AuthDatabase;
use crate::readers::Readers;

/// How long a question may take. Not specified; a quarter of a second, because every request of the callers a policy
/// applies to may wait for it.
const TIME_LIMIT: Duration = Duration::from_millis(250);
/// The same on Postgres.
const LIMIT_TIME: &str = "SET LOCAL statement_timeout = 250";
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY";
/// Steps of SQLite between two looks at the clock: some microseconds.
const STEPS: i32 = 1000;

/// Returns whether the first column of the first row says yes: `true` or 1.
pub(crate) async fn answer(db: &AuthDatabase, question: &BoundSqlPolicyQuery) -> Result<bool, sqlx::Error> {
    // As a part of a larger statement it is one SELECT and nothing else.
    let sql = format!("SELECT * FROM (\n{}\n) AS question LIMIT 1", question.sql);
    match db.reader() {
        PerEngine::Postgres(pool) => on_postgres(pool, sql, &question.values).await,
        PerEngine::Sqlite(readers) => on_sqlite(readers, sql, &question.values).await,
    }
}

async fn on_postgres(pool: &PgPool, sql: String, values: &[Option<String>]) -> Result<bool, sqlx::Error> {
    let mut tx = pool.begin_with(BEGIN).await?;
    sqlx::query(LIMIT_TIME).execute(&mut *tx).await?;
    // Not kept prepared: names in it come from the request.
    let asked = sqlx::query(AssertSqlSafe(sql)).persistent(false);
    let row = values.iter().fold(asked, sqlx::query::Query::bind).fetch_optional(&mut *tx).await;
    tx.rollback().await?;
    Ok(row?.is_some_and(|row| postgres_says_yes(&row)))
}

fn postgres_says_yes(row: &PgRow) -> bool {
    let Ok(column) = row.try_column(0) else { return false };
    match column.type_info().name() {
        "BOOL" => row.try_get::<Option<bool>, _>(0).is_ok_and(|value| value == Some(true)),
        "INT2" => row.try_get::<Option<i16>, _>(0).is_ok_and(|value| value == Some(1)),
        "INT4" => row.try_get::<Option<i32>, _>(0).is_ok_and(|value| value == Some(1)),
        "INT8" => row.try_get::<Option<i64>, _>(0).is_ok_and(|value| value == Some(1)),
        _ => false,
    }
}

async fn on_sqlite(readers: &Readers, sql: String, values: &[Option<String>]) -> Result<bool, sqlx::Error> {
    // These options are those of connections that only read.
    let mut connection = SqliteConnection::connect_with(readers.options()).await?;
    let began = Instant::now();
    connection.lock_handle().await?.set_progress_handler(STEPS, move || began.elapsed() < TIME_LIMIT);
    let asked = sqlx::query(AssertSqlSafe(sql)).persistent(false);
    let row = values.iter().fold(asked, sqlx::query::Query::bind).fetch_optional(&mut connection).await;
    connection.close().await?;
    Ok(row?.is_some_and(|row| sqlite_says_yes(&row)))
}

/// SQLite has no truth but 1.
fn sqlite_says_yes(row: &SqliteRow) -> bool {
    let is_whole = row.try_get_raw(0).is_ok_and(|value| matches!(value.type_info().name(), "INTEGER" | "BOOLEAN"));
    is_whole && row.try_get_unchecked::<i64, _>(0).is_ok_and(|value| value == 1)
}
