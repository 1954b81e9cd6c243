//! Changing messages: editing, moving, deleting, reacting.

use std::collections::HashMap;

use chat_core::StoreError;
use chat_core::event_log::event::NewEvent;
use chat_core::id::{ChannelId, EventId, MessageId, UserId};
use chat_core::messages::store::{MessageEdit, MessageEditOutcome, MessageWriteGuard, MessageWriteOutcome};
use chat_core::model::message::{ContentFlags, EditHistoryEntry, Reaction, Recipient, topic_key};
use chat_core::model::realm_snapshot::RealmSnapshot;
use sql_engines::encode_numbers_parameter;

use crate::attachment;
use crate::dialect::Sql;
use crate::engine::run;
use crate::fault::failed;
use crate::first_message::FirstMessages;
use crate::flag_set;
use crate::flags;
use crate::log_transaction::LogTransaction;
use crate::read_set::{self, ReadChange};
use crate::store::Shared;
use crate::word_index;
use crate::write_guard;

const CLAIM: &str = "UPDATE message SET revision = $2 WHERE id = $1";
/// Keeps what was, of the edited message and of those that move with it.
static KEEP: Sql = Sql::new(
    "INSERT INTO message_edit (message_id, event_id, at_s, user_id, content, html, recipient_id, to_recipient_id,
    topic, to_topic)
SELECT id, CAST($2 AS BIGINT), CAST($3 AS BIGINT), CAST($4 AS BIGINT),
    CASE WHEN id = $5 THEN content END, CASE WHEN id = $5 THEN html END,
    recipient_id, coalesce(CAST($6 AS BIGINT), recipient_id), topic, coalesce(CAST($7 AS TEXT), topic)
FROM message WHERE id {in_numbers:$1}",
);
/// How many of the messages that are to move are in the topic of the edited one.
static TOGETHER: Sql = Sql::new(
    "SELECT count(*) FROM message AS m JOIN message AS e ON e.recipient_id = m.recipient_id
    AND e.topic_key = m.topic_key
WHERE e.id = $2 AND m.id {in_numbers:$1}",
);
const SET_CONTENT: &str = "UPDATE message SET content = $2, html = $3, marks = $4, last_edit_s = $5 WHERE id = $1";
static MOVE: Sql = Sql::new(
    "UPDATE message SET recipient_id = $2, topic = $3, topic_key = $4, last_edit_s = $5, revision = $6,
    marks = marks | CAST($7 AS BIGINT)
WHERE id {in_numbers:$1}",
);
static MARKS: Sql = Sql::new("SELECT id, marks FROM message WHERE id {in_numbers:$1}");
const RECIPIENT: &str = "SELECT recipient_id FROM message WHERE id = $1";
const READERS: &str = "SELECT DISTINCT user_id FROM read_set WHERE recipient_id IN ($1, $2)
ORDER BY user_id";
static EDITS: Sql = Sql::new(
    "SELECT message_id, at_s, user_id, content, html, recipient_id, to_recipient_id, topic, to_topic
FROM message_edit WHERE message_id {in_numbers:$1} ORDER BY message_id, event_id DESC",
);

static DELETE: [Sql; 6] = [
    Sql::new("DELETE FROM submessage WHERE message_id {in_numbers:$1}"),
    Sql::new("DELETE FROM attachment_use WHERE message_id {in_numbers:$1}"),
    Sql::new("DELETE FROM message_flag WHERE message_id {in_numbers:$1}"),
    Sql::new("DELETE FROM reaction WHERE message_id {in_numbers:$1}"),
    Sql::new("DELETE FROM message_edit WHERE message_id {in_numbers:$1}"),
    Sql::new("DELETE FROM message WHERE id {in_numbers:$1}"),
];

const REACT: &str = "INSERT INTO reaction (message_id, user_id, kind, code, name, event_id)
SELECT id, CAST($2 AS BIGINT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS TEXT), CAST($6 AS BIGINT)
FROM message WHERE id = $1
ON CONFLICT (message_id, user_id, kind, code) DO NOTHING";
const UNREACT: &str = "DELETE FROM reaction WHERE message_id = $1 AND user_id = $2 AND kind = $3 AND code = $4";

/// Edits a message and moves those that go with it.
pub(crate) async fn edit(shared: &Shared, edit: MessageEdit) -> Result<MessageEditOutcome, StoreError> {
    let decided = MessageWriteGuard { realm: edit.decided_at, messages: vec![(edit.id, edit.revision)] };
    let Some(mut writing) = write_guard::begin(shared, &decided).await? else {
        return Ok(MessageEditOutcome::Unchanged);
    };
    let place = writing.next();
    if !are_together(&mut writing, &edit).await? {
        write_guard::refuse(shared, writing).await?;
        return Ok(MessageEditOutcome::Unchanged);
    }
    run!(writing.tx.on(), execute: sqlx::query(CLAIM).bind(edit.id.0).bind(place.0)).map_err(failed)?;
    keep(&mut writing, &edit, place).await?;
    let mut detached_uploads = Vec::new();
    if let Some((content, html, content_flags)) = &edit.content {
        run!(writing.tx.on(), execute: sqlx::query(SET_CONTENT)
            .bind(edit.id.0).bind(content).bind(html).bind(content_flags.to_bits()).bind(edit.at_s))
        .map_err(failed)?;
        detached_uploads = attachment::use_only(&mut writing, (edit.id, &edit.attachments), edit.at_s).await?;
        detached_uploads.retain(|upload| Some(upload.owner_id) == edit.user_id);
        flags::set_of_text(&mut writing.tx, edit.id, &edit.flags).await?;
    }
    let mut events = edit.events.clone();
    if let Some((channel_id, topic)) = &edit.to {
        events.extend(move_messages(shared, &mut writing, &edit, (*channel_id, topic)).await?);
    }
    word_index::renew(&mut writing.tx, edit.moves.iter().copied().chain([edit.id])).await?;
    let to = edit.to.map(|(channel_id, _)| channel_id);
    let written = finish(shared, writing, (edit.at_s, events), |shared| {
        shared.memory.channel_windows.forget(&edit.moves);
        shared.memory.channel_windows.forget(&[edit.id]);
        shared.memory.message_index.forget(&edit.moves);
        shared.memory.message_index.forget(&[edit.id]);
        if let Some(to) = to {
            shared.memory.channel_windows.forget_channel(to);
        }
        if !edit.moves.is_empty() {
            shared.memory.started_topics.reset();
        }
    });
    Ok(match written.await? {
        MessageWriteOutcome::Done(at) => MessageEditOutcome::Done { at, detached_uploads },
        MessageWriteOutcome::Unchanged => MessageEditOutcome::Unchanged,
    })
}

/// Returns whether all that is to move is still where the edited message is. What has gone elsewhere since the decision
/// must not be taken from there: who decided may not even read it any more.
async fn are_together(writing: &mut LogTransaction, edit: &MessageEdit) -> Result<bool, StoreError> {
    if edit.moves.is_empty() {
        return Ok(true);
    }
    let sql = TOGETHER.text_for_dialect(writing.tx.dialect());
    let ids = encode_numbers_parameter(edit.moves.iter().map(|id| id.0));
    let found: i64 =
        run!(writing.tx.on(), fetch_one: sqlx::query_scalar(sql.clone()).bind(&ids).bind(edit.id.0)).map_err(failed)?;
    Ok(usize::try_from(found).is_ok_and(|found| found == edit.moves.len()))
}

async fn keep(writing: &mut LogTransaction, edit: &MessageEdit, place: EventId) -> Result<(), StoreError> {
    let ids = encode_numbers_parameter(edit.moves.iter().filter(|id| **id != edit.id).chain([&edit.id]).map(|id| id.0));
    let edited = edit.content.is_some().then_some(edit.id.0);
    let to = edit.to.as_ref().map(|(channel, _)| i64::from(Recipient::Channel(*channel)));
    let topic = edit.to.as_ref().map(|(_, topic)| topic.as_str());
    let sql = KEEP.text_for_dialect(writing.tx.dialect());
    run!(writing.tx.on(), execute: sqlx::query(sql.clone())
        .bind(&ids)
        .bind(place.0)
        .bind(edit.at_s)
        .bind(edit.user_id.map(|user| user.0))
        .bind(edited)
        .bind(to)
        .bind(topic))
    .map_err(failed)?;
    Ok(())
}

/// Returns the events of channels that begin otherwise then.
async fn move_messages(
    shared: &Shared,
    writing: &mut LogTransaction,
    edit: &MessageEdit,
    (channel_id, topic): (ChannelId, &str),
) -> Result<Vec<NewEvent>, StoreError> {
    let to = Recipient::Channel(channel_id);
    let from: i64 = run!(writing.tx.on(), fetch_one: sqlx::query_scalar(RECIPIENT).bind(edit.id.0)).map_err(failed)?;
    let from = Recipient::from(from);
    let place = writing.next();
    let ids = encode_numbers_parameter(edit.moves.iter().map(|id| id.0));
    let key = topic_key(topic);
    let realm = shared.memory.realm.current();
    let read = if from == to { Vec::new() } else { read_states(writing, &realm, (from, to), &edit.moves).await? };
    let leaving: &[MessageId] = if from == to { &[] } else { &edit.moves };
    let firsts = FirstMessages::before(writing, leaving, (from != to).then_some(channel_id)).await?;
    let sql = MOVE.text_for_dialect(writing.tx.dialect());
    let moved_in = ContentFlags { moved_in: from != to, ..ContentFlags::default() };
    run!(writing.tx.on(), execute: sqlx::query(sql.clone())
        .bind(&ids)
        .bind(i64::from(to))
        .bind(topic)
        .bind(&key)
        .bind(edit.at_s)
        .bind(place.0)
        .bind(moved_in.to_bits()))
    .map_err(failed)?;
    for (user_id, reading) in read {
        read_set::change(&mut writing.tx, &realm, (user_id, to), &reading).await?;
    }
    firsts.events(shared, writing).await
}

/// Returns who has read which of the messages that move, of all who have read anything where they were or will be. What
/// a user did not receive where it was is not read by them: there it is only passed over.
async fn read_states(
    writing: &mut LogTransaction,
    realm: &RealmSnapshot,
    (from, to): (Recipient, Recipient),
    ids: &[MessageId],
) -> Result<Vec<(UserId, ReadChange)>, StoreError> {
    let users: Vec<i64> = run!(writing.tx.on(), fetch_all: sqlx::query_scalar(READERS)
        .bind(i64::from(from)).bind(i64::from(to)))
    .map_err(failed)?;
    let (sql, moving) =
        (MARKS.text_for_dialect(writing.tx.dialect()), encode_numbers_parameter(ids.iter().map(|id| id.0)));
    let rows: Vec<(i64, i64)> =
        run!(writing.tx.on(), fetch_all: sqlx::query_as(sql.clone()).bind(&moving)).map_err(failed)?;
    let marks: HashMap<MessageId, ContentFlags> =
        rows.into_iter().map(|(id, marks)| (MessageId(id), ContentFlags::from_bits(marks))).collect();
    let mut states = Vec::with_capacity(users.len());
    for user_id in users.into_iter().map(UserId) {
        let set = read_set::load_in(&mut writing.tx, user_id, from).await?.unwrap_or_default();
        let is_read =
            |id: &&MessageId| marks.get(*id).is_some_and(|marks| set.is_read_by(realm, user_id, (from, **id, *marks)));
        let (read, unread): (Vec<&MessageId>, Vec<&MessageId>) = ids.iter().partition(is_read);
        let numbers = |ids: Vec<&MessageId>| ids.into_iter().map(|id| id.0).collect();
        states.push((user_id, ReadChange { read: numbers(read), unread: numbers(unread) }));
    }
    Ok(states)
}

/// Returns the earlier states of a message, the newest first.
pub(crate) async fn edits(shared: &Shared, id: MessageId) -> Result<Vec<EditHistoryEntry>, StoreError> {
    Ok(edits_of(shared, &[id]).await?.into_iter().map(|(_, edit)| edit).collect())
}

/// Returns the earlier states of several messages, of each the newest first.
pub(crate) async fn edits_of(
    shared: &Shared,
    ids: &[MessageId],
) -> Result<Vec<(MessageId, EditHistoryEntry)>, StoreError> {
    let sql = EDITS.text_for_dialect(shared.db.dialect());
    let ids = encode_numbers_parameter(ids.iter().map(|id| id.0));
    let rows: Vec<EditRow> =
        run!(shared.db.reader(), fetch_all: sqlx::query_as(sql.clone()).bind(&ids)).map_err(failed)?;
    Ok(rows.into_iter().map(past).collect())
}

/// Message, time, user, text and HTML, recipient before and after, topic before and after.
pub(crate) type EditRow = (i64, i64, Option<i64>, Option<String>, Option<String>, i64, i64, String, String);

/// Returns the earlier state that a row tells of.
pub(crate) fn past(
    (id, at_s, user_id, content, html, from, to, topic, to_topic): EditRow,
) -> (MessageId, EditHistoryEntry) {
    let channel = |recipient: i64| match Recipient::from(recipient) {
        Recipient::Channel(id) => Some(id),
        Recipient::Direct(_) => None,
    };
    let past = EditHistoryEntry {
        at_s,
        user_id: user_id.map(UserId),
        content: content.zip(html),
        channel: channel(from).zip(channel(to)).filter(|(from, to)| from != to),
        topic: (topic != to_topic).then_some((topic, to_topic)),
    };
    (MessageId(id), past)
}

/// Deletes messages with everything users made of them.
pub(crate) async fn delete(
    shared: &Shared,
    decided: &MessageWriteGuard,
    (at_s, events): (i64, Vec<NewEvent>),
) -> Result<MessageWriteOutcome, StoreError> {
    if decided.messages.is_empty() {
        return Ok(MessageWriteOutcome::Unchanged);
    }
    let Some(mut writing) = write_guard::begin(shared, decided).await? else {
        return Ok(MessageWriteOutcome::Unchanged);
    };
    let messages = &decided.messages;
    let ids = encode_numbers_parameter(messages.iter().map(|(id, _)| id.0));
    let gone: Vec<MessageId> = messages.iter().map(|(id, _)| *id).collect();
    let firsts = FirstMessages::before(&mut writing, &gone, None).await?;
    word_index::forget(&mut writing.tx, &ids).await?;
    flag_set::forget(&mut writing.tx, &gone).await?;
    for sql in &DELETE {
        let sql = sql.text_for_dialect(writing.tx.dialect());
        run!(writing.tx.on(), execute: sqlx::query(sql.clone()).bind(&ids)).map_err(failed)?;
    }
    let begun = firsts.events(shared, &mut writing).await?;
    let events = events.into_iter().chain(begun).collect();
    finish(shared, writing, (at_s, events), |shared| {
        shared.memory.channel_windows.forget(&gone);
        shared.memory.message_index.forget(&gone);
        shared.memory.started_topics.reset();
    })
    .await
}

/// Adds a reaction.
pub(crate) async fn react(
    shared: &Shared,
    decided: &MessageWriteGuard,
    reaction: &Reaction,
    (at_s, event): (i64, NewEvent),
) -> Result<MessageWriteOutcome, StoreError> {
    let [(id, _)] = decided.messages[..] else { return Ok(MessageWriteOutcome::Unchanged) };
    let Some(mut writing) = write_guard::begin(shared, decided).await? else {
        return Ok(MessageWriteOutcome::Unchanged);
    };
    let place = writing.next();
    let added = run!(writing.tx.on(), execute: sqlx::query(REACT)
        .bind(id.0)
        .bind(reaction.user_id.0)
        .bind(reaction.reaction_type.wire_name())
        .bind(&reaction.emoji_code)
        .bind(&reaction.emoji_name)
        .bind(place.0))
    .map_err(failed)?;
    if added == 0 {
        writing.roll_back().await?;
        return Ok(MessageWriteOutcome::Unchanged);
    }
    finish(shared, writing, (at_s, vec![event]), |shared| shared.memory.channel_windows.forget(&[id])).await
}

/// Takes a reaction away.
pub(crate) async fn unreact(
    shared: &Shared,
    decided: &MessageWriteGuard,
    reaction: &Reaction,
    (at_s, event): (i64, NewEvent),
) -> Result<MessageWriteOutcome, StoreError> {
    let [(id, _)] = decided.messages[..] else { return Ok(MessageWriteOutcome::Unchanged) };
    let Some(mut writing) = write_guard::begin(shared, decided).await? else {
        return Ok(MessageWriteOutcome::Unchanged);
    };
    let removed = run!(writing.tx.on(), execute: sqlx::query(UNREACT)
        .bind(id.0)
        .bind(reaction.user_id.0)
        .bind(reaction.reaction_type.wire_name())
        .bind(&reaction.emoji_code))
    .map_err(failed)?;
    if removed == 0 {
        writing.roll_back().await?;
        return Ok(MessageWriteOutcome::Unchanged);
    }
    finish(shared, writing, (at_s, vec![event]), |shared| shared.memory.channel_windows.forget(&[id])).await
}

/// Tells it and makes everything durable.
pub(crate) async fn finish(
    shared: &Shared,
    mut writing: LogTransaction,
    (at_s, events): (i64, Vec<NewEvent>),
    forget: impl FnOnce(&Shared),
) -> Result<MessageWriteOutcome, StoreError> {
    let mut last = writing.next();
    if events.is_empty() {
        // The place was given as a revision and belongs to nobody else.
        last = writing.push(at_s, Vec::new(), None);
    }
    for event in events {
        last = writing.push(at_s, Vec::new(), Some(event));
    }
    let records = writing.commit().await?;
    // Whatever the events say.
    forget(shared);
    shared.publish(records).await;
    Ok(MessageWriteOutcome::Done(last))
}
