//! Deleting a message, or a topic.

use std::sync::Arc;

use crate::StoreError;
use crate::id::{ChannelId, MessageId, UserId};
use crate::log::decision::{DECISIONS_MAX, StaleDecisionError};
use crate::log::event;
use crate::messages::edit::may_delete;
use crate::messages::ports::{MessagePorts, WorkflowError};
use crate::messages::readable;
use crate::messages::store::{WriteGuard, WriteOutcome};
use crate::model::message::{Conversation, Message, Recipient, topic_key};
use crate::model::realm::RealmRules;
use crate::model::snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access::{self, TopicNotFound, reads, require_administrator};
use crate::permission::entry::AccountLookup;

/// Messages deleted in one transaction.
const DELETED_AT_ONCE: usize = 500;

/// Deletes a message.
///
/// # Errors
/// See [`DeleteError`](crate::messages::edit::DeleteError); when the message is not there for the caller, or the server
/// failed.
pub async fn delete(ports: &MessagePorts<'_>, caller: &Arc<User>, id: MessageId) -> Result<(), WorkflowError> {
    for _ in 0..DECISIONS_MAX {
        let found = readable::find(ports, caller, id).await?;
        let default = RealmRules::default();
        let rules = found.realm.realm().map_or(&default, |realm| &realm.rules);
        may_delete(rules, &found.user, &found.message, ports.now_s)?;
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
/// When the caller is not an administrator or the channel or the topic is not there for them, or the server failed. What
/// is deleted by then is deleted.
pub async fn delete_topic(
    ports: &MessagePorts<'_>,
    caller: &User,
    account: AccountLookup<'_>,
    (channel_id, name): (ChannelId, &str),
) -> Result<(), WorkflowError> {
    require_administrator(caller)?;
    let realm = ports.realm();
    let channel = access::channel(&realm, caller, channel_id)?;
    let readable = access::history(&realm, caller, channel);
    let topic = Conversation { recipient: Recipient::Channel(channel_id), topic_key: topic_key(name) };
    let all = ports.messages.conversation(&topic, MessageId(0)).await?;
    let ids: Vec<MessageId> = all.into_iter().map(|(id, _)| id).filter(|id| readable.shows(*id)).collect();
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
    ports: &MessagePorts<'_>,
    (caller_id, account): (UserId, AccountLookup<'_>),
    topic: &Conversation,
    ids: &[MessageId],
) -> Result<(), WorkflowError> {
    for _ in 0..DECISIONS_MAX {
        let found = ports.messages.find(caller_id, ids).await?;
        let realm = ports.realm();
        let caller = account(&realm)?;
        require_administrator(caller)?;
        let is_there = |message: &&Message| {
            let in_topic = message.recipient == topic.recipient && topic_key(&message.topic) == topic.topic_key;
            in_topic && reads(&realm, caller, message)
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
    ports: &MessagePorts<'_>,
    realm: &RealmSnapshot,
    messages: &[&Message],
) -> Result<bool, StoreError> {
    let Some(first) = messages.first() else { return Ok(true) };
    let ids: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
    let decided = WriteGuard::new(realm, messages.iter().copied());
    let events = event::deleted(first, &ids);
    Ok(ports.messages.delete(&decided, (ports.now_s, events)).await? != WriteOutcome::Unchanged)
}
