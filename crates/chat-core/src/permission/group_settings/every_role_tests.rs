//! Every permission of a realm, for every role, through every kind of nesting. What is expected stands in tables, which
//! were written from the description of the API and not from the rules.

use super::*;
use crate::model::group::UserGroup;
use crate::model::realm::RealmPermissionSettings;
use crate::model::realm_change::RealmChange;
use crate::model::role::Role;
use crate::testing::{self, NOW_S};

/// The permissions, with a `g` for those that guests can have.
const PERMISSIONS: &str = "\
    can_create_public_channel_group -
    can_create_private_channel_group -
    can_create_web_public_channel_group -
    direct_message_initiator_group g
    direct_message_permission_group g
    can_delete_any_message_group -
    can_delete_own_message_group g
    can_create_groups -
    can_manage_all_groups -
    can_add_custom_emoji_group -
    can_move_messages_between_channels_group -
    create_multiuse_invite_group -
    can_move_messages_between_topics_group g
    can_invite_users_group -
    can_add_subscribers_group -
    can_create_bots_group -
    can_create_write_only_bots_group -
    can_summarize_topics_group g
    can_mention_many_users_group g
    can_manage_billing_group -
    can_resolve_topics_group g
    can_set_topics_policy_group g
    can_set_delete_message_policy_group -";

/// Who is in each system group: owner, administrator, moderator, full member, new member, guest.
const MEMBERS: [(SystemGroup, &str); 7] = [
    (SystemGroup::Nobody, ""),
    (SystemGroup::Owners, "o"),
    (SystemGroup::Administrators, "oa"),
    (SystemGroup::Moderators, "oam"),
    (SystemGroup::FullMembers, "oamf"),
    (SystemGroup::Members, "oamfn"),
    (SystemGroup::Everyone, "oamfng"),
];

/// The users, by the letters of the table.
const USERS: [(i64, char, Role); 6] = [
    (1, 'o', Role::Owner),
    (2, 'a', Role::Administrator),
    (3, 'm', Role::Moderator),
    (4, 'f', Role::Member),
    (5, 'n', Role::Member),
    (6, 'g', Role::Guest),
];

/// A realm of these users with a group chain around each system group: 40 + n contains the system group, 50 + n contains
/// that group, and 60 + n the one after it. Each user `u` alone is in group 70 + u, which 80 + u contains.
fn realm() -> RealmSnapshot {
    let waiting = RealmPermissionSettings { waiting_period_days: 3, ..RealmPermissionSettings::default() };
    let mut changes: Vec<RealmChange> = testing::system_groups().collect();
    let group = |id, members: Vec<UserId>, inner: Option<i64>| {
        let subgroups = inner.into_iter().map(UserGroupId).collect();
        RealmChange::Group(Box::new(UserGroup { members, subgroups, ..testing::group(id, None) }))
    };
    for place in 0..7 {
        changes.extend([40, 50, 60].map(|outer| group(outer + place, Vec::new(), Some(outer + place - 10))));
    }
    for (id, letter, role) in USERS {
        let joined_s = if letter == 'n' { NOW_S - 86_400 } else { NOW_S - 30 * 86_400 };
        changes.push(RealmChange::User(Box::new(User { joined_s, ..testing::user(id, role) })));
        changes.push(group(70 + id, vec![UserId(id)], None));
        changes.push(group(80 + id, Vec::new(), Some(70 + id)));
    }
    testing::realm(waiting, changes)
}

fn anonymous(direct_members: Vec<UserId>, subgroup: Option<i64>) -> GroupSettingValue {
    let direct_subgroups = subgroup.into_iter().map(UserGroupId).collect();
    GroupSettingValue::Named { direct_members, direct_subgroups }
}

/// Asserts whether the user has the permission when this is its value.
fn assert_decision(
    realm: &RealmSnapshot,
    permission: RealmPermission,
    (value, user): (&GroupSettingValue, i64),
    expected: bool,
) {
    let mut organization = realm.realm().unwrap().clone();
    *permission.value_mut(&mut organization.rules) = value.clone();
    let realm = realm.preview_changes(&[RealmChange::Realm(Box::new(organization))]);
    let found = has_realm_permission(&realm, realm.user(UserId(user)).unwrap(), permission, NOW_S);
    assert_eq!(found, expected, "{permission:?} {value:?} user {user}");
    let former = User { is_active: false, ..User::clone(realm.user(UserId(user)).unwrap()) };
    assert!(!has_realm_permission(&realm, &former, permission, NOW_S), "{permission:?} {value:?} former user {user}");
}

#[test]
fn every_permission_is_decided_by_role_and_nesting_as_the_table_says() {
    let realm = realm();
    let mut rows = 0;
    for row in PERMISSIONS.lines() {
        let (name, guests) = row.trim().split_once(' ').unwrap();
        let permission = *RealmPermission::ALL.iter().find(|known| known.rule().name == name).unwrap();
        rows += 1;
        for (id, letter, _) in USERS {
            let may_have_it = letter != 'g' || guests == "g";
            for (place, (system, members)) in (0_i64..).zip(MEMBERS) {
                let nested = [30, 40, 50, 60].map(|first| GroupSettingValue::Group(UserGroupId(first + place)));
                let others =
                    [system.into(), anonymous(Vec::new(), Some(30 + place)), anonymous(Vec::new(), Some(60 + place))];
                for value in nested.iter().chain(&others) {
                    assert_decision(&realm, permission, (value, id), may_have_it && members.contains(letter));
                }
            }
            for named in 1..=6 {
                let is_named = may_have_it && named == id;
                let groups = [70, 80].map(|first| GroupSettingValue::Group(UserGroupId(first + named)));
                let others = [anonymous(vec![UserId(named)], None), anonymous(vec![UserId(9)], Some(80 + named))];
                for value in groups.iter().chain(&others) {
                    assert_decision(&realm, permission, (value, id), is_named);
                }
            }
        }
    }
    assert_eq!(rows, RealmPermission::ALL.len());
}
