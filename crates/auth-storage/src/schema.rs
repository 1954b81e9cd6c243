//! The schema: numbered files, one folder per engine, applied once each and in order.
//!
//! The files are part of the program, so a node needs nothing but itself to start. All that are
//! missing are applied in one transaction, under a lock that every node takes.
//!
//! These are the tables of this server. The crate `migrations` is another thing: the startup
//! migrations that users write.

use sql_engines::{Dialect, On, OpenError, run};

use crate::db::Db;
use crate::dialect::Sql;
use crate::engine::Tx;
use crate::resources::watch_all;

/// One schema file.
struct File {
    number: i64,
    name: &'static str,
    postgres: &'static str,
    sqlite: &'static str,
}

macro_rules! file {
    ($number:literal, $name:literal) => {
        File {
            number: $number,
            name: $name,
            postgres: include_str!(concat!("../../../migrations/auth/postgres/", $name)),
            sqlite: include_str!(concat!("../../../migrations/auth/sqlite/", $name)),
        }
    };
}

/// Append-only: a file that was released never changes.
const FILES: &[File] = &[
    file!(1, "0001_resources.sql"),
    file!(2, "0002_security_revision.sql"),
    file!(3, "0003_replay.sql"),
    file!(4, "0004_tokens.sql"),
    file!(5, "0005_keys.sql"),
    file!(6, "0006_client_deletions.sql"),
    file!(7, "0007_user_logins.sql"),
    file!(8, "0008_browser_session.sql"),
    file!(9, "0009_member_grant.sql"),
    file!(10, "0010_authorization_code.sql"),
    file!(11, "0011_token_family.sql"),
    file!(12, "0012_parties_gone.sql"),
    file!(13, "0013_fhir_package.sql"),
    file!(14, "0014_sql_script.sql"),
    file!(15, "0015_audit_event.sql"),
    file!(16, "0016_search.sql"),
    file!(17, "0017_history_order.sql"),
    file!(18, "0018_bulk_job.sql"),
    file!(19, "0019_time_order.sql"),
    file!(20, "0020_documents_once.sql"),
    file!(21, "0021_refused_scopes.sql"),
    file!(22, "0022_texts_by_resource.sql"),
    file!(23, "0023_audit_event_index.sql"),
    file!(24, "0024_package_conformance.sql"),
    file!(25, "0025_server_health.sql"),
    file!(26, "0026_search_order.sql"),
    file!(27, "0027_absolute_references.sql"),
];

/// Whether the database has the table below. Creating it `IF NOT EXISTS` would make Postgres log a notice at every start.
static HAS_SCHEMA: Sql = Sql::new("{has_table:schema_file}");
const CREATE: &str = "CREATE TABLE schema_file (
    number BIGINT PRIMARY KEY,
    name TEXT NOT NULL
)";
const NEWEST: &str = "SELECT coalesce(max(number), 0) FROM schema_file";
const RECORD: &str = "INSERT INTO schema_file (number, name) VALUES ($1, $2)";

/// Key of the lock below; any constant does.
const SCHEMA_LOCK: i64 = 0x6175_7468_7363_6865;
static LOCK: Sql = Sql::new("SELECT pg_advisory_xact_lock($1)");

/// Applies the files that are missing.
pub(crate) async fn apply(db: &Db) -> Result<(), OpenError> {
    let mut tx = db.begin().await.map_err(OpenError::Connect)?;
    let newest = lock_and_read(&mut tx).await.map_err(OpenError::Connect)?;
    let known = FILES.last().map_or(0, |file| file.number);
    if newest > known {
        return Err(OpenError::NewerSchema { found: newest, known });
    }
    for file in FILES.iter().filter(|file| file.number > newest) {
        apply_file(&mut tx, file).await.map_err(|source| OpenError::Schema { name: file.name, source })?;
    }
    watch_all(&mut tx).await.map_err(OpenError::Connect)?;
    tx.commit().await.map_err(OpenError::Connect)
}

/// Returns whether a server has prepared the database before.
pub(crate) async fn is_there(db: &Db) -> Result<bool, sqlx::Error> {
    run!(db.reader(), fetch_one: sqlx::query_scalar(HAS_SCHEMA.on(db.dialect())))
}

/// Returns the number of the newest file applied, read when no other node is applying any. On SQLite the transaction
/// itself is that lock.
async fn lock_and_read(tx: &mut Tx) -> Result<i64, sqlx::Error> {
    if let On::Postgres(connection) = tx.on() {
        sqlx::query(LOCK.on(Dialect::Postgres)).bind(SCHEMA_LOCK).execute(connection).await?;
    }
    let has_schema = HAS_SCHEMA.on(tx.dialect());
    let has_schema: bool = run!(tx.on(), fetch_one: sqlx::query_scalar(has_schema.clone()))?;
    if !has_schema {
        run!(tx.on(), execute: sqlx::query(CREATE))?;
    }
    run!(tx.on(), fetch_one: sqlx::query_scalar(NEWEST))
}

async fn apply_file(tx: &mut Tx, file: &File) -> Result<(), sqlx::Error> {
    let text = match tx.dialect() {
        Dialect::Postgres => file.postgres,
        Dialect::Sqlite => file.sqlite,
    };
    run!(tx.on(), execute: sqlx::raw_sql(text))?;
    run!(tx.on(), execute: sqlx::query(RECORD).bind(file.number).bind(file.name))?;
    tracing::info!(file = file.name, "schema file applied");
    Ok(())
}
