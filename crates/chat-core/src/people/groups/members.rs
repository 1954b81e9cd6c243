//! Who is in a group by themselves.

use serde_json::json;

use super::{UserGroupError, changeable, checked_users, event_of, group_event};
use crate::event_log::event::NewEvent;
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

/// Adds a user to a group as a rule of the server says, and notifies all users.
pub(crate) fn add_member(group: &UserGroup, user_id: UserId, commit: &mut RealmCommit) {
    let mut group = group.clone();
    if let Err(place) = group.members.binary_search(&user_id) {
        group.members.insert(place, user_id);
        commit.events.push(event_of(&group, group_event("add_members", group.id, json!({"user_ids": [user_id]}))));
        commit.changes.push(RealmChange::Group(Box::new(group)));
    }
}

/// Notifies all users of the groups that a user, whose account is reactivated, is a direct member of again. Nothing is
/// reported of them when it is deactivated: clients take the user out of everything by themselves.
pub(crate) fn rejoined(realm: &RealmSnapshot, user: &User, now_s: i64) -> Vec<NewEvent> {
    let waiting_days = realm.realm().map_or(0, |realm| realm.rules.waiting_period_days);
    let is_in = |group: &&UserGroup| match group.system {
        Some(system) => system.has_direct_member(user, waiting_days, now_s),
        None => group.has_direct_member(user.id),
    };
    let mut groups: Vec<&UserGroup> = realm.groups().map(AsRef::as_ref).filter(is_in).collect();
    groups.sort_unstable_by_key(|group| group.id);
    let event =
        |group: &UserGroup| event_of(group, group_event("add_members", group.id, json!({"user_ids": [user.id]})));
    groups.into_iter().map(event).collect()
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
