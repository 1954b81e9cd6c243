//! The permissions that are given to groups, and the groups that each can be given to, as clients see them.

use serde_json::{Map, Value, json};

use crate::model::group::{NOT_REMOVERS, SystemGroup};
use crate::model::group_setting_rule::{CAN_MENTION_GROUP, GroupSettingRule};
use crate::model::realm_permission::RealmPermission;

/// A permission of the organization that cannot be given to another group.
const CAN_ACCESS_ALL_USERS: GroupSettingRule =
    GroupSettingRule::new("can_access_all_users_group", &[], SystemGroup::Everyone).one_of(&[SystemGroup::Everyone]);

/// Who may unsubscribe others from a channel.
const CAN_REMOVE_SUBSCRIBERS: GroupSettingRule = GroupSettingRule {
    requires_system_group: true,
    ..GroupSettingRule::new("can_remove_subscribers_group", NOT_REMOVERS, SystemGroup::Administrators)
};

/// Returns all supported permission settings of the realm, channels and user groups with the groups that each allows,
/// as clients see them.
///
/// # Source
/// Not specified; the keys are those existing clients know. What each says follows from the rules that check a choice.
#[must_use]
pub fn supported_permission_settings() -> Value {
    let realm = RealmPermission::ALL.iter().map(|permission| permission.rule());
    json!({
        "realm": objects(realm.chain([&CAN_ACCESS_ALL_USERS])),
        "stream": objects([&CAN_REMOVE_SUBSCRIBERS]),
        "group": objects([&CAN_MENTION_GROUP]),
    })
}

fn objects<'a>(rules: impl IntoIterator<Item = &'a GroupSettingRule>) -> Map<String, Value> {
    rules.into_iter().map(|rule| (rule.name.to_owned(), object(rule))).collect()
}

fn object(rule: &GroupSettingRule) -> Value {
    let allowed: Vec<&str> = rule.allowed.iter().map(|group| group.wire_name()).collect();
    json!({
        "require_system_group": rule.requires_system_group,
        "allow_internet_group": rule.allows(SystemGroup::Internet),
        "allow_owners_group": rule.allows(SystemGroup::Owners),
        "allow_nobody_group": rule.allows(SystemGroup::Nobody),
        "allow_everyone_group": rule.allows(SystemGroup::Everyone),
        "default_group_name": rule.default.wire_name(),
        "default_for_system_groups": rule.default_for_system_groups.map(SystemGroup::wire_name),
        "id_field_name": format!("{}_id", rule.name),
        "allowed_system_groups": allowed,
    })
}
