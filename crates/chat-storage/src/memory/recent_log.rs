//! The end of the log in memory, and who waits for more.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chat_core::event_log::event::{EventAudience, LogRecord};
use chat_core::event_log::store::LogWaiter;
use chat_core::id::{EventId, UserId};
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::people::typing_notifications::PendingTypingNotifications;
use tokio::sync::oneshot;

use crate::typing::RecentTyping;

/// Records kept in memory. A queue further behind reads the database.
const KEPT: usize = 4_096;
/// Bytes they may take together.
const KEPT_BYTES: usize = 16 * 1024 * 1024;

pub(crate) struct RecentLog(Mutex<Inner>);

struct Inner {
    head: EventId,
    records: VecDeque<Arc<LogRecord>>,
    records_bytes: usize,
    typing: RecentTyping,
    waiters: HashMap<UserId, BTreeMap<u64, WakeSignal>>,
    /// Waiters who hear public channels they are not in.
    public_waiters: BTreeMap<u64, UserId>,
    next_waiter: u64,
}

struct WakeSignal {
    wake: oneshot::Sender<()>,
}

/// A place among the waiters, given up when dropped.
pub(crate) struct Waiter<'a> {
    log: &'a RecentLog,
    user_id: UserId,
    number: u64,
    woken: oneshot::Receiver<()>,
}

impl RecentLog {
    /// An empty end of a log that ends there.
    pub(crate) fn from(head: EventId) -> Self {
        Self(Mutex::new(Inner {
            head,
            records: VecDeque::new(),
            records_bytes: 0,
            typing: RecentTyping::default(),
            waiters: HashMap::new(),
            public_waiters: BTreeMap::new(),
            next_waiter: 0,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn head(&self) -> EventId {
        self.lock().head
    }

    /// Returns the records after a place, or `None` when the memory does not reach back that far.
    pub(crate) fn after(&self, after: EventId, limit: usize) -> Option<Vec<Arc<LogRecord>>> {
        let inner = self.lock();
        if after >= inner.head {
            return Some(Vec::new());
        }
        let first = inner.records.front()?.id;
        if first.0 > after.0 + 1 {
            return None;
        }
        let from = inner.records.partition_point(|record| record.id <= after);
        Some(inner.records.range(from..).take(limit).cloned().collect())
    }

    /// Takes a record in and wakes those it may concern.
    pub(crate) fn apply(&self, record: Arc<LogRecord>, realm: &RealmSnapshot) {
        let mut inner = self.lock();
        inner.head = record.id;
        inner.wake(&record, realm);
        inner.records_bytes += record.memory_bytes();
        inner.records.push_back(record);
        while inner.records.len() > KEPT || inner.records_bytes > KEPT_BYTES {
            let Some(oldest) = inner.records.pop_front() else { return };
            inner.records_bytes -= oldest.memory_bytes();
        }
    }

    /// Begins again at a place, with nothing before it in memory, and wakes everyone: what they wait for may be among
    /// what was lost.
    pub(crate) fn reset(&self, head: EventId) {
        let mut inner = self.lock();
        inner.head = head;
        inner.records.clear();
        inner.records_bytes = 0;
        inner.typing.clear();
        inner.wake_where(|_| true);
    }

    /// Takes in who is typing and wakes those it concerns.
    pub(crate) fn tell(&self, record: Arc<LogRecord>, realm: &RealmSnapshot) {
        let mut inner = self.lock();
        inner.wake(&record, realm);
        inner.typing.push(record);
    }

    /// Returns what was told of who is typing after a number.
    pub(crate) fn typing_after(&self, number: u64) -> PendingTypingNotifications {
        let inner = self.lock();
        PendingTypingNotifications { events: inner.typing.after(number).cloned().collect(), until: inner.typing.last() }
    }

    /// Returns the number of the last that was told of who is typing.
    pub(crate) fn last_typing(&self) -> u64 {
        self.lock().typing.last()
    }

    /// A place among those who wait for what comes after a place, unless something that may concern them has come.
    pub(crate) fn queue_up(&self, listener: LogWaiter, after: EventId, realm: &RealmSnapshot) -> Option<Waiter<'_>> {
        let mut inner = self.lock();
        if inner.typing.after(listener.typing_seen).any(|record| concerns(record, listener, realm)) {
            return None;
        }
        if after < inner.head {
            let reaches_back = inner.records.front().is_some_and(|first| first.id.0 <= after.0 + 1);
            let from = inner.records.partition_point(|record| record.id <= after);
            let concerned = inner.records.range(from..).any(|record| concerns(record, listener, realm));
            if !reaches_back || concerned {
                return None;
            }
        }
        let number = inner.next_waiter;
        inner.next_waiter += 1;
        let (wake, woken) = oneshot::channel();
        inner.waiters.entry(listener.user_id).or_default().insert(number, WakeSignal { wake });
        if listener.receives_public {
            inner.public_waiters.insert(number, listener.user_id);
        }
        Some(Waiter { log: self, user_id: listener.user_id, number, woken })
    }
}

impl Inner {
    /// Wakes whom a record may concern. Costs no more than the smaller of its receivers and those who wait.
    fn wake(&mut self, record: &LogRecord, realm: &RealmSnapshot) {
        let Some(event) = &record.event else { return };
        match &event.audience {
            EventAudience::Users(users) => users.iter().for_each(|user| self.wake_user(*user)),
            EventAudience::Subscribers { channel_id, public } => {
                if realm.subscriber_count(*channel_id) <= self.waiters.len() {
                    realm.subscribers(*channel_id).for_each(|user| self.wake_user(user));
                } else {
                    self.wake_where(|user| realm.subscription(*channel_id, user).is_some());
                }
                if *public {
                    let public_waiters: Vec<UserId> = self.public_waiters.values().copied().collect();
                    for user in public_waiters {
                        self.wake_user(user);
                    }
                }
            }
            audience => {
                self.wake_where(|user| {
                    realm.user(user).is_none_or(|user| audience.includes_user(record.id, user, realm))
                });
            }
        }
    }

    fn wake_where(&mut self, is_meant: impl Fn(UserId) -> bool) {
        let meant: Vec<UserId> = self.waiters.keys().copied().filter(|user| is_meant(*user)).collect();
        for user in meant {
            self.wake_user(user);
        }
    }

    fn wake_user(&mut self, user_id: UserId) {
        for (number, waiter) in self.waiters.remove(&user_id).unwrap_or_default() {
            self.public_waiters.remove(&number);
            // Whoever waited may have gone away in the meantime.
            let _ = waiter.wake.send(());
        }
    }
}

/// Returns whether a record may concern a listener. May say yes too often, never no.
fn concerns(record: &LogRecord, listener: LogWaiter, realm: &RealmSnapshot) -> bool {
    let Some(event) = &record.event else { return false };
    let overheard =
        matches!(event.audience, EventAudience::Subscribers { public: true, .. }) && listener.receives_public;
    overheard || realm.user(listener.user_id).is_none_or(|user| event.audience.includes_user(record.id, user, realm))
}

impl Waiter<'_> {
    /// Waits until it is woken.
    pub(crate) async fn wait(mut self) {
        // An error says that whoever would wake is gone; then waiting is over too.
        let _ = (&mut self.woken).await;
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut inner = self.log.lock();
        inner.public_waiters.remove(&self.number);
        if let Some(waiters) = inner.waiters.get_mut(&self.user_id) {
            waiters.remove(&self.number);
            if waiters.is_empty() {
                inner.waiters.remove(&self.user_id);
            }
        }
    }
}
