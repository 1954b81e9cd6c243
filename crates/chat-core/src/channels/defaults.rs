//! Channels new users are put into.

use serde_json::json;

use super::{ChannelEnv, ChannelError, add_channel_events};
use crate::id::ChannelId;
use crate::log::commit::RealmCommit;
use crate::model::change::{ItemKind, RealmChange};
use crate::permission::access;

/// New users are in the channel from now on. Once more changes nothing.
///
/// # Errors
/// See [`ChannelError`]; nothing is to be written then.
pub fn add_default(env: &ChannelEnv<'_>, id: ChannelId, commit: &mut RealmCommit) -> Result<(), ChannelError> {
    access::require_administrator(env.caller)?;
    let channel = access::channel(env.realm, env.caller, id)?;
    if channel.privacy.is_private() {
        return Err(ChannelError::PrivateMadeDefault);
    }
    put(env, id, true, commit);
    Ok(())
}

/// New users are no longer put into the channel. Once more changes nothing.
///
/// # Errors
/// See [`ChannelError`]; nothing is to be written then.
pub fn remove_default(env: &ChannelEnv<'_>, id: ChannelId, commit: &mut RealmCommit) -> Result<(), ChannelError> {
    access::require_administrator(env.caller)?;
    access::channel(env.realm, env.caller, id)?;
    put(env, id, false, commit);
    Ok(())
}

fn put(env: &ChannelEnv<'_>, id: ChannelId, shall: bool, commit: &mut RealmCommit) {
    if env.realm.item(ItemKind::DefaultChannel, id.0).is_some() != shall {
        let document = shall.then(|| json!({}));
        let change = RealmChange::Item { kind: ItemKind::DefaultChannel, id: id.0, document };
        add_channel_events(env.realm, env.figures, vec![change], commit);
    }
}
