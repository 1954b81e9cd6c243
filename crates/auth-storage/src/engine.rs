//! Transactions whose statements end after a time, and sets of connections as executors.

use std::time::Duration;

use sql_engines::{EngineConnection, EngineTransaction, PerEngine, SqlDialect};
use sqlx::AssertSqlSafe;

use crate::attendant::{Canceller, GivenUp, TRANSACTION};
use crate::stopwatch::Stopwatch;

/// Makes a set of connections an executor whose statements find all their rows before the first is returned. It has
/// `acquire`, whose value has `connection`, and `judge` for the end of a statement.
macro_rules! executes_at_once {
    ($readers:ty, $database:ty, $($engine:ident)::+::{$result:ident, $row:ident, $statement:ident, $info:ident}) => {
        impl<'c> sqlx::Executor<'c> for &'c $readers {
            type Database = $database;

            fn fetch_many<'e, 'q: 'e, E>(
                self,
                query: E,
            ) -> futures_util::stream::BoxStream<
                'e,
                Result<sqlx::Either<$($engine)::+::$result, $($engine)::+::$row>, sqlx::Error>,
            >
            where
                'c: 'e,
                E: 'q + sqlx::Execute<'q, $database>,
            {
                use futures_util::future::TryFutureExt as _;
                use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
                let rows = async move {
                    let mut reader = self.acquire().await?;
                    let found: Result<Vec<_>, _> = reader.connection()?.fetch_many(query).try_collect().await;
                    reader.judge(found).map(|found| stream::iter(found.into_iter().map(Ok)))
                };
                rows.try_flatten_stream().boxed()
            }

            fn fetch_optional<'e, 'q: 'e, E>(
                self,
                query: E,
            ) -> futures_util::future::BoxFuture<'e, Result<Option<$($engine)::+::$row>, sqlx::Error>>
            where
                'c: 'e,
                E: 'q + sqlx::Execute<'q, $database>,
            {
                Box::pin(async move {
                    let mut reader = self.acquire().await?;
                    let found = reader.connection()?.fetch_optional(query).await;
                    reader.judge(found)
                })
            }

            fn prepare_with<'e>(
                self,
                sql: sqlx::SqlStr,
                parameters: &'e [$($engine)::+::$info],
            ) -> futures_util::future::BoxFuture<'e, Result<$($engine)::+::$statement, sqlx::Error>>
            where
                'c: 'e,
            {
                Box::pin(async move {
                    let mut reader = self.acquire().await?;
                    let prepared = reader.connection()?.prepare_with(sql, parameters).await;
                    reader.judge(prepared)
                })
            }
        }
    };
}
pub(crate) use executes_at_once;

/// How to end a statement whose caller went away.
#[derive(Debug, Clone)]
pub(crate) enum Interrupt {
    Postgres(Canceller),
    Sqlite(Stopwatch),
}

/// A transaction that may write. Dropped without [`Tx::commit`], it is rolled back.
pub(crate) struct Tx {
    on: EngineTransaction,
    /// Without it, the time of a statement of SQLite is not limited, and one of Postgres is not cancelled.
    interrupt: Option<Interrupt>,
}

/// A limit of time for the statements of a transaction. Dropped before [`Tx::unlimit`], it ends the statement that
/// runs: its caller went away.
pub(crate) struct TimeLimit(Option<Limited>);

/// The transaction whose statements are limited.
enum Limited {
    Postgres { canceller: Canceller, pid: i32, began_us: i64 },
    Sqlite(Stopwatch),
}

impl Drop for TimeLimit {
    fn drop(&mut self) {
        match self.0.take() {
            Some(Limited::Postgres { canceller, pid, began_us }) => {
                canceller.cancel(GivenUp::Transaction { pid, began_us });
            }
            Some(Limited::Sqlite(watch)) => watch.cut_short(),
            None => {}
        }
    }
}

impl Tx {
    pub(crate) const fn new(on: EngineTransaction, interrupt: Option<Interrupt>) -> Self {
        Self { on, interrupt }
    }

    /// Limits the time of each statement from here to [`Tx::unlimit`]. One that runs longer fails, and with it the
    /// transaction.
    pub(crate) async fn limit(&mut self, time: Duration) -> Result<TimeLimit, sqlx::Error> {
        Ok(TimeLimit(match (&mut self.on, &self.interrupt) {
            (PerEngine::Postgres(tx), interrupt) => {
                let limit = format!("SELECT set_config('statement_timeout', $1, TRUE), {TRANSACTION}");
                // 0 would be no limit.
                let time_ms = time.as_millis().max(1).to_string();
                let limited = sqlx::query_as(AssertSqlSafe(limit)).bind(time_ms).fetch_one(&mut **tx).await?;
                let (_limit, pid, began_us): (String, i32, i64) = limited;
                match interrupt {
                    Some(Interrupt::Postgres(canceller)) => {
                        Some(Limited::Postgres { canceller: canceller.clone(), pid, began_us })
                    }
                    _ => None,
                }
            }
            (PerEngine::Sqlite(_), Some(Interrupt::Sqlite(watch))) => {
                watch.allow(time);
                Some(Limited::Sqlite(watch.clone()))
            }
            (PerEngine::Sqlite(_), _) => None,
        }))
    }

    /// Ends the limit, after a statement that `outcome` is of.
    pub(crate) async fn unlimit<T>(
        &mut self,
        mut limit: TimeLimit,
        outcome: Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        if let Some(Limited::Sqlite(watch)) = limit.0.take() {
            watch.release();
        }
        // After a failure the transaction takes nothing but its end.
        let found = outcome?;
        if let PerEngine::Postgres(tx) = &mut self.on {
            sqlx::raw_sql("SET LOCAL statement_timeout = DEFAULT").execute(&mut **tx).await?;
        }
        Ok(found)
    }

    pub(crate) fn dialect(&self) -> SqlDialect {
        self.on.dialect()
    }

    pub(crate) fn on(&mut self) -> EngineConnection<'_> {
        self.on.connection()
    }

    /// Returns once everything is durable.
    pub(crate) async fn commit(self) -> Result<(), sqlx::Error> {
        self.on.commit().await
    }

    /// Returns once the engine has released every lock.
    pub(crate) async fn roll_back(self) -> Result<(), sqlx::Error> {
        self.on.roll_back().await
    }
}
