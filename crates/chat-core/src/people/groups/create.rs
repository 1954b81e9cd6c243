//! New groups.

use serde_json::json;

use super::subgroups::checked_subgroups;
use super::{UserGroupError, check_free, checked_name, checked_users, may_create_user_groups};
use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::{UserGroupId, UserId};
use crate::model::group::{GroupOrigin, GroupSettingValue, SystemGroup, UserGroup};
use crate::model::group_setting_rule::CAN_MENTION_GROUP;
use crate::model::realm_change::RealmChange;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::group_settings::check_group_setting;
use crate::wire_format;

/// A user group to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewUserGroup {
    /// Its name, as typed.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Who is in it. Who makes it is in it only when they name themselves.
    pub members: Vec<UserId>,
    /// The groups whose members are in it too.
    pub subgroups: Vec<UserGroupId>,
    /// Who may mention it; everybody when nothing is said.
    pub can_mention: Option<GroupSettingValue>,
}

/// Creates a user group and notifies all users.
///
/// # Errors
/// See [`UserGroupError`]; nothing is to be written then.
///
/// # Source
/// Specification, `POST /user_groups/create`.
pub fn create_user_group(
    realm: &RealmSnapshot,
    caller: &User,
    new: &NewUserGroup,
    commit: &mut RealmCommit,
) -> Result<UserGroupId, UserGroupError> {
    may_create_user_groups(realm, caller, commit.at_s)?;
    let members = checked_users(realm, &new.members)?;
    let subgroups = checked_subgroups(realm, &new.subgroups)?;
    let name = checked_name(&new.name)?;
    let can_mention = match &new.can_mention {
        Some(setting) => check_group_setting(realm, &CAN_MENTION_GROUP, setting)?,
        None => SystemGroup::Everyone.into(),
    };
    check_free(realm, &name)?;
    let id = UserGroupId(realm.nth_unused_id(1));
    let group = UserGroup {
        id,
        name,
        description: new.description.clone(),
        system: None,
        members,
        subgroups,
        can_mention,
        is_deactivated: false,
        origin: Some(GroupOrigin { creator_id: caller.id, created_s: commit.at_s }),
    };
    let event =
        json!({"type": "user_group", "op": "add", "group": wire_format::user_group_object(realm, &group, commit.at_s)});
    commit.events.push(NewEvent::same_for_everyone(EventAudience::Everyone, event));
    commit.changes.push(RealmChange::Group(Box::new(group)));
    Ok(id)
}
