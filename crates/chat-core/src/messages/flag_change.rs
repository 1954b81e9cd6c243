//! Flags that users set on their own copies of messages.

use std::collections::HashMap;

use crate::event_log::event::{ConversationFlagsUpdate, MessageFlagsUpdate, MessageLocation};
use crate::id::UserId;
use crate::messages::topic_visibility_policy;
use crate::model::flag_change::{FlagChange, FlagOp};
use crate::model::message::{MessageFlag, Recipient};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::model::user_message::UserMessage;
use crate::permission::access::may_read_user_message;

impl FlagChange {
    /// Returns whether the flag change changes the flags of a user message.
    ///
    /// A message the user may not read is left alone. One that they never received, or that counts as read
    /// ([`UserMessage::counts_as_read`]), stays read.
    #[must_use]
    pub fn changes_user_message(self, realm: &RealmSnapshot, user: &User, copy: &UserMessage) -> bool {
        let stays = self.flag == MessageFlag::Read
            && (copy.flags.contains(&MessageFlag::Historical) || copy.counts_as_read(realm, user.id));
        let has = copy.flags.contains(&self.flag);
        has == (self.op == FlagOp::Remove) && !stays && may_read_user_message(realm, user, copy)
    }

    /// Returns the messages among the given user messages that the flag change changes, for the event.
    #[must_use]
    pub fn affected_messages(self, realm: &RealmSnapshot, user: &User, copies: &[UserMessage]) -> MessageFlagsUpdate {
        let changed = copies.iter().filter(|copy| self.changes_user_message(realm, user, copy));
        if !self.needs_message_details() {
            return MessageFlagsUpdate::without_locations(self, changed.map(|copy| copy.id).collect());
        }
        let mut places: Vec<ConversationFlagsUpdate> = Vec::new();
        let mut numbers: HashMap<(Recipient, &str), usize> = HashMap::new();
        for copy in changed {
            let number = *numbers.entry((copy.recipient, &copy.topic)).or_insert_with(|| {
                places.push(ConversationFlagsUpdate {
                    place: Some(place_of(realm, user.id, copy)),
                    ..ConversationFlagsUpdate::default()
                });
                places.len() - 1
            });
            let Some(there) = places.get_mut(number) else { continue };
            there.messages.push(copy.id);
            if copy.flags.iter().any(|flag| flag.is_mention()) {
                there.mentions.push(copy.id);
            }
        }
        MessageFlagsUpdate { mark: self, places }
    }
}

/// Returns where a message is that is no longer read, as its event says it.
fn place_of(realm: &RealmSnapshot, user_id: UserId, copy: &UserMessage) -> MessageLocation {
    match copy.recipient {
        Recipient::Channel(channel_id) => MessageLocation::Topic {
            channel_id,
            topic: copy.topic.as_ref().to_owned(),
            is_muted: topic_visibility_policy::is_topic_muted(realm, user_id, channel_id, &copy.topic),
        },
        Recipient::Direct(_) => {
            let alone = copy.direct_users.len() == 1;
            let others = copy.direct_users.iter().filter(|user| alone || **user != user_id);
            MessageLocation::Users(others.copied().collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{ChannelId, DirectConversationId, MessageId};
    use crate::model::channel::ChannelPrivacy;
    use crate::model::message::Message;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::{RealmChange, UserItemKind};
    use crate::testing;

    #[test]
    fn an_unknown_flag_is_told_before_an_unknown_operation() {
        let parsed = |flag, op| FlagChange::parse(flag, op).map_err(|error| error.to_string());
        assert_eq!(parsed("read", "add"), Ok(FlagChange::MARK_READ));
        assert_eq!(parsed("x", "y"), Err("Invalid flag: 'x'".to_owned()));
        assert_eq!(parsed("mentioned", "add"), Err("Flag not editable: 'mentioned'".to_owned()));
        assert_eq!(parsed("starred", "y"), Err("Invalid message flag operation: 'y'".to_owned()));
    }

    #[test]
    fn a_mark_changes_what_may_be_read_and_is_otherwise() {
        let realm = testing::realm(
            RealmPermissionSettings::default(),
            vec![RealmChange::Channel(Box::new(testing::channel(20, ChannelPrivacy::PrivateSharedHistory)))],
        );
        let private = testing::message(2, Recipient::Channel(ChannelId(20)));
        let copy = |message: &Message, flags: &[MessageFlag]| UserMessage::from_message(message, flags.to_vec());
        let own = Message {
            direct_users: vec![UserId(4)],
            ..testing::message(4, Recipient::Direct(DirectConversationId(5)))
        };
        let user = realm.user(UserId(4)).unwrap();
        let star = FlagChange::parse("starred", "add").unwrap();
        assert!(!star.changes_user_message(&realm, user, &copy(&private, &[])));
        assert!(star.changes_user_message(&realm, user, &copy(&own, &[])));
        assert!(star.changes_user_message(&realm, user, &copy(&own, &[MessageFlag::Read, MessageFlag::Historical])));
        assert!(!star.changes_user_message(&realm, user, &copy(&own, &[MessageFlag::Starred])));
        let unread = FlagChange::parse("read", "remove").unwrap();
        assert!(!unread.changes_user_message(&realm, user, &copy(&own, &[MessageFlag::Read, MessageFlag::Historical])));
        assert!(unread.changes_user_message(&realm, user, &copy(&own, &[MessageFlag::Read])));
        assert!(!FlagChange::MARK_READ.changes_user_message(&realm, user, &copy(&own, &[MessageFlag::Read])));
    }

    #[test]
    fn what_is_no_longer_read_is_told_with_its_place() {
        let realm = testing::realm(
            RealmPermissionSettings::default(),
            vec![
                RealmChange::Channel(Box::new(testing::channel(20, ChannelPrivacy::Public))),
                RealmChange::Subscription(Box::new(testing::subscription(20, 4))),
            ],
        );
        let user = realm.user(UserId(4)).unwrap();
        let unread = FlagChange::parse("read", "remove").unwrap();
        let copy = |id: i64, flags: &[MessageFlag]| {
            let message = Message { id: MessageId(id), ..testing::message(2, Recipient::Channel(ChannelId(20))) };
            UserMessage::from_message(&message, [flags, &[MessageFlag::Read]].concat())
        };
        let other = UserMessage { topic: "Dinner".into(), ..copy(17, &[]) };
        let flagged =
            unread.affected_messages(&realm, user, &[copy(15, &[]), other, copy(18, &[MessageFlag::Mentioned])]);
        let place = |topic: &str| {
            Some(MessageLocation::Topic { channel_id: ChannelId(20), topic: topic.to_owned(), is_muted: false })
        };
        let lunch = ConversationFlagsUpdate {
            place: place("Lunch"),
            messages: vec![MessageId(15), MessageId(18)],
            mentions: vec![MessageId(18)],
        };
        let dinner = ConversationFlagsUpdate {
            place: place("Dinner"),
            messages: vec![MessageId(17)],
            ..ConversationFlagsUpdate::default()
        };
        assert_eq!(flagged.places, [lunch, dinner]);
        assert_eq!(flagged.message_ids(), [15, 17, 18].map(MessageId));
        // What a muted user wrote stays read.
        let muted = RealmChange::UserItem {
            user_id: UserId(4),
            kind: UserItemKind::MutedUser,
            key: "2".to_owned(),
            document: Some(serde_json::json!({})),
        };
        assert!(
            unread.affected_messages(&realm.preview_changes(&[muted]), user, &[copy(15, &[])]).message_ids().is_empty()
        );
        let direct = |users: &[i64]| Message {
            direct_users: users.iter().copied().map(UserId).collect(),
            ..testing::message(4, Recipient::Direct(DirectConversationId(5)))
        };
        let place = |users| place_of(&realm, UserId(4), &UserMessage::from_message(&direct(users), Vec::new()));
        assert_eq!(place(&[2, 4]), MessageLocation::Users(vec![UserId(2)]));
        assert_eq!(place(&[4]), MessageLocation::Users(vec![UserId(4)]));
    }
}
