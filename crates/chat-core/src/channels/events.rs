//! The events of changes to channels, and who receives them: worked out from the realm before and after a change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::event_log::event::{ClientCapability, EventAudience, LogRecord, NewEvent, QueueCondition};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::{ChannelId, EventId, UserId};
use crate::model::channel::{Channel, ChannelPostPolicy, ChannelPrivacy, Subscription};
use crate::model::realm_change::{RealmChange, RealmItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::permission::access::{may_see_channel, may_see_subscribers};
use crate::wire_format::channel::{ChannelStatistics, basic_channel_object};
use crate::wire_format::subscription::{
    ShownChoices, SubscriptionFields, notification_choices, subscribers, subscription_object,
};

/// Adds changes to the commit and returns the realm after them. Changes of channels, subscriptions and default channels
/// get their events; other changes get none. Changes of other things are put in as they are, without events.
///
/// In this order: channels that come into sight, subscriptions that begin, that end, others' subscriptions, changes
/// of channels, channels that go out of sight, choices, the default channels. So nobody hears of something they do
/// not know yet.
///
/// Costs a look at each user for each channel whose privacy changes.
///
/// # Source
/// Not specified; the events are those existing clients know.
pub fn add_channel_changes_with_events(
    realm: &RealmSnapshot,
    figures: &ChannelStatistics,
    changes: Vec<RealmChange>,
    commit: &mut RealmCommit,
) -> RealmSnapshot {
    // The place is not known yet; what is asked of the realm after it does not depend on it.
    let next = EventId(realm.log_position().0.saturating_add(1));
    let record = LogRecord::new(next, commit.at_s, changes, None);
    let after = realm.after_record(&record);
    let diff = RealmDiff { before: realm, after: &after, figures };
    let channels = channels(&diff, &record.changes);
    let events = &mut commit.events;
    for channel in &channels {
        diff.add_created(channel, events);
    }
    diff.add_subscriptions(&channels, events);
    add_unsubscriptions(&channels, events);
    for channel in channels.iter().filter(|channel| !channel.after.is_archived) {
        diff.add_peer_events(channel, events);
        diff.add_updates(channel, events);
    }
    for channel in &channels {
        diff.add_removed(channel, events);
    }
    diff.add_property_changes(&record.changes, events);
    diff.add_defaults(&record.changes, events);
    commit.changes.extend(record.changes);
    after
}

/// The realm before and after the changes of a commit.
struct RealmDiff<'a> {
    before: &'a RealmSnapshot,
    after: &'a RealmSnapshot,
    figures: &'a ChannelStatistics,
}

/// The changes to one channel.
struct ChannelDiff<'a> {
    /// As it was; `None` when it is new.
    before: Option<&'a Arc<Channel>>,
    after: &'a Arc<Channel>,
    entered: Vec<UserId>,
    left: Vec<UserId>,
}

impl ChannelDiff<'_> {
    fn id(&self) -> ChannelId {
        self.after.id
    }

    /// Returns whether everybody's sight of it may have changed, not only that of who entered or left.
    fn opens_or_closes(&self) -> bool {
        self.before
            .is_none_or(|before| before.privacy != self.after.privacy || before.is_archived != self.after.is_archived)
    }
}

fn channels<'a>(diff: &RealmDiff<'a>, changes: &[RealmChange]) -> Vec<ChannelDiff<'a>> {
    let mut channels: BTreeMap<ChannelId, ChannelDiff<'a>> = BTreeMap::new();
    for change in changes {
        let id = match change {
            RealmChange::Channel(channel) => channel.id,
            RealmChange::Subscription(subscription) => subscription.channel_id,
            RealmChange::Unsubscription { channel_id, .. } => *channel_id,
            _ => continue,
        };
        let Some(after) = diff.after.channel(id) else { continue };
        let fresh = || ChannelDiff { before: diff.before.channel(id), after, entered: Vec::new(), left: Vec::new() };
        let channel = channels.entry(id).or_insert_with(fresh);
        match change {
            RealmChange::Subscription(subscription) if diff.before.subscription(id, subscription.user_id).is_none() => {
                channel.entered.push(subscription.user_id);
            }
            RealmChange::Unsubscription { user_id, .. } if diff.before.subscription(id, *user_id).is_some() => {
                channel.left.push(*user_id);
            }
            _ => {}
        }
    }
    channels.into_values().collect()
}

impl RealmDiff<'_> {
    /// Notifies users who did not see the channel and now do.
    fn add_created(&self, channel: &ChannelDiff<'_>, events: &mut Vec<NewEvent>) {
        let audiences = match channel.before {
            None => all_who_see(self.after, channel.after),
            Some(before) => self.new_audiences(channel, (self.before, before), (self.after, channel.after)),
        };
        let event =
            json!({"type": "stream", "op": "create", "streams": [basic_channel_object(channel.after, self.figures)]});
        events.extend(audiences.into_iter().map(|audience| NewEvent::same_for_everyone(audience, event.clone())));
    }

    /// Notifies users who saw the channel and no longer do.
    fn add_removed(&self, channel: &ChannelDiff<'_>, events: &mut Vec<NewEvent>) {
        let Some(before) = channel.before else { return };
        let audiences = if channel.after.is_archived && !before.is_archived {
            all_who_see(self.before, before)
        } else {
            self.new_audiences(channel, (self.after, channel.after), (self.before, before))
        };
        let streams = [basic_channel_object(before, self.figures)];
        let event = json!({"type": "stream", "op": "delete", "streams": streams, "stream_ids": [before.id]});
        events.extend(audiences.into_iter().map(|audience| NewEvent::same_for_everyone(audience, event.clone())));
    }

    /// Returns who sees the channel in the second state and not in the first.
    fn new_audiences(
        &self,
        channel: &ChannelDiff<'_>,
        (first, hidden): (&RealmSnapshot, &Channel),
        (second, seen): (&RealmSnapshot, &Channel),
    ) -> Vec<EventAudience> {
        let sees_newly = |id: &UserId| {
            self.after
                .user(*id)
                .is_some_and(|user| may_see_channel(second, user, seen) && !may_see_channel(first, user, hidden))
        };
        let candidates: Vec<UserId> = if channel.opens_or_closes() {
            self.after.users().filter(|user| user.is_active).map(|user| user.id).collect()
        } else {
            channel.entered.iter().chain(&channel.left).copied().collect()
        };
        some(candidates.into_iter().filter(sees_newly)).into_iter().collect()
    }

    /// Adds the events of subscriptions that began. Users who are shown equal subscriptions share an event.
    ///
    /// **Cost**: users are grouped by what differs between them before anything is written for a client, so that the
    /// subscriptions are written once for each group and not once for each of thousands of users.
    fn add_subscriptions(&self, channels: &[ChannelDiff<'_>], events: &mut Vec<NewEvent>) {
        let mut entered: BTreeMap<UserId, Vec<&Subscription>> = BTreeMap::new();
        for channel in channels {
            let begun = channel.entered.iter().filter_map(|user_id| self.after.subscription(channel.id(), *user_id));
            for subscription in begun {
                entered.entry(subscription.user_id).or_default().push(subscription);
            }
        }
        for null_notifications in [false, true] {
            let fields = SubscriptionFields { null_notifications, subscribers: false };
            let mut groups: BTreeMap<Vec<ShownChoices<'_>>, Vec<UserId>> = BTreeMap::new();
            for (user_id, begun) in &entered {
                let shown = begun.iter().map(|begun| ShownChoices::of(self.after, begun, null_notifications));
                groups.entry(shown.collect()).or_default().push(*user_id);
            }
            for users in groups.into_values() {
                let begun = users.first().and_then(|user_id| entered.get(user_id)).into_iter().flatten();
                let subscriptions: Vec<Value> = begun.filter_map(|begun| self.subscription(begun, fields)).collect();
                let with_subscribers =
                    subscriptions.iter().cloned().map(|object| self.with_subscribers(object)).collect();
                for (subscriptions, are_listed) in [(subscriptions, false), (with_subscribers, true)] {
                    let gate = QueueCondition::Both([
                        (ClientCapability::NotificationSettingsNull, null_notifications),
                        (ClientCapability::IncludeSubscribers, are_listed),
                    ]);
                    let event = json!({"type": "subscription", "op": "add", "subscriptions": subscriptions});
                    events.push(
                        NewEvent::same_for_everyone(EventAudience::from_users(users.clone()), event)
                            .with_queue_condition(gate),
                    );
                }
            }
        }
    }

    fn subscription(&self, subscription: &Subscription, fields: SubscriptionFields) -> Option<Value> {
        let channel = self.after.channel(subscription.channel_id)?;
        Some(subscription_object(self.after, channel, subscription, self.figures, fields).into())
    }

    /// Adds the list of subscribers to a subscription.
    fn with_subscribers(&self, mut subscription: Value) -> Value {
        let id = subscription.get("stream_id").and_then(Value::as_i64).map(ChannelId);
        if let (Some(id), Some(object)) = (id, subscription.as_object_mut()) {
            object.insert("subscribers".to_owned(), subscribers(self.after, id));
        }
        subscription
    }

    /// Notifies the users who may know the subscribers: of who came and who went, or of all, where they may know them
    /// only now.
    fn add_peer_events(&self, channel: &ChannelDiff<'_>, events: &mut Vec<NewEvent>) {
        let event = |op: &str, users: &[UserId]| json!({"type": "subscription", "op": op, "stream_ids": [channel.id()], "user_ids": users});
        for (op, users) in [("peer_add", &channel.entered), ("peer_remove", &channel.left)] {
            if !users.is_empty() {
                let audience = knows_subscribers(self.after, channel.after, users);
                events.push(NewEvent::same_for_everyone(audience, event(op, users)));
            }
        }
        let Some(before) = channel.before.filter(|_| channel.opens_or_closes()) else { return };
        let inside: Vec<UserId> = self.after.subscribers(channel.id()).collect();
        let new_audiences = self.new_audiences(channel, (self.before, before), (self.after, channel.after));
        if !inside.is_empty() {
            events.extend(
                new_audiences
                    .into_iter()
                    .map(|audience| NewEvent::same_for_everyone(audience, event("peer_add", &inside))),
            );
        }
    }

    /// Notifies the users who see the channel of what is different.
    fn add_updates(&self, channel: &ChannelDiff<'_>, events: &mut Vec<NewEvent>) {
        let Some(before) = channel.before else { return };
        let mut send = |name: &str, property: &str, value: Value, more: Value| {
            let mut event = object(json!({
                "type": "stream", "op": "update", "stream_id": channel.id(), "name": name,
                "property": property, "value": value,
            }));
            event.extend(object(more));
            let audiences = all_who_see(self.after, channel.after).into_iter();
            events.extend(audiences.map(|audience| NewEvent::same_for_everyone(audience, event.clone().into())));
        };
        let after = channel.after;
        if before.name != after.name {
            // Under the name it is known by.
            send(&before.name, "name", json!(after.name), json!({}));
        }
        if before.description != after.description || before.rendered_description != after.rendered_description {
            let more = json!({"rendered_description": after.rendered_description});
            send(&after.name, "description", json!(after.description), more);
        }
        if before.privacy != after.privacy {
            let more = json!({
                "history_public_to_subscribers": after.privacy.history_public_to_subscribers(),
                "is_web_public": after.privacy == ChannelPrivacy::WebPublic,
            });
            send(&after.name, "invite_only", json!(after.privacy.is_invite_only()), more);
        }
        if before.post_policy != after.post_policy {
            send(&after.name, "stream_post_policy", json!(after.post_policy.wire_number()), json!({}));
            let announces = after.post_policy == ChannelPostPolicy::Administrators;
            send(&after.name, "is_announcement_only", json!(announces), json!({}));
        }
        if before.message_retention_days != after.message_retention_days {
            send(&after.name, "message_retention_days", json!(after.message_retention_days), json!({}));
        }
        if before.can_remove_subscribers_group != after.can_remove_subscribers_group {
            let group = json!(after.can_remove_subscribers_group);
            send(&after.name, "can_remove_subscribers_group", group, json!({}));
        }
    }

    /// Notifies users of what they chose for channels they were in already.
    fn add_property_changes(&self, changes: &[RealmChange], events: &mut Vec<NewEvent>) {
        for change in changes {
            let RealmChange::Subscription(chosen) = change else { continue };
            let (channel_id, user_id) = (chosen.channel_id, chosen.user_id);
            let Some(before) = self.before.subscription(channel_id, user_id) else { continue };
            for (property, value) in differences(before, chosen) {
                let event = |value: &Value| {
                    let event = json!({
                        "type": "subscription", "op": "update", "stream_id": channel_id,
                        "property": property, "value": value,
                    });
                    NewEvent::same_for_everyone(EventAudience::from_users([user_id]), event)
                };
                if !value.is_null() {
                    events.push(event(&value));
                    continue;
                }
                let knows_null = ClientCapability::NotificationSettingsNull;
                events.push(event(&value).with_queue_condition(QueueCondition::With(knows_null)));
                let shown = notification_choices(self.after, chosen, false).into_iter();
                let own = shown.filter(|(key, _)| *key == property);
                events.extend(
                    own.map(|(_, is_on)| {
                        event(&json!(is_on)).with_queue_condition(QueueCondition::Without(knows_null))
                    }),
                );
            }
        }
    }

    /// Notifies members of the channels that new users are put into, when those changed. Guests may not see them.
    fn add_defaults(&self, changes: &[RealmChange], events: &mut Vec<NewEvent>) {
        let differ = changes.iter().any(|change| match change {
            RealmChange::Item { kind: RealmItemKind::DefaultChannel, id, document } => {
                self.before.realm_item(RealmItemKind::DefaultChannel, *id).is_some() != document.is_some()
            }
            _ => false,
        });
        if differ {
            let ids = self.after.realm_items(RealmItemKind::DefaultChannel).map(|(id, _)| ChannelId(id));
            let channels = ids.filter_map(|id| self.after.channel(id));
            let channels: Vec<_> = channels.map(|channel| basic_channel_object(channel, self.figures)).collect();
            let event = json!({"type": "default_streams", "default_streams": channels});
            events.push(NewEvent::same_for_everyone(EventAudience::Members, event));
        }
    }
}

/// Notifies users of the subscriptions they have no longer. Of a channel that closes they hear nothing more.
fn add_unsubscriptions(channels: &[ChannelDiff<'_>], events: &mut Vec<NewEvent>) {
    let mut left: BTreeMap<UserId, Vec<ChannelId>> = BTreeMap::new();
    let mut named = BTreeMap::new();
    for channel in channels.iter().filter(|channel| !channel.after.is_archived) {
        named.insert(channel.id(), json!({"stream_id": channel.id(), "name": channel.after.name}));
        for user_id in &channel.left {
            left.entry(*user_id).or_default().push(channel.id());
        }
    }
    let mut groups: BTreeMap<Vec<ChannelId>, Vec<UserId>> = BTreeMap::new();
    for (user_id, channels) in left {
        groups.entry(channels).or_default().push(user_id);
    }
    for (channels, users) in groups {
        let subscriptions: Vec<_> = channels.iter().filter_map(|id| named.get(id)).collect();
        let event = json!({"type": "subscription", "op": "remove", "subscriptions": subscriptions});
        events.push(NewEvent::same_for_everyone(EventAudience::from_users(users), event));
    }
}

/// Each property that differs, with its new value. Muting has two names; the older one is told first.
fn differences(before: &Subscription, after: &Subscription) -> Vec<(&'static str, Value)> {
    let mut found = Vec::new();
    if before.color != after.color {
        found.push(("color", json!(after.color)));
    }
    if before.is_muted != after.is_muted {
        found.push(("in_home_view", json!(!after.is_muted)));
        found.push(("is_muted", json!(after.is_muted)));
    }
    if before.pin_to_top != after.pin_to_top {
        found.push(("pin_to_top", json!(after.pin_to_top)));
    }
    let (was, is) = (before.notifications, after.notifications);
    let notifications = [
        ("desktop_notifications", was.desktop, is.desktop),
        ("audible_notifications", was.audible, is.audible),
        ("push_notifications", was.push, is.push),
        ("email_notifications", was.email, is.email),
        ("wildcard_mentions_notify", was.wildcard_mentions, is.wildcard_mentions),
    ];
    let changed = notifications.into_iter().filter(|(_, was, is)| was != is);
    found.extend(changed.map(|(property, _, is)| (property, json!(is))));
    found
}

/// Everybody who sees the channel, described as shortly as can be. A guest may be in a public channel.
fn all_who_see(realm: &RealmSnapshot, channel: &Channel) -> Vec<EventAudience> {
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
fn some(users: impl Iterator<Item = UserId>) -> Option<EventAudience> {
    match EventAudience::from_users(users) {
        EventAudience::Users(users) if users.is_empty() => None,
        audience => Some(audience),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
