//! What users have read, as this node read or wrote it last: who sets a flag looks at it first and changes it then, and
//! who reads a lot is soon there again.
//!
//! It holds until the log tells of something that may change it. Who reads the database for it notes where the log
//! ended before that, and if something came in the meantime that may have changed what a user has read, it is not kept.
//! What is not known to leave it as it is takes it away, so an event that is not understood costs time and not truth.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chat_core::event_log::event::{EventAudience, EventBody, LogRecord, NewEvent};
use chat_core::id::{EventId, UserId};
use chat_core::model::message::{MessageFlag, Recipient};

use crate::read_set::ReadSet;

/// Users of whom it is kept.
const USERS_MAX: usize = 16;
/// Bytes of what one of them has read, in its serialised form, and of the recipients asked for; of who has read with
/// more gaps nothing is kept.
const SETS_BYTES: usize = 256 * 1024;

/// What is kept.
#[derive(Default)]
pub(crate) struct ReadStateCache(Mutex<Inner>);

struct Inner {
    users: HashMap<UserId, ReadState>,
    /// The last place of the log that was noted.
    noted: EventId,
    /// The last that may have changed what a user has read.
    changed: EventId,
}

impl Default for Inner {
    fn default() -> Self {
        Self { users: HashMap::new(), noted: EventId(0), changed: EventId(0) }
    }
}

/// What a user has read.
pub(crate) struct ReadState {
    /// No later place of the log has changed it.
    pub(crate) at: EventId,
    /// The recipients that were asked for.
    pub(crate) asked: BTreeSet<Recipient>,
    /// The sets of those of which they read anything.
    pub(crate) sets: HashMap<Recipient, ReadSet>,
}

impl ReadStateCache {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at what the user has read without taking it away, if anything is known; it holds for a place of the log.
    pub(crate) fn look<T>(&self, user_id: UserId, look: impl FnOnce(&ReadState, EventId) -> T) -> Option<T> {
        let inner = self.lock();
        // Nothing since has changed it.
        inner.users.get(&user_id).map(|looked| look(looked, looked.at.max(inner.noted)))
    }

    /// Keeps what a user has read instead of what was kept of them, if it still holds.
    pub(crate) fn keep(&self, user_id: UserId, looked: ReadState) {
        let asked = looked.asked.len() * size_of::<Recipient>();
        let bytes = asked + looked.sets.values().map(ReadSet::size_bytes).sum::<usize>();
        let mut inner = self.lock();
        inner.users.remove(&user_id);
        if looked.at < inner.changed || bytes > SETS_BYTES {
            return;
        }
        if inner.users.len() >= USERS_MAX {
            let oldest = inner.users.iter().min_by_key(|(_, looked)| looked.at).map(|(user, _)| *user);
            oldest.and_then(|oldest| inner.users.remove(&oldest));
        }
        inner.users.insert(user_id, looked);
    }

    /// Returns what the user has read, as far as it is known. Who takes it keeps it again.
    pub(crate) fn take(&self, user_id: UserId) -> Option<ReadState> {
        let mut inner = self.lock();
        let mut looked = inner.users.remove(&user_id)?;
        // Nothing since has changed it.
        looked.at = looked.at.max(inner.noted);
        Some(looked)
    }

    /// Forgets all: what the log brought up to that place is not known.
    pub(crate) fn reset(&self, at: EventId) {
        let mut inner = self.lock();
        inner.users.clear();
        inner.noted = inner.noted.max(at);
        inner.changed = inner.changed.max(at);
    }

    /// Takes in what the log brings.
    pub(crate) fn apply(&self, record: &LogRecord) {
        let mut inner = self.lock();
        inner.noted = record.id;
        match readers(record) {
            AffectedUsers::Nobody => return,
            AffectedUsers::These(users) => users.iter().for_each(|user| drop(inner.users.remove(user))),
            AffectedUsers::Anybody => inner.users.clear(),
        }
        inner.changed = record.id;
    }
}

impl ReadState {
    /// Returns whether all of these were asked for.
    pub(crate) fn knows<'a>(&self, mut these: impl Iterator<Item = &'a Recipient>) -> bool {
        these.all(|here| self.asked.contains(here))
    }
}

/// For whom a record may change what they have read.
enum AffectedUsers {
    Nobody,
    These(Vec<UserId>),
    Anybody,
}

fn readers(record: &LogRecord) -> AffectedUsers {
    if !record.changes.is_empty() {
        return AffectedUsers::Anybody;
    }
    let these = match &record.event {
        // Who does not want to hear the sender has read it as it comes.
        Some(NewEvent { body: EventBody::Message(event), .. }) => {
            event.flags.iter().filter(|(_, flag)| *flag == MessageFlag::Read).map(|(user, _)| *user).collect()
        }
        Some(NewEvent { body: EventBody::Flagged(flagged), audience: EventAudience::Users(users), .. }) => {
            if flagged.mark.flag == MessageFlag::Read { users.clone() } else { Vec::new() }
        }
        _ => return AffectedUsers::Anybody,
    };
    if these.is_empty() { AffectedUsers::Nobody } else { AffectedUsers::These(these) }
}

#[cfg(test)]
mod tests {
    use chat_core::event_log::event::MessageFlagsUpdate;
    use chat_core::id::{ChannelId, MessageId};
    use chat_core::model::flag_change::FlagChange;

    use super::*;

    const HERE: Recipient = Recipient::Channel(ChannelId(11));
    const THERE: Recipient = Recipient::Channel(ChannelId(12));

    fn looked(at: i64) -> ReadState {
        let sets = HashMap::from([(HERE, ReadSet::default())]);
        ReadState { at: EventId(at), asked: [HERE].into(), sets }
    }

    fn marked(id: i64, flag: &str, user: i64) -> LogRecord {
        let mark = FlagChange::parse(flag, "add").unwrap();
        let event = MessageFlagsUpdate::without_locations(mark, vec![MessageId(1)]).event_for_user(UserId(user));
        LogRecord::new(EventId(id), 0, Vec::new(), Some(event))
    }

    fn holds(cache: &ReadStateCache, user: i64) -> bool {
        cache.take(UserId(user)).map(|looked| cache.keep(UserId(user), looked)).is_some()
    }

    #[test]
    fn what_was_read_holds_until_something_may_have_changed_it() {
        let cache = ReadStateCache::default();
        for user in [1, 2] {
            cache.keep(UserId(user), looked(5));
        }
        cache.apply(&marked(6, "starred", 1));
        assert!(holds(&cache, 1) && holds(&cache, 2));
        cache.apply(&marked(7, "read", 1));
        assert!(!holds(&cache, 1) && holds(&cache, 2));
        // What is not understood.
        cache.apply(&LogRecord::new(EventId(8), 0, Vec::new(), None));
        assert!(!holds(&cache, 2));
    }

    #[test]
    fn what_was_read_before_something_changed_is_not_kept_after_it() {
        let cache = ReadStateCache::default();
        cache.apply(&marked(7, "read", 2));
        cache.keep(UserId(1), looked(6));
        assert!(!holds(&cache, 1));
        cache.keep(UserId(1), looked(7));
        assert!(holds(&cache, 1));
        // What was taken in the meantime is as new as the log was then.
        cache.apply(&marked(8, "starred", 1));
        let taken = cache.take(UserId(1)).unwrap();
        assert_eq!(taken.at, EventId(8));
        cache.keep(UserId(1), taken);
        assert_eq!(cache.look(UserId(1), |_, at| at), Some(EventId(8)));
        let taken = cache.take(UserId(1)).unwrap();
        cache.apply(&marked(9, "read", 1));
        cache.keep(UserId(1), taken);
        assert!(!holds(&cache, 1));
    }

    #[test]
    fn nothing_is_said_of_what_was_not_asked_for_and_of_few_users() {
        let cache = ReadStateCache::default();
        cache.keep(UserId(1), looked(1));
        let knows = |these: &[Recipient]| cache.look(UserId(1), |looked, _| looked.knows(these.iter()));
        assert_eq!((knows(&[HERE]), knows(&[HERE, THERE])), (Some(true), Some(false)));
        assert!(cache.look(UserId(2), |_, _| ()).is_none());
        let users = i64::try_from(USERS_MAX).unwrap() + 1;
        (1..=users).for_each(|user| cache.keep(UserId(user), looked(user)));
        let kept: Vec<i64> = (1..=users).filter(|user| holds(&cache, *user)).collect();
        assert_eq!(kept, (2..=users).collect::<Vec<_>>());
    }
}
