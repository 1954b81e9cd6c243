//! What a queue wants of what its owner may have.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{EventAudience, EventBody, LogRecord, NewMessageEvent, QueueCondition};
use crate::id::EventId;
use crate::model::message::{MessageFlag, RESOLVED_TOPIC_PREFIX, Recipient};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::{User, fold_case};

/// The filter of an event queue: event types, narrow and capabilities of its client.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueFilter {
    /// The types it wants; `None` for all.
    pub event_types: Option<BTreeSet<String>>,
    /// Whether it wants messages of all public channels.
    pub all_public: bool,
    /// Which messages it wants; all terms hold. With terms it gets public channels' messages too.
    pub narrow: Vec<QueueNarrowTerm>,
    /// HTML, or else what was typed.
    pub apply_markdown: bool,
    /// Whether the client works out pictures by itself.
    pub client_gravatar: bool,
    /// What the client said it understands.
    pub capabilities: BTreeSet<ClientCapability>,
}

/// A capability that a client declared and that selects between forms of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientCapability {
    /// A notification setting may be `null`.
    NotificationSettingsNull,
    /// One event says that many messages are gone.
    BulkMessageDeletion,
    /// A user may come without `avatar_url`.
    UserAvatarUrlFieldOptional,
    /// Typing in channels is told.
    StreamTypingNotifications,
    /// Settings are told as `user_settings`.
    UserSettingsObject,
    /// Linkifiers are told with URL templates.
    LinkifierUrlTemplate,
    /// The list of users may have gaps.
    UserListIncomplete,
    /// Deactivated groups are told.
    IncludeDeactivatedGroups,
    /// Archived channels are reported, and archiving is a change of a channel.
    ArchivedChannels,
    /// Presence is reported as two times of each user.
    SimplifiedPresenceEvents,
    /// Asked for at registration: presence without addresses.
    SlimPresence,
    /// Asked for at registration: subscriptions with their subscribers.
    IncludeSubscribers,
    /// Follows from the types: `user_topic` is wanted by name.
    UserTopic,
    /// Follows from the program: it cannot show a channel without `email_address`.
    ChannelEmailAddress,
}

/// A term of an event queue's narrow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueNarrowTerm {
    /// In the channel of that folded name.
    Channel(String),
    /// Under the topic of that key.
    Topic(String),
    /// From the user of that folded address.
    Sender(String),
    /// To a set of users.
    IsDirect,
    /// With the flag.
    IsFlag(MessageFlag),
    /// Not read.
    IsUnread,
    /// Mentions the receiver in any way.
    IsMentioned,
    /// The topic says that it is resolved.
    IsResolved,
    /// Muted by the receiver. A queue leaves that to its client, and gets every message.
    IsMuted,
}

/// The operator is not supported in an event queue's narrow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Operator {0} not supported.")]
pub struct UnsupportedNarrowOperator(pub String);

impl QueueNarrowTerm {
    /// Parses a pair of operator and operand.
    ///
    /// # Errors
    /// When there is no such operator here, or `is` has an operand unknown here.
    pub fn parse(operator: &str, operand: &str) -> Result<Self, UnsupportedNarrowOperator> {
        Ok(match (operator, operand) {
            ("channel" | "stream", name) => Self::Channel(fold_case(name)),
            ("topic", topic) => Self::Topic(fold_case(topic)),
            ("sender", email) => Self::Sender(fold_case(email)),
            ("is", "dm" | "private") => Self::IsDirect,
            ("is", "starred") => Self::IsFlag(MessageFlag::Starred),
            ("is", "unread") => Self::IsUnread,
            ("is", "mentioned") => Self::IsMentioned,
            ("is", "alerted") => Self::IsFlag(MessageFlag::HasAlertWord),
            ("is", "resolved") => Self::IsResolved,
            ("is", "muted") => Self::IsMuted,
            _ => return Err(UnsupportedNarrowOperator(operator.to_owned())),
        })
    }

    fn holds(&self, message: &NewMessageEvent, flags: &[MessageFlag], realm: &RealmSnapshot) -> bool {
        match self {
            Self::Channel(name) => match message.message.recipient {
                Recipient::Channel(id) => realm.channel(id).is_some_and(|channel| fold_case(&channel.name) == *name),
                Recipient::Direct(_) => false,
            },
            Self::Topic(key) => {
                matches!(message.message.recipient, Recipient::Channel(_)) && fold_case(&message.message.topic) == *key
            }
            Self::Sender(email) => fold_case(&message.sender.email) == *email,
            Self::IsDirect => matches!(message.message.recipient, Recipient::Direct(_)),
            Self::IsFlag(flag) => flags.contains(flag),
            Self::IsUnread => !flags.contains(&MessageFlag::Read),
            Self::IsMentioned => flags.iter().any(|flag| flag.is_mention()),
            Self::IsMuted => true,
            Self::IsResolved => message.message.topic.starts_with(RESOLVED_TOPIC_PREFIX),
        }
    }
}

impl QueueFilter {
    /// Returns whether the user's queue receives the event. Does no I/O. Costs no I/O.
    #[must_use]
    pub fn accepts_event(&self, record: &LogRecord, user: &User, realm: &RealmSnapshot) -> bool {
        let Some(event) = &record.event else { return false };
        let passes = match event.gate {
            QueueCondition::Any => true,
            QueueCondition::With(capability) => self.capabilities.contains(&capability),
            QueueCondition::Without(capability) => !self.capabilities.contains(&capability),
            QueueCondition::Both(wanted) => self.meets(&wanted),
            QueueCondition::Three(wanted) => self.meets(&wanted),
            QueueCondition::Four(wanted) => self.meets(&wanted),
        };
        passes
            && self.event_types.as_ref().is_none_or(|types| types.contains(record.event_type()))
            && match &event.body {
                EventBody::Message(message) => self.accepts_message(record.id, &event.audience, message, (user, realm)),
                EventBody::Plain { .. } | EventBody::Edit { .. } | EventBody::Flagged(_) => {
                    event.audience.includes_user(record.id, user, realm)
                }
            }
    }

    /// Returns whether the client has each of the capabilities, or has it not, as said.
    fn meets(&self, wanted: &[(ClientCapability, bool)]) -> bool {
        wanted.iter().all(|(capability, has)| self.capabilities.contains(capability) == *has)
    }

    /// Returns whether the queue gets messages of public channels its owner is not in.
    #[must_use]
    pub fn receives_all_public_channels(&self) -> bool {
        self.all_public || !self.narrow.is_empty()
    }

    fn accepts_message(
        &self,
        at: EventId,
        audience: &EventAudience,
        message: &NewMessageEvent,
        (user, realm): (&User, &RealmSnapshot),
    ) -> bool {
        let public = matches!(audience, EventAudience::Subscribers { public: true, .. });
        let receives_public = public && self.receives_all_public_channels() && !user.is_guest();
        if !receives_public && !audience.includes_user(at, user, realm) {
            return false;
        }
        self.narrow.is_empty() || {
            let flags = message.flags_for_receiver(user.id);
            self.narrow.iter().all(|term| term.holds(message, &flags, realm))
        }
    }
}
