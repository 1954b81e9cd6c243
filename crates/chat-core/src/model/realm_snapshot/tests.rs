use super::*;
use crate::event_log::event::LogRecord;
use crate::id::MessageId;
use crate::markdown::NameDirectory as _;
use crate::model::channel::ChannelPrivacy;
use crate::model::role::Role;
use crate::testing;

fn record(id: i64, changes: Vec<RealmChange>) -> LogRecord {
    LogRecord::new(EventId(id), 0, changes, None)
}

#[test]
fn a_renamed_user_is_found_by_the_new_address_alone() {
    let user = testing::user(3, Role::Member);
    let before = RealmSnapshot::default().after_record(&record(1, vec![RealmChange::User(Box::new(user.clone()))]));
    let renamed = User { email: "New@x.org".to_owned(), ..user.clone() };
    let after = before.after_record(&record(2, vec![RealmChange::User(Box::new(renamed))]));
    assert!(after.user_by_email(&user.email).is_none());
    assert_eq!(after.user_by_email("nEW@X.org").map(|user| user.id), Some(UserId(3)));
    // The older snapshot is as it was.
    assert!(before.user_by_email(&user.email).is_some());
    assert_eq!((after.log_position(), after.changed_at(), after.nth_unused_id(1)), (EventId(2), EventId(2), 4));
}

#[test]
fn a_record_is_applied_once() {
    let user = RealmChange::User(Box::new(testing::user(3, Role::Member)));
    let at_five = RealmSnapshot::default().after_record(&record(5, vec![user]));
    let later = at_five
        .after_record(&record(4, vec![RealmChange::GroupRemoved(UserGroupId(1))]))
        .after_record(&record(6, Vec::new()));
    assert_eq!((later.log_position(), later.changed_at()), (EventId(6), EventId(5)));
}

#[test]
fn what_old_messages_show_changes_with_users_channels_and_linkifiers_alone() {
    let mut realm = RealmSnapshot::default();
    let linkifier = |kind| RealmChange::Item { kind, id: 1, document: None };
    for (id, change, is_of_names) in [
        (1, RealmChange::User(Box::new(testing::user(3, Role::Member))), true),
        (2, RealmChange::Channel(Box::new(testing::channel(8, ChannelPrivacy::Public))), true),
        (3, RealmChange::Subscription(Box::new(testing::subscription(8, 3))), false),
        (4, linkifier(RealmItemKind::Linkifier), true),
        (5, linkifier(RealmItemKind::Emoji), false),
        (6, RealmChange::GroupRemoved(UserGroupId(1)), false),
    ] {
        let before = realm.names_changed_at();
        realm = realm.after_record(&record(id, vec![change]));
        assert_eq!(realm.names_changed_at(), if is_of_names { EventId(id) } else { before }, "{id}");
    }
    let loaded = RealmSnapshot::from_stored_state(StoredRealmState {
        at: EventId(9),
        changed: EventId(6),
        ..StoredRealmState::default()
    });
    assert_eq!(loaded.names_changed_at(), EventId(6));
}

#[test]
fn a_new_key_ends_the_one_before() {
    let keys = [KeyHash([1; 32]), KeyHash([2; 32])];
    let change = |key: &KeyHash| RealmChange::Key { user_id: UserId(3), hash: *key };
    let user = RealmChange::User(Box::new(testing::user(3, Role::Member)));
    let realm = RealmSnapshot::default().after_record(&record(1, vec![user, change(&keys[0])]));
    assert_eq!(realm.user_by_key_hash(&keys[0]).map(|user| user.id), Some(UserId(3)));
    let realm = realm.after_record(&record(2, vec![change(&keys[1])]));
    assert!(realm.user_by_key_hash(&keys[0]).is_none());
    assert_eq!(realm.user_by_key_hash(&keys[1]).map(|user| user.id), Some(UserId(3)));
}

#[test]
fn who_leaves_and_comes_back_received_what_lay_between_not() {
    let join = || RealmChange::Subscription(Box::new(testing::subscription(8, 3)));
    let leave = RealmChange::Unsubscription { channel_id: ChannelId(8), user_id: UserId(3) };
    let mut realm = RealmSnapshot::default();
    for (id, change) in [(2, join()), (4, join()), (6, leave), (9, join())] {
        realm = realm.after_record(&record(id, vec![change]));
    }
    let membership = realm.membership(ChannelId(8), UserId(3)).unwrap();
    let received: Vec<i64> = (1..12).filter(|id| membership.was_subscribed_at(MessageId(*id))).collect();
    assert_eq!(received, [3, 4, 5, 6, 10, 11]);
    assert_eq!(realm.subscribers(ChannelId(8)).collect::<Vec<_>>(), [UserId(3)]);
}

#[test]
fn a_name_two_users_share_names_nobody() {
    let named = |id| User { full_name: "Sam".to_owned(), ..testing::user(id, Role::Member) };
    let realm = RealmSnapshot::default().after_record(&record(1, vec![RealmChange::User(Box::new(named(3)))]));
    assert_eq!(realm.user_by_full_name("sam"), Some((UserId(3), "Sam")));
    let realm = realm.after_record(&record(2, vec![RealmChange::User(Box::new(named(4)))]));
    assert_eq!(realm.user_by_full_name("sam"), None);
}
