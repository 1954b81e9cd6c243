//! Making, changing, entering, leaving and closing channels: decisions that become commits.
//!
//! Each function is given what the decision stands on, checks that it may be taken, and says what changes. What is
//! told of it follows from the changes alone (`tell`): who sees something new, who something no longer, who is in
//! and who is out. So no two operations can tell the same change in different ways, and none can forget to.

mod activity;
mod audience;
mod choose;
mod create;
mod defaults;
mod events;
mod folders;
mod list;
mod subscribe;
mod unsubscribe;
mod update;

pub use activity::{mark_inactive, mark_recently_active};
pub(crate) use audience::knows_subscribers;
pub use choose::{SubscriptionPropertyChange, change_subscription_properties};
pub use create::{CreateChannelRequest, NewChannelSettings, RequestedPrivacy, RetentionPolicy, create_channel};
pub use defaults::{add_default_channel, remove_default_channel};
pub use events::add_channel_changes_with_events;
pub use folders::{
    ChannelFolderError, ChannelFolderUpdate, create_channel_folder, reorder_channel_folders, update_channel_folder,
};
pub use list::{IncludedChannels, list_channels};
pub use subscribe::{ChannelToSubscribe, Principals, SubscribeOutcome, SubscribeRequest, subscribe_users};
pub use unsubscribe::{UnsubscribeOutcome, unsubscribe_users};
pub use update::{ChannelUpdate, archive_channel, update_channel};

use crate::id::{ChannelId, UserGroupId};
use crate::limits::MAX_SUBSCRIPTION_CHANGES_PER_REQUEST;
use crate::markdown::{self, EmoticonHandling, ImagePreviews, Linkifier, MarkdownContext};
use crate::model::channel::ChannelNameError;
use crate::model::group::{NOT_REMOVERS, SystemGroup};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access::{ChannelNotFound, PermissionError};
use crate::permission::channel_membership::MembershipChangeError;
use crate::wire_format::channel::ChannelStatistics;

/// The realm, the caller and the realm data that decisions about channels use.
#[derive(Debug, Clone, Copy)]
pub struct ChannelContext<'a> {
    /// The realm.
    pub realm: &'a RealmSnapshot,
    /// Who decides.
    pub caller: &'a User,
    /// What the messages of channels come to, for the objects in events.
    pub figures: &'a ChannelStatistics,
    /// The realm's own address, without a slash at the end.
    pub realm_url: &'a str,
    /// The realm's linkifiers, for descriptions.
    pub linkifiers: &'a [Linkifier],
}

/// The reason why a channel is not created or changed, or a subscription not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// There is no such channel for the caller.
    #[error(transparent)]
    NoSuchChannel(#[from] ChannelNotFound),
    /// There are no channels of these names for the caller.
    #[error("Channel(s) ({}) do not exist", .0.join(", "))]
    NoneNamed(Vec<String>),
    /// The caller is not who may.
    #[error(transparent)]
    NotAllowed(#[from] PermissionError),
    /// The caller may not enter, make, fill or empty a channel.
    #[error(transparent)]
    Membership(#[from] MembershipChangeError),
    /// A name is no channel's.
    #[error(transparent)]
    Name(#[from] ChannelNameError),
    /// A folder is not there, or stays as it is.
    #[error(transparent)]
    Folder(#[from] ChannelFolderError),
    /// The name is another channel's.
    #[error("Channel name already in use.")]
    NameTaken,
    /// A channel, archived or not, has the name that a new one shall have.
    #[error("Channel '{0}' already exists")]
    Exists(String),
    /// The name is the channel's own.
    #[error("Channel already has that name.")]
    NameUnchanged,
    /// The channel is archived already.
    #[error("Channel is already deactivated")]
    AlreadyArchived,
    /// The channel to unarchive is not archived.
    #[error("Channel is not currently deactivated")]
    NotArchived,
    /// The channel to unarchive is private, and no user could see it.
    #[error("Channel is private and have no subscribers")]
    ArchivedWithoutSubscribers,
    /// A private channel without accounts, or a public one that hides its history.
    #[error("Invalid parameters")]
    Openness,
    /// A channel new users are put into would be private.
    #[error("A default channel cannot be private.")]
    DefaultMadePrivate,
    /// New users would be put into a private channel.
    #[error("Private channels cannot be made default.")]
    PrivateMadeDefault,
    /// Reports to moderators would be public.
    #[error("Moderation request channel must be private.")]
    ModerationChannelNotPrivate,
    /// There is no such group.
    #[error("Invalid user group")]
    NoSuchGroup,
    /// Only a group of the system will do.
    #[error("'can_remove_subscribers_group' must be a system user group.")]
    SystemGroupRequired,
    /// Not this group of the system.
    #[error("'can_remove_subscribers_group' setting cannot be set to '{}' group.", .0.wire_name())]
    GroupRefused(SystemGroup),
    /// A user who is named is not there.
    #[error("No such user")]
    NoSuchUser,
    /// A user who is named closed their account.
    #[error("User is deactivated")]
    UserDeactivated,
    /// More than [`MAX_SUBSCRIPTION_CHANGES_PER_REQUEST`] at once.
    #[error("Cannot change more than {MAX_SUBSCRIPTION_CHANGES_PER_REQUEST} subscriptions at once.")]
    TooMany,
    /// The caller is not in the channel.
    #[error("Not subscribed to channel id {0}")]
    NotSubscribed(ChannelId),
}

/// A description on one line.
fn one_line(description: &str) -> String {
    description.replace('\n', " ")
}

/// A description as HTML.
fn rendered(env: &ChannelContext<'_>, description: &str) -> String {
    let context = MarkdownContext {
        directory: env.realm,
        linkifiers: env.linkifiers,
        realm_url: env.realm_url,
        emoticons: EmoticonHandling::Keep,
        image_previews: ImagePreviews::Hide,
        default_code_language: None,
    };
    markdown::render_message(&markdown::parse_message(description, &context)).html
}

/// Returns the group that may take others out of a channel: one of the system's, but for [`NOT_REMOVERS`].
fn remover_group(realm: &RealmSnapshot, id: UserGroupId) -> Result<UserGroupId, ChannelError> {
    let group = realm.group(id).ok_or(ChannelError::NoSuchGroup)?;
    match group.system {
        None => Err(ChannelError::SystemGroupRequired),
        Some(system) if NOT_REMOVERS.contains(&system) => Err(ChannelError::GroupRefused(system)),
        Some(_) => Ok(id),
    }
}
