//! Deleting a message, or a topic.

use std::sync::Arc;

use crate::StoreError;
use crate::event_log::decision_queue::{MAX_DECISION_ATTEMPTS, StaleDecisionError};
use crate::event_log::event;
use crate::id::{ChannelId, MessageId, UserId};
use crate::messages::edit::may_delete;
use crate::messages::readable_message;
use crate::messages::store::{MessageWriteGuard, MessageWriteOutcome};
use crate::messages::workflow_context::{MessageWorkflowContext, MessageWorkflowError};
use crate::model::message::{Conversation, Message, Recipient, topic_key};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access::{self, TopicNotFound, may_read_message, require_administrator};
use crate::permission::authentication::AccountLookup;

/// Messages deleted in one transaction.
const DELETED_AT_ONCE: usize = 500;

/// Deletes a message.
///
/// # Errors
/// See [`MessageDeleteError`](crate::messages::edit::MessageDeleteError); when the message is not there for the caller,
/// or the server failed.
pub async fn delete_message(
    ports: &MessageWorkflowContext<'_>,
    caller: &Arc<User>,
    id: MessageId,
) -> Result<(), MessageWorkflowError> {
    for _ in 0..MAX_DECISION_ATTEMPTS {
        let found = readable_message::find_readable_message(ports, caller, id).await?;
        access::require_active_channel(&found.realm, &found.message)?;
        may_delete(&found.realm, &found.user, &found.message, ports.now_s)?;
        if delete_all(ports, &found.realm, &[&found.message]).await? {
            return Ok(());
        }
    }
    Err(StaleDecisionError("a message").into())
}

/// Deletes all messages of a topic that the administrator may read, some hundreds in a transaction. `account` finds the
/// caller again before each of them.
///
/// # Errors
/// When the caller is not an administrator or the channel or the topic is not there for them, or the server failed.
/// What is deleted by then is deleted.
pub async fn delete_topic(
    ports: &MessageWorkflowContext<'_>,
    caller: &User,
    account: AccountLookup<'_>,
    (channel_id, name): (ChannelId, &str),
) -> Result<(), MessageWorkflowError> {
    require_administrator(caller)?;
    let realm = ports.snapshot();
    let channel = access::find_visible_channel(&realm, caller, channel_id)?;
    let readable = access::readable_history(&realm, caller, channel);
    let topic = Conversation { recipient: Recipient::Channel(channel_id), topic_key: topic_key(name) };
    let all = ports.messages.conversation_messages_from(&topic, MessageId(0)).await?;
    let ids: Vec<MessageId> = all.into_iter().map(|(id, _)| id).filter(|id| readable.includes_message(*id)).collect();
    if ids.is_empty() {
        return Err(TopicNotFound(name.to_owned()).into());
    }
    for some in ids.chunks(DELETED_AT_ONCE) {
        delete_of_topic(ports, (caller.id, account), &topic, some).await?;
    }
    Ok(())
}

/// Deletes those of the messages that are in the topic still.
async fn delete_of_topic(
    ports: &MessageWorkflowContext<'_>,
    (caller_id, account): (UserId, AccountLookup<'_>),
    topic: &Conversation,
    ids: &[MessageId],
) -> Result<(), MessageWorkflowError> {
    for _ in 0..MAX_DECISION_ATTEMPTS {
        let found = ports.messages.find_messages(caller_id, ids).await?;
        let realm = ports.snapshot();
        let caller = account(&realm)?;
        require_administrator(caller)?;
        let is_there = |message: &&Message| {
            let in_topic = message.recipient == topic.recipient && topic_key(&message.topic) == topic.topic_key;
            in_topic && may_read_message(&realm, caller, message)
        };
        let left: Vec<&Message> = found.iter().map(|(message, _)| message).filter(is_there).collect();
        if delete_all(ports, &realm, &left).await? {
            return Ok(());
        }
    }
    Err(StaleDecisionError("a message").into())
}

/// Deletes messages of one conversation as they were read. Returns `false` when one has changed or is gone.
async fn delete_all(
    ports: &MessageWorkflowContext<'_>,
    realm: &RealmSnapshot,
    messages: &[&Message],
) -> Result<bool, StoreError> {
    let Some(first) = messages.first() else { return Ok(true) };
    let ids: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
    let decided = MessageWriteGuard::new(realm, messages.iter().copied());
    let events = event::delete_message_events(first, &ids);
    Ok(ports.messages.delete_messages(&decided, (ports.now_s, events)).await? != MessageWriteOutcome::Unchanged)
}
