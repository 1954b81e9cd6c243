//! Accounts: what making, changing, closing and reopening one writes, and its events.
//!
//! Who may do it is asked of [`crate::permission::account_administration`] first; these functions do it for the server
//! itself too, so that an account made at the server's command line is like one made over the wire.

use serde_json::{Value, json};

use crate::channels::knows_subscribers;
use crate::event_log::event::{ClientCapability, EventAudience, NewEvent, QueueCondition};
use crate::event_log::newcomer_backlog::Newcomer;
use crate::event_log::realm_commit::{CredentialChange, RealmCommit};
use crate::id::{ChannelId, UserId};
use crate::model::channel::Channel;
use crate::model::email_address_visibility::EmailAddressVisibility;
use crate::model::group::SystemGroup;
use crate::model::realm_change::{RealmChange, RealmItemKind, UserItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::role::Role;
use crate::model::user::{self, ApiKey, PasswordHash, User};
use crate::organization::data_exports;
use crate::organization::email_domains::{self, EmailNotAllowedError};
use crate::people::personal_settings::preferences;
use crate::people::session;
use crate::people::{email_change, groups};
use crate::permission::access;
use crate::permission::account_administration::AccountChangeError;
use crate::wire_format::channel::{ChannelStatistics, basic_channel_object};
use crate::wire_format::subscription::default_subscription;

/// A user account to create.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// The address, as typed.
    pub email: String,
    /// The name, as typed.
    pub full_name: String,
    /// What they may do.
    pub role: Role,
    /// What their password is compared with.
    pub password_hash: Option<PasswordHash>,
    /// Their key.
    pub api_key: ApiKey,
}

/// Checks whether an account of that name and e-mail address could be created. For use before a password hash is
/// computed.
///
/// # Errors
/// When name or address is malformed, the realm takes nobody of that address, or it belongs to a user, active or not.
pub fn check_new_account(realm: &RealmSnapshot, full_name: &str, email: &str) -> Result<(), AccountChangeError> {
    user::parse_full_name(full_name)?;
    check_signup_email(realm, user::parse_email(email)?)
}

/// Checks whether a user may sign up with that e-mail address.
///
/// # Errors
/// When the realm takes nobody of it, or it belongs to a user, active or not.
pub fn check_signup_email(realm: &RealmSnapshot, email: &str) -> Result<(), AccountChangeError> {
    email_domains::check_email_allowed(realm, email).map_err(|outside| match outside {
        EmailNotAllowedError::Domain => AccountChangeError::OutsideDomains(email.to_owned()),
        EmailNotAllowedError::PlusSign => AccountChangeError::PlusSign,
        EmailNotAllowedError::Disposable => AccountChangeError::Disposable,
    })?;
    match realm.user_by_email(email) {
        Some(_) => Err(AccountChangeError::EmailTaken(email.to_owned())),
        None => Ok(()),
    }
}

/// Creates an account in every default channel, with recent messages of them ([`crate::event_log::newcomer_backlog`]),
/// and notifies all users. The user is not notified: they have no queue yet.
///
/// # Errors
/// As [`check_new_account`].
pub fn create_account(
    realm: &RealmSnapshot,
    new: &NewUser,
    commit: &mut RealmCommit,
) -> Result<UserId, AccountChangeError> {
    create_account_in_channels(realm, new, &default_channels(realm).collect::<Vec<_>>(), commit)
}

/// Creates an account like [`create_account`], in the given channels, each of which is named once.
///
/// # Errors
/// As [`check_new_account`].
pub fn create_account_in_channels(
    realm: &RealmSnapshot,
    new: &NewUser,
    channels: &[&Channel],
    commit: &mut RealmCommit,
) -> Result<UserId, AccountChangeError> {
    check_new_account(realm, &new.full_name, &new.email)?;
    let user = User {
        id: UserId(realm.nth_unused_id(1)),
        email: user::parse_email(&new.email)?.to_owned(),
        full_name: user::parse_full_name(&new.full_name)?.to_owned(),
        role: new.role,
        is_active: true,
        joined_s: commit.at_s,
        bot: None,
        timezone: String::new(),
        avatar_url: None,
        avatar_version: 1,
        address_visibility: EmailAddressVisibility::of_newcomers(realm),
    };
    commit.events.extend(email_change::added(realm, &user));
    commit.events.extend(standing_events(realm, None, &user, commit.at_s));
    let id = user.id;
    commit.events.push(data_exports::consent_event(id, false));
    commit.changes.push(RealmChange::User(Box::new(user)));
    commit.changes.extend(first_preferences(realm, id));
    commit.set_api_key(realm, id, new.api_key.clone());
    commit.credentials.push(CredentialChange::PasswordHash(id, new.password_hash.clone()));
    for channel in channels {
        commit.changes.push(RealmChange::Subscription(Box::new(default_subscription(channel, id))));
        commit.events.push(peer_event(realm, "peer_add", channel, id));
    }
    let readable = channels.iter().filter(|channel| channel.privacy.history_public_to_subscribers());
    commit.newcomer = Some(Newcomer { user_id: id, channels: readable.map(|channel| channel.id).collect() });
    Ok(id)
}

/// Returns what the realm chose for users who join from then on. It is theirs: what the realm chooses later changes
/// nothing.
///
/// # Source
/// Specification, `PATCH /realm/user_settings_defaults`.
fn first_preferences(realm: &RealmSnapshot, user_id: UserId) -> Option<RealmChange> {
    let document = Some(realm.realm_item(RealmItemKind::UserDefaults, 0)?.clone());
    Some(RealmChange::UserItem { user_id, kind: UserItemKind::Settings, key: String::new(), document })
}

/// Sets a user's time zone; notifies all users, and the user's clients of the preference too. A value that is set
/// already changes nothing; returns the updated user, for a further change in one commit.
///
/// # Errors
/// When it is no name of a time zone.
pub fn set_timezone(user: &User, timezone: &str, commit: &mut RealmCommit) -> Result<User, AccountChangeError> {
    let after = User { timezone: user::parse_timezone(timezone)?.to_owned(), ..user.clone() };
    if after != *user {
        preferences::tell(user, "timezone", &timezone.into(), commit);
        let person = json!({"user_id": user.id, "email": user.public_email(), "timezone": timezone});
        let event = json!({"type": "realm_user", "op": "update", "person": person});
        commit.events.push(NewEvent::same_for_everyone(EventAudience::Everyone, event));
        commit.changes.push(RealmChange::User(Box::new(after.clone())));
    }
    Ok(after)
}

/// Changes a user's full name and notifies all users. A name that is theirs already changes nothing.
///
/// # Errors
/// When it is no name.
pub fn rename_user(user: &User, full_name: &str, commit: &mut RealmCommit) -> Result<(), AccountChangeError> {
    let full_name = user::parse_full_name(full_name)?.to_owned();
    if full_name != user.full_name {
        commit.events.push(update(user.id, "full_name", full_name.as_str().into()));
        commit.changes.push(RealmChange::User(Box::new(User { full_name, ..user.clone() })));
    }
    Ok(())
}

/// Changes a user's role; notifies all users, and the user of channels that they can now see or no longer see. A role
/// that is theirs already changes nothing; returns the updated user, for a further change in one commit.
///
/// Whose addresses the user is shown may change with the role, and is not told: existing servers tell nothing of it,
/// and clients have it when they register again. From now on an answer shows them what the new role may see.
pub fn set_user_role(
    realm: &RealmSnapshot,
    user: &User,
    role: Role,
    figures: &ChannelStatistics,
    commit: &mut RealmCommit,
) -> User {
    let after = User { role, ..user.clone() };
    if role == user.role {
        return after;
    }
    commit.events.push(update(user.id, "role", i64::from(role).into()));
    commit.events.extend(standing_events(realm, Some(user), &after, commit.at_s));
    commit.events.extend(sight_events(realm, user, &after, figures));
    commit.changes.push(RealmChange::User(Box::new(after.clone())));
    after
}

/// Deactivates an active account and the bots of the user, which no one would answer for, and notifies all users. Keys,
/// names, messages and subscriptions stay, so that it can be reactivated. Nothing happens to a closed one.
pub fn deactivate_account(realm: &RealmSnapshot, user: &User, commit: &mut RealmCommit) {
    let owned = |other: &User| other.bot.as_ref().is_some_and(|bot| bot.owner_id == Some(user.id));
    let mut closing: Vec<_> = realm.users().filter(|other| other.id == user.id || owned(other)).collect();
    closing.retain(|user| user.is_active);
    closing.sort_unstable_by_key(|user| user.id);
    for user in closing {
        set_active(realm, user, false, commit);
    }
}

/// Reactivates an account; notifies all users of it and of the groups it is in, and those who see the channels it is in.
/// Its bots stay deactivated; an active account is not changed. Nothing happens to an open one.
pub fn reactivate_account(realm: &RealmSnapshot, user: &User, commit: &mut RealmCommit) {
    if user.is_active {
        return;
    }
    set_active(realm, user, true, commit);
    if user.bot.is_none() {
        commit.events.push(data_exports::consent_event(user.id, data_exports::is_consenting(realm, user)));
    }
    commit.events.extend(peer_events(realm, "peer_add", user.id));
    commit.events.extend(groups::rejoined(realm, user, commit.at_s));
}

/// Returns the events that the user is, or is no longer, among the subscribers of their channels, in the order of those.
fn peer_events(realm: &RealmSnapshot, op: &str, user_id: UserId) -> Vec<NewEvent> {
    let memberships = realm.memberships_of_user(user_id).filter(|(_, membership)| membership.subscription.is_some());
    let channels = memberships.filter_map(|(id, _)| realm.channel(id)).filter(|channel| !channel.is_archived);
    let mut channels: Vec<_> = channels.collect();
    channels.sort_unstable_by_key(|channel| channel.id);
    channels.into_iter().map(|channel| peer_event(realm, op, channel, user_id)).collect()
}

fn set_active(realm: &RealmSnapshot, user: &User, is_active: bool, commit: &mut RealmCommit) {
    if !is_active {
        commit.events.extend(peer_events(realm, "peer_remove", user.id));
    }
    commit.events.push(update(user.id, "is_active", is_active.into()));
    if user.bot.is_some() {
        let event = json!({"type": "realm_bot", "op": "update", "bot": {"user_id": user.id, "is_active": is_active}});
        commit.events.push(NewEvent::same_for_everyone(EventAudience::from_users(keepers(realm, user)), event));
    }
    commit.changes.push(RealmChange::User(Box::new(User { is_active, ..user.clone() })));
    // An account that is opened again is signed in nowhere.
    session::end_user_sessions(realm, user.id, None, commit);
}

/// Returns who sees all of a bot: administrators, and who answers for it.
pub(crate) fn keepers(realm: &RealmSnapshot, bot: &User) -> Vec<UserId> {
    let owner = bot.bot.as_ref().and_then(|bot| bot.owner_id);
    let administrators = realm.users().filter(|user| user.is_administrator() && Some(user.id) != owner);
    administrators.map(|user| user.id).chain(owner).collect()
}

/// Says that one fact of a user is another now.
pub(crate) fn update(user_id: UserId, key: &str, value: Value) -> NewEvent {
    let mut person = json!({"user_id": user_id});
    if let Value::Object(members) = &mut person {
        members.insert(key.to_owned(), value);
    }
    NewEvent::same_for_everyone(
        EventAudience::Everyone,
        json!({"type": "realm_user", "op": "update", "person": person}),
    )
}

/// Says which groups of the system a user stands in now and which no longer.
pub(crate) fn standing_events(realm: &RealmSnapshot, before: Option<&User>, after: &User, now_s: i64) -> Vec<NewEvent> {
    let waiting_days = realm.realm().map_or(0, |realm| realm.rules.waiting_period_days);
    let stands = |system: SystemGroup, user: &User| system.has_direct_member(user, waiting_days, now_s);
    let event = |system: SystemGroup| {
        let op = match (before.is_some_and(|user| stands(system, user)), stands(system, after)) {
            (false, true) => "add_members",
            (true, false) => "remove_members",
            (false, false) | (true, true) => return None,
        };
        let group_id = realm.system_group(system)?.id;
        let event = json!({"type": "user_group", "op": op, "group_id": group_id, "user_ids": [after.id]});
        Some(NewEvent::same_for_everyone(EventAudience::Everyone, event))
    };
    SystemGroup::ALL.into_iter().filter_map(event).collect()
}

/// Tells the user of the channels a new role shows or hides: of archived ones, clients that declare `archived_channels`.
fn sight_events(realm: &RealmSnapshot, before: &User, after: &User, figures: &ChannelStatistics) -> Vec<NewEvent> {
    let mut channels: Vec<_> = realm.channels().collect();
    channels.sort_unstable_by_key(|channel| channel.id);
    let sees = |user: &User, channel: &Channel| access::may_know_channel_name(realm, user, channel);
    let event = |(op, is_archived): (&str, bool), (from, to): (&User, &User)| {
        let shown = channels.iter().filter(|channel| channel.is_archived == is_archived);
        let streams = shown.filter(|channel| !sees(from, channel) && sees(to, channel));
        let (ids, streams): (Vec<_>, Vec<_>) = streams
            .map(|channel| {
                (channel.id, basic_channel_object(channel, figures, realm.active_subscriber_count(channel.id)))
            })
            .unzip();
        let mut event = json!({"type": "stream", "op": op, "streams": streams});
        if op == "delete" {
            crate::wire_format::add(&mut event, json!({"stream_ids": ids}));
        }
        let event = NewEvent::same_for_everyone(EventAudience::from_users([after.id]), event);
        let archived = QueueCondition::With(ClientCapability::ArchivedChannels);
        let event = if is_archived { event.with_queue_condition(archived) } else { event };
        (!streams.is_empty()).then_some(event)
    };
    let both = |is_archived| {
        [event(("create", is_archived), (before, after)), event(("delete", is_archived), (after, before))]
    };
    [false, true].into_iter().flat_map(both).flatten().collect()
}

/// Notifies the users who may know the subscribers of a channel that the user is, or is no longer, among them.
fn peer_event(realm: &RealmSnapshot, op: &str, channel: &Channel, user_id: UserId) -> NewEvent {
    let event = json!({"type": "subscription", "op": op, "stream_ids": [channel.id], "user_ids": [user_id]});
    NewEvent::same_for_everyone(knows_subscribers(realm, channel, &[user_id]), event)
}

pub(crate) fn default_channels(realm: &RealmSnapshot) -> impl Iterator<Item = &Channel> {
    let ids = realm.realm_items(RealmItemKind::DefaultChannel).map(|(id, _)| ChannelId(id));
    ids.filter_map(|id| realm.channel(id)).filter(|channel| !channel.is_archived).map(AsRef::as_ref)
}

#[cfg(test)]
mod tests;
