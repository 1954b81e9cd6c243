//! Who receives an event: users, and the queues of theirs that meet a condition.

use serde::{Deserialize, Serialize};

use super::filter::ClientCapability;
use crate::id::{ChannelId, EventId, MessageId, UserId};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access;

/// The users who receive an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventAudience {
    /// All users.
    Everyone,
    /// All users but guests.
    Members,
    /// Administrators and owners.
    Administrators,
    /// These users, in the order of their numbers.
    Users(Vec<UserId>),
    /// Who was in the channel when it happened.
    Subscribers {
        /// The channel.
        channel_id: ChannelId,
        /// Whether queues that ask for all public channels get it too: the channel was public then.
        public: bool,
    },
    /// Users who may know the channel, archived or not, but for some.
    ChannelWatchers {
        /// The channel.
        channel_id: ChannelId,
        /// Those who hear of it in another way.
        except: Vec<UserId>,
    },
    /// Who may read this message of the channel.
    MessageReaders {
        /// The channel.
        channel_id: ChannelId,
        /// The message.
        message_id: MessageId,
        /// Whether it came from another channel.
        #[serde(default)]
        moved_in: bool,
    },
    /// Who may read one of these messages of the channel.
    AnyReaders {
        /// The channel.
        channel_id: ChannelId,
        /// The messages.
        messages: Vec<MessageId>,
        /// Whether they came from another channel.
        #[serde(default)]
        moved_in: bool,
    },
    /// Users who could read one of these messages where they were, and can read none of them where they are now. Stored
    /// events have it under another name.
    #[serde(rename = "bereft")]
    LostAccess {
        /// Where they were.
        from: ChannelId,
        /// Where they are.
        to: ChannelId,
        /// The messages.
        messages: Vec<MessageId>,
    },
}

impl EventAudience {
    /// Returns the audience of these users, each once.
    pub fn from_users(users: impl IntoIterator<Item = UserId>) -> Self {
        let mut users: Vec<_> = users.into_iter().collect();
        users.sort_unstable();
        users.dedup();
        Self::Users(users)
    }

    /// Returns whether the audience includes the user. `at` is the log position of the event.
    #[must_use]
    pub fn includes_user(&self, at: EventId, user: &User, realm: &RealmSnapshot) -> bool {
        match self {
            Self::Everyone => true,
            Self::Members => !user.is_guest(),
            Self::Administrators => user.is_administrator(),
            Self::Users(users) => users.binary_search(&user.id).is_ok(),
            Self::Subscribers { channel_id, .. } => {
                realm.membership(*channel_id, user.id).is_some_and(|membership| membership.was_subscribed_at(at.into()))
            }
            Self::ChannelWatchers { channel_id, except } => {
                !except.contains(&user.id)
                    && realm
                        .channel(*channel_id)
                        .is_some_and(|channel| access::may_know_channel_name(realm, user, channel))
            }
            Self::MessageReaders { channel_id, message_id, moved_in } => {
                reads_any(realm, user, *channel_id, (&[*message_id], *moved_in))
            }
            Self::AnyReaders { channel_id, messages, moved_in } => {
                reads_any(realm, user, *channel_id, (messages, *moved_in))
            }
            Self::LostAccess { from, to, messages } => {
                reads_any(realm, user, *from, (messages, false)) && !reads_any(realm, user, *to, (messages, true))
            }
        }
    }
}

fn reads_any(
    realm: &RealmSnapshot,
    user: &User,
    channel_id: ChannelId,
    (messages, moved_in): (&[MessageId], bool),
) -> bool {
    realm.channel(channel_id).is_some_and(|channel| {
        let history = access::readable_history(realm, user, channel);
        let shows =
            |id: MessageId| if moved_in { history.includes_moved_message(id) } else { history.includes_message(id) };
        messages.iter().any(|message| shows(*message))
    })
}

/// The condition that a queue of a receiver must meet to get an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueCondition {
    /// All.
    #[default]
    Any,
    /// Those with the capability.
    With(ClientCapability),
    /// Those without.
    Without(ClientCapability),
    /// Those that have each of the two, or have it not, as said.
    Both([(ClientCapability, bool); 2]),
    /// Those that have each of the three, or have it not, as said.
    Three([(ClientCapability, bool); 3]),
    /// Those that have each of the four, or have it not, as said.
    Four([(ClientCapability, bool); 4]),
}
