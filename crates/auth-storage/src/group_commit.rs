//! On SQLite, what many ask for at once in one commit.
//!
//! A commit writes every page it touched and syncs them, which costs several times what the
//! statements cost. So one task owns these transactions: while one commits, what is asked for
//! gathers, and is the next. Each is answered after the commit that holds it. When one fails, each
//! is done again alone, so nobody is told another's failure.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use async_trait::async_trait;
use oauth_core::ports::StoreError;
use sql_engines::{PerEngine, retry_on_contention};
use sqlx::SqlitePool;
use task_set::{TaskSet, UnexpectedTaskEnd};
use tokio::sync::{mpsc, oneshot};

use crate::db::{AuthDatabase, begin};
use crate::engine::Tx;
use crate::fault;

/// Most transactions that share a commit.
const BATCH_MAX: usize = 64;
/// Most that wait for one; further ones wait to be let in.
const WAITING_MAX: usize = 16 * BATCH_MAX;

/// A transaction that can be done again from its beginning.
#[async_trait]
pub(crate) trait Work: Send + Sync + 'static {
    /// What its caller is told.
    type Outcome: Send;

    /// Does it within a transaction.
    async fn run(&self, tx: &mut Tx) -> Result<Self::Outcome, sqlx::Error>;
}

/// The task that commits for many, and the way to it. It ends with its owner.
#[derive(Debug)]
pub(crate) struct GroupCommit {
    queue: mpsc::Sender<Box<dyn Job>>,
    task: Mutex<TaskSet>,
}

#[derive(Debug, thiserror::Error)]
#[error("the database is closing")]
struct Closing;

impl GroupCommit {
    /// Starts on the current runtime.
    pub(crate) fn start(writer: SqlitePool) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING_MAX);
        let mut task = TaskSet::default();
        task.spawn_until_stopped("commit for many", commit_all(writer, waiting));
        Self { queue, task: Mutex::new(task) }
    }

    /// Ready when the task has ended although nothing stopped it.
    pub(crate) fn poll_ended(&self, context: &mut Context<'_>) -> Poll<UnexpectedTaskEnd> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner).poll_unexpected_end(context)
    }

    /// Ends the task; what waits fails.
    pub(crate) async fn end(&self) {
        let mut task = std::mem::take(&mut *self.task.lock().unwrap_or_else(PoisonError::into_inner));
        task.abort_and_join_all().await;
    }

    /// Does the work in a commit that others may share; returns when it is durable.
    pub(crate) async fn run<W: Work>(&self, work: W) -> Result<W::Outcome, StoreError> {
        let done = self.ask(work).await.ok_or_else(|| StoreError(Box::new(Closing)))?;
        done.map_err(|error| fault::shared(&error))
    }

    /// The same for whoever asks for many, each of whom is told the failure.
    pub(crate) async fn run_for_many<W: Work>(&self, work: W) -> Result<W::Outcome, Arc<sqlx::Error>> {
        self.ask(work).await.unwrap_or_else(|| Err(Arc::new(sqlx::Error::PoolClosed)))
    }

    /// `None` when the task has ended.
    async fn ask<W: Work>(&self, work: W) -> Option<Done<W>> {
        let (answer, answered) = oneshot::channel();
        self.queue.send(Box::new(Asked { work, outcome: None, answer })).await.ok()?;
        answered.await.ok()
    }
}

/// A transaction of its own, in which nobody shares.
pub(crate) async fn alone<W: Work>(db: &AuthDatabase, work: &W) -> Result<W::Outcome, sqlx::Error> {
    let mut tx = db.begin().await?;
    let outcome = work.run(&mut tx).await?;
    tx.commit().await?;
    Ok(outcome)
}

/// What became of work.
type Done<W> = Result<<W as Work>::Outcome, Arc<sqlx::Error>>;

/// Work of any kind, and who waits for it.
#[async_trait]
trait Job: Send {
    async fn run(&mut self, tx: &mut Tx) -> Result<(), sqlx::Error>;
    fn answer(self: Box<Self>, failure: Option<&Arc<sqlx::Error>>);
}

struct Asked<W: Work> {
    work: W,
    outcome: Option<W::Outcome>,
    answer: oneshot::Sender<Done<W>>,
}

#[async_trait]
impl<W: Work> Job for Asked<W> {
    async fn run(&mut self, tx: &mut Tx) -> Result<(), sqlx::Error> {
        self.outcome = Some(self.work.run(tx).await?);
        Ok(())
    }

    fn answer(self: Box<Self>, failure: Option<&Arc<sqlx::Error>>) {
        let Self { outcome, answer, .. } = *self;
        let told = match (failure, outcome) {
            (Some(error), _) => Err(Arc::clone(error)),
            (None, Some(outcome)) => Ok(outcome),
            (None, None) => Err(Arc::new(sqlx::Error::WorkerCrashed)),
        };
        // Whoever asked may have gone away meanwhile.
        drop(answer.send(told));
    }
}

async fn commit_all(writer: SqlitePool, mut waiting: mpsc::Receiver<Box<dyn Job>>) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    while waiting.recv_many(&mut batch, BATCH_MAX).await > 0 {
        // What is ready to run on this thread runs first and may join.
        tokio::task::yield_now().await;
        while batch.len() < BATCH_MAX
            && let Ok(job) = waiting.try_recv()
        {
            batch.push(job);
        }
        if batch.len() > 1 && commit(&writer, &mut batch).await.is_ok() {
            batch.drain(..).for_each(|job| job.answer(None));
            continue;
        }
        for job in batch.drain(..) {
            // Never contended: it lets one attempt after the other have the job.
            let held = tokio::sync::Mutex::new([job]);
            let done = retry_on_contention(|| async { commit(&writer, &mut *held.lock().await).await }).await;
            let failure = done.err().map(Arc::new);
            held.into_inner().into_iter().for_each(|job| job.answer(failure.as_ref()));
        }
    }
}

/// Does all of them in one transaction.
async fn commit(writer: &SqlitePool, jobs: &mut [Box<dyn Job>]) -> Result<(), sqlx::Error> {
    let mut tx = begin(PerEngine::Sqlite(writer), None).await?;
    for job in jobs {
        job.run(&mut tx).await?;
    }
    tx.commit().await
}
