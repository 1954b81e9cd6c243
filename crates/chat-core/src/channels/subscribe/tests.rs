use std::sync::Arc;

use super::*;
use crate::channels::{RequestedPrivacy, RetentionPolicy, unsubscribe_users};
use crate::event_log::event::LogRecord;
use crate::id::EventId;
use crate::model::channel::{ChannelPostPolicy, ChannelPrivacy};
use crate::model::realm::RealmPermissionSettings;
use crate::model::role::Role;
use crate::testing::{self, NOW_S};
use crate::wire_format::channel::ChannelStatistics;

/// A realm with members 101 to 100 + `count` beside those of [`testing::realm`], and channel 20.
fn crowd(count: i64, privacy: ChannelPrivacy) -> RealmSnapshot {
    let users = (101..101 + count).map(|id| RealmChange::User(Box::new(testing::user(id, Role::Member))));
    let channel = RealmChange::Channel(Box::new(testing::channel(20, privacy)));
    let owner = RealmChange::Subscription(Box::new(testing::subscription(20, 1)));
    testing::realm(RealmPermissionSettings::default(), users.chain([channel, owner]).collect())
}

fn request(count: i64) -> SubscribeRequest {
    SubscribeRequest {
        channels: vec![ChannelToSubscribe { name: "Channel 20".to_owned(), color: None, description: String::new() }],
        principals: Principals::Ids((101..101 + count).map(UserId).collect()),
        manner: NewChannelSettings {
            openness: RequestedPrivacy::default(),
            post_policy: ChannelPostPolicy::Everyone,
            retention: RetentionPolicy::default(),
            can_remove_subscribers_group: None,
            is_default: false,
            folder_id: None,
        },
        all_or_nothing: true,
    }
}

/// Bytes allocated by the owner's putting users into the channel, and by taking them out again.
fn allocated_bytes(count: i64, privacy: ChannelPrivacy) -> [u64; 2] {
    let realm = crowd(count, privacy);
    let figures = ChannelStatistics::default();
    let request = request(count);
    let caller = Arc::clone(realm.user(UserId(1)).unwrap());
    let env = |realm| ChannelContext { realm, caller: &caller, figures: &figures, realm_url: "", linkifiers: &[] };
    let mut commit = RealmCommit { at_s: NOW_S, ..RealmCommit::default() };
    let entering = allocation_counter::measure(|| {
        let done = subscribe_users(&env(&realm), &request, &mut commit).unwrap();
        assert_eq!(done.subscribed.len(), usize::try_from(count).unwrap());
    });
    let inside = realm.after_record(&LogRecord::new(EventId(20), NOW_S, commit.changes, None));
    let mut commit = RealmCommit { at_s: NOW_S, ..RealmCommit::default() };
    let leaving = allocation_counter::measure(|| {
        let names = ["Channel 20".to_owned()];
        let done = unsubscribe_users(&env(&inside), &names, &request.principals, &mut commit).unwrap();
        assert_eq!(done.removed.len(), usize::try_from(count).unwrap());
    });
    [entering.bytes_total, leaving.bytes_total]
}

#[test]
fn subscriptions_of_four_times_as_many_users_cost_four_times_as_much() {
    for privacy in [ChannelPrivacy::Public, ChannelPrivacy::PrivateSharedHistory] {
        let few = allocated_bytes(500, privacy);
        let many = allocated_bytes(2_000, privacy);
        for (few, many) in few.into_iter().zip(many) {
            assert!(many < 6 * few, "{privacy:?}: {few} bytes for 500 users, {many} for 2,000");
        }
    }
}
