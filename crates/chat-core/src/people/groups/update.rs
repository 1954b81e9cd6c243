//! Name, description and permissions of a group.

use serde_json::{Map, Value, json};

use super::{GroupError, changeable, check_free, checked_name, checked_setting, event_of, group_event};
use crate::id::UserGroupId;
use crate::log::commit::RealmCommit;
use crate::log::event::{ClientCapability, EventAudience, NewEvent, QueueCondition};
use crate::model::change::RealmChange;
use crate::model::group::{GroupSetting, UserGroup};
use crate::model::snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::wire;

/// The properties of a user group to change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupUpdate {
    /// Its name, as typed.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Who may mention it.
    pub can_mention: Option<GroupSettingChange>,
    /// Whether a group out of use comes into use again.
    pub reactivates: bool,
}

/// A change of a user group's permission setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupSettingChange {
    /// What it shall be.
    pub new: GroupSetting,
    /// What the caller takes it for now; when it is something else, nothing changes.
    pub old: Option<GroupSetting>,
}

/// Changes a group, in use or not, and notifies the users who know of it of what is different. What is so already
/// changes nothing. To clients that do not know of groups out of use, one that comes into use again is new.
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
    let before = changeable(realm, caller, id, commit.at_s)?;
    let after = changed(realm, before, changes)?;
    let data = differences(before, &after);
    if !data.is_empty() {
        commit.events.push(event_of(before, group_event("update", id, json!({"data": data}))));
        if before.is_deactivated && !after.is_deactivated {
            let group = wire::group(realm, &after, commit.at_s);
            let event = json!({"type": "user_group", "op": "add", "group": group});
            let gate = QueueCondition::Without(ClientCapability::IncludeDeactivatedGroups);
            commit.events.push(NewEvent::plain(EventAudience::Everyone, event).gated(gate));
        }
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
    after.is_deactivated &= !changes.reactivates;
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
    if after.is_deactivated != before.is_deactivated {
        data.insert("deactivated".to_owned(), after.is_deactivated.into());
    }
    data
}
