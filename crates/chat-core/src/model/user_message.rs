//! Users' own copies of messages without the texts: what flags are about, and what is not read.

use std::sync::Arc;

use crate::id::{EventId, MessageId, UserId};
use crate::model::message::{Message, MessageFlag, Recipient};
use crate::model::realm_snapshot::RealmSnapshot;

/// A user's flags and recipient data of a message, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserMessage {
    /// The message.
    pub id: MessageId,
    /// Where it is.
    pub recipient: Recipient,
    /// For a set of users: all of them, in the order of their numbers.
    pub direct_users: Arc<[UserId]>,
    /// Its topic; empty for sets of users. Copies that are read together share it.
    pub topic: Arc<str>,
    /// Who wrote it.
    pub sender_id: UserId,
    /// [`ContentFlags::moved_in`](crate::model::message::ContentFlags::moved_in).
    pub moved_in: bool,
    /// The user's flags of it.
    pub flags: Vec<MessageFlag>,
}

impl UserMessage {
    /// Makes the user message from a message and the user's flags.
    #[must_use]
    pub fn from_message(message: &Message, flags: Vec<MessageFlag>) -> Self {
        Self {
            id: message.id,
            recipient: message.recipient,
            direct_users: message.direct_users.as_slice().into(),
            topic: message.topic.as_str().into(),
            sender_id: message.sender_id,
            moved_in: message.content_flags.moved_in,
            flags,
        }
    }

    /// Returns whether the message counts as read whatever its flags: the user is not subscribed to its channel, the
    /// channel is archived, or the sender is muted.
    #[must_use]
    pub fn counts_as_read(&self, realm: &RealmSnapshot, user_id: UserId) -> bool {
        let is_left = match self.recipient {
            Recipient::Channel(id) => !realm.can_have_unread(id, user_id),
            Recipient::Direct(_) => false,
        };
        is_left || realm.mutes_user(user_id, self.sender_id)
    }
}

/// A user's unread messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnreadMessages {
    /// By where it is: each topic of a channel as its messages spell it, each set of users. None is empty.
    pub places: Vec<UnreadConversation>,
    /// Those of them that mention the user, the oldest first.
    pub mentions: Vec<MessageId>,
}

/// A user's unread messages in one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadConversation {
    /// Where it is.
    pub recipient: Recipient,
    /// For a set of users: all of them, in the order of their numbers.
    pub direct_users: Vec<UserId>,
    /// The topic; empty for sets of users.
    pub topic: String,
    /// The messages, the oldest first.
    pub ids: Vec<MessageId>,
}

impl UnreadMessages {
    /// Returns the number of unread messages.
    #[must_use]
    pub fn count(&self) -> usize {
        self.places.iter().map(|place| place.ids.len()).sum()
    }

    /// Returns the ids of all unread messages, in ascending order.
    #[must_use]
    pub fn message_ids(&self) -> Vec<MessageId> {
        let mut ids: Vec<MessageId> = self.places.iter().flat_map(|place| place.ids.iter().copied()).collect();
        ids.sort_unstable();
        ids
    }

    /// Keeps only messages up to a log position.
    #[must_use]
    pub fn keep_sent_until(mut self, at: EventId) -> Self {
        let is_there = |id: &MessageId| EventId::from(*id) <= at;
        for place in &mut self.places {
            // They are in order, so the last tells of all.
            if place.ids.last().is_some_and(|last| !is_there(last)) {
                place.ids.retain(is_there);
            }
        }
        self.places.retain(|place| !place.ids.is_empty());
        self.mentions.retain(is_there);
        self
    }

    /// Keeps only the newest messages, at most `limit`.
    #[must_use]
    pub fn keep_newest(mut self, limit: usize) -> Self {
        let count = self.count();
        if count <= limit {
            return self;
        }
        let mut ids = self.message_ids();
        let from = ids.split_off(count - limit).first().copied();
        let Some(from) = from else { return Self::default() };
        for place in &mut self.places {
            place.ids.retain(|id| *id >= from);
        }
        self.places.retain(|place| !place.ids.is_empty());
        self.mentions.retain(|id| *id >= from);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ChannelId;

    fn unread() -> UnreadMessages {
        let place = |channel: i64, ids: &[i64]| UnreadConversation {
            recipient: Recipient::Channel(ChannelId(channel)),
            direct_users: Vec::new(),
            topic: "Lunch".to_owned(),
            ids: ids.iter().copied().map(MessageId).collect(),
        };
        UnreadMessages {
            places: vec![place(20, &[3, 9]), place(21, &[4, 5])],
            mentions: vec![MessageId(3), MessageId(9)],
        }
    }

    fn ids(unread: &UnreadMessages) -> Vec<i64> {
        unread.message_ids().into_iter().map(|id| id.0).collect()
    }

    #[test]
    fn what_came_after_a_place_is_left_out() {
        let unread_until = unread().keep_sent_until(EventId(4));
        assert_eq!((ids(&unread_until), unread_until.count()), (vec![3, 4], 2));
        assert_eq!(unread_until.mentions, [MessageId(3)]);
        let first = unread().keep_sent_until(EventId(3));
        assert_eq!((first.places.len(), ids(&first)), (1, vec![3]));
        assert_eq!(unread().keep_sent_until(EventId(9)), unread());
    }

    #[test]
    fn the_newest_are_the_newest_of_all_places() {
        assert_eq!(unread().keep_newest(4), unread());
        let unread_until = unread().keep_newest(2);
        assert_eq!(ids(&unread_until), [5, 9]);
        assert_eq!(unread_until.mentions, [MessageId(9)]);
        let one = unread().keep_newest(1);
        assert_eq!((ids(&one), one.places.len()), (vec![9], 1));
        assert_eq!(unread().keep_newest(0), UnreadMessages::default());
    }
}
