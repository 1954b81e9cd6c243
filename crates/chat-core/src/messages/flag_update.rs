//! Setting flags, and taking them away: on messages by their numbers, and on all that a user has not read.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::StoreError;
use crate::event_log::decision_queue::{MAX_DECISION_ATTEMPTS, StaleDecisionError};
use crate::event_log::event::MessageFlagsUpdate;
use crate::id::{ChannelId, EventId, MessageId, UserId};
use crate::messages::narrow::{NarrowCondition, NarrowTerm, ReadableMessageSelection};
use crate::messages::store::{FlagWriteGuard, MessageWriteOutcome};
use crate::messages::workflow_context::{MessageWorkflowContext, MessageWorkflowError};
use crate::model::flag_change::{FlagChange, FlagOp};
use crate::model::message::{Conversation, MessageFlag, Recipient, topic_key};
use crate::model::user::User;
use crate::permission::access::{self, MessageNotFound, TopicNotFound, may_read_user_message};

/// Messages looked at in one step: as many as one answer holds, which clients ask about at once.
const STEP: usize = 5_000;
/// Unread messages that become read in one transaction.
const READ_AT_ONCE: usize = 5_000;
/// Such transactions of one call; the response says where more is unread, and the client calls again.
const READS_MAX: usize = 200;
/// Users times channels that they leave at once of which the unread messages are looked up.
const LEAVERS_MAX: usize = 100;

/// What an update of flags was decided on.
#[derive(Debug, Clone, Copy)]
struct DecidedAt {
    /// The place of the realm's last change.
    realm: EventId,
    /// The head of the log before the messages were read.
    log: EventId,
}

/// Unread messages of a channel that their user is about to leave.
#[derive(Debug)]
pub struct UnreadInLeftChannel {
    user_id: UserId,
    messages: Vec<MessageId>,
}

/// Updates a flag of messages for the caller. A flag that keeps a message for the user (`starred`, `collapsed`) is set
/// on all of the messages or on none.
///
/// # Source
/// Not specified; as existing clients know it: the refusal is the same for a message that is not there and for one the
/// user may not read. What becomes read, or loses a flag, may have gone in the meantime, and is passed over.
///
/// # Errors
/// When one of the messages is not there for the user, or the server failed.
pub async fn update_message_flags(
    ports: &MessageWorkflowContext<'_>,
    caller: &Arc<User>,
    change: FlagChange,
    mut ids: Vec<MessageId>,
) -> Result<(), MessageWorkflowError> {
    ids.sort_unstable();
    ids.dedup();
    let keeps = change.op == FlagOp::Add && change.flag != MessageFlag::Read;
    if keeps && readable_message_ids(ports, caller, &ids).await?.len() < ids.len() {
        return Err(MessageNotFound.into());
    }
    update_readable_message_flags(ports, caller, change, &ids).await.map(drop)
}

/// Returns those of the message ids that exist and that the user may read, in ascending order.
///
/// # Errors
/// When the database failed.
pub async fn readable_message_ids(
    ports: &MessageWorkflowContext<'_>,
    user: &User,
    ids: &[MessageId],
) -> Result<Vec<MessageId>, StoreError> {
    let mut found = Vec::new();
    for some in ids.chunks(STEP) {
        let copies = ports.messages.find_user_messages(user.id, some, MessageFlag::Starred).await?;
        let realm = ports.snapshot();
        let user = realm.user(user.id).map_or(user, AsRef::as_ref);
        found.extend(copies.iter().filter(|copy| may_read_user_message(&realm, user, copy)).map(|copy| copy.id));
    }
    Ok(found)
}

/// Returns the channels, in the order of their numbers, whose messages among these stay read although the user wants
/// them to be unread, because the user is not in the channel.
///
/// # Errors
/// When the database failed.
pub async fn channels_kept_read(
    ports: &MessageWorkflowContext<'_>,
    user: &User,
    change: FlagChange,
    ids: &[MessageId],
) -> Result<Vec<ChannelId>, StoreError> {
    let mut channels = BTreeSet::new();
    if (change.flag, change.op) != (MessageFlag::Read, FlagOp::Remove) {
        return Ok(Vec::new());
    }
    for some in ids.chunks(STEP) {
        let copies = ports.messages.find_user_messages(user.id, some, MessageFlag::Read).await?;
        let realm = ports.snapshot();
        let kept = copies.iter().filter_map(|copy| match copy.recipient {
            Recipient::Channel(id) if realm.subscription(id, user.id).is_none() => {
                may_read_user_message(&realm, user, copy).then_some(id)
            }
            _ => None,
        });
        channels.extend(kept);
    }
    Ok(channels.into_iter().collect())
}

/// Updates a flag of messages that the caller may read; returns how many changed. If none changes, nothing is written
/// and no client is notified.
///
/// # Errors
/// When the database failed or the messages changed each time.
pub async fn update_readable_message_flags(
    ports: &MessageWorkflowContext<'_>,
    caller: &Arc<User>,
    change: FlagChange,
    ids: &[MessageId],
) -> Result<usize, MessageWorkflowError> {
    for _ in 0..MAX_DECISION_ATTEMPTS {
        let log = ports.log.last_event_id();
        // The oldest realm that a part of the messages was judged in.
        let mut decided_at = None;
        let mut flagged = MessageFlagsUpdate { mark: change, places: Vec::new() };
        for some in ids.chunks(STEP) {
            let copies = ports.messages.find_user_messages(caller.id, some, change.flag).await?;
            let realm = ports.snapshot();
            decided_at.get_or_insert(realm.changed_at());
            let user = realm.user(caller.id).unwrap_or(caller);
            flagged.places.extend(change.affected_messages(&realm, user, &copies).places);
        }
        let Some(realm) = decided_at else { return Ok(0) };
        if let Some(count) = write(ports, caller.id, flagged, DecidedAt { realm, log }).await? {
            return Ok(count);
        }
    }
    Err(StaleDecisionError("a message").into())
}

/// Writes what was decided; returns how many messages it changed, or `None` when what was decided on has changed.
async fn write(
    ports: &MessageWorkflowContext<'_>,
    user_id: UserId,
    flagged: MessageFlagsUpdate,
    decided: DecidedAt,
) -> Result<Option<usize>, StoreError> {
    let (FlagChange { flag, op }, messages) = (flagged.mark, flagged.message_ids());
    let count = messages.len();
    if count == 0 {
        return Ok(Some(0));
    }
    let decided = FlagWriteGuard { realm: decided.realm, log: decided.log, messages };
    let event = (ports.now_s, flagged.event_for_user(user_id));
    let written = ports.messages.change_flag(user_id, (flag, op), &decided, event).await?;
    Ok((written != MessageWriteOutcome::Unchanged).then_some(count))
}

/// Marks all messages that match the narrow conditions as read. Returns whether none is left.
///
/// # Errors
/// When the database failed.
pub async fn mark_matching_as_read(
    ports: &MessageWorkflowContext<'_>,
    caller: &User,
    conditions: Vec<NarrowCondition>,
) -> Result<bool, StoreError> {
    let terms = unread_terms(conditions);
    for _ in 0..READS_MAX {
        let (log, realm) = (ports.log.last_event_id(), ports.snapshot());
        let selection = ReadableMessageSelection::new(&realm, caller, terms.clone());
        let unread = ports.messages.unread_messages(&selection, READ_AT_ONCE).await?;
        let flagged = MessageFlagsUpdate::without_locations(FlagChange::MARK_READ, unread.message_ids());
        let written = write(ports, caller.id, flagged, DecidedAt { realm: realm.changed_at(), log }).await?;
        if written.is_some_and(|count| count < READ_AT_ONCE) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Marks all messages in a channel, or in one topic of it, as read.
///
/// # Source
/// Not specified: a topic of which the user received nothing is refused, as existing clients know it.
///
/// # Errors
/// When the channel or the topic is not there for the user, or the database failed.
pub async fn mark_channel_or_topic_read(
    ports: &MessageWorkflowContext<'_>,
    caller: &User,
    channel_id: ChannelId,
    topic: Option<&str>,
) -> Result<(), MessageWorkflowError> {
    access::find_visible_channel(&ports.snapshot(), caller, channel_id)?;
    let mut conditions = vec![NarrowCondition::Channel(channel_id)];
    if let Some(name) = topic {
        let topic = Conversation { recipient: Recipient::Channel(channel_id), topic_key: topic_key(name) };
        let all = ports.messages.conversation_messages_from(&topic, MessageId(0)).await?;
        let realm = ports.snapshot();
        let membership = realm.membership(channel_id, caller.id);
        if !membership.is_some_and(|membership| all.iter().any(|(id, _)| membership.was_subscribed_at(*id))) {
            return Err(TopicNotFound(name.to_owned()).into());
        }
        conditions.push(NarrowCondition::Topic(topic.topic_key));
    }
    mark_matching_as_read(ports, caller, conditions).await?;
    Ok(())
}

/// Returns the unread messages of users in channels that they are about to leave, which count as read from then on, for
/// [`mark_left_channels_read`]. Above [`LEAVERS_MAX`] departures it returns none; clients drop what is unread in a
/// channel that was left.
///
/// # Errors
/// When the database failed.
pub async fn unread_in_left_channels(
    ports: &MessageWorkflowContext<'_>,
    users: &[UserId],
    channels: &[ChannelId],
) -> Result<Vec<UnreadInLeftChannel>, StoreError> {
    if users.len().saturating_mul(channels.len()) > LEAVERS_MAX {
        return Ok(Vec::new());
    }
    let realm = ports.snapshot();
    let mut found = Vec::new();
    for user in users.iter().filter_map(|id| realm.user(*id)) {
        for channel_id in channels.iter().filter(|id| realm.subscription(**id, user.id).is_some()) {
            let selection =
                ReadableMessageSelection::new(&realm, user, unread_terms([NarrowCondition::Channel(*channel_id)]));
            let unread = ports.messages.unread_messages(&selection, READ_AT_ONCE).await?;
            if unread.count() > 0 {
                found.push(UnreadInLeftChannel { user_id: user.id, messages: unread.message_ids() });
            }
        }
    }
    Ok(found)
}

/// Stores that the unread messages of channels which users have left are read, and notifies their clients, retrying
/// when the realm changed. It runs after the users left and decides nothing: the messages count as read already. A
/// concurrent change of the realm makes the write stale, so it is tried again.
pub async fn mark_left_channels_read(ports: &MessageWorkflowContext<'_>, left: Vec<UnreadInLeftChannel>) {
    for UnreadInLeftChannel { user_id, messages } in left {
        if let Err(error) = mark_left_by(ports, user_id, &messages).await {
            tracing::warn!(%error, user_id = user_id.0, "messages of a left channel were not reported as read");
        }
    }
}

async fn mark_left_by(
    ports: &MessageWorkflowContext<'_>,
    user_id: UserId,
    ids: &[MessageId],
) -> Result<(), MessageWorkflowError> {
    for _ in 0..MAX_DECISION_ATTEMPTS {
        let decided = DecidedAt { realm: ports.snapshot().changed_at(), log: ports.log.last_event_id() };
        let flagged = MessageFlagsUpdate::without_locations(FlagChange::MARK_READ, ids.to_vec());
        if write(ports, user_id, flagged, decided).await?.is_some() {
            return Ok(());
        }
    }
    Err(StaleDecisionError("a message").into())
}

/// A narrow of unread messages.
fn unread_terms(conditions: impl IntoIterator<Item = NarrowCondition>) -> Vec<NarrowTerm> {
    let conditions = conditions.into_iter().chain([NarrowCondition::IsUnread]);
    conditions.map(|condition| NarrowTerm { condition, negated: false }).collect()
}
