//! Changing, archiving and unarchiving channels.

use super::folders::require_open_folder;
use super::{
    ChannelContext, ChannelError, RetentionPolicy, add_channel_changes_with_events, one_line, remover_group, rendered,
};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::{ChannelId, UserGroupId};
use crate::model::channel::{Channel, ChannelPostPolicy, ChannelPrivacy, channel_name_key, parse_channel_name};
use crate::model::realm_change::{RealmChange, RealmItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::organization::settings::release_archived_channel;
use crate::permission::access::{self, ChannelNotFound, has_content_access, may_know_channel_name};
use crate::permission::channel_membership::may_create_channel;

/// The properties of a channel to change. `None` leaves it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelUpdate {
    /// The name.
    pub name: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// Whether only subscribers see it.
    pub is_private: Option<bool>,
    /// Whether everybody sees it, also without an account.
    pub is_web_public: Option<bool>,
    /// Whether who enters reads what was there before.
    pub shares_history: Option<bool>,
    /// Who may write.
    pub post_policy: Option<ChannelPostPolicy>,
    /// How long messages stay.
    pub retention: Option<RetentionPolicy>,
    /// Whose members may take others out.
    pub can_remove_subscribers_group: Option<UserGroupId>,
    /// Whether new users are put into it.
    pub is_default: Option<bool>,
    /// The folder in which lists show it, or none.
    pub folder_id: Option<Option<i64>>,
    /// `false` unarchives the channel; `true` changes nothing.
    pub is_archived: Option<bool>,
}

/// Changes a channel.
///
/// # Errors
/// See [`ChannelError`]; nothing is to be written then.
pub fn update_channel(
    env: &ChannelContext<'_>,
    id: ChannelId,
    changes: &ChannelUpdate,
    commit: &mut RealmCommit,
) -> Result<(), ChannelError> {
    let before = administered(env, id)?;
    let mut channel = before.clone();
    if let Some(privacy) = privacy(env, before, changes, commit.at_s)? {
        channel.privacy = privacy;
    }
    if let Some(description) = &changes.description {
        channel.description = one_line(description);
        channel.rendered_description = rendered(env, &channel.description);
    }
    if let Some(name) = &changes.name {
        channel.name = renamed(env, before, name)?;
    }
    if let Some(post_policy) = changes.post_policy {
        channel.post_policy = post_policy;
    }
    if let Some(retention) = changes.retention {
        access::require_owner(env.caller)?;
        channel.message_retention_days = retention.message_retention_days();
    }
    if let Some(group) = changes.can_remove_subscribers_group {
        channel.can_remove_subscribers_group = remover_group(env.realm, group)?;
    }
    if let Some(folder_id) = changes.folder_id {
        folder_id.map(|id| require_open_folder(env.realm, id)).transpose()?;
        channel.folder_id = folder_id;
    }
    if changes.is_archived == Some(false) {
        require_unarchivable(env.realm, before, &channel.name)?;
        channel.is_archived = false;
    }
    let takes_reports = env.realm.realm().is_some_and(|realm| realm.rules.moderation_requests == Some(id));
    if takes_reports && !channel.privacy.is_invite_only() {
        return Err(ChannelError::ModerationChannelNotPrivate);
    }
    let was_default = env.realm.realm_item(RealmItemKind::DefaultChannel, id.0).is_some();
    let is_default = changes.is_default.unwrap_or(was_default);
    if is_default && channel.privacy.is_invite_only() {
        return Err(ChannelError::DefaultMadePrivate);
    }
    if is_default && channel.is_archived {
        return Err(ChannelNotFound::Id(id).into());
    }
    let mut changes = Vec::new();
    if channel != *before {
        changes.push(RealmChange::Channel(Box::new(channel)));
    }
    if is_default != was_default {
        let document = is_default.then(|| serde_json::json!({}));
        changes.push(RealmChange::Item { kind: RealmItemKind::DefaultChannel, id: id.0, document });
    }
    add_channel_changes_with_events(env.realm, env.figures, changes, commit);
    Ok(())
}

/// Checks whether the channel can be unarchived under that name.
fn require_unarchivable(realm: &RealmSnapshot, channel: &Channel, name: &str) -> Result<(), ChannelError> {
    if !channel.is_archived {
        return Err(ChannelError::NotArchived);
    }
    if channel.privacy.is_invite_only() && realm.subscriber_count(channel.id) == 0 {
        return Err(ChannelError::ArchivedWithoutSubscribers);
    }
    // Earlier versions gave the names of archived channels to others.
    if realm.channel_by_name(name).is_some() { Err(ChannelError::NameTaken) } else { Ok(()) }
}

/// Archives a channel. It keeps its name, its subscribers and its messages, and is no default channel any more; settings
/// of the organization do not name it any more.
///
/// # Errors
/// See [`ChannelError`]; nothing is to be written then.
pub fn archive_channel(env: &ChannelContext<'_>, id: ChannelId, commit: &mut RealmCommit) -> Result<(), ChannelError> {
    let channel = administered(env, id)?;
    if channel.is_archived {
        return Err(ChannelError::AlreadyArchived);
    }
    add_channel_changes_with_events(env.realm, env.figures, archived(env.realm, channel), commit);
    release_archived_channel(env.realm, id, commit);
    Ok(())
}

/// Returns the changes that archive a channel.
pub(super) fn archived(realm: &RealmSnapshot, channel: &Channel) -> Vec<RealmChange> {
    let archived = Channel { is_archived: true, ..channel.clone() };
    let mut changes = vec![RealmChange::Channel(Box::new(archived))];
    if realm.realm_item(RealmItemKind::DefaultChannel, channel.id.0).is_some() {
        changes.push(RealmChange::Item { kind: RealmItemKind::DefaultChannel, id: channel.id.0, document: None });
    }
    changes
}

/// Returns the channel, archived or not, if the caller may change it. Administrators also change private channels whose
/// messages they do not read.
fn administered<'a>(env: &ChannelContext<'a>, id: ChannelId) -> Result<&'a Channel, ChannelError> {
    let channel = env.realm.channel(id).filter(|channel| may_know_channel_name(env.realm, env.caller, channel));
    let channel = channel.ok_or(ChannelNotFound::Id(id))?;
    access::require_administrator(env.caller)?;
    Ok(channel)
}

/// Returns the name, if it is free. One that differs from the channel's own in case alone is.
fn renamed(env: &ChannelContext<'_>, channel: &Channel, name: &str) -> Result<String, ChannelError> {
    let name = parse_channel_name(name)?;
    if name == channel.name {
        return Err(ChannelError::NameUnchanged);
    }
    if channel_name_key(name) != channel_name_key(&channel.name)
        && env.realm.channel_by_name_even_archived(name).is_some()
    {
        return Err(ChannelError::NameTaken);
    }
    Ok(name.to_owned())
}

/// Returns the privacy the channel shall have, when it is spoken of.
///
/// Who cannot read a private channel, an administrator or not, cannot open it either.
fn privacy(
    env: &ChannelContext<'_>,
    channel: &Channel,
    changes: &ChannelUpdate,
    now_s: i64,
) -> Result<Option<ChannelPrivacy>, ChannelError> {
    if changes.is_private.is_none() && changes.is_web_public.is_none() && changes.shares_history.is_none() {
        return Ok(None);
    }
    if !has_content_access(env.realm, env.caller, channel) {
        return Err(ChannelNotFound::Id(channel.id).into());
    }
    let private = changes.is_private.unwrap_or_else(|| channel.privacy.is_invite_only());
    let web = changes.is_web_public.unwrap_or(channel.privacy == ChannelPrivacy::WebPublic);
    let usual = changes.is_private.map_or_else(|| channel.privacy.history_public_to_subscribers(), |private| !private);
    let privacy = match (private, web, changes.shares_history.unwrap_or(usual)) {
        (true, true, _) | (false, _, false) => return Err(ChannelError::Openness),
        (false, true, true) => ChannelPrivacy::WebPublic,
        (false, false, true) => ChannelPrivacy::Public,
        (true, false, true) => ChannelPrivacy::PrivateSharedHistory,
        (true, false, false) => ChannelPrivacy::PrivateProtectedHistory,
    };
    if privacy == ChannelPrivacy::WebPublic && channel.privacy != ChannelPrivacy::WebPublic {
        may_create_channel(env.realm, env.caller, privacy, now_s)?;
    }
    Ok(Some(privacy))
}
