//! The events of changes to sent messages. Edits have theirs in [`crate::messages::edit::apply`].

use serde_json::{Value, json};

use super::{ClientCapability, EventAudience, NewEvent, QueueCondition};
use crate::id::{ChannelId, MessageId};
use crate::model::channel::Channel;
use crate::model::flag_change::FlagOp;
use crate::model::message::{Message, Reaction, Recipient};
use crate::model::user::User;
use crate::wire_format::add;

/// Returns the users who may read the message, as an audience.
#[must_use]
pub fn message_audience(message: &Message) -> EventAudience {
    match message.recipient {
        Recipient::Channel(channel_id) => EventAudience::MessageReaders {
            channel_id,
            message_id: message.id,
            moved_in: message.content_flags.moved_in,
        },
        Recipient::Direct(_) => EventAudience::from_users(message.direct_users.iter().copied()),
    }
}

/// Returns the events that report deleted messages of one conversation. `message` is one of them; `ids` are all of
/// them, the oldest first.
///
/// Clients that do not understand many at once receive an event for each.
#[must_use]
pub fn delete_message_events(message: &Message, ids: &[MessageId]) -> Vec<NewEvent> {
    let audience = match message.recipient {
        Recipient::Channel(channel_id) if ids.len() > 1 => {
            EventAudience::AnyReaders { channel_id, messages: ids.to_vec(), moved_in: message.content_flags.moved_in }
        }
        _ => message_audience(message),
    };
    gone(&audience, message, ids)
}

/// Returns the events that report messages of one topic as deleted to the users who lost access to them by a move.
#[must_use]
pub fn lost_access_delete_events(
    message: &Message,
    ids: &[MessageId],
    (from, to): (ChannelId, ChannelId),
) -> Vec<NewEvent> {
    gone(&EventAudience::LostAccess { from, to, messages: ids.to_vec() }, message, ids)
}

/// Returns the event that reports that a channel has a new first message, or none any more.
///
/// # Source
/// Not specified; existing clients know the event from deleted messages.
#[must_use]
pub fn first_message_changed_event(channel: &Channel, first: Option<MessageId>) -> NewEvent {
    let event = json!({
        "type": "stream", "op": "update", "stream_id": channel.id, "name": channel.name,
        "property": "first_message_id", "value": first,
    });
    NewEvent::same_for_everyone(EventAudience::ChannelWatchers { channel_id: channel.id, except: Vec::new() }, event)
}

fn gone(audience: &EventAudience, message: &Message, ids: &[MessageId]) -> Vec<NewEvent> {
    let with_place = |mut event: Value| {
        match message.recipient {
            Recipient::Channel(channel_id) => {
                add(&mut event, json!({"message_type": "stream", "stream_id": channel_id, "topic": message.topic}));
            }
            Recipient::Direct(_) => add(&mut event, json!({"message_type": "private"})),
        }
        NewEvent::same_for_everyone(audience.clone(), event)
    };
    let each = ids.iter().map(|id| {
        with_place(json!({"type": "delete_message", "message_id": id}))
            .with_queue_condition(QueueCondition::Without(ClientCapability::BulkMessageDeletion))
    });
    let all = with_place(json!({"type": "delete_message", "message_ids": ids}))
        .with_queue_condition(QueueCondition::With(ClientCapability::BulkMessageDeletion));
    std::iter::once(all).chain(each).collect()
}

/// Returns the event that reports a user's reaction added to a message or removed from it.
#[must_use]
pub fn reaction_event(user: &User, message: &Message, reaction: &Reaction, op: FlagOp) -> NewEvent {
    let event = json!({
        "type": "reaction",
        "op": op.wire_name(),
        "message_id": message.id,
        "emoji_name": reaction.emoji_name,
        "emoji_code": reaction.emoji_code,
        "reaction_type": reaction.reaction_type.wire_name(),
        "user_id": user.id,
        "user": {"user_id": user.id, "email": user.public_email(), "full_name": user.full_name, "is_mirror_dummy": false},
    });
    NewEvent::same_for_everyone(message_audience(message), event)
}
