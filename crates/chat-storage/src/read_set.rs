//! What a user has read of a recipient: everything up to a mark, and a compressed set beyond it.
//!
//! People read from the old to the new, so the set is empty most of the time and the mark is all there is, whatever
//! the number of messages. What a user did not receive counts as read and does not hold the mark up.

use std::collections::HashMap;

use chat_core::id::{ChannelId, MessageId, UserId};
use chat_core::message::{Marks, Recipient};
use chat_core::ports::StoreError;
use chat_core::snapshot::RealmSnapshot;
use roaring::RoaringTreemap;

use crate::db::Db;
use crate::dialect::{Sql, numbers};
use crate::engine::{Tx, run};
use crate::fault::failed;

/// Messages looked at in one step when the mark moves.
const STEP: i64 = 500;

static LOAD: Sql = Sql::new(
    "SELECT recipient_id, all_until, messages FROM read_set WHERE user_id = $1 AND recipient_id {in_numbers:$2}",
);
const READERS: &str = "SELECT user_id, all_until, messages FROM read_set WHERE recipient_id = $1 ORDER BY user_id";
const PUT: &str = "INSERT INTO read_set (user_id, recipient_id, all_until, messages) VALUES ($1, $2, $3, $4)
ON CONFLICT (user_id, recipient_id) DO UPDATE SET all_until = excluded.all_until, messages = excluded.messages";
const BETWEEN: &str = "SELECT id FROM message WHERE recipient_id = $1 AND id >= $2 AND id <= $3";
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

/// Whether the user received the message when it was sent.
pub(crate) fn received(realm: &RealmSnapshot, user_id: UserId, (recipient, id): (Recipient, MessageId)) -> bool {
    match recipient {
        Recipient::Direct(_) => true,
        Recipient::Channel(channel) => {
            realm.membership(channel, user_id).is_some_and(|membership| membership.received(id))
        }
    }
}

/// What a user has read of these recipients; those of which they read nothing are left out.
pub(crate) async fn load(
    db: &Db,
    user_id: UserId,
    recipients: impl IntoIterator<Item = Recipient>,
) -> Result<HashMap<Recipient, ReadSet>, StoreError> {
    let recipients = numbers(recipients.into_iter().map(i64::from));
    let sql = LOAD.on(db.dialect());
    let rows: Vec<Row> =
        run!(db.reader(), fetch_all: sqlx::query_as(sql.clone()).bind(user_id.0).bind(&recipients)).map_err(failed)?;
    rows.into_iter().map(set).collect()
}

type Row = (i64, i64, Vec<u8>);

fn set((recipient, all_until, bytes): Row) -> Result<(Recipient, ReadSet), StoreError> {
    let beyond = RoaringTreemap::deserialize_from(bytes.as_slice()).map_err(failed)?;
    Ok((Recipient::from(recipient), ReadSet { all_until, beyond }))
}

/// What a user has read of one recipient, inside a transaction.
pub(crate) async fn load_in(tx: &mut Tx, user_id: UserId, recipient: Recipient) -> Result<Option<ReadSet>, StoreError> {
    let sql = LOAD.on(tx.dialect());
    let recipients = numbers([recipient.into()]);
    let row: Option<Row> =
        run!(tx.on(), fetch_optional: sqlx::query_as(sql.clone()).bind(user_id.0).bind(&recipients)).map_err(failed)?;
    Ok(row.map(set).transpose()?.map(|(_, set)| set))
}

/// Who has read a message of a recipient, as far as they read anything there.
pub(crate) async fn readers(db: &Db, recipient: Recipient, id: MessageId) -> Result<Vec<UserId>, StoreError> {
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
pub(crate) struct Reading {
    pub(crate) read: Vec<i64>,
    pub(crate) unread: Vec<i64>,
}

/// Writes down what a user has read of a recipient.
pub(crate) async fn change(
    tx: &mut Tx,
    realm: &RealmSnapshot,
    (user_id, recipient): (UserId, Recipient),
    reading: &Reading,
) -> Result<(), StoreError> {
    let mut set = match load_in(tx, user_id, recipient).await? {
        Some(set) => set,
        None => ReadSet { all_until: first_received_after(realm, user_id, recipient), ..ReadSet::default() },
    };
    if let Some(lowest) = reading.unread.iter().copied().min().filter(|lowest| *lowest <= set.all_until) {
        let read: Vec<i64> = run!(tx.on(), fetch_all: sqlx::query_scalar(BETWEEN)
            .bind(i64::from(recipient)).bind(lowest).bind(set.all_until))
        .map_err(failed)?;
        set.beyond.extend(read.into_iter().map(key));
        set.all_until = lowest - 1;
    }
    for id in &reading.unread {
        set.beyond.remove(key(*id));
    }
    set.beyond.extend(reading.read.iter().filter(|id| **id > set.all_until).map(|id| key(*id)));
    advance(tx, realm, (user_id, recipient), &mut set).await?;
    let bytes = set.bytes()?;
    run!(tx.on(), execute: sqlx::query(PUT)
        .bind(user_id.0).bind(i64::from(recipient)).bind(set.all_until).bind(bytes.as_slice()))
    .map_err(failed)?;
    Ok(())
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
        for (id, sender, marks) in rows {
            let own = sender == user_id.0 && Marks::from_bits(marks).read_by_sender;
            if !own && !set.contains(MessageId(id)) && received(realm, user_id, (recipient, MessageId(id))) {
                return Ok(());
            }
            set.beyond.remove(key(id));
            set.all_until = id;
        }
        if last {
            return Ok(());
        }
    }
}
