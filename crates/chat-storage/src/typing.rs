//! Who is typing, from memory to memory: a short ring of what was told lately, and notifications between nodes.
//!
//! The road not taken is the log: it would write, and wait for the disk, whenever a user hits a key after a pause.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use chat_core::event_log::event::LogRecord;
use chat_core::id::EventId;
use chat_core::people::typing_notifications::{PendingTypingNotifications, TypingFeed, TypingNotification};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::db::ChatDatabase;
use crate::store::{ChatStore, Shared};

/// Events kept for queues whose clients are between two polls.
const KEPT: usize = 1_024;
/// How long. A client that stays away for longer has its reason, and what it missed is over.
const KEPT_FOR: Duration = Duration::from_secs(10);
/// Most that waits to be told to other nodes; what comes then is told on this node alone.
const WAITING_MAX: usize = 1_024;
/// Most that one statement tells.
const BATCH_MAX: usize = 64;
/// The name under which Postgres tells nodes who is typing.
pub(crate) const NOTIFICATION: &str = "chat_typing";
/// Nothing of it has to last, so its commit does not wait for the disk.
const NOTIFY: &str = "SELECT set_config('synchronous_commit', 'off', TRUE), pg_notify('chat_typing', told)
FROM unnest($1::TEXT[]) AS told";

/// What was told lately, the oldest first.
#[derive(Default)]
pub(crate) struct RecentTyping {
    recent: VecDeque<(Instant, Arc<LogRecord>)>,
    /// The number of the last; the first ever has 1.
    last: u64,
}

impl RecentTyping {
    pub(crate) fn push(&mut self, record: Arc<LogRecord>) {
        let now = Instant::now();
        while self.recent.len() >= KEPT || self.recent.front().is_some_and(|(at, _)| now - *at > KEPT_FOR) {
            self.recent.pop_front();
        }
        self.recent.push_back((now, record));
        self.last += 1;
    }

    /// Forgets what was told; the numbers go on.
    pub(crate) fn clear(&mut self) {
        self.recent.clear();
    }

    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Returns what is kept of what was told after a number.
    pub(crate) fn after(&self, number: u64) -> impl Iterator<Item = &Arc<LogRecord>> {
        let new = usize::try_from(self.last.saturating_sub(number)).unwrap_or(usize::MAX);
        let kept = self.recent.range(self.recent.len().saturating_sub(new)..);
        let now = Instant::now();
        kept.filter(move |(at, _)| now - *at <= KEPT_FOR).map(|(_, record)| record)
    }
}

/// The way to the other nodes; there is none without Postgres.
pub(crate) struct TypingBroadcast {
    to: Option<mpsc::Sender<String>>,
    /// This node, by chance: what it told itself comes back to it.
    node: u64,
}

impl TypingBroadcast {
    /// Returns the way, and what the task [`spread`] takes from it.
    pub(crate) fn new(has_others: bool) -> (Self, mpsc::Receiver<String>) {
        let (to, from) = mpsc::channel(WAITING_MAX);
        // The keys of a new hasher are the operating system's random numbers.
        let node = RandomState::new().hash_one(NOTIFICATION);
        (Self { to: has_others.then_some(to), node }, from)
    }

    fn send(&self, typing: &TypingNotification) {
        let Some(to) = &self.to else { return };
        let payload = serde_json::to_string(typing).map(|typing| format!("{} {typing}", self.node));
        if !payload.is_ok_and(|payload| to.try_send(payload).is_ok()) {
            tracing::debug!("other nodes are not told who is typing: too much waits to be told");
        }
    }

    /// Returns what another node told; `None` for what this node did, and for what cannot be read.
    fn read(&self, payload: &str) -> Option<TypingNotification> {
        let (node, typing) = payload.split_once(' ')?;
        if node.parse() == Ok(self.node) { None } else { serde_json::from_str(typing).ok() }
    }
}

/// Tells other nodes, many at once.
pub(crate) async fn spread(db: ChatDatabase, mut from: mpsc::Receiver<String>) {
    let Some(postgres) = db.postgres() else { return };
    let mut batch = Vec::with_capacity(BATCH_MAX);
    while from.recv_many(&mut batch, BATCH_MAX).await > 0 {
        let on = postgres.pooled();
        if let Err(error) = on.outage.bound(sqlx::query(NOTIFY).bind(&batch).execute(&on.pool)).await {
            tracing::warn!(%error, "other nodes were not told who is typing");
        }
        batch.clear();
    }
}

/// Takes in what another node told.
pub(crate) fn hear(shared: &Shared, payload: &str) {
    if let Some(typing) = shared.spread.read(payload) {
        tell_here(shared, &typing);
    }
}

fn tell_here(shared: &Shared, typing: &TypingNotification) {
    let realm = shared.memory.realm.load();
    if let Some(event) = typing.to_event(&realm) {
        let record = LogRecord::new(EventId::BEFORE_FIRST, 0, Vec::new(), Some(event));
        shared.memory.recent_log.tell(Arc::new(record), &realm);
    }
}

impl TypingFeed for ChatStore {
    fn publish_typing(&self, typing: TypingNotification) {
        tell_here(&self.shared, &typing);
        self.shared.spread.send(&typing);
    }

    fn take_typing_for_queue(&self, queue_id: &str) -> PendingTypingNotifications {
        self.shared.memory.queues.typing_since(queue_id, |number| self.shared.memory.recent_log.typing_after(number))
    }
}

#[cfg(test)]
mod tests {
    use chat_core::id::UserId;
    use chat_core::people::typing_notifications::{TypingDestination, TypingOp};

    use super::*;

    fn record() -> Arc<LogRecord> {
        Arc::new(LogRecord::new(EventId::BEFORE_FIRST, 0, Vec::new(), None))
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_old_or_too_much_is_forgotten() {
        let mut ring = RecentTyping::default();
        ring.push(record());
        tokio::time::advance(KEPT_FOR / 2).await;
        ring.push(record());
        assert_eq!([0, 1, 2, 9].map(|number| ring.after(number).count()), [2, 1, 0, 0]);
        tokio::time::advance(KEPT_FOR / 2 + Duration::from_secs(1)).await;
        assert_eq!([0, 1, 2].map(|number| ring.after(number).count()), [1, 1, 0]);
        for _ in 0..2 * KEPT {
            ring.push(record());
        }
        assert_eq!((ring.after(0).count(), ring.last()), (KEPT, 2 + 2 * KEPT as u64));
    }

    #[test]
    fn a_node_does_not_hear_itself() {
        let typing = TypingNotification {
            user_id: UserId(4),
            op: TypingOp::Start,
            to: TypingDestination::Direct(vec![UserId(4)]),
            edited: None,
        };
        let ((here, mut from), (there, _)) = (TypingBroadcast::new(true), TypingBroadcast::new(true));
        here.send(&typing);
        let payload = from.try_recv().unwrap();
        assert_eq!((here.read(&payload), there.read(&payload)), (None, Some(typing)));
        assert_eq!(there.read("nonsense"), None);
    }
}
