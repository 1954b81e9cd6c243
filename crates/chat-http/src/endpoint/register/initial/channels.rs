//! Channels and subscriptions.

use chat_core::event_log::event::ClientCapability;
use chat_core::feature_level::FEATURE_LEVEL;
use chat_core::model::channel::Channel;
use chat_core::permission::access;
use chat_core::wire_format::channel::{self, ChannelStatistics};
use chat_core::wire_format::realm_and_user_items;
use chat_core::wire_format::subscription::{self, SubscriptionFields};
use serde_json::{Map, Value};

use super::{InitialState, InitialStateRequest};

/// Returns the channels that the user may see in lists, in no order. Archived ones are shown to clients that declare it.
pub(super) fn visible<'a>(request: &'a InitialStateRequest<'_>) -> impl Iterator<Item = &'a Channel> {
    let channels = request.realm.channels().map(AsRef::as_ref);
    let shows_archived = request.filter.capabilities.contains(&ClientCapability::ArchivedChannels);
    channels.filter(move |channel| {
        (shows_archived || !channel.is_archived) && access::may_know_channel_name(request.realm, request.user, channel)
    })
}

fn sorted<'a>(request: &'a InitialStateRequest<'_>) -> Vec<&'a Channel> {
    let mut channels: Vec<_> = visible(request).collect();
    channels.sort_unstable_by_key(|channel| channel.id);
    channels
}

pub(super) fn channels(request: &InitialStateRequest<'_>, figures: &ChannelStatistics, state: &mut InitialState) {
    let channels = sorted(request).into_iter().map(|channel| {
        Value::Object(channel::basic_channel_object(
            channel,
            figures,
            request.realm.active_subscriber_count(channel.id),
        ))
    });
    state.put("streams", channels.collect::<Value>());
}

pub(super) fn folders(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put("channel_folders", realm_and_user_items::channel_folder_objects(request.realm));
}

pub(super) fn defaults(request: &InitialStateRequest<'_>, figures: &ChannelStatistics, state: &mut InitialState) {
    let channels = realm_and_user_items::default_channels(request.realm);
    let seen = channels.filter(|channel| access::may_see_channel(request.realm, request.user, channel));
    let shown = seen.map(|channel| {
        let count = request.realm.active_subscriber_count(channel.id);
        channel::default_channel_value(FEATURE_LEVEL, channel, figures, count)
    });
    state.put("realm_default_streams", shown.collect::<Value>());
}

/// Every channel the user may see, by whether they are in it, were, or never were.
pub(super) fn subscriptions(request: &InitialStateRequest<'_>, figures: &ChannelStatistics, state: &mut InitialState) {
    let (realm, user) = (request.realm, request.user);
    let has = |capability| request.filter.capabilities.contains(&capability);
    let fields = SubscriptionFields {
        null_notifications: has(ClientCapability::NotificationSettingsNull),
        email_address: has(ClientCapability::ChannelEmailAddress),
        subscribers: has(ClientCapability::IncludeSubscribers),
    };
    let [mut current, mut former, mut never] = [const { Vec::<Map<String, Value>>::new() }; 3];
    for channel in sorted(request) {
        let membership = realm.membership(channel.id, user.id);
        match membership.map(|membership| membership.subscription.as_ref()) {
            Some(Some(chosen)) => {
                current.push(subscription::subscription_object(realm, channel, chosen, figures, fields));
            }
            Some(None) => {
                let fields = SubscriptionFields {
                    subscribers: fields.subscribers && access::may_see_subscribers(realm, user, channel),
                    ..fields
                };
                let unchosen = subscription::default_subscription(channel, user.id);
                former.push(subscription::subscription_object(realm, channel, &unchosen, figures, fields));
            }
            None => never.push(subscription::never_subscribed_object(realm, user, channel, figures, fields)),
        }
    }
    state.put("subscriptions", current);
    state.put("unsubscribed", former);
    state.put("never_subscribed", never);
}
