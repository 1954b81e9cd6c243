//! What can happen to a realm, as data: the one way its state changes, in the database and in every node's memory.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::channel::{Channel, Subscription};
use crate::event::NewEvent;
use crate::group::UserGroup;
use crate::id::{ChannelId, EventId, UserGroupId, UserId};
use crate::invitation::InvitationSecret;
use crate::mail::Letter;
use crate::newcomer::Newcomer;
use crate::realm::Realm;
use crate::snapshot::RealmSnapshot;
use crate::user::{ApiKey, KeyHash, PasswordHash, User};

/// One change of a realm's state. A change says what is, not what was done, so that it is applied by writing it
/// down; the spans of subscriptions alone take the place in the log at which it was committed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RealmChange {
    /// The realm is now this.
    Realm(Box<Realm>),
    /// The user is new, or is now this.
    User(Box<User>),
    /// The user is now recognised by this key and no other. The key itself is in [`RealmCommit::credentials`].
    Key {
        /// The user.
        user_id: UserId,
        /// What the key is recognised by.
        hash: KeyHash,
    },
    /// The channel is new, or is now this.
    Channel(Box<Channel>),
    /// The user is in the channel, with these choices. Begins a span unless one lasts.
    Subscription(Box<Subscription>),
    /// The user left the channel. Ends the span that lasts.
    Unsubscription {
        /// The channel.
        channel_id: ChannelId,
        /// The user.
        user_id: UserId,
    },
    /// The user received what the channel carried after that place too. Begins the span that lasts at that place.
    ReceivedSince {
        /// The channel.
        channel_id: ChannelId,
        /// The user.
        user_id: UserId,
        /// The place.
        after: EventId,
    },
    /// The group is new, or is now this.
    Group(Box<UserGroup>),
    /// The group is gone.
    GroupRemoved(UserGroupId),
    /// A small thing of the realm is now this, or gone with `None`.
    Item {
        /// Its kind.
        kind: ItemKind,
        /// Its number within the realm.
        id: i64,
        /// What it is.
        document: Option<Value>,
    },
    /// A small thing of a user is now this, or gone with `None`.
    UserItem {
        /// Whose it is.
        user_id: UserId,
        /// Its kind.
        kind: UserItemKind,
        /// Its name among those of its kind; empty where a user has one.
        key: String,
        /// What it is.
        document: Option<Value>,
    },
}

impl RealmChange {
    /// Returns whether messages that were written before may look different after it, because they show a name, a
    /// picture or a link of their topic.
    pub(crate) fn is_of_names(&self) -> bool {
        matches!(self, Self::User(_) | Self::Channel(_) | Self::Item { kind: ItemKind::Linkifier, .. })
    }

    /// Returns whether what someone may do to messages may be another after it. What people choose for themselves
    /// decides how they hear of a message, and that as it was when the message was on its way.
    pub(crate) fn is_of_rules(&self) -> bool {
        !matches!(self, Self::UserItem { .. })
    }

    /// Returns whether every text written after it is searched for other words.
    pub(crate) fn is_of_words(&self) -> bool {
        matches!(
            self,
            Self::Item { kind: ItemKind::Linkifier, .. } | Self::UserItem { kind: UserItemKind::AlertWords, .. }
        )
    }
}

macro_rules! kinds {
    ($(#[$doc:meta])* $name:ident { $($(#[$kind_doc:meta])* $kind:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$kind_doc])* #[serde(rename = $text)] $kind,)+
        }

        impl $name {
            /// Returns the kind's name in the database.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $text,)+
                }
            }

            /// Returns the kind of that name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($text => Some(Self::$kind),)+
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// Small things of a realm, always read as a whole and never searched: documents, kept in memory.
    ItemKind {
        /// A pattern that becomes a link.
        Linkifier = "linkifier",
        /// A place to run code.
        Playground = "playground",
        /// A question about users.
        ProfileField = "profile_field",
        /// A custom emoji.
        Emoji = "emoji",
        /// A channel new users are in; its number is the channel's.
        DefaultChannel = "default_channel",
        /// An invitation that was sent.
        Invitation = "invitation",
        /// A domain of mail that belongs to the realm.
        Domain = "domain",
        /// Settings new users begin with; there is one, 0.
        UserDefaults = "user_defaults",
    }
}

kinds! {
    /// Small things of a user, kept in memory like [`ItemKind`].
    UserItemKind {
        /// All preferences, one document.
        Settings = "settings",
        /// How the user follows a topic.
        TopicPolicy = "topic_policy",
        /// Another user they do not hear.
        MutedUser = "muted_user",
        /// Words that alert them, one document.
        AlertWords = "alert_words",
        /// What they are doing, one document.
        Status = "status",
        /// An answer to a profile field; its key is the field's number.
        ProfileValue = "profile_value",
        /// An address they would have and have not confirmed, one document.
        NewAddress = "new_address",
    }
}

/// Realm changes and events that are committed together.
#[derive(Debug, Clone, Default)]
pub struct RealmCommit {
    /// [`crate::snapshot::RealmSnapshot::changed`] of the state the decision was taken on. When the realm has
    /// changed since, nothing is written and the decision has to be taken again.
    pub decided_at: EventId,
    /// When, in unix seconds.
    pub at_s: i64,
    /// What changes, in order.
    pub changes: Vec<RealmChange>,
    /// Secrets that change with it. They reach neither log nor memory.
    pub credentials: Vec<CredentialChange>,
    /// Whose drafts go with it.
    pub drafts_gone: Vec<UserId>,
    /// Who hears what, in order.
    pub events: Vec<NewEvent>,
    /// A user whom it makes, and who is given recent messages of their channels; the store adds the changes to that.
    pub newcomer: Option<Newcomer>,
    /// Letters that are sent once it is true.
    pub mail: Vec<Letter>,
}

/// A new value of a stored secret: an API key, a password hash or an invitation link.
#[derive(Debug, Clone)]
pub enum CredentialChange {
    /// The API key; goes together with [`RealmChange::Key`].
    ApiKey(UserId, ApiKey),
    /// What the password is compared with; `None` when they have none.
    PasswordHash(UserId, Option<PasswordHash>),
    /// The secret of the link of the invitation of that number, which is shown again; `None` when it opens nothing.
    InvitationLink(i64, Option<InvitationSecret>),
}

impl RealmCommit {
    /// Sets the user's key, in memory and in the table of credentials.
    pub fn set_key(&mut self, realm: &RealmSnapshot, user_id: UserId, key: ApiKey) {
        self.changes.push(RealmChange::Key { user_id, hash: realm.key_hasher().hash(&key) });
        self.credentials.push(CredentialChange::ApiKey(user_id, key));
    }

    /// Returns whether it shuts out somebody's key that opens something in that realm: by another key, by closing the
    /// account, or by closing the organization.
    #[must_use]
    pub fn revokes_access(&self, realm: &RealmSnapshot) -> bool {
        self.changes.iter().any(|change| match change {
            RealmChange::Key { user_id, hash } => realm.key_of(*user_id).is_some_and(|known| known != *hash),
            RealmChange::User(user) => !user.is_active && realm.user(user.id).is_some_and(|known| known.is_active),
            RealmChange::Realm(changed) => {
                changed.is_deactivated && realm.realm().is_some_and(|known| !known.is_deactivated)
            }
            _ => false,
        })
    }
}

/// The outcome of a realm commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitOutcome {
    /// It is durable. The changes stand at `first`, the last event at `last`.
    Done {
        /// The first place in the log it took.
        first: EventId,
        /// The last place in the log it took.
        last: EventId,
    },
    /// The realm had changed at this place since the decision; nothing was written.
    Stale(EventId),
}
