//! Creating channels: one on request, or those that do not exist when users are subscribed to them.

use serde_json::json;

use super::folders::require_open_folder;
use super::subscribe::new_subscription;
use super::{
    ChannelContext, ChannelError, Principals, add_channel_changes_with_events, one_line, remover_group, rendered,
};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::{ChannelId, UserGroupId, UserId};
use crate::limits::MAX_SUBSCRIPTION_CHANGES_PER_REQUEST;
use crate::model::channel::{Channel, ChannelPostPolicy, ChannelPrivacy, parse_channel_name};
use crate::model::group::SystemGroup;
use crate::model::realm_change::{RealmChange, RealmItemKind};
use crate::permission::access::{self, PermissionError};
use crate::permission::channel_membership::{may_add_subscribers_anywhere, may_create_channel};

/// The visibility of a channel to create, as the API's three parameters state it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestedPrivacy {
    /// Only subscribers see it.
    pub invite_only: bool,
    /// Everybody sees it, also without an account.
    pub is_web_public: bool,
    /// Who enters reads what was there before.
    pub shares_history: Option<bool>,
}

impl RequestedPrivacy {
    /// Returns the privacy of a new channel. A public one shares its history whatever was asked for; a private one only
    /// when it was.
    ///
    /// # Errors
    /// [`ChannelError::Openness`] when it is both private and without accounts.
    pub fn into_channel_privacy(self) -> Result<ChannelPrivacy, ChannelError> {
        match (self.invite_only, self.is_web_public) {
            (true, true) => Err(ChannelError::Openness),
            (false, true) => Ok(ChannelPrivacy::WebPublic),
            (false, false) => Ok(ChannelPrivacy::Public),
            (true, false) if self.shares_history == Some(true) => Ok(ChannelPrivacy::PrivateSharedHistory),
            (true, false) => Ok(ChannelPrivacy::PrivateProtectedHistory),
        }
    }
}

/// The time for which a channel keeps its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RetentionPolicy {
    /// As long as the realm does.
    #[default]
    Realm,
    /// For ever.
    Unlimited,
    /// So many days, at least one.
    Days(i64),
}

impl RetentionPolicy {
    /// Returns the value to store in [`Channel::message_retention_days`]: -1 for unlimited, `None` for the realm's
    /// default.
    #[must_use]
    pub fn message_retention_days(self) -> Option<i64> {
        match self {
            Self::Realm => None,
            Self::Unlimited => Some(-1),
            Self::Days(days) => Some(days),
        }
    }
}

/// The settings that all channels created by one request share.
#[derive(Debug, Clone, Copy)]
pub struct NewChannelSettings {
    /// Who sees them.
    pub openness: RequestedPrivacy,
    /// Who may write.
    pub post_policy: ChannelPostPolicy,
    /// How long messages stay.
    pub retention: RetentionPolicy,
    /// Whose members may take others out; administrators when nothing is said.
    pub can_remove_subscribers_group: Option<UserGroupId>,
    /// Whether new users are put into them.
    pub is_default: bool,
    /// The folder in which lists show them.
    pub folder_id: Option<i64>,
}

/// A request to create one channel with its subscribers.
#[derive(Debug, Clone)]
pub struct CreateChannelRequest {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The users to subscribe; none is a channel without subscribers.
    pub subscribers: Vec<UserId>,
    /// Its settings.
    pub settings: NewChannelSettings,
}

/// Creates a channel and returns its id.
///
/// # Errors
/// See [`ChannelError`]; nothing is to be written then. [`ChannelError::Exists`] when a channel, archived or not, has the
/// name.
pub fn create_channel(
    env: &ChannelContext<'_>,
    request: &CreateChannelRequest,
    commit: &mut RealmCommit,
) -> Result<ChannelId, ChannelError> {
    access::require_member(env.caller)?;
    let name = parse_channel_name(&request.name)?;
    if let Some(channel) = env.realm.channel_by_name_even_archived(name) {
        let is_known = access::may_know_channel_name(env.realm, env.caller, channel);
        return Err(ChannelError::Exists(if is_known { channel.name.clone() } else { name.to_owned() }));
    }
    let privacy = may_make(env, &request.settings, commit.at_s)?;
    if request.subscribers.len() > MAX_SUBSCRIPTION_CHANGES_PER_REQUEST {
        return Err(ChannelError::TooMany);
    }
    let subscribers = Principals::Ids(request.subscribers.clone()).resolve_users(env)?;
    if subscribers.iter().any(|user| user.id != env.caller.id) {
        may_add_subscribers_anywhere(env.realm, env.caller, commit.at_s)?;
    }
    let id = ChannelId(env.realm.nth_unused_id(1));
    let (channel, mut changes) = make(env, (id, privacy), (name, &request.description), &request.settings, commit)?;
    changes.extend(subscribers.into_iter().map(|user| new_subscription(env.realm, user, &channel)));
    add_channel_changes_with_events(env.realm, env.figures, changes, commit);
    Ok(id)
}

/// Checks that the caller may make channels in this manner. Which privacy they get is the answer.
pub(super) fn may_make(
    env: &ChannelContext<'_>,
    manner: &NewChannelSettings,
    now_s: i64,
) -> Result<ChannelPrivacy, ChannelError> {
    manner.folder_id.map(|id| require_open_folder(env.realm, id)).transpose()?;
    let privacy = manner.openness.into_channel_privacy()?;
    may_create_channel(env.realm, env.caller, privacy, now_s)?;
    if manner.is_default && !env.caller.is_administrator() {
        return Err(PermissionError::Insufficient.into());
    }
    if manner.is_default && privacy.is_invite_only() {
        return Err(ChannelError::DefaultMadePrivate);
    }
    if manner.retention != RetentionPolicy::Realm {
        access::require_owner(env.caller)?;
    }
    manner.can_remove_subscribers_group.map(|group| remover_group(env.realm, group)).transpose()?;
    Ok(privacy)
}

/// Returns the changes that make a channel, to be applied before anybody enters it.
pub(super) fn make(
    env: &ChannelContext<'_>,
    (id, privacy): (ChannelId, ChannelPrivacy),
    (name, description): (&str, &str),
    manner: &NewChannelSettings,
    commit: &RealmCommit,
) -> Result<(Channel, Vec<RealmChange>), ChannelError> {
    let administrators = || env.realm.system_group(SystemGroup::Administrators).map(|group| group.id);
    let description = one_line(description);
    let channel = Channel {
        id,
        name: parse_channel_name(name)?.to_owned(),
        rendered_description: rendered(env, &description),
        description,
        created_s: commit.at_s,
        creator_id: Some(env.caller.id),
        privacy,
        post_policy: manner.post_policy,
        message_retention_days: manner.retention.message_retention_days(),
        can_remove_subscribers_group: manner
            .can_remove_subscribers_group
            .or_else(administrators)
            .ok_or(ChannelError::NoSuchGroup)?,
        is_archived: false,
        folder_id: manner.folder_id,
        is_recently_active: true,
    };
    let mut changes = vec![RealmChange::Channel(Box::new(channel.clone()))];
    if manner.is_default {
        changes.push(RealmChange::Item { kind: RealmItemKind::DefaultChannel, id: id.0, document: Some(json!({})) });
    }
    Ok((channel, changes))
}
