//! Whether channels are recently active: lists of clients put the others last.

use super::add_channel_changes_with_events;
use crate::event_log::realm_commit::RealmCommit;
use crate::id::ChannelId;
use crate::model::channel::Channel;
use crate::model::realm_change::RealmChange;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::wire_format::channel::ChannelStatistics;

/// Marks a channel as recently active, because a message was sent or moved into it. Changes nothing where it is.
pub fn mark_recently_active(realm: &RealmSnapshot, id: ChannelId, commit: &mut RealmCommit) {
    mark(realm, &[id], true, commit);
}

/// Marks channels as not recently active any more. Changes nothing where they are not.
pub fn mark_inactive(realm: &RealmSnapshot, ids: &[ChannelId], commit: &mut RealmCommit) {
    mark(realm, ids, false, commit);
}

fn mark(realm: &RealmSnapshot, ids: &[ChannelId], is_recently_active: bool, commit: &mut RealmCommit) {
    let channels = ids.iter().filter_map(|id| realm.channel(*id));
    let differ = channels.filter(|channel| channel.is_recently_active != is_recently_active);
    let marked = differ.map(|channel| Channel { is_recently_active, ..Channel::clone(channel) });
    let changes: Vec<_> = marked.map(|channel| RealmChange::Channel(Box::new(channel))).collect();
    if !changes.is_empty() {
        // The events of these changes have no statistics of messages.
        add_channel_changes_with_events(realm, &ChannelStatistics::default(), changes, commit);
    }
}
