//! The schema of a server: numbered files, one folder per engine, applied once each and in order.
//!
//! The files are part of the program, so a node needs nothing but itself to start. All that are missing are applied in
//! one transaction, under a lock that every node takes. The database records the checksum of each, so a program that
//! has a different text under the same number does not start.
//!
//! **Decision:** this instead of `sqlx::migrate!`, which commits after each file, so that a failure leaves half an
//! upgrade; knows one engine per folder, so that equal numbers in both are for the caller to compare; and has a table
//! with a fixed name, which databases that exist do not have.

use aws_lc_rs::digest;
use sqlx::SqlStr;

use crate::dialect::{SqlDialect, SqlFragment, SqlFragments, SqlTemplate};
use crate::engine::{EngineConnection, PerEngine};
use crate::fault::DatabaseOpenError;
use crate::run;

/// One numbered schema file, with its text for either engine.
#[derive(Debug)]
pub struct SchemaFile {
    /// Its place in the order, from 1 on.
    pub number: i64,
    /// Its name without its folder, the same for both engines.
    pub name: &'static str,
    /// Its text for Postgres.
    pub postgres: &'static str,
    /// Its text for SQLite.
    pub sqlite: &'static str,
}

/// Lists the schema files in the folders `postgres` and `sqlite` of a folder, which is named from the file of the
/// caller: `schema_files!("../schema", 1 => "0001_first.sql")`.
#[macro_export]
macro_rules! schema_files {
    ($folder:literal, $($number:literal => $name:literal),+ $(,)?) => {
        &[$($crate::SchemaFile {
            number: $number,
            name: $name,
            postgres: include_str!(concat!($folder, "/postgres/", $name)),
            sqlite: include_str!(concat!($folder, "/sqlite/", $name)),
        }),+]
    };
}

/// The schema of a server's database: its numbered files and lock key.
#[derive(Debug)]
pub struct DatabaseSchema {
    /// Key of the advisory lock of Postgres under which nodes apply files; different for each server.
    pub lock: i64,
    /// The files by their numbers. Append-only: a file that was released never changes.
    pub files: &'static [SchemaFile],
}

struct SchemaFragments;

impl SqlFragments for SchemaFragments {
    const CRATE_FRAGMENTS: &'static [SqlFragment] = &[
        (
            "has_table",
            "SELECT to_regclass('@') IS NOT NULL",
            "SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = '@'",
        ),
        // Whether the table of schema files has a column.
        (
            "has_column",
            "SELECT EXISTS (SELECT 1 FROM pg_attribute
                WHERE attrelid = to_regclass('schema_file') AND attname = '@' AND NOT attisdropped)",
            "SELECT count(*) > 0 FROM pragma_table_info('schema_file') WHERE name = '@'",
        ),
    ];
}

/// Whether the database has the table below. Creating it `IF NOT EXISTS` would make Postgres log a notice at every
/// start.
static HAS_SCHEMA: SqlTemplate<SchemaFragments> = SqlTemplate::new("{has_table:schema_file}");
const CREATE: &str = "CREATE TABLE schema_file (
    number BIGINT PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT
)";
/// The column is missing, or a row has none, where a program applied the file that recorded no checksums.
static HAS_CHECKSUMS: SqlTemplate<SchemaFragments> = SqlTemplate::new("{has_column:checksum}");
const ADD_CHECKSUMS: &str = "ALTER TABLE schema_file ADD COLUMN checksum TEXT";
const APPLIED: &str = "SELECT number, checksum FROM schema_file ORDER BY number";
const RECORD: &str = "INSERT INTO schema_file (number, name, checksum) VALUES ($1, $2, $3)";
const RECORD_CHECKSUM: &str = "UPDATE schema_file SET checksum = $1 WHERE number = $2";
const LOCK: &str = "SELECT pg_advisory_xact_lock($1)";

impl DatabaseSchema {
    /// Returns the query for whether any schema file was ever applied to the database.
    pub fn exists_statement(dialect: SqlDialect) -> SqlStr {
        HAS_SCHEMA.text_for_dialect(dialect)
    }

    /// Applies the schema files that are missing, in the caller's transaction, while no other node applies any. On
    /// SQLite that transaction is the lock, so it must be a writing one.
    ///
    /// # Errors
    /// [`DatabaseOpenError::NewerSchema`], [`DatabaseOpenError::ChangedSchema`], [`DatabaseOpenError::Schema`] with the
    /// file that the engine refuses; [`DatabaseOpenError::Connect`] when the engine fails. The caller rolls back then.
    pub async fn apply_missing_files(&self, mut on: EngineConnection<'_>) -> Result<(), DatabaseOpenError> {
        let applied = self.lock_and_read(&mut on).await.map_err(DatabaseOpenError::Connect)?;
        let newest = applied.last().map_or(0, |(number, _)| *number);
        let known = self.files.last().map_or(0, |file| file.number);
        if newest > known {
            return Err(DatabaseOpenError::NewerSchema { found: newest, known });
        }
        for (number, recorded) in applied {
            let Some(file) = self.files.iter().find(|file| file.number == number) else { continue };
            let checksum = file.checksum(on.dialect());
            match recorded {
                Some(recorded) if recorded != checksum => {
                    return Err(DatabaseOpenError::ChangedSchema { name: file.name });
                }
                Some(_) => {}
                None => {
                    run!(on.reborrow(), execute: sqlx::query(RECORD_CHECKSUM).bind(&checksum).bind(number))
                        .map_err(DatabaseOpenError::Connect)?;
                }
            }
        }
        for file in self.files.iter().filter(|file| file.number > newest) {
            file.apply(&mut on).await.map_err(|source| DatabaseOpenError::Schema { name: file.name, source })?;
        }
        Ok(())
    }

    /// Returns the numbers of the files that were applied, ascending, with their checksums.
    async fn lock_and_read(&self, on: &mut EngineConnection<'_>) -> Result<Vec<(i64, Option<String>)>, sqlx::Error> {
        if let PerEngine::Postgres(connection) = on.reborrow() {
            sqlx::query(LOCK).bind(self.lock).execute(connection).await?;
        }
        let has_schema = HAS_SCHEMA.text_for_dialect(on.dialect());
        let has_schema: bool = run!(on.reborrow(), fetch_one: sqlx::query_scalar(has_schema.clone()))?;
        if !has_schema {
            run!(on.reborrow(), execute: sqlx::query(CREATE))?;
            return Ok(Vec::new());
        }
        let has_checksums = HAS_CHECKSUMS.text_for_dialect(on.dialect());
        let has_checksums: bool = run!(on.reborrow(), fetch_one: sqlx::query_scalar(has_checksums.clone()))?;
        if !has_checksums {
            run!(on.reborrow(), execute: sqlx::query(ADD_CHECKSUMS))?;
        }
        run!(on.reborrow(), fetch_all: sqlx::query_as(APPLIED))
    }
}

impl SchemaFile {
    const fn text(&self, dialect: SqlDialect) -> &'static str {
        match dialect {
            SqlDialect::Postgres => self.postgres,
            SqlDialect::Sqlite => self.sqlite,
        }
    }

    /// Returns the SHA-256 of the text in hexadecimal. Lines of comments and the ends of lines do not count.
    fn checksum(&self, dialect: SqlDialect) -> String {
        let mut context = digest::Context::new(&digest::SHA256);
        for line in self.text(dialect).lines().map(str::trim_end).filter(|line| !line.trim_start().starts_with("--")) {
            context.update(line.as_bytes());
            context.update(b"\n");
        }
        hex::encode(context.finish())
    }

    async fn apply(&self, on: &mut EngineConnection<'_>) -> Result<(), sqlx::Error> {
        let dialect = on.dialect();
        run!(on.reborrow(), execute: sqlx::raw_sql(self.text(dialect)))?;
        let checksum = self.checksum(dialect);
        run!(on.reborrow(), execute: sqlx::query(RECORD).bind(self.number).bind(self.name).bind(&checksum))?;
        tracing::info!(file = self.name, "schema file applied");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use sqlx::sqlite::SqliteConnectOptions;
    use sqlx::{ConnectOptions as _, SqliteConnection};

    use super::*;

    const fn file(number: i64, name: &'static str, sqlite: &'static str) -> SchemaFile {
        SchemaFile { number, name, postgres: "", sqlite }
    }

    const FIRST: SchemaFile = file(1, "0001_a.sql", "-- Why.\nCREATE TABLE a (n BIGINT);\n");
    const BEFORE: DatabaseSchema = DatabaseSchema { lock: 1, files: &[FIRST] };
    const AFTER: DatabaseSchema =
        DatabaseSchema { lock: 1, files: &[FIRST, file(2, "0002_b.sql", "INSERT INTO a VALUES (1);")] };

    async fn database() -> SqliteConnection {
        SqliteConnectOptions::new().filename(":memory:").connect().await.unwrap()
    }

    async fn number(connection: &mut SqliteConnection, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(connection).await.unwrap()
    }

    #[tokio::test]
    async fn each_file_is_applied_once() {
        let mut connection = database().await;
        for schema in [BEFORE, AFTER, AFTER] {
            schema.apply_missing_files(PerEngine::Sqlite(&mut connection)).await.unwrap();
        }
        assert_eq!(number(&mut connection, "SELECT count(*) FROM a").await, 1);
        let refused = BEFORE.apply_missing_files(PerEngine::Sqlite(&mut connection)).await.unwrap_err();
        assert!(matches!(refused, DatabaseOpenError::NewerSchema { found: 2, known: 1 }), "{refused}");
    }

    #[tokio::test]
    async fn a_file_with_another_text_than_the_one_applied_is_refused_and_comments_do_not_count() {
        const CHANGED: &[SchemaFile] = &[file(1, "0001_a.sql", "CREATE TABLE a (n BIGINT, m BIGINT);")];
        const COMMENTED: &[SchemaFile] = &[file(1, "0001_a.sql", "CREATE TABLE a (n BIGINT);  \r\n  -- Why so.\r\n")];
        let mut connection = database().await;
        BEFORE.apply_missing_files(PerEngine::Sqlite(&mut connection)).await.unwrap();
        DatabaseSchema { lock: 1, files: COMMENTED }
            .apply_missing_files(PerEngine::Sqlite(&mut connection))
            .await
            .unwrap();
        let refused = DatabaseSchema { lock: 1, files: CHANGED }
            .apply_missing_files(PerEngine::Sqlite(&mut connection))
            .await
            .unwrap_err();
        assert!(matches!(refused, DatabaseOpenError::ChangedSchema { name: "0001_a.sql" }), "{refused}");
    }

    #[tokio::test]
    async fn a_file_that_the_engine_refuses_is_named() {
        const WRONG: &[SchemaFile] = &[file(1, "0001_wrong.sql", "CREATE TABLE;")];
        let mut connection = database().await;
        let refused = DatabaseSchema { lock: 1, files: WRONG }
            .apply_missing_files(PerEngine::Sqlite(&mut connection))
            .await
            .unwrap_err();
        assert!(matches!(refused, DatabaseOpenError::Schema { name: "0001_wrong.sql", .. }), "{refused}");
    }
}
