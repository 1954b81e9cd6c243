//! Making, changing, filling and removing user groups: decisions that become commits.
//!
//! Who may make groups is a choice of the realm, and so is who may change all of them. Of those who may make groups,
//! moderators and above change any, and others those they are in. The groups of the system cannot be changed: their
//! members follow from roles.

mod create;
mod members;
mod remove;
mod subgroups;
mod update;

pub use create::{NewUserGroup, create_user_group};
pub use members::change_group_members;
pub(crate) use members::{add_member, rejoined};
pub use remove::{UserGroupUse, deactivate_user_group, remove_user_group};
pub use subgroups::change_group_subgroups;
pub use update::{UserGroupUpdate, update_user_group};

use serde_json::{Value, json};

use crate::event_log::event::{ClientCapability, EventAudience, NewEvent, QueueCondition};
use crate::id::{UserGroupId, UserId};
use crate::model::group::{GroupNameError, UserGroup, parse_user_group_name};
use crate::model::realm_permission::RealmPermission;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::role::Role;
use crate::model::user::User;
use crate::permission::access::{self, PermissionError};
use crate::permission::group_settings::{GroupSettingError, has_realm_permission};
use crate::wire_format::group::direct_group_members;

/// The reason why a user group is not created or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UserGroupError {
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
    /// A setting cannot have the value.
    #[error(transparent)]
    Setting(#[from] GroupSettingError),
    /// Nothing shall be different.
    #[error("No new data supplied")]
    NothingNew,
    /// Others build on the group.
    #[error("Cannot deactivate user group in use.")]
    InUse(Vec<UserGroupUse>),
}

/// Checks whether the caller may create user groups.
///
/// # Errors
/// For guests, and for whom the realm's choice leaves out.
pub fn may_create_user_groups(realm: &RealmSnapshot, caller: &User, now_s: i64) -> Result<(), UserGroupError> {
    access::require_member(caller)?;
    let permitted = has_realm_permission(realm, caller, RealmPermission::CreateGroups, now_s);
    if permitted { Ok(()) } else { Err(PermissionError::Insufficient.into()) }
}

/// Returns the user group of that id, or an error.
///
/// # Errors
/// When there is none.
pub fn find_user_group(realm: &RealmSnapshot, id: UserGroupId) -> Result<&UserGroup, UserGroupError> {
    realm.group(id).map(AsRef::as_ref).ok_or(UserGroupError::NoSuchGroup)
}

/// Returns the members of the group, direct ones alone or also those of its subgroups, in ascending order. Walks over
/// all users.
#[must_use]
pub fn user_group_members(realm: &RealmSnapshot, group: &UserGroup, depth: MembershipDepth, now_s: i64) -> Vec<UserId> {
    match depth {
        MembershipDepth::Direct => direct_group_members(realm, group, now_s),
        MembershipDepth::All => {
            let inside = realm.users().filter(|user| realm.is_in_group(user, group.id, now_s));
            let mut ids: Vec<_> = inside.map(|user| user.id).collect();
            ids.sort_unstable();
            ids
        }
    }
}

/// Returns the subgroups of the group, direct ones alone or also indirect ones, in ascending order.
#[must_use]
pub fn user_group_subgroups(realm: &RealmSnapshot, group: &UserGroup, depth: MembershipDepth) -> Vec<UserGroupId> {
    match depth {
        MembershipDepth::Direct => group.subgroups.clone(),
        MembershipDepth::All => {
            let inside = |other: &UserGroup| other.id != group.id && realm.is_same_or_subgroup(other.id, group.id);
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
/// Not specified who may; as existing clients know it: who may change all groups, and of those who may create groups
/// moderators and above any group, members those they are in.
fn changeable<'a>(
    realm: &'a RealmSnapshot,
    caller: &User,
    id: UserGroupId,
    now_s: i64,
) -> Result<&'a UserGroup, UserGroupError> {
    access::require_member(caller)?;
    let manages_all = has_realm_permission(realm, caller, RealmPermission::ManageAllGroups, now_s);
    if !manages_all {
        may_create_user_groups(realm, caller, now_s)?;
    }
    let group = find_user_group(realm, id)?;
    let is_theirs = manages_all || caller.role <= Role::Moderator || realm.is_in_group(caller, id, now_s);
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
) -> Result<&'a UserGroup, UserGroupError> {
    let group = changeable(realm, caller, id, now_s)?;
    if group.is_deactivated { Err(UserGroupError::Deactivated) } else { Ok(group) }
}

/// Checks whether the caller may have users join the group.
///
/// # Errors
/// When there is no such group in use, or the caller may not change it; a group of the system cannot be changed.
pub(crate) fn may_add_members(
    realm: &RealmSnapshot,
    caller: &User,
    id: UserGroupId,
    now_s: i64,
) -> Result<(), UserGroupError> {
    changeable_in_use(realm, caller, id, now_s).map(drop)
}

/// Returns the name without blanks around it, when it is one.
fn checked_name(written: &str) -> Result<String, UserGroupError> {
    Ok(parse_user_group_name(written)?.to_owned())
}

/// Refuses a name that another group has, in use or not. Names are compared with regard to case.
fn check_free(realm: &RealmSnapshot, name: &str) -> Result<(), UserGroupError> {
    let taken = realm.groups().any(|group| group.name == name);
    if taken { Err(UserGroupError::NameTaken(name.to_owned())) } else { Ok(()) }
}

/// Each user once, in the order of their numbers. Refuses who is not there and who closed their account: nobody would
/// answer for them.
fn checked_users(realm: &RealmSnapshot, ids: &[UserId]) -> Result<Vec<UserId>, UserGroupError> {
    let gone = |id: &&UserId| realm.user(**id).is_none_or(|user| !user.is_active);
    if let Some(unknown) = ids.iter().find(gone) {
        return Err(UserGroupError::NoSuchUser(*unknown));
    }
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// Returns the event for the clients that know of the group: of one out of use not all do.
fn event_of(group: &UserGroup, event: NewEvent) -> NewEvent {
    if group.is_deactivated {
        event.with_queue_condition(QueueCondition::With(ClientCapability::IncludeDeactivatedGroups))
    } else {
        event
    }
}

/// Notifies all users of a change to a group. `more` is an object.
fn group_event(op: &str, id: UserGroupId, more: Value) -> NewEvent {
    let mut event = json!({"type": "user_group", "op": op, "group_id": id});
    crate::wire_format::add(&mut event, more);
    NewEvent::same_for_everyone(EventAudience::Everyone, event)
}

#[cfg(test)]
mod tests;
