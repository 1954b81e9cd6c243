//! Sending messages, many in one transaction.
//!
//! One task writes. While a transaction runs, messages gather, and what has gathered is the next; so a lone message
//! waits for nobody, and under load one commit serves dozens. A message is answered after the commit that holds it.

use std::collections::HashMap;
use std::sync::Arc;

use chat_core::event::{Audience, Body, Gate, NewEvent};
use chat_core::id::{DirectId, EventId, MessageId, UserId};
use chat_core::message::{Flag, Message, Recipient, topic_key};
use chat_core::ports::{Destination, NewMessage, Sent, StoreError};
use tokio::sync::{mpsc, oneshot};

use crate::dialect::{Sql, insert_rows, pieces};
use crate::engine::run;
use crate::fault::failed;
use crate::row::users_key;
use crate::store::Shared;
use crate::write::Writing;

/// Most messages in one transaction.
const BATCH_MAX: usize = 256;

static FIND_DIRECTS: Sql = Sql::new("SELECT users, recipient_id FROM direct WHERE users {in_texts:$1}");
const INSERT_DIRECTS: &str = "INSERT INTO direct (recipient_id, users)";
const INSERT_DIRECT_USERS: &str = "INSERT INTO direct_user (user_id, recipient_id)";
const INSERT_MESSAGES: &str = "INSERT INTO message (id, sender_id, recipient_id, topic, topic_key, content, html,
    sent_s, client, marks, revision)";
const INSERT_FLAGS: &str = "INSERT INTO message_flag (user_id, flag, message_id)";

/// A message that waits to be written.
pub(crate) struct Waiting {
    message: NewMessage,
    answer: oneshot::Sender<Result<Sent, StoreError>>,
}

/// Why a message could not be written although the database may be well.
#[derive(Debug, thiserror::Error)]
enum NotWritten {
    #[error("the store has stopped")]
    Stopped,
    #[error("a text contains the character NUL")]
    Nul,
    #[error("the transaction that held the message failed: {0}")]
    Batch(Arc<StoreError>),
}

/// Sends a message; returns after the commit that holds it.
pub(crate) async fn append(shared: &Shared, message: NewMessage) -> Result<Sent, StoreError> {
    let sent = &message.event.message;
    // Postgres refuses it even as a parameter, and would refuse the whole batch with it.
    if [&sent.content, &sent.html, &sent.topic, &sent.client].iter().any(|text| text.contains('\0')) {
        return Err(failed(NotWritten::Nul));
    }
    let (answer, answered) = oneshot::channel();
    shared.queue.send(Waiting { message, answer }).await.map_err(|_| failed(NotWritten::Stopped))?;
    answered.await.map_err(|_| failed(NotWritten::Stopped))?
}

/// Writes batch after batch until told to stop or nobody can send any more.
pub(crate) async fn append_all(
    shared: Arc<Shared>,
    mut waiting: mpsc::Receiver<Waiting>,
    mut stopped: oneshot::Receiver<()>,
) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    loop {
        let received = tokio::select! {
            received = waiting.recv_many(&mut batch, BATCH_MAX) => received,
            _ = &mut stopped, if !waiting.is_closed() => {
                waiting.close();
                continue;
            }
        };
        if received == 0 {
            return;
        }
        let (messages, answers): (Vec<NewMessage>, Vec<_>) =
            batch.drain(..).map(|Waiting { message, answer }| (message, answer)).unzip();
        match append_batch(&shared, messages).await {
            Ok(sent) => {
                for (answer, sent) in answers.into_iter().zip(sent) {
                    // Whoever sent it may have gone away meanwhile.
                    drop(answer.send(Ok(sent)));
                }
            }
            Err(error) => {
                let error = Arc::new(error);
                for answer in answers {
                    drop(answer.send(Err(failed(NotWritten::Batch(Arc::clone(&error))))));
                }
            }
        }
    }
}

/// Writes the messages that are still permitted, and says of each what became of it.
async fn append_batch(shared: &Shared, messages: Vec<NewMessage>) -> Result<Vec<Sent>, StoreError> {
    let mut writing = Writing::begin(shared).await?;
    let changed = writing.changed;
    let mut directs =
        find_directs(&mut writing, messages.iter().filter(|message| message.decided_at >= changed)).await?;
    let mut batch = Batch::default();
    let mut sent = Vec::with_capacity(messages.len());
    for message in messages {
        if message.decided_at < changed {
            sent.push(Sent::Stale(changed));
            continue;
        }
        sent.push(batch.take(&mut writing, &mut directs, message));
    }
    if batch.messages.is_empty() {
        writing.roll_back().await?;
    } else {
        batch.write(&mut writing).await?;
        shared.publish(writing.commit().await?).await;
    }
    if shared.realm.load().at() < changed {
        // Whoever decides again needs what they did not know.
        shared.catch_up().await?;
    }
    Ok(sent)
}

/// The sets of users that have written to each other before.
async fn find_directs(
    writing: &mut Writing,
    messages: impl Iterator<Item = &NewMessage>,
) -> Result<HashMap<String, Recipient>, StoreError> {
    let keys: Vec<String> = messages
        .filter_map(|message| match &message.to {
            Destination::Direct(users) => Some(users_key(users)),
            Destination::Channel { .. } => None,
        })
        .collect();
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let keys = serde_json::to_string(&keys).map_err(failed)?;
    let sql = FIND_DIRECTS.on(writing.tx.dialect());
    let rows: Vec<(String, i64)> =
        run!(writing.tx.on(), fetch_all: sqlx::query_as(sql.clone()).bind(&keys)).map_err(failed)?;
    Ok(rows.into_iter().map(|(users, recipient)| (users, Recipient::from(recipient))).collect())
}

/// Rows of one transaction.
#[derive(Default)]
struct Batch {
    directs: Vec<(i64, String)>,
    direct_users: Vec<(UserId, i64)>,
    messages: Vec<Message>,
    flags: Vec<(UserId, Flag, MessageId)>,
}

impl Batch {
    /// Gives a message its number and its place in the log.
    fn take(&mut self, writing: &mut Writing, directs: &mut HashMap<String, Recipient>, new: NewMessage) -> Sent {
        let NewMessage { to, mut event, .. } = new;
        let place: EventId = writing.next();
        let id = MessageId::from(place);
        let (recipient, audience) = match to {
            Destination::Channel { channel_id, public } => {
                (Recipient::Channel(channel_id), Audience::Subscribers { channel_id, public })
            }
            Destination::Direct(users) => {
                let recipient = *directs.entry(users_key(&users)).or_insert_with_key(|key| {
                    let recipient = Recipient::Direct(DirectId(id.0));
                    self.directs.push((recipient.into(), key.clone()));
                    self.direct_users.extend(users.iter().map(|user| (*user, i64::from(recipient))));
                    recipient
                });
                event.message.direct_users.clone_from(&users);
                (recipient, Audience::Users(users))
            }
        };
        event.message.id = id;
        event.message.revision = place;
        event.message.recipient = recipient;
        let sent_s = event.message.sent_s;
        self.flags
            .extend(event.flags.iter().filter(|(_, flag)| *flag != Flag::Read).map(|(user, flag)| (*user, *flag, id)));
        self.messages.push(event.message.clone());
        let event = NewEvent { audience, gate: Gate::Any, body: Body::Message(Box::new(event)) };
        writing.push(sent_s, Vec::new(), Some(event));
        Sent::Done { id, sent_s }
    }

    async fn write(&self, writing: &mut Writing) -> Result<(), StoreError> {
        self.write_directs(writing).await?;
        for piece in pieces(&self.messages) {
            let keys: Vec<String> = piece.iter().map(|message| topic_key(&message.topic)).collect();
            let sql = insert_rows(INSERT_MESSAGES, (piece.len(), 11), "");
            run!(writing.tx.on(), execute: {
                let mut query = sqlx::query(sql.clone());
                for (message, key) in piece.iter().zip(&keys) {
                    query = query
                        .bind(message.id.0)
                        .bind(message.sender_id.0)
                        .bind(i64::from(message.recipient))
                        .bind(&message.topic)
                        .bind(key)
                        .bind(&message.content)
                        .bind(&message.html)
                        .bind(message.sent_s)
                        .bind(&message.client)
                        .bind(message.marks.bits())
                        .bind(message.revision.0);
                }
                query
            })
            .map_err(failed)?;
        }
        for piece in pieces(&self.flags) {
            let sql = insert_rows(INSERT_FLAGS, (piece.len(), 3), " ON CONFLICT DO NOTHING");
            run!(writing.tx.on(), execute: {
                let mut query = sqlx::query(sql.clone());
                for (user, flag, message) in piece {
                    query = query.bind(user.0).bind(flag.number()).bind(message.0);
                }
                query
            })
            .map_err(failed)?;
        }
        Ok(())
    }

    async fn write_directs(&self, writing: &mut Writing) -> Result<(), StoreError> {
        for piece in pieces(&self.directs) {
            let sql = insert_rows(INSERT_DIRECTS, (piece.len(), 2), "");
            run!(writing.tx.on(), execute: {
                let mut query = sqlx::query(sql.clone());
                for (recipient, users) in piece {
                    query = query.bind(*recipient).bind(users);
                }
                query
            })
            .map_err(failed)?;
        }
        for piece in pieces(&self.direct_users) {
            let sql = insert_rows(INSERT_DIRECT_USERS, (piece.len(), 2), "");
            run!(writing.tx.on(), execute: {
                let mut query = sqlx::query(sql.clone());
                for (user, recipient) in piece {
                    query = query.bind(user.0).bind(*recipient);
                }
                query
            })
            .map_err(failed)?;
        }
        Ok(())
    }
}
