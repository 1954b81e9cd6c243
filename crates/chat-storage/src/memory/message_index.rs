//! Where the newest messages are, in memory: enough to tell what a user has not read, and where messages are that
//! get a flag, without reading a row for each.
//!
//! It is read from the database when it is first asked for, grows with the log, and is bounded. A message that is
//! changed is marked and read again by who asks next, so nothing here is corrected by what an event is understood to
//! say. While a message is marked, or nothing was read yet, whoever asks gets `None` and asks the database.
//!
//! The road not taken is an index over all that is told: on both engines fifty thousand rows cost more to hand over
//! than to find.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chat_core::StoreError;
use chat_core::event_log::event::{EventAudience, EventBody, LogRecord, NewEvent};
use chat_core::id::{MessageId, UserId};
use chat_core::model::message::{ContentFlags, Recipient};
use serde_json::Value;
use sql_engines::encode_numbers_parameter;

use crate::dialect::Sql;
use crate::engine::run;
use crate::fault::failed;
use crate::message_decoding::users_of;
use crate::store::Shared;

/// Messages kept; each takes 64 bytes.
const KEPT: usize = 65_536;
/// Names of topics kept; with more of them everything is read again, which forgets those that are not in use.
const TOPICS_MAX: usize = 2 * KEPT;
/// Messages read at once.
const PAGE: usize = 4_096;
/// Changed messages that are read again one by one; with more of them everything is.
const STALE_MAX: usize = 2_000;

const OLDER: &str = "SELECT m.id, m.recipient_id, d.users, m.topic, m.sender_id, m.marks
FROM message AS m LEFT JOIN direct AS d ON d.recipient_id = m.recipient_id
WHERE m.id < $1 ORDER BY m.id DESC LIMIT $2";
static FIND: Sql = Sql::new(
    "SELECT m.id, m.recipient_id, d.users, m.topic, m.sender_id, m.marks
FROM message AS m LEFT JOIN direct AS d ON d.recipient_id = m.recipient_id
WHERE m.id {in_numbers:$1} ORDER BY m.id",
);

type Row = (i64, i64, Option<String>, String, i64, i64);

/// What is kept, if anything.
#[derive(Default)]
pub(crate) struct MessageIndex {
    state: Mutex<IndexState>,
    /// Only one reads the database for all.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct IndexState {
    kept: Option<IndexedMessages>,
    /// Whether `kept` is what has arrived while the database is read.
    is_partial: bool,
    /// Changed messages, each with the count of when it changed.
    stale: HashMap<i64, u64>,
    count: u64,
}

/// The newest messages: every one after a message.
#[derive(Default)]
pub(crate) struct IndexedMessages {
    /// Every message after this one is there.
    pub(crate) after: i64,
    /// All messages in their order, each with its recipient; `None` for one that is gone.
    ///
    /// They stand here and in `places`: who has thousands of numbers finds each message in one step, and who walks
    /// through a recipient walks through memory.
    order: VecDeque<(Option<Recipient>, IndexEntry)>,
    places: HashMap<Recipient, VecDeque<IndexEntry>>,
    direct_users: HashMap<Recipient, Arc<[UserId]>>,
    topics: Vec<Arc<str>>,
    topic_numbers: HashMap<Arc<str>, u32>,
}

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub(crate) id: MessageId,
    pub(crate) sender_id: UserId,
    topic: u32,
    content_flags: u8,
}

impl IndexEntry {
    /// Its topic among those kept.
    pub(crate) fn topic_number(&self) -> u32 {
        self.topic
    }

    pub(crate) fn content_flags(&self) -> ContentFlags {
        ContentFlags::from_bits(self.content_flags.into())
    }
}

/// Marks are eight bits.
fn bits(content_flags: ContentFlags) -> u8 {
    u8::try_from(content_flags.to_bits()).unwrap_or_default()
}

/// What is read of a message.
pub(crate) struct FoundMessage {
    pub(crate) id: i64,
    pub(crate) recipient: Recipient,
    pub(crate) direct_users: Arc<[UserId]>,
    pub(crate) topic: Arc<str>,
    pub(crate) sender_id: UserId,
    pub(crate) content_flags: ContentFlags,
}

impl From<Row> for FoundMessage {
    fn from((id, recipient, users, topic, sender, content_flags): Row) -> Self {
        Self {
            id,
            recipient: Recipient::from(recipient),
            direct_users: users.as_deref().map(|users| users_of(users).into()).unwrap_or_default(),
            topic: topic.into(),
            sender_id: UserId(sender),
            content_flags: ContentFlags::from_bits(content_flags),
        }
    }
}

impl MessageIndex {
    fn lock(&self) -> MutexGuard<'_, IndexState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at what is kept. `None` while it is not known whether it is right.
    ///
    /// New messages wait in the meantime, so `look` does no more than it has to.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&IndexedMessages) -> T) -> Option<T> {
        let state = self.lock();
        if state.is_partial || !state.stale.is_empty() {
            return None;
        }
        state.kept.as_ref().map(look)
    }

    /// Takes in what the log brings.
    pub(crate) fn apply(&self, record: &LogRecord) {
        let mut state = self.lock();
        if state.kept.is_none() {
            return;
        }
        match &record.event {
            Some(NewEvent { body: EventBody::Message(event), .. }) => {
                let message = &event.message;
                state.add(FoundMessage {
                    id: message.id.0,
                    recipient: message.recipient,
                    direct_users: message.direct_users.as_slice().into(),
                    topic: message.topic.as_str().into(),
                    sender_id: message.sender_id,
                    content_flags: message.content_flags,
                });
            }
            Some(NewEvent { body: EventBody::Edit { event, .. }, .. }) => state.mark_messages_of(event),
            Some(NewEvent { body: EventBody::Plain { kind, event }, .. }) => match kind.as_str() {
                // Flags as logs have it that were written before these had a form of their own.
                "delete_message" | "update_message" | EventBody::FLAGS_EVENT_TYPE => state.mark_messages_of(event),
                _ => {}
            },
            Some(NewEvent { body: EventBody::Flagged(flagged), audience, .. })
                if flagged.mark.needs_message_details() =>
            {
                match audience {
                    EventAudience::Users(users) => {
                        for user in users {
                            state.set_unread(*user, &flagged.message_ids());
                        }
                    }
                    _ => state.mark(flagged.message_ids().into_iter().map(|id| id.0)),
                }
            }
            // A change of a message that notifies no user.
            None if record.changes.is_empty() => state.reset(),
            Some(NewEvent { body: EventBody::Flagged(_), .. }) | None => {}
        }
    }

    /// The user has these messages no longer read.
    pub(crate) fn set_unread(&self, user_id: UserId, ids: &[MessageId]) {
        self.lock().set_unread(user_id, ids);
    }

    /// Forgets all. What is being read is not kept.
    pub(crate) fn reset(&self) {
        self.lock().reset();
    }

    /// These messages have changed.
    pub(crate) fn forget(&self, ids: &[MessageId]) {
        self.lock().mark(ids.iter().map(|id| id.0));
    }
}

/// Reads what is not known, if there is any such thing.
pub(crate) async fn read_up(shared: &Shared) -> Result<(), StoreError> {
    let _reading = shared.memory.message_index.reading.lock().await;
    let is_there = {
        let mut state = shared.memory.message_index.lock();
        let is_there = state.kept.is_some() && !state.is_partial;
        if !is_there {
            // From here on, what is new and what changes is noted.
            *state = IndexState {
                kept: Some(IndexedMessages::default()),
                is_partial: true,
                count: state.count,
                ..IndexState::default()
            };
        }
        is_there
    };
    if !is_there {
        let kept = read_all(shared).await?;
        shared.memory.message_index.lock().fill(kept);
    }
    read_again(shared).await
}

async fn read_all(shared: &Shared) -> Result<IndexedMessages, StoreError> {
    let mut found: Vec<Row> = Vec::new();
    let mut before = i64::MAX;
    let mut kept = IndexedMessages::default();
    loop {
        let page = i64::try_from(PAGE).unwrap_or(i64::MAX);
        let rows: Vec<Row> =
            run!(shared.db.reader(), fetch_all: sqlx::query_as(OLDER).bind(before).bind(page)).map_err(failed)?;
        let is_last = rows.len() < PAGE;
        before = rows.last().map_or(before, |(id, ..)| *id);
        found.extend(rows);
        if is_last || found.len() >= KEPT {
            kept.after = if is_last { 0 } else { before - 1 };
            break;
        }
    }
    for row in found.into_iter().rev() {
        kept.push(row.into());
    }
    Ok(kept)
}

/// Reads the messages again that have changed.
async fn read_again(shared: &Shared) -> Result<(), StoreError> {
    let changed = shared.memory.message_index.lock().stale.clone();
    if changed.is_empty() {
        return Ok(());
    }
    let found = find(shared, changed.keys().copied()).await?;
    let mut found: HashMap<i64, FoundMessage> = found.into_iter().map(|found| (found.id, found)).collect();
    let mut state = shared.memory.message_index.lock();
    for (id, count) in changed {
        // What has changed since is read again by the next.
        if state.stale.get(&id) == Some(&count) {
            state.stale.remove(&id);
            if let Some(kept) = &mut state.kept {
                kept.put(id, found.remove(&id));
            }
        }
    }
    Ok(())
}

/// Reads where these messages are, in the order of their numbers.
pub(crate) async fn find(shared: &Shared, ids: impl IntoIterator<Item = i64>) -> Result<Vec<FoundMessage>, StoreError> {
    let sql = FIND.text_for_dialect(shared.db.dialect());
    let ids = encode_numbers_parameter(ids);
    let rows: Vec<Row> = run!(shared.db.reader(), fetch_all: sqlx::query_as(sql.clone()).bind(&ids)).map_err(failed)?;
    Ok(rows.into_iter().map(FoundMessage::from).collect())
}

impl IndexState {
    fn add(&mut self, found: FoundMessage) {
        let Some(kept) = &mut self.kept else { return };
        kept.push(found);
        if kept.topics.len() > TOPICS_MAX {
            self.reset();
        }
    }

    fn reset(&mut self) {
        // Who reads the database for it now finds that it is wanted no longer.
        *self = Self { count: self.count, ..Self::default() };
    }

    /// What an event names has changed.
    fn mark_messages_of(&mut self, event: &Value) {
        let mut ids = message_ids(event).peekable();
        if ids.peek().is_none() {
            return self.reset();
        }
        self.mark(ids);
    }

    /// A message that its sender has no longer read is another message. The messages are in order.
    fn set_unread(&mut self, user_id: UserId, ids: &[MessageId]) {
        match &mut self.kept {
            Some(kept) if !self.is_partial => {
                let own = kept.entries(ids).filter(|(_, entry)| entry.sender_id == user_id);
                let own: Vec<i64> = own.map(|(_, entry)| entry.id.0).collect();
                for id in own {
                    kept.set_unread(user_id, id);
                }
            }
            _ => self.mark(ids.iter().map(|id| id.0)),
        }
    }

    fn mark(&mut self, ids: impl IntoIterator<Item = i64>) {
        let Some(after) = self.kept.as_ref().map(|kept| kept.after) else { return };
        for id in ids.into_iter().filter(|id| *id > after) {
            self.count += 1;
            self.stale.insert(id, self.count);
        }
        if self.stale.len() > STALE_MAX {
            self.reset();
        }
    }

    /// Puts what was read before what has arrived in the meantime.
    fn fill(&mut self, mut read: IndexedMessages) {
        // Everything was forgotten while it was read: the next reads again.
        let Some(arrived) = self.kept.take().filter(|_| self.is_partial) else { return };
        let last = read.order.back().map_or(read.after, |(_, entry)| entry.id.0);
        for (recipient, entry) in arrived.order.iter().filter(|(_, entry)| entry.id.0 > last) {
            let Some(recipient) = recipient else { continue };
            read.push(FoundMessage {
                id: entry.id.0,
                recipient: *recipient,
                direct_users: arrived.direct_users(*recipient),
                topic: arrived.topic(entry),
                sender_id: entry.sender_id,
                content_flags: entry.content_flags(),
            });
        }
        self.kept = Some(read);
        self.is_partial = false;
    }
}

/// Returns the messages that an event names.
fn message_ids(event: &Value) -> impl Iterator<Item = i64> {
    let number = |name: &str| event.get(name).and_then(Value::as_i64);
    let numbers = |name: &str| event.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let many = [numbers("message_ids"), numbers("messages")].into_iter().flatten();
    many.filter_map(Value::as_i64).chain(number("message_id"))
}

impl IndexedMessages {
    /// Returns the messages of a recipient after one of them, the oldest first.
    pub(crate) fn entries_after(&self, recipient: Recipient, id: i64) -> impl Iterator<Item = &IndexEntry> {
        let entries = self.places.get(&recipient);
        let from = entries.map_or(0, |entries| entries.partition_point(|entry| entry.id.0 <= id));
        entries.into_iter().flat_map(move |entries| entries.range(from..))
    }

    /// Those of these messages that are kept, each with its recipient. They are in order, each once.
    pub(crate) fn entries(&self, ids: &[MessageId]) -> impl Iterator<Item = (Recipient, &IndexEntry)> {
        let mut last: Option<(i64, usize)> = None;
        ids.iter().filter_map(move |id| {
            // No two messages have one number, so one is no further from another than their numbers are.
            let within = match last {
                Some((before, place)) if before <= id.0 => {
                    let apart = usize::try_from(id.0.saturating_sub(before)).unwrap_or(usize::MAX);
                    place..place.saturating_add(apart).min(self.order.len())
                }
                _ => 0..self.order.len(),
            };
            let place = self.place_within(id.0, within);
            last = Some((id.0, place));
            let (recipient, entry) = self.order.get(place)?;
            Some(((*recipient).filter(|_| entry.id == *id)?, entry))
        })
    }

    /// Returns the first place in the order that has this message or a later one, or the end of where it is looked for.
    fn place_within(&self, id: i64, within: Range<usize>) -> usize {
        let Range { mut start, mut end } = within;
        while start < end {
            let middle = start + (end - start) / 2;
            match self.order.get(middle) {
                Some((_, known)) if known.id.0 < id => start = middle + 1,
                _ => end = middle,
            }
        }
        start
    }

    pub(crate) fn topic(&self, entry: &IndexEntry) -> Arc<str> {
        let known = usize::try_from(entry.topic).ok().and_then(|number| self.topics.get(number));
        known.map(Arc::clone).unwrap_or_default()
    }

    pub(crate) fn direct_users(&self, recipient: Recipient) -> Arc<[UserId]> {
        match recipient {
            Recipient::Channel(_) => Arc::default(),
            Recipient::Direct(_) => self.direct_users.get(&recipient).map(Arc::clone).unwrap_or_default(),
        }
    }

    fn push(&mut self, found: FoundMessage) {
        if self.order.back().is_some_and(|(_, last)| last.id.0 >= found.id) {
            return;
        }
        let recipient = found.recipient;
        let entry = self.made_of(found);
        self.order.push_back((Some(recipient), entry));
        self.places.entry(recipient).or_default().push_back(entry);
        while self.order.len() > KEPT {
            self.drop_oldest();
        }
    }

    fn set_unread(&mut self, user_id: UserId, id: i64) {
        let Some(place) = self.place_of(id) else { return };
        let Some((Some(recipient), entry)) = self.order.get_mut(place) else { return };
        if entry.sender_id != user_id {
            return;
        }
        entry.content_flags = bits(ContentFlags { read_by_sender: false, ..entry.content_flags() });
        let Some(there) = self.places.get_mut(recipient) else { return };
        if let Ok(place) = there.binary_search_by_key(&id, |entry| entry.id.0) {
            there.get_mut(place).into_iter().for_each(|known| *known = *entry);
        }
    }

    fn drop_oldest(&mut self) {
        let Some((recipient, IndexEntry { id, .. })) = self.order.pop_front() else { return };
        self.after = id.0;
        if let Some(recipient) = recipient {
            self.take_out(recipient, id.0);
        }
    }

    fn place_of(&self, id: i64) -> Option<usize> {
        self.order.binary_search_by_key(&id, |(_, entry)| entry.id.0).ok()
    }

    fn take_out(&mut self, recipient: Recipient, id: i64) {
        let Some(entries) = self.places.get_mut(&recipient) else { return };
        if let Ok(place) = entries.binary_search_by_key(&id, |entry| entry.id.0) {
            entries.remove(place);
        }
        if entries.is_empty() {
            self.places.remove(&recipient);
            self.direct_users.remove(&recipient);
        }
    }

    /// Makes a message what was found of it; it is gone when nothing was.
    fn put(&mut self, id: i64, found: Option<FoundMessage>) {
        let Some(place) = self.place_of(id) else { return };
        let Some((Some(before), entry)) = self.order.get(place).copied() else { return };
        self.take_out(before, id);
        let recipient = found.as_ref().map(|found| found.recipient);
        let entry = found.map_or(entry, |found| self.made_of(found));
        if let Some(known) = self.order.get_mut(place) {
            *known = (recipient, entry);
        }
        if let Some(recipient) = recipient {
            let entries = self.places.entry(recipient).or_default();
            let at = entries.partition_point(|other| other.id.0 < id);
            entries.insert(at, entry);
        }
    }

    fn made_of(&mut self, found: FoundMessage) -> IndexEntry {
        if !found.direct_users.is_empty() {
            self.direct_users.entry(found.recipient).or_insert(found.direct_users);
        }
        let topic = self.topic_number(&found.topic);
        IndexEntry {
            id: MessageId(found.id),
            sender_id: found.sender_id,
            topic,
            content_flags: bits(found.content_flags),
        }
    }

    fn topic_number(&mut self, topic: &str) -> u32 {
        if let Some(number) = self.topic_numbers.get(topic) {
            return *number;
        }
        let number = u32::try_from(self.topics.len()).unwrap_or(u32::MAX);
        let topic: Arc<str> = topic.into();
        self.topics.push(Arc::clone(&topic));
        self.topic_numbers.insert(topic, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use chat_core::event_log::event::MessageFlagsUpdate;
    use chat_core::id::{ChannelId, EventId};
    use chat_core::model::flag_change::{FlagChange, FlagOp};
    use chat_core::model::message::MessageFlag;

    use super::*;

    const HERE: Recipient = Recipient::Channel(ChannelId(11));
    const THERE: Recipient = Recipient::Channel(ChannelId(12));

    fn found(id: i64, recipient: Recipient, topic: &str) -> FoundMessage {
        let content_flags = ContentFlags { read_by_sender: true, ..ContentFlags::default() };
        FoundMessage {
            id,
            recipient,
            direct_users: [].into(),
            topic: topic.into(),
            sender_id: UserId(id % 2),
            content_flags,
        }
    }

    fn kept(ids: impl IntoIterator<Item = i64>) -> IndexedMessages {
        let mut kept = IndexedMessages::default();
        ids.into_iter().for_each(|id| kept.push(found(id, HERE, "Lunch")));
        kept
    }

    fn place(kept: &IndexedMessages, id: i64) -> Option<(Recipient, IndexEntry)> {
        kept.entries(&[MessageId(id)]).next().map(|(recipient, entry)| (recipient, *entry))
    }

    fn ids(kept: &IndexedMessages, recipient: Recipient, after: i64) -> Vec<i64> {
        kept.entries_after(recipient, after).map(|entry| entry.id.0).collect()
    }

    /// With nothing to read but what it is given.
    fn index(kept: IndexedMessages) -> MessageIndex {
        let index = MessageIndex::default();
        index.lock().kept = Some(kept);
        index
    }

    fn record_of(event: Value) -> LogRecord {
        let event = NewEvent::same_for_everyone(EventAudience::from_users([UserId(1)]), event);
        LogRecord::new(EventId(99), 0, Vec::new(), Some(event))
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many() {
        let last = i64::try_from(KEPT).unwrap() + 3;
        let kept = kept(1..=last);
        assert_eq!((kept.after, ids(&kept, HERE, 0).first().copied()), (3, Some(4)));
        assert_eq!((place(&kept, 3), place(&kept, 4).map(|(there, _)| there)), (None, Some(HERE)));
        assert_eq!(ids(&kept, HERE, last - 2), [last - 1, last]);
    }

    #[test]
    fn messages_are_found_whatever_is_missing_between_them() {
        let kept = kept([2, 3, 7, 8, 9, 40]);
        let found = |ids: &[i64]| {
            let ids: Vec<_> = ids.iter().copied().map(MessageId).collect();
            kept.entries(&ids).map(|(_, entry)| entry.id.0).collect::<Vec<_>>()
        };
        assert_eq!(found(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 39, 40, 41, 90]), [2, 3, 7, 8, 9, 40]);
        assert_eq!(found(&[4, 9, 40]), [9, 40]);
        assert_eq!(found(&[40, 1, 3]), [40, 3]);
        assert_eq!(found(&[i64::MIN, 2, i64::MAX]), [2]);
    }

    #[test]
    fn what_was_read_again_stands_where_it_is_now() {
        let mut kept = kept([1, 3, 5]);
        kept.put(3, Some(found(3, THERE, "Dinner")));
        kept.put(5, None);
        assert_eq!((ids(&kept, HERE, 0), ids(&kept, THERE, 0)), (vec![1], vec![3]));
        assert_eq!(&*kept.topic(&place(&kept, 3).unwrap().1), "Dinner");
        kept.put(3, Some(found(3, HERE, "Dinner")));
        assert_eq!((ids(&kept, HERE, 0), place(&kept, 5)), (vec![1, 3], None));
    }

    #[test]
    fn nothing_is_told_of_while_a_message_is_not_known() {
        let index = index(kept([1, 3]));
        assert_eq!(index.look(|kept| ids(kept, HERE, 0)), Some(vec![1, 3]));
        index.apply(&record_of(serde_json::json!({"type": "delete_message", "message_ids": [3]})));
        assert_eq!(index.look(|kept| ids(kept, HERE, 0)), None);
        index.apply(&record_of(serde_json::json!({"type": "update_message"})));
        assert!(index.lock().kept.is_none());
    }

    #[test]
    fn a_message_its_sender_has_no_longer_read_says_so() {
        let index = index(kept([1, 2, 3]));
        let set = |mark| {
            let event =
                MessageFlagsUpdate::without_locations(mark, vec![MessageId(1), MessageId(2)]).event_for_user(UserId(1));
            index.apply(&LogRecord::new(EventId(99), 0, Vec::new(), Some(event)));
        };
        let read = |kept: &IndexedMessages| {
            let entries = kept.entries_after(HERE, 0);
            entries.map(|entry| entry.content_flags().read_by_sender).collect::<Vec<_>>()
        };
        set(FlagChange { flag: MessageFlag::Starred, op: FlagOp::Remove });
        assert_eq!(index.look(read), Some(vec![true, true, true]));
        set(FlagChange { flag: MessageFlag::Read, op: FlagOp::Remove });
        assert_eq!(index.look(read), Some(vec![false, true, true]));
        // Whichever way it is found.
        let found = |kept: &IndexedMessages| place(kept, 1).map(|(_, entry)| entry.content_flags().read_by_sender);
        assert_eq!(index.look(found), Some(Some(false)));
    }

    #[test]
    fn what_arrives_while_the_database_is_read_is_added_once() {
        let index = index(kept([5, 7]));
        index.lock().is_partial = true;
        assert!(index.look(|_| ()).is_none());
        index.lock().fill(kept([1, 3, 5]));
        assert_eq!(index.look(|kept| ids(kept, HERE, 0)), Some(vec![1, 3, 5, 7]));
        // What was given up in the meantime is not filled.
        index.lock().reset();
        index.lock().fill(kept([1]));
        assert!(index.look(|_| ()).is_none());
    }
}
