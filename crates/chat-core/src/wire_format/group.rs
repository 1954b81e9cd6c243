//! A user group as clients see it.

use serde_json::{Value, json};

use crate::id::UserId;
use crate::model::group::{GroupSettingValue, UserGroup};
use crate::model::realm_snapshot::RealmSnapshot;

/// Returns the user group object of the wire. The members of a system group follow from roles and account ages at
/// `now_s`, in unix seconds, which takes a walk over all users.
///
/// # Source
/// Not specified; the keys are those existing clients know. Deactivated users are not named, although their memberships
/// are kept: clients take a user whose account is closed out of all groups by themselves.
#[must_use]
pub fn user_group_object(realm: &RealmSnapshot, group: &UserGroup, now_s: i64) -> Value {
    json!({
        "id": group.id,
        "name": group.name,
        "description": group.description,
        "members": direct_group_members(realm, group, now_s),
        "direct_subgroup_ids": group.subgroups,
        "is_system_group": group.system.is_some(),
        "can_mention_group": group_setting(realm, &group.can_mention),
        "deactivated": group.is_deactivated,
        "creator_id": group.origin.map(|origin| origin.creator_id),
        "date_created": group.origin.map(|origin| origin.created_s),
    })
}

/// Returns the value of a group setting on the wire: the id of a group, or the ids of users and groups.
#[must_use]
pub fn group_setting(realm: &RealmSnapshot, value: &GroupSettingValue) -> Value {
    match value {
        GroupSettingValue::System(system) => json!(realm.system_group(*system).map(|group| group.id)),
        other => json!(other),
    }
}

/// Returns the direct members of the group, in ascending order.
#[must_use]
pub fn direct_group_members(realm: &RealmSnapshot, group: &UserGroup, now_s: i64) -> Vec<UserId> {
    let is_active = |id: &UserId| realm.user(*id).is_some_and(|user| user.is_active);
    let Some(system) = group.system else { return group.members.iter().copied().filter(is_active).collect() };
    let waiting_days = realm.realm().map_or(0, |realm| realm.rules.waiting_period_days);
    let members = realm.users().filter(|user| user.is_active && !user.is_system_bot());
    let members = members.filter(|user| system.has_direct_member(user, waiting_days, now_s));
    let mut ids: Vec<_> = members.map(|user| user.id).collect();
    ids.sort_unstable();
    ids
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::UserGroupId;
    use crate::model::group::SystemGroup;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::model::role::Role;
    use crate::testing::{self, NOW_S};

    fn set(id: i64, system: Option<SystemGroup>, members: &[i64]) -> UserGroup {
        UserGroup {
            id: UserGroupId(id),
            name: "cooks".to_owned(),
            description: "Who cooks".to_owned(),
            system,
            members: members.iter().copied().map(UserId).collect(),
            subgroups: vec![UserGroupId(3)],
            can_mention: GroupSettingValue::Group(UserGroupId(2)),
            is_deactivated: false,
            origin: None,
        }
    }

    #[test]
    fn a_group_of_users_names_its_members() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        assert_eq!(
            user_group_object(&realm, &set(50, None, &[2, 4]), NOW_S),
            json!({
                "id": 50, "name": "cooks", "description": "Who cooks", "members": [2, 4], "direct_subgroup_ids": [3],
                "is_system_group": false, "can_mention_group": 2, "deactivated": false,
                "creator_id": null, "date_created": null,
            })
        );
    }

    #[test]
    fn a_group_of_the_system_has_those_in_the_role_whose_accounts_are_open() {
        let mut gone = testing::user(40, Role::Guest);
        gone.is_active = false;
        let realm = testing::realm(RealmPermissionSettings::default(), vec![RealmChange::User(Box::new(gone))]);
        let shown = user_group_object(&realm, &set(50, Some(SystemGroup::Everyone), &[]), NOW_S);
        assert_eq!((&shown["members"], &shown["is_system_group"]), (&json!([6]), &json!(true)));
        let owners = user_group_object(&realm, &set(50, Some(SystemGroup::Owners), &[]), NOW_S);
        assert_eq!(owners["members"], json!([1]));
    }
}
