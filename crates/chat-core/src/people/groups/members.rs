//! Who is in a group by themselves.

use serde_json::json;

use super::{UserGroupError, changeable, checked_users, event_of, group_event};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::{UserGroupId, UserId};
use crate::model::group::UserGroup;
use crate::model::realm_change::RealmChange;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;

/// Adds users to a group, then removes users from it, and notifies all users: all changes or none.
///
/// Who closed their account can be taken out, but not put in.
///
/// # Errors
/// See [`UserGroupError`]; nothing is to be written then.
pub fn change_group_members(
    realm: &RealmSnapshot,
    caller: &User,
    (id, add, delete): (UserGroupId, &[UserId], &[UserId]),
    commit: &mut RealmCommit,
) -> Result<(), UserGroupError> {
    let mut group = UserGroup::clone(changeable(realm, caller, id, commit.at_s)?);
    let added = checked_users(realm, add)?;
    if let Some(inside) = added.iter().find(|user| group.has_direct_member(**user)) {
        return Err(UserGroupError::AlreadyMember(*inside));
    }
    group.members.extend(&added);
    group.members.sort_unstable();
    let removed = checked_removals(realm, &group, delete)?;
    group.members.retain(|user| removed.binary_search(user).is_err());
    for (op, users) in [("add_members", added), ("remove_members", removed)] {
        if !users.is_empty() {
            commit.events.push(event_of(&group, group_event(op, id, json!({"user_ids": users}))));
        }
    }
    if !commit.events.is_empty() {
        commit.changes.push(RealmChange::Group(Box::new(group)));
    }
    Ok(())
}

fn checked_removals(realm: &RealmSnapshot, group: &UserGroup, ids: &[UserId]) -> Result<Vec<UserId>, UserGroupError> {
    for id in ids {
        if realm.user(*id).is_none() {
            return Err(UserGroupError::NoSuchUser(*id));
        }
        if !group.has_direct_member(*id) {
            return Err(UserGroupError::NotAMember(*id));
        }
    }
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}
