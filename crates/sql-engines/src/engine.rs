//! One statement on either engine, with the types of its driver.

use sqlx::{PgConnection, PgPool, Postgres, Sqlite, SqliteConnection, SqlitePool};

use crate::dialect::SqlDialect;

/// A value for either engine: a pool, a connection or a transaction.
#[derive(Debug)]
pub enum PerEngine<P, S> {
    /// The value for Postgres.
    Postgres(P),
    /// The value for SQLite.
    Sqlite(S),
}

impl<P, S> PerEngine<P, S> {
    /// Returns the dialect of the engine.
    pub const fn dialect(&self) -> SqlDialect {
        match self {
            Self::Postgres(_) => SqlDialect::Postgres,
            Self::Sqlite(_) => SqlDialect::Sqlite,
        }
    }
}

/// A borrowed connection to either engine.
pub type EngineConnection<'a> = PerEngine<&'a mut PgConnection, &'a mut SqliteConnection>;

impl EngineConnection<'_> {
    /// Returns a shorter borrow of the connection, because running a statement consumes one.
    pub fn reborrow(&mut self) -> EngineConnection<'_> {
        match self {
            PerEngine::Postgres(connection) => PerEngine::Postgres(connection),
            PerEngine::Sqlite(connection) => PerEngine::Sqlite(connection),
        }
    }
}

/// A transaction of either engine. Dropped without [`EngineTransaction::commit`], it is rolled back.
pub type EngineTransaction = PerEngine<sqlx::Transaction<'static, Postgres>, sqlx::Transaction<'static, Sqlite>>;

/// The statement that begins a writing transaction on Postgres, at the isolation level read committed.
///
/// **Why** the level is named: a database may be set to another one, and a snapshot taken before a lock was granted
/// would not show what the lock waited for.
pub const BEGIN_WRITE_POSTGRES: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// The statement that begins a writing transaction on SQLite, which waits for other writers.
///
/// **Why** `IMMEDIATE`: a transaction that reads and then writes fails at once when another process wrote in between,
/// whatever the busy timeout.
pub const BEGIN_WRITE_SQLITE: &str = "BEGIN IMMEDIATE";

impl EngineTransaction {
    /// Begins a writing transaction on a connection of the pool. On Postgres each statement sees what was committed
    /// before it; on SQLite no other process writes until the transaction ends.
    ///
    /// # Errors
    /// When no connection is free in time, or the engine fails.
    pub async fn begin(pool: PerEngine<&PgPool, &SqlitePool>) -> Result<Self, sqlx::Error> {
        Ok(match pool {
            PerEngine::Postgres(pool) => PerEngine::Postgres(pool.begin_with(BEGIN_WRITE_POSTGRES).await?),
            PerEngine::Sqlite(pool) => PerEngine::Sqlite(pool.begin_with(BEGIN_WRITE_SQLITE).await?),
        })
    }

    /// Returns the connection of the transaction, for one statement.
    pub fn connection(&mut self) -> EngineConnection<'_> {
        match self {
            PerEngine::Postgres(tx) => PerEngine::Postgres(tx),
            PerEngine::Sqlite(tx) => PerEngine::Sqlite(tx),
        }
    }

    /// Commits the transaction, and returns once it is durable.
    ///
    /// # Errors
    /// When the engine refuses or fails. Whether anything was committed is not known when the connection was lost.
    pub async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            PerEngine::Postgres(tx) => tx.commit().await,
            PerEngine::Sqlite(tx) => tx.commit().await,
        }
    }

    /// Rolls the transaction back, and returns once its locks are released.
    ///
    /// # Errors
    /// When the engine fails; nothing of the transaction stays then either.
    pub async fn roll_back(self) -> Result<(), sqlx::Error> {
        match self {
            PerEngine::Postgres(tx) => tx.rollback().await,
            PerEngine::Sqlite(tx) => tx.rollback().await,
        }
    }
}

/// Runs a query on whichever engine is there: `run!(on, fetch_one: query)`. The query stands in both arms, so each
/// driver sees its types and nothing is decided at run time but the engine. `execute` returns the number of rows
/// affected.
#[macro_export]
macro_rules! run {
    ($on:expr, execute: $query:expr) => {
        match $on {
            $crate::PerEngine::Postgres(executor) => $query.execute(executor).await.map(|done| done.rows_affected()),
            $crate::PerEngine::Sqlite(executor) => $query.execute(executor).await.map(|done| done.rows_affected()),
        }
    };
    ($on:expr, $fetch:ident: $query:expr) => {
        match $on {
            $crate::PerEngine::Postgres(executor) => $query.$fetch(executor).await,
            $crate::PerEngine::Sqlite(executor) => $query.$fetch(executor).await,
        }
    };
}
