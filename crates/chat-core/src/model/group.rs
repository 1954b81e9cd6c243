//! User groups, those of the system and those users make.

use serde::{Deserialize, Serialize};

use crate::id::{UserGroupId, UserId};
use crate::limits::MAX_USER_GROUP_NAME_CHARS;
use crate::model::role::Role;
use crate::model::user::User;
use crate::text_processing::printable_names::find_unprintable_in_name;

/// A named group of users and subgroups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserGroup {
    /// Its number.
    pub id: UserGroupId,
    /// Its name; `role:…` for those of the system. Compared with regard to case.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Set for groups of the system: their members follow from roles and are not stored.
    pub system: Option<SystemGroup>,
    /// Who is in it by themselves, in the order of their numbers. Empty for groups of the system.
    pub members: Vec<UserId>,
    /// The groups whose members are in it too, in the order of their numbers.
    pub subgroups: Vec<UserGroupId>,
    /// Whose members may mention it.
    pub can_mention: GroupSettingValue,
    /// Whether it is out of use: kept, so that what was said to it can be read, but not to be mentioned or changed.
    #[serde(default)]
    pub is_deactivated: bool,
    /// Who created it; `None` for groups of the system, and for those from before this was stored.
    #[serde(default)]
    pub origin: Option<GroupOrigin>,
}

/// The creation of a user group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupOrigin {
    /// The creator.
    pub creator_id: UserId,
    /// When, in unix seconds.
    pub created_s: i64,
}

impl UserGroup {
    /// Returns whether the user is a direct member of the group. Takes logarithmic time, because groups of everybody
    /// are asked for each user.
    #[must_use]
    pub fn has_direct_member(&self, user_id: UserId) -> bool {
        self.members.binary_search(&user_id).is_ok()
    }
}

/// The system groups that every realm has. Each contains the one before it, except `Nobody`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemGroup {
    /// `role:nobody`.
    Nobody,
    /// `role:owners`.
    Owners,
    /// `role:administrators`.
    Administrators,
    /// `role:moderators`.
    Moderators,
    /// `role:fullmembers`.
    FullMembers,
    /// `role:members`.
    Members,
    /// `role:everyone`.
    Everyone,
    /// `role:internet`.
    Internet,
}

impl SystemGroup {
    /// All system groups, in the order of their ids in a realm.
    pub const ALL: [Self; 8] = [
        Self::Nobody,
        Self::Owners,
        Self::Administrators,
        Self::Moderators,
        Self::FullMembers,
        Self::Members,
        Self::Everyone,
        Self::Internet,
    ];

    /// Returns the group's name on the wire.
    #[must_use]
    pub fn wire_name(self) -> &'static str {
        match self {
            Self::Nobody => "role:nobody",
            Self::Owners => "role:owners",
            Self::Administrators => "role:administrators",
            Self::Moderators => "role:moderators",
            Self::FullMembers => "role:fullmembers",
            Self::Members => "role:members",
            Self::Everyone => "role:everyone",
            Self::Internet => "role:internet",
        }
    }

    /// Returns the system group of that name on the wire.
    #[must_use]
    pub fn from_wire_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|system| system.wire_name() == name)
    }

    /// Returns the name under which a mention shows the group.
    #[must_use]
    pub fn display_name(self) -> &'static str {
        match self {
            Self::Nobody => "Nobody",
            Self::Owners => "Owners",
            Self::Administrators => "Administrators",
            Self::Moderators => "Moderators",
            Self::FullMembers => "Full members",
            Self::Members => "Members",
            Self::Everyone => "Everyone",
            Self::Internet => "Everyone on the internet",
        }
    }

    /// Returns the group's description on the wire.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::Nobody => "Nobody",
            Self::Owners => "Owners of this organization",
            Self::Administrators => "Administrators of this organization, including owners",
            Self::Moderators => "Moderators of this organization, including administrators",
            Self::FullMembers => "Members of this organization, not including new accounts and guests",
            Self::Members => "Members of this organization, not including guests",
            Self::Everyone => "Everyone in this organization, including guests",
            Self::Internet => "Everyone on the Internet",
        }
    }

    /// Returns the system group that is the direct subgroup of this one.
    #[must_use]
    pub fn direct_subgroup(self) -> Option<Self> {
        match self {
            Self::Nobody | Self::Owners => None,
            Self::Administrators => Some(Self::Owners),
            Self::Moderators => Some(Self::Administrators),
            Self::FullMembers => Some(Self::Moderators),
            Self::Members => Some(Self::FullMembers),
            Self::Everyone => Some(Self::Members),
            Self::Internet => Some(Self::Everyone),
        }
    }

    /// Returns whether the user is a direct member of the system group, not only through a subgroup.
    ///
    /// A full member stands in `role:members` too, as existing clients see it.
    #[must_use]
    pub fn has_direct_member(self, user: &User, waiting_period_days: i64, now_s: i64) -> bool {
        match self {
            Self::Nobody | Self::Internet => false,
            Self::Owners => user.role == Role::Owner,
            Self::Administrators => user.role == Role::Administrator,
            Self::Moderators => user.role == Role::Moderator,
            Self::FullMembers => user.role == Role::Member && user.is_full_member(waiting_period_days, now_s),
            Self::Members => user.role == Role::Member,
            Self::Everyone => user.role == Role::Guest,
        }
    }

    /// Returns whether the user is in the system group, directly or through its subgroups. `waiting_period_days` is the
    /// realm's threshold for full members.
    #[must_use]
    pub fn includes(self, user: &User, waiting_period_days: i64, now_s: i64) -> bool {
        match self {
            Self::Nobody => false,
            Self::Owners => user.role == Role::Owner,
            Self::Administrators => user.role <= Role::Administrator,
            Self::Moderators => user.role <= Role::Moderator,
            Self::FullMembers => user.is_full_member(waiting_period_days, now_s),
            Self::Members => user.role <= Role::Member,
            Self::Everyone | Self::Internet => true,
        }
    }
}

/// The value of a group setting: a group, or users and groups named individually.
///
/// Two values that mean the same may differ here; [`RealmSnapshot::canonical_group_setting`] makes them equal.
///
/// [`RealmSnapshot::canonical_group_setting`]: crate::model::realm_snapshot::RealmSnapshot::canonical_group_setting
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum GroupSettingValue {
    /// The members of a system group. Stored as its role, which is also how earlier programs stored a policy.
    System(SystemGroup),
    /// The members of a group.
    Group(UserGroupId),
    /// Users, and the members of groups.
    Named {
        /// The users.
        direct_members: Vec<UserId>,
        /// The groups.
        direct_subgroups: Vec<UserGroupId>,
    },
}

/// A change of a group setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupSettingChange {
    /// The new value.
    pub new: GroupSettingValue,
    /// The value that the caller expects to be stored; when another is, nothing changes.
    pub old: Option<GroupSettingValue>,
}

impl GroupSettingValue {
    /// Returns the value sorted and without duplicates, and a single group without users as that group. Without a
    /// member or a subgroup it is `role:nobody`.
    #[must_use]
    pub fn into_sorted(self) -> Self {
        let Self::Named { mut direct_members, mut direct_subgroups } = self else { return self };
        direct_members.sort_unstable();
        direct_members.dedup();
        direct_subgroups.sort_unstable();
        direct_subgroups.dedup();
        match (direct_members.as_slice(), direct_subgroups.as_slice()) {
            ([], [only]) => Self::Group(*only),
            ([], []) => Self::System(SystemGroup::Nobody),
            _ => Self::Named { direct_members, direct_subgroups },
        }
    }

    /// Returns the ids of the groups in the value, except for a system group that is named by its role.
    #[must_use]
    pub fn group_ids(&self) -> &[UserGroupId] {
        match self {
            Self::System(_) => &[],
            Self::Group(id) => std::slice::from_ref(id),
            Self::Named { direct_subgroups, .. } => direct_subgroups,
        }
    }

    /// Returns the ids of the users in the value.
    #[must_use]
    pub fn user_ids(&self) -> &[UserId] {
        match self {
            Self::System(_) | Self::Group(_) => &[],
            Self::Named { direct_members, .. } => direct_members,
        }
    }
}

impl From<SystemGroup> for GroupSettingValue {
    fn from(system: SystemGroup) -> Self {
        Self::System(system)
    }
}

/// The reason why a text is not a valid user group name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GroupNameError {
    /// No character.
    #[error("User group name can't be empty!")]
    Empty,
    /// More than [`MAX_USER_GROUP_NAME_CHARS`].
    #[error("User group name cannot exceed {MAX_USER_GROUP_NAME_CHARS} characters.")]
    TooLong,
    /// A character no screen shows; its place counted from 1.
    #[error("Invalid character in user group name, at position {0}!")]
    InvalidCharacter(usize),
    /// It begins as mentions or groups of the system do.
    #[error("User group name cannot start with '{0}'.")]
    ReservedPrefix(&'static str),
}

/// Parses a user group name: trims and validates it.
///
/// # Errors
/// See [`GroupNameError`].
pub fn parse_user_group_name(written: &str) -> Result<&str, GroupNameError> {
    const RESERVED: [&str; 5] = ["@", "role:", "user:", "stream:", "channel:"];
    let name = written.trim();
    if name.is_empty() {
        return Err(GroupNameError::Empty);
    }
    if name.chars().count() > MAX_USER_GROUP_NAME_CHARS {
        return Err(GroupNameError::TooLong);
    }
    if let Some(place) = find_unprintable_in_name(name) {
        return Err(GroupNameError::InvalidCharacter(place));
    }
    match RESERVED.into_iter().find(|prefix| name.starts_with(prefix)) {
        Some(prefix) => Err(GroupNameError::ReservedPrefix(prefix)),
        None => Ok(name),
    }
}

/// Groups of the system that cannot take others out of a channel: everyone on the internet, and those that leave
/// administrators out.
pub(crate) const NOT_REMOVERS: &[SystemGroup] = &[SystemGroup::Internet, SystemGroup::Owners, SystemGroup::Nobody];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_name_keeps_away_from_the_systems() {
        assert_eq!(parse_user_group_name(" backend "), Ok("backend"));
        assert_eq!(parse_user_group_name(""), Err(GroupNameError::Empty));
        assert_eq!(parse_user_group_name("back\u{200b}end"), Err(GroupNameError::InvalidCharacter(5)));
        assert_eq!(
            parse_user_group_name(&"x".repeat(101)).map_err(|error| error.to_string()),
            Err("User group name cannot exceed 100 characters.".to_owned())
        );
        assert_eq!(
            parse_user_group_name("role:x").map_err(|error| error.to_string()),
            Err("User group name cannot start with 'role:'.".to_owned())
        );
    }

    #[test]
    fn a_permission_has_one_form() {
        let named = |users: &[i64], groups: &[i64]| GroupSettingValue::Named {
            direct_members: users.iter().copied().map(UserId).collect(),
            direct_subgroups: groups.iter().copied().map(UserGroupId).collect(),
        };
        assert_eq!(named(&[], &[5, 5]).into_sorted(), GroupSettingValue::Group(UserGroupId(5)));
        assert_eq!(named(&[4, 2, 4], &[5]).into_sorted(), named(&[2, 4], &[5]));
        assert_eq!(named(&[], &[]).into_sorted(), GroupSettingValue::System(SystemGroup::Nobody));
        assert_eq!(
            serde_json::json!(named(&[2], &[5])),
            serde_json::json!({"direct_members": [2], "direct_subgroups": [5]})
        );
    }

    #[test]
    fn the_groups_of_the_system_lie_inside_each_other() {
        let mut at = SystemGroup::Internet;
        let mut seen = 1;
        while let Some(inner) = at.direct_subgroup() {
            at = inner;
            seen += 1;
        }
        assert_eq!((at, seen), (SystemGroup::Owners, 7));
    }
}
