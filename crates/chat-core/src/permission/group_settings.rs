//! Group settings: who has a permission, and what a setting can be changed to.

use crate::id::{UserGroupId, UserId};
use crate::model::group::{GroupSettingChange, GroupSettingValue, SystemGroup};
use crate::model::group_setting_rule::GroupSettingRule;
use crate::model::realm_permission::RealmPermission;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;

/// The reason why a group setting is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GroupSettingError {
    /// There is no such group.
    #[error("Invalid user group")]
    NoGroup,
    /// The group is out of use.
    #[error("User group is deactivated.")]
    Deactivated,
    /// There is no such group, among several.
    #[error("Invalid user group ID: {0}")]
    NoSubgroup(UserGroupId),
    /// There is no active user of that id.
    #[error("Invalid user ID: {0}")]
    NoUser(UserId),
    /// The setting is one of a system group, and this is none.
    #[error("'{0}' must be a system user group.")]
    SystemGroupRequired(&'static str),
    /// The system group cannot have the permission.
    #[error("'{name}' setting cannot be set to '{}' group.", group.wire_name())]
    GroupRefused {
        /// The setting.
        name: &'static str,
        /// The group.
        group: SystemGroup,
    },
    /// The stored value is not the one that the caller expects.
    #[error("'old' value does not match the expected value.")]
    ExpectationMismatch,
}

/// Returns whether the user has a permission that the value of a group setting gives. Guests never have a permission
/// that cannot be given to all users.
#[must_use]
pub fn has_permission(
    realm: &RealmSnapshot,
    user: &User,
    (rule, value): (&GroupSettingRule, &GroupSettingValue),
    now_s: i64,
) -> bool {
    (!user.is_guest() || rule.allows(SystemGroup::Everyone)) && realm.is_permission_granted(user, value, now_s)
}

/// Returns whether the user has a permission of the realm; without a realm no user has any.
#[must_use]
pub fn has_realm_permission(realm: &RealmSnapshot, user: &User, permission: RealmPermission, now_s: i64) -> bool {
    let settings = realm.realm().map(|realm| &realm.rules);
    settings.is_some_and(|settings| has_permission(realm, user, (permission.rule(), permission.value(settings)), now_s))
}

/// Returns the new value of a group setting in its canonical form, if the setting can be changed to it.
///
/// # Errors
/// See [`GroupSettingError`].
pub fn check_group_setting_change(
    realm: &RealmSnapshot,
    rule: &GroupSettingRule,
    before: &GroupSettingValue,
    change: &GroupSettingChange,
) -> Result<GroupSettingValue, GroupSettingError> {
    let canonical = |value: &GroupSettingValue| realm.canonical_group_setting(value.clone());
    if change.old.as_ref().is_some_and(|old| canonical(old) != canonical(before)) {
        return Err(GroupSettingError::ExpectationMismatch);
    }
    check_group_setting(realm, rule, &change.new)
}

/// Returns the value of a group setting in its canonical form, if the setting can have it.
///
/// # Errors
/// See [`GroupSettingError`].
pub fn check_group_setting(
    realm: &RealmSnapshot,
    rule: &GroupSettingRule,
    value: &GroupSettingValue,
) -> Result<GroupSettingValue, GroupSettingError> {
    let value = value.clone().into_sorted();
    check_parts(realm, &value)?;
    match realm.canonical_group_setting(value) {
        GroupSettingValue::System(group) if !rule.allows(group) => {
            Err(GroupSettingError::GroupRefused { name: rule.name, group })
        }
        GroupSettingValue::Group(_) | GroupSettingValue::Named { .. } if rule.requires_system_group => {
            Err(GroupSettingError::SystemGroupRequired(rule.name))
        }
        canonical => Ok(canonical),
    }
}

/// Checks that everything that the value names is there and in use.
fn check_parts(realm: &RealmSnapshot, value: &GroupSettingValue) -> Result<(), GroupSettingError> {
    for id in value.group_ids() {
        let is_alone = matches!(value, GroupSettingValue::Group(_));
        let missing = || if is_alone { GroupSettingError::NoGroup } else { GroupSettingError::NoSubgroup(*id) };
        if realm.group(*id).ok_or_else(missing)?.is_deactivated {
            return Err(GroupSettingError::Deactivated);
        }
    }
    let gone = |id: &&UserId| realm.user(**id).is_none_or(|user| !user.is_active);
    value.user_ids().iter().find(gone).map_or(Ok(()), |id| Err(GroupSettingError::NoUser(*id)))
}

#[cfg(test)]
mod every_role_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::group::UserGroup;
    use crate::model::group_setting_rule::{NOT_GUESTS, NOT_GUESTS_NOR_NOBODY};
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::model::role::Role;
    use crate::testing::{self, NOW_S};

    const RULE: GroupSettingRule = GroupSettingRule::new("can_test", NOT_GUESTS, SystemGroup::Members);

    /// A realm with the system groups, a club (50) within a union (51), a group out of use (52) and a former user (9).
    fn realm() -> RealmSnapshot {
        let club = UserGroup { members: vec![UserId(4), UserId(6), UserId(9)], ..testing::group(50, None) };
        let union = UserGroup { subgroups: vec![UserGroupId(50)], ..testing::group(51, None) };
        let former = UserGroup { is_deactivated: true, ..testing::group(52, None) };
        let groups = [club, union, former].map(|group| RealmChange::Group(Box::new(group)));
        let gone = User { is_active: false, ..testing::user(9, Role::Member) };
        let changes = testing::system_groups().chain(groups).chain([RealmChange::User(Box::new(gone))]);
        testing::realm(RealmPermissionSettings::default(), changes.collect())
    }

    fn named(users: &[i64], groups: &[i64]) -> GroupSettingValue {
        GroupSettingValue::Named {
            direct_members: users.iter().copied().map(UserId).collect(),
            direct_subgroups: groups.iter().copied().map(UserGroupId).collect(),
        }
    }

    fn of_group(id: i64) -> GroupSettingValue {
        GroupSettingValue::Group(UserGroupId(id))
    }

    /// The ids of the users who have the permission.
    fn holders(rule: &GroupSettingRule, value: &GroupSettingValue) -> Vec<i64> {
        let realm = realm();
        let mut ids: Vec<i64> = realm
            .users()
            .filter(|user| has_permission(&realm, user, (rule, value), NOW_S))
            .map(|user| user.id.0)
            .collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn guests_and_former_users_are_left_out_whatever_groups_they_are_in() {
        let of_all = GroupSettingRule::new("can_test", &[], SystemGroup::Everyone);
        for (value, of_members, with_guests) in [
            (of_group(51), vec![4], vec![4, 6]),
            (named(&[2, 9], &[50]), vec![2, 4], vec![2, 4, 6]),
            (SystemGroup::Everyone.into(), vec![1, 2, 3, 4], vec![1, 2, 3, 4, 6]),
            (of_group(36), vec![1, 2, 3, 4], vec![1, 2, 3, 4, 6]),
            (SystemGroup::Nobody.into(), vec![], vec![]),
        ] {
            assert_eq!((holders(&RULE, &value), holders(&of_all, &value)), (of_members, with_guests), "{value:?}");
        }
    }

    #[test]
    fn a_value_is_accepted_in_its_canonical_form() {
        let realm = realm();
        for (sent, kept) in [
            (of_group(32), SystemGroup::Administrators.into()),
            (named(&[], &[35]), SystemGroup::Members.into()),
            (named(&[], &[50]), of_group(50)),
            (named(&[], &[]), SystemGroup::Nobody.into()),
            (named(&[4, 2], &[51, 36]), named(&[2, 4], &[36, 51])),
        ] {
            assert_eq!(check_group_setting(&realm, &RULE, &sent), Ok(kept), "{sent:?}");
        }
    }

    #[test]
    fn what_a_setting_cannot_be_is_named() {
        let realm = realm();
        let refused = |rule, value| check_group_setting(&realm, rule, &value).unwrap_err().to_string();
        for (value, text) in [
            (of_group(99), "Invalid user group"),
            (of_group(52), "User group is deactivated."),
            (named(&[], &[99]), "Invalid user group"),
            (named(&[4], &[99]), "Invalid user group ID: 99"),
            (named(&[4], &[52]), "User group is deactivated."),
            (named(&[99], &[]), "Invalid user ID: 99"),
            (named(&[9], &[50]), "Invalid user ID: 9"),
            (of_group(36), "'can_test' setting cannot be set to 'role:everyone' group."),
            (named(&[], &[37]), "'can_test' setting cannot be set to 'role:internet' group."),
        ] {
            assert_eq!(refused(&RULE, value), text);
        }
        let strict = RULE.one_of(&[SystemGroup::Owners]);
        assert_eq!(refused(&strict, of_group(50)), "'can_test' must be a system user group.");
        assert_eq!(refused(&strict, named(&[4], &[])), "'can_test' must be a system user group.");
        assert_eq!(refused(&strict, of_group(35)), "'can_test' setting cannot be set to 'role:members' group.");
        let never_empty = GroupSettingRule::new("can_test", NOT_GUESTS_NOR_NOBODY, SystemGroup::Owners);
        let nobody = "'can_test' setting cannot be set to 'role:nobody' group.";
        assert_eq!(refused(&never_empty, named(&[], &[])), nobody);
    }

    #[test]
    fn a_change_is_refused_when_another_value_is_stored() {
        let realm = realm();
        let change = |old| {
            let change = GroupSettingChange { new: of_group(50), old };
            check_group_setting_change(&realm, &RULE, &named(&[2, 4], &[51]), &change)
        };
        assert_eq!(change(Some(named(&[4, 2, 4], &[51]))), Ok(of_group(50)));
        assert_eq!(change(None), Ok(of_group(50)));
        assert_eq!(change(Some(named(&[2], &[51]))), Err(GroupSettingError::ExpectationMismatch));
        assert_eq!(change(Some(of_group(51))), Err(GroupSettingError::ExpectationMismatch));
    }
}
