//! Topics that people follow, or hear again, because of what happens there.
//!
//! What someone muted stays muted, and what they follow is not made less.

use super::TopicVisibilityPolicy;
use crate::event_log::realm_commit::RealmCommit;
use crate::id::{ChannelId, UserId};
use crate::messages::topic_visibility_policy;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::wire_format::user_settings;

/// An action of a user in a topic, from least to most involved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TopicAction {
    /// Took part: gave a reaction, say.
    TookPart,
    /// Wrote.
    Wrote,
    /// Wrote what is the first message there.
    Began,
}

impl TopicAction {
    /// Returns whether it is what the policy of that number waits for.
    ///
    /// # Source
    /// Specification, `PATCH /realm/user_settings_defaults`: 1 topics the user participates in; 2 topics the user sends
    /// to; 3 topics the user starts; 4 never.
    fn suffices(self, policy: i64) -> bool {
        match policy {
            1 => self >= Self::TookPart,
            2 => self >= Self::Wrote,
            3 => self >= Self::Began,
            _ => false,
        }
    }
}

/// An event in a topic that may change how users follow it.
#[derive(Debug, Clone, Copy)]
pub struct TopicActivity<'a> {
    /// The channel.
    pub channel_id: ChannelId,
    /// The topic.
    pub topic: &'a str,
    /// Who did it.
    pub doer: UserId,
    /// What they did.
    pub action: TopicAction,
    /// Whom they mentioned by name, of those who received it.
    pub mentioned: &'a [UserId],
}

/// Returns whether the outcome depends on whether the acting user started the topic.
#[must_use]
pub fn depends_on_topic_starter(realm: &RealmSnapshot, activity: TopicActivity<'_>) -> bool {
    let doer = realm.user(activity.doer);
    let after = |action| doer.and_then(|doer| by_deed(realm, doer, TopicActivity { action, ..activity }));
    activity.action == TopicAction::Wrote && after(TopicAction::Wrote) != after(TopicAction::Began)
}

/// Sets the visibility policies that the acting and mentioned users chose for such an activity, and notifies their own
/// clients. Returns the acting user's policy, if it is new.
pub fn follow_topic_after_activity(
    realm: &RealmSnapshot,
    activity: TopicActivity<'_>,
    commit: &mut RealmCommit,
) -> Option<TopicVisibilityPolicy> {
    let person = |id: UserId| realm.user(id).filter(|user| user.bot.is_none() && user.is_active);
    for user in activity.mentioned.iter().filter(|id| **id != activity.doer).filter_map(|id| person(*id)) {
        if let Some(policy) = by_mention(realm, user, activity) {
            put(realm, user, activity, policy, commit);
        }
    }
    let doer = person(activity.doer)?;
    let policy = by_deed(realm, doer, activity)?;
    put(realm, doer, activity, policy, commit).then_some(policy)
}

fn by_deed(realm: &RealmSnapshot, doer: &User, activity: TopicActivity<'_>) -> Option<TopicVisibilityPolicy> {
    let TopicActivity { channel_id, action, .. } = activity;
    let waits_for = |setting| action.suffices(user_settings::number_setting(realm, doer.id, setting));
    let is_muted = || realm.subscription(channel_id, doer.id).is_some_and(|subscription| subscription.is_muted);
    if waits_for("automatically_follow_topics_policy") {
        more(realm, doer, activity, TopicVisibilityPolicy::Followed)
    } else if is_muted() && waits_for("automatically_unmute_topics_in_muted_streams_policy") {
        more(realm, doer, activity, TopicVisibilityPolicy::Unmuted)
    } else {
        None
    }
}

fn by_mention(realm: &RealmSnapshot, user: &User, activity: TopicActivity<'_>) -> Option<TopicVisibilityPolicy> {
    let follows = user_settings::bool_setting(realm, user.id, "automatically_follow_topics_where_mentioned");
    if follows { more(realm, user, activity, TopicVisibilityPolicy::Followed) } else { None }
}

/// Returns the policy, where it is more than the user has and they did not mute the topic.
fn more(
    realm: &RealmSnapshot,
    user: &User,
    activity: TopicActivity<'_>,
    policy: TopicVisibilityPolicy,
) -> Option<TopicVisibilityPolicy> {
    let now = topic_visibility_policy::topic_visibility_policy_of(realm, user.id, activity.channel_id, activity.topic);
    (now != TopicVisibilityPolicy::Muted && now < policy).then_some(policy)
}

/// Says whether there was room for it: no user is notified of a limit when they chose nothing.
fn put(
    realm: &RealmSnapshot,
    user: &User,
    activity: TopicActivity<'_>,
    policy: TopicVisibilityPolicy,
    commit: &mut RealmCommit,
) -> bool {
    let channel = realm.channel(activity.channel_id);
    channel.is_some_and(|channel| {
        topic_visibility_policy::put(realm, user, (channel, activity.topic), policy, commit).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::channel::{ChannelPrivacy, Subscription};
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::{RealmChange, UserItemKind};
    use crate::testing;

    /// User 4 in channel 20, with these preferences.
    fn realm(is_muted: bool, preferences: serde_json::Value) -> RealmSnapshot {
        let subscription = Subscription { is_muted, ..testing::subscription(20, 4) };
        testing::realm(
            RealmPermissionSettings::default(),
            vec![
                RealmChange::Channel(Box::new(testing::channel(20, ChannelPrivacy::Public))),
                RealmChange::Subscription(Box::new(subscription)),
                RealmChange::UserItem {
                    user_id: UserId(4),
                    kind: UserItemKind::Settings,
                    key: String::new(),
                    document: Some(preferences),
                },
            ],
        )
    }

    fn chose(realm: &RealmSnapshot, policy: TopicVisibilityPolicy) -> RealmSnapshot {
        use crate::event_log::event::LogRecord;
        use crate::id::EventId;
        let mut commit = RealmCommit::default();
        let channel = realm.channel(ChannelId(20)).unwrap();
        topic_visibility_policy::put(realm, realm.user(UserId(4)).unwrap(), (channel, "Lunch"), policy, &mut commit)
            .unwrap();
        realm.after_record(&LogRecord::new(EventId(realm.log_position().0 + 1), 0, commit.changes, None))
    }

    fn activity(doer: i64, action: TopicAction, mentioned: &[UserId]) -> TopicActivity<'_> {
        TopicActivity { channel_id: ChannelId(20), topic: "lunch", doer: UserId(doer), action, mentioned }
    }

    fn followed(realm: &RealmSnapshot, action: TopicAction) -> Option<TopicVisibilityPolicy> {
        follow_topic_after_activity(realm, activity(4, action, &[]), &mut RealmCommit::default())
    }

    const DEEDS: [TopicAction; 3] = [TopicAction::TookPart, TopicAction::Wrote, TopicAction::Began];

    #[test]
    fn a_topic_is_followed_by_what_the_policy_waits_for() {
        for (policy, times) in [(1, 3), (2, 2), (3, 1), (4, 0)] {
            let realm = realm(false, json!({"automatically_follow_topics_policy": policy}));
            let found = DEEDS.map(|action| followed(&realm, action));
            assert_eq!(
                found.iter().filter(|found| **found == Some(TopicVisibilityPolicy::Followed)).count(),
                times,
                "{policy}"
            );
            assert!(found.is_sorted(), "{policy}");
            let asks = depends_on_topic_starter(&realm, activity(4, TopicAction::Wrote, &[]));
            assert_eq!(asks, policy == 3);
        }
    }

    #[test]
    fn a_topic_of_a_muted_channel_is_heard_again_by_what_the_policy_waits_for() {
        for (policy, times) in [(1, 3), (2, 2), (3, 1), (4, 0)] {
            let preferences = json!({
                "automatically_follow_topics_policy": 4, "automatically_unmute_topics_in_muted_streams_policy": policy,
            });
            let heard = |is_muted| DEEDS.map(|action| followed(&realm(is_muted, preferences.clone()), action));
            let found = heard(true).into_iter().filter(|found| *found == Some(TopicVisibilityPolicy::Unmuted)).count();
            assert_eq!((found, heard(false)), (times, [None; 3]), "{policy}");
        }
    }

    #[test]
    fn what_was_muted_stays_muted_and_what_is_followed_is_not_made_less() {
        let always = json!({"automatically_follow_topics_policy": 1});
        let plain = realm(true, always);
        let now = |policy| followed(&chose(&plain, policy), TopicAction::Began);
        assert_eq!(now(TopicVisibilityPolicy::Muted), None);
        assert_eq!(now(TopicVisibilityPolicy::Unmuted), Some(TopicVisibilityPolicy::Followed));
        assert_eq!(now(TopicVisibilityPolicy::Followed), None);
    }

    #[test]
    fn who_is_mentioned_follows_unless_they_chose_not_to() {
        let mentioned = [UserId(4), UserId(99)];
        let events = |realm: &RealmSnapshot, doer| {
            let mut commit = RealmCommit::default();
            let own = follow_topic_after_activity(realm, activity(doer, TopicAction::Wrote, &mentioned), &mut commit);
            assert_eq!(own, None);
            commit.changes.len()
        };
        let usual = realm(false, json!({}));
        assert_eq!((events(&usual, 2), events(&usual, 4)), (1, 0));
        assert_eq!(events(&chose(&usual, TopicVisibilityPolicy::Muted), 2), 0);
        assert_eq!(events(&realm(false, json!({"automatically_follow_topics_where_mentioned": false})), 2), 0);
    }
}
