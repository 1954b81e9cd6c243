//! The events of changes to sent messages. Edits have theirs in [`crate::messages::edit::apply`].

use serde_json::{Value, json};

use super::{ClientCapability, EventAudience, NewEvent, QueueCondition};
use crate::id::{ChannelId, MessageId};
use crate::model::channel::Channel;
use crate::model::flag_change::FlagOp;
use crate::model::message::{Message, Reaction, Recipient};
use crate::model::user::User;
use crate::wire::add;

/// Returns who may read the message.
#[must_use]
pub fn readers(message: &Message) -> EventAudience {
    match message.recipient {
        Recipient::Channel(channel_id) => EventAudience::MessageReaders {
            channel_id,
            message_id: message.id,
            moved_in: message.content_flags.moved_in,
        },
        Recipient::Direct(_) => EventAudience::users(message.direct_users.iter().copied()),
    }
}

/// Messages of one conversation are gone. `message` is one of them; `ids` are all, the oldest first.
///
/// Clients that do not understand many at once receive an event for each.
#[must_use]
pub fn deleted(message: &Message, ids: &[MessageId]) -> Vec<NewEvent> {
    let audience = match message.recipient {
        Recipient::Channel(channel_id) if ids.len() > 1 => {
            EventAudience::AnyReaders { channel_id, messages: ids.to_vec(), moved_in: message.content_flags.moved_in }
        }
        _ => readers(message),
    };
    gone(&audience, message, ids)
}

/// Messages of one topic moved to where not all who could read them can read them: to those they are gone.
#[must_use]
pub fn lost(message: &Message, ids: &[MessageId], (from, to): (ChannelId, ChannelId)) -> Vec<NewEvent> {
    gone(&EventAudience::LostAccess { from, to, messages: ids.to_vec() }, message, ids)
}

/// The channel begins with another message than before, or with none any more.
///
/// # Source
/// Not specified; existing clients know the event from deleted messages.
#[must_use]
pub fn begins(channel: &Channel, first: Option<MessageId>) -> NewEvent {
    let event = json!({
        "type": "stream", "op": "update", "stream_id": channel.id, "name": channel.name,
        "property": "first_message_id", "value": first,
    });
    NewEvent::plain(EventAudience::ChannelWatchers { channel_id: channel.id, except: Vec::new() }, event)
}

fn gone(audience: &EventAudience, message: &Message, ids: &[MessageId]) -> Vec<NewEvent> {
    let with_place = |mut event: Value| {
        match message.recipient {
            Recipient::Channel(channel_id) => {
                add(&mut event, json!({"message_type": "stream", "stream_id": channel_id, "topic": message.topic}));
            }
            Recipient::Direct(_) => add(&mut event, json!({"message_type": "private"})),
        }
        NewEvent::plain(audience.clone(), event)
    };
    let each = ids.iter().map(|id| {
        with_place(json!({"type": "delete_message", "message_id": id}))
            .gated(QueueCondition::Without(ClientCapability::BulkMessageDeletion))
    });
    let all = with_place(json!({"type": "delete_message", "message_ids": ids}))
        .gated(QueueCondition::With(ClientCapability::BulkMessageDeletion));
    std::iter::once(all).chain(each).collect()
}

/// A user put an emoji on a message, or took it away.
#[must_use]
pub fn reacted(user: &User, message: &Message, reaction: &Reaction, op: FlagOp) -> NewEvent {
    let event = json!({
        "type": "reaction",
        "op": op.name(),
        "message_id": message.id,
        "emoji_name": reaction.emoji_name,
        "emoji_code": reaction.emoji_code,
        "reaction_type": reaction.reaction_type.name(),
        "user_id": user.id,
        "user": {"user_id": user.id, "email": user.shown_email(), "full_name": user.full_name, "is_mirror_dummy": false},
    });
    NewEvent::plain(readers(message), event)
}
