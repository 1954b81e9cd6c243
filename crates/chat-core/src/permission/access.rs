//! What a user may see and read.
//!
//! What may not be seen is as if it did not exist: both give the same error.

use std::sync::Arc;

use serde_json::Value;

use crate::id::{ChannelId, MessageId, UserId};
use crate::model::change::UserItemKind;
use crate::model::channel::{Channel, Privacy, SubscriptionPeriod};
use crate::model::message::{Message, Recipient};
use crate::model::role::Role;
use crate::model::snapshot::RealmSnapshot;
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

/// There is no topic of that name, or none of which the user may read or received a message. Both have one text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("No such topic '{0}'")]
pub struct TopicNotFound(pub String);

/// The messages of a channel that a user may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadableHistory<'a> {
    /// All.
    All,
    /// Those they received.
    Received(&'a [SubscriptionPeriod]),
}

impl ReadableHistory<'_> {
    /// None.
    pub const NONE: Self = Self::Received(&[]);

    /// Returns whether the message is among them.
    #[must_use]
    pub fn shows(self, message: MessageId) -> bool {
        match self {
            Self::All => true,
            Self::Received(spans) => spans.iter().any(|span| span.contains(message.into())),
        }
    }

    /// As [`ReadableHistory::shows`], of a message with
    /// [`ContentFlags::moved_in`](crate::model::message::ContentFlags::moved_in): when it was sent tells nothing of who
    /// received it here, so it is shown to who has been inside ever since, and not to who left.
    #[must_use]
    pub fn shows_moved(self, message: MessageId) -> bool {
        match self {
            Self::All => true,
            Self::Received(spans) => spans.iter().any(|span| span.until.is_none() && span.contains(message.into())),
        }
    }
}

/// Returns whether the channel's name and description may be seen. Administrators see private channels too.
#[must_use]
pub fn sees_channel(realm: &RealmSnapshot, user: &User, channel: &Channel) -> bool {
    !channel.is_archived && may_know_channel(realm, user, channel)
}

/// Returns whether the user may be told what the channel is called, be it archived or not.
#[must_use]
pub fn may_know_channel(realm: &RealmSnapshot, user: &User, channel: &Channel) -> bool {
    user.is_administrator()
        || channel.privacy == Privacy::WebPublic
        || (channel.privacy == Privacy::Public && !user.is_guest())
        || realm.subscription(channel.id, user.id).is_some()
}

/// Returns whether the user takes part in the channel as it is now: they are in it, or may read all of it without being
/// in it.
///
/// Who left a private channel reads what they received there, and has no say in it.
#[must_use]
pub fn takes_part(realm: &RealmSnapshot, user: &User, channel: &Channel) -> bool {
    !channel.is_archived
        && (realm.subscription(channel.id, user.id).is_some() || history(realm, user, channel) == ReadableHistory::All)
}

/// Returns whether the user may know who is in the channel: one they see, and for guests one they are in.
#[must_use]
pub fn sees_subscribers(realm: &RealmSnapshot, user: &User, channel: &Channel) -> bool {
    sees_channel(realm, user, channel) && (!user.is_guest() || realm.subscription(channel.id, user.id).is_some())
}

/// Returns which of the channel's messages the user may read.
///
/// Who left a private channel keeps what they received; an administrator reads no private channel they are not in.
#[must_use]
pub fn history<'a>(realm: &'a RealmSnapshot, user: &User, channel: &Channel) -> ReadableHistory<'a> {
    let open = match channel.privacy {
        Privacy::WebPublic => true,
        Privacy::Public => !user.is_guest() || realm.subscription(channel.id, user.id).is_some(),
        Privacy::PrivateSharedHistory => realm.subscription(channel.id, user.id).is_some(),
        Privacy::PrivateProtectedHistory => false,
    };
    if open && !channel.is_archived {
        return ReadableHistory::All;
    }
    realm
        .membership(channel.id, user.id)
        .map_or(ReadableHistory::NONE, |membership| ReadableHistory::Received(&membership.spans))
}

/// Returns the channel of that number, if the user may see it.
///
/// # Errors
/// When there is none, or none they may see.
pub fn channel<'a>(realm: &'a RealmSnapshot, user: &User, id: ChannelId) -> Result<&'a Arc<Channel>, ChannelNotFound> {
    realm.channel(id).filter(|channel| sees_channel(realm, user, channel)).ok_or(ChannelNotFound::Id(id))
}

/// Returns the channel of that name, compared without regard to case, if the user may see it.
///
/// # Errors
/// When there is none, or none they may see.
pub fn channel_named<'a>(
    realm: &'a RealmSnapshot,
    user: &User,
    name: &str,
) -> Result<&'a Arc<Channel>, ChannelNotFound> {
    let channel = realm.channel_by_name(name).filter(|channel| sees_channel(realm, user, channel));
    channel.ok_or_else(|| ChannelNotFound::Name(name.to_owned()))
}

/// Returns the message, if the user may read it.
///
/// # Errors
/// When there is none, or they may not.
pub fn message<'a>(
    realm: &RealmSnapshot,
    user: &User,
    message: Option<&'a Message>,
) -> Result<&'a Message, MessageNotFound> {
    message.filter(|message| reads(realm, user, message)).ok_or(MessageNotFound)
}

/// Returns whether the user may read the message.
#[must_use]
pub fn reads(realm: &RealmSnapshot, user: &User, message: &Message) -> bool {
    reads_at(realm, user, (message.recipient, &message.direct_users), (message.id, message.content_flags.moved_in))
}

/// As [`reads`], of a message without its text.
#[must_use]
pub fn reads_copy(realm: &RealmSnapshot, user: &User, copy: &UserMessage) -> bool {
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
            let history = realm.channel(channel).map_or(ReadableHistory::NONE, |channel| history(realm, user, channel));
            if moved_in { history.shows_moved(id) } else { history.shows(id) }
        }
    }
}

/// Whether the user may add to a message that they may read: react to it, edit it or move it.
///
/// # Errors
/// When it is in a channel in which they have no part (any more).
pub fn add_to(realm: &RealmSnapshot, user: &User, message: &Message) -> Result<(), MessageNotFound> {
    match message.recipient {
        Recipient::Direct(_) => Ok(()),
        Recipient::Channel(id) => {
            let inside = realm.channel(id).is_some_and(|channel| takes_part(realm, user, channel));
            if inside { Ok(()) } else { Err(MessageNotFound) }
        }
    }
}

/// Returns whether a user is told that a reader has read something: the reader is active and lets it be known, and
/// neither of them has muted the other.
#[must_use]
pub fn shows_receipt(realm: &RealmSnapshot, user: &User, reader: UserId) -> bool {
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

/// Lets administrators and owners pass.
///
/// # Errors
/// For everybody else.
pub fn require_administrator(user: &User) -> Result<(), PermissionError> {
    if user.is_administrator() { Ok(()) } else { Err(PermissionError::AdministratorRequired) }
}

/// Lets owners pass.
///
/// # Errors
/// For everybody else.
pub fn require_owner(user: &User) -> Result<(), PermissionError> {
    if user.role == Role::Owner { Ok(()) } else { Err(PermissionError::OwnerRequired) }
}

/// Lets all but guests pass.
///
/// # Errors
/// For guests.
pub fn require_member(user: &User) -> Result<(), PermissionError> {
    if user.is_guest() { Err(PermissionError::GuestRefused) } else { Ok(()) }
}

/// Lets people pass who are no guests.
///
/// # Errors
/// For guests, and for bots.
pub fn require_human_member(user: &User) -> Result<(), PermissionError> {
    require_member(user)?;
    require_human(user)
}

/// Lets people pass.
///
/// # Errors
/// For bots.
pub fn require_human(user: &User) -> Result<(), PermissionError> {
    if user.bot.is_some() { Err(PermissionError::BotRefused) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{EventId, UserId};
    use crate::log::event::EventRecord;
    use crate::model::change::RealmChange;
    use crate::model::realm::RealmRules;
    use crate::testing;

    const ALL: [Privacy; 4] =
        [Privacy::WebPublic, Privacy::Public, Privacy::PrivateSharedHistory, Privacy::PrivateProtectedHistory];

    /// Channels 20 to 23, one of each privacy; those in `members` joined at 10.
    fn realm(members: &[i64]) -> RealmSnapshot {
        let mut more = Vec::new();
        for (id, privacy) in (20..).zip(ALL) {
            more.push(RealmChange::Channel(Box::new(testing::channel(id, privacy))));
            more.extend(
                members.iter().map(|user| RealmChange::Subscription(Box::new(testing::subscription(id, *user)))),
            );
        }
        testing::realm(RealmRules::default(), more)
    }

    fn seen(realm: &RealmSnapshot, user: i64) -> [bool; 4] {
        let user = realm.user(UserId(user)).unwrap();
        [20, 21, 22, 23].map(|id| channel(realm, user, ChannelId(id)).is_ok())
    }

    fn read_before_and_after_ten(realm: &RealmSnapshot, user: i64) -> [(bool, bool); 4] {
        let user = realm.user(UserId(user)).unwrap();
        [20, 21, 22, 23].map(|id| {
            let history = history(realm, user, realm.channel(ChannelId(id)).unwrap());
            (history.shows(MessageId(5)), history.shows(MessageId(15)))
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
        let realm = realm(&[4]).with(&EventRecord::new(EventId(30), 0, vec![leave], None));
        let user = realm.user(UserId(4)).unwrap();
        let history = history(&realm, user, realm.channel(ChannelId(22)).unwrap());
        assert_eq!([5, 15, 35].map(|id| history.shows(MessageId(id))), [false, true, false]);
        assert_eq!(channel(&realm, user, ChannelId(22)).unwrap_err().to_string(), "Invalid channel ID");
        assert_eq!(
            channel_named(&realm, user, "channel 22").unwrap_err().to_string(),
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
