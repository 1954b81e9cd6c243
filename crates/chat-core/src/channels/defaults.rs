//! Channels new users are put into.

use serde_json::json;

use super::{ChannelContext, ChannelError, add_channel_changes_with_events};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::ChannelId;
use crate::model::realm_change::{RealmChange, RealmItemKind};
use crate::permission::access;

/// Adds a channel to the realm's default channels, to which new users are subscribed. Adding it again changes nothing.
///
/// # Errors
/// See [`ChannelError`]; nothing is to be written then.
pub fn add_default_channel(
    env: &ChannelContext<'_>,
    id: ChannelId,
    commit: &mut RealmCommit,
) -> Result<(), ChannelError> {
    access::require_administrator(env.caller)?;
    let channel = access::find_visible_channel(env.realm, env.caller, id)?;
    if channel.privacy.is_invite_only() {
        return Err(ChannelError::PrivateMadeDefault);
    }
    put(env, id, true, commit);
    Ok(())
}

/// Removes a channel from the realm's default channels, so that new users are no longer subscribed to it. Removing it
/// again changes nothing.
///
/// # Errors
/// See [`ChannelError`]; nothing is to be written then.
pub fn remove_default_channel(
    env: &ChannelContext<'_>,
    id: ChannelId,
    commit: &mut RealmCommit,
) -> Result<(), ChannelError> {
    access::require_administrator(env.caller)?;
    access::find_visible_channel(env.realm, env.caller, id)?;
    put(env, id, false, commit);
    Ok(())
}

fn put(env: &ChannelContext<'_>, id: ChannelId, shall: bool, commit: &mut RealmCommit) {
    if env.realm.realm_item(RealmItemKind::DefaultChannel, id.0).is_some() != shall {
        let document = shall.then(|| json!({}));
        let change = RealmChange::Item { kind: RealmItemKind::DefaultChannel, id: id.0, document };
        add_channel_changes_with_events(env.realm, env.figures, vec![change], commit);
    }
}
