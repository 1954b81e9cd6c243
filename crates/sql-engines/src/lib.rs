//! One SQL text on SQLite and Postgres: what a storage crate needs below its statements.
//!
//! It owns the fragments in which the engines differ ([`SqlDialect`], [`SqlTemplate`]), running one query on either
//! ([`run!`]), transactions and their repetition ([`EngineTransaction`], [`retry_on_contention`]), what failures mean
//! ([`is_outage`] and its siblings), the schema of a server ([`DatabaseSchema`]), and opening a database: the files of
//! SQLite ([`SqliteDataDir`]) and the connection to Postgres ([`await_postgres_connect_options`]). It refuses domains:
//! no statement here names a table of a server but those that every server has.
//!
//! **Decision:** the engine is an enum ([`PerEngine`]) and the query stands in both arms of a macro, so each driver
//! sees its types. The roads not taken: the `Any` driver of `sqlx`, and a trait per engine, which would repeat each
//! statement.

mod data_dir;
mod dialect;
mod engine;
mod fault;
mod lists;
mod probe;
mod reach;
mod retry;
mod schema;

use std::time::Duration;

pub use data_dir::{SqliteDataDir, can_begin_transaction, sqlite_pool_options};
pub use dialect::{SqlDialect, SqlFragment, SqlFragments, SqlTemplate};
pub use engine::{BEGIN_WRITE_POSTGRES, BEGIN_WRITE_SQLITE, EngineConnection, EngineTransaction, PerEngine};
pub use fault::{DatabaseOpenError, is_contention, is_decode_error, is_outage, is_statement_interrupted};
pub use lists::{encode_numbers_parameter, insert_rows_statement, power_of_two_chunks};
pub use probe::WriteProbe;
pub use reach::await_postgres_connect_options;
pub use retry::{RetryableError, retry_on_contention};
pub use schema::{DatabaseSchema, SchemaFile};

/// The longest time a caller waits for a free connection of a pool.
///
/// **Invariant**: on SQLite it is shorter than the time for which the one writer waits for another process. Callers
/// that came with the writer have their refusal before it has, so none gets the connection at the last moment and waits
/// for the same lock once more.
pub const CONNECTION_ACQUIRE_TIMEOUT: Duration = Duration::from_secs(8);
/// The idle time after which a Postgres connection is checked before it is used. Busy connections are not checked,
/// because that costs a round trip each.
pub const CHECK_CONNECTION_AFTER_IDLE: Duration = Duration::from_secs(10);

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
