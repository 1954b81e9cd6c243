//! The permissions that are given to groups, and the groups that each can be given to, as clients see them.

use serde_json::{Map, Value, json};

use crate::model::group::{NOT_MENTIONERS, NOT_REMOVERS, SystemGroup};
use crate::organization::settings::REALM_SETTINGS;

/// The groups that one permission can be given to.
struct Permission<'a> {
    name: &'a str,
    /// Whether groups that users made cannot have it.
    system_only: bool,
    refused: &'a [SystemGroup],
    /// The group that has it unless another is chosen.
    preset: SystemGroup,
    /// The group that has it for a group of the system.
    preset_of_system: Option<SystemGroup>,
    /// When not empty, it can be given to these alone.
    allowed: &'a [SystemGroup],
}

impl Permission<'_> {
    fn object(&self) -> Value {
        let allows =
            |group| !self.refused.contains(&group) && (self.allowed.is_empty() || self.allowed.contains(&group));
        let allowed: Vec<&str> = self.allowed.iter().map(|group| group.wire_name()).collect();
        json!({
            "require_system_group": self.system_only,
            "allow_internet_group": allows(SystemGroup::Internet),
            "allow_owners_group": allows(SystemGroup::Owners),
            "allow_nobody_group": allows(SystemGroup::Nobody),
            "allow_everyone_group": allows(SystemGroup::Everyone),
            "default_group_name": self.preset.wire_name(),
            "default_for_system_groups": self.preset_of_system.map(SystemGroup::wire_name),
            "id_field_name": format!("{}_id", self.name),
            "allowed_system_groups": allowed,
        })
    }
}

/// Permissions of the organization that are told and cannot be given to another group.
const FIXED: [(&str, SystemGroup); 2] = [
    ("create_multiuse_invite_group", SystemGroup::Administrators),
    ("can_access_all_users_group", SystemGroup::Everyone),
];

/// Returns all supported permission settings of the realm, channels and user groups with the groups that each allows,
/// as clients see them.
///
/// # Source
/// Not specified; the keys are those existing clients know. What each says follows from the rules that check a choice.
#[must_use]
pub fn supported_permission_settings() -> Value {
    let fixed = FIXED.iter().map(|(name, group)| Permission {
        name,
        system_only: true,
        refused: &[],
        preset: *group,
        preset_of_system: None,
        allowed: std::slice::from_ref(group),
    });
    let chosen = REALM_SETTINGS.iter().filter_map(|setting| {
        let (refused, preset) = setting.group_rule()?;
        let preset = SystemGroup::ALL.into_iter().find(|group| group.permission_policy() == preset)?;
        let name = setting.name;
        Some(Permission { name, system_only: true, refused, preset, preset_of_system: None, allowed: &[] })
    });
    let channel = Permission {
        name: "can_remove_subscribers_group",
        system_only: true,
        refused: NOT_REMOVERS,
        preset: SystemGroup::Administrators,
        preset_of_system: None,
        allowed: &[],
    };
    let group = Permission {
        name: "can_mention_group",
        system_only: false,
        refused: NOT_MENTIONERS,
        preset: SystemGroup::Everyone,
        preset_of_system: Some(SystemGroup::Nobody),
        allowed: &[],
    };
    json!({"realm": objects(fixed.chain(chosen)), "stream": objects([channel]), "group": objects([group])})
}

fn objects<'a>(permissions: impl IntoIterator<Item = Permission<'a>>) -> Map<String, Value> {
    permissions.into_iter().map(|permission| (permission.name.to_owned(), permission.object())).collect()
}
