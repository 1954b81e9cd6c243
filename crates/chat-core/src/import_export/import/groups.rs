//! Groups, and permissions that are given to them.

use std::collections::{BTreeMap, BTreeSet};

use super::TransferReport;
use super::export_tables::{RealmTables, UserGroupRow};
use crate::id::{UserGroupId, UserId};
use crate::model::group::{GroupSettingValue, SystemGroup, UserGroup};

/// The groups of an export: those with a name, which stay, and those that are only a user's permission.
pub(super) struct Groups {
    named: BTreeMap<i64, UserGroup>,
    unnamed: BTreeMap<i64, GroupSettingValue>,
}

impl Groups {
    /// Reads them. Groups of the system that the export does not have get numbers from `free` on.
    pub(super) fn read(
        tables: &RealmTables,
        users: &BTreeSet<UserId>,
        mut free: impl Iterator<Item = i64>,
        report: &mut TransferReport,
    ) -> Self {
        let mut groups = Self { named: BTreeMap::new(), unnamed: BTreeMap::new() };
        let rows = || tables.named_groups.iter().chain(&tables.groups);
        for row in rows().filter(|row| !row.name.is_empty()) {
            groups.named.insert(row.number(), named(row));
        }
        for system in SystemGroup::ALL {
            if groups.of_system(system).is_none() {
                let id = free.next().unwrap_or_default();
                let row = UserGroupRow {
                    id,
                    usergroup_ptr: None,
                    name: system.wire_name().to_owned(),
                    description: String::new(),
                    is_system_group: true,
                    deactivated: false,
                    can_mention_group: None,
                };
                groups.named.insert(id, named(&row));
            }
        }
        groups.fill(tables, users);
        // A group with a name has a row without one, too.
        let known: BTreeSet<i64> = groups.named.keys().copied().collect();
        let unnamed = rows().filter(|row| row.name.is_empty() && !known.contains(&row.number()));
        groups.unnamed = permissions(tables, (users, &known), unnamed.map(UserGroupRow::number));
        groups.settle(tables, report);
        groups
    }

    /// All that stay, in the order of their numbers.
    pub(super) fn into_all(self) -> impl Iterator<Item = UserGroup> {
        self.named.into_values()
    }

    /// Returns the number of a group of the system.
    pub(super) fn of_system(&self, system: SystemGroup) -> Option<UserGroupId> {
        self.named.values().find(|group| group.system == Some(system)).map(|group| group.id)
    }

    /// Returns what a permission is that the group of that number has; `None` for an unknown group.
    pub(super) fn setting(&self, id: i64) -> Option<GroupSettingValue> {
        match self.unnamed.get(&id) {
            Some(GroupSettingValue::Group(only)) => self.named_setting(only.0),
            Some(unnamed) => Some(unnamed.clone()),
            None => self.named_setting(id),
        }
    }

    fn named_setting(&self, id: i64) -> Option<GroupSettingValue> {
        let group = self.named.get(&id)?;
        Some(group.system.map_or(GroupSettingValue::Group(group.id), GroupSettingValue::System))
    }

    /// Returns the group of the system of that number.
    pub(super) fn system(&self, id: i64) -> Option<SystemGroup> {
        let only = match self.unnamed.get(&id) {
            Some(GroupSettingValue::Group(only)) => only.0,
            _ => id,
        };
        self.named.get(&only)?.system
    }

    /// Returns the name of a group that has one.
    pub(super) fn name(&self, id: i64) -> Option<&str> {
        Some(self.named.get(&id)?.name.as_str())
    }

    /// Returns whether it is a group with a name.
    pub(super) fn has(&self, id: i64) -> bool {
        self.named.contains_key(&id)
    }

    /// Puts users and groups into the groups that users made.
    fn fill(&mut self, tables: &RealmTables, users: &BTreeSet<UserId>) {
        let made = |group: &&mut UserGroup| group.system.is_none();
        for row in tables.group_members.iter().filter(|row| users.contains(&UserId(row.user_profile))) {
            if let Some(group) = self.named.get_mut(&row.user_group).filter(made) {
                group.members.push(UserId(row.user_profile));
            }
        }
        let known: BTreeSet<i64> = self.named.keys().copied().collect();
        for row in tables.subgroups.iter().filter(|row| known.contains(&row.subgroup)) {
            if let Some(group) = self.named.get_mut(&row.supergroup).filter(made) {
                group.subgroups.push(UserGroupId(row.subgroup));
            }
        }
        let inner: Vec<_> =
            SystemGroup::ALL.into_iter().filter_map(|system| Some((system, system.direct_subgroup()?))).collect();
        for (outer, inner) in inner {
            let inner = self.of_system(inner);
            if let Some(group) = self.of_system(outer).and_then(|id| self.named.get_mut(&id.0)) {
                group.subgroups = inner.into_iter().collect();
            }
        }
        for group in self.named.values_mut() {
            group.members.sort_unstable();
            group.members.dedup();
            group.subgroups.sort_unstable();
            group.subgroups.dedup();
        }
    }

    /// Who may mention each, and names that are each given once.
    fn settle(&mut self, tables: &RealmTables, report: &mut TransferReport) {
        let nobody = GroupSettingValue::Group(self.of_system(SystemGroup::Nobody).unwrap_or(UserGroupId(0)));
        let everyone = GroupSettingValue::Group(self.of_system(SystemGroup::Everyone).unwrap_or(UserGroupId(0)));
        let wanted: BTreeMap<i64, i64> = tables
            .named_groups
            .iter()
            .chain(&tables.groups)
            .filter_map(|row| Some((row.number(), row.can_mention_group?)))
            .collect();
        let known: BTreeSet<i64> = self.named.keys().copied().collect();
        let mut names = BTreeSet::new();
        for group in self.named.values_mut() {
            let usual = if group.system.is_some() { &nobody } else { &everyone };
            group.can_mention = match wanted.get(&group.id.0) {
                Some(id) if known.contains(id) => GroupSettingValue::Group(UserGroupId(*id)),
                Some(id) => self.unnamed.get(id).unwrap_or(usual).clone(),
                None => usual.clone(),
            };
            if !names.insert(group.name.clone()) {
                report.count_omitted("names of user groups that another one has", 1);
                group.name = format!("{} ({})", group.name, group.id);
            }
        }
    }
}

fn named(row: &UserGroupRow) -> UserGroup {
    // `role:members` was `@role:members` once.
    let name = row.name.strip_prefix('@').unwrap_or(&row.name);
    let of_name = |system: &SystemGroup| row.is_system_group && system.wire_name() == name;
    let system = SystemGroup::ALL.into_iter().find(of_name);
    UserGroup {
        id: UserGroupId(row.number()),
        name: system.map_or_else(|| row.name.clone(), |system| system.wire_name().to_owned()),
        description: system.map_or_else(|| row.description.clone(), |system| system.description().to_owned()),
        system,
        members: Vec::new(),
        subgroups: Vec::new(),
        can_mention: GroupSettingValue::Group(UserGroupId(row.number())),
        is_deactivated: row.deactivated,
        origin: None,
    }
}

/// Returns what the groups of these numbers stand for, which have no names. One reading of the members for all of them:
/// there may be a group for each channel.
fn permissions(
    tables: &RealmTables,
    (users, known): (&BTreeSet<UserId>, &BTreeSet<i64>),
    ids: impl Iterator<Item = i64>,
) -> BTreeMap<i64, GroupSettingValue> {
    let mut inside: BTreeMap<i64, (Vec<UserId>, Vec<UserGroupId>)> = ids.map(|id| (id, Default::default())).collect();
    for row in tables.group_members.iter().filter(|row| users.contains(&UserId(row.user_profile))) {
        if let Some((members, _)) = inside.get_mut(&row.user_group) {
            members.push(UserId(row.user_profile));
        }
    }
    for row in tables.subgroups.iter().filter(|row| known.contains(&row.subgroup)) {
        if let Some((_, subgroups)) = inside.get_mut(&row.supergroup) {
            subgroups.push(UserGroupId(row.subgroup));
        }
    }
    let setting = |(id, (direct_members, direct_subgroups))| {
        (id, GroupSettingValue::Named { direct_members, direct_subgroups }.into_sorted())
    };
    inside.into_iter().map(setting).collect()
}
