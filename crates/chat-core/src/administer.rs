//! Who may change accounts, and which accounts a realm cannot do without.

use crate::access::NotAllowed;
use crate::role::Role;
use crate::snapshot::RealmSnapshot;
use crate::user::User;

/// Why an account may not be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    /// The caller is not who may.
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// The realm would have no owner.
    #[error("The owner permission cannot be removed from the only organization owner.")]
    LastOwnerRole,
    /// An administrator would close the account of the only owner.
    #[error("Cannot deactivate the only organization owner")]
    LastOwner,
    /// The only owner would close their own account.
    #[error("Cannot deactivate the only organization owner.")]
    OwnLastOwner,
    /// The only user would close their own account.
    #[error("Cannot deactivate the only user.")]
    OwnLastUser,
}

/// Whether the caller may give that role to the user.
///
/// # Errors
/// See [`AccountError`].
pub fn may_set_role(realm: &RealmSnapshot, caller: &User, user: &User, role: Role) -> Result<(), AccountError> {
    if !caller.is_administrator() {
        return Err(NotAllowed::Insufficient.into());
    }
    if caller.role != Role::Owner && (role == Role::Owner || user.role == Role::Owner) {
        return Err(NotAllowed::OwnerRequired.into());
    }
    if role != Role::Owner && is_only_owner(realm, user) {
        return Err(AccountError::LastOwnerRole);
    }
    Ok(())
}

/// Whether the caller may close the user's account.
///
/// # Errors
/// See [`AccountError`].
pub fn may_deactivate(realm: &RealmSnapshot, caller: &User, user: &User) -> Result<(), AccountError> {
    let own = caller.id == user.id;
    if !own && !caller.is_administrator() {
        return Err(NotAllowed::AdministratorRequired.into());
    }
    if !own && user.role == Role::Owner && caller.role != Role::Owner {
        return Err(NotAllowed::OwnerRequired.into());
    }
    if is_only_owner(realm, user) {
        return Err(if own { AccountError::OwnLastOwner } else { AccountError::LastOwner });
    }
    let others = realm.users().any(|other| other.id != user.id && other.is_active && other.bot.is_none());
    if own && !others { Err(AccountError::OwnLastUser) } else { Ok(()) }
}

fn is_only_owner(realm: &RealmSnapshot, user: &User) -> bool {
    let mut others = realm.users().filter(|other| other.id != user.id && other.is_active);
    user.role == Role::Owner && !others.any(|other| other.role == Role::Owner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
    use crate::id::UserId;
    use crate::realm::Rules;
    use crate::testing;

    #[test]
    fn the_only_owner_stays_one() {
        let realm = testing::realm(Rules::default(), Vec::new());
        let user = |id| realm.user(UserId(id)).unwrap();
        assert_eq!(
            may_set_role(&realm, user(1), user(1), Role::Member).unwrap_err().to_string(),
            "The owner permission cannot be removed from the only organization owner."
        );
        assert_eq!(may_deactivate(&realm, user(1), user(1)), Err(AccountError::OwnLastOwner));
        let two = testing::realm(Rules::default(), vec![Change::User(Box::new(testing::user(9, Role::Owner)))]);
        assert_eq!(may_set_role(&two, user(1), user(1), Role::Member), Ok(()));
        assert_eq!(may_deactivate(&two, user(1), user(1)), Ok(()));
    }

    #[test]
    fn owners_are_made_and_unmade_by_owners() {
        let realm = testing::realm(Rules::default(), Vec::new());
        let user = |id| realm.user(UserId(id)).unwrap();
        let owner_required = Err(AccountError::NotAllowed(NotAllowed::OwnerRequired));
        assert_eq!(may_set_role(&realm, user(2), user(4), Role::Owner), owner_required);
        assert_eq!(may_set_role(&realm, user(2), user(4), Role::Administrator), Ok(()));
        assert_eq!(may_set_role(&realm, user(1), user(4), Role::Owner), Ok(()));
        assert_eq!(may_deactivate(&realm, user(2), user(1)), owner_required);
        let insufficient = Err(AccountError::NotAllowed(NotAllowed::Insufficient));
        assert_eq!(may_set_role(&realm, user(4), user(6), Role::Member), insufficient);
    }

    #[test]
    fn everybody_may_close_their_own_account_but_no_other() {
        let realm = testing::realm(Rules::default(), Vec::new());
        let user = |id| realm.user(UserId(id)).unwrap();
        assert_eq!(may_deactivate(&realm, user(4), user(4)), Ok(()));
        assert_eq!(
            may_deactivate(&realm, user(4), user(6)),
            Err(AccountError::NotAllowed(NotAllowed::AdministratorRequired))
        );
    }
}
