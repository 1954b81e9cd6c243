//! Groups inside a group.

use serde_json::json;

use super::{GroupError, changeable, event_of, group_event};
use crate::id::UserGroupId;
use crate::log::commit::RealmCommit;
use crate::model::change::RealmChange;
use crate::model::group::UserGroup;
use crate::model::snapshot::RealmSnapshot;
use crate::model::user::User;

/// Puts groups into a group, then takes groups out of it, and notifies all users: all of it or nothing.
///
/// # Errors
/// See [`GroupError`]; nothing is to be written then.
pub fn change_subgroups(
    realm: &RealmSnapshot,
    caller: &User,
    (id, add, delete): (UserGroupId, &[UserGroupId], &[UserGroupId]),
    commit: &mut RealmCommit,
) -> Result<(), GroupError> {
    let mut group = UserGroup::clone(changeable(realm, caller, id, commit.at_s)?);
    let added = each_once(add);
    check_additions(realm, &group, &added)?;
    group.subgroups.extend(&added);
    let removed = each_once(delete);
    if let Some(outside) = removed.iter().find(|inner| !group.subgroups.contains(inner)) {
        return Err(GroupError::NotASubgroup(*outside));
    }
    group.subgroups.retain(|inner| !removed.contains(inner));
    group.subgroups.sort_unstable();
    for (op, groups) in [("add_subgroups", added), ("remove_subgroups", removed)] {
        if !groups.is_empty() {
            let event = group_event(op, id, json!({"direct_subgroup_ids": groups}));
            commit.events.push(event_of(&group, event));
        }
    }
    if !commit.events.is_empty() {
        commit.changes.push(RealmChange::Group(Box::new(group)));
    }
    Ok(())
}

/// Refuses what is not there, what is inside already, and what has the group inside it: nothing lies inside itself.
fn check_additions(realm: &RealmSnapshot, group: &UserGroup, added: &[UserGroupId]) -> Result<(), GroupError> {
    check_known(realm, added)?;
    if let Some(inside) = added.iter().find(|inner| group.subgroups.contains(inner)) {
        return Err(GroupError::AlreadySubgroup(*inside));
    }
    if added.iter().any(|inner| realm.lies_in(group.id, *inner)) {
        return Err(GroupError::Circular(group.id));
    }
    Ok(())
}

/// Returns the groups that a new group shall have inside it, each once.
pub(super) fn checked_subgroups(realm: &RealmSnapshot, ids: &[UserGroupId]) -> Result<Vec<UserGroupId>, GroupError> {
    check_known(realm, ids)?;
    Ok(each_once(ids))
}

/// Refuses a group that is not there or is out of use.
fn check_known(realm: &RealmSnapshot, ids: &[UserGroupId]) -> Result<(), GroupError> {
    let gone = |id: &&UserGroupId| realm.group(**id).is_none_or(|inner| inner.is_deactivated);
    ids.iter().find(gone).map_or(Ok(()), |unknown| Err(GroupError::NoSuchSubgroup(*unknown)))
}

fn each_once(ids: &[UserGroupId]) -> Vec<UserGroupId> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    ids
}
