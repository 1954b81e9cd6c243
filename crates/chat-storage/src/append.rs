//! Sending messages, many in one transaction.
//!
//! One task writes. While a transaction runs, messages gather, and what has gathered is the next; so a lone message
//! waits for nobody, and under load one commit serves dozens. A message is answered after the commit that holds it.

use std::sync::Arc;
use std::time::Duration;

use chat_core::messages::store::{NewMessage, SendOutcome};
use chat_core::model::message::MessageFlag;
use chat_core::{DatabaseUnavailable, StoreError};
use sqlx::Postgres;
use sqlx::pool::PoolConnection;
use tokio::sync::{mpsc, oneshot};

use crate::append_single_statement;
use crate::fault::failed;
use crate::log_transaction::LogTransaction;
use crate::message_batch::{MessageBatch, find_directs};
use crate::store::Shared;

/// Most messages in one transaction.
const BATCH_MAX: usize = 256;
/// A connection that was idle for longer goes back to the pool, which knows how to ask whether it is well.
const IDLE_MAX: Duration = Duration::from_secs(5);

/// A message that waits to be written.
pub(crate) struct QueuedMessage {
    message: NewMessage,
    answer: oneshot::Sender<Result<SendOutcome, StoreError>>,
}

/// The reason why a message could not be written although the database may be well.
#[derive(Debug, thiserror::Error)]
enum NotWritten {
    #[error("the store has stopped")]
    Stopped,
    #[error("a text contains the character NUL")]
    Nul,
    #[error("the transaction that held the message failed")]
    Batch(#[source] Arc<StoreError>),
}

/// A server that stops is not there at the moment, like a database that does.
fn stopped() -> StoreError {
    failed(DatabaseUnavailable(Box::new(NotWritten::Stopped)))
}

/// Sends a message; returns after the commit that holds it.
pub(crate) async fn append(shared: &Shared, message: NewMessage) -> Result<SendOutcome, StoreError> {
    let sent = &message.event.message;
    // Postgres refuses it even as a parameter, and would refuse the whole batch with it.
    if [&sent.content, &sent.html, &sent.topic, &sent.client].iter().any(|text| text.contains('\0')) {
        return Err(failed(NotWritten::Nul));
    }
    let (answer, answered) = oneshot::channel();
    shared.queue.send(QueuedMessage { message, answer }).await.map_err(|_| stopped())?;
    answered.await.map_err(|_| stopped())?
}

/// Writes batch after batch until told to stop or nobody can send any more.
pub(crate) async fn append_all(
    shared: Arc<Shared>,
    mut waiting: mpsc::Receiver<QueuedMessage>,
    mut stopped: oneshot::Receiver<()>,
) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    let mut lane = AppendConnection::default();
    loop {
        let received = tokio::select! {
            received = waiting.recv_many(&mut batch, BATCH_MAX) => received,
            () = tokio::time::sleep(IDLE_MAX), if lane.connection.is_some() => {
                lane.connection = None;
                continue;
            }
            _ = &mut stopped, if !waiting.is_closed() => {
                waiting.close();
                continue;
            }
        };
        if received == 0 {
            return;
        }
        let (messages, answers): (Vec<NewMessage>, Vec<_>) =
            batch.drain(..).map(|QueuedMessage { message, answer }| (message, answer)).unzip();
        match append_batch(&shared, &mut lane, &messages).await {
            Ok(sent) => {
                for (answer, sent) in answers.into_iter().zip(sent) {
                    // Whoever sent it may have gone away in the meantime.
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

/// How the next batch is written.
#[derive(Default)]
pub(crate) struct AppendConnection {
    /// What batches are written on at once, kept from one to the next: the statement is prepared there.
    pub(crate) connection: Option<PoolConnection<Postgres>>,
    /// Another node writes too: the next batch waits for its turn.
    crowded: bool,
}

/// Writes the messages that are still permitted, and says of each what became of it.
async fn append_batch(
    shared: &Shared,
    lane: &mut AppendConnection,
    messages: &[NewMessage],
) -> Result<Vec<SendOutcome>, StoreError> {
    // Submessages are rare, and have no place in the one statement; what uses uploads, and what is read as it comes,
    // goes with what was written before, which it cannot read.
    let is_plain = |NewMessage { event, attachments, .. }: &NewMessage| {
        let is_read = event.flags.iter().any(|(_, flag)| *flag == MessageFlag::Read);
        event.message.submessages.is_empty() && attachments.is_empty() && !is_read
    };
    let plain = messages.iter().all(is_plain);
    if let Some(postgres) = shared.db.postgres().filter(|_| plain && !lane.crowded) {
        if let Some(sent) = append_single_statement::append(shared, (postgres, lane), messages).await? {
            return Ok(sent);
        }
        lane.crowded = true;
    }
    let known = shared.memory.recent_log.head();
    let mut writing = LogTransaction::begin(shared).await?;
    lane.crowded = writing.draft.head() > known;
    let (newest, changed) = (writing.changed, writing.rules_changed(shared));
    let dialect = writing.tx.dialect();
    let permitted = messages.iter().filter(|message| message.decided_at >= changed);
    let mut directs = find_directs(writing.tx.on(), dialect, permitted).await?;
    let mut batch = MessageBatch::default();
    let sent = batch.take_all(&mut writing.draft, &mut directs, (messages, changed));
    if writing.draft.records().is_empty() {
        writing.roll_back().await?;
    } else {
        batch.write(&mut writing, &shared.memory.realm.current()).await?;
        shared.publish(writing.commit().await?).await;
    }
    if shared.memory.realm.load().log_position() < newest {
        // Whoever decides again needs what they did not know.
        shared.catch_up().await?;
    }
    Ok(sent)
}
