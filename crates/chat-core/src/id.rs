//! Numbers of the things the chat is made of, one type for each so that they cannot be mixed up.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }
    };
}

id! {
    /// A user, person or bot.
    UserId
}
id! {
    /// A user group.
    UserGroupId
}
id! {
    /// A channel (`stream` in the older words of the wire).
    ChannelId
}
id! {
    /// A set of users that write to each other. Its number is that of its first message.
    DirectConversationId
}
id! {
    /// A place in the realm's log. Places are given in the order of commits, from 1, with gaps.
    EventId
}
id! {
    /// A message that waits for its time. Its number is the place in the log at which it was scheduled, so it is never
    /// that of a message.
    ScheduledMessageId
}
id! {
    /// A reminder. Its number is the place in the log at which it was stored.
    ReminderId
}
id! {
    /// A saved snippet. Its number is unique among those of its user.
    SnippetId
}
id! {
    /// A draft. Its number is the place in the log at which it was stored.
    DraftId
}
id! {
    /// A message. Its number is the place in the log of the event that announced it, so that messages, changes of
    /// subscriptions and events lie on one line and "before" means one thing.
    MessageId
}

id! {
    /// An uploaded file. Its number is the place in the log of the event that announced it.
    AttachmentId
}

impl Default for EventId {
    fn default() -> Self {
        Self::BEFORE_FIRST
    }
}

impl EventId {
    /// The position before the first event of the log.
    pub const BEFORE_FIRST: Self = Self(0);
}

impl From<EventId> for MessageId {
    fn from(event: EventId) -> Self {
        Self(event.0)
    }
}

impl From<MessageId> for EventId {
    fn from(message: MessageId) -> Self {
        Self(message.0)
    }
}
