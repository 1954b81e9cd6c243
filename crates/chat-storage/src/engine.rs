//! One statement on either engine, with the types of its own driver.

use sql_engines::{EngineConnection, PerEngine, SqlDialect};
use sqlx::postgres::{PgConnection, PgPool};
use sqlx::{Postgres, Sqlite, SqliteConnection, Transaction};

use crate::outage::Outage;

/// Where a statement of Postgres runs by itself, for as long as that is in reach.
#[derive(Debug)]
pub(crate) struct PooledPg<'a> {
    pub(crate) pool: PgPool,
    pub(crate) outage: &'a Outage,
}

impl PooledPg<'_> {
    pub(crate) fn executor(&mut self) -> &PgPool {
        &self.pool
    }
}

/// A connection to Postgres, for as long as that is in reach.
#[derive(Debug)]
pub(crate) struct PgSession<'a> {
    pub(crate) connection: &'a mut PgConnection,
    pub(crate) outage: &'a Outage,
}

impl PgSession<'_> {
    pub(crate) fn executor(&mut self) -> &mut PgConnection {
        self.connection
    }
}

/// One connection, of either engine.
pub(crate) type Session<'a> = PerEngine<PgSession<'a>, &'a mut SqliteConnection>;

/// Runs a query on whichever engine is there, for as long as that is in reach ([`Outage`]). The query stands in both
/// arms, so each driver sees its own types and nothing is decided at run time but the engine.
macro_rules! run {
    ($on:expr, execute: $query:expr) => {
        match $on {
            sql_engines::PerEngine::Postgres(mut on) => {
                let outage = on.outage;
                outage.bound($query.execute(on.executor())).await.map(|done| done.rows_affected())
            }
            sql_engines::PerEngine::Sqlite(executor) => $query.execute(executor).await.map(|done| done.rows_affected()),
        }
    };
    ($on:expr, $fetch:ident: $query:expr) => {
        match $on {
            sql_engines::PerEngine::Postgres(mut on) => {
                let outage = on.outage;
                outage.bound($query.$fetch(on.executor())).await
            }
            sql_engines::PerEngine::Sqlite(executor) => $query.$fetch(executor).await,
        }
    };
}
pub(crate) use run;

/// A transaction that may write. Dropped without [`Tx::commit`], it is rolled back.
pub(crate) struct Tx(pub(crate) PerEngine<PgTx, Transaction<'static, Sqlite>>);

/// A transaction of Postgres.
pub(crate) struct PgTx {
    pub(crate) tx: Transaction<'static, Postgres>,
    pub(crate) outage: Outage,
}

impl Tx {
    pub(crate) fn dialect(&self) -> SqlDialect {
        self.0.dialect()
    }

    pub(crate) fn on(&mut self) -> Session<'_> {
        match &mut self.0 {
            PerEngine::Postgres(PgTx { tx, outage }) => PerEngine::Postgres(PgSession { connection: tx, outage }),
            PerEngine::Sqlite(tx) => PerEngine::Sqlite(tx),
        }
    }

    /// Returns the connection for statements that nothing watches yet, as when the database is being opened.
    pub(crate) fn connection(&mut self) -> EngineConnection<'_> {
        match &mut self.0 {
            PerEngine::Postgres(PgTx { tx, .. }) => PerEngine::Postgres(tx),
            PerEngine::Sqlite(tx) => PerEngine::Sqlite(tx),
        }
    }

    /// Returns once everything is durable.
    pub(crate) async fn commit(self) -> Result<(), sqlx::Error> {
        match self.0 {
            PerEngine::Postgres(PgTx { tx, outage }) => outage.bound(tx.commit()).await,
            PerEngine::Sqlite(tx) => tx.commit().await,
        }
    }

    /// Returns once the engine has forgotten everything, so that nobody waits for its locks.
    pub(crate) async fn roll_back(self) -> Result<(), sqlx::Error> {
        match self.0 {
            PerEngine::Postgres(PgTx { tx, outage }) => outage.bound(tx.rollback()).await,
            PerEngine::Sqlite(tx) => tx.rollback().await,
        }
    }
}
