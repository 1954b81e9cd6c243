//! Users' own copies of messages: their flags.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use chat_core::StoreError;
use chat_core::event_log::event::NewEvent;
use chat_core::id::{MessageId, UserId};
use chat_core::messages::store::{FlagWriteGuard, MessageWriteOutcome};
use chat_core::model::channel::ChannelMembership;
use chat_core::model::flag_change::FlagOp;
use chat_core::model::message::{ContentFlags, Message, MessageFlag, Recipient};
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user_message::UserMessage;
use sql_engines::encode_numbers_parameter;

use crate::dialect::Sql;
use crate::engine::{Tx, run};
use crate::fault::failed;
use crate::flag_set;
use crate::memory::message_index::{self, FoundMessage, IndexEntry, IndexedMessages};
use crate::memory::read_state_cache::ReadState;
use crate::read_set::{self, ReadChange, ReadSet, received};
use crate::store::Shared;
use crate::write_guard;

/// What follows from texts by message, then what the user gave them: stretches, of which the messages are a list.
static FLAGS: Sql = Sql::new(
    "SELECT message_id, flag, CAST(NULL AS TEXT) AS messages FROM message_flag
WHERE user_id = $1 AND {flags_of:$2}
UNION ALL
SELECT stretch, flag, messages FROM flag_set WHERE user_id = $1 AND flag IN (1, 2) AND stretch {in_numbers:$3}",
);
static ADD: Sql = Sql::new(
    "INSERT INTO message_flag (user_id, flag, message_id)
SELECT CAST($1 AS BIGINT), CAST($2 AS BIGINT), id FROM message WHERE id {in_numbers:$3}
ON CONFLICT (user_id, flag, message_id) DO NOTHING",
);
static REMOVE_OF_TEXT: Sql = Sql::new("DELETE FROM message_flag WHERE message_id = $1 AND flag {in_numbers:$2}");
static RECIPIENTS: Sql = Sql::new("SELECT id, recipient_id FROM message WHERE id {in_numbers:$1}");
/// Bit 32 is [`ContentFlags::read_by_sender`].
static NOT_READ_BY_SENDER: Sql =
    Sql::new("UPDATE message SET marks = marks - 32 WHERE sender_id = $1 AND (marks & 32) = 32 AND id {in_numbers:$2}");
static AMONG: Sql = Sql::new(
    "SELECT message_id, flag FROM message_flag
WHERE user_id = $1 AND flag {in_numbers:$2} AND message_id >= $3 AND message_id <= $4",
);
const FLAGGED: &str = "SELECT message_id FROM message_flag WHERE user_id = $1 AND flag = $2 ORDER BY message_id";

/// So many messages are worth reading where the newest are, and their flags are read as one stretch.
const MANY: usize = 500;

/// What flags of a message follow from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageFacts {
    pub(crate) id: MessageId,
    pub(crate) recipient: Recipient,
    pub(crate) sender_id: UserId,
    pub(crate) content_flags: ContentFlags,
}

impl From<&Message> for MessageFacts {
    fn from(message: &Message) -> Self {
        Self {
            id: message.id,
            recipient: message.recipient,
            sender_id: message.sender_id,
            content_flags: message.content_flags,
        }
    }
}

/// What a user has read of some recipients.
pub(crate) struct UserFlags {
    user_id: UserId,
    realm: Arc<RealmSnapshot>,
    read: HashMap<Recipient, ReadSet>,
}

impl UserFlags {
    pub(crate) async fn load(
        shared: &Shared,
        user_id: UserId,
        recipients: impl IntoIterator<Item = Recipient>,
    ) -> Result<Self, StoreError> {
        let read = read_set::load(&shared.db, user_id, recipients).await?;
        Ok(Self { user_id, realm: shared.memory.realm.current(), read })
    }

    /// Returns what is known already of one recipient.
    pub(crate) fn of(shared: &Shared, user_id: UserId, (recipient, read): (Recipient, ReadSet)) -> Self {
        Self { user_id, realm: shared.memory.realm.current(), read: HashMap::from([(recipient, read)]) }
    }

    /// Returns the realm in which it is decided what the user received.
    pub(crate) fn realm(&self) -> &RealmSnapshot {
        &self.realm
    }

    /// A message up to which nothing of the recipient is unread.
    pub(crate) fn none_unread_until(&self, recipient: Recipient) -> i64 {
        let read = self.read.get(&recipient).map_or(0, |set| set.all_until);
        match recipient {
            Recipient::Channel(id) => {
                if self.realm.can_have_unread(id, self.user_id) {
                    read
                } else {
                    i64::MAX
                }
            }
            Recipient::Direct(_) => read,
        }
    }

    /// Returns what the user has of one recipient.
    pub(crate) fn of_one(&self, recipient: Recipient) -> RecipientFlags<'_> {
        RecipientFlags::new((&self.realm, self.user_id), recipient, self.read.get(&recipient))
    }

    /// Returns the user's flags of these messages, in their order.
    pub(crate) async fn flags(
        &self,
        shared: &Shared,
        messages: &[MessageFacts],
    ) -> Result<Vec<Vec<MessageFlag>>, StoreError> {
        let mut rare = rare(shared, self.user_id, messages.iter().map(|message| message.id)).await?;
        let flags = |message: &MessageFacts| self.flags_of(message, rare.remove(&message.id.0).unwrap_or_default());
        Ok(messages.iter().map(flags).collect())
    }

    /// Returns the user's flags of a message, of which the rare ones are known.
    pub(crate) fn flags_of(&self, message: &MessageFacts, rare: Vec<MessageFlag>) -> Vec<MessageFlag> {
        self.of_one(message.recipient).flags_of(message, rare)
    }
}

/// What a user has of one recipient.
pub(crate) struct RecipientFlags<'a> {
    user_id: UserId,
    /// Whether it is a channel that the user left or that is archived: what they received there counts as read.
    is_left: bool,
    is_channel: bool,
    /// What there is between the channel and the user.
    membership: Option<&'a ChannelMembership>,
    /// The realm, where the user has muted a user in it.
    mutes: Option<&'a RealmSnapshot>,
    read: Option<&'a ReadSet>,
}

impl<'a> RecipientFlags<'a> {
    /// Returns what they have there, by what they have read of it.
    pub(crate) fn new(
        (realm, user_id): (&'a RealmSnapshot, UserId),
        recipient: Recipient,
        read: Option<&'a ReadSet>,
    ) -> Self {
        let (is_channel, membership, is_left) = match recipient {
            Recipient::Channel(channel) => {
                (true, realm.membership(channel, user_id), !realm.can_have_unread(channel, user_id))
            }
            Recipient::Direct(_) => (false, None, false),
        };
        let mutes = realm.mutes_any_user(user_id).then_some(realm);
        Self { user_id, is_left, is_channel, membership, mutes, read }
    }

    /// Returns whether the user received the message and has not read it.
    pub(crate) fn is_unread(&self, entry: &IndexEntry) -> bool {
        let own = entry.sender_id == self.user_id && entry.content_flags().read_by_sender;
        let is_read = own || self.read.is_some_and(|set| set.contains(entry.id));
        self.received(entry.id, entry.content_flags()) && !is_read && !self.counts_as_read(entry.sender_id)
    }

    /// [`UserMessage::counts_as_read`].
    fn counts_as_read(&self, sender_id: UserId) -> bool {
        self.is_left || self.mutes.is_some_and(|realm| realm.mutes_user(self.user_id, sender_id))
    }

    fn received(&self, id: MessageId, content_flags: ContentFlags) -> bool {
        let received = |membership: &ChannelMembership| membership.received_message(id, content_flags.moved_in);
        !self.is_channel || self.membership.is_some_and(received)
    }

    /// Returns the user's flags of a message that is here, of which the rare ones are known.
    pub(crate) fn flags_of(&self, message: &MessageFacts, mut flags: Vec<MessageFlag>) -> Vec<MessageFlag> {
        if self.received(message.id, message.content_flags) {
            let own = message.sender_id == self.user_id && message.content_flags.read_by_sender;
            let is_read = own || self.read.is_some_and(|set| set.contains(message.id));
            if is_read || self.counts_as_read(message.sender_id) {
                flags.push(MessageFlag::Read);
            }
            if message.content_flags.mentions_channel {
                flags.push(MessageFlag::StreamWildcardMentioned);
            }
        } else {
            flags.extend([MessageFlag::Read, MessageFlag::Historical]);
        }
        flags.sort_unstable();
        flags.dedup();
        flags
    }
}

/// Returns the user's copies of these messages without their texts, with the flags that say what this one changes.
pub(crate) async fn find(
    shared: &Shared,
    user_id: UserId,
    ids: &[MessageId],
    flag: MessageFlag,
) -> Result<Vec<UserMessage>, StoreError> {
    // Who was answered by another node asks this one next.
    shared.hear_all().await?;
    if ids.len() >= MANY {
        message_index::read_up(shared).await?;
    }
    let known = shared.memory.message_index.look(|kept| known(kept, ids)).flatten();
    let mut copies = match known {
        Some(copies) => copies,
        None => message_index::find(shared, ids.iter().map(|id| id.0)).await?.into_iter().map(copy).collect(),
    };
    let mut rare = rare_among(shared, (user_id, flag), ids).await?;
    if ids.len() >= MANY && flag != MessageFlag::Read {
        // What the user gave is all there is to it.
        for (facts, copy) in &mut copies {
            copy.flags = rare.remove(&facts.id.0).unwrap_or_default();
        }
    } else {
        let recipients: BTreeSet<Recipient> = copies.iter().map(|(facts, _)| facts.recipient).collect();
        let ReadState { at, asked, sets } = look(shared, user_id, &recipients).await?;
        let own = UserFlags { user_id, realm: shared.memory.realm.current(), read: sets };
        let here: HashMap<Recipient, RecipientFlags<'_>> =
            recipients.iter().map(|known| (*known, own.of_one(*known))).collect();
        for (facts, copy) in &mut copies {
            let rare = if rare.is_empty() { None } else { rare.remove(&facts.id.0) };
            let here = here.get(&facts.recipient);
            copy.flags = here.map(|here| here.flags_of(facts, rare.unwrap_or_default())).unwrap_or_default();
        }
        drop(here);
        shared.memory.read_states.keep(user_id, ReadState { at, asked, sets: own.read });
    }
    Ok(copies.into_iter().map(|(_, copy)| copy).collect())
}

/// Returns what a user has read of these recipients and perhaps of others; read where it is not known.
async fn look(shared: &Shared, user_id: UserId, recipients: &BTreeSet<Recipient>) -> Result<ReadState, StoreError> {
    // Before the database is asked: whatever comes after this may have changed what it says.
    let at = shared.memory.recent_log.head();
    let known = shared.memory.read_states.take(user_id);
    let mut looked = known.unwrap_or_else(|| ReadState { at, asked: BTreeSet::new(), sets: HashMap::new() });
    let unknown: Vec<Recipient> = recipients.difference(&looked.asked).copied().collect();
    if !unknown.is_empty() {
        looked.at = looked.at.min(at);
        looked.sets.extend(read_set::load(&shared.db, user_id, unknown.iter().copied()).await?);
        looked.asked.extend(unknown);
    }
    Ok(looked)
}

/// A user's flags of these messages that were read whole, in their order.
pub(crate) async fn flags(
    shared: &Shared,
    user_id: UserId,
    messages: &[Message],
) -> Result<Vec<Vec<MessageFlag>>, StoreError> {
    let Some(newest) = messages.iter().map(|message| message.revision).max() else { return Ok(Vec::new()) };
    // Who was answered by another node asks this one next.
    shared.hear_all().await?;
    let mut rare = rare(shared, user_id, messages.iter().map(|message| message.id)).await?;
    let realm = shared.memory.realm.current();
    let mut flags = |sets: &HashMap<Recipient, ReadSet>| -> Vec<Vec<MessageFlag>> {
        let of = |message: &Message| {
            let here = RecipientFlags::new((&realm, user_id), message.recipient, sets.get(&message.recipient));
            here.flags_of(&MessageFacts::from(message), rare.remove(&message.id.0).unwrap_or_default())
        };
        messages.iter().map(of).collect()
    };
    let recipients = messages.iter().map(|message| &message.recipient);
    // What the database has already and the log has not brought here yet may have been read as it came.
    let known =
        |looked: &ReadState, at| (newest <= at && looked.knows(recipients.clone())).then(|| flags(&looked.sets));
    if let Some(known) = shared.memory.read_states.look(user_id, known).flatten() {
        return Ok(known);
    }
    let recipients: BTreeSet<Recipient> = recipients.copied().collect();
    if newest > shared.memory.recent_log.head() {
        return Ok(flags(&read_set::load(&shared.db, user_id, recipients).await?));
    }
    let looked = look(shared, user_id, &recipients).await?;
    let found = flags(&looked.sets);
    shared.memory.read_states.keep(user_id, looked);
    Ok(found)
}

/// Copies of messages that are all in memory, or were and are gone; `None` when one may be elsewhere.
fn known(kept: &IndexedMessages, ids: &[MessageId]) -> Option<Vec<(MessageFacts, UserMessage)>> {
    if ids.iter().any(|id| id.0 <= kept.after) {
        return None;
    }
    let found = |(recipient, entry): (Recipient, &IndexEntry)| {
        copy(FoundMessage {
            id: entry.id.0,
            recipient,
            direct_users: kept.direct_users(recipient),
            topic: kept.topic(entry),
            sender_id: entry.sender_id,
            content_flags: entry.content_flags(),
        })
    };
    Some(kept.entries(ids).map(found).collect())
}

/// Returns the copy of a user who has no flags yet.
fn copy(found: FoundMessage) -> (MessageFacts, UserMessage) {
    let FoundMessage { id, recipient, direct_users, topic, sender_id, content_flags } = found;
    let id = MessageId(id);
    let moved_in = content_flags.moved_in;
    let copy = UserMessage { id, recipient, direct_users, topic, sender_id, moved_in, flags: Vec::new() };
    (MessageFacts { id, recipient, sender_id, content_flags }, copy)
}

/// A user's flags of these messages that are rows, as far as a change of this flag asks for them.
async fn rare_among(
    shared: &Shared,
    (user_id, flag): (UserId, MessageFlag),
    ids: &[MessageId],
) -> Result<HashMap<i64, Vec<MessageFlag>>, StoreError> {
    let ends = ids.iter().min().zip(ids.iter().max());
    let Some((first, last)) = ends.filter(|_| ids.len() >= MANY) else {
        return rare(shared, user_id, ids.iter().copied()).await;
    };
    if flag_set::keeps(flag) {
        let marked = flag_set::near(shared, (user_id, flag), ids).await?;
        return Ok(marked.into_iter().map(|id| (id, vec![flag])).collect());
    }
    let asked = match flag {
        MessageFlag::Read => vec![MessageFlag::Mentioned, MessageFlag::TopicWildcardMentioned],
        other => vec![other],
    };
    let sql = AMONG.text_for_dialect(shared.db.dialect());
    let asked = encode_numbers_parameter(asked.into_iter().map(MessageFlag::database_number));
    let rows: Vec<(i64, i64)> = run!(shared.db.reader(), fetch_all: sqlx::query_as(sql.clone())
        .bind(user_id.0).bind(&asked).bind(first.0).bind(last.0))
    .map_err(failed)?;
    Ok(by_message(rows))
}

fn by_message(rows: Vec<(i64, i64)>) -> HashMap<i64, Vec<MessageFlag>> {
    let mut flags: HashMap<i64, Vec<MessageFlag>> = HashMap::new();
    for (message, flag) in rows {
        flags.entry(message).or_default().extend(MessageFlag::from_database_number(flag));
    }
    flags
}

/// A user's flags of these messages that are rows.
pub(crate) async fn rare(
    shared: &Shared,
    user_id: UserId,
    messages: impl IntoIterator<Item = MessageId>,
) -> Result<HashMap<i64, Vec<MessageFlag>>, StoreError> {
    let ids: BTreeSet<i64> = messages.into_iter().map(|id| id.0).collect();
    let stretches = flag_set::stretches(ids.iter().copied());
    let wanted = encode_numbers_parameter(ids.iter().copied());
    let sql = FLAGS.text_for_dialect(shared.db.dialect());
    let rows: Vec<(i64, i64, Option<String>)> = run!(shared.db.reader(), fetch_all: sqlx::query_as(sql.clone())
        .bind(user_id.0).bind(&wanted).bind(&stretches))
    .map_err(failed)?;
    let mut flags = Vec::with_capacity(rows.len());
    for (message, flag, marked) in rows {
        match marked {
            None => flags.push((message, flag)),
            Some(text) => {
                let marked = flag_set::messages(&text)?.into_iter().filter(|id| ids.contains(id));
                flags.extend(marked.map(|id| (id, flag)));
            }
        }
    }
    Ok(by_message(flags))
}

/// Gives messages a flag that follows from their text, inside a transaction.
async fn add_of_text(
    tx: &mut Tx,
    user_id: UserId,
    flag: MessageFlag,
    messages: &[MessageId],
) -> Result<(), StoreError> {
    let sql = ADD.text_for_dialect(tx.dialect());
    let ids = encode_numbers_parameter(messages.iter().map(|id| id.0));
    run!(tx.on(), execute: sqlx::query(sql.clone()).bind(user_id.0).bind(flag.database_number()).bind(&ids))
        .map_err(failed)?;
    Ok(())
}

/// Flags that follow from what a message says, and are rows: those of `{flags_of}`.
pub(crate) const OF_TEXT: [MessageFlag; 3] =
    [MessageFlag::Mentioned, MessageFlag::TopicWildcardMentioned, MessageFlag::HasAlertWord];

/// Gives a message the flags of a new text, inside a transaction; those of the text before go.
pub(crate) async fn set_of_text(
    tx: &mut Tx,
    message: MessageId,
    flags: &[(UserId, MessageFlag)],
) -> Result<(), StoreError> {
    let sql = REMOVE_OF_TEXT.text_for_dialect(tx.dialect());
    let kinds = encode_numbers_parameter(OF_TEXT.iter().map(|flag| flag.database_number()));
    run!(tx.on(), execute: sqlx::query(sql.clone()).bind(message.0).bind(&kinds)).map_err(failed)?;
    for (user_id, flag) in flags {
        add_of_text(tx, *user_id, *flag, &[message]).await?;
    }
    Ok(())
}

/// Sets or takes away a user's flag, unless what was decided on has changed.
pub(crate) async fn set_flag(
    shared: &Shared,
    (user_id, (flag, op)): (UserId, (MessageFlag, FlagOp)),
    decided: &FlagWriteGuard,
    (at_s, event): (i64, NewEvent),
) -> Result<MessageWriteOutcome, StoreError> {
    // All that the log holds up to its head is known then: what the user received follows from it, and where messages
    // are.
    let Some(mut writing) = write_guard::begin_flags(shared, decided).await? else {
        return Ok(MessageWriteOutcome::Unchanged);
    };
    let messages = decided.messages.as_slice();
    let places = match shared.memory.message_index.look(|kept| places(kept, user_id, messages)).flatten() {
        Some(places) => places,
        None => FlaggedLocations { of: by_recipient(&mut writing.tx, messages).await?, own: messages.to_vec() },
    };
    let mut looked = None;
    if flag == MessageFlag::Read {
        if op == FlagOp::Remove && !places.own.is_empty() {
            let sql = NOT_READ_BY_SENDER.text_for_dialect(writing.tx.dialect());
            let ids = encode_numbers_parameter(places.own.iter().map(|id| id.0));
            run!(writing.tx.on(), execute: sqlx::query(sql.clone()).bind(user_id.0).bind(&ids)).map_err(failed)?;
        }
        let realm = shared.memory.realm.current();
        let reading = |ids: Vec<i64>| match op {
            FlagOp::Add => ReadChange { read: ids, unread: Vec::new() },
            FlagOp::Remove => ReadChange { read: Vec::new(), unread: ids },
        };
        let readings = places.of.into_iter().map(|(recipient, ids)| (recipient, reading(ids))).collect();
        looked = Some(read_set::change_all(&mut writing, shared, (&realm, user_id), readings).await?);
    } else {
        // What is gone is marked by nobody.
        let there: Vec<i64> = places.of.into_values().flatten().collect();
        flag_set::change(&mut writing.tx, user_id, (flag, op), &there).await?;
    }
    let at = writing.push(at_s, Vec::new(), Some(event));
    let records = writing.commit().await?;
    shared.memory.channel_windows.forget_reader(user_id);
    if flag == MessageFlag::Read && op == FlagOp::Remove && !places.own.is_empty() {
        // A message that its sender has no longer read is another message.
        shared.memory.channel_windows.forget_own(user_id, &places.own);
        shared.memory.message_index.set_unread(user_id, &places.own);
    }
    shared.publish(records).await;
    if let Some(looked) = looked {
        shared.memory.read_states.keep(user_id, ReadState { at, ..looked });
    }
    Ok(MessageWriteOutcome::Done(at))
}

/// Where messages are that get a flag.
struct FlaggedLocations {
    of: BTreeMap<Recipient, Vec<i64>>,
    /// Those that the user may have written.
    own: Vec<MessageId>,
}

/// Returns where these messages are, if all of them are in memory or were and are gone.
fn places(kept: &IndexedMessages, user_id: UserId, ids: &[MessageId]) -> Option<FlaggedLocations> {
    if ids.iter().any(|id| id.0 <= kept.after) {
        return None;
    }
    let mut places = FlaggedLocations { of: BTreeMap::new(), own: Vec::new() };
    for (recipient, entry) in kept.entries(ids) {
        places.of.entry(recipient).or_default().push(entry.id.0);
        if entry.sender_id == user_id {
            places.own.push(entry.id);
        }
    }
    Some(places)
}

async fn by_recipient(tx: &mut Tx, ids: &[MessageId]) -> Result<BTreeMap<Recipient, Vec<i64>>, StoreError> {
    let sql = RECIPIENTS.text_for_dialect(tx.dialect());
    let ids = encode_numbers_parameter(ids.iter().map(|id| id.0));
    let rows: Vec<(i64, i64)> = run!(tx.on(), fetch_all: sqlx::query_as(sql.clone()).bind(&ids)).map_err(failed)?;
    let mut found: BTreeMap<Recipient, Vec<i64>> = BTreeMap::new();
    for (id, recipient) in rows {
        found.entry(Recipient::from(recipient)).or_default().push(id);
    }
    Ok(found)
}

/// Numbers of the user's messages with a rare flag.
pub(crate) async fn flagged(shared: &Shared, user_id: UserId, flag: MessageFlag) -> Result<Vec<MessageId>, StoreError> {
    if flag_set::keeps(flag) {
        return flag_set::all(shared, user_id, flag).await;
    }
    let ids: Vec<i64> =
        run!(shared.db.reader(), fetch_all: sqlx::query_scalar(FLAGGED).bind(user_id.0).bind(flag.database_number()))
            .map_err(failed)?;
    Ok(ids.into_iter().map(MessageId).collect())
}

/// Returns who has read a message that they received, its sender left out.
pub(crate) async fn readers(shared: &Shared, message: &Message) -> Result<Vec<UserId>, StoreError> {
    let realm = shared.memory.realm.current();
    let read = read_set::readers(&shared.db, message.recipient, message.id).await?;
    let copy = UserMessage::from_message(message, Vec::new());
    let counted: Vec<UserId> = match message.recipient {
        Recipient::Channel(_) => realm.users().map(|user| user.id).collect(),
        Recipient::Direct(_) => message.direct_users.clone(),
    };
    let counted = counted.into_iter().filter(|user| copy.counts_as_read(&realm, *user));
    let place = (message.recipient, message.id, message.content_flags);
    let has_it = |user: &UserId| *user != message.sender_id && received(&realm, *user, place);
    let readers: BTreeSet<UserId> = read.into_iter().chain(counted).filter(has_it).collect();
    Ok(readers.into_iter().collect())
}
