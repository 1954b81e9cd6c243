//! Who may change accounts, and which accounts a realm cannot do without.

use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::role::Role;
use crate::model::user::{FullNameError, MalformedEmail, UnknownTimezone, User, WeakPassword};
use crate::permission::access::{self, PermissionError};

/// The reason why an account may not be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccountChangeError {
    /// The caller is not who may.
    #[error(transparent)]
    NotAllowed(#[from] PermissionError),
    /// There is no such user, or none it could be done to.
    #[error("No such user")]
    NoSuchUser,
    /// The name is none.
    #[error(transparent)]
    FullName(#[from] FullNameError),
    /// The address is none.
    #[error("Bad name or username")]
    Email(#[from] MalformedEmail),
    /// The name is no time zone's.
    #[error(transparent)]
    Timezone(#[from] UnknownTimezone),
    /// Another user has the address.
    #[error("Email '{0}' already in use")]
    EmailTaken(String),
    /// The realm takes only people of its domains, and the address is of none.
    #[error("Email '{0}' not allowed in this organization")]
    OutsideDomains(String),
    /// The realm takes only people of its domains, and the address is another way to write one.
    #[error("Email addresses containing + are not allowed.")]
    PlusSign,
    /// The realm takes no address that is thrown away.
    #[error("Disposable email addresses are not allowed in this organization")]
    Disposable,
    /// The password is too easily found.
    #[error(transparent)]
    Password(#[from] WeakPassword),
    /// The password that is to be replaced is another.
    #[error("Wrong password!")]
    WrongPassword,
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

/// Checks whether the caller may give the user that role.
///
/// # Errors
/// See [`AccountChangeError`].
pub fn may_set_role(realm: &RealmSnapshot, caller: &User, user: &User, role: Role) -> Result<(), AccountChangeError> {
    if !caller.is_administrator() {
        return Err(PermissionError::Insufficient.into());
    }
    if caller.role != Role::Owner && (role == Role::Owner || user.role == Role::Owner) {
        return Err(PermissionError::OwnerRequired.into());
    }
    if role != Role::Owner && is_only_owner(realm, user) {
        return Err(AccountChangeError::LastOwnerRole);
    }
    Ok(())
}

/// Checks whether the caller may change the name and similar data of other users.
///
/// # Errors
/// [`PermissionError::Insufficient`] for all but administrators.
pub fn may_edit_account(caller: &User) -> Result<(), AccountChangeError> {
    if caller.is_administrator() { Ok(()) } else { Err(PermissionError::Insufficient.into()) }
}

/// Checks whether the caller may deactivate the account of a user they named, even their own.
///
/// # Errors
/// See [`AccountChangeError`].
pub fn may_deactivate_account(realm: &RealmSnapshot, caller: &User, user: &User) -> Result<(), AccountChangeError> {
    access::require_administrator(caller)?;
    if user.role == Role::Owner {
        access::require_owner(caller)?;
    }
    if is_only_owner(realm, user) { Err(AccountChangeError::LastOwner) } else { Ok(()) }
}

/// Checks whether the caller may reactivate the user's account. It comes back with its role, so who cannot make an
/// owner cannot reactivate one.
///
/// # Errors
/// See [`AccountChangeError`].
pub fn may_reactivate_account(caller: &User, user: &User) -> Result<(), AccountChangeError> {
    access::require_administrator(caller)?;
    if user.role == Role::Owner {
        access::require_owner(caller)?;
    }
    Ok(())
}

/// Checks whether the user may deactivate their own account.
///
/// # Errors
/// See [`AccountChangeError`].
pub fn may_deactivate_own_account(realm: &RealmSnapshot, user: &User) -> Result<(), AccountChangeError> {
    access::require_human(user)?;
    if is_only_owner(realm, user) {
        return Err(AccountChangeError::OwnLastOwner);
    }
    let others = realm.users().any(|other| other.id != user.id && other.is_active && other.bot.is_none());
    if others { Ok(()) } else { Err(AccountChangeError::OwnLastUser) }
}

fn is_only_owner(realm: &RealmSnapshot, user: &User) -> bool {
    // A bot with that role would leave the realm without a person who may do what only owners may.
    let mut others = realm.users().filter(|other| other.id != user.id && other.is_active && other.bot.is_none());
    user.role == Role::Owner && !others.any(|other| other.role == Role::Owner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::UserId;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::model::user::{BotKind, BotProperties};
    use crate::testing;

    #[test]
    fn the_only_owner_stays_one() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let user = |id| realm.user(UserId(id)).unwrap();
        assert_eq!(
            may_set_role(&realm, user(1), user(1), Role::Member).unwrap_err().to_string(),
            "The owner permission cannot be removed from the only organization owner."
        );
        assert_eq!(may_deactivate_account(&realm, user(1), user(1)), Err(AccountChangeError::LastOwner));
        assert_eq!(may_deactivate_own_account(&realm, user(1)), Err(AccountChangeError::OwnLastOwner));
        let two = testing::realm(
            RealmPermissionSettings::default(),
            vec![RealmChange::User(Box::new(testing::user(9, Role::Owner)))],
        );
        assert_eq!(may_set_role(&two, user(1), user(1), Role::Member), Ok(()));
        assert_eq!(
            (may_deactivate_account(&two, user(1), user(1)), may_deactivate_own_account(&two, user(1))),
            (Ok(()), Ok(()))
        );
    }

    #[test]
    fn owners_are_made_and_unmade_by_owners() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let user = |id| realm.user(UserId(id)).unwrap();
        let owner_required = Err(AccountChangeError::NotAllowed(PermissionError::OwnerRequired));
        assert_eq!(may_set_role(&realm, user(2), user(4), Role::Owner), owner_required);
        assert_eq!(may_set_role(&realm, user(2), user(4), Role::Administrator), Ok(()));
        assert_eq!(may_set_role(&realm, user(1), user(4), Role::Owner), Ok(()));
        assert_eq!(may_deactivate_account(&realm, user(2), user(1)), owner_required);
        let insufficient = Err(AccountChangeError::NotAllowed(PermissionError::Insufficient));
        assert_eq!(may_set_role(&realm, user(4), user(6), Role::Member), insufficient);
    }

    #[test]
    fn a_bot_does_not_stand_in_for_the_last_owner() {
        let bot = Some(BotProperties { kind: BotKind::Generic, owner_id: Some(UserId(4)) });
        let bot = User { bot, ..testing::user(9, Role::Owner) };
        let realm = testing::realm(RealmPermissionSettings::default(), vec![RealmChange::User(Box::new(bot))]);
        let owner = realm.user(UserId(1)).unwrap();
        assert_eq!(may_set_role(&realm, owner, owner, Role::Member), Err(AccountChangeError::LastOwnerRole));
        assert_eq!(may_deactivate_account(&realm, owner, owner), Err(AccountChangeError::LastOwner));
        assert_eq!(may_deactivate_own_account(&realm, owner), Err(AccountChangeError::OwnLastOwner));
    }

    #[test]
    fn everybody_may_close_their_own_account_but_no_other() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let user = |id| realm.user(UserId(id)).unwrap();
        assert_eq!(may_deactivate_own_account(&realm, user(4)), Ok(()));
        for named in [4, 6] {
            let refused = Err(AccountChangeError::NotAllowed(PermissionError::AdministratorRequired));
            assert_eq!(may_deactivate_account(&realm, user(4), user(named)), refused);
        }
        assert_eq!(may_deactivate_account(&realm, user(2), user(2)), Ok(()));
    }

    #[test]
    fn the_only_person_stays_even_where_nobody_owns() {
        let gone = [1, 2, 3, 6].map(|id| {
            let mut user = testing::user(id, Role::Member);
            user.is_active = false;
            RealmChange::User(Box::new(user))
        });
        let realm = testing::realm(RealmPermissionSettings::default(), gone.into());
        assert_eq!(
            may_deactivate_own_account(&realm, realm.user(UserId(4)).unwrap()),
            Err(AccountChangeError::OwnLastUser)
        );
    }
}
