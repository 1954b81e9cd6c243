//! What a user has read of a recipient: everything up to a mark, and a compressed set beyond it.
//!
//! People read from the old to the new, so the set is empty most of the time and the mark is all there is, whatever
//! the number of messages. What a user did not receive counts as read and does not hold the mark up.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chat_core::StoreError;
use chat_core::id::{ChannelId, MessageId, UserId};
use chat_core::model::channel::ChannelMembership;
use chat_core::model::message::{ContentFlags, Recipient};
use chat_core::model::realm_snapshot::RealmSnapshot;
use roaring::RoaringTreemap;
use sql_engines::{PerEngine, encode_numbers_parameter, insert_rows_statement, power_of_two_chunks};

use crate::db::ChatDatabase;
use crate::dialect::Sql;
use crate::engine::{PgSession, Tx, run};
use crate::fault::failed;
use crate::log_transaction::LogTransaction;
use crate::memory::message_index::{IndexEntry, IndexedMessages};
use crate::memory::read_state_cache::ReadState;
use crate::store::Shared;

/// Messages looked at in one step when the mark moves.
const STEP: i64 = 500;

static LOAD: Sql = Sql::new(
    "SELECT r.recipient_id, r.all_until, r.messages FROM {numbers:$2} AS asked CROSS JOIN read_set AS r
WHERE r.user_id = $1 AND r.recipient_id = asked.value",
);
static OF_ALL: Sql =
    Sql::new("SELECT user_id, recipient_id, all_until, messages FROM read_set WHERE recipient_id {in_numbers:$1}");
const READERS: &str = "SELECT user_id, all_until, messages FROM read_set WHERE recipient_id = $1 ORDER BY user_id";
const PUT: &str = "INSERT INTO read_set (user_id, recipient_id, all_until, messages)";
const OR_REPLACE: &str =
    " ON CONFLICT (user_id, recipient_id) DO UPDATE SET all_until = excluded.all_until, messages = excluded.messages";
/// Of rows that are there, cheaper than the above by half on Postgres: that would lock each before it writes it.
const RENEW: &str = "UPDATE read_set SET all_until = new.all_until, messages = new.messages
FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[], $4::BYTEA[]) AS new (user_id, recipient_id, all_until, messages)
WHERE read_set.user_id = new.user_id AND read_set.recipient_id = new.recipient_id";
const BETWEEN: &str = "SELECT id, marks FROM message WHERE recipient_id = $1 AND id >= $2 AND id <= $3";
const BEYOND: &str = "SELECT id, sender_id, marks FROM message WHERE recipient_id = $1 AND id > $2
ORDER BY id LIMIT $3";

/// What a user has read of one recipient.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadSet {
    /// Everything up to this message is read.
    pub(crate) all_until: i64,
    beyond: RoaringTreemap,
}

impl ReadSet {
    pub(crate) fn contains(&self, id: MessageId) -> bool {
        id.0 <= self.all_until || self.beyond.contains(key(id.0))
    }

    /// That of who has read nothing there.
    fn new(realm: &RealmSnapshot, user_id: UserId, recipient: Recipient) -> Self {
        Self { all_until: first_received_after(realm, user_id, recipient), ..Self::default() }
    }

    /// Returns whether they read it themselves, and it is not only what they did not receive.
    pub(crate) fn is_read_by(
        &self,
        realm: &RealmSnapshot,
        user_id: UserId,
        message: (Recipient, MessageId, ContentFlags),
    ) -> bool {
        self.beyond.contains(key(message.1.0)) || self.contains(message.1) && received(realm, user_id, message)
    }

    /// Passes over a message, unless it was received and is not read. Says whether it did.
    ///
    /// What was read and is not received stays in the set: it may have been moved there, and move on to where it is.
    fn pass(&mut self, id: MessageId, is_own: bool, is_received: bool) -> bool {
        if is_received {
            if !is_own && !self.contains(id) {
                return false;
            }
            self.beyond.remove(key(id.0));
        }
        self.all_until = id.0;
        true
    }

    /// Moves the mark before a message; `read` is what was behind it from there on and received.
    fn set_back(&mut self, lowest: i64, read: impl IntoIterator<Item = i64>) {
        self.beyond.extend(read.into_iter().map(key));
        self.all_until = lowest - 1;
    }

    /// Takes in what is read now and what is no longer, beyond the mark.
    fn take(&mut self, reading: &ReadChange) {
        for id in &reading.unread {
            self.beyond.remove(key(*id));
        }
        let until = self.all_until;
        self.beyond.extend(reading.read.iter().filter(|id| **id > until).map(|id| key(*id)));
    }

    /// Bytes of its serialised form.
    pub(crate) fn size_bytes(&self) -> usize {
        self.beyond.serialized_size()
    }

    fn bytes(&self) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::with_capacity(self.beyond.serialized_size());
        self.beyond.serialize_into(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }
}

/// Numbers of messages are positive.
fn key(id: i64) -> u64 {
    id.unsigned_abs()
}

/// Returns whether the user received the message where it is.
pub(crate) fn received(
    realm: &RealmSnapshot,
    user_id: UserId,
    (recipient, id, content_flags): (Recipient, MessageId, ContentFlags),
) -> bool {
    match recipient {
        Recipient::Direct(_) => true,
        Recipient::Channel(channel) => {
            let received = |membership: &ChannelMembership| membership.received_message(id, content_flags.moved_in);
            realm.membership(channel, user_id).is_some_and(received)
        }
    }
}

/// Returns what a user has read of these recipients; those of which they read nothing are left out.
pub(crate) async fn load(
    db: &ChatDatabase,
    user_id: UserId,
    recipients: impl IntoIterator<Item = Recipient>,
) -> Result<HashMap<Recipient, ReadSet>, StoreError> {
    let recipients = encode_numbers_parameter(recipients.into_iter().map(i64::from));
    let sql = LOAD.text_for_dialect(db.dialect());
    let rows: Vec<Row> =
        run!(db.reader(), fetch_all: sqlx::query_as(sql.clone()).bind(user_id.0).bind(&recipients)).map_err(failed)?;
    rows.into_iter().map(set).collect()
}

/// Returns what everybody has read of these recipients, inside a transaction, by recipient and user.
pub(crate) async fn load_all_in(
    tx: &mut Tx,
    recipients: impl IntoIterator<Item = Recipient>,
) -> Result<HashMap<(Recipient, UserId), ReadSet>, StoreError> {
    let recipients = encode_numbers_parameter(recipients.into_iter().map(i64::from));
    let sql = OF_ALL.text_for_dialect(tx.dialect());
    let rows: Vec<(i64, i64, i64, Vec<u8>)> =
        run!(tx.on(), fetch_all: sqlx::query_as(sql.clone()).bind(&recipients)).map_err(failed)?;
    let of = |(user_id, recipient, all_until, messages)| {
        let (recipient, set) = set((recipient, all_until, messages))?;
        Ok(((recipient, UserId(user_id)), set))
    };
    rows.into_iter().map(of).collect()
}

type Row = (i64, i64, Vec<u8>);

fn set((recipient, all_until, bytes): Row) -> Result<(Recipient, ReadSet), StoreError> {
    let beyond = RoaringTreemap::deserialize_from(bytes.as_slice()).map_err(failed)?;
    Ok((Recipient::from(recipient), ReadSet { all_until, beyond }))
}

/// Returns what a user has read of one recipient, inside a transaction.
pub(crate) async fn load_in(tx: &mut Tx, user_id: UserId, recipient: Recipient) -> Result<Option<ReadSet>, StoreError> {
    let sql = LOAD.text_for_dialect(tx.dialect());
    let recipients = encode_numbers_parameter([recipient.into()]);
    let row: Option<Row> =
        run!(tx.on(), fetch_optional: sqlx::query_as(sql.clone()).bind(user_id.0).bind(&recipients)).map_err(failed)?;
    Ok(row.map(set).transpose()?.map(|(_, set)| set))
}

/// Returns who has read a message of a recipient, as far as they read anything there.
pub(crate) async fn readers(db: &ChatDatabase, recipient: Recipient, id: MessageId) -> Result<Vec<UserId>, StoreError> {
    let rows: Vec<Row> =
        run!(db.reader(), fetch_all: sqlx::query_as(READERS).bind(i64::from(recipient))).map_err(failed)?;
    let mut readers = Vec::new();
    for (user_id, all_until, bytes) in rows {
        let (_, set) = set((recipient.into(), all_until, bytes))?;
        if set.contains(id) {
            readers.push(UserId(user_id));
        }
    }
    Ok(readers)
}

/// Messages of a recipient that a user has read now, and those they have no longer.
#[derive(Debug, Default)]
pub(crate) struct ReadChange {
    pub(crate) read: Vec<i64>,
    pub(crate) unread: Vec<i64>,
}

impl ReadChange {
    fn lowest_unread(&self) -> Option<i64> {
        self.unread.iter().copied().min()
    }
}

/// Writes down what a user has read of a recipient.
pub(crate) async fn change(
    tx: &mut Tx,
    realm: &RealmSnapshot,
    (user_id, recipient): (UserId, Recipient),
    reading: &ReadChange,
) -> Result<(), StoreError> {
    let set = load_in(tx, user_id, recipient).await?;
    let mut set = set.unwrap_or_else(|| ReadSet::new(realm, user_id, recipient));
    follow(tx, realm, (user_id, recipient), (&mut set, reading)).await?;
    put(tx, &[row((user_id, recipient), &set)?]).await
}

/// The same for many users and recipients at once. Reads the database alone: what it looks at need not be in the log.
pub(crate) async fn change_each(
    tx: &mut Tx,
    realm: &RealmSnapshot,
    readings: &BTreeMap<(UserId, Recipient), ReadChange>,
) -> Result<(), StoreError> {
    let recipients: BTreeSet<Recipient> = readings.keys().map(|(_, recipient)| *recipient).collect();
    let mut sets = load_all_in(tx, recipients).await?;
    let mut changed = Vec::with_capacity(readings.len());
    for (who, reading) in readings {
        let (user_id, recipient) = *who;
        let set = sets.remove(&(recipient, user_id));
        let mut set = set.unwrap_or_else(|| ReadSet::new(realm, user_id, recipient));
        follow(tx, realm, *who, (&mut set, reading)).await?;
        changed.push(row(*who, &set)?);
    }
    put(tx, &changed).await
}

/// Writes down what a user has read of several recipients. All that the log holds is known to this node. Returns what
/// they have read of these and perhaps of others, as it is once that is committed.
pub(crate) async fn change_all(
    writing: &mut LogTransaction,
    shared: &Shared,
    (realm, user_id): (&RealmSnapshot, UserId),
    readings: BTreeMap<Recipient, ReadChange>,
) -> Result<ReadState, StoreError> {
    let tx = &mut writing.tx;
    let mut looked = match shared.memory.read_states.take(user_id).filter(|looked| looked.knows(readings.keys())) {
        Some(looked) => looked,
        None => ReadState {
            at: writing.draft.head(),
            asked: readings.keys().copied().collect(),
            sets: load_of(tx, user_id, readings.keys().copied()).await?,
        },
    };
    let mut changed = Vec::with_capacity(readings.len());
    for (recipient, reading) in readings {
        let who = (user_id, recipient);
        let set = looked.sets.entry(recipient).or_insert_with(|| ReadSet::new(realm, user_id, recipient));
        let is_done =
            shared.memory.message_index.look(|kept| follow_kept(kept, realm, who, (set, &reading))) == Some(true);
        if !is_done {
            follow(tx, realm, who, (set, &reading)).await?;
        }
        changed.push(row(who, set)?);
    }
    put(tx, &changed).await?;
    Ok(looked)
}

async fn load_of(
    tx: &mut Tx,
    user_id: UserId,
    recipients: impl IntoIterator<Item = Recipient>,
) -> Result<HashMap<Recipient, ReadSet>, StoreError> {
    let sql = LOAD.text_for_dialect(tx.dialect());
    let recipients = encode_numbers_parameter(recipients.into_iter().map(i64::from));
    let rows: Vec<Row> =
        run!(tx.on(), fetch_all: sqlx::query_as(sql.clone()).bind(user_id.0).bind(&recipients)).map_err(failed)?;
    rows.into_iter().map(set).collect()
}

async fn put(tx: &mut Tx, rows: &[SetRow]) -> Result<(), StoreError> {
    if let PerEngine::Postgres(session) = tx.on()
        && renew(session, rows).await?
    {
        return Ok(());
    }
    for piece in power_of_two_chunks(rows) {
        let sql = insert_rows_statement(tx.dialect(), PUT, (piece.len(), 4), OR_REPLACE);
        run!(tx.on(), execute: {
            let mut query = sqlx::query(sql.clone());
            for (user, recipient, all_until, messages) in piece {
                query = query.bind(*user).bind(*recipient).bind(*all_until).bind(messages.as_slice());
            }
            query
        })
        .map_err(failed)?;
    }
    Ok(())
}

/// Writes down that a user who has read nothing yet has read these recipients up to a message.
pub(crate) async fn begin(
    tx: &mut Tx,
    user_id: UserId,
    recipients: impl Iterator<Item = Recipient>,
    until: MessageId,
) -> Result<(), StoreError> {
    let set = ReadSet { all_until: until.0, ..ReadSet::default() };
    let rows: Vec<SetRow> = recipients.map(|recipient| row((user_id, recipient), &set)).collect::<Result<_, _>>()?;
    put(tx, &rows).await
}

/// User, recipient, mark and set.
type SetRow = (i64, i64, i64, Vec<u8>);

fn row((user_id, recipient): (UserId, Recipient), set: &ReadSet) -> Result<SetRow, StoreError> {
    Ok((user_id.0, recipient.into(), set.all_until, set.bytes()?))
}

/// Writes rows that are there. Says whether all of them are; where some are not, all are written again.
async fn renew(PgSession { connection, outage }: PgSession<'_>, rows: &[SetRow]) -> Result<bool, StoreError> {
    let renew = sqlx::query(RENEW)
        .bind(rows.iter().map(|(user, ..)| *user).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, recipient, ..)| *recipient).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, _, all_until, _)| *all_until).collect::<Vec<_>>())
        .bind(rows.iter().map(|(.., messages)| messages.as_slice()).collect::<Vec<_>>())
        .execute(connection);
    let renewed = outage.bound(renew).await.map_err(failed)?;
    Ok(usize::try_from(renewed.rows_affected()).is_ok_and(|renewed| renewed == rows.len()))
}

/// Takes into a set what is read now, and moves its mark.
async fn follow(
    tx: &mut Tx,
    realm: &RealmSnapshot,
    (user_id, recipient): (UserId, Recipient),
    (set, reading): (&mut ReadSet, &ReadChange),
) -> Result<(), StoreError> {
    if let Some(lowest) = reading.lowest_unread().filter(|lowest| *lowest <= set.all_until) {
        let read: Vec<(i64, i64)> = run!(tx.on(), fetch_all: sqlx::query_as(BETWEEN)
            .bind(i64::from(recipient)).bind(lowest).bind(set.all_until))
        .map_err(failed)?;
        let is_received = |(id, content_flags): &(i64, i64)| {
            received(realm, user_id, (recipient, MessageId(*id), ContentFlags::from_bits(*content_flags)))
        };
        set.set_back(lowest, read.into_iter().filter(is_received).map(|(id, _)| id));
    }
    set.take(reading);
    advance(tx, realm, (user_id, recipient), set).await
}

/// The same with what is in memory. Says whether that reaches far enough; where it does not, the set is as it was.
fn follow_kept(
    kept: &IndexedMessages,
    realm: &RealmSnapshot,
    (user_id, recipient): (UserId, Recipient),
    (set, reading): (&mut ReadSet, &ReadChange),
) -> bool {
    let lowest = reading.lowest_unread().filter(|lowest| *lowest <= set.all_until);
    if lowest.map_or(set.all_until, |lowest| lowest - 1) < kept.after {
        return false;
    }
    let (is_direct, membership) = match recipient {
        Recipient::Channel(channel) => (false, realm.membership(channel, user_id)),
        Recipient::Direct(_) => (true, None),
    };
    let received = |entry: &IndexEntry| {
        membership.map_or(is_direct, |here| here.received_message(entry.id, entry.content_flags().moved_in))
    };
    if let Some(lowest) = lowest {
        let until = set.all_until;
        let behind = kept.entries_after(recipient, lowest - 1).take_while(|entry| entry.id.0 <= until);
        let read = behind.filter(|entry| received(entry));
        set.set_back(lowest, read.map(|entry| entry.id.0));
    }
    set.take(reading);
    for entry in kept.entries_after(recipient, set.all_until) {
        let id = entry.id;
        // What the sender has no longer read is not in memory yet.
        let own = entry.sender_id == user_id && entry.content_flags().read_by_sender && !reading.unread.contains(&id.0);
        if !set.pass(id, own, received(entry)) {
            break;
        }
    }
    true
}

/// Nothing up to here was received.
pub(crate) fn first_received_after(realm: &RealmSnapshot, user_id: UserId, recipient: Recipient) -> i64 {
    let after = |channel: ChannelId| Some(realm.membership(channel, user_id)?.spans.first()?.after.0);
    match recipient {
        Recipient::Channel(channel) => after(channel).unwrap_or_default(),
        Recipient::Direct(_) => 0,
    }
}

/// Moves the mark over everything that is read.
async fn advance(
    tx: &mut Tx,
    realm: &RealmSnapshot,
    (user_id, recipient): (UserId, Recipient),
    set: &mut ReadSet,
) -> Result<(), StoreError> {
    loop {
        let rows: Vec<(i64, i64, i64)> = run!(tx.on(), fetch_all: sqlx::query_as(BEYOND)
            .bind(i64::from(recipient)).bind(set.all_until).bind(STEP))
        .map_err(failed)?;
        let last = rows.len() < usize::try_from(STEP).unwrap_or_default();
        for (id, sender, content_flags) in rows {
            let (id, content_flags) = (MessageId(id), ContentFlags::from_bits(content_flags));
            let own = sender == user_id.0 && content_flags.read_by_sender;
            if !set.pass(id, own, received(realm, user_id, (recipient, id, content_flags))) {
                return Ok(());
            }
        }
        if last {
            return Ok(());
        }
    }
}
