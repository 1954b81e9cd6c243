//! Groups inside a group.

use serde_json::json;

use super::{UserGroupError, changeable, event_of, group_event};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::UserGroupId;
use crate::model::group::UserGroup;
use crate::model::realm_change::RealmChange;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;

/// Adds subgroups to a group, then removes subgroups from it, and notifies all users: all changes or none.
///
/// # Errors
/// See [`UserGroupError`]; nothing is to be written then.
pub fn change_group_subgroups(
    realm: &RealmSnapshot,
    caller: &User,
    (id, add, delete): (UserGroupId, &[UserGroupId], &[UserGroupId]),
    commit: &mut RealmCommit,
) -> Result<(), UserGroupError> {
    let mut group = UserGroup::clone(changeable(realm, caller, id, commit.at_s)?);
    let added = each_once(add);
    check_additions(realm, &group, &added)?;
    group.subgroups.extend(&added);
    let removed = each_once(delete);
    if let Some(outside) = removed.iter().find(|inner| !group.subgroups.contains(inner)) {
        return Err(UserGroupError::NotASubgroup(*outside));
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
fn check_additions(realm: &RealmSnapshot, group: &UserGroup, added: &[UserGroupId]) -> Result<(), UserGroupError> {
    check_known(realm, added)?;
    if let Some(inside) = added.iter().find(|inner| group.subgroups.contains(inner)) {
        return Err(UserGroupError::AlreadySubgroup(*inside));
    }
    if added.iter().any(|inner| realm.is_same_or_subgroup(group.id, *inner)) {
        return Err(UserGroupError::Circular(group.id));
    }
    Ok(())
}

/// Returns the groups that a new group shall have inside it, each once.
pub(super) fn checked_subgroups(
    realm: &RealmSnapshot,
    ids: &[UserGroupId],
) -> Result<Vec<UserGroupId>, UserGroupError> {
    check_known(realm, ids)?;
    Ok(each_once(ids))
}

/// Refuses a group that is not there or is out of use.
fn check_known(realm: &RealmSnapshot, ids: &[UserGroupId]) -> Result<(), UserGroupError> {
    let gone = |id: &&UserGroupId| realm.group(**id).is_none_or(|inner| inner.is_deactivated);
    ids.iter().find(gone).map_or(Ok(()), |unknown| Err(UserGroupError::NoSuchSubgroup(*unknown)))
}

fn each_once(ids: &[UserGroupId]) -> Vec<UserGroupId> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    ids
}
