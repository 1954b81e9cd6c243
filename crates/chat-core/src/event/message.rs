//! The event of a sent message, and a message as the wire shows it.

use serde::{Deserialize, Serialize};

use super::QueueFilter;
use crate::id::{EventId, UserId};
use crate::message::{Flag, Message};
use crate::object::message::MessageContext;

/// The event of a new message, with the sender's and recipients' data at the time of sending.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MessageEvent {
    /// The message. Its number, its revision and the number of a new set of users are given when it is written.
    pub message: Message,
    /// Who sent it.
    pub sender: MessageSender,
    /// Where it went, in words.
    pub display_recipient: DisplayRecipient,
    /// Links in its topic.
    pub topic_links: Vec<TopicLinkText>,
    /// Receivers for whom a flag is set, in the order of the users' numbers. Whoever is not named has none.
    pub flags: Vec<(UserId, Flag)>,
    /// Receivers whose flag `stream_wildcard_mentioned` is set without being named: all who received it.
    pub wildcard: bool,
    /// What the sender's own queue gets back.
    pub local: Option<LocalEcho>,
}

/// The sender's fields in a message object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageSender {
    /// Their address.
    pub email: String,
    /// Their name.
    pub full_name: String,
    /// Their picture.
    pub avatar_url: String,
    /// Whether a client can work out the picture from the address by itself.
    pub has_gravatar: bool,
}

/// The `display_recipient` of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DisplayRecipient {
    /// The channel's name.
    Channel(String),
    /// All users of the conversation, in the order of their numbers.
    Users(Vec<DisplayUser>),
}

/// A user in [`DisplayRecipient`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisplayUser {
    /// Their number.
    pub id: UserId,
    /// Their address.
    pub email: String,
    /// Their name.
    pub full_name: String,
    /// Kept for existing clients; always false.
    pub is_mirror_dummy: bool,
}

/// A link in a topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicLinkText {
    /// The words.
    pub text: String,
    /// Where they lead.
    pub url: String,
}

/// The identifier that a client gave a message which it sent, for local echo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalEcho {
    /// The queue that is told.
    pub queue_id: String,
    /// The client's own name of the message.
    pub local_id: String,
}

/// The form of a message object: raw or rendered content, avatar form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageFormat {
    /// HTML, or else what was typed.
    pub html: bool,
    /// Whether the client works out pictures by itself.
    pub client_gravatar: bool,
}

impl MessageFormat {
    /// How many there are.
    pub(super) const COUNT: usize = 4;
    /// The form of events that have one.
    pub(super) const ANY: Self = Self { html: false, client_gravatar: false };

    /// Returns the form a queue asks for.
    #[must_use]
    pub fn of(filter: &QueueFilter) -> Self {
        Self { html: filter.apply_markdown, client_gravatar: filter.client_gravatar }
    }

    pub(super) fn place(self) -> usize {
        usize::from(self.html) | usize::from(self.client_gravatar) << 1
    }
}

impl MessageEvent {
    /// Returns the message object of the wire, without flags.
    #[must_use]
    pub fn object(&self, form: MessageFormat) -> String {
        let mut object = Vec::with_capacity(1_024 + self.message.html.len());
        let Self { message, sender, display_recipient, topic_links, .. } = self;
        MessageContext { message, sender, display_recipient, topic_links, realm: None }.write(form, &mut object);
        String::from_utf8(object).unwrap_or_default()
    }

    /// Returns the event without its receiver's part and its end.
    pub(super) fn open_object(&self, id: EventId, form: MessageFormat) -> String {
        format!("{{\"id\":{id},\"type\":\"message\",\"message\":{}", self.object(form))
    }

    /// Returns the flags the message had for a receiver when it was sent.
    #[must_use]
    pub fn flags_of(&self, user_id: UserId) -> Vec<Flag> {
        let own = self.flags.iter().filter(|(user, _)| *user == user_id).map(|(_, flag)| *flag);
        let wildcard = self.wildcard.then_some(Flag::StreamWildcardMentioned);
        let read = (self.message.marks.read_by_sender && self.message.sender_id == user_id).then_some(Flag::Read);
        let mut flags: Vec<Flag> = own.chain(wildcard).chain(read).collect();
        flags.sort_unstable();
        flags.dedup();
        flags
    }
}
