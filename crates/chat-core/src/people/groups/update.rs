//! Name, description and permissions of a group.

use serde_json::{Map, Value, json};

use super::{GroupError, changeable_in_use, check_free, checked_name, checked_setting, group_event};
use crate::id::UserGroupId;
use crate::log::commit::RealmCommit;
use crate::model::change::RealmChange;
use crate::model::group::{GroupSetting, UserGroup};
use crate::model::snapshot::RealmSnapshot;
use crate::model::user::User;

/// The properties of a user group to change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupUpdate {
    /// Its name, as typed.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Who may mention it.
    pub can_mention: Option<GroupSettingChange>,
}

/// A change of a user group's permission setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupSettingChange {
    /// What it shall be.
    pub new: GroupSetting,
    /// What the caller takes it for now; when it is something else, nothing changes.
    pub old: Option<GroupSetting>,
}

/// Changes a group, and notifies all users of what is different. What is so already changes nothing.
///
/// # Errors
/// See [`GroupError`]; nothing is to be written then.
pub fn update(
    realm: &RealmSnapshot,
    caller: &User,
    (id, changes): (UserGroupId, &GroupUpdate),
    commit: &mut RealmCommit,
) -> Result<(), GroupError> {
    if *changes == GroupUpdate::default() {
        return Err(GroupError::NothingNew);
    }
    let before = changeable_in_use(realm, caller, id, commit.at_s)?;
    let after = changed(realm, before, changes)?;
    let data = differences(before, &after);
    if !data.is_empty() {
        commit.events.push(group_event("update", id, json!({"data": data})));
        commit.changes.push(RealmChange::Group(Box::new(after)));
    }
    Ok(())
}

fn changed(realm: &RealmSnapshot, before: &UserGroup, changes: &GroupUpdate) -> Result<UserGroup, GroupError> {
    let mut after = before.clone();
    if let Some(name) = &changes.name {
        after.name = checked_name(name)?;
        if after.name != before.name {
            check_free(realm, &after.name)?;
        }
    }
    if let Some(description) = &changes.description {
        after.description.clone_from(description);
    }
    if let Some(change) = &changes.can_mention {
        let expected = change.old.clone().map(GroupSetting::canonical);
        if expected.is_some_and(|expected| expected != before.can_mention) {
            return Err(GroupError::SettingChanged);
        }
        after.can_mention = checked_setting(realm, &change.new)?;
    }
    Ok(after)
}

fn differences(before: &UserGroup, after: &UserGroup) -> Map<String, Value> {
    let mut data = Map::new();
    if after.name != before.name {
        data.insert("name".to_owned(), after.name.as_str().into());
    }
    if after.description != before.description {
        data.insert("description".to_owned(), after.description.as_str().into());
    }
    if after.can_mention != before.can_mention {
        data.insert("can_mention_group".to_owned(), json!(after.can_mention));
    }
    data
}
