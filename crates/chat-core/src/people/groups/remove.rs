//! Groups that are given up: put out of use, or removed for good.

use serde_json::json;

use super::{UserGroupError, changeable, changeable_in_use, group_event};
use crate::event_log::event::{ClientCapability, QueueCondition};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::UserGroupId;
use crate::model::group::UserGroup;
use crate::model::realm::RealmPermissionSettings;
use crate::model::realm_change::RealmChange;
use crate::model::realm_permission::RealmPermission;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;

/// A use of a user group by a setting or another group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserGroupUse {
    /// It lies inside these groups.
    Subgroup(Vec<UserGroupId>),
    /// Its members may mention this group.
    CanMention(UserGroupId),
    /// These settings of the realm name it.
    Realm(Vec<&'static str>),
}

/// Deactivates a user group: it keeps its name and members, and can neither be mentioned nor changed. Clients that know
/// deactivated groups are told that it is one; for others it is removed.
///
/// # Errors
/// See [`UserGroupError`]; nothing is to be written then. Not specified; a group that others build on stays, because
/// they would mean other people all at once.
pub fn deactivate_user_group(
    realm: &RealmSnapshot,
    caller: &User,
    id: UserGroupId,
    commit: &mut RealmCommit,
) -> Result<(), UserGroupError> {
    let group = changeable_in_use(realm, caller, id, commit.at_s)?;
    check_unused(realm, id)?;
    let deactivated = group_event("update", id, json!({"data": {"deactivated": true}}));
    commit
        .events
        .push(deactivated.with_queue_condition(QueueCondition::With(ClientCapability::IncludeDeactivatedGroups)));
    commit.events.push(
        group_event("remove", id, json!({}))
            .with_queue_condition(QueueCondition::Without(ClientCapability::IncludeDeactivatedGroups)),
    );
    commit.changes.push(RealmChange::Group(Box::new(UserGroup { is_deactivated: true, ..group.clone() })));
    Ok(())
}

/// Removes a user group permanently, active or not, and notifies those who know of it.
///
/// # Errors
/// As [`deactivate_user_group`], except that a group may be out of use.
pub fn remove_user_group(
    realm: &RealmSnapshot,
    caller: &User,
    id: UserGroupId,
    commit: &mut RealmCommit,
) -> Result<(), UserGroupError> {
    let group = changeable(realm, caller, id, commit.at_s)?;
    check_unused(realm, id)?;
    let gate = if group.is_deactivated {
        QueueCondition::With(ClientCapability::IncludeDeactivatedGroups)
    } else {
        QueueCondition::Any
    };
    commit.events.push(group_event("remove", id, json!({})).with_queue_condition(gate));
    commit.changes.push(RealmChange::GroupRemoved(id));
    Ok(())
}

fn check_unused(realm: &RealmSnapshot, id: UserGroupId) -> Result<(), UserGroupError> {
    let mut others: Vec<_> = realm.groups().filter(|group| group.id != id).collect();
    others.sort_unstable_by_key(|group| group.id);
    let around = others.iter().filter(|group| group.subgroups.contains(&id)).map(|group| group.id);
    let around: Vec<_> = around.collect();
    let mut uses = Vec::new();
    if !around.is_empty() {
        uses.push(UserGroupUse::Subgroup(around));
    }
    let Some(group) = realm.group(id) else { return Ok(()) };
    let mentioned = others.iter().filter(|other| realm.names_group(&other.can_mention, group));
    uses.extend(mentioned.map(|group| UserGroupUse::CanMention(group.id)));
    uses.extend(realm.realm().and_then(|organization| use_by_realm(realm, &organization.rules, group)));
    if uses.is_empty() { Ok(()) } else { Err(UserGroupError::InUse(uses)) }
}

fn use_by_realm(realm: &RealmSnapshot, settings: &RealmPermissionSettings, group: &UserGroup) -> Option<UserGroupUse> {
    let names_it = |permission: &&RealmPermission| realm.names_group(permission.value(settings), group);
    let named: Vec<_> = RealmPermission::ALL.iter().filter(names_it).map(|permission| permission.rule().name).collect();
    (!named.is_empty()).then_some(UserGroupUse::Realm(named))
}
