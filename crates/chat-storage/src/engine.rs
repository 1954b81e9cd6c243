//! One statement on either engine, with the types of its own driver.

use sqlx::{PgConnection, Postgres, Sqlite, SqliteConnection, Transaction};

use crate::dialect::Dialect;

/// Something that exists once per engine: a pool, a connection, a transaction.
#[derive(Debug)]
pub(crate) enum On<P, S> {
    Postgres(P),
    Sqlite(S),
}

/// Runs a query on whichever engine is there. The query stands in both arms, so each driver sees
/// its own types and nothing is decided at run time but the engine.
macro_rules! run {
    ($on:expr, execute: $query:expr) => {
        match $on {
            $crate::engine::On::Postgres(executor) => $query.execute(executor).await.map(|done| done.rows_affected()),
            $crate::engine::On::Sqlite(executor) => $query.execute(executor).await.map(|done| done.rows_affected()),
        }
    };
    ($on:expr, $fetch:ident: $query:expr) => {
        match $on {
            $crate::engine::On::Postgres(executor) => $query.$fetch(executor).await,
            $crate::engine::On::Sqlite(executor) => $query.$fetch(executor).await,
        }
    };
}
pub(crate) use run;

/// A transaction that may write. Dropped without [`Tx::commit`], it is rolled back.
pub(crate) struct Tx(pub(crate) On<Transaction<'static, Postgres>, Transaction<'static, Sqlite>>);

impl Tx {
    pub(crate) fn dialect(&self) -> Dialect {
        match self.0 {
            On::Postgres(_) => Dialect::Postgres,
            On::Sqlite(_) => Dialect::Sqlite,
        }
    }

    pub(crate) fn on(&mut self) -> On<&mut PgConnection, &mut SqliteConnection> {
        match &mut self.0 {
            On::Postgres(tx) => On::Postgres(tx),
            On::Sqlite(tx) => On::Sqlite(tx),
        }
    }

    /// Returns once everything is durable.
    pub(crate) async fn commit(self) -> Result<(), sqlx::Error> {
        match self.0 {
            On::Postgres(tx) => tx.commit().await,
            On::Sqlite(tx) => tx.commit().await,
        }
    }

    /// Returns once the engine has forgotten everything, so that nobody waits for its locks.
    pub(crate) async fn roll_back(self) -> Result<(), sqlx::Error> {
        match self.0 {
            On::Postgres(tx) => tx.rollback().await,
            On::Sqlite(tx) => tx.rollback().await,
        }
    }
}
