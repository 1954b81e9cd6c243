//! Setting flags, and taking them away: on messages by their numbers, and on all that a user has not read.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::StoreError;
use crate::id::{ChannelId, EventId, MessageId, UserId};
use crate::log::decision::{DECISIONS_MAX, StaleDecisionError};
use crate::log::event::FlaggedMessages;
use crate::messages::narrow::{MessageSelection, NarrowCondition, NarrowTerm};
use crate::messages::ports::{MessagePorts, WorkflowError};
use crate::messages::store::{FlagWriteGuard, WriteOutcome};
use crate::model::flag_change::{FlagChange, FlagOp};
use crate::model::message::{Conversation, Flag, Recipient, topic_key};
use crate::model::user::User;
use crate::permission::access::{self, MessageNotFound, TopicNotFound, reads_copy};

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
pub struct UnreadWhereLeft {
    user_id: UserId,
    messages: Vec<MessageId>,
}

/// Updates a flag of messages: sets a flag that keeps a message for the user (`starred`, `collapsed`) on all of the
/// messages or on none.
///
/// # Source
/// Not specified; as existing clients know it: the refusal is the same for a message that is not there and for one the
/// user may not read. What becomes read, or loses a flag, may have gone in the meantime, and is passed over.
///
/// # Errors
/// When one of the messages is not there for the user, or the server failed.
pub async fn update(
    ports: &MessagePorts<'_>,
    caller: &Arc<User>,
    change: FlagChange,
    mut ids: Vec<MessageId>,
) -> Result<(), WorkflowError> {
    ids.sort_unstable();
    ids.dedup();
    let keeps = change.op == FlagOp::Add && change.flag != Flag::Read;
    if keeps && readable(ports, caller, &ids).await?.len() < ids.len() {
        return Err(MessageNotFound.into());
    }
    update_readable(ports, caller, change, &ids).await.map(drop)
}

/// Returns those of the messages, in the order of their numbers, that are there and that the user may read.
///
/// # Errors
/// When the database failed.
pub async fn readable(ports: &MessagePorts<'_>, user: &User, ids: &[MessageId]) -> Result<Vec<MessageId>, StoreError> {
    let mut found = Vec::new();
    for some in ids.chunks(STEP) {
        let copies = ports.messages.copies(user.id, some, Flag::Starred).await?;
        let realm = ports.realm();
        let user = realm.user(user.id).map_or(user, AsRef::as_ref);
        found.extend(copies.iter().filter(|copy| reads_copy(&realm, user, copy)).map(|copy| copy.id));
    }
    Ok(found)
}

/// Returns the channels, in the order of their numbers, whose messages among these stay read although the user wants
/// them to be unread, because the user is not in the channel.
///
/// # Errors
/// When the database failed.
pub async fn channels_kept_read(
    ports: &MessagePorts<'_>,
    user: &User,
    change: FlagChange,
    ids: &[MessageId],
) -> Result<Vec<ChannelId>, StoreError> {
    let mut channels = BTreeSet::new();
    if (change.flag, change.op) != (Flag::Read, FlagOp::Remove) {
        return Ok(Vec::new());
    }
    for some in ids.chunks(STEP) {
        let copies = ports.messages.copies(user.id, some, Flag::Read).await?;
        let realm = ports.realm();
        let kept = copies.iter().filter_map(|copy| match copy.recipient {
            Recipient::Channel(id) if realm.subscription(id, user.id).is_none() => {
                reads_copy(&realm, user, copy).then_some(id)
            }
            _ => None,
        });
        channels.extend(kept);
    }
    Ok(channels.into_iter().collect())
}

/// Updates a flag of those messages whose copy it changes; returns how many. Where it changes none, nothing is written
/// and no client is notified.
///
/// # Errors
/// When the database failed or the messages changed each time.
pub async fn update_readable(
    ports: &MessagePorts<'_>,
    caller: &Arc<User>,
    change: FlagChange,
    ids: &[MessageId],
) -> Result<usize, WorkflowError> {
    for _ in 0..DECISIONS_MAX {
        let log = ports.log.head();
        // The oldest realm that a part of the messages was judged in.
        let mut decided_at = None;
        let mut flagged = FlaggedMessages { mark: change, places: Vec::new() };
        for some in ids.chunks(STEP) {
            let copies = ports.messages.copies(caller.id, some, change.flag).await?;
            let realm = ports.realm();
            decided_at.get_or_insert(realm.changed());
            let user = realm.user(caller.id).unwrap_or(caller);
            flagged.places.extend(change.set(&realm, user, &copies).places);
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
    ports: &MessagePorts<'_>,
    user_id: UserId,
    flagged: FlaggedMessages,
    decided: DecidedAt,
) -> Result<Option<usize>, StoreError> {
    let (FlagChange { flag, op }, messages) = (flagged.mark, flagged.messages());
    let count = messages.len();
    if count == 0 {
        return Ok(Some(0));
    }
    let decided = FlagWriteGuard { realm: decided.realm, log: decided.log, messages };
    let event = (ports.now_s, flagged.event_for(user_id));
    let written = ports.messages.set_flag(user_id, (flag, op), &decided, event).await?;
    Ok((written != WriteOutcome::Unchanged).then_some(count))
}

/// Marks as read everything for which the conditions hold. Returns whether nothing is left.
///
/// # Errors
/// When the database failed.
pub async fn mark_read(
    ports: &MessagePorts<'_>,
    caller: &User,
    conditions: Vec<NarrowCondition>,
) -> Result<bool, StoreError> {
    let terms = unread_terms(conditions);
    for _ in 0..READS_MAX {
        let (log, realm) = (ports.log.head(), ports.realm());
        let selection = MessageSelection::new(&realm, caller, terms.clone());
        let unread = ports.messages.unread(&selection, READ_AT_ONCE).await?;
        let flagged = FlaggedMessages::anywhere(FlagChange::READ, unread.ids());
        let written = write(ports, caller.id, flagged, DecidedAt { realm: realm.changed(), log }).await?;
        if written.is_some_and(|count| count < READ_AT_ONCE) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Marks as read everything in a channel, or in one topic of it.
///
/// # Source
/// Not specified: a topic of which the user received nothing is refused, as existing clients know it.
///
/// # Errors
/// When the channel or the topic is not there for the user, or the database failed.
pub async fn mark_channel_read(
    ports: &MessagePorts<'_>,
    caller: &User,
    channel_id: ChannelId,
    topic: Option<&str>,
) -> Result<(), WorkflowError> {
    access::channel(&ports.realm(), caller, channel_id)?;
    let mut conditions = vec![NarrowCondition::Channel(channel_id)];
    if let Some(name) = topic {
        let topic = Conversation { recipient: Recipient::Channel(channel_id), topic_key: topic_key(name) };
        let all = ports.messages.conversation(&topic, MessageId(0)).await?;
        let realm = ports.realm();
        let membership = realm.membership(channel_id, caller.id);
        if !membership.is_some_and(|membership| all.iter().any(|(id, _)| membership.received(*id))) {
            return Err(TopicNotFound(name.to_owned()).into());
        }
        conditions.push(NarrowCondition::Topic(topic.topic_key));
    }
    mark_read(ports, caller, conditions).await?;
    Ok(())
}

/// Returns what users have not read in channels that they are about to leave: it counts as read from then on, and their
/// clients are notified by [`mark_left`]. Where more users leave at once than [`LEAVERS_MAX`], nothing is looked up:
/// clients give up what is unread in a channel when they hear that it was left.
///
/// # Errors
/// When the database failed.
pub async fn unread_where_left(
    ports: &MessagePorts<'_>,
    users: &[UserId],
    channels: &[ChannelId],
) -> Result<Vec<UnreadWhereLeft>, StoreError> {
    if users.len().saturating_mul(channels.len()) > LEAVERS_MAX {
        return Ok(Vec::new());
    }
    let realm = ports.realm();
    let mut found = Vec::new();
    for user in users.iter().filter_map(|id| realm.user(*id)) {
        for channel_id in channels.iter().filter(|id| realm.subscription(**id, user.id).is_some()) {
            let selection = MessageSelection::new(&realm, user, unread_terms([NarrowCondition::Channel(*channel_id)]));
            let unread = ports.messages.unread(&selection, READ_AT_ONCE).await?;
            if unread.count() > 0 {
                found.push(UnreadWhereLeft { user_id: user.id, messages: unread.ids() });
            }
        }
    }
    Ok(found)
}

/// Stores that the unread messages of channels which users have left are read, and reports it to their clients. It runs
/// after the users left and decides nothing: the messages count as read already. A concurrent change of the realm makes
/// the write stale, so it is tried again.
pub async fn mark_left(ports: &MessagePorts<'_>, left: Vec<UnreadWhereLeft>) {
    for UnreadWhereLeft { user_id, messages } in left {
        if let Err(error) = mark_left_by(ports, user_id, &messages).await {
            tracing::warn!(%error, user_id = user_id.0, "messages of a left channel were not reported as read");
        }
    }
}

async fn mark_left_by(ports: &MessagePorts<'_>, user_id: UserId, ids: &[MessageId]) -> Result<(), WorkflowError> {
    for _ in 0..DECISIONS_MAX {
        let decided = DecidedAt { realm: ports.realm().changed(), log: ports.log.head() };
        let flagged = FlaggedMessages::anywhere(FlagChange::READ, ids.to_vec());
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
