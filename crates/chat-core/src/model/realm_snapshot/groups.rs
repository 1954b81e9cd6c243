//! The user groups of the realm, and the one place that decides whether a user has a permission.

use std::sync::Arc;

use super::RealmSnapshot;
use crate::id::UserGroupId;
use crate::model::group::{GroupSettingValue, SystemGroup, UserGroup};
use crate::model::group_resolution::GroupResolution;
use crate::model::user::User;

impl RealmSnapshot {
    /// Returns the user group of that id.
    #[must_use]
    pub fn group(&self, id: UserGroupId) -> Option<&Arc<UserGroup>> {
        self.groups.get(&id)
    }

    /// Returns all user groups in no order.
    pub fn groups(&self) -> impl Iterator<Item = &Arc<UserGroup>> {
        self.groups.values()
    }

    /// Returns the user group of the realm for that system group.
    #[must_use]
    pub fn system_group(&self, system: SystemGroup) -> Option<&Arc<UserGroup>> {
        self.group(self.resolved_groups().system_group_id(system)?)
    }

    /// Returns whether the inner group is the outer one or a direct or indirect subgroup of it.
    #[must_use]
    pub fn is_same_or_subgroup(&self, inner: UserGroupId, outer: UserGroupId) -> bool {
        self.resolved_groups().is_within(inner, outer)
    }

    /// Returns whether the user is in the group, directly or through subgroups.
    #[must_use]
    pub fn is_in_group(&self, user: &User, id: UserGroupId, now_s: i64) -> bool {
        let groups = self.resolved_groups();
        groups.widest_system_group(id).is_some_and(|system| self.is_in_system_group(user, system, now_s))
            || groups.has_named_member(id, user.id)
    }

    fn is_in_system_group(&self, user: &User, system: SystemGroup, now_s: i64) -> bool {
        system.includes(user, self.realm().map_or(0, |realm| realm.rules.waiting_period_days), now_s)
    }

    /// Returns whether a group setting includes the user. A deactivated user has no permission.
    #[must_use]
    pub fn is_permission_granted(&self, user: &User, setting: &GroupSettingValue, now_s: i64) -> bool {
        let includes = match setting {
            GroupSettingValue::System(system) => self.is_in_system_group(user, *system, now_s),
            GroupSettingValue::Group(id) => self.is_in_group(user, *id, now_s),
            GroupSettingValue::Named { direct_members, direct_subgroups } => {
                direct_members.contains(&user.id)
                    || direct_subgroups.iter().any(|id| self.is_in_group(user, *id, now_s))
            }
        };
        includes && user.is_active
    }

    /// Returns the one form of a group setting by which equal values are equal: sorted, a single group as that group,
    /// and a system group by its role.
    #[must_use]
    pub fn canonical_group_setting(&self, setting: GroupSettingValue) -> GroupSettingValue {
        match setting.into_sorted() {
            GroupSettingValue::Group(id) => {
                let system = self.group(id).and_then(|group| group.system);
                system.map_or(GroupSettingValue::Group(id), GroupSettingValue::System)
            }
            sorted => sorted,
        }
    }

    /// Returns whether a group setting names the group: as its value, or as a direct subgroup of it.
    #[must_use]
    pub fn names_group(&self, setting: &GroupSettingValue, group: &UserGroup) -> bool {
        match setting {
            GroupSettingValue::System(system) => group.system == Some(*system),
            other => other.group_ids().contains(&group.id),
        }
    }

    fn resolved_groups(&self) -> &GroupResolution {
        self.group_resolution.get_or_init(|| GroupResolution::of(&self.groups))
    }
}
