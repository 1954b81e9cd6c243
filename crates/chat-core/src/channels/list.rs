//! Which channels there are for someone.

use std::sync::Arc;

use crate::model::channel::{Channel, ChannelPrivacy};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access::{PermissionError, has_content_access, may_know_channel_name};

/// A set of channels that `GET /streams` can include.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncludedChannels {
    /// Those all users but guests see; guests get none of them.
    Public,
    /// Those everybody sees.
    WebPublic,
    /// Those the user is in.
    Subscribed,
    /// Those a bot's owner is in.
    OwnerSubscribed,
    /// Those the user knows of.
    Known,
    /// Those of which the user may read the messages.
    Readable,
    /// All; for administrators.
    All,
}

/// Returns the channels of at least one of these groups, in the order of their numbers; archived ones on request.
///
/// # Errors
/// [`PermissionError::QueryRefused`] when all are asked for and the user is no administrator.
///
/// # Source
/// Specification, `GET /streams`.
pub fn list_channels<'a>(
    realm: &'a RealmSnapshot,
    user: &User,
    groups: &[IncludedChannels],
    with_archived: bool,
) -> Result<Vec<&'a Arc<Channel>>, PermissionError> {
    if groups.contains(&IncludedChannels::All) && !user.is_administrator() {
        return Err(PermissionError::QueryRefused);
    }
    let owner = user.bot.as_ref().and_then(|bot| bot.owner_id);
    let is_in = |group: &IncludedChannels, channel: &Channel| match group {
        IncludedChannels::Public => !user.is_guest() && !channel.privacy.is_invite_only(),
        IncludedChannels::WebPublic => channel.privacy == ChannelPrivacy::WebPublic,
        IncludedChannels::Subscribed => realm.subscription(channel.id, user.id).is_some(),
        IncludedChannels::OwnerSubscribed => owner.is_some_and(|owner| realm.subscription(channel.id, owner).is_some()),
        IncludedChannels::Known => may_know_channel_name(realm, user, channel),
        IncludedChannels::Readable => has_content_access(realm, user, channel),
        IncludedChannels::All => true,
    };
    let shown = realm.channels().filter(|channel| with_archived || !channel.is_archived);
    let mut found: Vec<_> = shown.filter(|channel| groups.iter().any(|group| is_in(group, channel))).collect();
    found.sort_unstable_by_key(|channel| channel.id);
    Ok(found)
}
