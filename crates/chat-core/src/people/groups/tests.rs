use super::*;
use crate::event_log::event::LogRecord;
use crate::event_log::realm_commit::RealmCommit;
use crate::id::EventId;
use crate::model::group::GroupSettingValue;
use crate::model::realm::RealmPermissionSettings;
use crate::model::realm_change::RealmChange;
use crate::testing::{self, NOW_S};

fn group(id: i64, members: &[i64], subgroups: &[i64]) -> RealmChange {
    RealmChange::Group(Box::new(UserGroup {
        id: UserGroupId(id),
        name: format!("group {id}"),
        description: String::new(),
        system: None,
        members: members.iter().copied().map(UserId).collect(),
        subgroups: subgroups.iter().copied().map(UserGroupId).collect(),
        can_mention: GroupSettingValue::Group(UserGroupId(50)),
        is_deactivated: false,
        origin: None,
    }))
}

/// Group 50 holds 51, which holds 52 with the member 4.
fn nested() -> RealmSnapshot {
    let changes = vec![group(50, &[], &[51]), group(51, &[2], &[52]), group(52, &[4], &[])];
    testing::realm(RealmPermissionSettings::default(), changes)
}

fn begun() -> RealmCommit {
    RealmCommit { at_s: NOW_S, ..RealmCommit::default() }
}

#[test]
fn a_chain_of_groups_cannot_be_closed_to_a_ring() {
    let realm = nested();
    let owner = realm.user(UserId(1)).unwrap();
    for outer in [50, 51, 52] {
        let mut commit = begun();
        let change = (UserGroupId(52), &[UserGroupId(outer)][..], &[][..]);
        assert_eq!(
            change_group_subgroups(&realm, owner, change, &mut commit),
            Err(UserGroupError::Circular(UserGroupId(52))),
            "{outer}"
        );
        assert!(commit.changes.is_empty() && commit.events.is_empty());
    }
}

#[test]
fn a_question_goes_as_deep_as_it_is_asked_to() {
    let realm = nested();
    let outer = find_user_group(&realm, UserGroupId(50)).unwrap();
    assert_eq!(user_group_members(&realm, outer, MembershipDepth::Direct, NOW_S), []);
    assert_eq!(user_group_members(&realm, outer, MembershipDepth::All, NOW_S), [UserId(2), UserId(4)]);
    assert_eq!(user_group_subgroups(&realm, outer, MembershipDepth::Direct), [UserGroupId(51)]);
    assert_eq!(user_group_subgroups(&realm, outer, MembershipDepth::All), [UserGroupId(51), UserGroupId(52)]);
}

#[test]
fn a_member_through_a_subgroup_may_change_the_group_and_no_other_member() {
    let realm = nested();
    let changes = UserGroupUpdate { description: Some("x".to_owned()), ..UserGroupUpdate::default() };
    let change = |user: i64, id: i64| {
        update_user_group(&realm, realm.user(UserId(user)).unwrap(), (UserGroupId(id), &changes), &mut begun())
    };
    assert_eq!([change(4, 50), change(4, 52), change(3, 50)], [Ok(()), Ok(()), Ok(())]);
    let without = realm.after_record(&LogRecord::new(EventId(20), 0, vec![group(51, &[], &[])], None));
    let member = without.user(UserId(4)).unwrap();
    let refused = update_user_group(&without, member, (UserGroupId(50), &changes), &mut begun());
    assert_eq!(refused, Err(PermissionError::Insufficient.into()));
}

#[test]
fn who_comes_and_goes_in_one_change_leaves_nobody_behind() {
    let realm = nested();
    let owner = realm.user(UserId(1)).unwrap();
    let mut commit = begun();
    let both = [UserId(1)];
    change_group_members(&realm, owner, (UserGroupId(52), &both, &both), &mut commit).unwrap();
    assert_eq!(commit.changes, [group(52, &[4], &[])]);
    assert_eq!(commit.events.len(), 2);
}

/// One look at each member for each other member would be ten thousand million looks, which no test run waits for.
#[test]
fn a_group_of_a_hundred_thousand_is_asked_for_each_of_them_and_emptied() {
    let ids: Vec<i64> = (1_001..101_001).collect();
    let users = ids.iter().map(|id| RealmChange::User(Box::new(testing::user(*id, Role::Member))));
    let realm = testing::realm(RealmPermissionSettings::default(), users.chain([group(50, &ids, &[])]).collect());
    let large = find_user_group(&realm, UserGroupId(50)).unwrap();
    assert_eq!(user_group_members(&realm, large, MembershipDepth::All, NOW_S).len(), ids.len());
    let mut commit = begun();
    let all: Vec<UserId> = ids.iter().copied().map(UserId).collect();
    let (owner, change) = (realm.user(UserId(1)).unwrap(), (UserGroupId(50), &[][..], all.as_slice()));
    change_group_members(&realm, owner, change, &mut commit).unwrap();
    assert_eq!(commit.changes, [group(50, &[], &[])]);
}
