//! What many ask at once, answered by one statement.
//!
//! One task owns the statement. While it runs, what is asked gathers, and is the next batch; so a
//! lone caller waits for nobody, and under load one exchange with the engine, and where something is
//! written one commit, serves all who came meanwhile. When the engine refuses a batch, or tells what
//! cannot be read, each is asked again alone, so nobody is told another's failure; when it cannot be
//! reached, all are told.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use async_trait::async_trait;
use oauth_core::ports::StoreError;
use sqlx::pool::PoolConnection;
use sqlx::{Database, Pool};
use tokio::sync::{mpsc, oneshot};

use crate::fault;
use crate::tasks::{TaskEnded, TaskSet};

/// Most that is asked in one statement, where nothing else is said.
const BATCH_MAX: usize = 256;
/// Most that waits for one; further callers wait to be let in.
const WAITING_MAX: usize = 4 * BATCH_MAX;
/// Most batches in a row on one connection, so that whoever else waits for it has a turn.
const IN_A_ROW_MAX: u32 = 16;

/// How a batch is answered.
#[async_trait]
pub(crate) trait Answers: Send + 'static {
    /// What one caller asks.
    type Asked: Send + Sync + 'static;
    /// What it is told.
    type Answer: Send + 'static;

    /// Most that is asked at once.
    const AT_ONCE_MAX: usize = BATCH_MAX;

    /// One answer for each, in their order; what is written is durable then.
    async fn answer(&mut self, asked: &[Self::Asked]) -> Result<Vec<Self::Answer>, Arc<sqlx::Error>>;

    /// Gives back what was kept for the next batch: nobody waits.
    fn rest(&mut self);
}

/// The task that answers, and the way to it. It ends with its owner.
pub(crate) struct Batches<A: Answers> {
    queue: mpsc::Sender<Caller<A>>,
    task: Mutex<TaskSet>,
}

struct Caller<A: Answers> {
    asked: A::Asked,
    answer: oneshot::Sender<Result<A::Answer, StoreError>>,
}

#[derive(Debug, thiserror::Error)]
#[error("the database is closing")]
struct Closing;

impl<A: Answers> Batches<A> {
    /// Starts on the current runtime.
    pub(crate) fn start(answers: A) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING_MAX);
        let mut task = TaskSet::default();
        task.spawn("answer many at once", answer_all(answers, waiting));
        Self { queue, task: Mutex::new(task) }
    }

    /// Ready when the task has ended although nothing stopped it.
    pub(crate) fn poll_ended(&self, context: &mut Context<'_>) -> Poll<TaskEnded> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner).poll_ended(context)
    }

    /// Ends the task; what waits fails.
    pub(crate) async fn end(&self) {
        let mut task = std::mem::take(&mut *self.task.lock().unwrap_or_else(PoisonError::into_inner));
        task.shutdown().await;
    }

    /// Asks, together with whoever else does so now.
    pub(crate) async fn ask(&self, asked: A::Asked) -> Result<A::Answer, StoreError> {
        let (answer, answered) = oneshot::channel();
        let closing = || StoreError(Box::new(Closing));
        self.queue.send(Caller { asked, answer }).await.map_err(|_| closing())?;
        answered.await.map_err(|_| closing())?
    }
}

impl<A: Answers> std::fmt::Debug for Batches<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batches").finish_non_exhaustive()
    }
}

async fn answer_all<A: Answers>(mut answers: A, mut waiting: mpsc::Receiver<Caller<A>>) {
    let mut batch = Vec::with_capacity(A::AT_ONCE_MAX);
    while waiting.recv_many(&mut batch, A::AT_ONCE_MAX).await > 0 {
        // What is ready to run on this thread runs first and may join.
        tokio::task::yield_now().await;
        while batch.len() < A::AT_ONCE_MAX
            && let Ok(caller) = waiting.try_recv()
        {
            batch.push(caller);
        }
        let (asked, callers): (Vec<_>, Vec<_>) =
            batch.drain(..).map(|Caller { asked, answer }| (asked, answer)).unzip();
        match answers.answer(&asked).await {
            Err(error) if asked.len() > 1 && fault::is_of_one(&error) => {
                for (asked, caller) in asked.chunks(1).zip(callers) {
                    tell(vec![caller], answers.answer(asked).await);
                }
            }
            answered => tell(callers, answered),
        }
        if waiting.is_empty() {
            answers.rest();
        }
    }
}

/// Tells each caller its part; whoever asked may have gone away meanwhile.
fn tell<T>(callers: Vec<oneshot::Sender<Result<T, StoreError>>>, answered: Result<Vec<T>, Arc<sqlx::Error>>) {
    let (answers, failure) = match answered {
        Ok(answers) => (answers, Arc::new(sqlx::Error::RowNotFound)),
        Err(error) => (Vec::new(), error),
    };
    let mut answers = answers.into_iter();
    for caller in callers {
        drop(caller.send(answers.next().ok_or_else(|| fault::shared(&failure))));
    }
}

/// A connection that is kept from one batch to the next while somebody waits.
///
/// A pool asks a connection how it is whenever it comes back, which under load is one exchange with
/// the engine more for every batch.
#[derive(Debug)]
pub(crate) struct Kept<DB: Database> {
    pool: Pool<DB>,
    connection: Option<PoolConnection<DB>>,
    in_a_row: u32,
}

impl<DB: Database> Kept<DB> {
    pub(crate) const fn new(pool: Pool<DB>) -> Self {
        Self { pool, connection: None, in_a_row: 0 }
    }

    /// The one that is kept, or one from the pool.
    pub(crate) async fn connection(&mut self) -> Result<&mut DB::Connection, sqlx::Error> {
        if self.in_a_row >= IN_A_ROW_MAX {
            self.rest();
        }
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.pool.acquire().await?,
        };
        self.in_a_row += 1;
        Ok(self.connection.insert(connection))
    }

    /// Gives it back: nobody waits, or it has failed.
    pub(crate) fn rest(&mut self) {
        self.connection = None;
        self.in_a_row = 0;
    }
}
