//! Who is in a group by themselves.

use serde_json::json;

use super::{GroupError, changeable, checked_users, event_of, group_event};
use crate::id::{UserGroupId, UserId};
use crate::log::commit::RealmCommit;
use crate::model::change::RealmChange;
use crate::model::group::UserGroup;
use crate::model::snapshot::RealmSnapshot;
use crate::model::user::User;

/// Puts users into a group, then takes users out of it, and notifies all users: all of it or nothing.
///
/// Who closed their account can be taken out, but not put in.
///
/// # Errors
/// See [`GroupError`]; nothing is to be written then.
pub fn change_members(
    realm: &RealmSnapshot,
    caller: &User,
    (id, add, delete): (UserGroupId, &[UserId], &[UserId]),
    commit: &mut RealmCommit,
) -> Result<(), GroupError> {
    let mut group = UserGroup::clone(changeable(realm, caller, id, commit.at_s)?);
    let added = checked_users(realm, add)?;
    if let Some(inside) = added.iter().find(|user| group.has(**user)) {
        return Err(GroupError::AlreadyMember(*inside));
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

fn checked_removals(realm: &RealmSnapshot, group: &UserGroup, ids: &[UserId]) -> Result<Vec<UserId>, GroupError> {
    for id in ids {
        if realm.user(*id).is_none() {
            return Err(GroupError::NoSuchUser(*id));
        }
        if !group.has(*id) {
            return Err(GroupError::NotAMember(*id));
        }
    }
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}
