//! How people follow a topic stays with it when all of it moves.

use super::TopicVisibilityPolicy;
use crate::event_log::realm_commit::RealmCommit;
use crate::id::ChannelId;
use crate::messages::topic_visibility_policy;
use crate::model::message::topic_key;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access;

/// Users whose choice moves in one commit; the rest follows in the next.
const AT_ONCE: usize = 200;

/// A whole topic that moved to another channel or name.
#[derive(Debug, Clone, Copy)]
pub struct TopicRelocation<'a> {
    /// Where it was.
    pub from: (ChannelId, &'a str),
    /// Where it is.
    pub to: (ChannelId, &'a str),
    /// Whether something was there before.
    pub joins_another: bool,
}

/// Moves users' visibility policies along with a moved topic, some hundreds per call, and notifies their own clients.
/// Nothing is left to do when nothing is written.
///
/// Where the topic joins another, the greater interest wins: who muted one of the two and not the other hears them.
/// Who may not read where it is has no choice left, and is not told what it is called there.
///
/// # Source
/// Not specified; existing servers have people follow a topic through its moves too.
pub fn relocate_topic_policies(realm: &RealmSnapshot, moved: TopicRelocation<'_>, commit: &mut RealmCommit) {
    let ((from_id, from_topic), (to_id, to_topic)) = (moved.from, moved.to);
    let (Some(from), Some(to)) = (realm.channel(from_id), realm.channel(to_id)) else { return };
    if from_id == to_id && topic_key(from_topic) == topic_key(to_topic) {
        return;
    }
    let mut users: Vec<_> = realm.users().filter(|user| choice(realm, user, moved.from).is_some()).collect();
    users.sort_unstable_by_key(|user| user.id);
    for user in users.into_iter().take(AT_ONCE) {
        let gone = (from.as_ref(), from_topic, TopicVisibilityPolicy::Inherit);
        let stays = topic_visibility_policy::topic_visibility_policy_of(realm, user.id, to_id, to_topic);
        let comes = choice(realm, user, moved.from).unwrap_or(stays);
        if access::participates_in_channel(realm, user, to) {
            let policy = joined(comes, stays, moved.joins_another);
            topic_visibility_policy::write(realm, user, &[gone, (to, to_topic, policy)], commit);
        } else {
            topic_visibility_policy::write(realm, user, &[gone], commit);
        }
    }
}

fn choice(realm: &RealmSnapshot, user: &User, (channel_id, name): (ChannelId, &str)) -> Option<TopicVisibilityPolicy> {
    let policy = topic_visibility_policy::topic_visibility_policy_of(realm, user.id, channel_id, name);
    (policy != TopicVisibilityPolicy::Inherit).then_some(policy)
}

/// Returns what becomes of a choice that comes to where there is one, or none.
fn joined(comes: TopicVisibilityPolicy, stays: TopicVisibilityPolicy, joins_another: bool) -> TopicVisibilityPolicy {
    let interest = |policy| match policy {
        TopicVisibilityPolicy::Muted => 0,
        TopicVisibilityPolicy::Inherit => 1,
        TopicVisibilityPolicy::Unmuted => 2,
        TopicVisibilityPolicy::Followed => 3,
    };
    let is_new = stays == TopicVisibilityPolicy::Inherit && !joins_another;
    if is_new || interest(comes) > interest(stays) { comes } else { stays }
}

#[cfg(test)]
mod tests {
    use TopicVisibilityPolicy::{Followed, Inherit, Muted, Unmuted};

    use super::*;
    use crate::event_log::event::LogRecord;
    use crate::id::{EventId, UserId};
    use crate::model::channel::ChannelPrivacy;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::model::role::Role;
    use crate::testing;

    const PUBLIC: ChannelId = ChannelId(20);
    const PRIVATE: ChannelId = ChannelId(21);

    fn realm() -> RealmSnapshot {
        let channel = |id, privacy| RealmChange::Channel(Box::new(testing::channel(id, privacy)));
        let subscribed = |id, user| RealmChange::Subscription(Box::new(testing::subscription(id, user)));
        let changes = vec![
            channel(20, ChannelPrivacy::Public),
            channel(21, ChannelPrivacy::PrivateSharedHistory),
            subscribed(20, 4),
            subscribed(20, 6),
            subscribed(21, 4),
        ];
        testing::realm(RealmPermissionSettings::default(), changes)
    }

    fn chose(realm: &RealmSnapshot, user: i64, (topic, policy): (&str, TopicVisibilityPolicy)) -> RealmSnapshot {
        let mut commit = RealmCommit::default();
        let (channel, user) = (realm.channel(PUBLIC).unwrap(), realm.user(UserId(user)).unwrap());
        topic_visibility_policy::put(realm, user, (channel, topic), policy, &mut commit).unwrap();
        after(realm, commit)
    }

    fn after(realm: &RealmSnapshot, commit: RealmCommit) -> RealmSnapshot {
        realm.after_record(&LogRecord::new(EventId(realm.log_position().0 + 1), 0, commit.changes, None))
    }

    fn moved(realm: &RealmSnapshot, topic: TopicRelocation<'_>) -> RealmSnapshot {
        let mut commit = RealmCommit::default();
        relocate_topic_policies(realm, topic, &mut commit);
        after(realm, commit)
    }

    #[test]
    fn a_choice_goes_where_its_topic_goes_and_stays_nowhere() {
        let rename = TopicRelocation { from: (PUBLIC, "lunch"), to: (PUBLIC, "✔ lunch"), joins_another: false };
        for policy in [Muted, Unmuted, Followed] {
            let realm = moved(&chose(&realm(), 4, ("Lunch", policy)), rename);
            let now = ["lunch", "✔ Lunch"]
                .map(|name| topic_visibility_policy::topic_visibility_policy_of(&realm, UserId(4), PUBLIC, name));
            assert_eq!(now, [Inherit, policy]);
            let spelled =
                TopicRelocation { from: (PUBLIC, "✔ lunch"), to: (PUBLIC, "✔ LUNCH"), joins_another: false };
            assert_eq!(
                topic_visibility_policy::topic_visibility_policy_of(
                    &moved(&realm, spelled),
                    UserId(4),
                    PUBLIC,
                    "✔ lunch"
                ),
                policy
            );
        }
    }

    #[test]
    fn of_two_topics_that_join_the_greater_interest_wins() {
        let join = |joins_another| TopicRelocation { from: (PUBLIC, "lunch"), to: (PUBLIC, "dinner"), joins_another };
        for (of_lunch, of_dinner, expected) in [
            (Muted, Inherit, Inherit),
            (Muted, Muted, Muted),
            (Muted, Followed, Followed),
            (Unmuted, Muted, Unmuted),
            (Followed, Inherit, Followed),
            (Unmuted, Followed, Followed),
        ] {
            let realm = chose(&chose(&realm(), 4, ("lunch", of_lunch)), 4, ("dinner", of_dinner));
            let realm = moved(&realm, join(true));
            let now = ["lunch", "dinner"]
                .map(|name| topic_visibility_policy::topic_visibility_policy_of(&realm, UserId(4), PUBLIC, name));
            assert_eq!(now, [Inherit, expected], "{of_lunch:?} {of_dinner:?}");
        }
        let realm = moved(&chose(&realm(), 4, ("lunch", Muted)), join(false));
        assert_eq!(topic_visibility_policy::topic_visibility_policy_of(&realm, UserId(4), PUBLIC, "dinner"), Muted);
    }

    #[test]
    fn who_does_not_read_where_a_topic_went_has_no_choice_left() {
        let realm = chose(&chose(&realm(), 4, ("lunch", Muted)), 6, ("lunch", Muted));
        // An administrator sees that the channel is there, and no more of it.
        let realm = chose(&realm, 2, ("lunch", Followed));
        let away = TopicRelocation { from: (PUBLIC, "lunch"), to: (PRIVATE, "lunch"), joins_another: false };
        let realm = moved(&realm, away);
        let now = |user| {
            [PUBLIC, PRIVATE].map(|channel| {
                topic_visibility_policy::topic_visibility_policy_of(&realm, UserId(user), channel, "lunch")
            })
        };
        assert_eq!((now(4), now(6), now(2)), ([Inherit, Muted], [Inherit; 2], [Inherit; 2]));
    }

    #[test]
    fn the_choices_of_many_move_some_at_a_time() {
        let mut realm = realm();
        for id in 100..350 {
            let user = RealmChange::User(Box::new(testing::user(id, Role::Member)));
            realm = after(&realm, RealmCommit { changes: vec![user], ..RealmCommit::default() });
            realm = chose(&realm, id, ("lunch", Followed));
        }
        let rename = TopicRelocation { from: (PUBLIC, "lunch"), to: (PUBLIC, "tea"), joins_another: false };
        let following = |realm: &RealmSnapshot| {
            (100..350)
                .filter(|id| {
                    topic_visibility_policy::topic_visibility_policy_of(realm, UserId(*id), PUBLIC, "tea") == Followed
                })
                .count()
        };
        let once = moved(&realm, rename);
        let twice = moved(&once, rename);
        assert_eq!((following(&once), following(&twice)), (AT_ONCE, 250));
        let mut commit = RealmCommit::default();
        relocate_topic_policies(&twice, rename, &mut commit);
        assert!(commit.changes.is_empty() && commit.events.is_empty());
    }
}
