//! One statement on either engine, with the types of its driver.

use sqlx::{PgConnection, PgPool, Postgres, Sqlite, SqliteConnection, SqlitePool};

use crate::dialect::Dialect;

/// Something that exists once per engine: a pool, a connection, a transaction.
#[derive(Debug)]
pub enum On<P, S> {
    /// That of Postgres.
    Postgres(P),
    /// That of SQLite.
    Sqlite(S),
}

impl<P, S> On<P, S> {
    /// Returns the dialect of the engine that is there.
    pub const fn dialect(&self) -> Dialect {
        match self {
            Self::Postgres(_) => Dialect::Postgres,
            Self::Sqlite(_) => Dialect::Sqlite,
        }
    }
}

/// A connection to either engine, for the time of some statements.
pub type Connection<'a> = On<&'a mut PgConnection, &'a mut SqliteConnection>;

impl Connection<'_> {
    /// Returns the connection for one statement.
    pub fn reborrow(&mut self) -> Connection<'_> {
        match self {
            On::Postgres(connection) => On::Postgres(connection),
            On::Sqlite(connection) => On::Sqlite(connection),
        }
    }
}

/// A transaction of either engine. Dropped without [`Transaction::commit`], it is rolled back.
pub type Transaction = On<sqlx::Transaction<'static, Postgres>, sqlx::Transaction<'static, Sqlite>>;

/// How a transaction of Postgres begins that may write. Named because a database may be set to another level, and a
/// snapshot taken before a lock was granted would not show what the lock waited for.
pub const BEGIN_POSTGRES: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// How a transaction of SQLite begins that may write. IMMEDIATE: a read that turns into a write later fails at once when
/// another process wrote in between, whatever the busy timeout.
pub const BEGIN_SQLITE: &str = "BEGIN IMMEDIATE";

impl Transaction {
    /// Begins a transaction that may write on a connection of this pool. Each statement sees what was committed before
    /// it.
    ///
    /// # Errors
    /// When no connection is free in time, or the engine fails.
    pub async fn begin(pool: On<&PgPool, &SqlitePool>) -> Result<Self, sqlx::Error> {
        Ok(match pool {
            On::Postgres(pool) => On::Postgres(pool.begin_with(BEGIN_POSTGRES).await?),
            On::Sqlite(pool) => On::Sqlite(pool.begin_with(BEGIN_SQLITE).await?),
        })
    }

    /// Returns the connection of the transaction, for one statement.
    pub fn connection(&mut self) -> Connection<'_> {
        match self {
            On::Postgres(tx) => On::Postgres(tx),
            On::Sqlite(tx) => On::Sqlite(tx),
        }
    }

    /// Returns once everything is durable.
    ///
    /// # Errors
    /// When the engine refuses or fails. Whether anything was committed is not known when the connection was lost.
    pub async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            On::Postgres(tx) => tx.commit().await,
            On::Sqlite(tx) => tx.commit().await,
        }
    }

    /// Returns once the engine has released every lock of the transaction.
    ///
    /// # Errors
    /// When the engine fails; nothing of the transaction stays then either.
    pub async fn roll_back(self) -> Result<(), sqlx::Error> {
        match self {
            On::Postgres(tx) => tx.rollback().await,
            On::Sqlite(tx) => tx.rollback().await,
        }
    }
}

/// Runs a query on whichever engine is there: `run!(on, fetch_one: query)`. The query stands in both arms, so each driver
/// sees its types and nothing is decided at run time but the engine. `execute` returns the number of rows affected.
#[macro_export]
macro_rules! run {
    ($on:expr, execute: $query:expr) => {
        match $on {
            $crate::On::Postgres(executor) => $query.execute(executor).await.map(|done| done.rows_affected()),
            $crate::On::Sqlite(executor) => $query.execute(executor).await.map(|done| done.rows_affected()),
        }
    };
    ($on:expr, $fetch:ident: $query:expr) => {
        match $on {
            $crate::On::Postgres(executor) => $query.$fetch(executor).await,
            $crate::On::Sqlite(executor) => $query.$fetch(executor).await,
        }
    };
}
