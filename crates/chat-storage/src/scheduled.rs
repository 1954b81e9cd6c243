//! Messages that wait for their time. The end of the waiting and what follows from it are one transaction, so of
//! several nodes that try one does it, and a node that dies in the middle has done nothing.

use async_trait::async_trait;
use chat_core::StoreError;
use chat_core::event_log::event::NewEvent;
use chat_core::id::{ChannelId, EventId, MessageId, ScheduledMessageId, UserId};
use chat_core::messages::scheduled::{
    MAX_SCHEDULED_MESSAGES_PER_USER, ScheduledDestination, ScheduledEndOutcome, ScheduledMessage, ScheduledMessageEnd,
    ScheduledMessageStore,
};
use chat_core::messages::store::{MessageWriteOutcome, NewMessage, SendOutcome};

use crate::engine::{Tx, run};
use crate::fault::failed;
use crate::log_transaction::LogTransaction;
use crate::message_batch::{MessageBatch, find_directs};
use crate::message_decoding::{users_key, users_of};
use crate::store::{ChatStore, Shared};
use crate::write_guard;

const COUNT: &str = "SELECT count(*) FROM scheduled_message WHERE user_id = $1";
const INSERT: &str = "INSERT INTO scheduled_message (id, user_id, channel_id, users, topic, content, html, client,
    read_by_sender, due_s, failure, revision)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
const UPDATE: &str = "UPDATE scheduled_message SET channel_id = $3, users = $4, topic = $5, content = $6, html = $7,
    client = $8, read_by_sender = $9, due_s = $10, failure = $11, revision = $12
WHERE id = $1 AND revision = $2";
const DELETE: &str = "DELETE FROM scheduled_message WHERE id = $1 AND revision = $2";
const OF: &str = "SELECT id, user_id, channel_id, users, topic, content, html, client, read_by_sender, due_s, failure,
    revision
FROM scheduled_message WHERE user_id = $1 ORDER BY due_s, id";
const DUE: &str = "SELECT id, user_id, channel_id, users, topic, content, html, client, read_by_sender, due_s, failure,
    revision
FROM scheduled_message WHERE failure IS NULL AND due_s <= $1 ORDER BY due_s, id LIMIT $2";
const OWN: &str = "SELECT id, user_id, channel_id, users, topic, content, html, client, read_by_sender, due_s, failure,
    revision
FROM scheduled_message WHERE id = $1 AND user_id = $2";

/// A message that waits, or failed.
pub(crate) type Row = (i64, i64, Option<i64>, String, String, String, String, String, i64, i64, Option<String>, i64);

pub(crate) fn scheduled(row: Row) -> ScheduledMessage {
    let (id, user_id, channel_id, users, topic, content, html, client, read_by_sender, due_s, failure, revision) = row;
    ScheduledMessage {
        id: ScheduledMessageId(id),
        user_id: UserId(user_id),
        to: match channel_id {
            Some(id) => ScheduledDestination::Channel(ChannelId(id), topic),
            None => ScheduledDestination::Direct(users_of(&users)),
        },
        content,
        html,
        client,
        read_by_sender: read_by_sender != 0,
        due_s,
        failure,
        revision: EventId(revision),
    }
}

/// Channel, users and topic, as the table has them.
fn columns(to: &ScheduledDestination) -> (Option<i64>, String, &str) {
    match to {
        ScheduledDestination::Channel(id, topic) => (Some(id.0), String::new(), topic),
        ScheduledDestination::Direct(users) => (None, users_key(users), ""),
    }
}

/// Writes a message down, inside a transaction.
pub(crate) async fn insert(tx: &mut Tx, message: &ScheduledMessage) -> Result<(), StoreError> {
    let (channel_id, users, topic) = columns(&message.to);
    run!(tx.on(), execute: sqlx::query(INSERT)
        .bind(message.id.0)
        .bind(message.user_id.0)
        .bind(channel_id)
        .bind(&users)
        .bind(topic)
        .bind(&message.content)
        .bind(&message.html)
        .bind(&message.client)
        .bind(i64::from(message.read_by_sender))
        .bind(message.due_s)
        .bind(message.failure.as_deref())
        .bind(message.revision.0))
    .map_err(failed)?;
    Ok(())
}

/// Puts the message in the place of the one of its revision, at the next place of the log. Says whether it did.
async fn replace(writing: &mut LogTransaction, message: &ScheduledMessage) -> Result<bool, StoreError> {
    let place = writing.next();
    let (channel_id, users, topic) = columns(&message.to);
    let changed = run!(writing.tx.on(), execute: sqlx::query(UPDATE)
        .bind(message.id.0)
        .bind(message.revision.0)
        .bind(channel_id)
        .bind(&users)
        .bind(topic)
        .bind(&message.content)
        .bind(&message.html)
        .bind(&message.client)
        .bind(i64::from(message.read_by_sender))
        .bind(message.due_s)
        .bind(message.failure.as_deref())
        .bind(place.0))
    .map_err(failed)?;
    Ok(changed > 0)
}

async fn delete(writing: &mut LogTransaction, message: &ScheduledMessage) -> Result<bool, StoreError> {
    let deleted = run!(writing.tx.on(), execute: sqlx::query(DELETE).bind(message.id.0).bind(message.revision.0))
        .map_err(failed)?;
    Ok(deleted > 0)
}

/// Tells it and makes everything durable.
pub(crate) async fn finish(
    shared: &Shared,
    mut writing: LogTransaction,
    (at_s, event): (i64, NewEvent),
) -> Result<(), StoreError> {
    writing.push(at_s, Vec::new(), Some(event));
    let records = writing.commit().await?;
    shared.publish(records).await;
    Ok(())
}

/// Ends the waiting of a message as it was read.
async fn settle(
    shared: &Shared,
    message: &ScheduledMessage,
    (end, at_s): (ScheduledMessageEnd, i64),
) -> Result<ScheduledEndOutcome, StoreError> {
    let mut writing = LogTransaction::begin(shared).await?;
    let (claimed, event, sent) = match end {
        ScheduledMessageEnd::Sent(sent) => (delete(&mut writing, message).await?, message.removed_event(), Some(sent)),
        ScheduledMessageEnd::Failed { failure, notice } => {
            let failed = ScheduledMessage { failure: Some(failure), ..message.clone() };
            (replace(&mut writing, &failed).await?, failed.updated_event(), notice)
        }
    };
    if !claimed {
        writing.roll_back().await?;
        return Ok(ScheduledEndOutcome::Gone);
    }
    if sent.as_ref().is_some_and(|sent| sent.decided_at < writing.rules_changed(shared)) {
        write_guard::refuse(shared, writing).await?;
        return Ok(ScheduledEndOutcome::Stale);
    }
    // The place that a failed message's revision names is that of its event.
    let event = (at_s, event);
    let sent = match sent {
        None => finish(shared, writing, event).await.map(|()| None)?,
        Some(sent) => finish_with(shared, writing, (&[*sent], event)).await?,
    };
    Ok(ScheduledEndOutcome::Done { sent })
}

/// As [`finish`], with messages that go out after it was told; returns the number of the first.
pub(crate) async fn finish_with(
    shared: &Shared,
    mut writing: LogTransaction,
    (messages, (at_s, event)): (&[NewMessage], (i64, NewEvent)),
) -> Result<Option<MessageId>, StoreError> {
    // Before the event is put in: what changed is judged by the head that this node has heard of. Judged after it, the
    // message counted as stale and was lost, though it no longer waits.
    let (dialect, changed) = (writing.tx.dialect(), writing.rules_changed(shared));
    writing.push(at_s, Vec::new(), Some(event));
    let mut directs = find_directs(writing.tx.on(), dialect, messages.iter()).await?;
    let mut batch = MessageBatch::default();
    let sent = batch.take_all(&mut writing.draft, &mut directs, (messages, changed));
    batch.write(&mut writing, &shared.memory.realm.current()).await?;
    let records = writing.commit().await?;
    shared.publish(records).await;
    Ok(sent.first().and_then(|sent| match sent {
        SendOutcome::Done { id, .. } => Some(*id),
        SendOutcome::Stale(_) => None,
    }))
}

#[async_trait]
impl ScheduledMessageStore for ChatStore {
    async fn add_scheduled_message(
        &self,
        message: ScheduledMessage,
        at_s: i64,
    ) -> Result<Option<ScheduledMessageId>, StoreError> {
        let mut writing = LogTransaction::begin(&self.shared).await?;
        let have: i64 =
            run!(writing.tx.on(), fetch_one: sqlx::query_scalar(COUNT).bind(message.user_id.0)).map_err(failed)?;
        if usize::try_from(have).is_ok_and(|have| have >= MAX_SCHEDULED_MESSAGES_PER_USER) {
            writing.roll_back().await?;
            return Ok(None);
        }
        let place = writing.next();
        let message = ScheduledMessage { id: ScheduledMessageId(place.0), revision: place, failure: None, ..message };
        insert(&mut writing.tx, &message).await?;
        finish(&self.shared, writing, (at_s, message.added_event())).await?;
        Ok(Some(message.id))
    }

    async fn scheduled_messages_of_user(&self, user_id: UserId) -> Result<Vec<ScheduledMessage>, StoreError> {
        let rows: Vec<Row> =
            run!(self.shared.db.reader(), fetch_all: sqlx::query_as(OF).bind(user_id.0)).map_err(failed)?;
        Ok(rows.into_iter().map(scheduled).collect())
    }

    async fn update_scheduled_message(
        &self,
        message: ScheduledMessage,
        at_s: i64,
    ) -> Result<MessageWriteOutcome, StoreError> {
        let mut writing = LogTransaction::begin(&self.shared).await?;
        if !replace(&mut writing, &message).await? {
            writing.roll_back().await?;
            return Ok(MessageWriteOutcome::Unchanged);
        }
        let place = writing.next();
        finish(&self.shared, writing, (at_s, message.updated_event())).await?;
        Ok(MessageWriteOutcome::Done(place))
    }

    async fn delete_scheduled_message(
        &self,
        user_id: UserId,
        id: ScheduledMessageId,
        at_s: i64,
    ) -> Result<bool, StoreError> {
        let mut writing = LogTransaction::begin(&self.shared).await?;
        let row: Option<Row> =
            run!(writing.tx.on(), fetch_optional: sqlx::query_as(OWN).bind(id.0).bind(user_id.0)).map_err(failed)?;
        let Some(message) = row.map(scheduled) else {
            writing.roll_back().await?;
            return Ok(false);
        };
        // Writers come one after the other, so it is as it was read.
        delete(&mut writing, &message).await?;
        finish(&self.shared, writing, (at_s, message.removed_event())).await?;
        Ok(true)
    }

    async fn find_scheduled_message(
        &self,
        user_id: UserId,
        id: ScheduledMessageId,
    ) -> Result<Option<ScheduledMessage>, StoreError> {
        let row: Option<Row> =
            run!(self.shared.db.reader(), fetch_optional: sqlx::query_as(OWN).bind(id.0).bind(user_id.0))
                .map_err(failed)?;
        Ok(row.map(scheduled))
    }

    async fn due_scheduled_messages(&self, now_s: i64, limit: usize) -> Result<Vec<ScheduledMessage>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows: Vec<Row> =
            run!(self.shared.db.reader(), fetch_all: sqlx::query_as(DUE).bind(now_s).bind(limit)).map_err(failed)?;
        Ok(rows.into_iter().map(scheduled).collect())
    }

    async fn end_scheduled_message(
        &self,
        message: &ScheduledMessage,
        end: ScheduledMessageEnd,
        at_s: i64,
    ) -> Result<ScheduledEndOutcome, StoreError> {
        settle(&self.shared, message, (end, at_s)).await
    }
}
