//! One SQL text on SQLite and Postgres: what a storage crate needs below its statements.
//!
//! It owns the fragments in which the engines differ ([`Dialect`], [`Sql`]), running one query on either ([`run!`]),
//! transactions and their repetition ([`Transaction`], [`retried`]), what failures mean ([`is_outage`] and its
//! siblings), the schema of a server ([`Schema`]), and opening a database: the files of SQLite ([`DataDir`]) and the
//! connection to Postgres ([`postgres_options`]).
//! It refuses domains: no statement here names a table of a server but those that every server has.
//!
//! **Decision:** the engine is an enum ([`On`]) and the query stands in both arms of a macro, so each driver sees its
//! types. The roads not taken: the `Any` driver of `sqlx`, and a trait per engine, which would repeat each statement.

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

pub use data_dir::{DataDir, is_between_transactions, sqlite_pool};
pub use dialect::{Dialect, Fragment, Fragments, Sql};
pub use engine::{BEGIN_POSTGRES, BEGIN_SQLITE, Connection, On, Transaction};
pub use fault::{OpenError, is_contention, is_cut_short, is_outage, is_unreadable};
pub use lists::{insert_rows, numbers, pieces};
pub use probe::WriteProbe;
pub use reach::postgres_options;
pub use retry::{Contended, retried};
pub use schema::{Schema, SchemaFile};

/// How long a caller waits for a free connection before its request fails.
///
/// **Invariant**: on SQLite it is shorter than the time for which the one writer waits for another process. Callers that
/// came with the writer have their refusal before it has, so none gets the connection at the last moment and waits for
/// the same lock once more.
pub const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(8);
/// A Postgres connection idle for longer than this is checked before it is used: the server or a proxy may have closed
/// it. Busy connections are not checked, that would be a round trip each.
pub const CHECK_AFTER_IDLE: Duration = Duration::from_secs(10);

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
