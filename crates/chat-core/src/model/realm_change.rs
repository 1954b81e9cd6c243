//! What can happen to a realm, as data: the one way its state changes, in the database and in every node's memory.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{ChannelId, EventId, UserGroupId, UserId};
use crate::model::channel::{Channel, Subscription};
use crate::model::group::UserGroup;
use crate::model::realm::Realm;
use crate::model::user::{KeyHash, User};

/// One change of a realm's state. A change says what is, not what was done, so that it is applied by writing it
/// down; the spans of subscriptions alone take the place in the log at which it was committed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RealmChange {
    /// The realm is now this.
    Realm(Box<Realm>),
    /// The user is new, or is now this.
    User(Box<User>),
    /// The user is now recognised by this key and no other. The key itself is in
    /// [`RealmCommit::credentials`](crate::event_log::realm_commit::RealmCommit::credentials).
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
        kind: RealmItemKind,
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
        matches!(self, Self::User(_) | Self::Channel(_) | Self::Item { kind: RealmItemKind::Linkifier, .. })
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
            Self::Item { kind: RealmItemKind::Linkifier, .. } | Self::UserItem { kind: UserItemKind::AlertWords, .. }
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
    RealmItemKind {
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
        /// A folder of channels.
        ChannelFolder = "channel_folder",
        /// An invitation that was sent.
        Invitation = "invitation",
        /// A domain of mail that belongs to the realm.
        Domain = "domain",
        /// Settings new users begin with; there is one, 0.
        UserDefaults = "user_defaults",
        /// An export that was requested, with the state of its archive.
        DataExport = "data_export",
    }
}

kinds! {
    /// Small things of a user, held in memory like [`RealmItemKind`].
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
        /// A browser they are signed in with; its key is the keyed hash of its secret.
        Session = "session",
        /// A link by which they may set a new password, one document.
        PasswordReset = "password_reset",
        /// A link that signs a browser of theirs in once, one document.
        SignInLink = "sign_in_link",
        /// A text they keep to write it again; its key is its number.
        SavedSnippet = "saved_snippet",
        /// An entry of the list of views in their clients; its key is the fragment of its address.
        NavigationView = "navigation_view",
        /// The right to give other users addresses, an empty document.
        AddressAdministrator = "address_administrator",
    }
}
