//! One statement for all callers of one moment.
//!
//! A task owns the statement. While it runs, requests gather, and what has gathered is the next batch. So a lone caller
//! waits for no other, and under load one exchange with the engine, and where something is written one commit, serves
//! all that arrived in the meantime. When the engine refuses a batch, or returns what cannot be read, each request is
//! made again alone, so no caller gets the failure of another; when it cannot be reached, all of them fail.
//!
//! Not taken: a statement per request, which costs Postgres several times the work, and a timer that waits for batches
//! to fill, which delays the lone caller.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use oauth_core::ports::StoreError;
use sqlx::pool::PoolConnection;
use sqlx::{Database, Pool};
use task_set::{TaskSet, UnexpectedTaskEnd};
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use crate::fault;

/// Most requests of one statement, where the handler has no other limit.
const BATCH_MAX: usize = 256;
/// Most requests that wait for a batch; further callers wait to hand theirs in.
const WAITING_MAX: usize = 4 * BATCH_MAX;
/// How often a batch lets everything else on the runtime have a turn before it is sent.
const TURNS: u32 = 2;
/// Most batches in a row on one connection, so that others that wait for one have a turn.
const IN_A_ROW_MAX: u32 = 16;
/// How long a connection is kept for callers that have just been answered and ask again.
const LINGER: Duration = Duration::from_millis(10);

/// How a batch is answered.
#[async_trait]
pub(crate) trait BatchHandler: Send + 'static {
    /// The request of one caller.
    type Request: Send + Sync + 'static;
    /// Its answer.
    type Answer: Send + 'static;

    /// What the task does, for the line that reports its end.
    const NAME: &'static str;

    /// Most requests of one batch.
    const BATCH_SIZE_MAX: usize = BATCH_MAX;

    /// Answers each request, in their order, after what they write is durable.
    async fn answer(&mut self, requests: &[Self::Request]) -> Result<Vec<Self::Answer>, Arc<sqlx::Error>>;

    /// Gives back what was kept for the next batch, because no caller waits.
    fn idle(&mut self);

    /// Returns whether what is kept may stay for [`LINGER`] although no caller waits.
    fn may_linger(&self) -> bool {
        false
    }
}

/// The task that answers requests, and the way to it. It ends with its owner.
pub(crate) struct Batcher<H: BatchHandler> {
    queue: mpsc::Sender<Caller<H>>,
    worker: Mutex<Option<Worker>>,
}

struct Worker {
    stop: oneshot::Sender<()>,
    tasks: TaskSet,
}

struct Caller<H: BatchHandler> {
    request: H::Request,
    answer: oneshot::Sender<Result<H::Answer, StoreError>>,
}

#[derive(Debug, thiserror::Error)]
#[error("the database is closing")]
struct Closing;

impl<H: BatchHandler> Batcher<H> {
    /// Starts on the current runtime.
    pub(crate) fn start(handler: H) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING_MAX);
        let (stop, stopped) = oneshot::channel();
        let mut tasks = TaskSet::default();
        tasks.spawn_until_stopped(H::NAME, answer_all(handler, waiting, stopped));
        Self { queue, worker: Mutex::new(Some(Worker { stop, tasks })) }
    }

    fn worker(&self) -> MutexGuard<'_, Option<Worker>> {
        self.worker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ready when the task has ended although nothing stopped it.
    pub(crate) fn poll_ended(&self, context: &mut Context<'_>) -> Poll<UnexpectedTaskEnd> {
        self.worker().as_mut().map_or(Poll::Pending, |worker| worker.tasks.poll_unexpected_end(context))
    }

    /// Ends the task; what waits fails.
    pub(crate) async fn end(&self) {
        let worker = self.worker().take();
        if let Some(Worker { mut tasks, .. }) = worker {
            tasks.abort_and_join_all().await;
        }
    }

    /// Answers what waits, takes nothing more, and returns when the task has ended.
    pub(crate) async fn stop(&self) {
        let worker = self.worker().take();
        if let Some(Worker { stop, mut tasks }) = worker {
            // The task may have ended by itself; then nothing receives this.
            let _ = stop.send(());
            tasks.join_all().await;
        }
    }

    /// Makes a request, together with the others of this moment.
    pub(crate) async fn ask(&self, request: H::Request) -> Result<H::Answer, StoreError> {
        let (answer, answered) = oneshot::channel();
        let closing = || StoreError(Box::new(Closing));
        self.queue.send(Caller { request, answer }).await.map_err(|_| closing())?;
        answered.await.map_err(|_| closing())?
    }
}

impl<H: BatchHandler> std::fmt::Debug for Batcher<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batcher").finish_non_exhaustive()
    }
}

async fn answer_all<H: BatchHandler>(
    mut handler: H,
    mut waiting: mpsc::Receiver<Caller<H>>,
    mut stopped: oneshot::Receiver<()>,
) {
    let mut batch = Vec::with_capacity(H::BATCH_SIZE_MAX);
    let mut lingers = false;
    loop {
        let received = tokio::select! {
            received = waiting.recv_many(&mut batch, H::BATCH_SIZE_MAX) => received,
            () = sleep(LINGER), if lingers => {
                handler.idle();
                lingers = false;
                continue;
            }
            _ = &mut stopped, if !waiting.is_closed() => {
                waiting.close();
                continue;
            }
        };
        if received == 0 {
            return;
        }
        gather(&mut waiting, &mut batch, H::BATCH_SIZE_MAX).await;
        let (requests, callers): (Vec<_>, Vec<_>) = batch
            .drain(..)
            .filter(|caller| !caller.answer.is_closed())
            .map(|caller| (caller.request, caller.answer))
            .unzip();
        if requests.is_empty() {
            continue;
        }
        match handler.answer(&requests).await {
            Err(error) if requests.len() > 1 && fault::is_of_one(&error) => {
                for (request, caller) in requests.chunks(1).zip(callers) {
                    tell(vec![caller], handler.answer(request).await);
                }
            }
            answered => tell(callers, answered),
        }
        lingers = handler.may_linger();
        if waiting.is_empty() && !lingers {
            handler.idle();
        }
    }
}

/// Lets callers that are being worked on join the batch.
///
/// What is ready to run on this thread runs first: a request whose signature is about to be checked shares this
/// statement instead of starting the next one. A lone caller finds no other and is not held up.
async fn gather<T>(waiting: &mut mpsc::Receiver<T>, batch: &mut Vec<T>, at_once_max: usize) {
    for _ in 0..TURNS {
        let before = batch.len();
        tokio::task::yield_now().await;
        while batch.len() < at_once_max
            && let Ok(caller) = waiting.try_recv()
        {
            batch.push(caller);
        }
        if batch.len() == before {
            return;
        }
    }
}

/// Gives each caller its answer; one that has gone away in the meantime gets none.
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

    /// Returns the one that is kept, or one from the pool.
    pub(crate) async fn connection(&mut self) -> Result<&mut DB::Connection, sqlx::Error> {
        if self.in_a_row >= IN_A_ROW_MAX {
            self.idle();
        }
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.pool.acquire().await?,
        };
        self.in_a_row += 1;
        Ok(self.connection.insert(connection))
    }

    /// Returns whether others find a connection while this one is kept.
    pub(crate) fn may_linger(&self) -> bool {
        let may_open = self.pool.size() < self.pool.options().get_max_connections();
        self.connection.is_some() && (may_open || self.pool.num_idle() > 0)
    }

    /// Gives it back: nobody waits, or it has failed.
    pub(crate) fn idle(&mut self) {
        self.connection = None;
        self.in_a_row = 0;
    }
}
