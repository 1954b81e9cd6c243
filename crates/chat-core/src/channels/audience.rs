//! Who is notified of a channel.

use std::collections::BTreeSet;

use crate::event_log::event::EventAudience;
use crate::id::UserId;
use crate::model::channel::{Channel, ChannelPrivacy};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::permission::access::may_see_subscribers;

/// Everybody who sees the channel, described as shortly as can be. A guest may be in a public channel.
pub(super) fn all_who_see(realm: &RealmSnapshot, channel: &Channel) -> Vec<EventAudience> {
    let inside = || realm.subscribers(channel.id).filter_map(|id| realm.user(id));
    match channel.privacy {
        ChannelPrivacy::WebPublic => vec![EventAudience::Everyone],
        ChannelPrivacy::Public => {
            let guests = some(inside().filter(|user| user.is_guest()).map(|user| user.id));
            std::iter::once(EventAudience::Members).chain(guests).collect()
        }
        ChannelPrivacy::PrivateSharedHistory | ChannelPrivacy::PrivateProtectedHistory => {
            let administrators = realm.users().filter(|user| user.is_administrator());
            some(inside().chain(administrators).map(|user| user.id)).into_iter().collect()
        }
    }
}

/// Returns who may know the subscribers of the channel, but for some.
pub(crate) fn knows_subscribers(realm: &RealmSnapshot, channel: &Channel, but: &[UserId]) -> EventAudience {
    if channel.privacy.is_invite_only() {
        let but: BTreeSet<UserId> = but.iter().copied().collect();
        let knows = realm.users().filter(|user| may_see_subscribers(realm, user, channel));
        return EventAudience::from_users(knows.map(|user| user.id).filter(|id| !but.contains(id)));
    }
    let strangers = realm.users().filter(|user| user.is_guest() && !may_see_subscribers(realm, user, channel));
    let except = but.iter().copied().chain(strangers.map(|user| user.id)).collect();
    EventAudience::ChannelWatchers { channel_id: channel.id, except }
}

/// These users, if there are any.
pub(super) fn some(users: impl Iterator<Item = UserId>) -> Option<EventAudience> {
    match EventAudience::from_users(users) {
        EventAudience::Users(users) if users.is_empty() => None,
        audience => Some(audience),
    }
}
