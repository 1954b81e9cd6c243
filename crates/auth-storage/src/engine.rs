//! One statement on either engine, with the types of its own driver.

use std::time::Duration;

use sqlx::{AssertSqlSafe, PgConnection, Postgres, Sqlite, SqliteConnection, Transaction};

use crate::dialect::Dialect;
use crate::stopwatch::Stopwatch;

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
pub(crate) struct Tx {
    on: On<Transaction<'static, Postgres>, Transaction<'static, Sqlite>>,
    /// Ends its statements on SQLite; without one their time cannot be limited.
    watch: Option<Stopwatch>,
}

/// A limit of time for the statements of a transaction. Dropped before [`Tx::unlimit`], it ends the statement that
/// runs: its caller went away.
pub(crate) struct TimeLimit(Option<Stopwatch>);

impl Drop for TimeLimit {
    fn drop(&mut self) {
        if let Some(watch) = self.0.take() {
            watch.cut_short();
        }
    }
}

impl Tx {
    pub(crate) const fn new(
        on: On<Transaction<'static, Postgres>, Transaction<'static, Sqlite>>,
        watch: Option<Stopwatch>,
    ) -> Self {
        Self { on, watch }
    }

    /// Limits the time of each statement from here to [`Tx::unlimit`]. One that runs longer fails, and with it the
    /// transaction.
    pub(crate) async fn limit(&mut self, time: Duration) -> Result<TimeLimit, sqlx::Error> {
        // 0 would be no limit.
        let time_ms = time.as_millis().max(1);
        if let On::Postgres(tx) = &mut self.on {
            let limit = AssertSqlSafe(format!("SET LOCAL statement_timeout = {time_ms}"));
            sqlx::raw_sql(limit).execute(&mut **tx).await?;
        }
        let watch = self.watch.clone();
        if let Some(watch) = &watch {
            watch.allow(time);
        }
        Ok(TimeLimit(watch))
    }

    /// Ends the limit, after a statement that `outcome` is of.
    pub(crate) async fn unlimit<T>(
        &mut self,
        mut limit: TimeLimit,
        outcome: Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        if let Some(watch) = limit.0.take() {
            watch.release();
        }
        // After a failure the transaction takes nothing but its end.
        let found = outcome?;
        if let On::Postgres(tx) = &mut self.on {
            sqlx::raw_sql("SET LOCAL statement_timeout = DEFAULT").execute(&mut **tx).await?;
        }
        Ok(found)
    }

    pub(crate) fn dialect(&self) -> Dialect {
        match self.on {
            On::Postgres(_) => Dialect::Postgres,
            On::Sqlite(_) => Dialect::Sqlite,
        }
    }

    pub(crate) fn on(&mut self) -> On<&mut PgConnection, &mut SqliteConnection> {
        match &mut self.on {
            On::Postgres(tx) => On::Postgres(tx),
            On::Sqlite(tx) => On::Sqlite(tx),
        }
    }

    /// Returns once everything is durable.
    pub(crate) async fn commit(self) -> Result<(), sqlx::Error> {
        match self.on {
            On::Postgres(tx) => tx.commit().await,
            On::Sqlite(tx) => tx.commit().await,
        }
    }

    /// Returns once the engine has forgotten everything, so that nobody waits for its locks.
    pub(crate) async fn roll_back(self) -> Result<(), sqlx::Error> {
        match self.on {
            On::Postgres(tx) => tx.rollback().await,
            On::Sqlite(tx) => tx.rollback().await,
        }
    }
}
