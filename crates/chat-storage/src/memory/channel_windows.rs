//! The newest messages of the channels that are read, in memory, with what their readers have of them.
//!
//! What is kept of a channel is everything after some message, or it is not kept at all: whatever changes a message
//! has its channel forgotten, and the next reader reads the database again. So nothing here is ever corrected, and a
//! change that is not understood costs time and not truth. New messages are added as the log brings them.
//!
//! A reader that reads the database for what is to be kept first begins a generation. What changes in the meantime ends
//! it, and then what was read is not kept.

mod page;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chat_core::event_log::event::{EventAudience, EventBody, LogRecord, NewEvent, NewMessageEvent};
use chat_core::id::{ChannelId, MessageId, UserId};
use chat_core::model::message::{Message, MessageFlag, Recipient};
use chat_core::wire_format::MessageWithCachedJson;
use serde_json::Value;

use crate::read_set::ReadSet;

pub(crate) use page::window;

/// Channels of which messages are kept.
const CHANNELS_MAX: usize = 64;
/// Messages read at once of a channel that is to be kept.
pub(crate) const READ_AT_ONCE: usize = 200;
/// Messages kept of a channel.
const KEPT: usize = 400;
/// Bytes the kept messages of one channel take with their texts, about.
const KEPT_BYTES: usize = 1024 * 1024;
/// Bytes all kept messages take, about.
const ALL_BYTES: usize = 16 * 1024 * 1024;
/// Readers of whom it is kept what they have of a channel's messages.
const READERS_MAX: usize = 256;
/// Bytes of what one of them has read, in its serialised form; of who has read with more gaps nothing is kept.
const READ_SET_BYTES: usize = 4_096;

/// What is kept.
#[derive(Default)]
pub(crate) struct ChannelWindows(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    channels: HashMap<ChannelId, CachedChannel>,
    /// Counts generations and uses.
    count: u64,
}

/// The end of one channel.
struct CachedChannel {
    generation: u64,
    used: u64,
    /// Every message after this one is there; `None` while the database is read.
    after: Option<i64>,
    messages: Arc<VecDeque<Arc<MessageWithCachedJson>>>,
    bytes: usize,
    readers: HashMap<UserId, CachedReader>,
}

struct CachedReader {
    generation: u64,
    /// `None` while the database is read.
    copies: Option<Arc<ReaderState>>,
}

/// What a reader has of the kept messages of a channel.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReaderState {
    /// Flags that are rows are known of every message after this one.
    pub(crate) after: i64,
    pub(crate) read: ReadSet,
    /// Flags that are rows, by message.
    pub(crate) rare: HashMap<i64, Vec<MessageFlag>>,
}

/// The end of a channel as it is now.
pub(crate) struct ChannelWindow {
    /// Tells two readings of the database apart.
    generation: u64,
    /// Every message after this one is there.
    pub(crate) after: i64,
    /// The oldest first.
    pub(crate) messages: Arc<VecDeque<Arc<MessageWithCachedJson>>>,
}

impl ChannelWindows {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the messages of a channel, if they are kept.
    pub(crate) fn messages(&self, id: ChannelId) -> Option<ChannelWindow> {
        let mut inner = self.lock();
        let used = inner.next();
        let channel = inner.channels.get_mut(&id)?;
        channel.used = used;
        Some(ChannelWindow {
            generation: channel.generation,
            after: channel.after?,
            messages: Arc::clone(&channel.messages),
        })
    }

    /// Begins a generation: the database is read for this channel. Of several readers the last keeps what it reads.
    pub(crate) fn begin(&self, id: ChannelId) -> u64 {
        let mut inner = self.lock();
        let generation = inner.next();
        if inner.channels.len() >= CHANNELS_MAX && !inner.channels.contains_key(&id) {
            let oldest = inner.channels.iter().min_by_key(|(_, channel)| channel.used).map(|(id, _)| *id);
            oldest.and_then(|oldest| inner.channels.remove(&oldest));
        }
        let (messages, readers) = Default::default();
        inner
            .channels
            .insert(id, CachedChannel { generation, used: generation, after: None, messages, bytes: 0, readers });
        generation
    }

    /// Keeps what was read in a generation, if it has not ended.
    pub(crate) fn fill(&self, id: ChannelId, generation: u64, (after, messages): (i64, Vec<Message>)) {
        let mut inner = self.lock();
        let Some(channel) = inner.channels.get_mut(&id).filter(|channel| channel.generation == generation) else {
            return;
        };
        let last = messages.last().map_or(after, |message| message.id.0);
        let arrived = std::mem::take(&mut channel.messages);
        channel.bytes = 0;
        channel.after = Some(after);
        let arrived = arrived.iter().filter(|message| message.id.0 > last).cloned();
        for message in messages.into_iter().map(|message| Arc::new(message.into())).chain(arrived) {
            channel.push(message);
        }
        inner.make_room(id);
    }

    /// Returns what a reader has of the kept messages of a channel, or a generation in which the database is read for
    /// it. `None` when those messages are kept no longer.
    pub(crate) fn copies(
        &self,
        id: ChannelId,
        user_id: UserId,
        kept: &ChannelWindow,
    ) -> Option<Result<Arc<ReaderState>, u64>> {
        let mut inner = self.lock();
        let generation = inner.next();
        let channel = inner.channels.get_mut(&id).filter(|channel| channel.generation == kept.generation)?;
        if let Some(copies) = channel.readers.get(&user_id).and_then(|reader| reader.copies.as_ref()) {
            return Some(Ok(Arc::clone(copies)));
        }
        if channel.readers.len() >= READERS_MAX {
            channel.readers.clear();
        }
        // Two that read for the same reader at once: only the later keeps what it reads.
        channel.readers.insert(user_id, CachedReader { generation, copies: None });
        Some(Err(generation))
    }

    /// Keeps what was read in a generation, if it has not ended.
    pub(crate) fn fill_copies(&self, id: ChannelId, user_id: UserId, generation: u64, copies: &Arc<ReaderState>) {
        let mut inner = self.lock();
        let Some(channel) = inner.channels.get_mut(&id) else { return };
        if let Some(reader) = channel.readers.get_mut(&user_id).filter(|reader| reader.generation == generation) {
            if copies.read.size_bytes() <= READ_SET_BYTES {
                reader.copies = Some(Arc::clone(copies));
            } else {
                channel.readers.remove(&user_id);
            }
        }
    }

    /// Forgets the channels that have one of these messages.
    pub(crate) fn forget(&self, ids: &[MessageId]) {
        self.lock().forget(ids);
    }

    /// Forgets the channels that have one of these messages, in order, from this user.
    pub(crate) fn forget_own(&self, user_id: UserId, ids: &[MessageId]) {
        self.lock().forget_own(user_id, ids);
    }

    /// Forgets a channel.
    pub(crate) fn forget_channel(&self, id: ChannelId) {
        self.lock().channels.remove(&id);
    }

    /// Forgets every channel. What is being read for one is not kept.
    pub(crate) fn reset(&self) {
        self.lock().channels.clear();
    }

    /// Forgets what a reader has.
    pub(crate) fn forget_reader(&self, user_id: UserId) {
        self.lock().forget_reader(user_id);
    }

    /// Takes in what the log brings.
    pub(crate) fn apply(&self, record: &LogRecord) {
        let mut inner = self.lock();
        match &record.event {
            Some(NewEvent { body: EventBody::Message(event), .. }) => inner.add(event),
            Some(NewEvent { body: EventBody::Edit { event, .. }, .. }) => inner.forget_messages_of(event),
            Some(NewEvent { body: EventBody::Plain { kind, event }, .. }) => match kind.as_str() {
                "reaction" | "submessage" | "delete_message" | "update_message" => inner.forget_messages_of(event),
                // As logs have it that were written before flags had a form of their own.
                EventBody::FLAGS_EVENT_TYPE => inner.channels.clear(),
                _ => {}
            },
            Some(NewEvent { body: EventBody::Flagged(flagged), audience, .. }) => {
                let EventAudience::Users(users) = audience else { return inner.channels.clear() };
                for user in users {
                    inner.forget_reader(*user);
                    // A message that its sender has no longer read is another message.
                    if flagged.mark.needs_message_details() {
                        inner.forget_own(*user, &flagged.message_ids());
                    }
                }
            }
            // A change of a message that notifies no user.
            None if record.changes.is_empty() => inner.channels.clear(),
            None => {}
        }
    }
}

impl Inner {
    fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    fn add(&mut self, event: &NewMessageEvent) {
        let message = &event.message;
        let Recipient::Channel(id) = message.recipient else { return };
        let Some(channel) = self.channels.get_mut(&id) else { return };
        if channel.messages.back().is_some_and(|last| last.id >= message.id) {
            return;
        }
        // Nothing may be missing between what is read and what arrived in the meantime.
        if channel.after.is_none() && (channel.messages.len() >= KEPT || channel.bytes >= KEPT_BYTES / 2) {
            self.channels.remove(&id);
            return;
        }
        for (user, flag) in &event.flags {
            match channel.readers.get_mut(user).map(|reader| &mut reader.copies) {
                // What they have read is in the database.
                Some(_) if *flag == MessageFlag::Read => drop(channel.readers.remove(user)),
                Some(Some(copies)) => Arc::make_mut(copies).rare.entry(message.id.0).or_default().push(*flag),
                Some(None) => drop(channel.readers.remove(user)),
                None => {}
            }
        }
        channel.push(Arc::new(message.clone().into()));
        self.make_room(id);
    }

    /// Forgets what was read the longest ago until all that is kept fits.
    fn make_room(&mut self, but: ChannelId) {
        let mut bytes: usize = self.channels.values().map(|channel| channel.bytes).sum();
        while bytes > ALL_BYTES {
            let others = self.channels.iter().filter(|(id, _)| **id != but);
            let Some((oldest, _)) = others.min_by_key(|(_, channel)| channel.used) else { return };
            let oldest = *oldest;
            bytes -= self.channels.remove(&oldest).map_or(0, |channel| channel.bytes);
        }
    }

    /// Forgets the channels that an event names, by their numbers or those of their messages.
    fn forget_messages_of(&mut self, event: &Value) {
        let number = |name: &str| event.get(name).and_then(Value::as_i64);
        let numbers = |name: &str| event.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let many = ["message_ids", "messages"].into_iter().flat_map(numbers).filter_map(Value::as_i64);
        let ids: Vec<MessageId> = many.chain(number("message_id")).map(MessageId).collect();
        let channels: Vec<i64> = ["stream_id", "new_stream_id"].into_iter().filter_map(number).collect();
        if ids.is_empty() && channels.is_empty() {
            return self.channels.clear();
        }
        self.forget(&ids);
        for id in channels {
            self.channels.remove(&ChannelId(id));
        }
    }

    fn forget(&mut self, ids: &[MessageId]) {
        self.channels.retain(|_, channel| {
            // What is being read may have it or not.
            channel.after.is_some_and(|after| !ids.iter().any(|id| id.0 > after && channel.has(*id)))
        });
    }

    /// Forgets the channels that have one of these messages, in order, from this user.
    fn forget_own(&mut self, user_id: UserId, ids: &[MessageId]) {
        self.channels.retain(|_, channel| {
            let mut messages = channel.messages.iter();
            // What is being read may have it or not.
            channel.after.is_some()
                && !messages.any(|message| message.sender_id == user_id && ids.binary_search(&message.id).is_ok())
        });
    }

    fn forget_reader(&mut self, user_id: UserId) {
        for channel in self.channels.values_mut() {
            channel.readers.remove(&user_id);
        }
    }
}

impl CachedChannel {
    fn has(&self, id: MessageId) -> bool {
        self.messages.binary_search_by_key(&id, |message| message.id).is_ok()
    }

    fn push(&mut self, message: Arc<MessageWithCachedJson>) {
        // Copied only while a user reads it.
        let messages = Arc::make_mut(&mut self.messages);
        self.bytes += message.memory_bytes();
        messages.push_back(message);
        let Some(after) = &mut self.after else { return };
        while messages.len() > KEPT || self.bytes > KEPT_BYTES {
            let Some(oldest) = messages.pop_front() else { return };
            self.bytes -= oldest.memory_bytes();
            *after = oldest.id.0;
        }
    }
}
