//! Which conversations are known to have messages, so that who writes there again asks the database nothing.
//!
//! A conversation loses its first message when messages go or move: then all of this is forgotten. What was asked
//! before that and is answered after it is not kept.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chat_core::StoreError;
use chat_core::event_log::event::{EventBody, LogRecord};
use chat_core::id::MessageId;
use chat_core::model::message::Conversation;

use crate::engine::run;
use crate::fault::failed;
use crate::store::Shared;

/// Conversations known at most; then all are forgotten.
const KNOWN_MAX: usize = 8_192;
const EARLIER: &str = "SELECT id FROM message WHERE recipient_id = $1 AND topic_key = $2 AND id < $3 LIMIT 1";

/// What is known.
#[derive(Default)]
pub(crate) struct StartedTopics(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    conversations: HashSet<(i64, String)>,
    /// Counts how often all were forgotten.
    forgotten: u64,
}

impl StartedTopics {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what the log brings.
    pub(crate) fn apply(&self, record: &LogRecord) {
        let takes_away = match record.event.as_ref().map(|event| &event.body) {
            Some(EventBody::Message(_) | EventBody::Flagged(_)) => false,
            Some(EventBody::Edit { .. }) => true,
            Some(EventBody::Plain { kind, .. }) => matches!(kind.as_str(), "delete_message" | "update_message"),
            // A change of messages that notifies no user.
            None => record.changes.is_empty(),
        };
        if takes_away {
            self.reset();
        }
    }

    /// Forgets all.
    pub(crate) fn reset(&self) {
        let mut inner = self.lock();
        inner.conversations.clear();
        inner.forgotten += 1;
    }
}

/// Returns whether the message is the first of its conversation that is there.
pub(crate) async fn begins(shared: &Shared, conversation: &Conversation, id: MessageId) -> Result<bool, StoreError> {
    let recipient = i64::from(conversation.recipient);
    let key = (recipient, conversation.topic_key.clone());
    let forgotten = {
        let inner = shared.memory.started_topics.lock();
        if inner.conversations.contains(&key) {
            return Ok(false);
        }
        inner.forgotten
    };
    let earlier: Option<i64> = run!(shared.db.reader(), fetch_optional: sqlx::query_scalar(EARLIER)
        .bind(recipient).bind(&conversation.topic_key).bind(id.0))
    .map_err(failed)?;
    let mut inner = shared.memory.started_topics.lock();
    if inner.forgotten == forgotten {
        if inner.conversations.len() >= KNOWN_MAX {
            inner.conversations.clear();
        }
        inner.conversations.insert(key);
    }
    Ok(earlier.is_none())
}
