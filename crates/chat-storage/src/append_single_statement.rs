//! Sending messages in one exchange with Postgres.
//!
//! A transaction that waits for the head of the log, reads it, writes and commits is six exchanges, and a lone message
//! waits for each. A node that has heard of everything knows the head already: its messages get their numbers before
//! anything is asked, and one statement moves the head from that place and writes the rows, or, when another node
//! has moved it in the meantime, does nothing. So numbers are given in the order of commits here too, and what was read
//! before the statement holds if it succeeds: whoever writes anything moves the head.
//!
//! SQLite has no such statement, and there an exchange costs little.

use chat_core::StoreError;
use chat_core::messages::store::{NewMessage, SendOutcome};
use chat_core::model::message::topic_key;
use sql_engines::{PerEngine, SqlDialect};

use crate::append::AppendConnection;
use crate::engine::PgSession;
use crate::fault::failed;
use crate::log_transaction::LogDraft;
use crate::message_batch::{MessageBatch, find_directs};
use crate::pg_pools::PgPools;
use crate::store::Shared;
use crate::word_index::WordIndexEntry;

/// Every column of every kind of row travels as one list, so it is one statement whatever the batch.
const WRITE: &str = "WITH head AS (
    UPDATE log_head SET last_event = $2 WHERE one = 1 AND last_event = $1 RETURNING one
), new_direct AS (
    INSERT INTO direct (recipient_id, users)
    SELECT new.recipient_id, new.users FROM head, unnest($3::BIGINT[], $4::TEXT[]) AS new (recipient_id, users)
), new_direct_user AS (
    INSERT INTO direct_user (user_id, recipient_id)
    SELECT new.user_id, new.recipient_id
    FROM head, unnest($5::BIGINT[], $6::BIGINT[]) AS new (user_id, recipient_id)
), new_message AS (
    INSERT INTO message
        (id, sender_id, recipient_id, topic, topic_key, content, html, sent_s, client, marks, revision)
    SELECT new.id, new.sender_id, new.recipient_id, new.topic, new.topic_key, new.content, new.html, new.sent_s,
        new.client, new.marks, new.id
    FROM head, unnest($7::BIGINT[], $8::BIGINT[], $9::BIGINT[], $10::TEXT[], $11::TEXT[], $12::TEXT[], $13::TEXT[],
        $14::BIGINT[], $15::TEXT[], $16::BIGINT[])
        AS new (id, sender_id, recipient_id, topic, topic_key, content, html, sent_s, client, marks)
), new_flag AS (
    INSERT INTO message_flag (user_id, flag, message_id)
    SELECT new.user_id, new.flag, new.message_id
    FROM head, unnest($17::BIGINT[], $18::BIGINT[], $19::BIGINT[]) AS new (user_id, flag, message_id)
    ON CONFLICT DO NOTHING
), new_words AS (
    INSERT INTO message_words (rowid, words)
    SELECT new.id, array_to_tsvector(string_to_array(new.words, ' '))
    FROM head, unnest($7::BIGINT[], $21::TEXT[]) AS new (id, words)
), new_record AS (
    INSERT INTO log (id, at_s, event)
    SELECT new.id, new.at_s, new.event
    FROM head, unnest($7::BIGINT[], $14::BIGINT[], $20::TEXT[]) AS new (id, at_s, event)
)
SELECT one FROM head";

/// Writes the messages that are still permitted, and says of each what became of it; `None` when another node has
/// written something that this one has not heard of, and nothing was written.
pub(crate) async fn append(
    shared: &Shared,
    (postgres, lane): (&PgPools, &mut AppendConnection),
    messages: &[NewMessage],
) -> Result<Option<Vec<SendOutcome>>, StoreError> {
    let turn = shared.writing.lock().await;
    // The head first: the realm is brought forward before it, so it may know more and not less.
    let mut draft = LogDraft::from(shared.memory.recent_log.head());
    let changed = shared.memory.realm.load().message_rules_changed_at();
    let outage = postgres.outage();
    // Taken, so that one that failed is not used again.
    let mut connection = match lane.connection.take() {
        Some(connection) => connection,
        None => outage.bound(postgres.all().acquire()).await.map_err(failed)?,
    };
    let permitted = messages.iter().filter(|message| message.decided_at >= changed);
    let session = PgSession { connection: &mut connection, outage };
    let mut directs = find_directs(PerEngine::Postgres(session), SqlDialect::Postgres, permitted).await?;
    let mut batch = MessageBatch::default();
    let from = draft.head();
    let sent = batch.take_all(&mut draft, &mut directs, (messages, changed));
    let written = draft.records().is_empty()
        || write(PgSession { connection: &mut connection, outage }, (from.0, &draft), &batch).await?;
    lane.connection = Some(connection);
    drop(turn);
    if !written {
        return Ok(None);
    }
    shared.publish(draft.into_records()).await;
    Ok(Some(sent))
}

/// Returns whether the head was where it was believed to be, and everything is written.
async fn write(
    session: PgSession<'_>,
    (from, draft): (i64, &LogDraft),
    batch: &MessageBatch,
) -> Result<bool, StoreError> {
    let MessageBatch { directs, direct_users, flags, .. } = batch;
    let messages = || draft.messages();
    let events: Vec<String> = draft
        .records()
        .iter()
        .map(|record| serde_json::to_string(&record.event))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    let PgSession { connection, outage } = session;
    let write = sqlx::query_scalar(WRITE)
        .bind(from)
        .bind(draft.head().0)
        .bind(directs.iter().map(|(recipient, _)| *recipient).collect::<Vec<_>>())
        .bind(directs.iter().map(|(_, users)| users.as_str()).collect::<Vec<_>>())
        .bind(direct_users.iter().map(|(user, _)| user.0).collect::<Vec<_>>())
        .bind(direct_users.iter().map(|(_, recipient)| *recipient).collect::<Vec<_>>())
        .bind(messages().map(|message| message.id.0).collect::<Vec<_>>())
        .bind(messages().map(|message| message.sender_id.0).collect::<Vec<_>>())
        .bind(messages().map(|message| i64::from(message.recipient)).collect::<Vec<_>>())
        .bind(messages().map(|message| message.topic.as_str()).collect::<Vec<_>>())
        .bind(messages().map(|message| topic_key(&message.topic)).collect::<Vec<_>>())
        .bind(messages().map(|message| message.content.as_str()).collect::<Vec<_>>())
        .bind(messages().map(|message| message.html.as_str()).collect::<Vec<_>>())
        .bind(messages().map(|message| message.sent_s).collect::<Vec<_>>())
        .bind(messages().map(|message| message.client.as_str()).collect::<Vec<_>>())
        .bind(messages().map(|message| message.content_flags.to_bits()).collect::<Vec<_>>())
        .bind(flags.iter().map(|(user, ..)| user.0).collect::<Vec<_>>())
        .bind(flags.iter().map(|(_, flag, _)| flag.database_number()).collect::<Vec<_>>())
        .bind(flags.iter().map(|(.., message)| message.0).collect::<Vec<_>>())
        .bind(&events)
        .bind(messages().map(|message| WordIndexEntry::new(SqlDialect::Postgres, message).text).collect::<Vec<_>>())
        .fetch_optional(connection);
    let moved: Option<i64> = outage.bound(write).await.map_err(failed)?;
    Ok(moved.is_some())
}
