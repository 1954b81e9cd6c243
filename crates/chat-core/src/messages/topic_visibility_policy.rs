//! How someone follows a topic: not at all, even in a muted channel, or closely.

pub mod automatic_policies;
pub mod follow_rules;
pub mod topic_relocation;

use serde_json::{Value, json};

use crate::event_log::event::{ClientCapability, EventAudience, NewEvent, QueueCondition};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::{ChannelId, UserId};
use crate::limits::MAX_TOPIC_POLICIES_PER_USER;
use crate::model::channel::Channel;
use crate::model::message::topic_key;
use crate::model::realm_change::{RealmChange, UserItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access::{self, ChannelNotFound};
use crate::wire_format::realm_and_user_items;

/// The visibility policy of a topic for a user: the API's `visibility_policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TopicVisibilityPolicy {
    /// 0: as its channel.
    Inherit,
    /// 1: not heard.
    Muted,
    /// 2: heard, in a muted channel too.
    Unmuted,
    /// 3: followed.
    Followed,
}

impl TopicVisibilityPolicy {
    /// Every policy with its wire number.
    pub const WIRE_NUMBERS: [(i64, Self); 4] =
        [(0, Self::Inherit), (1, Self::Muted), (2, Self::Unmuted), (3, Self::Followed)];

    /// Returns the number of the policy on the wire.
    #[must_use]
    pub fn wire_number(self) -> i64 {
        Self::WIRE_NUMBERS.iter().find(|(_, policy)| *policy == self).map_or(0, |(number, _)| *number)
    }
}

/// A channel, as a request names it.
#[derive(Debug, Clone, Copy)]
pub enum RequestedChannel<'a> {
    /// By number.
    Id(ChannelId),
    /// By name.
    Name(&'a str),
}

/// A topic and the visibility policy to set.
#[derive(Debug, Clone, Copy)]
pub struct TopicVisibilityPolicyChange<'a> {
    /// Where.
    pub channel: RequestedChannel<'a>,
    /// The topic, as typed; there need be no message in it.
    pub topic: &'a str,
    /// How.
    pub policy: TopicVisibilityPolicy,
}

/// The reason why a topic visibility policy is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TopicVisibilityPolicyError {
    /// There is no such channel, or none the user may see.
    #[error(transparent)]
    Channel(#[from] ChannelNotFound),
    /// The user chose too many.
    #[error("Too many topics are muted, unmuted or followed (maximum {MAX_TOPIC_POLICIES_PER_USER}).")]
    TooMany,
}

/// Sets a user's visibility policy for a topic, which may be set already, and notifies their own clients. It can be so
/// already.
///
/// Back to [`TopicVisibilityPolicy::Inherit`] leads a way from channels the user sees no longer, but was in or chose
/// something in.
///
/// # Errors
/// See [`TopicVisibilityPolicyError`].
pub fn set_topic_visibility_policy(
    realm: &RealmSnapshot,
    user: &User,
    choice: TopicVisibilityPolicyChange<'_>,
    commit: &mut RealmCommit,
) -> Result<(), TopicVisibilityPolicyError> {
    let channel = place(realm, user, choice)?;
    put(realm, user, (channel, choice.topic), choice.policy, commit)
}

/// Returns the user's visibility policy for the topic.
#[must_use]
pub fn topic_visibility_policy_of(
    realm: &RealmSnapshot,
    user_id: UserId,
    channel_id: ChannelId,
    topic: &str,
) -> TopicVisibilityPolicy {
    let chosen = realm.user_item(user_id, UserItemKind::TopicPolicy, &key(channel_id, topic));
    let number = chosen.and_then(|chosen| chosen.get("visibility_policy")).and_then(Value::as_i64);
    let found = TopicVisibilityPolicy::WIRE_NUMBERS.iter().find(|(known, _)| Some(*known) == number);
    found.map_or(TopicVisibilityPolicy::Inherit, |(_, policy)| *policy)
}

/// Returns the topics with that policy of the user, as channel and topic key. Those that inherit are not known.
#[must_use]
pub fn topics_with_policy(
    realm: &RealmSnapshot,
    user_id: UserId,
    policy: TopicVisibilityPolicy,
) -> Vec<(ChannelId, String)> {
    let chosen = realm.user_items(user_id, UserItemKind::TopicPolicy);
    let with_policy = |(key, document): (&str, &Value)| {
        let number = document.get("visibility_policy").and_then(Value::as_i64)?;
        let (channel, topic) = key.split_once('/').filter(|_| number == policy.wire_number())?;
        Some((ChannelId(channel.parse().ok()?), topic.to_owned()))
    };
    chosen.filter_map(with_policy).collect()
}

/// Returns whether the topic is muted for the user, by itself or with its channel. A channel that they are not in
/// counts as muted.
#[must_use]
pub fn is_topic_muted(realm: &RealmSnapshot, user_id: UserId, channel_id: ChannelId, topic: &str) -> bool {
    let of_channel = || realm.subscription(channel_id, user_id).is_none_or(|subscription| subscription.is_muted);
    match topic_visibility_policy_of(realm, user_id, channel_id, topic) {
        TopicVisibilityPolicy::Inherit => of_channel(),
        TopicVisibilityPolicy::Muted => true,
        TopicVisibilityPolicy::Unmuted | TopicVisibilityPolicy::Followed => false,
    }
}

/// Returns whether the user muted the topic, or its channel and not the topic apart from it. A channel they are not in
/// is not muted.
#[must_use]
pub fn mutes(realm: &RealmSnapshot, user_id: UserId, channel_id: ChannelId, topic: &str) -> bool {
    match topic_visibility_policy_of(realm, user_id, channel_id, topic) {
        TopicVisibilityPolicy::Inherit => {
            realm.subscription(channel_id, user_id).is_some_and(|subscription| subscription.is_muted)
        }
        TopicVisibilityPolicy::Muted => true,
        TopicVisibilityPolicy::Unmuted | TopicVisibilityPolicy::Followed => false,
    }
}

fn place<'a>(
    realm: &'a RealmSnapshot,
    user: &User,
    choice: TopicVisibilityPolicyChange<'_>,
) -> Result<&'a Channel, ChannelNotFound> {
    let seen = match choice.channel {
        RequestedChannel::Id(id) => access::find_visible_channel(realm, user, id),
        RequestedChannel::Name(name) => access::find_visible_channel_by_name(realm, user, name),
    };
    if choice.policy != TopicVisibilityPolicy::Inherit {
        return Ok(seen?);
    }
    let known = || match choice.channel {
        RequestedChannel::Id(id) => realm.channel(id),
        RequestedChannel::Name(name) => realm.channel_by_name(name),
    };
    let chosen = |id| topic_visibility_policy_of(realm, user.id, id, choice.topic) != TopicVisibilityPolicy::Inherit;
    let left = |channel: &Channel| realm.membership(channel.id, user.id).is_some() || chosen(channel.id);
    let found = seen.or_else(|refused| known().filter(|channel| left(channel)).ok_or(refused));
    Ok(found?)
}

/// Writes a policy down, unless it is so already.
pub(super) fn put(
    realm: &RealmSnapshot,
    user: &User,
    (channel, topic): (&Channel, &str),
    policy: TopicVisibilityPolicy,
    commit: &mut RealmCommit,
) -> Result<(), TopicVisibilityPolicyError> {
    let is_new = topic_visibility_policy_of(realm, user.id, channel.id, topic) == TopicVisibilityPolicy::Inherit
        && policy != TopicVisibilityPolicy::Inherit;
    if is_new && realm.user_items(user.id, UserItemKind::TopicPolicy).count() >= MAX_TOPIC_POLICIES_PER_USER {
        return Err(TopicVisibilityPolicyError::TooMany);
    }
    write(realm, user, &[(channel, topic, policy)], commit);
    Ok(())
}

/// Writes policies of different topics down, those that are not so already, however many the user has.
pub(super) fn write(
    realm: &RealmSnapshot,
    user: &User,
    changes: &[(&Channel, &str, TopicVisibilityPolicy)],
    commit: &mut RealmCommit,
) {
    let mut now = Vec::new();
    for (channel, topic, policy) in changes {
        if topic_visibility_policy_of(realm, user.id, channel.id, topic) == *policy {
            continue;
        }
        let chosen = json!({
            "stream_id": channel.id,
            "topic_name": topic,
            "last_updated": commit.at_s,
            "visibility_policy": policy.wire_number(),
        });
        let key = key(channel.id, topic);
        now.push((key.clone(), chosen.clone()));
        tell(realm, user, &now, commit);
        let document = (*policy != TopicVisibilityPolicy::Inherit).then_some(chosen);
        commit.changes.push(RealmChange::UserItem { user_id: user.id, kind: UserItemKind::TopicPolicy, key, document });
    }
}

/// Notifies the user's own clients of the last of these policies; the older ones, which know no more than muted topics,
/// of all of those.
fn tell(realm: &RealmSnapshot, user: &User, now: &[(String, Value)], commit: &mut RealmCommit) {
    let Some((_, chosen)) = now.last() else { return };
    let audience = EventAudience::from_users([user.id]);
    let muted = json!({"type": "muted_topics", "muted_topics": realm_and_user_items::legacy_muted_topics_with(realm, user.id, now)});
    commit.events.push(
        NewEvent::same_for_everyone(audience.clone(), muted)
            .with_queue_condition(QueueCondition::Without(ClientCapability::UserTopic)),
    );
    let mut event = json!({"type": "user_topic"});
    crate::wire_format::add(&mut event, chosen.clone());
    commit.events.push(NewEvent::same_for_everyone(audience, event));
}

/// A topic is the same in any case.
fn key(channel_id: ChannelId, topic: &str) -> String {
    format!("{channel_id}/{}", topic_key(topic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_log::event::{EventBody, LogRecord};
    use crate::id::EventId;
    use crate::model::channel::{ChannelPrivacy, Subscription};
    use crate::model::realm::RealmPermissionSettings;
    use crate::testing;

    const CHANNEL: ChannelId = ChannelId(20);

    fn realm(privacy: ChannelPrivacy) -> RealmSnapshot {
        let channel = RealmChange::Channel(Box::new(testing::channel(20, privacy)));
        testing::realm(RealmPermissionSettings::default(), vec![channel])
    }

    fn chosen(
        realm: &RealmSnapshot,
        topic: &str,
        policy: TopicVisibilityPolicy,
    ) -> Result<(RealmSnapshot, Vec<Value>), TopicVisibilityPolicyError> {
        let mut commit = RealmCommit { at_s: 9, ..RealmCommit::default() };
        let choice = TopicVisibilityPolicyChange { channel: RequestedChannel::Id(CHANNEL), topic, policy };
        set_topic_visibility_policy(realm, realm.user(UserId(4)).unwrap(), choice, &mut commit)?;
        let events = commit.events.iter().map(|event| match &event.body {
            EventBody::Plain { event, .. } => event.clone(),
            EventBody::Message(_) | EventBody::Edit { .. } | EventBody::Flagged(_) => Value::Null,
        });
        let at = EventId(realm.log_position().0 + 1);
        Ok((realm.after_record(&LogRecord::new(at, 0, commit.changes.clone(), None)), events.collect()))
    }

    #[test]
    fn a_topic_is_the_same_in_any_case_and_forgotten_when_it_is_as_its_channel() {
        let before = realm(ChannelPrivacy::Public);
        let (muted, events) = chosen(&before, "Lunch", TopicVisibilityPolicy::Muted).unwrap();
        assert_eq!(topic_visibility_policy_of(&muted, UserId(4), CHANNEL, "LUNCH"), TopicVisibilityPolicy::Muted);
        assert_eq!(events[0], json!({"type": "muted_topics", "muted_topics": [["Channel 20", "Lunch", 9]]}));
        let said = json!({
            "type": "user_topic", "stream_id": 20, "topic_name": "Lunch", "last_updated": 9, "visibility_policy": 1,
        });
        assert_eq!(events[1], said);
        assert_eq!(topics_with_policy(&muted, UserId(4), TopicVisibilityPolicy::Followed), []);
        let (follows, _) = chosen(&before, "Lunch/Dinner", TopicVisibilityPolicy::Followed).unwrap();
        assert_eq!(
            topics_with_policy(&follows, UserId(4), TopicVisibilityPolicy::Followed),
            [(CHANNEL, "lunch/dinner".to_owned())]
        );
        let (same, events) = chosen(&muted, "lunch", TopicVisibilityPolicy::Muted).unwrap();
        assert_eq!((same.log_position().0, events.len()), (muted.log_position().0 + 1, 0));
        let (gone, events) = chosen(&muted, "lunch", TopicVisibilityPolicy::Inherit).unwrap();
        assert_eq!(events[0]["muted_topics"], json!([]));
        assert_eq!((&events[1]["visibility_policy"], &events[1]["topic_name"]), (&json!(0), &json!("lunch")));
        assert_eq!(gone.user_items(UserId(4), UserItemKind::TopicPolicy).count(), 0);
    }

    #[test]
    fn what_the_user_chose_for_a_topic_stands_over_its_channel() {
        let muted = Subscription { is_muted: true, ..testing::subscription(20, 4) };
        let subscribed = vec![RealmChange::Subscription(Box::new(muted))];
        let realm = realm(ChannelPrivacy::Public).after_record(&LogRecord::new(EventId(11), 0, subscribed, None));
        let hears = |policy| !is_topic_muted(&chosen(&realm, "x", policy).unwrap().0, UserId(4), CHANNEL, "X");
        assert_eq!(TopicVisibilityPolicy::WIRE_NUMBERS.map(|(_, policy)| hears(policy)), [false, false, true, true]);
    }

    #[test]
    fn a_channel_that_is_not_seen_is_left_by_the_way_back_alone() {
        let realm = realm(ChannelPrivacy::PrivateSharedHistory);
        let refused = |realm: &RealmSnapshot, policy| chosen(realm, "x", policy).map(|_| ()).unwrap_err().to_string();
        for (_, policy) in TopicVisibilityPolicy::WIRE_NUMBERS {
            assert_eq!(refused(&realm, policy), "Invalid channel ID");
        }
        let inside = vec![RealmChange::Subscription(Box::new(testing::subscription(20, 4)))];
        let inside = realm.after_record(&LogRecord::new(EventId(11), 0, inside, None));
        let (muted, _) = chosen(&inside, "x", TopicVisibilityPolicy::Muted).unwrap();
        let leave = vec![RealmChange::Unsubscription { channel_id: CHANNEL, user_id: UserId(4) }];
        let left = muted.after_record(&LogRecord::new(EventId(13), 0, leave, None));
        assert_eq!(refused(&left, TopicVisibilityPolicy::Followed), "Invalid channel ID");
        assert!(chosen(&left, "x", TopicVisibilityPolicy::Inherit).is_ok());
    }
}
