//! Who is shown the address of a user, and what the others are shown.
//!
//! A user's address is what they log in with and what letters are sent to. What everybody knows them by is another
//! one, [`User::public_email`]: the same where everybody may know it, else one made of their number, which no letter
//! ever reaches. Rules that name a user to others use that one alone.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::id::UserId;
use crate::model::realm_change::{RealmItemKind, UserItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::role::Role;
use crate::model::user::{User, fold_case};

/// The preference that says who is shown the address.
pub(crate) const PREFERENCE: &str = "email_address_visibility";

/// What the addresses of those end in who are shown by their number.
///
/// Not specified; existing servers use their own host name. Ours is one that there never is (RFC 2606), so that a
/// letter to it goes nowhere, and the same wherever the server is.
const HIDDEN_DOMAIN: &str = "hidden.invalid";

/// The users who may see a user's e-mail address.
///
/// # Source
/// Specification, `PATCH /realm/user_settings_defaults`, `email_address_visibility`. Not specified whether those above
/// moderators are meant with them; we say so, because every other permission is given so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EmailAddressVisibility {
    /// 1: all users.
    #[default]
    Everyone,
    /// 2: all but guests.
    Members,
    /// 3: administrators and owners.
    Administrators,
    /// 4: nobody.
    Nobody,
    /// 5: moderators, administrators and owners.
    Moderators,
}

impl EmailAddressVisibility {
    /// Returns the visibility of that number in the user setting; an unknown number hides the address.
    #[must_use]
    pub fn from_wire_number(number: i64) -> Self {
        match number {
            1 => Self::Everyone,
            2 => Self::Members,
            3 => Self::Administrators,
            5 => Self::Moderators,
            _ => Self::Nobody,
        }
    }

    /// Returns what a document of preferences says; nothing is for everyone.
    pub(crate) fn of_document(document: Option<&Value>) -> Self {
        document
            .and_then(|chosen| chosen.get(PREFERENCE))
            .and_then(Value::as_i64)
            .map_or(Self::Everyone, Self::from_wire_number)
    }

    /// Returns what a user begins with who joins now.
    pub(crate) fn of_newcomers(realm: &RealmSnapshot) -> Self {
        Self::of_document(realm.realm_item(RealmItemKind::UserDefaults, 0))
    }

    /// What the user chose.
    pub(crate) fn of_user(realm: &RealmSnapshot, user_id: UserId) -> Self {
        Self::of_document(realm.user_item(user_id, UserItemKind::Settings, ""))
    }

    fn includes(self, role: Role) -> bool {
        match self {
            Self::Everyone => true,
            Self::Members => role <= Role::Member,
            Self::Moderators => role <= Role::Moderator,
            Self::Administrators => role <= Role::Administrator,
            Self::Nobody => false,
        }
    }
}

impl User {
    /// Returns who may see the user's e-mail address; a bot's is visible to everyone.
    #[must_use]
    pub fn email_address_visibility(&self) -> EmailAddressVisibility {
        if self.bot.is_some() { EmailAddressVisibility::Everyone } else { self.address_visibility }
    }

    /// Returns the e-mail address that all users see for this user: the real one if everyone may see it, else a
    /// generated one.
    #[must_use]
    pub fn public_email(&self) -> Cow<'_, str> {
        match self.email_address_visibility() {
            EmailAddressVisibility::Everyone => Cow::Borrowed(&self.email),
            _ => Cow::Owned(self.hidden_email()),
        }
    }

    /// Returns the address that stands for one that is not shown.
    pub(crate) fn hidden_email(&self) -> String {
        format!("user{}@{HIDDEN_DOMAIN}", self.id.0)
    }

    /// Returns whether the reader may see the user's real e-mail address. Everybody sees their own. Everybody is shown
    /// theirs.
    #[must_use]
    pub fn shows_email_to(&self, reader: &User) -> bool {
        self.id == reader.id || self.email_address_visibility().includes(reader.role)
    }
}

/// Returns the user of an e-mail address that the reader may see: the one made of the user's number, which every user
/// has whether it is shown or not, or the real one where it is visible to the reader.
#[must_use]
pub fn find_user_by_visible_email<'a>(realm: &'a RealmSnapshot, reader: &User, address: &str) -> Option<&'a Arc<User>> {
    let folded = fold_case(address.trim());
    let number = folded.strip_prefix("user").and_then(|rest| rest.strip_suffix(HIDDEN_DOMAIN)?.strip_suffix('@'));
    let by_number = number.and_then(|number| realm.user(UserId(number.parse().ok()?)));
    by_number.or_else(|| realm.user_by_email(&folded).filter(|user| user.shows_email_to(reader)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::testing;

    /// Users 1 to 4 and 6 of the test realm are owner, administrator, moderator, member and guest; this is user 20.
    fn realm(number: i64) -> RealmSnapshot {
        let settings = RealmChange::UserItem {
            user_id: UserId(20),
            kind: UserItemKind::Settings,
            key: String::new(),
            document: Some(json!({PREFERENCE: number})),
        };
        testing::realm(
            RealmPermissionSettings::default(),
            vec![RealmChange::User(Box::new(testing::user(20, Role::Member))), settings],
        )
    }

    fn user(realm: &RealmSnapshot, id: i64) -> &User {
        realm.user(UserId(id)).unwrap()
    }

    #[test]
    fn each_number_shows_the_address_to_those_it_names() {
        for (number, expected) in [
            (1, [true, true, true, true, true]),
            (2, [true, true, true, true, false]),
            (3, [true, true, false, false, false]),
            (4, [false; 5]),
            (5, [true, true, true, false, false]),
        ] {
            let realm = realm(number);
            let hider = user(&realm, 20);
            assert_eq!([1, 2, 3, 4, 6].map(|id| hider.shows_email_to(user(&realm, id))), expected, "{number}");
            assert!(hider.shows_email_to(hider), "{number}");
            let known = if number == 1 { "User20@example.org" } else { "user20@hidden.invalid" };
            assert_eq!(hider.public_email(), known, "{number}");
        }
    }

    #[test]
    fn an_address_names_a_user_to_those_who_are_shown_it_and_the_other_one_to_all() {
        let realm = realm(3);
        let found =
            |reader, address| find_user_by_visible_email(&realm, user(&realm, reader), address).map(|user| user.id.0);
        for reader in [2, 4, 20] {
            assert_eq!(found(reader, " USER20@Hidden.invalid "), Some(20), "{reader}");
        }
        assert_eq!([2, 4, 20].map(|reader| found(reader, "user20@EXAMPLE.org")), [Some(20), None, Some(20)]);
        assert_eq!((found(2, "user4@hidden.invalid"), found(2, "user@hidden.invalid")), (Some(4), None));
        assert_eq!(found(6, "user4@example.org"), Some(4));
    }

    #[test]
    fn a_bot_has_no_address_to_hide() {
        let bot =
            Some(crate::model::user::BotProperties { kind: crate::model::user::BotKind::Generic, owner_id: None });
        let bot = User { bot, address_visibility: EmailAddressVisibility::Nobody, ..testing::user(9, Role::Member) };
        assert_eq!(bot.public_email(), "User9@example.org");
    }

    #[test]
    fn who_hides_an_address_changes_how_messages_look_that_are_there() {
        let before = realm(1);
        let settings = RealmChange::UserItem {
            user_id: UserId(20),
            kind: UserItemKind::Settings,
            key: String::new(),
            document: Some(json!({PREFERENCE: 4, "enter_sends": true})),
        };
        let at = crate::id::EventId(before.log_position().0 + 1);
        let after = before.after_record(&crate::event_log::event::LogRecord::new(
            at,
            testing::NOW_S,
            vec![settings.clone()],
            None,
        ));
        assert_eq!((after.names_changed_at(), user(&after, 20).public_email().as_ref()), (at, "user20@hidden.invalid"));
        let later = crate::id::EventId(at.0 + 1);
        let same =
            after.after_record(&crate::event_log::event::LogRecord::new(later, testing::NOW_S, vec![settings], None));
        assert_eq!(same.names_changed_at(), at);
        // A change of the account leaves what the user chose.
        let renamed = User { full_name: "Other".to_owned(), ..testing::user(20, Role::Member) };
        let renamed = same.preview_changes(&[RealmChange::User(Box::new(renamed))]);
        assert_eq!(user(&renamed, 20).public_email(), "user20@hidden.invalid");
    }
}
