//! One connection to Postgres beside the pools: it cancels statements that no caller waits for any more, and notices a
//! database that answers nothing.
//!
//! A frozen machine, or a network that loses every packet, ends no statement: neither Postgres nor the driver limits
//! the time of an answer. So a trivial statement is sent once a second, and when its answer is late,
//! [`Attendant::stalled`] returns for every request that waits. On SQLite every wait ends by itself.

use std::future::pending;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use sqlx::postgres::{PgArguments, PgConnectOptions};
use sqlx::query::Query;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, Postgres};
use task_set::{TaskSet, UnexpectedTaskEnd};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, timeout};

/// When the attendant does what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// How often the database is asked whether it answers.
    ask_interval: Duration,
    /// How late an answer may be.
    answer_max: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self { ask_interval: Duration::from_secs(1), answer_max: Duration::from_secs(5) }
    }
}

const ASK: &str = "SELECT 1";
const CANCEL: &str = "SELECT pg_cancel_backend($1)";
/// Not the statement of the next transaction on that connection.
const CANCEL_TRANSACTION: &str = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity
WHERE pid = $1 AND CAST(extract(epoch FROM xact_start) * 1000000 AS BIGINT) = $2";
/// The transaction that this is part of, as [`CANCEL_TRANSACTION`] names it.
pub(crate) const TRANSACTION: &str = "pg_backend_pid(), CAST(extract(epoch FROM now()) * 1000000 AS BIGINT)";

/// A statement whose caller is gone.
///
/// A cancellation can overtake the statement it is for, and ends nothing then. So it is repeated until the statement
/// has ended.
pub(crate) enum GivenUp {
    /// The only one of a connection, which is closed after it.
    Search {
        /// Where it runs.
        connection: Box<PgConnection>,
        /// The process of that connection.
        pid: i32,
        /// How long it may run.
        limit: Duration,
        /// Given back when it has ended.
        permit: OwnedSemaphorePermit,
    },
    /// That of a transaction, whose connection returns to its pool by itself.
    Transaction {
        /// The process of its connection.
        pid: i32,
        /// When the transaction began, in microseconds since the epoch of Unix.
        began_us: i64,
    },
}

/// The way to have a statement cancelled.
#[derive(Debug, Clone)]
pub(crate) struct Canceller(mpsc::UnboundedSender<GivenUp>);

impl Canceller {
    /// Has a statement cancelled soon. No more wait for this than there are connections that search or write.
    pub(crate) fn cancel(&self, given_up: GivenUp) {
        // When the task has ended the database is closing, and its connections with it.
        drop(self.0.send(given_up));
    }
}

/// The task with the connection.
#[derive(Debug)]
pub(crate) struct Attendant {
    task: Mutex<TaskSet>,
    canceller: Canceller,
    stalled: watch::Receiver<bool>,
}

impl Attendant {
    /// Starts on the current runtime.
    pub(crate) fn start(options: PgConnectOptions, times: Times) -> Self {
        let (canceller, given_up) = mpsc::unbounded_channel();
        let (is_stalled, stalled) = watch::channel(false);
        let mut task = TaskSet::default();
        task.spawn_until_stopped(
            "attend to Postgres",
            attend(Session { options, times, connection: None }, given_up, is_stalled),
        );
        Self { task: Mutex::new(task), canceller: Canceller(canceller), stalled }
    }

    /// Returns the way to have a statement cancelled.
    pub(crate) fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// Waits until the database does not answer.
    pub(crate) async fn stalled(&self) {
        let mut stalled = self.stalled.clone();
        if stalled.wait_for(|is_stalled| *is_stalled).await.is_err() {
            // The database is closing: what waits for it fails by itself.
            pending::<()>().await;
        }
    }

    /// Ready when the task has ended although nothing stopped it.
    pub(crate) fn poll_ended(&self, context: &mut Context<'_>) -> Poll<UnexpectedTaskEnd> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner).poll_unexpected_end(context)
    }

    /// Ends the task.
    pub(crate) async fn end(&self) {
        let mut task = std::mem::take(&mut *self.task.lock().unwrap_or_else(PoisonError::into_inner));
        task.abort_and_join_all().await;
    }
}

/// The connection, opened when it is needed.
struct Session {
    options: PgConnectOptions,
    times: Times,
    connection: Option<PgConnection>,
}

/// The reason why a statement of the attendant failed.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("no answer in time")]
    Late,
    #[error(transparent)]
    Failed(#[from] sqlx::Error),
}

impl Session {
    /// Runs a statement and returns the number of its rows. After a failure the next one has a new connection.
    async fn execute(&mut self, statement: Query<'_, Postgres, PgArguments>) -> Result<u64, AskError> {
        let kept = self.connection.take();
        let executed = async {
            let mut connection = match kept {
                Some(connection) => connection,
                None => self.options.connect().await?,
            };
            let done = statement.execute(&mut connection).await?;
            Ok::<_, sqlx::Error>((connection, done.rows_affected()))
        };
        let (connection, rows) = timeout(self.times.answer_max, executed).await.map_err(|_| AskError::Late)??;
        self.connection = Some(connection);
        Ok(rows)
    }

    /// Cancels a statement, and returns whether it may still run.
    async fn cancel(&mut self, running: Running) -> Result<bool, AskError> {
        let cancelled = match running {
            Running::Search { pid } => self.execute(sqlx::query(CANCEL).bind(pid)).await,
            Running::Transaction { pid, began_us } => {
                self.execute(sqlx::query(CANCEL_TRANSACTION).bind(pid).bind(began_us)).await
            }
        };
        let found = cancelled.inspect_err(|error| {
            tracing::warn!(%error, "a statement without a caller was not cancelled: it is tried again");
        })?;
        Ok(found > 0)
    }

    /// Asks the database whether it answers, and cancels again what still runs.
    async fn ask(&mut self, running: &mut Vec<Running>) -> Result<(), AskError> {
        self.execute(sqlx::query(ASK)).await?;
        for statement in running.clone() {
            if !self.cancel(statement).await? {
                running.retain(|other| *other != statement);
            }
        }
        Ok(())
    }

    /// Cancels a statement for the first time.
    async fn begin_cancelling(&mut self, statement: Running, running: &mut Vec<Running>) -> Result<(), AskError> {
        running.push(statement);
        if !self.cancel(statement).await? {
            running.retain(|other| *other != statement);
        }
        Ok(())
    }
}

/// What has to be cancelled until it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Running {
    /// A search: it has ended when its connection answers.
    Search { pid: i32 },
    /// A transaction: it has ended when the database does not list it.
    Transaction { pid: i32, began_us: i64 },
}

impl From<&GivenUp> for Running {
    fn from(given_up: &GivenUp) -> Self {
        match *given_up {
            GivenUp::Search { pid, .. } => Self::Search { pid },
            GivenUp::Transaction { pid, began_us } => Self::Transaction { pid, began_us },
        }
    }
}

async fn attend(mut session: Session, mut given_up: mpsc::UnboundedReceiver<GivenUp>, is_stalled: watch::Sender<bool>) {
    let mut tick = interval(session.times.ask_interval);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut running = Vec::new();
    let mut searches = FuturesUnordered::new();
    loop {
        let outcome = tokio::select! {
            Some(next) = given_up.recv() => {
                let cancelled = session.begin_cancelling(Running::from(&next), &mut running).await;
                searches.push(end(next));
                cancelled
            }
            _ = tick.tick() => session.ask(&mut running).await,
            Some(ended) = searches.next() => {
                running.retain(|statement| Some(*statement) != ended);
                continue;
            }
        };
        // A database that refuses connections answers: what waits for it fails by itself.
        let is_late = matches!(outcome, Err(AskError::Late));
        match (is_stalled.send_replace(is_late), is_late) {
            (false, true) => tracing::error!("the database does not answer: requests that wait for it are refused"),
            (true, false) => tracing::info!("the database answers again"),
            _ => {}
        }
    }
}

/// Waits until the statement of a search has ended, closes its connection, and returns what need not be cancelled
/// again.
async fn end(given_up: GivenUp) -> Option<Running> {
    let GivenUp::Search { mut connection, pid, limit, permit } = given_up else { return None };
    // The answer may be the failure of the statement that was cancelled.
    let _ended = timeout(limit, connection.ping()).await;
    drop(connection);
    drop(permit);
    Some(Running::Search { pid })
}

#[cfg(test)]
mod tests {
    use sqlx::postgres::PgSslMode;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_database_that_takes_connections_and_never_answers_is_stalled() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = silent.local_addr().unwrap().port();
        let options = PgConnectOptions::new().host("127.0.0.1").port(port).username("x").ssl_mode(PgSslMode::Disable);
        let short = Duration::from_millis(5);
        let attendant = Attendant::start(options, Times { ask_interval: short, answer_max: short });
        attendant.stalled().await;
        // It is known while it lasts.
        attendant.stalled().await;
        attendant.end().await;
    }
}
