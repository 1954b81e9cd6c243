//! The queues a node keeps in memory, so that a poll asks the database for nothing.
//!
//! A queue does not change but for what its client confirmed, so a copy is wrong only when the queue is gone. Who
//! deletes queues tells the other nodes; a node that could not listen for a while forgets all, and no copy is kept
//! for longer than [`KEPT_FOR`] whatever happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use chat_core::event_log::store::EventQueue;
use chat_core::people::typing_notifications::PendingTypingNotifications;
use moka::sync::Cache;

/// Bytes they may take together.
const KEPT_BYTES: u64 = 32 * 1024 * 1024;
/// Bytes of a queue beside its filter.
const BESIDE_FILTER_BYTES: u32 = 512;
/// How long a queue is kept without asking the database again.
const KEPT_FOR: Duration = Duration::from_mins(10);
/// That a client is there is written down again after so many seconds, or a quarter of the time it may be away.
const NOTE_EVERY_S: i64 = 300;

/// How long it is remembered that a queue is gone: longer than looking one up takes.
const GONE_FOR: Duration = Duration::from_mins(1);

pub(crate) struct QueueCache {
    queues: Cache<String, Arc<CachedQueue>>,
    /// Queues that went lately, for who looked one up in the meantime.
    gone: Cache<String, ()>,
    /// How often all were forgotten.
    generation: AtomicU64,
}

struct CachedQueue {
    queue: Arc<EventQueue>,
    weight_bytes: u32,
    noted_s: AtomicI64,
    /// What was told of who is typing up to this number, the queue was given.
    typing_seen: AtomicU64,
}

/// How often all had been forgotten when something was looked up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Generation(u64);

impl QueueCache {
    pub(crate) fn new() -> Self {
        let queues = Cache::builder()
            .max_capacity(KEPT_BYTES)
            .weigher(|_: &String, kept: &Arc<CachedQueue>| kept.weight_bytes)
            .time_to_live(KEPT_FOR)
            .build();
        let gone = Cache::builder().time_to_live(GONE_FOR).build();
        Self { queues, gone, generation: AtomicU64::new(0) }
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<EventQueue>> {
        Some(Arc::clone(&self.queues.get(id)?.queue))
    }

    pub(crate) fn generation(&self) -> Generation {
        Generation(self.generation.load(Ordering::SeqCst))
    }

    /// Keeps a queue that was looked up, unless it was deleted since, or all were forgotten. Of who is typing it hears
    /// what is sent after `typing`; one that is not kept misses that up to its next poll.
    pub(crate) fn keep(&self, queue: &Arc<EventQueue>, filter: &str, (looked_up, typing_seen): (Generation, u64)) {
        let filter_bytes = u32::try_from(filter.len()).unwrap_or(u32::MAX);
        let kept = CachedQueue {
            queue: Arc::clone(queue),
            weight_bytes: BESIDE_FILTER_BYTES.saturating_add(filter_bytes),
            noted_s: AtomicI64::new(queue.seen_s),
            typing_seen: AtomicU64::new(typing_seen),
        };
        self.queues.insert(queue.id.clone(), Arc::new(kept));
        // Asked after keeping it: whoever deletes says so first and then forgets.
        if self.generation() != looked_up || self.gone.contains_key(&queue.id) {
            self.queues.invalidate(&queue.id);
        }
    }

    /// Forgets a queue that is gone.
    pub(crate) fn forget(&self, id: &str) {
        self.gone.insert(id.to_owned(), ());
        self.queues.invalidate(id);
    }

    /// Forgets all, because it is not known which are gone.
    pub(crate) fn reset(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.queues.invalidate_all();
    }

    /// Returns what `after` says was told since the queue was last given something, which it is now. A queue that is
    /// not kept is given nothing, and what follows is for its next poll.
    pub(crate) fn typing_since(
        &self,
        id: &str,
        after: impl FnOnce(u64) -> PendingTypingNotifications,
    ) -> PendingTypingNotifications {
        let Some(kept) = self.queues.get(id) else {
            return PendingTypingNotifications {
                until: after(u64::MAX).until,
                ..PendingTypingNotifications::default()
            };
        };
        let typing = after(kept.typing_seen.load(Ordering::Relaxed));
        kept.typing_seen.store(typing.until, Ordering::Relaxed);
        typing
    }

    /// Returns whether it is time to write down that the client was there at `seen_s`. Says so once.
    pub(crate) fn is_due(&self, queue: &EventQueue, seen_s: i64) -> bool {
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

#[cfg(test)]
mod tests {
    use chat_core::event_log::event::QueueFilter;
    use chat_core::id::{EventId, UserId};

    use super::*;

    fn queue(id: &str) -> Arc<EventQueue> {
        let id = id.to_owned();
        let begins_after = EventId(0);
        Arc::new(EventQueue {
            id,
            user_id: UserId(1),
            filter: QueueFilter::default(),
            begins_after,
            seen_s: 0,
            idle_limit_s: 60,
        })
    }

    #[test]
    fn a_queue_that_was_looked_up_is_kept_unless_it_went_meanwhile() {
        let cache = QueueCache::new();
        let keep = |meanwhile: &dyn Fn()| {
            let generation = cache.generation();
            meanwhile();
            cache.keep(&queue("a"), "{}", (generation, 0));
            cache.find("a").is_some()
        };
        assert!(keep(&|| {}));
        assert!(keep(&|| cache.forget("b")), "another one went");
        assert!(!keep(&|| cache.reset()));
        assert!(!keep(&|| cache.forget("a")));
    }
}
