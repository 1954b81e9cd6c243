//! The groups that each group setting can be given to.

use crate::model::group::SystemGroup;

/// What a group setting can be, and what it is at first.
///
/// # Source
/// Not specified; names, refused groups and defaults as existing servers have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupSettingRule {
    /// The name of the setting on the wire.
    pub name: &'static str,
    /// Whether only a system group can have it.
    pub requires_system_group: bool,
    /// The system groups that it cannot be set to. Without `role:everyone`, no guest has the permission, whatever groups
    /// the guest is in.
    pub refused: &'static [SystemGroup],
    /// When not empty, the only system groups that it can be set to.
    pub allowed: &'static [SystemGroup],
    /// The first value.
    pub default: DefaultGroup,
    /// The value for system groups; `None` for settings that are not of groups.
    pub default_for_system_groups: Option<SystemGroup>,
}

/// The first value of a group setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultGroup {
    /// A system group.
    System(SystemGroup),
}

impl DefaultGroup {
    /// Returns the name of the value on the wire.
    #[must_use]
    pub fn wire_name(self) -> &'static str {
        match self {
            Self::System(system) => system.wire_name(),
        }
    }
}

/// System groups that no permission can be given to.
pub(crate) const NOT_OUTSIDERS: &[SystemGroup] = &[SystemGroup::Internet];
/// System groups that a permission of members cannot be given to.
pub(crate) const NOT_GUESTS: &[SystemGroup] = &[SystemGroup::Everyone, SystemGroup::Internet];
/// System groups that a permission cannot be given to which some member always has.
pub(crate) const NOT_GUESTS_NOR_NOBODY: &[SystemGroup] =
    &[SystemGroup::Nobody, SystemGroup::Everyone, SystemGroup::Internet];

impl GroupSettingRule {
    /// Makes the rule of a setting that any group can have but for the refused system groups.
    #[must_use]
    pub const fn new(name: &'static str, refused: &'static [SystemGroup], default: SystemGroup) -> Self {
        Self {
            name,
            requires_system_group: false,
            refused,
            allowed: &[],
            default: DefaultGroup::System(default),
            default_for_system_groups: None,
        }
    }

    /// Makes the rule of a setting that only these system groups can have.
    #[must_use]
    pub(crate) const fn one_of(self, allowed: &'static [SystemGroup]) -> Self {
        Self { requires_system_group: true, allowed, ..self }
    }

    /// Returns whether the setting can be set to the system group.
    #[must_use]
    pub fn allows(&self, system: SystemGroup) -> bool {
        !self.refused.contains(&system) && (self.allowed.is_empty() || self.allowed.contains(&system))
    }
}

/// Who may mention a user group.
///
/// # Source
/// Specification, `POST /user_groups/create`: not `role:internet` nor `role:owners`.
pub const CAN_MENTION_GROUP: GroupSettingRule = GroupSettingRule {
    default_for_system_groups: Some(SystemGroup::Nobody),
    ..GroupSettingRule::new("can_mention_group", &[SystemGroup::Internet, SystemGroup::Owners], SystemGroup::Everyone)
};
