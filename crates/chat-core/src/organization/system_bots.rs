//! Bots of the server itself: the accounts that write its notices and welcome new users.
//!
//! A realm has each of them from its first commit on; realms that are older, or imported, get the missing ones when a
//! server starts ([`add_missing_system_bots`]).

use std::sync::Arc;

use crate::event_log::realm_commit::RealmCommit;
use crate::id::UserId;
use crate::model::email_address_visibility::EmailAddressVisibility;
use crate::model::realm_change::RealmChange;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::role::Role;
use crate::model::user::{BotKind, BotProperties, User};

/// A bot of the server itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemBot {
    /// The author of notices: a topic was moved, a channel was created, a scheduled message failed.
    Notification,
    /// The author of the first message to a new user.
    Welcome,
}

impl SystemBot {
    /// All system bots of a realm.
    pub const ALL: [Self; 2] = [Self::Notification, Self::Welcome];

    /// Returns the name that users see.
    #[must_use]
    pub const fn full_name(self) -> &'static str {
        match self {
            Self::Notification => "Notification Bot",
            Self::Welcome => "Welcome Bot",
        }
    }

    /// Returns the address, which receives no mail.
    ///
    /// # Source
    /// Not specified; those of the same bots of an original server, so that an import and an export need no others.
    #[must_use]
    pub const fn email(self) -> &'static str {
        match self {
            Self::Notification => "notification-bot@zulip.com",
            Self::Welcome => "welcome-bot@zulip.com",
        }
    }

    /// Returns the account of the bot in the realm; `None` in a realm that has none.
    #[must_use]
    pub fn find(self, realm: &RealmSnapshot) -> Option<&Arc<User>> {
        // An original server may have its bots in another domain.
        let is_it = |user: &&Arc<User>| user.is_system_bot() && local_part(&user.email) == local_part(self.email());
        realm.user_by_email(self.email()).filter(is_it).or_else(|| realm.users().find(is_it))
    }

    fn account(self, id: UserId, now_s: i64) -> User {
        User {
            id,
            email: self.email().to_owned(),
            full_name: self.full_name().to_owned(),
            role: Role::Member,
            is_active: true,
            joined_s: now_s,
            bot: Some(BotProperties { kind: BotKind::System, owner_id: None }),
            timezone: String::new(),
            avatar_url: None,
            avatar_version: 1,
            address_visibility: EmailAddressVisibility::default(),
        }
    }
}

fn local_part(email: &str) -> &str {
    email.split('@').next().unwrap_or_default()
}

/// Adds the system bots that the realm does not have.
///
/// A bot without an owner that has the address, as imports of earlier versions left it, becomes the system bot and keeps
/// its messages. No bot is added where another account has the address: the realm goes on without it, and without its
/// messages.
pub fn add_missing_system_bots(realm: &RealmSnapshot, commit: &mut RealmCommit) {
    let mut place = 0;
    for bot in SystemBot::ALL {
        if bot.find(realm).is_some() {
            continue;
        }
        let account = match realm.user_by_email(bot.email()) {
            Some(user) if user.bot.as_ref().is_some_and(|bot| bot.owner_id.is_none()) => {
                User { id: user.id, joined_s: user.joined_s, ..bot.account(user.id, commit.at_s) }
            }
            Some(_) => continue,
            None => {
                place += 1;
                bot.account(UserId(realm.nth_unused_id(place)), commit.at_s)
            }
        };
        commit.changes.push(RealmChange::User(Box::new(account)));
    }
}

/// Returns the changes that give a new realm its system bots, which get these ids.
pub(super) fn first_system_bots(mut new_id: impl FnMut() -> i64, now_s: i64) -> impl Iterator<Item = RealmChange> {
    SystemBot::ALL.into_iter().map(move |bot| RealmChange::User(Box::new(bot.account(UserId(new_id()), now_s))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_log::event::LogRecord;
    use crate::id::EventId;
    use crate::model::realm::RealmPermissionSettings;
    use crate::testing::{self, NOW_S};

    fn with(account: User) -> RealmSnapshot {
        testing::realm(RealmPermissionSettings::default(), vec![RealmChange::User(Box::new(account))])
    }

    fn completed(realm: &RealmSnapshot) -> (RealmSnapshot, usize) {
        let mut commit = RealmCommit { at_s: NOW_S, ..RealmCommit::default() };
        add_missing_system_bots(realm, &mut commit);
        let count = commit.changes.len();
        (realm.after_record(&LogRecord::new(EventId(20), NOW_S, commit.changes, None)), count)
    }

    #[test]
    fn an_older_realm_gets_each_system_bot_once() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        assert!(SystemBot::ALL.iter().all(|bot| bot.find(&realm).is_none()));
        let (realm, added) = completed(&realm);
        let ids = SystemBot::ALL.map(|bot| bot.find(&realm).unwrap().id);
        assert!(added == 2 && ids[0] != ids[1]);
        assert_eq!(completed(&realm).1, 0);
    }

    #[test]
    fn an_imported_bot_becomes_the_system_bot_and_keeps_its_id() {
        let generic = Some(BotProperties { kind: BotKind::Generic, owner_id: None });
        let email = SystemBot::Notification.email().to_owned();
        let imported = User { email, bot: generic, ..testing::user(7, Role::Member) };
        let (realm, added) = completed(&with(imported));
        assert_eq!((added, SystemBot::Notification.find(&realm).unwrap().id), (2, UserId(7)));
        let elsewhere = Some(BotProperties { kind: BotKind::System, owner_id: None });
        let email = "welcome-bot@chat.example.org".to_owned();
        let imported = User { email, bot: elsewhere, ..testing::user(7, Role::Member) };
        let (realm, added) = completed(&with(imported));
        assert_eq!((added, SystemBot::Welcome.find(&realm).unwrap().id), (1, UserId(7)));
    }

    #[test]
    fn an_account_of_a_user_keeps_its_address() {
        let email = SystemBot::Welcome.email().to_owned();
        let (realm, added) = completed(&with(User { email, ..testing::user(7, Role::Member) }));
        assert_eq!((added, realm.user(UserId(7)).unwrap().bot.is_none()), (1, true));
        assert!(SystemBot::Welcome.find(&realm).is_none() && SystemBot::Notification.find(&realm).is_some());
    }
}
