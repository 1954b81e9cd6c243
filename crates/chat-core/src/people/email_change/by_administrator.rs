//! Another address for a user, given by an administrator whom the operator of the server lets do so.
//!
//! The address is not confirmed, so an administrator who can give it can take over accounts by letters that set
//! passwords. The operator permits it on the command line, and no permission of the organization does.
//!
//! # Source
//! Not specified; feature level 313 of the API.

use serde_json::json;

use super::replace::{self, EmailChangeError};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::UserId;
use crate::model::realm_change::{RealmChange, UserItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::role::Role;
use crate::model::user::{self, User};
use crate::permission::access::PermissionError;

/// The reason why an administrator cannot give a user another address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressReplacementError {
    /// The operator has not let the caller do so, or they are no administrator.
    #[error("User not authorized to change user emails")]
    NotAuthorized,
    /// The user is an owner, and the caller is not.
    #[error(transparent)]
    NotAllowed(#[from] PermissionError),
    /// It is no address.
    #[error("Invalid new email address.")]
    Malformed,
    /// The address cannot be the user's.
    #[error("New email value error: {0}")]
    Refused(EmailChangeError),
}

/// Returns whether the user may give other users addresses.
#[must_use]
pub fn may_replace_addresses(realm: &RealmSnapshot, user: &User) -> bool {
    user.is_administrator() && realm.user_item(user.id, UserItemKind::AddressAdministrator, "").is_some()
}

/// Lets the user give other users addresses while they are an administrator, or no longer lets them.
pub fn permit_address_replacement(user_id: UserId, permitted: AddressPermission, commit: &mut RealmCommit) {
    let document = (permitted == AddressPermission::Granted).then(|| json!({}));
    let (kind, key) = (UserItemKind::AddressAdministrator, String::new());
    commit.changes.push(RealmChange::UserItem { user_id, kind, key, document });
}

/// Whether a user may give other users addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressPermission {
    /// They may.
    Granted,
    /// They may not.
    Revoked,
}

/// Gives a user another address, notifies users who may see it, and writes to the old address. Nothing happens when the
/// address is theirs already.
///
/// # Errors
/// See [`AddressReplacementError`]; nothing is to be written then.
pub fn replace_address(
    realm: &RealmSnapshot,
    (caller, user): (&User, &User),
    address: &str,
    commit: &mut RealmCommit,
) -> Result<User, AddressReplacementError> {
    if !may_replace_addresses(realm, caller) || user.bot.is_some() {
        return Err(AddressReplacementError::NotAuthorized);
    }
    if user.role == Role::Owner && caller.role != Role::Owner {
        return Err(PermissionError::OwnerRequired.into());
    }
    let address = user::parse_email(address).map_err(|_| AddressReplacementError::Malformed)?;
    if address == user.email {
        return Ok(user.clone());
    }
    if user::fold_case(address) != user.email_key() {
        replace::check(realm, address).map_err(AddressReplacementError::Refused)?;
    }
    Ok(replace::replace_email(realm, user, address, commit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::realm::RealmPermissionSettings;
    use crate::testing;

    fn realm() -> RealmSnapshot {
        let mut commit = RealmCommit::default();
        for id in [1, 2, 4] {
            permit_address_replacement(UserId(id), AddressPermission::Granted, &mut commit);
        }
        testing::realm(RealmPermissionSettings::default(), commit.changes)
    }

    fn replaced(caller: i64, id: i64, address: &str) -> Result<(String, usize), String> {
        let (realm, mut commit) = (realm(), RealmCommit::default());
        let [caller, user] = [caller, id].map(|id| realm.user(UserId(id)).unwrap().as_ref().clone());
        let after =
            replace_address(&realm, (&caller, &user), address, &mut commit).map_err(|error| error.to_string())?;
        Ok((after.email, commit.mail.len()))
    }

    #[test]
    fn administrators_whom_the_operator_lets_give_addresses() {
        let new = "new@example.org";
        assert_eq!(replaced(2, 4, new), Ok((new.to_owned(), 1)));
        assert_eq!(replaced(1, 1, new), Ok((new.to_owned(), 1)));
        assert_eq!(replaced(2, 4, "User4@example.org"), Ok(("User4@example.org".to_owned(), 0)));
        assert_eq!(replaced(2, 4, "user4@example.org"), Ok(("user4@example.org".to_owned(), 1)));
        let refused = |text: &str| Err(text.to_owned());
        assert_eq!(replaced(2, 1, new), refused("Must be an organization owner"));
        assert_eq!(replaced(3, 4, new), refused("User not authorized to change user emails"));
        assert_eq!(replaced(4, 4, new), refused("User not authorized to change user emails"));
        assert_eq!(replaced(2, 4, "nowhere"), refused("Invalid new email address."));
        let taken = "New email value error: Email 'User6@example.org' already in use";
        assert_eq!(replaced(2, 4, "User6@example.org"), refused(taken));
    }

    #[test]
    fn a_permission_that_is_revoked_is_gone() {
        let mut commit = RealmCommit::default();
        permit_address_replacement(UserId(2), AddressPermission::Revoked, &mut commit);
        let realm = realm().preview_changes(&commit.changes);
        assert!(!may_replace_addresses(&realm, realm.user(UserId(2)).unwrap()));
        assert!(may_replace_addresses(&realm, realm.user(UserId(1)).unwrap()));
    }
}
