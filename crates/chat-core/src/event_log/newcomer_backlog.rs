//! The messages of the past that a new user finds in their feed.
//!
//! Not specified; existing servers let newcomers receive the recent messages of their channels, and mark the newest as
//! unread, so that a first look shows what the organization talks about.

use crate::id::{ChannelId, EventId, MessageId, UserId};
use crate::limits::SECONDS_PER_DAY;

/// The maximum number of past messages that a new user receives.
pub const MAX_BACKLOG_MESSAGES: usize = 1_000;
/// So many of them, the newest, are unread.
const UNREAD_MAX: usize = 20;
/// An older message is not given: the organization would look abandoned.
const AGE_MAX_S: i64 = 12 * 7 * SECONDS_PER_DAY;

/// A new user, and the channels whose past messages they may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newcomer {
    /// The user.
    pub user_id: UserId,
    /// The channels.
    pub channels: Vec<ChannelId>,
}

/// A past channel message that may belong to a new user's backlog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BacklogMessage {
    /// Its number.
    pub id: MessageId,
    /// When it was sent, in unix seconds.
    pub sent_s: i64,
}

/// The range of past channel messages that a new user receives, and up to where they count as read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewcomerBacklog {
    /// They received what the channels carried after this place of the log.
    pub after: EventId,
    /// And have read it up to this message.
    pub read_until: MessageId,
}

impl NewcomerBacklog {
    /// Selects the backlog from the newest messages of the channels, [`MAX_BACKLOG_MESSAGES`] of each, in any order.
    /// `None` when no message is recent.
    #[must_use]
    pub fn from_recent_messages(mut past: Vec<BacklogMessage>, now_s: i64) -> Option<Self> {
        past.retain(|message| message.sent_s > now_s.saturating_sub(AGE_MAX_S));
        past.sort_unstable_by_key(|message| std::cmp::Reverse(message.id));
        past.truncate(MAX_BACKLOG_MESSAGES);
        let after = EventId(past.last()?.id.0 - 1);
        let read_until = past.get(UNREAD_MAX).map_or(MessageId(after.0), |message| message.id);
        Some(Self { after, read_until })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::NOW_S;

    /// Messages of these numbers, each so many days old.
    fn past(ids: impl IntoIterator<Item = i64>, days: i64) -> Vec<BacklogMessage> {
        ids.into_iter().map(|id| BacklogMessage { id: MessageId(id), sent_s: NOW_S - days * SECONDS_PER_DAY }).collect()
    }

    fn backlog(after: i64, read_until: i64) -> NewcomerBacklog {
        NewcomerBacklog { after: EventId(after), read_until: MessageId(read_until) }
    }

    #[test]
    fn the_newest_twenty_messages_are_unread_and_those_before_are_read() {
        assert_eq!(NewcomerBacklog::from_recent_messages(past((11..=40).rev(), 1), NOW_S), Some(backlog(10, 20)));
        assert_eq!(NewcomerBacklog::from_recent_messages(past(11..=30, 1), NOW_S), Some(backlog(10, 10)));
        assert_eq!(NewcomerBacklog::from_recent_messages(past([7], 1), NOW_S), Some(backlog(6, 6)));
    }

    #[test]
    fn no_more_than_a_thousand_messages_are_given_and_none_of_long_ago() {
        assert_eq!(NewcomerBacklog::from_recent_messages(past(1..=1_500, 1), NOW_S), Some(backlog(500, 1_480)));
        let recent_and_old = [past(1..=10, 85), past(11..=12, 83)].concat();
        assert_eq!(NewcomerBacklog::from_recent_messages(recent_and_old, NOW_S), Some(backlog(10, 10)));
        assert_eq!(NewcomerBacklog::from_recent_messages(past(1..=10, 85), NOW_S), None);
        assert_eq!(NewcomerBacklog::from_recent_messages(Vec::new(), NOW_S), None);
    }
}
