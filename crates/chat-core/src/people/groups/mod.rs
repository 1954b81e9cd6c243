//! Making, changing, filling and removing user groups: decisions that become commits.
//!
//! Who may make groups is a choice of the realm. Those that exist are changed by moderators and above, and by their own
//! members. The groups of the system are changed by nobody: who stands in them follows from roles.

mod create;
mod members;
mod remove;
mod subgroups;
mod update;

pub use create::{NewGroup, create};
pub use members::change_members;
pub use remove::{GroupUse, deactivate, remove};
pub use subgroups::change_subgroups;
pub use update::{GroupSettingChange, GroupUpdate, update};

use serde_json::{Value, json};

use crate::id::{UserGroupId, UserId};
use crate::log::event::{ClientCapability, EventAudience, NewEvent, QueueCondition};
use crate::model::group::{GroupNameError, GroupSetting, NOT_MENTIONERS, SystemGroup, UserGroup, group_name};
use crate::model::role::{PermissionPolicy, Role};
use crate::model::snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access::{self, PermissionError};
use crate::wire::group::members;

/// The reason why a user group stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// The caller is not who may.
    #[error(transparent)]
    NotAllowed(#[from] PermissionError),
    /// The name is none.
    #[error(transparent)]
    Name(#[from] GroupNameError),
    /// Another group has the name.
    #[error("User group '{0}' already exists.")]
    NameTaken(String),
    /// There is no such group.
    #[error("Invalid user group")]
    NoSuchGroup,
    /// The group is out of use.
    #[error("User group is deactivated.")]
    Deactivated,
    /// A user who is named is not there, or no longer.
    #[error("Invalid user ID: {0}")]
    NoSuchUser(UserId),
    /// They are in it.
    #[error("User {0} is already a member of this group")]
    AlreadyMember(UserId),
    /// They are not in it.
    #[error("There is no member '{0}' in this user group")]
    NotAMember(UserId),
    /// A group that is named is not there, or out of use.
    #[error("Invalid user group ID: {0}")]
    NoSuchSubgroup(UserGroupId),
    /// It is in it.
    #[error("User group {0} is already a subgroup of this group.")]
    AlreadySubgroup(UserGroupId),
    /// It is not in it.
    #[error("User group {0} is not a subgroup of this group.")]
    NotASubgroup(UserGroupId),
    /// The group would lie inside itself.
    #[error("User group {0} is already a subgroup of one of the passed subgroups.")]
    Circular(UserGroupId),
    /// Not this group of the system.
    #[error("'can_mention_group' setting cannot be set to '{}' group.", .0.name())]
    SettingRefused(SystemGroup),
    /// The setting is not what the caller takes it for.
    #[error("'old' value does not match the expected value.")]
    SettingChanged,
    /// Nothing shall be different.
    #[error("No new data supplied")]
    NothingNew,
    /// Others build on the group.
    #[error("Cannot deactivate user group in use.")]
    InUse(Vec<GroupUse>),
}

/// Whether the caller may make user groups.
///
/// # Errors
/// For guests, and for whom the realm's choice leaves out.
pub fn may_make(realm: &RealmSnapshot, caller: &User, now_s: i64) -> Result<(), GroupError> {
    access::require_member(caller)?;
    let rules = realm.realm().map(|realm| &realm.rules);
    let (policy, waiting_days) =
        rules.map_or((PermissionPolicy::Nobody, 0), |rules| (rules.edit_groups, rules.waiting_period_days));
    if policy.permits(caller, waiting_days, now_s) { Ok(()) } else { Err(PermissionError::Insufficient.into()) }
}

/// Returns the group of that number.
///
/// # Errors
/// When there is none.
pub fn known(realm: &RealmSnapshot, id: UserGroupId) -> Result<&UserGroup, GroupError> {
    realm.group(id).map(AsRef::as_ref).ok_or(GroupError::NoSuchGroup)
}

/// Returns who is in the group, by themselves alone or through its subgroups too, in the order of their numbers. Costs
/// a walk over all users.
#[must_use]
pub fn members_of(realm: &RealmSnapshot, group: &UserGroup, depth: MembershipDepth, now_s: i64) -> Vec<UserId> {
    match depth {
        MembershipDepth::Direct => members(realm, group, now_s),
        MembershipDepth::All => {
            let inside = realm.users().filter(|user| realm.is_in_group(user, group.id, now_s));
            let mut ids: Vec<_> = inside.map(|user| user.id).collect();
            ids.sort_unstable();
            ids
        }
    }
}

/// Returns the groups inside the group, its own alone or those inside them too, in the order of their numbers.
#[must_use]
pub fn subgroups_of(realm: &RealmSnapshot, group: &UserGroup, depth: MembershipDepth) -> Vec<UserGroupId> {
    match depth {
        MembershipDepth::Direct => group.subgroups.clone(),
        MembershipDepth::All => {
            let inside = |other: &UserGroup| other.id != group.id && realm.lies_in(other.id, group.id);
            let mut ids: Vec<_> = realm.groups().filter(|other| inside(other)).map(|other| other.id).collect();
            ids.sort_unstable();
            ids
        }
    }
}

/// The depth of a membership query: direct members, or subgroups too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MembershipDepth {
    /// To what stands in the group itself.
    Direct,
    /// To what stands in the groups inside it as well.
    All,
}

/// Returns the group, when the caller may change it.
///
/// Not specified who may; as existing clients know it: moderators and above any group, members those they are in.
fn changeable<'a>(
    realm: &'a RealmSnapshot,
    caller: &User,
    id: UserGroupId,
    now_s: i64,
) -> Result<&'a UserGroup, GroupError> {
    may_make(realm, caller, now_s)?;
    let group = known(realm, id)?;
    let is_theirs = caller.role <= Role::Moderator || realm.is_in_group(caller, id, now_s);
    if group.system.is_some() || !is_theirs {
        return Err(PermissionError::Insufficient.into());
    }
    Ok(group)
}

/// As [`changeable`], for a group in use.
fn changeable_in_use<'a>(
    realm: &'a RealmSnapshot,
    caller: &User,
    id: UserGroupId,
    now_s: i64,
) -> Result<&'a UserGroup, GroupError> {
    let group = changeable(realm, caller, id, now_s)?;
    if group.is_deactivated { Err(GroupError::Deactivated) } else { Ok(group) }
}

/// Returns the name without blanks around it, when it is one.
fn checked_name(written: &str) -> Result<String, GroupError> {
    Ok(group_name(written)?.to_owned())
}

/// Refuses a name that another group has, in use or not. Names are compared with regard to case.
fn check_free(realm: &RealmSnapshot, name: &str) -> Result<(), GroupError> {
    let taken = realm.groups().any(|group| group.name == name);
    if taken { Err(GroupError::NameTaken(name.to_owned())) } else { Ok(()) }
}

/// Each user once, in the order of their numbers. Refuses who is not there and who closed their account: nobody would
/// answer for them.
fn checked_users(realm: &RealmSnapshot, ids: &[UserId]) -> Result<Vec<UserId>, GroupError> {
    let gone = |id: &&UserId| realm.user(**id).is_none_or(|user| !user.is_active);
    if let Some(unknown) = ids.iter().find(gone) {
        return Err(GroupError::NoSuchUser(*unknown));
    }
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// Returns the permission in its one form, when everything it names is there and it can be who may mention a group.
///
/// # Source
/// Specification, `POST /user_groups/create`: not `role:internet` nor `role:owners`.
fn checked_setting(realm: &RealmSnapshot, setting: &GroupSetting) -> Result<GroupSetting, GroupError> {
    let setting = setting.clone().canonical();
    checked_users(realm, setting.users())?;
    for id in setting.groups() {
        if known(realm, *id)?.is_deactivated {
            return Err(GroupError::NoSuchGroup);
        }
    }
    let GroupSetting::Group(id) = setting else { return Ok(setting) };
    match known(realm, id)?.system {
        Some(system) if NOT_MENTIONERS.contains(&system) => Err(GroupError::SettingRefused(system)),
        _ => Ok(setting),
    }
}

/// Returns the event for the clients that know of the group: of one out of use not all do.
fn event_of(group: &UserGroup, event: NewEvent) -> NewEvent {
    if group.is_deactivated {
        event.gated(QueueCondition::With(ClientCapability::IncludeDeactivatedGroups))
    } else {
        event
    }
}

/// Notifies all users of a change to a group. `more` is an object.
fn group_event(op: &str, id: UserGroupId, more: Value) -> NewEvent {
    let mut event = json!({"type": "user_group", "op": op, "group_id": id});
    crate::wire::add(&mut event, more);
    NewEvent::plain(EventAudience::Everyone, event)
}

#[cfg(test)]
mod tests;
