//! Bots: accounts that act for a program, and for which a person answers.
//!
//! Only bots that do what a user does are made. The other kinds need what the server does not have: an address to post
//! to in another program's words, and calls to other servers.

mod storage;

pub use storage::{BotStorage, BotStorageOutcome, MissingBotStorageKey};

use serde_json::{Value, json};

use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::UserId;
use crate::limits::{MAX_BOT_STORAGE_CHARS, MAX_BOTS_PER_OWNER};
use crate::model::email_address_visibility::EmailAddressVisibility;
use crate::model::realm_change::RealmChange;
use crate::model::realm_permission::RealmPermission;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::role::Role;
use crate::model::user::{self, ApiKey, BotKind, BotProperties, FullNameError, User};
use crate::people::{account, email_change};
use crate::permission::access::{self, PermissionError};
use crate::permission::group_settings::has_realm_permission;
use crate::wire_format;

/// The reason why a bot cannot be created or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BotError {
    /// The caller is not who may.
    #[error(transparent)]
    NotAllowed(#[from] PermissionError),
    /// There is no such bot.
    #[error("No such bot")]
    NoSuchBot,
    /// No such kind of bot, or none that is made here.
    #[error("Invalid bot type")]
    NoSuchKind,
    /// The name is none.
    #[error(transparent)]
    FullName(#[from] FullNameError),
    /// The short name makes no address.
    #[error("Bad name or username")]
    ShortName,
    /// Another account has the address.
    #[error("Username already in use")]
    AddressTaken,
    /// Another account in use has the name.
    #[error("Name is already in use!")]
    NameTaken,
    /// The owner has [`MAX_BOTS_PER_OWNER`].
    #[error("Cannot own more than {MAX_BOTS_PER_OWNER} bots.")]
    TooMany,
    /// Who shall answer for it is not there.
    #[error("Failed to change owner, no such user")]
    NoSuchOwner,
    /// Who shall answer for it closed their account.
    #[error("Failed to change owner, user is deactivated")]
    OwnerDeactivated,
    /// A bot shall answer for it.
    #[error("Failed to change owner, bots can't own other bots")]
    OwnerIsBot,
    /// Nothing is kept under a key.
    #[error(transparent)]
    KeyMissing(#[from] MissingBotStorageKey),
    /// More shall be kept than there is room for, by so many characters.
    #[error("Request exceeds storage limit by {0} characters. The limit is {MAX_BOT_STORAGE_CHARS} characters.")]
    StorageFull(i64),
}

/// A bot to create.
#[derive(Debug, Clone)]
pub struct NewBot {
    /// Its name, as typed.
    pub full_name: String,
    /// How its address begins, as typed: `-bot` follows.
    pub short_name: String,
    /// How its address ends.
    pub domain: String,
    /// The number of its kind.
    pub kind: i64,
    /// Its key.
    pub api_key: ApiKey,
}

/// Checks whether the caller may create bots of that kind.
///
/// # Errors
/// For guests and bots, and for users whom the realm's choice leaves out.
pub fn may_create_bots(realm: &RealmSnapshot, caller: &User, kind: i64, now_s: i64) -> Result<(), BotError> {
    access::require_member(caller)?;
    access::require_human(caller)?;
    let permits = |permission| has_realm_permission(realm, caller, permission, now_s);
    let is_write_only = kind == wire_format::bot_type_number(BotKind::IncomingWebhook);
    let permitted =
        permits(RealmPermission::CreateBots) || (is_write_only && permits(RealmPermission::CreateWriteOnlyBots));
    if permitted { Ok(()) } else { Err(PermissionError::Insufficient.into()) }
}

/// Creates a bot owned by the caller, in no channel and with the rights of a member, and notifies all users. It may do
/// what a member may.
///
/// # Errors
/// See [`BotError`]; nothing is to be written then.
pub fn create_bot(
    realm: &RealmSnapshot,
    caller: &User,
    new: &NewBot,
    commit: &mut RealmCommit,
) -> Result<UserId, BotError> {
    may_create_bots(realm, caller, new.kind, commit.at_s)?;
    let full_name = user::parse_full_name(&new.full_name)?.to_owned();
    let email = format!("{}-bot@{}", new.short_name.trim(), new.domain);
    let email = user::parse_email(&email).map_err(|_| BotError::ShortName)?.to_owned();
    if realm.user_by_email(&email).is_some() {
        return Err(BotError::AddressTaken);
    }
    if new.kind != wire_format::bot_type_number(BotKind::Generic) {
        return Err(BotError::NoSuchKind);
    }
    check_free(realm, &full_name)?;
    check_room(realm, caller.id)?;
    let id = UserId(realm.nth_unused_id(1));
    let bot = User {
        id,
        email,
        full_name,
        role: Role::Member,
        is_active: true,
        joined_s: commit.at_s,
        bot: Some(BotProperties { kind: BotKind::Generic, owner_id: Some(caller.id) }),
        timezone: String::new(),
        avatar_url: None,
        avatar_version: 1,
        address_visibility: EmailAddressVisibility::default(),
    };
    commit.events.extend(email_change::added(realm, &bot));
    commit.events.extend(account::standing_events(realm, None, &bot, commit.at_s));
    commit.events.push(bot_event("add", &wire_format::bot_object(&bot), account::keepers(realm, &bot)));
    commit.changes.push(RealmChange::User(Box::new(bot)));
    commit.set_api_key(realm, id, new.api_key.clone());
    Ok(id)
}

/// Returns the active bots of an owner, in ascending order.
#[must_use]
pub fn active_bots_owned_by(realm: &RealmSnapshot, owner: UserId) -> Vec<&User> {
    let is_theirs = |user: &&User| user.is_active && user.bot.as_ref().is_some_and(|bot| bot.owner_id == Some(owner));
    let mut bots: Vec<_> = realm.users().map(AsRef::as_ref).filter(is_theirs).collect();
    bots.sort_unstable_by_key(|bot| bot.id);
    bots
}

/// Returns the bot of that id, when the caller may manage it as its owner or an administrator.
///
/// Not specified; with the rights of an owner of the organization a bot is kept by such an owner or its own alone,
/// because whoever has its key has its rights.
///
/// # Errors
/// See [`BotError`].
pub fn find_manageable_bot<'a>(realm: &'a RealmSnapshot, caller: &User, id: UserId) -> Result<&'a User, BotError> {
    access::require_member(caller)?;
    let user = realm.user(id).filter(|user| !user.is_system_bot()).ok_or(BotError::NoSuchBot)?;
    let bot = user.bot.as_ref().ok_or(BotError::NoSuchBot)?;
    if bot.owner_id == Some(caller.id) {
        return Ok(user);
    }
    if !caller.is_administrator() {
        return Err(PermissionError::Insufficient.into());
    }
    if user.role == Role::Owner {
        access::require_owner(caller)?;
    }
    Ok(user)
}

/// The properties of a bot to change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BotUpdate {
    /// Its name, as typed.
    pub full_name: Option<String>,
    /// Who answers for it.
    pub owner_id: Option<UserId>,
}

/// Changes a bot; notifies all users, and those who manage it of what they see of it. Values that are set already
/// change nothing; returns the bot as it is now.
///
/// # Errors
/// See [`BotError`]; nothing is to be written then.
pub fn update_bot(
    realm: &RealmSnapshot,
    caller: &User,
    (id, changes): (UserId, &BotUpdate),
    commit: &mut RealmCommit,
) -> Result<User, BotError> {
    let before = find_manageable_bot(realm, caller, id)?;
    let mut after = before.clone();
    if let Some(full_name) = &changes.full_name {
        user::parse_full_name(full_name)?.clone_into(&mut after.full_name);
        if after.full_name != before.full_name {
            check_free(realm, &after.full_name)?;
            commit.events.push(account::update(id, "full_name", after.full_name.as_str().into()));
            let renamed = json!({"user_id": id, "full_name": after.full_name});
            commit.events.push(bot_event("update", &renamed, account::keepers(realm, before)));
        }
    }
    if let (Some(owner_id), Some(bot)) = (changes.owner_id, after.bot.as_mut())
        && bot.owner_id != Some(owner_id)
    {
        check_owner(realm, owner_id)?;
        bot.owner_id = Some(owner_id);
        commit.events.extend(handed_over(realm, before, &after));
    }
    if after != *before {
        commit.changes.push(RealmChange::User(Box::new(after.clone())));
    }
    Ok(after)
}

/// Notifies the users concerned that another user answers for a bot: who kept it and no longer does, who does now, and
/// who always did.
fn handed_over(realm: &RealmSnapshot, before: &User, after: &User) -> Vec<NewEvent> {
    let keepers = |bot: &User| account::keepers(realm, bot);
    let (old, new) = (keepers(before), keepers(after));
    let only = |of: &[UserId], not: &[UserId]| of.iter().copied().filter(|id| !not.contains(id)).collect::<Vec<_>>();
    let both: Vec<_> = old.iter().copied().filter(|id| new.contains(id)).collect();
    let owner_id = after.bot.as_ref().and_then(|bot| bot.owner_id);
    vec![
        account::update(after.id, "bot_owner_id", json!(owner_id)),
        bot_event("delete", &json!({"user_id": after.id}), only(&old, &new)),
        bot_event("add", &wire_format::bot_object(after), only(&new, &old)),
        bot_event("update", &json!({"user_id": after.id, "owner_id": owner_id}), both),
    ]
}

fn check_free(realm: &RealmSnapshot, full_name: &str) -> Result<(), BotError> {
    let taken = realm.users().any(|user| user.is_active && user.full_name == full_name);
    if taken { Err(BotError::NameTaken) } else { Ok(()) }
}

fn check_room(realm: &RealmSnapshot, owner: UserId) -> Result<(), BotError> {
    if active_bots_owned_by(realm, owner).len() >= MAX_BOTS_PER_OWNER { Err(BotError::TooMany) } else { Ok(()) }
}

/// Refuses who cannot answer for a bot. A guest cannot: it would see for them what they may not.
fn check_owner(realm: &RealmSnapshot, id: UserId) -> Result<(), BotError> {
    let owner = realm.user(id).ok_or(BotError::NoSuchOwner)?;
    if !owner.is_active {
        return Err(BotError::OwnerDeactivated);
    }
    if owner.bot.is_some() {
        return Err(BotError::OwnerIsBot);
    }
    access::require_member(owner)?;
    check_room(realm, id)
}

fn bot_event(op: &str, bot: &Value, whom: Vec<UserId>) -> NewEvent {
    NewEvent::same_for_everyone(EventAudience::from_users(whom), json!({"type": "realm_bot", "op": op, "bot": bot}))
}

#[cfg(test)]
mod tests;
