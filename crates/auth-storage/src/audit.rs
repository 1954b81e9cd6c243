//! Audit records as `AuditEvent` resources.
//!
//! Whoever records puts the record in a queue and goes on; one task writes what has gathered. A
//! queue that is full drops what comes, counts it (`audit_events_lost_total`) and says so in the log
//! once until it is empty again: an auditor is told that something is missing, and nobody waits.
//! Refusals that anybody can cause do not go through the queue, but are summed up ([`refusal_aggregation`]).
//! What waits is lost with the process when that is killed; what it stops orderly, it writes.

mod event;
mod refusal_aggregation;
mod retention;

use std::future::poll_fn;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use fhir_resource::{ResourceId, ResourceType};
use oauth_core::ports::{AuditRecord, AuditSink};
use serde_json::Value;
use sql_engines::retry_on_contention;
use task_set::{TaskSet, UnexpectedTaskEnd};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Interval;

use crate::db::AuthDatabase;
use crate::engine::Tx;
use crate::resources::{append, upsert};

use refusal_aggregation::{Entry, Refusals};

/// Most records that wait to be written.
const WAITING_MAX: usize = 8192;
/// Most records in one transaction.
const BATCH_MAX: usize = 256;
/// For how long the first record of a batch waits for others: a transaction of its own for each
/// would cost more than what it tells of.
const GATHER: Duration = Duration::from_millis(250);
/// How often a batch is tried before it is given up, and the time between two tries.
const ATTEMPTS: u32 = 10;
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The handle to the task that writes audit records; one per process.
///
/// [`AuditLogWriter::drain_and_stop`] ends it after the waiting records are written; when it is dropped without that,
/// it ends at once and the waiting records are lost.
#[derive(Debug)]
pub struct AuditLogWriter {
    queue: mpsc::Sender<Entry>,
    refusals: Arc<Refusals>,
    losing: Arc<AtomicBool>,
    worker: Mutex<Option<Worker>>,
}

#[derive(Debug)]
struct Worker {
    stop: oneshot::Sender<()>,
    tasks: TaskSet,
}

impl AuditLogWriter {
    /// Starts the task on the current runtime.
    #[must_use]
    pub fn start(db: AuthDatabase) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING_MAX);
        let (stop, stopped) = oneshot::channel();
        let (losing, refusals) = (Arc::new(AtomicBool::new(false)), Arc::new(Refusals::default()));
        let writer =
            Writer { db, waiting, refusals: Arc::clone(&refusals), stopped, losing: Arc::clone(&losing), ends: false };
        let mut tasks = TaskSet::default();
        tasks.spawn_until_stopped("write audit events", writer.write_all());
        Self { queue, refusals, losing, worker: Mutex::new(Some(Worker { stop, tasks })) }
    }

    /// Waits until the task has ended although it was not stopped.
    pub async fn wait_for_unexpected_end(&self) -> UnexpectedTaskEnd {
        poll_fn(|context| {
            let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
            worker.as_mut().map_or(Poll::Pending, |worker| worker.tasks.poll_unexpected_end(context))
        })
        .await
    }

    /// Writes the waiting records, accepts no more, and returns when the task has ended. Further calls do nothing.
    pub async fn drain_and_stop(&self) {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Worker { stop, mut tasks }) = worker {
            // The task may have ended by itself; then there is nobody to tell.
            let _ = stop.send(());
            tasks.join_all().await;
        }
    }
}

impl AuditSink for AuditLogWriter {
    fn record(&self, record: AuditRecord) {
        if record.is_refusal_anyone_can_cause() && !self.queue.is_closed() {
            return self.refusals.note(record);
        }
        if self.queue.try_send(Entry::once(record)).is_err() {
            count_lost(1);
            if !self.losing.swap(true, Ordering::Relaxed) {
                tracing::error!("audit events are being lost: more happens than can be written");
            }
        }
    }
}

/// The event of a record, under an id that makes it one however often it is written, within a transaction: what is
/// told with what was done cannot be lost.
pub(crate) async fn tell(
    db: &AuthDatabase,
    tx: &mut Tx,
    (id, record): (&ResourceId, AuditRecord),
) -> Result<(), sqlx::Error> {
    let kind: ResourceType = event::TYPE.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
    let at_us = record.at_us;
    let event = event::of(&Entry::once(record));
    upsert(db, tx, &kind, &[(id.to_string(), event)], at_us).await
}

fn count_lost(records: usize) {
    metrics::counter!("audit_events_lost_total").increment(u64::try_from(records).unwrap_or(u64::MAX));
}

struct Writer {
    db: AuthDatabase,
    waiting: mpsc::Receiver<Entry>,
    refusals: Arc<Refusals>,
    stopped: oneshot::Receiver<()>,
    losing: Arc<AtomicBool>,
    /// Whether the interval of refusals is over.
    ends: bool,
}

impl Writer {
    async fn write_all(mut self) {
        let Ok(kind) = event::TYPE.parse::<ResourceType>() else {
            return;
        };
        let mut intervals = tokio::time::interval(refusal_aggregation::INTERVAL);
        intervals.reset();
        let mut batch = Vec::with_capacity(BATCH_MAX);
        loop {
            if self.wait(&mut intervals, &mut batch).await.is_continue() && batch.len() < BATCH_MAX {
                let _ = self.pause(GATHER).await;
            }
            while batch.len() < BATCH_MAX
                && let Ok(entry) = self.waiting.try_recv()
            {
                batch.push(entry);
            }
            let over = self.waiting.is_closed();
            batch.extend(self.refusals.take(over || std::mem::take(&mut self.ends)));
            if batch.is_empty() && over {
                return;
            }
            batch.sort_by_key(|entry| entry.record.at_us);
            for part in batch.chunks(BATCH_MAX) {
                self.write(&kind, part).await;
            }
            batch.clear();
            if self.waiting.is_empty() {
                self.losing.store(false, Ordering::Relaxed);
            }
        }
    }

    /// Waits until there is something to write; breaks off when told to stop.
    async fn wait(&mut self, intervals: &mut Interval, batch: &mut Vec<Entry>) -> ControlFlow<()> {
        if self.waiting.is_closed() {
            return ControlFlow::Break(());
        }
        let Self { waiting, stopped, refusals, ends, .. } = self;
        tokio::select! {
            _ = waiting.recv_many(batch, BATCH_MAX) => {}
            () = refusals.news() => {}
            _ = intervals.tick() => *ends = true,
            _ = stopped => {
                self.waiting.close();
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    /// Waits for a time; breaks off when told to stop.
    async fn pause(&mut self, time: Duration) -> ControlFlow<()> {
        if self.waiting.is_closed() {
            return ControlFlow::Break(());
        }
        tokio::select! {
            () = tokio::time::sleep(time) => ControlFlow::Continue(()),
            _ = &mut self.stopped => {
                self.waiting.close();
                ControlFlow::Break(())
            }
        }
    }

    async fn write(&mut self, kind: &ResourceType, batch: &[Entry]) {
        let events: Vec<Value> = batch.iter().map(event::of).collect();
        let Some(now_us) = batch.iter().map(|entry| entry.record.at_us).max() else {
            return;
        };
        for _ in 0..ATTEMPTS {
            let written = retry_on_contention(|| append(&self.db, kind, &events, now_us)).await;
            let Err(error) = written else {
                return;
            };
            tracing::error!(%error, events = events.len(), "audit events cannot be written");
            if self.pause(RETRY_AFTER).await.is_break() {
                break;
            }
        }
        count_lost(events.len());
        tracing::error!(events = events.len(), "audit events are lost: they could not be written");
    }
}
