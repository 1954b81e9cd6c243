//! Users that someone does not want to hear.

use serde_json::{Value, json};

use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::UserId;
use crate::model::realm_change::{RealmChange, UserItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::wire_format::realm_and_user_items;

/// The reason why a user cannot be muted or unmuted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MuteError {
    /// Nobody can stop hearing themselves.
    #[error("Cannot mute self")]
    Oneself,
    /// There is no such user.
    #[error("No such user")]
    NoSuchUser,
    /// It is so already.
    #[error("User already muted")]
    AlreadyMuted,
    /// It is not so.
    #[error("User is not muted")]
    NotMuted,
}

/// Mutes another user. Bots and deactivated accounts can be muted too, because what they wrote is still there.
///
/// # Errors
/// See [`MuteError`].
pub fn mute_user(realm: &RealmSnapshot, user: &User, muted: UserId, commit: &mut RealmCommit) -> Result<(), MuteError> {
    if muted == user.id {
        return Err(MuteError::Oneself);
    }
    if is_muted(realm, user.id, muted)? {
        return Err(MuteError::AlreadyMuted);
    }
    let mut muted_users = realm_and_user_items::muted_user_objects(realm, user.id);
    muted_users.push(json!({"id": muted, "timestamp": commit.at_s}));
    put(user, muted, Some(json!({"timestamp": commit.at_s})), &muted_users, commit);
    Ok(())
}

/// Unmutes a user.
///
/// # Errors
/// See [`MuteError`].
///
/// # Source
/// Specification, `DELETE /users/me/muted_users/{muted_user_id}`.
pub fn unmute_user(
    realm: &RealmSnapshot,
    user: &User,
    muted: UserId,
    commit: &mut RealmCommit,
) -> Result<(), MuteError> {
    if !is_muted(realm, user.id, muted)? {
        return Err(MuteError::NotMuted);
    }
    let mut muted_users = realm_and_user_items::muted_user_objects(realm, user.id);
    muted_users.retain(|shown| shown.get("id").and_then(Value::as_i64) != Some(muted.0));
    put(user, muted, None, &muted_users, commit);
    Ok(())
}

fn is_muted(realm: &RealmSnapshot, user_id: UserId, muted: UserId) -> Result<bool, MuteError> {
    realm.user(muted).ok_or(MuteError::NoSuchUser)?;
    Ok(realm.user_item(user_id, UserItemKind::MutedUser, &muted.to_string()).is_some())
}

/// Writes it down and notifies the user's own clients whom they do not hear now.
fn put(user: &User, muted: UserId, document: Option<Value>, muted_users: &[Value], commit: &mut RealmCommit) {
    let (kind, key) = (UserItemKind::MutedUser, muted.to_string());
    commit.changes.push(RealmChange::UserItem { user_id: user.id, kind, key, document });
    let event = json!({"type": "muted_users", "muted_users": muted_users});
    commit.events.push(NewEvent::same_for_everyone(EventAudience::from_users([user.id]), event));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_log::event::EventBody;
    use crate::model::realm::RealmPermissionSettings;
    use crate::testing;

    #[test]
    fn a_user_is_muted_once_and_told_with_those_muted_before() {
        let before = RealmChange::UserItem {
            user_id: UserId(4),
            kind: UserItemKind::MutedUser,
            key: "3".to_owned(),
            document: Some(json!({"timestamp": 8})),
        };
        let realm = testing::realm(RealmPermissionSettings::default(), vec![before]);
        let user = realm.user(UserId(4)).unwrap();
        let outcome = |did: fn(&RealmSnapshot, &User, UserId, &mut RealmCommit) -> Result<(), MuteError>, muted| {
            let mut commit = RealmCommit { at_s: 9, ..RealmCommit::default() };
            did(&realm, user, UserId(muted), &mut commit).map(|()| match &commit.events[0].body {
                EventBody::Plain { event, .. } => event["muted_users"].clone(),
                EventBody::Message(_) | EventBody::Edit { .. } | EventBody::Flagged(_) => Value::Null,
            })
        };
        assert_eq!(outcome(mute_user, 6), Ok(json!([{"timestamp": 8, "id": 3}, {"id": 6, "timestamp": 9}])));
        assert_eq!(outcome(unmute_user, 3), Ok(json!([])));
        assert_eq!(
            (outcome(mute_user, 3), outcome(unmute_user, 6)),
            (Err(MuteError::AlreadyMuted), Err(MuteError::NotMuted))
        );
        assert_eq!(
            (outcome(mute_user, 4), outcome(unmute_user, 4)),
            (Err(MuteError::Oneself), Err(MuteError::NotMuted))
        );
        assert_eq!(
            (outcome(mute_user, 99), outcome(unmute_user, 99)),
            (Err(MuteError::NoSuchUser), Err(MuteError::NoSuchUser))
        );
    }
}
