//! Who may move, resolve and delete messages.

use super::{MessageEditError, is_too_late};
use crate::model::message::Message;
use crate::model::realm::RealmPermissionSettings;
use crate::model::realm_permission::RealmPermission;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::role::Role;
use crate::model::user::User;
use crate::permission::group_settings::has_realm_permission;

/// The beginning of the name of a resolved topic.
const RESOLVED_PREFIX: &str = "✔ ";

/// Returns whether a topic is only marked as resolved or unresolved when it gets the other name.
pub(super) fn only_resolves(before: &str, after: &str) -> bool {
    let is_resolved = |one: &str, other: &str| one.strip_prefix(RESOLVED_PREFIX) == Some(other);
    is_resolved(before, after) || is_resolved(after, before)
}

/// Checks whether a user, who may read the message, may move it to another topic of its channel. `resolves` says that
/// the topic is only marked, which has its own permission and no time limit.
///
/// # Errors
/// When they may not, or not any more.
pub(super) fn may_change_topic(
    realm: &RealmSnapshot,
    user: &User,
    message: &Message,
    (resolves, now_s): (bool, i64),
) -> Result<(), MessageEditError> {
    if resolves {
        let permitted = has_realm_permission(realm, user, RealmPermission::ResolveTopics, now_s);
        return if permitted { Ok(()) } else { Err(MessageEditError::ResolveNotPermitted) };
    }
    let rules = realm.realm().map(|realm| &realm.rules);
    let own = message.sender_id == user.id && rules.is_some_and(|rules| rules.allow_editing);
    if !own && !has_realm_permission(realm, user, RealmPermission::MoveBetweenTopics, now_s) {
        return Err(MessageEditError::NotPermitted);
    }
    let limit_s = rules.and_then(|rules| rules.move_topic_limit_s).filter(|_| user.role > Role::Moderator);
    if is_too_late(limit_s, message, now_s) { Err(MessageEditError::TopicTooLate) } else { Ok(()) }
}

/// The reason why a message may not be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MessageDeleteError {
    /// It is another user's, or the realm does not let this user delete their own.
    #[error("You don't have permission to delete this message")]
    NotPermitted,
    /// It may not be deleted any more.
    #[error("The time limit for deleting this message has passed")]
    TooLate,
}

/// Checks whether a user, who may read the message, may delete it: any message at any time, or their own within the
/// realm's limit.
///
/// # Errors
/// See [`MessageDeleteError`].
pub(in crate::messages) fn may_delete(
    realm: &RealmSnapshot,
    user: &User,
    message: &Message,
    now_s: i64,
) -> Result<(), MessageDeleteError> {
    let permits = |permission| has_realm_permission(realm, user, permission, now_s);
    if permits(RealmPermission::DeleteAnyMessage) {
        return Ok(());
    }
    if message.sender_id != user.id || !permits(RealmPermission::DeleteOwnMessage) {
        return Err(MessageDeleteError::NotPermitted);
    }
    let default = RealmPermissionSettings::default();
    let rules = realm.realm().map_or(&default, |realm| &realm.rules);
    if is_too_late(rules.delete_limit_s, message, now_s) { Err(MessageDeleteError::TooLate) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{ChannelId, UserId};
    use crate::model::group::SystemGroup;
    use crate::model::message::Recipient;
    use crate::testing::{self, NOW_S};

    #[test]
    fn a_topic_is_resolved_by_its_mark_alone() {
        assert!(only_resolves("lunch", "✔ lunch") && only_resolves("✔ lunch", "lunch"));
        assert!(!only_resolves("lunch", "✔ dinner") && !only_resolves("lunch", "✔lunch"));
        assert!(!only_resolves("lunch", "lunch") && !only_resolves("✔ ✔ lunch", "lunch"));
    }

    #[test]
    fn an_administrator_deletes_any_message_and_its_sender_for_a_while() {
        let message = testing::message(4, Recipient::Channel(ChannelId(20)));
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let outcome = |id, after_s| may_delete(&realm, realm.user(UserId(id)).unwrap(), &message, NOW_S + after_s);
        assert_eq!(outcome(2, 1_000_000), Ok(()));
        assert_eq!(outcome(3, 0), Err(MessageDeleteError::NotPermitted));
        assert_eq!(outcome(4, 620), Ok(()));
        assert_eq!(outcome(4, 621), Err(MessageDeleteError::TooLate));
    }

    #[test]
    fn an_administrator_outside_the_group_deletes_as_others_do() {
        let rules = RealmPermissionSettings {
            delete_any_message: SystemGroup::Owners.into(),
            delete_own_message: SystemGroup::Nobody.into(),
            ..RealmPermissionSettings::default()
        };
        let realm = testing::realm(rules, Vec::new());
        let outcome = |id| {
            let message = testing::message(id, Recipient::Channel(ChannelId(20)));
            may_delete(&realm, realm.user(UserId(id)).unwrap(), &message, NOW_S)
        };
        assert_eq!((outcome(1), outcome(2)), (Ok(()), Err(MessageDeleteError::NotPermitted)));
    }
}
