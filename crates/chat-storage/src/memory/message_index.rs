//! Where the newest messages are, in memory: enough to tell what a user has not read, and where messages are that
//! get a flag, without reading a row for each.
//!
//! It is read from the database when it is first asked for, grows with the log, and is bounded. A message that is
//! changed is marked and read again by who asks next, so nothing here is corrected by what an event is understood to
//! say. While a message is marked, or nothing was read yet, whoever asks gets `None` and asks the database.
//!
//! The road not taken is an index over all that is told: on both engines fifty thousand rows cost more to hand over
//! than to find.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

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

mod indexed_messages;

pub(crate) use indexed_messages::{FoundMessage, IndexEntry, IndexedMessages};

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

#[cfg(test)]
mod tests;
