//! Roles of users.

use serde::{Deserialize, Serialize};

use crate::limits::SECONDS_PER_DAY;
use crate::model::user::User;

/// A user's role in the organization, from most to least powerful; "at least" is `<=`.
///
/// # Source
/// Specification, "Organization roles".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "i64", try_from = "i64")]
pub enum Role {
    /// 100.
    Owner,
    /// 200.
    Administrator,
    /// 300.
    Moderator,
    /// 400.
    Member,
    /// 600; sees subscribed and web-public channels only.
    Guest,
}

/// A number that is not a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a role")]
pub struct UnknownRole(pub i64);

impl Role {
    /// Every role, the most powerful first.
    pub const ALL: [Self; 5] = [Self::Owner, Self::Administrator, Self::Moderator, Self::Member, Self::Guest];
}

impl From<Role> for i64 {
    fn from(role: Role) -> Self {
        match role {
            Role::Owner => 100,
            Role::Administrator => 200,
            Role::Moderator => 300,
            Role::Member => 400,
            Role::Guest => 600,
        }
    }
}

impl TryFrom<i64> for Role {
    type Error = UnknownRole;

    fn try_from(number: i64) -> Result<Self, UnknownRole> {
        Self::ALL.into_iter().find(|role| i64::from(*role) == number).ok_or(UnknownRole(number))
    }
}

impl User {
    /// Returns whether the user is a full member: a moderator or above, or a member for at least `waiting_period_days`.
    #[must_use]
    pub fn is_full_member(&self, waiting_period_days: i64, now_s: i64) -> bool {
        let age_s = now_s.saturating_sub(self.joined_s);
        self.role <= Role::Moderator
            || (self.role == Role::Member && age_s >= waiting_period_days.saturating_mul(SECONDS_PER_DAY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_role_is_the_number_of_the_wire_and_nothing_else_is() {
        for role in Role::ALL {
            assert_eq!(Role::try_from(i64::from(role)), Ok(role));
        }
        assert_eq!(Role::try_from(500), Err(UnknownRole(500)));
    }

    #[test]
    fn a_member_is_full_when_the_waiting_period_has_passed() {
        let mut user = testing::user(1, Role::Member);
        user.joined_s = 1_000;
        assert!(!user.is_full_member(2, 1_000 + 2 * SECONDS_PER_DAY - 1));
        assert!(user.is_full_member(2, 1_000 + 2 * SECONDS_PER_DAY));
        user.role = Role::Guest;
        assert!(!user.is_full_member(0, i64::MAX));
        user.role = Role::Moderator;
        assert!(user.is_full_member(1_000, 1_000));
    }
}
