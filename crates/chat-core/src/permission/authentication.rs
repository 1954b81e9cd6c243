//! Accounts that are let in.

use std::sync::Arc;

use crate::id::UserId;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;

/// The reason why credentials are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuthenticationError {
    /// The key of no account, or not of this address. Both have one text.
    #[error("Invalid API key")]
    UnknownKey,
    /// The request has no session of a browser, or one that has ended or expired. In the words of requests without
    /// credentials, because clients do the same: they sign in.
    #[error("Not logged in: API authentication or user session required")]
    SignedOut,
    /// The organization is closed.
    #[error("This organization has been deactivated")]
    RealmDeactivated,
    /// The account is closed.
    #[error("Account is deactivated")]
    AccountDeactivated,
    /// The key is an incoming webhook's, which may send through its own address only.
    #[error("This API is not available to incoming webhook bots.")]
    IncomingWebhook,
}

/// A function that finds the caller's account in a newer realm, where it may have other rights or no longer be
/// accepted.
pub type AccountLookup<'a> =
    &'a (dyn for<'r> Fn(&'r RealmSnapshot) -> Result<&'r Arc<User>, AuthenticationError> + Send + Sync);

/// Returns the account of that id, if it and the organization are active.
///
/// # Errors
/// When there is none or it is a system bot, and when the organization or the account is closed.
pub fn find_active_account(realm: &RealmSnapshot, id: UserId) -> Result<&Arc<User>, AuthenticationError> {
    let user = realm.user(id).ok_or(AuthenticationError::UnknownKey)?;
    may_authenticate(realm, user)?;
    Ok(user)
}

/// Checks whether the account and the organization are active, whatever credentials were given. A system bot has no
/// credentials, also where an earlier version gave it some.
///
/// # Errors
/// When the organization or the account is closed, or the account is a system bot.
pub fn may_authenticate(realm: &RealmSnapshot, user: &User) -> Result<(), AuthenticationError> {
    if realm.realm().is_none_or(|realm| realm.is_deactivated) {
        return Err(AuthenticationError::RealmDeactivated);
    }
    if user.is_system_bot() {
        return Err(AuthenticationError::UnknownKey);
    }
    if user.is_active { Ok(()) } else { Err(AuthenticationError::AccountDeactivated) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::realm::{Realm, RealmPermissionSettings};
    use crate::model::realm_change::RealmChange;
    use crate::model::role::Role;
    use crate::model::user::{BotKind, BotProperties};
    use crate::testing;

    #[test]
    fn no_key_opens_the_account_of_a_system_bot() {
        let kind = BotKind::System;
        let bot = User { bot: Some(BotProperties { kind, owner_id: None }), ..testing::user(7, Role::Member) };
        let realm = testing::realm(RealmPermissionSettings::default(), vec![RealmChange::User(Box::new(bot))]);
        assert_eq!(find_active_account(&realm, UserId(7)), Err(AuthenticationError::UnknownKey));
    }

    #[test]
    fn a_closed_account_and_every_account_of_a_closed_organization_are_refused() {
        let closed = User { is_active: false, ..testing::user(7, Role::Member) };
        let realm = testing::realm(RealmPermissionSettings::default(), vec![RealmChange::User(Box::new(closed))]);
        let entered = |realm: &RealmSnapshot, id| find_active_account(realm, UserId(id)).map(|user| user.id);
        assert_eq!(entered(&realm, 4), Ok(UserId(4)));
        assert_eq!(entered(&realm, 7), Err(AuthenticationError::AccountDeactivated));
        assert_eq!(entered(&realm, 99), Err(AuthenticationError::UnknownKey));
        let ended = Realm { is_deactivated: true, ..testing::realm_of(RealmPermissionSettings::default()) };
        let realm = realm.preview_changes(&[RealmChange::Realm(Box::new(ended))]);
        assert_eq!(entered(&realm, 4), Err(AuthenticationError::RealmDeactivated));
    }
}
