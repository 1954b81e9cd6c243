//! Connections for searches by words, whose statements end after a time, and when nothing waits for them any more.
//!
//! SQLite has no limit of time. It calls a progress handler between the steps of a statement, and ends the statement
//! when the handler says so. Postgres is given its limit when the connection is opened, because one for each search
//! would be a round trip more.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use sql_engines::PerEngine;
use sqlx::pool::PoolConnection;
use sqlx::{Postgres, Sqlite};

use crate::engine::{PgSession, Session};
use crate::outage::Outage;

/// Steps of SQLite between two looks at the clock: some tens of microseconds.
const STEPS: i32 = 4_096;

/// A connection for one search, until it is dropped.
pub(crate) struct SearchConnection {
    /// Gone before the connection is: a statement that still runs ends then.
    _waiting: Arc<()>,
    connection: PerEngine<(PoolConnection<Postgres>, Outage), PoolConnection<Sqlite>>,
}

impl SearchConnection {
    pub(crate) fn postgres(connection: PoolConnection<Postgres>, outage: Outage) -> Self {
        Self { _waiting: Arc::default(), connection: PerEngine::Postgres((connection, outage)) }
    }

    /// A connection to SQLite on which statements run for as long as `limit`.
    pub(crate) async fn sqlite(mut connection: PoolConnection<Sqlite>, limit: Duration) -> Result<Self, sqlx::Error> {
        let waiting: Arc<()> = Arc::default();
        let (end, waited_for) = (Instant::now() + limit, Arc::downgrade(&waiting));
        let goes_on = move || Weak::strong_count(&waited_for) > 0 && Instant::now() < end;
        connection.lock_handle().await?.set_progress_handler(STEPS, goes_on);
        Ok(Self { _waiting: waiting, connection: PerEngine::Sqlite(connection) })
    }

    pub(crate) fn on(&mut self) -> Session<'_> {
        match &mut self.connection {
            PerEngine::Postgres((connection, outage)) => PerEngine::Postgres(PgSession { connection, outage }),
            PerEngine::Sqlite(connection) => PerEngine::Sqlite(connection),
        }
    }
}

#[cfg(test)]
mod tests {
    use sqlx::sqlite::SqlitePoolOptions;

    use super::*;

    const ENDLESS: &str = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) SELECT count(*) FROM n";

    async fn searcher(pool: &sqlx::SqlitePool, limit: Duration) -> SearchConnection {
        SearchConnection::sqlite(pool.acquire().await.unwrap(), limit).await.unwrap()
    }

    #[tokio::test]
    async fn a_search_ends_when_its_time_is_over_or_its_caller_went_away() {
        let pool = SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await.unwrap();
        for _ in 0..2 {
            let mut searcher = searcher(&pool, Duration::from_millis(20)).await;
            let PerEngine::Sqlite(connection) = searcher.on() else { unreachable!() };
            let ended = sqlx::query_scalar::<_, i64>(ENDLESS).fetch_one(connection).await.unwrap_err();
            assert!(crate::fault::search_failed(ended).is_search_timeout());
        }
        let mut given_up = searcher(&pool, Duration::from_hours(1)).await;
        let search = async {
            let PerEngine::Sqlite(connection) = given_up.on() else { unreachable!() };
            sqlx::query_scalar::<_, i64>(ENDLESS).fetch_one(connection).await
        };
        assert!(tokio::time::timeout(Duration::from_millis(20), search).await.is_err());
        drop(given_up);
        // The one connection is free again.
        let mut next = searcher(&pool, Duration::from_hours(1)).await;
        let PerEngine::Sqlite(connection) = next.on() else { unreachable!() };
        let one: i64 = sqlx::query_scalar("SELECT 1").fetch_one(connection).await.unwrap();
        assert_eq!(one, 1);
    }
}
