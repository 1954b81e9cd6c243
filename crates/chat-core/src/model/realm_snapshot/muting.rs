//! Which users have muted which.

use super::RealmSnapshot;
use crate::id::UserId;
use crate::model::realm_change::UserItemKind;

impl RealmSnapshot {
    /// Returns whether the user has muted any user.
    #[must_use]
    pub fn mutes_any_user(&self, user_id: UserId) -> bool {
        self.user_items(user_id, UserItemKind::MutedUser).next().is_some()
    }

    /// Returns whether the user has muted the other user, whose messages then count as read.
    #[must_use]
    pub fn mutes_user(&self, user_id: UserId, muted: UserId) -> bool {
        self.user_item(user_id, UserItemKind::MutedUser, &muted.to_string()).is_some()
    }

    /// Returns the users who have muted the user, in ascending order.
    pub fn users_who_muted(&self, user_id: UserId) -> impl Iterator<Item = UserId> {
        self.muted_by.get(&user_id.to_string()).into_iter().flatten().copied()
    }
}
