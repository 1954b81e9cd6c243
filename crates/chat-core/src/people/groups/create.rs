//! New groups.

use serde_json::json;

use super::subgroups::checked_subgroups;
use super::{GroupError, check_free, checked_name, checked_setting, checked_users, may_make};
use crate::id::{UserGroupId, UserId};
use crate::log::commit::RealmCommit;
use crate::log::event::{EventAudience, NewEvent};
use crate::model::change::RealmChange;
use crate::model::group::{GroupOrigin, GroupSetting, SystemGroup, UserGroup};
use crate::model::snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::wire;

/// A group to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGroup {
    /// Its name, as typed.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Who is in it. Who makes it is in it only when they name themselves.
    pub members: Vec<UserId>,
    /// The groups whose members are in it too.
    pub subgroups: Vec<UserGroupId>,
    /// Who may mention it; everybody when nothing is said.
    pub can_mention: Option<GroupSetting>,
}

/// Makes a group, and notifies all users.
///
/// # Errors
/// See [`GroupError`]; nothing is to be written then.
///
/// # Source
/// Specification, `POST /user_groups/create`.
pub fn create(
    realm: &RealmSnapshot,
    caller: &User,
    new: &NewGroup,
    commit: &mut RealmCommit,
) -> Result<UserGroupId, GroupError> {
    may_make(realm, caller, commit.at_s)?;
    let members = checked_users(realm, &new.members)?;
    let subgroups = checked_subgroups(realm, &new.subgroups)?;
    let name = checked_name(&new.name)?;
    let can_mention = match &new.can_mention {
        Some(setting) => checked_setting(realm, setting)?,
        None => realm
            .system_group(SystemGroup::Everyone)
            .map(|group| GroupSetting::Group(group.id))
            .ok_or(GroupError::NoSuchGroup)?,
    };
    check_free(realm, &name)?;
    let id = UserGroupId(realm.new_id(1));
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
    let event = json!({"type": "user_group", "op": "add", "group": wire::group(realm, &group, commit.at_s)});
    commit.events.push(NewEvent::plain(EventAudience::Everyone, event));
    commit.changes.push(RealmChange::Group(Box::new(group)));
    Ok(id)
}
