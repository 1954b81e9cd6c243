//! Users' SQL, run as its author wrote it: several statements at once, by the simple protocol.

use futures_util::{Stream, StreamExt as _};
use migrations::{SqlPosition, UserSqlError};
use sql_engines::{PerEngine, SqlDialect, run as run_statement};
use sqlx::postgres::{PgDatabaseError, PgErrorPosition};
use sqlx::{AssertSqlSafe, Either, PgConnection, SqliteConnection};

use crate::engine::Tx;
use crate::fault;
use crate::resources::{needed, watch_all};

/// Stands while a script runs, and is gone when the script ended the transaction.
const GUARD: &str = "SAVEPOINT migration";
const UNGUARD: &str = "RELEASE SAVEPOINT migration";
/// What a script may have set for its session ends with it: dumps, for one, empty the search path.
const RESET: &str = "RESET SESSION AUTHORIZATION; RESET ALL";

/// The reason why a script did not run to its end.
#[derive(Debug)]
pub(crate) enum ScriptFault {
    /// The engine refuses it.
    Refused(UserSqlError),
    /// The engine failed.
    Failed(sqlx::Error),
}

/// Runs a script where it may do as it likes, on a connection that is not used again.
pub(crate) async fn run(on: PerEngine<&mut PgConnection, &mut SqliteConnection>, sql: &str) -> Result<(), ScriptFault> {
    // Running what its author wrote is the purpose here; who may is decided by the caller.
    let script = sqlx::raw_sql(AssertSqlSafe(sql));
    let mut done = 0;
    let (engine, ended) = match on {
        PerEngine::Postgres(connection) => {
            (SqlDialect::Postgres, drain(script.fetch_many(connection), &mut done).await)
        }
        PerEngine::Sqlite(connection) => (SqlDialect::Sqlite, drain(script.fetch_many(connection), &mut done).await),
    };
    ended.map_err(|error| {
        let place = place(&error, done + 1, sql);
        fault(error, engine.engine_name(), place)
    })
}

/// Runs a script inside a transaction that goes on after it, and that it must leave open.
///
/// A script that ends the transaction is refused, but what stood before its end is kept by then: no
/// engine lets a statement be forbidden to commit.
pub(crate) async fn run_within(tx: &mut Tx, sql: &str) -> Result<(), ScriptFault> {
    let dialect = tx.dialect();
    run_statement!(tx.on(), execute: sqlx::raw_sql(GUARD)).map_err(ScriptFault::Failed)?;
    run(tx.on(), sql).await?;
    let unguarded = run_statement!(tx.on(), execute: sqlx::raw_sql(UNGUARD));
    unguarded.map_err(|error| match error {
        sqlx::Error::Database(_) => ScriptFault::Refused(UserSqlError {
            engine: dialect.engine_name(),
            code: None,
            message: "it ends the transaction it runs in; leave out BEGIN, COMMIT and ROLLBACK, or use the \
                      execution-type not-in-transaction"
                .to_owned(),
            place: SqlPosition::WHOLE_TEXT,
        }),
        failed => ScriptFault::Failed(failed),
    })?;
    if let PerEngine::Postgres(connection) = tx.on() {
        sqlx::raw_sql(RESET).execute(connection).await.map_err(ScriptFault::Failed)?;
    }
    if let Some(kind) = needed(tx).await.map_err(ScriptFault::Failed)? {
        return Err(ScriptFault::Refused(UserSqlError {
            engine: dialect.engine_name(),
            code: None,
            message: format!("it drops the table of {kind}, which the server needs; delete its rows instead"),
            place: SqlPosition::WHOLE_TEXT,
        }));
    }
    watch_all(tx).await.map_err(ScriptFault::Failed)
}

/// Waits for the end of every statement, counting them.
async fn drain<D, R>(
    mut answers: impl Stream<Item = Result<Either<D, R>, sqlx::Error>> + Unpin,
    done: &mut usize,
) -> Result<(), sqlx::Error> {
    while let Some(answer) = answers.next().await {
        if let Either::Left(_) = answer? {
            *done += 1;
        }
    }
    Ok(())
}

/// Where the engine stopped. Postgres reads a script whole before it runs any of it and tells the
/// character of what it cannot read; SQLite tells neither, so there it is the statement alone.
fn place(error: &sqlx::Error, statement: usize, sql: &str) -> SqlPosition {
    let postgres = error.as_database_error().and_then(|error| error.try_downcast_ref::<PgDatabaseError>());
    match postgres.and_then(PgDatabaseError::position) {
        Some(PgErrorPosition::Original(character)) => SqlPosition::at_character(statement, sql, character),
        Some(PgErrorPosition::Internal { .. }) | None => SqlPosition { statement, at: None },
    }
}

/// Tells a refusal from a failure.
pub(crate) fn fault(error: sqlx::Error, engine: &'static str, place: SqlPosition) -> ScriptFault {
    match fault::refusal(&error, engine, place) {
        Some(refused) => ScriptFault::Refused(refused),
        None => ScriptFault::Failed(error),
    }
}
