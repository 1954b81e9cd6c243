//! The event of a sent message, and a message as the wire shows it.

use serde::{Deserialize, Serialize};

use super::QueueFilter;
use crate::id::{EventId, UserId};
use crate::model::message::{Message, MessageFlag};
use crate::wire_format::message::MessageWithContext;
use crate::wire_format::{DisplayRecipient, MessageFormat, MessageSender, TopicLinkObject};

/// The event of a new message, with the sender's and recipients' data at the time of sending.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewMessageEvent {
    /// The message. Its number, its revision and the number of a new set of users are given when it is written.
    pub message: Message,
    /// Who sent it.
    pub sender: MessageSender,
    /// Where it went, in words.
    pub display_recipient: DisplayRecipient,
    /// Links in its topic.
    pub topic_links: Vec<TopicLinkObject>,
    /// Receivers for whom a flag is set, in the order of the users' numbers. Whoever is not named has none.
    pub flags: Vec<(UserId, MessageFlag)>,
    /// Receivers whose flag `stream_wildcard_mentioned` is set without being named: all who received it.
    pub wildcard: bool,
    /// What the sender's own queue gets back.
    pub local: Option<LocalEchoId>,
}

/// The identifier that a client gave a message which it sent, for local echo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalEchoId {
    /// The queue that is told.
    pub queue_id: String,
    /// The client's own name of the message.
    pub local_id: String,
}

impl MessageFormat {
    /// Returns the format that an event queue requests.
    #[must_use]
    pub fn for_queue(filter: &QueueFilter) -> Self {
        Self { html: filter.apply_markdown, client_gravatar: filter.client_gravatar }
    }
}

impl NewMessageEvent {
    /// Returns the message object of the wire as JSON, without flags.
    #[must_use]
    pub fn to_wire_json(&self, form: MessageFormat) -> String {
        let mut object = Vec::with_capacity(1_024 + self.message.html.len());
        let Self { message, sender, display_recipient, topic_links, .. } = self;
        MessageWithContext { message, sender, display_recipient, topic_links, realm: None }
            .write_object(form, &mut object);
        String::from_utf8(object).unwrap_or_default()
    }

    /// Returns the event without its receiver's part and its end.
    pub(super) fn open_object(&self, id: EventId, form: MessageFormat) -> String {
        format!("{{\"id\":{id},\"type\":\"message\",\"message\":{}", self.to_wire_json(form))
    }

    /// Returns the flags the message had for a receiver when it was sent.
    #[must_use]
    pub fn flags_for_receiver(&self, user_id: UserId) -> Vec<MessageFlag> {
        let own = self.flags.iter().filter(|(user, _)| *user == user_id).map(|(_, flag)| *flag);
        let wildcard = self.wildcard.then_some(MessageFlag::StreamWildcardMentioned);
        let read = (self.message.content_flags.read_by_sender && self.message.sender_id == user_id)
            .then_some(MessageFlag::Read);
        let mut flags: Vec<MessageFlag> = own.chain(wildcard).chain(read).collect();
        flags.sort_unstable();
        flags.dedup();
        flags
    }
}
