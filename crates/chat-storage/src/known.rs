//! The queues a node keeps in memory, so that a poll asks the database for nothing.
//!
//! A queue does not change but for what its client confirmed, so a copy is wrong only when the queue is gone. Who
//! deletes queues tells the other nodes; a node that could not listen for a while forgets all, and no copy is kept
//! for longer than [`KEPT_FOR`] whatever happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use chat_core::ports::Queue;
use chat_core::typing::Told;
use moka::sync::Cache;

/// Bytes they may take together.
const KEPT_BYTES: u64 = 32 * 1024 * 1024;
/// Bytes of a queue beside its filter.
const BESIDE_FILTER_BYTES: u32 = 512;
/// How long a queue is kept without asking the database again.
const KEPT_FOR: Duration = Duration::from_mins(10);
/// That a client is there is written down again after so many seconds, or a quarter of the time it may be away.
const NOTE_EVERY_S: i64 = 300;

pub(crate) struct Known {
    queues: Cache<String, Arc<Kept>>,
    deletions: AtomicU64,
}

struct Kept {
    queue: Arc<Queue>,
    weight_bytes: u32,
    noted_s: AtomicI64,
    /// What was told of who is typing up to this number, the queue was given.
    told: AtomicU64,
}

/// How many deletions were heard of when something was looked up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment(u64);

impl Known {
    pub(crate) fn new() -> Self {
        let queues = Cache::builder()
            .max_capacity(KEPT_BYTES)
            .weigher(|_: &String, kept: &Arc<Kept>| kept.weight_bytes)
            .time_to_live(KEPT_FOR)
            .build();
        Self { queues, deletions: AtomicU64::new(0) }
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<Queue>> {
        Some(Arc::clone(&self.queues.get(id)?.queue))
    }

    pub(crate) fn moment(&self) -> Moment {
        Moment(self.deletions.load(Ordering::SeqCst))
    }

    /// Keeps a queue that was looked up, unless a queue was deleted since: it could have been this one. Of who is
    /// typing it hears what is told after `told`.
    pub(crate) fn keep(&self, queue: &Arc<Queue>, filter: &str, (looked_up, told): (Moment, u64)) {
        let filter_bytes = u32::try_from(filter.len()).unwrap_or(u32::MAX);
        let kept = Kept {
            queue: Arc::clone(queue),
            weight_bytes: BESIDE_FILTER_BYTES.saturating_add(filter_bytes),
            noted_s: AtomicI64::new(queue.seen_s),
            told: AtomicU64::new(told),
        };
        self.queues.insert(queue.id.clone(), Arc::new(kept));
        // Asked after keeping it: whoever deletes counts first and then forgets.
        if self.moment() != looked_up {
            self.queues.invalidate(&queue.id);
        }
    }

    /// Forgets a queue that is gone.
    pub(crate) fn forget(&self, id: &str) {
        self.deletions.fetch_add(1, Ordering::SeqCst);
        self.queues.invalidate(id);
    }

    /// Forgets all, because it is not known which are gone.
    pub(crate) fn forget_all(&self) {
        self.deletions.fetch_add(1, Ordering::SeqCst);
        self.queues.invalidate_all();
    }

    /// What `after` says was told since the queue was last given something, which it is now. A queue that is not kept
    /// is given nothing, and what follows is for its next poll.
    pub(crate) fn told_since(&self, id: &str, after: impl FnOnce(u64) -> Told) -> Told {
        let Some(kept) = self.queues.get(id) else { return Told { until: after(u64::MAX).until, ..Told::default() } };
        let told = after(kept.told.load(Ordering::Relaxed));
        kept.told.store(told.until, Ordering::Relaxed);
        told
    }

    /// Whether it is time to write down that the client was there at `seen_s`. Says so once.
    pub(crate) fn is_due(&self, queue: &Queue, seen_s: i64) -> bool {
        let every_s = NOTE_EVERY_S.min(queue.idle_limit_s / 4);
        let due = |noted_s: i64| (seen_s.saturating_sub(noted_s) >= every_s).then_some(seen_s);
        // What was written down when the queue was looked up is written down; most polls need not ask for more.
        if due(queue.seen_s).is_none() {
            return false;
        }
        let Some(kept) = self.queues.get(&queue.id) else { return true };
        kept.noted_s.fetch_update(Ordering::Relaxed, Ordering::Relaxed, due).is_ok()
    }
}
