//! Leaving channels, and taking others out of them.

use std::collections::BTreeMap;

use super::update::archived;
use super::{ChannelContext, ChannelError, Principals, add_channel_changes_with_events};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::ChannelId;
use crate::limits::MAX_SUBSCRIPTION_CHANGES_PER_REQUEST;
use crate::model::channel::Channel;
use crate::model::realm_change::RealmChange;
use crate::model::user::User;
use crate::organization::settings::release_archived_channel;
use crate::permission::access;
use crate::permission::channel_membership::may_remove_subscribers;

/// The outcome of a request to unsubscribe. A name stands once for each user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnsubscribeOutcome {
    /// The channels that were left.
    pub removed: Vec<String>,
    /// The channels that the user was not in.
    pub not_removed: Vec<String>,
}

/// Unsubscribes the caller or other users from channels.
///
/// Not specified what becomes of a private channel without subscribers; we archive it, because no user could subscribe
/// to it again.
///
/// # Errors
/// See [`ChannelError`]; nothing is to be written then.
pub fn unsubscribe_users(
    env: &ChannelContext<'_>,
    names: &[String],
    principals: &Principals,
    commit: &mut RealmCommit,
) -> Result<UnsubscribeOutcome, ChannelError> {
    let channels = named(env, names)?;
    let users = principals.resolve_users(env)?;
    if users.len().saturating_mul(channels.len()) > MAX_SUBSCRIPTION_CHANGES_PER_REQUEST {
        return Err(ChannelError::TooMany);
    }
    if users.iter().any(|user| !answers_for(env.caller, user)) {
        for channel in channels.values() {
            may_remove_subscribers(env.realm, env.caller, channel, commit.at_s)?;
        }
    }
    let mut done = UnsubscribeOutcome::default();
    let mut changes = Vec::new();
    for (channel, user) in users.iter().flat_map(|user| channels.values().map(move |channel| (channel, user))) {
        if env.realm.subscription(channel.id, user.id).is_some() {
            done.removed.push(channel.name.clone());
            changes.push(RealmChange::Unsubscription { channel_id: channel.id, user_id: user.id });
        } else {
            done.not_removed.push(channel.name.clone());
        }
    }
    let after = add_channel_changes_with_events(env.realm, env.figures, changes, commit);
    for channel in channels.values().filter(|channel| channel.privacy.is_invite_only()) {
        let emptied = env.realm.subscriber_count(channel.id) > 0 && after.subscriber_count(channel.id) == 0;
        if emptied && !channel.is_archived {
            add_channel_changes_with_events(&after, env.figures, archived(&after, channel), commit);
            release_archived_channel(env.realm, channel.id, commit);
        }
    }
    Ok(done)
}

/// Returns the channels of these names, in the order of their numbers.
fn named<'a>(env: &ChannelContext<'a>, names: &[String]) -> Result<BTreeMap<ChannelId, &'a Channel>, ChannelError> {
    let mut unknown = Vec::new();
    let mut channels = BTreeMap::new();
    for name in names {
        match access::find_known_channel_by_name(env.realm, env.caller, name.trim()) {
            Ok(channel) => drop(channels.insert(channel.id, channel.as_ref())),
            Err(_) => unknown.push(name.trim().to_owned()),
        }
    }
    if unknown.is_empty() { Ok(channels) } else { Err(ChannelError::NoneNamed(unknown)) }
}

/// Returns whether the caller acts for that account: it is their own, or a bot of theirs.
fn answers_for(caller: &User, user: &User) -> bool {
    user.id == caller.id || user.bot.as_ref().is_some_and(|bot| bot.owner_id == Some(caller.id))
}
