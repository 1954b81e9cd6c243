//! Groups that are given up: put out of use, or removed for good.

use serde_json::json;

use super::{GroupError, changeable, changeable_in_use, group_event};
use crate::id::UserGroupId;
use crate::log::commit::RealmCommit;
use crate::log::event::{ClientCapability, QueueCondition};
use crate::model::change::RealmChange;
use crate::model::group::UserGroup;
use crate::model::snapshot::RealmSnapshot;
use crate::model::user::User;

/// A use of a user group by a setting or another group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupUse {
    /// It lies inside these groups.
    Subgroup(Vec<UserGroupId>),
    /// Its members may mention this group.
    CanMention(UserGroupId),
}

/// Puts a group out of use: it keeps its name and its members, and cannot be mentioned. Clients that
/// know of groups out of use are notified that it is one; to the others it is gone.
///
/// # Errors
/// See [`GroupError`]; nothing is to be written then. Not specified; a group that others build on stays, because they
/// would mean other people all at once.
pub fn deactivate(
    realm: &RealmSnapshot,
    caller: &User,
    id: UserGroupId,
    commit: &mut RealmCommit,
) -> Result<(), GroupError> {
    let group = changeable_in_use(realm, caller, id, commit.at_s)?;
    check_unused(realm, id)?;
    let deactivated = group_event("update", id, json!({"data": {"deactivated": true}}));
    commit.events.push(deactivated.gated(QueueCondition::With(ClientCapability::IncludeDeactivatedGroups)));
    commit.events.push(
        group_event("remove", id, json!({})).gated(QueueCondition::Without(ClientCapability::IncludeDeactivatedGroups)),
    );
    commit.changes.push(RealmChange::Group(Box::new(UserGroup { is_deactivated: true, ..group.clone() })));
    Ok(())
}

/// Removes a group for good, in use or not, and tells whoever knows of it.
///
/// # Errors
/// As [`deactivate`], except that a group may be out of use.
pub fn remove(
    realm: &RealmSnapshot,
    caller: &User,
    id: UserGroupId,
    commit: &mut RealmCommit,
) -> Result<(), GroupError> {
    let group = changeable(realm, caller, id, commit.at_s)?;
    check_unused(realm, id)?;
    let gate = if group.is_deactivated {
        QueueCondition::With(ClientCapability::IncludeDeactivatedGroups)
    } else {
        QueueCondition::Any
    };
    commit.events.push(group_event("remove", id, json!({})).gated(gate));
    commit.changes.push(RealmChange::GroupRemoved(id));
    Ok(())
}

fn check_unused(realm: &RealmSnapshot, id: UserGroupId) -> Result<(), GroupError> {
    let mut others: Vec<_> = realm.groups().filter(|group| group.id != id).collect();
    others.sort_unstable_by_key(|group| group.id);
    let around = others.iter().filter(|group| group.subgroups.contains(&id)).map(|group| group.id);
    let around: Vec<_> = around.collect();
    let mut uses = Vec::new();
    if !around.is_empty() {
        uses.push(GroupUse::Subgroup(around));
    }
    let mentioned = others.iter().filter(|group| group.can_mention.groups().contains(&id));
    uses.extend(mentioned.map(|group| GroupUse::CanMention(group.id)));
    if uses.is_empty() { Ok(()) } else { Err(GroupError::InUse(uses)) }
}
