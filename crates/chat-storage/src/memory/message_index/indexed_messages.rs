//! The newest messages by number and by recipient, in memory alone.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use chat_core::id::{MessageId, UserId};
use chat_core::model::message::{ContentFlags, Recipient};

use super::KEPT;

/// The newest messages: every one after a message.
#[derive(Default)]
pub(crate) struct IndexedMessages {
    /// Every message after this one is there.
    pub(crate) after: i64,
    /// All messages in their order, each with its recipient; `None` for one that is gone.
    ///
    /// They stand here and in `places`: who has thousands of numbers finds each message in one step, and who walks
    /// through a recipient walks through memory.
    pub(super) order: VecDeque<(Option<Recipient>, IndexEntry)>,
    places: HashMap<Recipient, VecDeque<IndexEntry>>,
    direct_users: HashMap<Recipient, Arc<[UserId]>>,
    pub(super) topics: Vec<Arc<str>>,
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

    pub(super) fn push(&mut self, found: FoundMessage) {
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

    pub(super) fn set_unread(&mut self, user_id: UserId, id: i64) {
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
    pub(super) fn put(&mut self, id: i64, found: Option<FoundMessage>) {
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
