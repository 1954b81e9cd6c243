//! The events of changes to channels, and who receives them: worked out from the realm before and after a change.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::audience::{all_who_see, knows_subscribers, some};
use crate::event_log::event::{ClientCapability, EventAudience, LogRecord, NewEvent, QueueCondition};
use crate::event_log::realm_commit::RealmCommit;
use crate::feature_level::FEATURE_LEVEL;
use crate::id::{ChannelId, EventId, UserId};
use crate::model::channel::{Channel, ChannelPostPolicy, ChannelPrivacy, Subscription};
use crate::model::realm_change::{RealmChange, RealmItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::permission::access::may_know_channel_name;
use crate::wire_format::channel::{ChannelStatistics, basic_channel_object, default_channel_value};
use crate::wire_format::subscription::{
    ShownChoices, SubscriptionFields, notification_choices, subscribers, subscription_object,
};

/// The capability of clients that show archived channels.
const ARCHIVED: ClientCapability = ClientCapability::ArchivedChannels;
const WITHOUT_ARCHIVED: QueueCondition = QueueCondition::Without(ARCHIVED);

/// Adds changes to the commit and returns the realm after them. Changes of channels, subscriptions and default channels
/// get their events; other changes get none. Changes of other things are put in as they are, without events.
///
/// In this order: channels that come into sight, subscriptions that begin, that end, others' subscriptions, changes
/// of channels, channels that go out of sight, choices, the default channels. So nobody hears of something they do
/// not know yet.
///
/// Events of archived channels are for clients that declare `archived_channels`. To the others a channel is deleted when
/// it is archived, and created with its subscriptions when it is unarchived.
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
    for channel in &channels {
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
        self.before.is_none_or(|before| before.privacy != self.after.privacy)
    }

    /// Returns whether the channel is archived by the change.
    fn is_archived_now(&self) -> bool {
        self.after.is_archived && self.before.is_some_and(|before| !before.is_archived)
    }

    /// Returns whether the channel is unarchived by the change.
    fn is_unarchived_now(&self) -> bool {
        !self.after.is_archived && self.before.is_some_and(|before| before.is_archived)
    }

    /// Returns which queues receive what changes in the channel, for users who see it before and after the change.
    fn queues(&self) -> QueueCondition {
        queues_of(self.after.is_archived || self.before.is_some_and(|before| before.is_archived))
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
    /// Notifies users who did not see the channel and now do. It has no subscribers yet: those are told next, and clients
    /// count them.
    fn add_created(&self, channel: &ChannelDiff<'_>, events: &mut Vec<NewEvent>) {
        let event = json!({"type": "stream", "op": "create", "streams": [basic_channel_object(channel.after, self.figures, 0)]});
        let all = || all_who_see(self.after, channel.after);
        let Some(before) = channel.before else {
            return add_for(all(), queues_of(channel.after.is_archived), &event, events);
        };
        if channel.is_unarchived_now() {
            add_for(all(), WITHOUT_ARCHIVED, &event, events);
        }
        let newly = self.new_audiences(channel, (self.before, before), (self.after, channel.after));
        add_for(newly, channel.queues(), &event, events);
    }

    /// Notifies users who saw the channel and no longer do.
    fn add_removed(&self, channel: &ChannelDiff<'_>, events: &mut Vec<NewEvent>) {
        let Some(before) = channel.before else { return };
        let streams = [basic_channel_object(before, self.figures, self.before.active_subscriber_count(before.id))];
        let event = json!({"type": "stream", "op": "delete", "streams": streams, "stream_ids": [before.id]});
        if channel.is_archived_now() {
            add_for(all_who_see(self.before, before), WITHOUT_ARCHIVED, &event, events);
        }
        let no_longer = self.new_audiences(channel, (self.after, channel.after), (self.before, before));
        add_for(no_longer, channel.queues(), &event, events);
    }

    /// Returns who may know the channel in the second state and not in the first.
    fn new_audiences(
        &self,
        channel: &ChannelDiff<'_>,
        (first, hidden): (&RealmSnapshot, &Channel),
        (second, seen): (&RealmSnapshot, &Channel),
    ) -> Vec<EventAudience> {
        let sees_newly = |id: &UserId| {
            self.after.user(*id).is_some_and(|user| {
                may_know_channel_name(second, user, seen) && !may_know_channel_name(first, user, hidden)
            })
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
        let entered = |channel: &ChannelDiff<'_>| channel.entered.clone();
        let (archived, active): (Vec<_>, Vec<_>) = channels.iter().partition(|channel| channel.after.is_archived);
        self.add_begun(&self.begun(&active, entered), None, events);
        self.add_begun(&self.begun(&archived, entered), Some(true), events);
        let unarchived: Vec<_> = active.into_iter().filter(|channel| channel.is_unarchived_now()).collect();
        let inside = |channel: &ChannelDiff<'_>| self.before.subscribers(channel.id()).collect();
        self.add_begun(&self.begun(&unarchived, inside), Some(false), events);
    }

    /// Returns the subscriptions of users to these channels.
    fn begun<'s>(
        &'s self,
        channels: &[&ChannelDiff<'_>],
        users: impl Fn(&ChannelDiff<'_>) -> Vec<UserId>,
    ) -> BTreeMap<UserId, Vec<&'s Subscription>> {
        let mut begun: BTreeMap<UserId, Vec<&Subscription>> = BTreeMap::new();
        for channel in channels {
            let users = users(channel).into_iter();
            for subscription in users.filter_map(|user_id| self.after.subscription(channel.id(), user_id)) {
                begun.entry(subscription.user_id).or_default().push(subscription);
            }
        }
        begun
    }

    /// Adds the events of subscriptions: for all queues, or for those that show archived channels, or do not.
    fn add_begun(
        &self,
        entered: &BTreeMap<UserId, Vec<&Subscription>>,
        shows_archived: Option<bool>,
        events: &mut Vec<NewEvent>,
    ) {
        let forms = [(false, false), (false, true), (true, false)];
        for (null_notifications, email_address) in forms {
            let fields = SubscriptionFields { null_notifications, email_address, subscribers: false };
            let mut groups: BTreeMap<Vec<ShownChoices<'_>>, Vec<UserId>> = BTreeMap::new();
            for (user_id, begun) in entered {
                let shown = begun.iter().map(|begun| ShownChoices::of(self.after, begun, null_notifications));
                groups.entry(shown.collect()).or_default().push(*user_id);
            }
            for users in groups.into_values() {
                let begun = users.first().and_then(|user_id| entered.get(user_id)).into_iter().flatten();
                let subscriptions: Vec<Value> = begun.filter_map(|begun| self.subscription(begun, fields)).collect();
                let with_subscribers =
                    subscriptions.iter().cloned().map(|object| self.with_subscribers(object)).collect();
                for (subscriptions, are_listed) in [(subscriptions, false), (with_subscribers, true)] {
                    let nulls = (ClientCapability::NotificationSettingsNull, null_notifications);
                    let address = (ClientCapability::ChannelEmailAddress, email_address);
                    let lists = (ClientCapability::IncludeSubscribers, are_listed);
                    let gate = match shows_archived {
                        None => QueueCondition::Three([nulls, address, lists]),
                        Some(shows) => QueueCondition::Four([nulls, address, lists, (ARCHIVED, shows)]),
                    };
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
                add_for(vec![audience], channel.queues(), &event(op, users), events);
            }
        }
        let Some(before) = channel.before else { return };
        let inside: Vec<UserId> = self.after.subscribers(channel.id()).collect();
        if inside.is_empty() {
            return;
        }
        if channel.is_unarchived_now() {
            let audience = knows_subscribers(self.after, channel.after, &inside);
            add_for(vec![audience], WITHOUT_ARCHIVED, &event("peer_add", &inside), events);
        }
        if channel.opens_or_closes() {
            let newly = self.new_audiences(channel, (self.before, before), (self.after, channel.after));
            add_for(newly, channel.queues(), &event("peer_add", &inside), events);
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
            add_for(all_who_see(self.after, channel.after), channel.queues(), &event.into(), events);
        };
        let after = channel.after;
        if before.is_archived != after.is_archived {
            send(&after.name, "is_archived", json!(after.is_archived), json!({}));
        }
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
        if before.is_recently_active != after.is_recently_active {
            send(&after.name, "is_recently_active", json!(after.is_recently_active), json!({}));
        }
        if before.folder_id != after.folder_id {
            send(&after.name, "folder_id", json!(after.folder_id), json!({}));
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
            let listed = |channel: &Arc<Channel>| {
                let count = self.after.active_subscriber_count(channel.id);
                default_channel_value(FEATURE_LEVEL, channel, self.figures, count)
            };
            let channels: Vec<_> = channels.map(listed).collect();
            let event = json!({"type": "default_streams", "default_streams": channels});
            events.push(NewEvent::same_for_everyone(EventAudience::Members, event));
        }
    }
}

/// Notifies users of the subscriptions they have no longer.
fn add_unsubscriptions(channels: &[ChannelDiff<'_>], events: &mut Vec<NewEvent>) {
    for is_archived in [false, true] {
        let left = channels.iter().filter(|channel| channel.after.is_archived == is_archived);
        add_unsubscriptions_from(left, queues_of(is_archived), events);
    }
}

fn add_unsubscriptions_from<'a>(
    channels: impl Iterator<Item = &'a ChannelDiff<'a>>,
    queues: QueueCondition,
    events: &mut Vec<NewEvent>,
) {
    let mut left: BTreeMap<UserId, Vec<ChannelId>> = BTreeMap::new();
    let mut named = BTreeMap::new();
    for channel in channels {
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
        add_for(vec![EventAudience::from_users(users)], queues, &event, events);
    }
}

/// Adds an event for each of these audiences.
fn add_for(audiences: Vec<EventAudience>, queues: QueueCondition, event: &Value, events: &mut Vec<NewEvent>) {
    let event = |audience| NewEvent::same_for_everyone(audience, event.clone()).with_queue_condition(queues);
    events.extend(audiences.into_iter().map(event));
}

/// Returns the queues that receive events of channels that are archived, or are not.
fn queues_of(is_archived: bool) -> QueueCondition {
    if is_archived { QueueCondition::With(ARCHIVED) } else { QueueCondition::Any }
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

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
