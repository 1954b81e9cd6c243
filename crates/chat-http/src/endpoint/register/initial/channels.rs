//! Channels and subscriptions.

use chat_core::log::event::ClientCapability;
use chat_core::model::channel::Channel;
use chat_core::permission::access;
use chat_core::wire::channel::{self, ChannelStatistics};
use chat_core::wire::item;
use chat_core::wire::subscription::{self, SubscriptionFields};
use serde_json::{Map, Value};

use super::{Newcomer, State};

/// Returns the channels that the user may see in lists, in no order.
pub(super) fn visible<'a>(newcomer: &'a Newcomer<'_>) -> impl Iterator<Item = &'a Channel> {
    let channels = newcomer.realm.channels().map(AsRef::as_ref);
    channels.filter(|channel| access::sees_channel(newcomer.realm, newcomer.user, channel))
}

fn sorted<'a>(newcomer: &'a Newcomer<'_>) -> Vec<&'a Channel> {
    let mut channels: Vec<_> = visible(newcomer).collect();
    channels.sort_unstable_by_key(|channel| channel.id);
    channels
}

pub(super) fn channels(newcomer: &Newcomer<'_>, figures: &ChannelStatistics, state: &mut State) {
    let channels = sorted(newcomer).into_iter().map(|channel| Value::Object(channel::basic(channel, figures)));
    state.put("streams", channels.collect::<Value>());
}

pub(super) fn defaults(newcomer: &Newcomer<'_>, figures: &ChannelStatistics, state: &mut State) {
    let channels = item::default_channels(newcomer.realm);
    let seen = channels.filter(|channel| access::sees_channel(newcomer.realm, newcomer.user, channel));
    let shown = seen.map(|channel| Value::Object(channel::basic(channel, figures)));
    state.put("realm_default_streams", shown.collect::<Value>());
}

/// Every channel the user may see, by whether they are in it, were, or never were.
pub(super) fn subscriptions(newcomer: &Newcomer<'_>, figures: &ChannelStatistics, state: &mut State) {
    let (realm, user) = (newcomer.realm, newcomer.user);
    let has = |capability| newcomer.filter.capabilities.contains(&capability);
    let wish = SubscriptionFields {
        null_notifications: has(ClientCapability::NotificationSettingsNull),
        subscribers: has(ClientCapability::IncludeSubscribers),
    };
    let [mut current, mut former, mut never] = [const { Vec::<Map<String, Value>>::new() }; 3];
    for channel in sorted(newcomer) {
        let membership = realm.membership(channel.id, user.id);
        match membership.map(|membership| membership.subscription.as_ref()) {
            Some(Some(chosen)) => current.push(subscription::full(realm, channel, chosen, figures, wish)),
            Some(None) => {
                let wish = SubscriptionFields {
                    subscribers: wish.subscribers && access::sees_subscribers(realm, user, channel),
                    ..wish
                };
                let unchosen = subscription::unchosen(channel, user.id);
                former.push(subscription::full(realm, channel, &unchosen, figures, wish));
            }
            None => never.push(subscription::never(realm, user, channel, figures, wish)),
        }
    }
    state.put("subscriptions", current);
    state.put("unsubscribed", former);
    state.put("never_subscribed", never);
}
