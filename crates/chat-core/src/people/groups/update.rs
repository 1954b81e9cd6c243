//! Name, description and permissions of a group.

use serde_json::{Map, Value, json};

use super::{UserGroupError, changeable, check_free, checked_name, event_of, group_event};
use crate::event_log::event::{ClientCapability, EventAudience, NewEvent, QueueCondition};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::UserGroupId;
use crate::model::group::{GroupSettingChange, UserGroup};
use crate::model::group_setting_rule::CAN_MENTION_GROUP;
use crate::model::realm_change::RealmChange;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::group_settings::check_group_setting_change;
use crate::wire_format;

/// The properties of a user group to change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserGroupUpdate {
    /// Its name, as typed.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Who may mention it.
    pub can_mention: Option<GroupSettingChange>,
    /// Whether a group out of use comes into use again.
    pub reactivates: bool,
}

/// Changes a user group and notifies all users of the differences. Values that are set already change nothing. To
/// clients that do not know of groups out of use, one that comes into use again is new.
///
/// # Errors
/// See [`UserGroupError`]; nothing is to be written then.
pub fn update_user_group(
    realm: &RealmSnapshot,
    caller: &User,
    (id, changes): (UserGroupId, &UserGroupUpdate),
    commit: &mut RealmCommit,
) -> Result<(), UserGroupError> {
    if *changes == UserGroupUpdate::default() {
        return Err(UserGroupError::NothingNew);
    }
    let before = changeable(realm, caller, id, commit.at_s)?;
    let after = changed(realm, before, changes)?;
    let data = differences(realm, before, &after);
    if !data.is_empty() {
        commit.events.push(event_of(before, group_event("update", id, json!({"data": data}))));
        if before.is_deactivated && !after.is_deactivated {
            let group = wire_format::user_group_object(realm, &after, commit.at_s);
            let event = json!({"type": "user_group", "op": "add", "group": group});
            let gate = QueueCondition::Without(ClientCapability::IncludeDeactivatedGroups);
            commit.events.push(NewEvent::same_for_everyone(EventAudience::Everyone, event).with_queue_condition(gate));
        }
        commit.changes.push(RealmChange::Group(Box::new(after)));
    }
    Ok(())
}

fn changed(realm: &RealmSnapshot, before: &UserGroup, changes: &UserGroupUpdate) -> Result<UserGroup, UserGroupError> {
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
        let new = check_group_setting_change(realm, &CAN_MENTION_GROUP, &before.can_mention, change)?;
        if new != realm.canonical_group_setting(before.can_mention.clone()) {
            after.can_mention = new;
        }
    }
    after.is_deactivated &= !changes.reactivates;
    Ok(after)
}

fn differences(realm: &RealmSnapshot, before: &UserGroup, after: &UserGroup) -> Map<String, Value> {
    let mut data = Map::new();
    if after.name != before.name {
        data.insert("name".to_owned(), after.name.as_str().into());
    }
    if after.description != before.description {
        data.insert("description".to_owned(), after.description.as_str().into());
    }
    if after.can_mention != before.can_mention {
        data.insert("can_mention_group".to_owned(), wire_format::group_setting(realm, &after.can_mention));
    }
    if after.is_deactivated != before.is_deactivated {
        data.insert("deactivated".to_owned(), after.is_deactivated.into());
    }
    data
}
