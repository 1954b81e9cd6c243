//! The schema: numbered files, one folder per engine, applied once each and in order.
//!
//! The files are part of the program, so a node needs nothing but itself to start. All that are
//! missing are applied in one transaction, under a lock that every node takes.

use sql_engines::{Dialect, On, OpenError};

use crate::db::Db;
use crate::dialect::Sql;
use crate::engine::{Tx, run};

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
            postgres: include_str!(concat!("../../../migrations/chat/postgres/", $name)),
            sqlite: include_str!(concat!("../../../migrations/chat/sqlite/", $name)),
        }
    };
}

/// Append-only: a file that was released never changes.
const FILES: &[File] = &[
    file!(1, "0001_log.sql"),
    file!(2, "0002_queues.sql"),
    file!(3, "0003_messages.sql"),
    file!(4, "0004_own_copies.sql"),
    file!(5, "0005_presence.sql"),
    file!(6, "0006_unsent.sql"),
    file!(7, "0007_invitations.sql"),
    file!(8, "0008_words.sql"),
    file!(9, "0009_submessages.sql"),
    file!(10, "0010_uploads.sql"),
    file!(11, "0011_push.sql"),
    file!(12, "0012_bot_storage.sql"),
    file!(13, "0013_import.sql"),
    file!(14, "0014_push_sent.sql"),
    file!(15, "0015_flag_sets.sql"),
    file!(16, "0016_read_set_room.sql"),
    file!(17, "0017_word_properties.sql"),
    file!(18, "0018_server_health.sql"),
    file!(19, "0019_narrow_indexes.sql"),
    file!(20, "0020_encrypted_secrets.sql"),
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
const SCHEMA_LOCK: i64 = 0x6368_6174_7363_6865;
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
    tx.commit().await.map_err(OpenError::Connect)
}

/// Returns whether a server has prepared the database before.
pub(crate) async fn is_there(db: &Db) -> Result<bool, sqlx::Error> {
    run!(db.reader(), fetch_one: sqlx::query_scalar(HAS_SCHEMA.on(db.dialect())))
}

/// Returns the number of the newest file applied, read when no other node is applying any. On SQLite the transaction
/// itself is that lock.
async fn lock_and_read(tx: &mut Tx) -> Result<i64, sqlx::Error> {
    if let On::Postgres(session) = tx.on() {
        sqlx::query(LOCK.on(Dialect::Postgres)).bind(SCHEMA_LOCK).execute(session.connection).await?;
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
