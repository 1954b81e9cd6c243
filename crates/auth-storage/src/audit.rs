//! Audit records as `AuditEvent` resources.
//!
//! Whoever records puts the record in a queue and goes on; one task writes what has gathered. A
//! queue that is full drops what comes, counts it (`audit_events_lost_total`) and says so in the log
//! once until it is empty again: an auditor is told that something is missing, and nobody waits.
//! What waits in the queue is lost with the process when that is killed; what it stops orderly, it
//! writes.

mod event;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fhir_store::ResourceType;
use oauth_core::ports::{AuditRecord, AuditSink};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::db::Db;
use crate::fault::retried;
use crate::resources::append;

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

/// The task that writes audit records, and the way to it. One per process.
///
/// [`AuditLog::stop`] ends it after what waits was written; dropped without that, it ends at once
/// and what waits is lost.
#[derive(Debug)]
pub struct AuditLog {
    queue: mpsc::Sender<AuditRecord>,
    losing: Arc<AtomicBool>,
    worker: Mutex<Option<Worker>>,
}

#[derive(Debug)]
struct Worker {
    stop: oneshot::Sender<()>,
    tasks: JoinSet<()>,
}

impl AuditLog {
    /// Starts writing on the current runtime.
    #[must_use]
    pub fn start(db: Db) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING_MAX);
        let (stop, stopped) = oneshot::channel();
        let losing = Arc::new(AtomicBool::new(false));
        let writer = Writer { db, waiting, stopped, losing: Arc::clone(&losing) };
        let mut tasks = JoinSet::new();
        tasks.spawn(writer.write_all());
        Self { queue, losing, worker: Mutex::new(Some(Worker { stop, tasks })) }
    }

    /// Writes what waits, takes nothing more, and returns when the task has ended. Once is enough;
    /// again does nothing.
    pub async fn stop(&self) {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Worker { stop, mut tasks }) = worker {
            // The task may have ended by itself; then there is nobody to tell.
            let _ = stop.send(());
            while let Some(ended) = tasks.join_next().await {
                if let Err(error) = ended {
                    tracing::error!(%error, "the task that writes audit events failed");
                }
            }
        }
    }
}

impl AuditSink for AuditLog {
    fn record(&self, record: AuditRecord) {
        if self.queue.try_send(record).is_err() {
            count_lost(1);
            if !self.losing.swap(true, Ordering::Relaxed) {
                tracing::error!("audit events are being lost: more happens than can be written");
            }
        }
    }
}

fn count_lost(records: usize) {
    metrics::counter!("audit_events_lost_total").increment(u64::try_from(records).unwrap_or(u64::MAX));
}

struct Writer {
    db: Db,
    waiting: mpsc::Receiver<AuditRecord>,
    stopped: oneshot::Receiver<()>,
    losing: Arc<AtomicBool>,
}

impl Writer {
    async fn write_all(mut self) {
        let Ok(kind) = event::TYPE.parse::<ResourceType>() else {
            return;
        };
        let mut batch = Vec::with_capacity(BATCH_MAX);
        loop {
            if self.pause(None, &mut batch).await.is_continue() && batch.len() < BATCH_MAX {
                let _ = self.pause(Some(GATHER), &mut batch).await;
            }
            while batch.len() < BATCH_MAX
                && let Ok(record) = self.waiting.try_recv()
            {
                batch.push(record);
            }
            if batch.is_empty() && self.waiting.is_closed() {
                return;
            }
            self.write(&kind, &batch).await;
            batch.clear();
            if self.waiting.is_empty() {
                self.losing.store(false, Ordering::Relaxed);
            }
        }
    }

    /// Waits for a time or, without one, for records; breaks off when told to stop.
    async fn pause(&mut self, time: Option<Duration>, batch: &mut Vec<AuditRecord>) -> ControlFlow<()> {
        if self.waiting.is_closed() {
            return ControlFlow::Break(());
        }
        let Self { waiting, stopped, .. } = self;
        let over = async {
            match time {
                Some(time) => tokio::time::sleep(time).await,
                None => drop(waiting.recv_many(batch, BATCH_MAX).await),
            }
        };
        let told = tokio::select! {
            () = over => false,
            _ = stopped => true,
        };
        if told {
            self.waiting.close();
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    async fn write(&mut self, kind: &ResourceType, batch: &[AuditRecord]) {
        let events: Vec<Value> = batch.iter().map(event::of).collect();
        let Some(now_us) = batch.iter().map(|record| record.at_us).max() else {
            return;
        };
        for _ in 0..ATTEMPTS {
            let written = retried(|| append(&self.db, kind, &events, now_us)).await;
            let Err(error) = written else {
                return;
            };
            tracing::error!(%error, events = events.len(), "audit events cannot be written");
            if self.pause(Some(RETRY_AFTER), &mut Vec::new()).await.is_break() {
                break;
            }
        }
        count_lost(events.len());
        tracing::error!(events = events.len(), "audit events are lost: they could not be written");
    }
}
