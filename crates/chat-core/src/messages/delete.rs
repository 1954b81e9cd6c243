//! Deleting a message, or a topic.

use std::sync::Arc;

use crate::StoreError;
use crate::id::{ChannelId, MessageId, UserId};
use crate::log::decision::{DECISIONS_MAX, StaleDecisionError};
use crate::log::event;
use crate::messages::edit::{DeleteError, may_delete};
use crate::messages::ports::MessagePorts;
use crate::messages::readable::{self, MessageWriteError};
use crate::messages::store::{WriteGuard, WriteOutcome};
use crate::model::message::{Conversation, Message, Recipient, topic_key};
use crate::model::realm::RealmRules;
use crate::model::snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access::{self, ChannelNotFound, PermissionError, TopicNotFound, reads, require_administrator};
use crate::permission::entry::{AccountLookup, AuthenticationError};

/// Messages deleted in one transaction.
const DELETED_AT_ONCE: usize = 500;

/// The reason why a topic is not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteTopicError {
    /// The caller is not let in any more.
    #[error(transparent)]
    Authentication(#[from] AuthenticationError),
    /// The caller is not an administrator.
    #[error(transparent)]
    Permission(#[from] PermissionError),
    /// The channel is not there for the caller.
    #[error(transparent)]
    Channel(#[from] ChannelNotFound),
    /// The caller may read no message of the topic.
    #[error(transparent)]
    Topic(#[from] TopicNotFound),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The messages changed faster.
    #[error(transparent)]
    Stale(#[from] StaleDecisionError),
}

/// Deletes a message.
///
/// # Errors
/// See [`MessageWriteError`] and [`DeleteError`].
pub async fn delete(
    ports: &MessagePorts<'_>,
    caller: &Arc<User>,
    id: MessageId,
) -> Result<(), MessageWriteError<DeleteError>> {
    for _ in 0..DECISIONS_MAX {
        let found = readable::find(ports, caller, id).await?;
        let default = RealmRules::default();
        let rules = found.realm.realm().map_or(&default, |realm| &realm.rules);
        may_delete(rules, &found.user, &found.message, ports.now_s).map_err(MessageWriteError::Refused)?;
        if delete_all(ports, &found.realm, &[&found.message]).await? {
            return Ok(());
        }
    }
    Err(StaleDecisionError::Message.into())
}

/// Deletes all messages of a topic that the administrator may read, some hundreds in a transaction. `account` finds the
/// caller again before each of them.
///
/// # Errors
/// See [`DeleteTopicError`]. What is deleted by then is deleted.
pub async fn delete_topic(
    ports: &MessagePorts<'_>,
    caller: &User,
    account: AccountLookup<'_>,
    (channel_id, name): (ChannelId, &str),
) -> Result<(), DeleteTopicError> {
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
) -> Result<(), DeleteTopicError> {
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
    Err(StaleDecisionError::Message.into())
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
