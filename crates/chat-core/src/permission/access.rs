//! What a user may see and read.
//!
//! What may not be seen is as if it did not exist: both give the same error.

use std::sync::Arc;

use serde_json::Value;

use crate::id::{ChannelId, MessageId, UserId};
use crate::model::channel::{Channel, ChannelPrivacy, SubscriptionPeriod};
use crate::model::message::{Message, Recipient};
use crate::model::realm_change::UserItemKind;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::role::Role;
use crate::model::user::User;
use crate::model::user_message::UserMessage;

/// The channel does not exist, or the user may not see it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelNotFound {
    /// Asked for by number.
    #[error("Invalid channel ID")]
    Id(ChannelId),
    /// Asked for by name.
    #[error("Invalid channel name '{0}'")]
    Name(String),
}

/// The message does not exist, or the user may not read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Invalid message(s)")]
pub struct MessageNotFound;

/// The topic does not exist, or the user may read none of its messages and received none. Both have one text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("No such topic '{0}'")]
pub struct TopicNotFound(pub String);

/// The part of a channel's history that a user may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadableHistory<'a> {
    /// All.
    All,
    /// Those they received.
    Received(&'a [SubscriptionPeriod]),
}

impl ReadableHistory<'_> {
    /// No readable messages.
    pub const NONE: Self = Self::Received(&[]);

    /// Returns whether the message is in the readable history.
    #[must_use]
    pub fn includes_message(self, message: MessageId) -> bool {
        match self {
            Self::All => true,
            Self::Received(spans) => spans.iter().any(|span| span.contains(message.into())),
        }
    }

    /// Like [`ReadableHistory::includes_message`], for a message with
    /// [`ContentFlags::moved_in`](crate::model::message::ContentFlags::moved_in): its time does not tell who received
    /// it here, so it is included only for users subscribed ever since.
    #[must_use]
    pub fn includes_moved_message(self, message: MessageId) -> bool {
        match self {
            Self::All => true,
            Self::Received(spans) => spans.iter().any(|span| span.until.is_none() && span.contains(message.into())),
        }
    }
}

/// Returns whether the user may see the channel's name and description. Administrators see private channels too.
#[must_use]
pub fn may_see_channel(realm: &RealmSnapshot, user: &User, channel: &Channel) -> bool {
    !channel.is_archived && may_know_channel_name(realm, user, channel)
}

/// Returns whether the user may know the channel's name, even if it is archived.
#[must_use]
pub fn may_know_channel_name(realm: &RealmSnapshot, user: &User, channel: &Channel) -> bool {
    user.is_administrator()
        || channel.privacy == ChannelPrivacy::WebPublic
        || (channel.privacy == ChannelPrivacy::Public && !user.is_guest())
        || realm.subscription(channel.id, user.id).is_some()
}

/// Returns whether the channel is active, and the user has access to its content.
///
/// Users who left a private channel read what they received there, and change nothing in it.
#[must_use]
pub fn participates_in_channel(realm: &RealmSnapshot, user: &User, channel: &Channel) -> bool {
    !channel.is_archived && has_content_access(realm, user, channel)
}

/// Returns whether the user is subscribed to the channel, archived or not, or may read all of it without a subscription.
#[must_use]
pub fn has_content_access(realm: &RealmSnapshot, user: &User, channel: &Channel) -> bool {
    realm.subscription(channel.id, user.id).is_some() || readable_history(realm, user, channel) == ReadableHistory::All
}

/// Returns whether the user may see the channel's subscribers: those of a channel, archived or not, whose name they may
/// know and, for guests, to which they are subscribed.
#[must_use]
pub fn may_see_subscribers(realm: &RealmSnapshot, user: &User, channel: &Channel) -> bool {
    may_know_channel_name(realm, user, channel)
        && (!user.is_guest() || realm.subscription(channel.id, user.id).is_some())
}

/// Returns the part of the channel's history that the user may read.
///
/// Users who left a private channel keep what they received; administrators read no private channel to which they are not
/// subscribed. Archiving a channel changes nothing.
#[must_use]
pub fn readable_history<'a>(realm: &'a RealmSnapshot, user: &User, channel: &Channel) -> ReadableHistory<'a> {
    let open = match channel.privacy {
        ChannelPrivacy::WebPublic => true,
        ChannelPrivacy::Public => !user.is_guest() || realm.subscription(channel.id, user.id).is_some(),
        ChannelPrivacy::PrivateSharedHistory => realm.subscription(channel.id, user.id).is_some(),
        ChannelPrivacy::PrivateProtectedHistory => false,
    };
    if open {
        return ReadableHistory::All;
    }
    realm
        .membership(channel.id, user.id)
        .map_or(ReadableHistory::NONE, |membership| ReadableHistory::Received(&membership.spans))
}

/// Returns the channel of that id, if the user may see it.
///
/// # Errors
/// When there is none, or none they may see.
pub fn find_visible_channel<'a>(
    realm: &'a RealmSnapshot,
    user: &User,
    id: ChannelId,
) -> Result<&'a Arc<Channel>, ChannelNotFound> {
    realm.channel(id).filter(|channel| may_see_channel(realm, user, channel)).ok_or(ChannelNotFound::Id(id))
}

/// Returns the channel of that name, compared case-insensitively, if the user may see it.
///
/// # Errors
/// When there is none, or none they may see.
pub fn find_visible_channel_by_name<'a>(
    realm: &'a RealmSnapshot,
    user: &User,
    name: &str,
) -> Result<&'a Arc<Channel>, ChannelNotFound> {
    let channel = realm.channel_by_name(name).filter(|channel| may_see_channel(realm, user, channel));
    channel.ok_or_else(|| ChannelNotFound::Name(name.to_owned()))
}

/// Returns the channel of that name, active or else archived, compared case-insensitively, if the user may know its name.
///
/// # Errors
/// When there is none, or none whose name they may know.
pub fn find_known_channel_by_name<'a>(
    realm: &'a RealmSnapshot,
    user: &User,
    name: &str,
) -> Result<&'a Arc<Channel>, ChannelNotFound> {
    let channel = realm.channel_by_name_even_archived(name);
    let known = channel.filter(|channel| may_know_channel_name(realm, user, channel));
    known.ok_or_else(|| ChannelNotFound::Name(name.to_owned()))
}

/// Returns the message, if the user may read it.
///
/// # Errors
/// When there is none, or they may not.
pub fn require_readable_message<'a>(
    realm: &RealmSnapshot,
    user: &User,
    message: Option<&'a Message>,
) -> Result<&'a Message, MessageNotFound> {
    message.filter(|message| may_read_message(realm, user, message)).ok_or(MessageNotFound)
}

/// Returns whether the user may read the message.
#[must_use]
pub fn may_read_message(realm: &RealmSnapshot, user: &User, message: &Message) -> bool {
    reads_at(realm, user, (message.recipient, &message.direct_users), (message.id, message.content_flags.moved_in))
}

/// Like [`may_read_message`], for a message without its content.
#[must_use]
pub fn may_read_user_message(realm: &RealmSnapshot, user: &User, copy: &UserMessage) -> bool {
    reads_at(realm, user, (copy.recipient, &copy.direct_users), (copy.id, copy.moved_in))
}

fn reads_at(
    realm: &RealmSnapshot,
    user: &User,
    (recipient, direct_users): (Recipient, &[UserId]),
    (id, moved_in): (MessageId, bool),
) -> bool {
    match recipient {
        Recipient::Direct(_) => direct_users.binary_search(&user.id).is_ok(),
        Recipient::Channel(channel) => {
            let history =
                realm.channel(channel).map_or(ReadableHistory::NONE, |channel| readable_history(realm, user, channel));
            if moved_in { history.includes_moved_message(id) } else { history.includes_message(id) }
        }
    }
}

/// Checks that the message is not in an archived channel, in which no message changes.
///
/// # Errors
/// When it is.
pub fn require_active_channel(realm: &RealmSnapshot, message: &Message) -> Result<(), MessageNotFound> {
    match message.recipient {
        Recipient::Channel(id) if realm.channel(id).is_none_or(|channel| channel.is_archived) => Err(MessageNotFound),
        _ => Ok(()),
    }
}

/// Checks whether the user may react to, edit or move a message that they may read.
///
/// # Errors
/// When it is in a channel in which they have no part (any more).
pub fn may_react_or_edit(realm: &RealmSnapshot, user: &User, message: &Message) -> Result<(), MessageNotFound> {
    match message.recipient {
        Recipient::Direct(_) => Ok(()),
        Recipient::Channel(id) => {
            let inside = realm.channel(id).is_some_and(|channel| participates_in_channel(realm, user, channel));
            if inside { Ok(()) } else { Err(MessageNotFound) }
        }
    }
}

/// Returns whether a user is told that a reader has read a message: the reader is active and shares read receipts, and
/// neither has muted the other.
#[must_use]
pub fn shows_read_receipt(realm: &RealmSnapshot, user: &User, reader: UserId) -> bool {
    let mutes = |of: UserId, muted: UserId| realm.user_item(of, UserItemKind::MutedUser, &muted.to_string()).is_some();
    let settings = realm.user_item(reader, UserItemKind::Settings, "");
    let hides =
        settings.and_then(|settings| settings.get("send_read_receipts")).and_then(Value::as_bool) == Some(false);
    realm.user(reader).is_some_and(|reader| reader.is_active)
        && !hides
        && !mutes(user.id, reader)
        && !mutes(reader, user.id)
}

/// The user lacks the role or permission that an operation requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PermissionError {
    /// Administrators and owners only.
    #[error("Must be an organization administrator")]
    AdministratorRequired,
    /// Owners only.
    #[error("Must be an organization owner")]
    OwnerRequired,
    /// Guests may not.
    #[error("Not allowed for guest users")]
    GuestRefused,
    /// Bots may not.
    #[error("This endpoint does not accept bot requests.")]
    BotRefused,
    /// The realm's choices do not permit it.
    #[error("Insufficient permission")]
    Insufficient,
    /// More is asked for than the caller may see.
    #[error("User not authorized for this query")]
    QueryRefused,
}

/// Requires an administrator or owner.
///
/// # Errors
/// For everybody else.
pub fn require_administrator(user: &User) -> Result<(), PermissionError> {
    if user.is_administrator() { Ok(()) } else { Err(PermissionError::AdministratorRequired) }
}

/// Requires an owner.
///
/// # Errors
/// For everybody else.
pub fn require_owner(user: &User) -> Result<(), PermissionError> {
    if user.role == Role::Owner { Ok(()) } else { Err(PermissionError::OwnerRequired) }
}

/// Requires a member, not a guest.
///
/// # Errors
/// For guests.
pub fn require_member(user: &User) -> Result<(), PermissionError> {
    if user.is_guest() { Err(PermissionError::GuestRefused) } else { Ok(()) }
}

/// Requires a human member: not a guest, not a bot.
///
/// # Errors
/// For guests, and for bots.
pub fn require_human_member(user: &User) -> Result<(), PermissionError> {
    require_member(user)?;
    require_human(user)
}

/// Requires a human user, not a bot.
///
/// # Errors
/// For bots.
pub fn require_human(user: &User) -> Result<(), PermissionError> {
    if user.bot.is_some() { Err(PermissionError::BotRefused) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_log::event::LogRecord;
    use crate::id::{EventId, UserId};
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::testing;

    const ALL: [ChannelPrivacy; 4] = [
        ChannelPrivacy::WebPublic,
        ChannelPrivacy::Public,
        ChannelPrivacy::PrivateSharedHistory,
        ChannelPrivacy::PrivateProtectedHistory,
    ];

    /// Channels 20 to 23, one of each privacy; those in `members` joined at 10.
    fn realm(members: &[i64]) -> RealmSnapshot {
        let mut more = Vec::new();
        for (id, privacy) in (20..).zip(ALL) {
            more.push(RealmChange::Channel(Box::new(testing::channel(id, privacy))));
            more.extend(
                members.iter().map(|user| RealmChange::Subscription(Box::new(testing::subscription(id, *user)))),
            );
        }
        testing::realm(RealmPermissionSettings::default(), more)
    }

    fn seen(realm: &RealmSnapshot, user: i64) -> [bool; 4] {
        let user = realm.user(UserId(user)).unwrap();
        [20, 21, 22, 23].map(|id| find_visible_channel(realm, user, ChannelId(id)).is_ok())
    }

    fn read_before_and_after_ten(realm: &RealmSnapshot, user: i64) -> [(bool, bool); 4] {
        let user = realm.user(UserId(user)).unwrap();
        [20, 21, 22, 23].map(|id| {
            let history = readable_history(realm, user, realm.channel(ChannelId(id)).unwrap());
            (history.includes_message(MessageId(5)), history.includes_message(MessageId(15)))
        })
    }

    #[test]
    fn who_is_in_no_channel_sees_what_their_role_lets_them() {
        let realm = realm(&[]);
        assert_eq!(seen(&realm, 2), [true, true, true, true]);
        assert_eq!(seen(&realm, 4), [true, true, false, false]);
        assert_eq!(seen(&realm, 6), [true, false, false, false]);
    }

    #[test]
    fn an_administrator_reads_no_private_channel_they_are_not_in() {
        let realm = realm(&[]);
        assert_eq!(read_before_and_after_ten(&realm, 2), [(true, true), (true, true), (false, false), (false, false)]);
    }

    #[test]
    fn a_subscriber_reads_from_the_beginning_unless_history_is_protected() {
        let realm = realm(&[4, 6]);
        for user in [4, 6] {
            assert_eq!(seen(&realm, user), [true; 4]);
            assert_eq!(
                read_before_and_after_ten(&realm, user),
                [(true, true), (true, true), (true, true), (false, true)]
            );
        }
    }

    #[test]
    fn who_left_a_private_channel_keeps_what_they_received() {
        let leave = RealmChange::Unsubscription { channel_id: ChannelId(22), user_id: UserId(4) };
        let realm = realm(&[4]).after_record(&LogRecord::new(EventId(30), 0, vec![leave], None));
        let user = realm.user(UserId(4)).unwrap();
        let history = readable_history(&realm, user, realm.channel(ChannelId(22)).unwrap());
        assert_eq!([5, 15, 35].map(|id| history.includes_message(MessageId(id))), [false, true, false]);
        assert_eq!(find_visible_channel(&realm, user, ChannelId(22)).unwrap_err().to_string(), "Invalid channel ID");
        assert_eq!(
            find_visible_channel_by_name(&realm, user, "channel 22").unwrap_err().to_string(),
            "Invalid channel name 'channel 22'"
        );
    }

    #[test]
    fn the_gates_of_roles_hold() {
        let realm = realm(&[]);
        let passing = |gate: fn(&User) -> Result<(), PermissionError>| {
            [1, 2, 3, 4, 6].map(|id| gate(realm.user(UserId(id)).unwrap()).is_ok())
        };
        assert_eq!(passing(require_owner), [true, false, false, false, false]);
        assert_eq!(passing(require_administrator), [true, true, false, false, false]);
        assert_eq!(passing(require_member), [true, true, true, true, false]);
    }
}
