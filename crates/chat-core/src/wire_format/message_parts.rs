//! What a message object says of its sender and recipient, and the forms that it has.

use serde::{Deserialize, Serialize};

use crate::id::UserId;

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

/// A user in the [`DisplayRecipient`] of a direct message.
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

/// A link in a topic, as in the wire's `topic_links`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicLinkObject {
    /// The words.
    pub text: String,
    /// Where they lead.
    pub url: String,
}

/// The format of a message object: raw or rendered content, and whether avatar URLs are computed by the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageFormat {
    /// HTML, or else what was typed.
    pub html: bool,
    /// Whether the client works out pictures by itself.
    pub client_gravatar: bool,
}

impl MessageFormat {
    /// How many there are.
    pub(crate) const COUNT: usize = 4;
    /// The form of events that have one.
    pub(crate) const ANY: Self = Self { html: false, client_gravatar: false };

    pub(crate) fn place(self) -> usize {
        usize::from(self.html) | usize::from(self.client_gravatar) << 1
    }
}
