//! Who is notified of a message, and why.

use serde_json::Value;

use crate::event_log::event::{EventBody, LogRecord, NewMessageEvent};
use crate::id::{ChannelId, UserId};
use crate::messages::topic_visibility_policy::{self, TopicVisibilityPolicy};
use crate::model::message::{MessageFlag, Recipient};
use crate::model::realm_change::UserItemKind;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::people::presence::{OFFLINE_THRESHOLD_S, PresenceStore};
use crate::wire_format::user_settings;

/// The trigger of a notification: a direct message, mention, wildcard mention, followed topic or channel setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotificationTrigger {
    /// It was written to them.
    Direct,
    /// It mentions them, or a group they are in.
    Mention,
    /// It mentions everybody.
    Wildcard,
    /// It is in a topic they follow.
    FollowedTopic,
    /// It is in a channel they asked to be notified of.
    Channel,
}

/// Returns those of the users who are notified of the message of a record, in their order. None for records without a
/// message.
///
/// # Source
/// Specification, "Boolean parameters" of `PATCH /realm/user_settings_defaults`: the settings of notifications on
/// telephones. Not specified: who is there now is notified all the same unless `enable_online_push_notifications` is
/// off, and nobody of what they wrote, muted, or had read at once.
#[must_use]
pub fn select_notification_receivers(
    realm: &RealmSnapshot,
    presences: &dyn PresenceStore,
    record: &LogRecord,
    users: &[UserId],
) -> Vec<(UserId, NotificationTrigger)> {
    let Some(new_event) = &record.event else { return Vec::new() };
    let EventBody::Message(event) = &new_event.body else { return Vec::new() };
    let users = users.iter().filter_map(|id| realm.user(*id));
    let hearing = users.filter(|user| {
        let may_hear = user.is_active && user.bot.is_none() && user.id != event.message.sender_id;
        may_hear && new_event.audience.includes_user(record.id, user, realm)
    });
    let notified = hearing.filter_map(|user| {
        let trigger = trigger(realm, user, event)?;
        let is_there = is_there(presences, user.id, record.at_s);
        let is_wanted = !is_there || is_on(realm, user, "enable_online_push_notifications");
        is_wanted.then_some((user.id, trigger))
    });
    notified.collect()
}

/// Returns whether they used a client just now.
fn is_there(presences: &dyn PresenceStore, id: UserId, at_s: i64) -> bool {
    presences.presence_of_user(id).is_some_and(|presence| at_s - presence.active_s < OFFLINE_THRESHOLD_S)
}

fn trigger(realm: &RealmSnapshot, user: &User, event: &NewMessageEvent) -> Option<NotificationTrigger> {
    let muted = event.message.sender_id.to_string();
    let flags = event.flags_for_receiver(user.id);
    if flags.contains(&MessageFlag::Read) || realm.user_item(user.id, UserItemKind::MutedUser, &muted).is_some() {
        return None;
    }
    let offline = is_on(realm, user, "enable_offline_push_notifications");
    match event.message.recipient {
        Recipient::Direct(_) => offline.then_some(NotificationTrigger::Direct),
        Recipient::Channel(_) if offline && flags.contains(&MessageFlag::Mentioned) => {
            Some(NotificationTrigger::Mention)
        }
        Recipient::Channel(channel) => of_channel(realm, user, (channel, event), &flags, offline),
    }
}

fn of_channel(
    realm: &RealmSnapshot,
    user: &User,
    (channel, event): (ChannelId, &NewMessageEvent),
    flags: &[MessageFlag],
    offline: bool,
) -> Option<NotificationTrigger> {
    let subscription = realm.subscription(channel, user.id)?;
    let policy = topic_visibility_policy::topic_visibility_policy_of(realm, user.id, channel, &event.message.topic);
    let is_followed = policy == TopicVisibilityPolicy::Followed;
    let is_heard = match policy {
        TopicVisibilityPolicy::Muted => false,
        TopicVisibilityPolicy::Inherit => !subscription.is_muted,
        TopicVisibilityPolicy::Unmuted | TopicVisibilityPolicy::Followed => true,
    };
    if !is_heard {
        return None;
    }
    let chosen = subscription.notifications;
    let everybody = [MessageFlag::StreamWildcardMentioned, MessageFlag::TopicWildcardMentioned];
    let notifies_wildcards = chosen.wildcard_mentions.unwrap_or_else(|| is_on(realm, user, "wildcard_mentions_notify"))
        || (is_followed && is_on(realm, user, "enable_followed_topic_wildcard_mentions_notify"));
    if offline && notifies_wildcards && flags.iter().any(|flag| everybody.contains(flag)) {
        return Some(NotificationTrigger::Wildcard);
    }
    if is_followed && is_on(realm, user, "enable_followed_topic_push_notifications") {
        return Some(NotificationTrigger::FollowedTopic);
    }
    let of_all = chosen.push.unwrap_or_else(|| is_on(realm, user, "enable_stream_push_notifications"));
    of_all.then_some(NotificationTrigger::Channel)
}

fn is_on(realm: &RealmSnapshot, user: &User, setting: &str) -> bool {
    user_settings::user_settings_of(realm, user).get(setting).and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event_log::event::{EventAudience, NewEvent, QueueCondition};
    use crate::id::{DirectConversationId, EventId};
    use crate::model::channel::{ChannelPrivacy, Subscription, SubscriptionNotificationSettings};
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::model::role::Role;
    use crate::people::presence::{ChangedPresences, Presence, PresenceStatus};
    use crate::testing::{self, NOW_S};

    /// Everybody was there so many seconds ago.
    struct Ago(i64);

    impl PresenceStore for Ago {
        fn record_presence(&self, _: UserId, _: PresenceStatus, _: i64) {}

        fn presence_of_user(&self, _: UserId) -> Option<Presence> {
            let at_s = NOW_S - self.0;
            Some(Presence { active_s: at_s, connected_s: at_s })
        }

        fn presences_since(&self, _: i64) -> ChangedPresences {
            ChangedPresences { presences: Vec::new(), last: 0 }
        }
    }

    fn setting(document: Value) -> RealmChange {
        item(UserItemKind::Settings, "", document)
    }

    fn item(kind: UserItemKind, key: &str, document: Value) -> RealmChange {
        RealmChange::UserItem { user_id: UserId(4), kind, key: key.to_owned(), document: Some(document) }
    }

    fn policy(number: i64) -> RealmChange {
        let document = json!({"stream_id": 20, "topic_name": "Lunch", "last_updated": 5, "visibility_policy": number});
        item(UserItemKind::TopicPolicy, &topic_item(), document)
    }

    fn topic_item() -> String {
        let mut commit = crate::event_log::realm_commit::RealmCommit::default();
        let realm = subscribed(Vec::new());
        let choice = topic_visibility_policy::TopicVisibilityPolicyChange {
            channel: topic_visibility_policy::RequestedChannel::Id(ChannelId(20)),
            topic: "Lunch",
            policy: TopicVisibilityPolicy::Followed,
        };
        topic_visibility_policy::set_topic_visibility_policy(
            &realm,
            realm.user(UserId(4)).unwrap(),
            choice,
            &mut commit,
        )
        .unwrap();
        let Some(RealmChange::UserItem { key, .. }) = commit.changes.first() else { panic!("{:?}", commit.changes) };
        key.clone()
    }

    fn subscribed(more: Vec<RealmChange>) -> RealmSnapshot {
        let mut changes = vec![
            RealmChange::Channel(Box::new(testing::channel(20, ChannelPrivacy::Public))),
            RealmChange::Subscription(Box::new(testing::subscription(20, 4))),
            RealmChange::Subscription(Box::new(testing::subscription(20, 3))),
        ];
        changes.extend(more);
        testing::realm(RealmPermissionSettings::default(), changes)
    }

    /// Returns what user 4 is notified of, a message of user 3 in the channel or to them.
    fn notified(
        more: Vec<RealmChange>,
        recipient: Recipient,
        change: impl FnOnce(&mut NewMessageEvent),
        ago_s: i64,
    ) -> Option<NotificationTrigger> {
        let realm = subscribed(more);
        let mut event = testing::message_event(3, recipient);
        change(&mut event);
        let audience = match recipient {
            Recipient::Channel(channel_id) => EventAudience::Subscribers { channel_id, public: true },
            Recipient::Direct(_) => EventAudience::from_users([UserId(3), UserId(4)]),
        };
        let new_event =
            NewEvent { audience, gate: QueueCondition::default(), body: EventBody::Message(Box::new(event)) };
        let record = LogRecord::new(EventId(50), NOW_S, Vec::new(), Some(new_event));
        let all = [1, 3, 4, 6].map(UserId);
        let found = select_notification_receivers(&realm, &Ago(ago_s), &record, &all);
        assert!(found.iter().all(|(id, _)| *id == UserId(4)), "{found:?}");
        found.first().map(|(_, trigger)| *trigger)
    }

    const DIRECT: Recipient = Recipient::Direct(DirectConversationId(7));
    const CHANNEL: Recipient = Recipient::Channel(ChannelId(20));

    fn mention(event: &mut NewMessageEvent) {
        event.flags.push((UserId(4), MessageFlag::Mentioned));
    }

    fn nothing(_: &mut NewMessageEvent) {}

    #[test]
    fn whom_it_was_written_to_or_mentions_is_notified_unless_they_do_not_wish_it() {
        let off = || vec![setting(json!({"enable_offline_push_notifications": false}))];
        assert_eq!(notified(vec![], DIRECT, nothing, 1_000), Some(NotificationTrigger::Direct));
        assert_eq!(notified(off(), DIRECT, nothing, 1_000), None);
        assert_eq!(notified(vec![], CHANNEL, mention, 1_000), Some(NotificationTrigger::Mention));
        assert_eq!(notified(off(), CHANNEL, mention, 1_000), None);
    }

    #[test]
    fn who_is_there_is_notified_unless_they_wish_it_only_when_away() {
        let away_only = || vec![setting(json!({"enable_online_push_notifications": false}))];
        assert_eq!(notified(vec![], DIRECT, nothing, 10), Some(NotificationTrigger::Direct));
        assert_eq!(notified(away_only(), DIRECT, nothing, 10), None);
        assert_eq!(notified(away_only(), DIRECT, nothing, OFFLINE_THRESHOLD_S), Some(NotificationTrigger::Direct));
    }

    #[test]
    fn a_channel_notifies_those_who_asked_for_it() {
        let chosen = |push| {
            let notifications =
                SubscriptionNotificationSettings { push: Some(push), ..SubscriptionNotificationSettings::default() };
            RealmChange::Subscription(Box::new(Subscription { notifications, ..testing::subscription(20, 4) }))
        };
        let all = || setting(json!({"enable_stream_push_notifications": true}));
        assert_eq!(notified(vec![], CHANNEL, nothing, 1_000), None);
        assert_eq!(notified(vec![chosen(true)], CHANNEL, nothing, 1_000), Some(NotificationTrigger::Channel));
        assert_eq!(notified(vec![all()], CHANNEL, nothing, 1_000), Some(NotificationTrigger::Channel));
        assert_eq!(notified(vec![all(), chosen(false)], CHANNEL, nothing, 1_000), None);
        assert_eq!(notified(vec![all(), policy(1)], CHANNEL, nothing, 1_000), None);
        let muted = Subscription { is_muted: true, ..testing::subscription(20, 4) };
        let muted = || RealmChange::Subscription(Box::new(muted.clone()));
        assert_eq!(notified(vec![all(), muted()], CHANNEL, nothing, 1_000), None);
        assert_eq!(
            notified(vec![all(), muted(), policy(2)], CHANNEL, nothing, 1_000),
            Some(NotificationTrigger::Channel)
        );
        assert_eq!(notified(vec![muted()], CHANNEL, mention, 1_000), Some(NotificationTrigger::Mention));
    }

    #[test]
    fn a_followed_topic_notifies_unless_that_is_off() {
        let off = setting(json!({"enable_followed_topic_push_notifications": false}));
        assert_eq!(notified(vec![policy(3)], CHANNEL, nothing, 1_000), Some(NotificationTrigger::FollowedTopic));
        assert_eq!(notified(vec![policy(3), off], CHANNEL, nothing, 1_000), None);
    }

    #[test]
    fn a_mention_of_everybody_notifies_where_it_is_heard() {
        let everybody = |event: &mut NewMessageEvent| event.wildcard = true;
        let off = || setting(json!({"wildcard_mentions_notify": false}));
        assert_eq!(notified(vec![], CHANNEL, everybody, 1_000), Some(NotificationTrigger::Wildcard));
        assert_eq!(notified(vec![off()], CHANNEL, everybody, 1_000), None);
        assert_eq!(notified(vec![policy(1)], CHANNEL, everybody, 1_000), None);
        assert_eq!(notified(vec![off(), policy(3)], CHANNEL, everybody, 1_000), Some(NotificationTrigger::Wildcard));
    }

    #[test]
    fn nobody_is_notified_of_what_they_muted_or_had_read_or_while_their_account_is_closed() {
        let muted = item(UserItemKind::MutedUser, "3", json!({"timestamp": 1}));
        assert_eq!(notified(vec![muted], DIRECT, nothing, 1_000), None);
        let read = |event: &mut NewMessageEvent| event.flags.push((UserId(4), MessageFlag::Read));
        assert_eq!(notified(vec![], DIRECT, read, 1_000), None);
        let closed = User { is_active: false, ..testing::user(4, Role::Member) };
        assert_eq!(notified(vec![RealmChange::User(Box::new(closed))], DIRECT, nothing, 1_000), None);
    }
}
