//! Channels and what ties a user to one.

use serde::{Deserialize, Serialize};

use crate::id::{ChannelId, EventId, MessageId, UserGroupId, UserId};
use crate::limits::MAX_CHANNEL_NAME_CHARS;
use crate::model::user::fold_case;
use crate::text_processing::printable_names::find_unprintable_in_name;

/// A channel: a named conversation of many users, divided into topics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// Its number.
    pub id: ChannelId,
    /// Its name, unique among channels, compared without regard to case. Channels that earlier versions archived may share
    /// one.
    pub name: String,
    /// What it is for, as typed.
    pub description: String,
    /// The same in HTML.
    pub rendered_description: String,
    /// When it was made, in unix seconds.
    pub created_s: i64,
    /// Who made it; `None` for those the realm came with.
    pub creator_id: Option<UserId>,
    /// Who sees it.
    pub privacy: ChannelPrivacy,
    /// Who may write.
    pub post_policy: ChannelPostPolicy,
    /// After how many days messages go; `None` as the realm says, -1 never.
    pub message_retention_days: Option<i64>,
    /// Whose members may take others out of it.
    pub can_remove_subscribers_group: UserGroupId,
    /// Whether it was archived: it keeps its name, subscribers and messages, is read but not written, and only clients that
    /// declare `archived_channels` show it.
    pub is_archived: bool,
    /// The folder in which lists show it; the number of a realm item. Channels stored by earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_id: Option<i64>,
    /// Whether it is new, or had a message in the last [`RECENT_ACTIVITY_DAYS`](crate::limits::RECENT_ACTIVITY_DAYS).
    /// Channels stored by earlier versions are
    /// until a sweep finds that they had none.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub is_recently_active: bool,
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_yes(value: &bool) -> bool {
    *value
}

/// The privacy of a channel: web-public, public, or private with shared or protected history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChannelPrivacy {
    /// Everybody, also without an account.
    WebPublic,
    /// All users but guests, with its whole history.
    Public,
    /// Subscribers, with its whole history.
    PrivateSharedHistory,
    /// Subscribers, from their subscription on.
    PrivateProtectedHistory,
}

impl ChannelPrivacy {
    /// Returns the wire's `invite_only`: whether the channel is private.
    #[must_use]
    pub fn is_invite_only(self) -> bool {
        matches!(self, Self::PrivateSharedHistory | Self::PrivateProtectedHistory)
    }

    /// Returns the wire's `history_public_to_subscribers`.
    #[must_use]
    pub fn history_public_to_subscribers(self) -> bool {
        self != Self::PrivateProtectedHistory
    }
}

/// The users who may send messages to a channel. Numbers of the wire: 1 to 4 in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChannelPostPolicy {
    /// 1: everybody.
    Everyone,
    /// 2: administrators; the wire's `is_announcement_only`.
    Administrators,
    /// 3: full members.
    FullMembers,
    /// 4: moderators.
    Moderators,
}

impl ChannelPostPolicy {
    /// All policies, in the order of their wire numbers.
    pub const ALL: [Self; 4] = [Self::Everyone, Self::Administrators, Self::FullMembers, Self::Moderators];

    /// Returns the number of the wire, from 1.
    #[must_use]
    pub fn wire_number(self) -> i64 {
        match self {
            Self::Everyone => 1,
            Self::Administrators => 2,
            Self::FullMembers => 3,
            Self::Moderators => 4,
        }
    }
}

/// A user's subscription to a channel, with its settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    /// The channel.
    pub channel_id: ChannelId,
    /// The user.
    pub user_id: UserId,
    /// `#rrggbb`, as the client gave it.
    pub color: String,
    /// Whether its messages make no noise and no unread counts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_muted: bool,
    /// Whether it stands above the others.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pin_to_top: bool,
    /// Notifications; `None` follows the user's own settings.
    #[serde(default, skip_serializing_if = "is_default")]
    pub notifications: SubscriptionNotificationSettings,
}

/// Returns whether a setting of a subscription need not be stored: most users choose nothing, and thousands are
/// subscribed in one request.
fn is_default<T: Default + PartialEq>(setting: &T) -> bool {
    *setting == T::default()
}

/// The notification settings of a subscription; `None` follows the user's own settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SubscriptionNotificationSettings {
    /// On the desktop.
    pub desktop: Option<bool>,
    /// With a sound.
    pub audible: Option<bool>,
    /// On the telephone.
    pub push: Option<bool>,
    /// By mail.
    pub email: Option<bool>,
    /// When everybody is mentioned.
    pub wildcard_mentions: Option<bool>,
}

/// The period of the log during which a user was subscribed to a channel: after `after` and up to `until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionPeriod {
    /// The event that began it.
    pub after: EventId,
    /// The event that ended it; `None` while it lasts.
    pub until: Option<EventId>,
}

impl SubscriptionPeriod {
    /// Returns whether an event lies within the period.
    #[must_use]
    pub fn contains(self, event: EventId) -> bool {
        event > self.after && self.until.is_none_or(|until| event <= until)
    }
}

/// A user's current and past subscriptions to a channel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChannelMembership {
    /// When the user was in it, in order; only the last may still last.
    pub spans: Vec<SubscriptionPeriod>,
    /// What the user chose, while in it.
    pub subscription: Option<Subscription>,
}

impl ChannelMembership {
    /// Returns whether the user was subscribed to the channel at the log position of that message.
    #[must_use]
    pub fn was_subscribed_at(&self, message: MessageId) -> bool {
        self.spans.iter().any(|span| span.contains(message.into()))
    }

    /// Returns whether the user received a message that is in the channel now. One with
    /// [`ContentFlags::moved_in`](crate::model::message::ContentFlags::moved_in) was received only by those subscribed
    /// since before it was sent.
    #[must_use]
    pub fn received_message(&self, message: MessageId, moved_in: bool) -> bool {
        let lasts = |span: &SubscriptionPeriod| !moved_in || span.until.is_none();
        self.spans.iter().any(|span| span.contains(message.into()) && lasts(span))
    }
}

/// Returns the case-insensitive key by which channel names are unique.
#[must_use]
pub fn channel_name_key(name: &str) -> String {
    fold_case(name.trim())
}

/// The reason why a text is not a valid channel name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChannelNameError {
    /// Nothing but blanks.
    #[error("Channel name can't be empty.")]
    Empty,
    /// More than [`MAX_CHANNEL_NAME_CHARS`].
    #[error("Channel name too long (limit: 60 characters).")]
    TooLong,
    /// A character no screen shows; its place counted from 1.
    #[error("Invalid character in channel name, at position {0}!")]
    InvalidCharacter(usize),
}

/// Parses a channel name: trims and validates it.
///
/// # Errors
/// See [`ChannelNameError`].
pub fn parse_channel_name(written: &str) -> Result<&str, ChannelNameError> {
    let name = written.trim();
    if name.is_empty() {
        return Err(ChannelNameError::Empty);
    }
    if name.chars().count() > MAX_CHANNEL_NAME_CHARS {
        return Err(ChannelNameError::TooLong);
    }
    match find_unprintable_in_name(name) {
        Some(place) => Err(ChannelNameError::InvalidCharacter(place)),
        None => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscription_is_stored_without_what_nobody_chose() {
        let notifications =
            SubscriptionNotificationSettings { push: Some(true), ..SubscriptionNotificationSettings::default() };
        let chosen = Subscription {
            channel_id: ChannelId(4),
            user_id: UserId(7),
            color: "#c2c2c2".to_owned(),
            is_muted: true,
            pin_to_top: false,
            notifications,
        };
        let plain = Subscription {
            is_muted: false,
            notifications: SubscriptionNotificationSettings::default(),
            ..chosen.clone()
        };
        let text = serde_json::to_string(&plain).unwrap();
        assert_eq!(text, r##"{"channel_id":4,"user_id":7,"color":"#c2c2c2"}"##);
        for subscription in [plain, chosen] {
            let text = serde_json::to_string(&subscription).unwrap();
            assert_eq!(serde_json::from_str::<Subscription>(&text).unwrap(), subscription);
        }
    }

    #[test]
    fn a_span_begins_after_its_first_event_and_holds_its_last() {
        let span = SubscriptionPeriod { after: EventId(5), until: Some(EventId(9)) };
        let within: Vec<i64> = (1..12).filter(|event| span.contains(EventId(*event))).collect();
        assert_eq!(within, [6, 7, 8, 9]);
        assert!(SubscriptionPeriod { until: None, ..span }.contains(EventId(1_000)));
    }

    #[test]
    fn a_channel_name_has_bounds() {
        assert_eq!(parse_channel_name(" general "), Ok("general"));
        assert_eq!(parse_channel_name("  "), Err(ChannelNameError::Empty));
        assert_eq!(parse_channel_name(&"ä".repeat(60)).map(str::len), Ok(120));
        assert_eq!(parse_channel_name(&"a".repeat(61)), Err(ChannelNameError::TooLong));
        assert_eq!(parse_channel_name("a\u{1}b"), Err(ChannelNameError::InvalidCharacter(2)));
        assert_eq!(parse_channel_name("gen\u{200b}eral"), Err(ChannelNameError::InvalidCharacter(4)));
    }
}
